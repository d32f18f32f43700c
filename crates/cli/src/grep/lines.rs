//! Searches whole lines, which needs no format.

use std::io::Read;

use memchr::memchr_iter;
use weir_ingest::TextPart;

use super::Search;
use super::printer::Printer;
use crate::scan::ScanError;

impl Search {
    /// Prints the lines of a part that match.
    pub(super) fn search_lines(
        &self,
        part: &mut TextPart<impl Read>,
        printer: &mut Printer<'_, '_>,
    ) -> Result<(), ScanError> {
        let mut numbers = LineNumbers { is_counted: self.layout.has_numbers, before: 0 };
        while let Some(block) = part.next_block().map_err(ScanError::Input)? {
            let mut counted = 0;
            for line in self.pattern.lines(block) {
                let number = numbers.count(&block[counted..line.start]) + 1;
                counted = line.start;
                printer.raw(number, &block[line], None).map_err(ScanError::Output)?;
                if printer.is_done() {
                    return Ok(());
                }
            }
            numbers.count(&block[counted..]);
            printer.end_block().map_err(ScanError::Output)?;
        }
        Ok(())
    }
}

/// Counts lines, if their numbers are shown.
struct LineNumbers {
    is_counted: bool,
    /// The number of lines before the position that was counted up to.
    before: u64,
}

impl LineNumbers {
    /// Counts the lines of `bytes`; returns the number of all lines so far, 0 if they are not
    /// counted.
    fn count(&mut self, bytes: &[u8]) -> u64 {
        if self.is_counted {
            self.before += memchr_iter(b'\n', bytes).count() as u64;
        }
        self.before
    }
}
