//! The year of times that are written without one.

use std::sync::Arc;

use crate::format::compiled::Format;

/// Gives a format whose times have no year the reference that determines it: `written_s`, when
/// the log was last written, or else a reference that the format has already, or else `now_s`.
/// Both are in seconds since 1970. Other formats are returned unchanged.
pub fn with_log_year(format: Arc<Format>, written_s: Option<i64>, now_s: i64) -> Arc<Format> {
    if !format.lacks_year() || (written_s.is_none() && format.year_reference().is_some()) {
        return format;
    }
    Arc::new(Format::clone(&format).with_year_reference(written_s.unwrap_or(now_s)))
}
