//! The search in whole lines, by the ripgrep crates. It needs no format.

use std::io::{self, Read};

use grep_searcher::{Searcher, Sink, SinkMatch};
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
        let mut searcher = self.pattern.searcher();
        let mut lines_before = 0;
        while let Some(block) = part.next_block().map_err(ScanError::Input)? {
            let mut sink = BlockSink { printer, lines_before, last_number: 0, last_end: 0 };
            let searched = searcher.search_slice(self.pattern.matcher(), block, &mut sink);
            searched.map_err(ScanError::Output)?;
            if self.layout.has_numbers {
                // The searcher has counted up to the last line that matched.
                let rest = &block[sink.last_end..];
                lines_before += sink.last_number + memchr_iter(b'\n', rest).count() as u64;
            }
            if printer.is_done() {
                return Ok(());
            }
            printer.end_block().map_err(ScanError::Output)?;
        }
        Ok(())
    }
}

/// Receives the matching lines of one block.
struct BlockSink<'a, 'b, 'c> {
    printer: &'a mut Printer<'b, 'c>,
    /// The number of lines in the blocks before.
    lines_before: u64,
    /// The number of the last line that matched, within the block.
    last_number: u64,
    last_end: usize,
}

impl Sink for BlockSink<'_, '_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.last_number = line.line_number().unwrap_or(0);
        self.last_end = line.absolute_byte_offset() as usize + line.bytes().len();
        self.printer.raw(self.lines_before + self.last_number, line.bytes(), None)?;
        Ok(!self.printer.is_done())
    }
}
