//! The year of times that were written without one.

use std::sync::Arc;
use std::time::SystemTime;

use weir_core::{Format, with_log_year};

use crate::clock::{Clock, SystemClock};
use crate::log_year::year_of_log;

/// Sets the reference time that determines the year, for a format whose times have none: when the
/// log was last `written`, or else the format's own reference, or else this machine's time.
pub fn with_year(format: Arc<Format>, written: Option<SystemTime>) -> Arc<Format> {
    with_log_year(format, year_of_log("", written), SystemClock::default().unix_s())
}
