//! Reading a block whose lines may be in several formats.

use super::BlockReader;
use crate::block::Block;
use crate::line::IndexedLine;
use crate::read::left_lines::LeftLines;
use crate::read::read_block::{ReadBlock, UnparsedLine};
use crate::read::unwrapped::UnwrappedBlock;

impl BlockReader {
    /// Does what [`Self::read`] does, but leaves the lines that do not match, except empty ones, to
    /// readers of other formats. Lines that those do not match either are passed to
    /// [`Self::count_unparsed`].
    pub fn read_leaving(&mut self, block: &Block, source: u32) -> (ReadBlock, LeftLines) {
        let mut left = LeftLines::default();
        let read = self.read_all(block, source, Some(&mut left));
        (read, left)
    }

    /// Reads lines that a reader of another format left, and that match this format. Their
    /// number is in `records`; `lines` and `too_long_lines` are counts of the first reader, and 0
    /// here.
    pub fn read_left(&mut self, block: &Block, source: u32, lines: &LeftLines) -> ReadBlock {
        let mut read = self.begin(block, source);
        let bytes = block.bytes().len();
        let left = || lines.iter().map(|left| left.of(block));
        if self.parser.is_escaped() {
            let unwrapped = UnwrappedBlock::of_lines(left(), &self.parser, Vec::new());
            self.read_unwrapped(&unwrapped, bytes, &mut read, None);
        } else {
            let lines = left().map(IndexedLine::without_index);
            self.read_lines(lines, bytes, &mut read, |_| None, None);
        }
        // Its inside was not too long for the first reader.
        read.unparsed_lines += read.too_long_lines;
        (read.lines, read.too_long_lines) = (0, 0);
        self.end(read)
    }

    /// Counts lines as unparsed that this reader left, with their mismatches as samples.
    pub fn count_unparsed(&self, read: &mut ReadBlock, block: &Block, left: &LeftLines) {
        let mut text = Vec::new();
        let samples = left.iter().map(|left| {
            let (line, mismatch) = (left.of(block).bytes, left.mismatch);
            let inside = self.parser.unwrap(line, &mut text).unwrap_or(line);
            UnparsedLine::new(&self.parser, left.number, inside, mismatch)
        });
        read.push_left(left.iter().len() as u64, samples);
    }
}
