//! The year of times that were written without one.

use std::sync::Arc;

use weir_core::{Format, with_log_year};

use crate::clock::{Clock, SystemClock};
use crate::log_year::{LastTime, year_of_log};

/// Sets the reference time that determines the year, for a format whose times have none: the `last`
/// time of the log, or else the format's own reference, or else this machine's time.
pub fn with_year(format: Arc<Format>, last: Option<LastTime>) -> Arc<Format> {
    with_log_year(format, year_of_log("", last), SystemClock::default().unix_s())
}
