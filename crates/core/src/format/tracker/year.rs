//! The year of times that are written without one.
//!
//! Syslog servers write `Dec 31 23:59:59`. The year is not in the log, so it must come from
//! elsewhere: from the time at which the file was last written, which the caller knows, or from the
//! clock. A log that spans the turn of a year is read correctly in both halves, because each time
//! gets the latest year that puts it at most a day after the reference. A log of more than a year
//! is not.

use std::sync::Arc;

use crate::format::compiled::Format;

/// Gives a format whose times have no year the reference that determines it: `written_s`, when
/// the log was last written, or else a reference that the format has already, or else `now_s`.
/// Both are in seconds since 1970. Other formats are returned unchanged.
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{format_by_name, with_log_year};
///
/// let firewall = Arc::new(format_by_name("FIREWALL").unwrap());
/// let (written_s, now_s) = (1_765_962_181, 1_800_000_000);
/// assert_eq!(with_log_year(firewall.clone(), None, now_s).year_reference(), Some(now_s));
/// let written = with_log_year(firewall, Some(written_s), now_s);
/// assert_eq!(written.year_reference(), Some(written_s));
/// ```
///
/// Compiles nothing: the format is copied with another reference.
pub fn with_log_year(format: Arc<Format>, written_s: Option<i64>, now_s: i64) -> Arc<Format> {
    if !format.lacks_year() || (written_s.is_none() && format.year_reference().is_some()) {
        return format;
    }
    Arc::new(Format::clone(&format).with_year_reference(written_s.unwrap_or(now_s)))
}
