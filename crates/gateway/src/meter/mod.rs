//! Counts of requests for metrics. Nothing is counted until [`Meter::turn_on`] is called, once at
//! the start.

mod durations;
mod events;
mod failures;
mod in_progress;
mod timeline;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use self::durations::{BUCKET_BOUNDS_S, DurationCounts, DurationExemplar, STATUS_CLASSES};
pub(crate) use self::durations::{Durations, RequestTimes};
pub use self::events::EventCounts;
pub(crate) use self::events::{DIRECTIONS, Events};
pub use self::failures::FailureCounts;
pub use self::in_progress::InProgressCounts;
use self::in_progress::{InProgress, Phase};
pub(crate) use self::timeline::Timeline;

/// The counts of all requests together, and whether counting is on.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// Read for each request, so that a disabled meter costs only this load.
    is_on: AtomicBool,
    pub(crate) events: Events,
}

impl Meter {
    pub(crate) fn turn_on(&self) {
        self.is_on.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }
}

/// The name and request durations of a backend, for records and metrics.
#[derive(Debug)]
pub(crate) struct BackendMeter {
    /// The name in records.
    pub(crate) name: Arc<str>,
    /// The durations of its requests. All backends of a template share them, because there may be
    /// thousands.
    pub(crate) durations: Arc<Durations>,
}
