//! Detects lines that a directive has made unreadable in the current format.

use crate::format::compiled::Format;
use crate::format::program::directive::{DATE, Directive, FIELDS, has_date};

/// Whether the lines of a block still are of the format that it is read with. Blocks are cut
/// where the format changes, so that this is never so in a log that was followed; where one was
/// not, lines that nobody can read must not be read wrongly.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Staleness {
    list: bool,
    date: bool,
}

impl Staleness {
    /// Takes note of a directive.
    pub(super) fn pass(&mut self, line: &[u8], format: &Format) {
        let definition = format.definition();
        let (own_date, own_list) = match definition.split_once(FIELDS) {
            Some((date, list)) => (date.trim().strip_prefix(DATE).map(str::trim), list.trim()),
            None => (None, ""),
        };
        match Directive::read(line) {
            Some(Directive::Fields(list)) => self.list = list != own_list,
            Some(Directive::Date(date)) => {
                self.date = !has_date(own_list) && own_date != Some(date);
            }
            None => {}
        }
    }

    /// True where the lines that follow are of another format.
    pub(super) fn is_stale(self) -> bool {
        self.list || self.date
    }
}
