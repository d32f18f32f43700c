//! The retention policies of a data set: keep all segments, those of a window, those that wait for
//! a consumer, or none.

mod evictor;
mod keep_all;
mod keep_nothing;
mod keep_window;
mod window;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use weir_core::{PendingSegment, Segment, SegmentList, SnapshotSegment, Values};
use weir_sync::ReadWriteLock;

use super::subscribers::Subscribers;
use keep_all::KeepAll;
use keep_nothing::KeepNothing;
use keep_window::KeepWindow;
use window::WindowLimits;

/// Which segments of a data set are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// All, in memory, for later questions.
    Segments,
    /// Those of a sliding window. The oldest rows expire.
    Window {
        /// How far the window reaches back from the newest time in the log; `None` if only
        /// memory bounds it.
        width: Option<Duration>,
    },
    /// None, once the fold of the pipeline has processed it. Only the distinct values take memory.
    ValuesOnly,
    /// None, once all [consumers](super::DataSet::subscribe) have processed it. Values that occur
    /// in no waiting segment are evicted, and parsers pause before they fill the memory. No value
    /// is lost if the memory is at least [`Self::consumed_bytes`].
    UntilConsumed,
}

/// This machine's time, in nanoseconds since 1970.
pub type MachineClock = Box<dyn Fn() -> i64 + Send + Sync>;

/// Segments that left a short time ago, by number.
pub(super) type DepartedSegments = BTreeMap<u64, Arc<Segment>>;

/// A retention policy: it takes the segments of a data set in the order of their blocks, and
/// decides how long each is kept.
pub(super) trait RetentionPolicy: Send + Sync {
    /// Takes the next segment, and passes it on to the subscribers. `is_live` is whether its
    /// lines had just been written. Two segments are never appended at the same time.
    fn append(&self, segment: PendingSegment, is_live: bool, subscribers: &Subscribers);

    /// Keeps segments that were stored, in the order of their numbers. Only before others are
    /// appended.
    fn restore(&self, segments: Vec<SnapshotSegment>);

    /// Removes the segments of the source of this number. None is appended at the same time.
    fn remove_source(&self, source: u32);

    /// The segments that are kept, and those that left a short time ago.
    fn segments(&self) -> (SegmentList, DepartedSegments);

    /// Memory of the segments, in bytes.
    fn memory_bytes(&self) -> usize;

    /// Leaves this much memory to others, in bytes, if what is kept can make room.
    fn reserve(&self, _bytes: usize) {}

    /// How far a window reaches back.
    fn reach(&self) -> WindowReach {
        WindowReach::default()
    }

    /// Whether no further segment can be kept, so that sources have to stop.
    fn is_full(&self) -> bool {
        false
    }

    /// Notes that the values of another block have ids. Called for each block in order, before the
    /// values of the next one get theirs.
    ///
    /// The block is appended later, and later still if a parser of an earlier block is slow: a
    /// pause that began only then would come after the values of any number of blocks.
    fn note_resolved(&self) {}

    /// Whether parsers should pause for a moment, so that memory can be freed.
    fn must_pause(&self) -> bool {
        false
    }

    /// Waits until parsers may continue.
    fn wait_for_room(&self) {}
}

/// How far a window reaches back, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WindowReach {
    /// Records before this time expire; `None` if only memory bounds the window.
    pub floor_ns: Option<i64>,
    /// The oldest time that was read, also if it has left the window.
    pub oldest_ns: Option<i64>,
    /// The newest time of the records that were dropped because the memory was full.
    pub dropped_ns: Option<i64>,
}

impl Retention {
    /// Returns the memory that [`Self::UntilConsumed`] needs with this number of parsers, in bytes:
    /// for the values of all blocks that are parsed when the parsers pause, even if each field of a
    /// record is short and has a value of its own.
    pub fn consumed_bytes(jobs: usize) -> usize {
        (64 << 20) + jobs * (96 << 20)
    }

    /// The share of a data set's memory that is for the distinct values, in bytes.
    pub(crate) fn values_bytes_max(self, memory_bytes_max: usize) -> usize {
        match self {
            Self::Segments => memory_bytes_max / 2,
            Self::Window { .. } => WindowLimits::new(memory_bytes_max).values_bytes_max,
            Self::ValuesOnly | Self::UntilConsumed => memory_bytes_max,
        }
    }

    /// The policy for a data set with these values.
    pub(super) fn policy(
        self,
        memory_bytes_max: usize,
        values: &Arc<ReadWriteLock<Values>>,
        subscribers: &Arc<Subscribers>,
        machine_clock: MachineClock,
    ) -> Arc<dyn RetentionPolicy> {
        match self {
            Self::Segments => Arc::new(KeepAll::new(memory_bytes_max - memory_bytes_max / 2)),
            Self::Window { width } => {
                let limits = WindowLimits::new(memory_bytes_max);
                KeepWindow::start(width, limits, values.clone(), subscribers.clone(), machine_clock)
            }
            Self::ValuesOnly => Arc::new(KeepNothing),
            Self::UntilConsumed => {
                let limits = WindowLimits::until_consumed(memory_bytes_max);
                KeepWindow::start(None, limits, values.clone(), subscribers.clone(), machine_clock)
            }
        }
    }
}
