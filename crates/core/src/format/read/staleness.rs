//! Detects lines that a directive has made unreadable in the current format.
//!
//! A line that has as many values as the list in force may well match a list that is not its own,
//! with values in the wrong columns. So after a directive with another list, or another date that
//! the lines depend on, no line matches until the format's own returns.

use crate::format::compiled::Format;
use crate::format::program::directive::{Directive, FIELDS, date_of, has_date};

/// Tracks whether directives inside a block have changed its format.
///
/// A [`crate::FormatTracker`] splits blocks where the format changes, so this never happens in a
/// tracked log. In another log, lines of an unknown format must not be read with the wrong one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Staleness {
    is_list_stale: bool,
    is_date_stale: bool,
}

impl Staleness {
    /// Reads a directive.
    pub(super) fn follow(&mut self, line: &[u8], format: &Format) {
        let definition = format.definition();
        let (own_date, own_list) = match definition.split_once(FIELDS) {
            Some((before, list)) => (date_of(before), list.trim()),
            None => (None, ""),
        };
        match Directive::read(line) {
            Some(Directive::Fields(list)) => self.is_list_stale = list != own_list,
            Some(Directive::Date(date)) => {
                self.is_date_stale = !has_date(own_list) && own_date != Some(date);
            }
            Some(Directive::LocalTimes(_)) | None => {}
        }
    }

    /// Whether the lines after the last directive have another format.
    pub(super) fn is_stale(self) -> bool {
        self.is_list_stale || self.is_date_stale
    }
}
