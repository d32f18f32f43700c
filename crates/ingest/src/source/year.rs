//! The year of times that were written without one.

use std::sync::Arc;
use std::time::SystemTime;

use weir_core::{Format, with_log_year};

use crate::clock::{Clock, SystemClock, seconds_since_1970};

/// Sets the reference time that determines the year, for a format whose times have none: when the
/// log was last `written`, or else the format's own reference, or else this machine's time.
pub fn with_year(format: Arc<Format>, written: Option<SystemTime>) -> Arc<Format> {
    with_log_year(format, written.map(seconds_since_1970), SystemClock::default().unix_s())
}
