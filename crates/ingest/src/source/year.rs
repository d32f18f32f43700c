//! The year of times that were written without one.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use weir_core::Format;

/// The same format, with the time at hand for those whose lines have no year: when the log was
/// last `written`, and where nobody knows what it has already, or now.
pub fn with_year(format: Arc<Format>, written: Option<SystemTime>) -> Arc<Format> {
    if !format.lacks_year() || (written.is_none() && format.year_reference().is_some()) {
        return format;
    }
    let reference = written.unwrap_or_else(SystemTime::now);
    let reference = reference.duration_since(UNIX_EPOCH).unwrap_or_default();
    Arc::new(Format::clone(&format).with_year_reference(reference.as_secs() as i64))
}
