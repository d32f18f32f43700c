//! The options of a new source.

use std::sync::Arc;
use std::time::SystemTime;

use weir_core::FormatChoice;

use crate::clock::{Clock, SystemClock};
use crate::log_year::LastTime;

/// The options of a source that is opened with [`crate::Pipeline::open`].
#[derive(Debug, Clone)]
pub struct SourceOptions {
    pub(crate) name: String,
    pub(crate) bytes_total: Option<u64>,
    pub(crate) format: FormatChoice,
    pub(crate) last_time: Option<LastTime>,
    pub(crate) watches_drift: bool,
    pub(crate) is_kept: bool,
    pub(crate) clock: Arc<dyn Clock>,
}

impl SourceOptions {
    /// A source with this name, of unknown size.
    pub fn new(name: &str, format: FormatChoice) -> Self {
        Self {
            name: name.to_owned(),
            bytes_total: None,
            format,
            last_time: None,
            watches_drift: false,
            is_kept: false,
            clock: Arc::new(SystemClock::default()),
        }
    }

    /// Sets the size of the source in bytes, if it is known.
    #[must_use]
    pub fn bytes_total(mut self, bytes_total: Option<u64>) -> Self {
        self.bytes_total = bytes_total;
        self
    }

    /// Sets when the source was last written, if that is known. It determines the year of times
    /// that have none; without it the current time does.
    #[must_use]
    pub fn written(self, written: Option<SystemTime>) -> Self {
        self.last_time(written.map(LastTime::from))
    }

    /// Sets the time that no line of the source is much later than, if that is known.
    #[must_use]
    pub fn last_time(mut self, last_time: Option<LastTime>) -> Self {
        self.last_time = last_time;
        self
    }

    /// Detects the format again if lines no longer match, as in a feed whose format may change. A
    /// forced format is kept.
    #[must_use]
    pub fn watch_drift(mut self) -> Self {
        self.watches_drift = true;
        self
    }

    /// Keeps the source in the folder of a state, if the data set has one ([`crate::State`]), and goes
    /// on with the source of that name that the folder has.
    #[must_use]
    pub fn keep(mut self) -> Self {
        self.is_kept = true;
        self
    }

    /// Replaces the clock, which decides when a partly filled block is submitted.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }
}
