//! Lines of a block that its format does not match, and that may be in other formats.

use memchr::memchr;

use crate::block::Block;
use crate::format::{LineParser, Mismatch};
use crate::line::Line;

/// The lines that a [`BlockReader`](super::BlockReader) leaves to readers of other formats.
///
/// They refer to the block by offset. Memory is 40 bytes for each line.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Block, BlockLimits, BlockReader, Format, LineParser, Values};
///
/// let own = Arc::new(Format::parse("$remote_addr $status")?);
/// let other = Arc::new(Format::parse("$status")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(own, BlockLimits::default(), &mut values);
/// let mut other_reader = BlockReader::new(other.clone(), BlockLimits::default(), &mut values);
///
/// let block = Block::new(b"::1 200\n404\n?\n".to_vec());
/// let (mut read, mut left) = reader.read_leaving(&block, 0);
/// let lines = left.take_matching(&block, &mut LineParser::new(other));
/// let other_read = other_reader.read_left(&block, 0, &lines);
/// reader.count_unparsed(&mut read, &block, &left);
/// assert_eq!((read.records, other_read.records), (1, 1));
/// assert_eq!((read.lines, read.unparsed_lines), (3, 1));
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Default)]
pub struct LeftLines {
    lines: Vec<LeftLine>,
}

/// One of the lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeftLine {
    /// The offset in the block.
    start: usize,
    /// The line's number in the block, from 0.
    pub(super) number: u64,
    /// Why it is not in the format of the block.
    pub(super) mismatch: Mismatch,
}

impl LeftLine {
    /// Its bytes, with its wrapper if it has one.
    pub(super) fn of<'a>(&self, block: &'a Block) -> Line<'a> {
        let (bytes, start) = (block.bytes(), self.start);
        let end = memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |length| start + length);
        let end = if bytes[..end].ends_with(b"\r") && end > start { end - 1 } else { end };
        Line { bytes: &bytes[start..end], start }
    }
}

impl LeftLines {
    /// Whether no line is left.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The number of lines.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// The lines of `block` in their order, with their wrappers.
    pub fn lines<'a>(&self, block: &'a Block) -> impl Iterator<Item = Line<'a>> {
        self.iter().map(|line| line.of(block))
    }

    /// Adds a line, which is not empty.
    pub(super) fn push(&mut self, start: usize, number: u64, mismatch: Mismatch) {
        self.lines.push(LeftLine { start, number, mismatch });
    }

    /// The lines in their order.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = LeftLine> {
        self.lines.iter().copied()
    }

    /// Takes the lines of `block` that a parser matches; the others stay.
    pub fn take_matching(&mut self, block: &Block, parser: &mut LineParser) -> Self {
        let mut text = Vec::new();
        let matches = |line: &mut LeftLine| parser.matches(line.of(block).bytes, &mut text);
        Self { lines: self.lines.extract_if(.., matches).collect() }
    }

    /// Takes lines of `block` in groups; the others stay. `group` returns the number of a line's
    /// group; it is called for the lines in their order.
    pub fn take_groups(
        &mut self,
        block: &Block,
        mut group: impl FnMut(Line<'_>) -> Option<usize>,
    ) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        let mut staying = Vec::new();
        for line in self.lines.drain(..) {
            let Some(number) = group(line.of(block)) else {
                staying.push(line);
                continue;
            };
            if groups.len() <= number {
                groups.resize_with(number + 1, Self::default);
            }
            groups[number].lines.push(line);
        }
        self.lines = staying;
        groups
    }
}
