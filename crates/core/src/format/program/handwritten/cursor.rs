//! A cursor that reads a line piece by piece.
//!
//! Hand-written programs state what they expect in the order of the line. Each expectation has a
//! sentence, which becomes the mismatch if it fails, at the place of the cursor. So a program reads
//! like a description of the line, and every failure has a place and a reason.

use crate::format::program::mismatch::{Mismatch, Reason};

/// A mismatch of the line's form at `at`.
pub(super) fn mismatch(at: usize, reason: &'static str) -> Mismatch {
    Mismatch::new(at, Reason::Form(reason))
}

/// Reads a line from its start.
///
/// `at` never exceeds the length of the line.
pub(super) struct Cursor<'a> {
    pub(super) line: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `line`.
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0 }
    }

    /// The text from the cursor on.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.line[self.at..]
    }

    /// Skips this text. The mismatch is `reason` if it is not next.
    pub(super) fn expect(&mut self, text: &[u8], reason: &'static str) -> Result<(), Mismatch> {
        if !self.rest().starts_with(text) {
            return Err(mismatch(self.at, reason));
        }
        self.at += text.len();
        Ok(())
    }

    /// Returns the text before the next such byte, and skips both. The mismatch is `reason` if
    /// there is no such byte.
    pub(super) fn before(&mut self, byte: u8, reason: &'static str) -> Result<&'a [u8], Mismatch> {
        let rest = self.rest();
        let length = memchr::memchr(byte, rest).ok_or(mismatch(self.at, reason))?;
        self.at += length + 1;
        Ok(&rest[..length])
    }
}
