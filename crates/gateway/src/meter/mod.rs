//! Counts of requests, for those who watch the gateway from outside. Nothing is counted before somebody asks
//! for it: then [`Meter::turn_on`] is called once, at the start.

mod durations;
mod events;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use self::durations::{BUCKET_BOUNDS_S, DurationCounts, DurationExemplar, STATUS_CLASSES};
pub(crate) use self::durations::{Durations, RequestTimes};
pub use self::events::EventCounts;
pub(crate) use self::events::Events;

/// What is counted of all requests together, and whether anything is.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// Read for each request, so that a meter that is off costs no more than that.
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

/// What records and metrics know of a backend.
#[derive(Debug)]
pub(crate) struct BackendMeter {
    /// The name in records.
    pub(crate) name: Arc<str>,
    /// The times of its requests. All backends of a template share them, of which there may be thousands.
    pub(crate) durations: Arc<Durations>,
}
