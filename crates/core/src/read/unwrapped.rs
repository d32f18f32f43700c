//! The lines of a block whose wrapper escapes them.

use crate::format::{LineParser, Mismatch};
use crate::line::{Line, Lines};

/// The lines inside a block's lines, written anew.
#[derive(Debug)]
pub(super) struct UnwrappedBlock {
    text: Vec<u8>,
    lines: Vec<Unwrapped>,
}

#[derive(Debug, Clone, Copy)]
struct Unwrapped {
    /// Where the whole line starts in the block.
    start: usize,
    /// Where it ends in the text; it starts where the one before ends.
    end: usize,
    /// Why it is no such line; the text has it as it was then.
    mismatch: Option<Mismatch>,
}

impl UnwrappedBlock {
    pub(super) fn new(block: &[u8], parser: &LineParser) -> Self {
        // What is unescaped is shorter.
        let mut unwrapped = Self { text: Vec::with_capacity(block.len()), lines: Vec::new() };
        for line in Lines::new(block) {
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

    /// The lines, as if they stood at their places in the block.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let mut from = 0;
        self.lines.iter().map(move |line| {
            let bytes = &self.text[from..line.end];
            from = line.end;
            Line { bytes, start: line.start }
        })
    }

    /// Why a line of [`Self::lines`] is none that was wrapped. Empty lines say so themselves.
    pub(super) fn mismatch(&self, line: Line<'_>) -> Option<Mismatch> {
        let index = self.lines.binary_search_by_key(&line.start, |line| line.start).ok()?;
        self.lines[index].mismatch.filter(|_| !line.bytes.is_empty())
    }
}
