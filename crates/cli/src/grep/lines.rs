//! The search in whole lines, which knows no format: that of the ripgrep crates.

use std::io::{self, Read};

use grep_searcher::{Searcher, Sink, SinkMatch};
use memchr::memchr_iter;

use super::Search;
use super::printer::Printer;
use crate::lines::{Failed, LineBlocks};

impl Search {
    /// Prints the lines of an input that are looked for.
    pub(super) fn in_lines(
        &self,
        blocks: &mut LineBlocks<impl Read>,
        printer: &mut Printer<'_, '_>,
    ) -> Result<(), Failed> {
        let mut searcher = self.pattern.searcher();
        let mut lines_before = 0;
        loop {
            let block = blocks.next_block().map_err(Failed::Input)?;
            let Some(block) = block else { return Ok(()) };
            let mut sink = Lines { printer, lines_before, last: 0, last_end: 0 };
            let searched = searcher.search_slice(self.pattern.matcher(), block, &mut sink);
            searched.map_err(Failed::Output)?;
            if self.layout.numbers {
                // The searcher has counted up to the last line that it gave.
                let rest = &block[sink.last_end..];
                lines_before += sink.last + memchr_iter(b'\n', rest).count() as u64;
            }
            if printer.is_done() {
                return Ok(());
            }
            printer.block_ends().map_err(Failed::Output)?;
        }
    }
}

/// Takes the lines of one block.
struct Lines<'a, 'b, 'c> {
    printer: &'a mut Printer<'b, 'c>,
    /// Lines of the blocks before.
    lines_before: u64,
    /// Number and end of the last line, in the block.
    last: u64,
    last_end: usize,
}

impl Sink for Lines<'_, '_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.last = line.line_number().unwrap_or(0);
        self.last_end = line.absolute_byte_offset() as usize + line.bytes().len();
        self.printer.raw(self.lines_before + self.last, line.bytes(), None)?;
        Ok(!self.printer.is_done())
    }
}
