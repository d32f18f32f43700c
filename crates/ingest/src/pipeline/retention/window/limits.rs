//! The division of a window's memory.

/// The memory of a window, in bytes, by its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pipeline::retention) struct WindowLimits {
    /// Values and segments together stay below this. The rest is for blocks that are being parsed.
    pub(in crate::pipeline::retention) bytes_max: usize,
    /// Above this, new values go into the remainder.
    pub(in crate::pipeline::retention) values_bytes_max: usize,
    /// Above this, parsers wait until some values are evicted.
    pub(in crate::pipeline::retention) values_bytes_pressed: usize,
    /// Above this, segments leave so that their values can be evicted.
    pub(in crate::pipeline::retention) values_bytes_heavy: usize,
    /// Below this, an eviction is not worthwhile.
    pub(in crate::pipeline::retention) values_bytes_light: usize,
    /// Whether segments stay after they are passed on.
    pub(in crate::pipeline::retention) keeps_segments: bool,
}

/// With more values than this, a stream of segments that nothing keeps evicts the dead ones. Fewer
/// would be evicted and read again too often.
const STREAM_VALUES_BYTES: usize = 32 << 20;

impl WindowLimits {
    pub(in crate::pipeline::retention) fn new(memory_bytes_max: usize) -> Self {
        let eighth = memory_bytes_max / 8;
        Self {
            bytes_max: memory_bytes_max - memory_bytes_max / 32,
            values_bytes_max: 7 * eighth,
            values_bytes_pressed: 5 * eighth,
            values_bytes_heavy: 4 * eighth,
            values_bytes_light: eighth / 2,
            keeps_segments: true,
        }
    }

    /// The limits if nothing is kept. All memory is for values. Half of it is used when the parsers
    /// pause, and three eighths are left for the values of the blocks that they have parsed by
    /// then. [`Values`](weir_core::Values) reserves the last eighth for late values.
    pub(in crate::pipeline::retention) fn until_consumed(memory_bytes_max: usize) -> Self {
        let half = memory_bytes_max / 2;
        Self {
            bytes_max: memory_bytes_max,
            values_bytes_max: memory_bytes_max,
            values_bytes_pressed: half,
            values_bytes_heavy: half,
            values_bytes_light: STREAM_VALUES_BYTES.min(half),
            keeps_segments: false,
        }
    }

    /// Memory for the segments if the values take `values_bytes`.
    pub(in crate::pipeline::retention) fn segment_bytes_max(&self, values_bytes: usize) -> usize {
        self.bytes_max.saturating_sub(values_bytes)
    }
}
