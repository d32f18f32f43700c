//! How the memory of a window is shared out.

/// The memory of a window, in bytes, by what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pipeline) struct WindowLimits {
    /// Values and segments together stay below this, with some room for what is on its way.
    pub(in crate::pipeline) bytes_max: usize,
    /// From here on new values are counted together.
    pub(in crate::pipeline) values_bytes_max: usize,
    /// From here on parsers wait until some are given up.
    pub(in crate::pipeline) values_bytes_pressed: usize,
    /// From here on segments leave so that values can be given up.
    pub(in crate::pipeline) values_bytes_heavy: usize,
    /// Up to here it is not worth to give any up.
    pub(in crate::pipeline) values_bytes_light: usize,
}

impl WindowLimits {
    pub(in crate::pipeline) fn new(memory_bytes_max: usize) -> Self {
        let eighth = memory_bytes_max / 8;
        Self {
            bytes_max: memory_bytes_max - memory_bytes_max / 32,
            values_bytes_max: 6 * eighth,
            values_bytes_pressed: 5 * eighth,
            values_bytes_heavy: 4 * eighth,
            values_bytes_light: eighth / 2,
        }
    }

    /// Memory for the segments beside so much for the values.
    pub(in crate::pipeline) fn segment_bytes_max(&self, values_bytes: usize) -> usize {
        self.bytes_max.saturating_sub(values_bytes)
    }
}
