//! The lines of a block whose wrapper escapes them.
//!
//! A wrapper such as Docker's JSON puts each line of the log into a string, in which quotes and
//! backslashes are escaped. A record borrows from its line, so the unescaped lines must live as
//! long as the records of a batch: they are put into one buffer for each block.
//!
//! Wrappers without escapes, such as syslog's, need no copy: their lines are slices of the block.

use crate::format::{LineParser, Mismatch};
use crate::line::{Line, Lines};

/// The lines inside the wrapped lines of a block, without the wrapper's escapes.
///
/// Memory is at most the size of the block, and a few words for each line.
#[derive(Debug)]
pub(super) struct UnwrappedBlock {
    text: Vec<u8>,
    lines: Vec<Unwrapped>,
}

#[derive(Debug, Clone, Copy)]
struct Unwrapped {
    /// The offset of the whole line in the block.
    start: usize,
    /// The end of the line in the text. It starts at the end of the previous line.
    end: usize,
    /// Why the line has no wrapper. If set, the text has the line unchanged.
    mismatch: Option<Mismatch>,
}

impl UnwrappedBlock {
    /// Unwraps all lines of a block.
    pub(super) fn new(block: &[u8], parser: &LineParser) -> Self {
        // Unescaped text is shorter.
        let text = Vec::with_capacity(block.len());
        Self::of_lines(Lines::new(block), parser, text)
    }

    /// Unwraps some lines of a block. `text` is the empty buffer to use.
    pub(super) fn of_lines<'a>(
        lines: impl Iterator<Item = Line<'a>>,
        parser: &LineParser,
        text: Vec<u8>,
    ) -> Self {
        let mut unwrapped = Self { text, lines: Vec::new() };
        for line in lines {
            let start = unwrapped.text.len();
            let mismatch = parser.append_unwrapped(line.bytes, &mut unwrapped.text).err();
            if mismatch.is_some() {
                unwrapped.text.truncate(start);
                unwrapped.text.extend_from_slice(line.bytes);
            }
            let end = unwrapped.text.len();
            unwrapped.lines.push(Unwrapped { start: line.start, end, mismatch });
        }
        unwrapped
    }

    /// Returns the lines, with their offsets in the block.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let mut from = 0;
        self.lines.iter().map(move |line| {
            let bytes = &self.text[from..line.end];
            from = line.end;
            Line { bytes, start: line.start }
        })
    }

    /// Returns why a line of [`Self::lines`] has no wrapper. `None` for empty lines, whose mismatch
    /// the parser reports.
    ///
    /// A line is found by its offset, which no other line has.
    pub(super) fn mismatch(&self, line: Line<'_>) -> Option<Mismatch> {
        let index = self.lines.binary_search_by_key(&line.start, |line| line.start).ok()?;
        self.lines[index].mismatch.filter(|_| !line.bytes.trim_ascii().is_empty())
    }
}
