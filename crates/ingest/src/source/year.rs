//! The year of times that were written without one.

use std::sync::Arc;
use std::time::SystemTime;

use weir_core::{Format, with_log_year};

use crate::clock::{Clock, SystemClock, seconds_since_1970};

/// Gives a format whose times have no year the reference that determines it: when the log was last
/// `written`, or else a reference that the format has already, or else this machine's time.
pub fn with_year(format: Arc<Format>, written: Option<SystemTime>) -> Arc<Format> {
    with_log_year(format, written.map(seconds_since_1970), SystemClock::default().unix_s())
}
