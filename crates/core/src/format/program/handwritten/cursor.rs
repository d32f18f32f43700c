//! Walks a line piece by piece.

use crate::format::program::mismatch::{Mismatch, Reason};

/// The line does not have its form at `at`.
pub(super) fn misfit(at: usize, reason: &'static str) -> Mismatch {
    Mismatch::new(at, Reason::Form(reason))
}

/// Walks a line from its start.
pub(super) struct Cursor<'a> {
    pub(super) line: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0 }
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        &self.line[self.at..]
    }

    /// Passes this text.
    pub(super) fn pass(&mut self, text: &[u8], reason: &'static str) -> Result<(), Mismatch> {
        if !self.rest().starts_with(text) {
            return Err(misfit(self.at, reason));
        }
        self.at += text.len();
        Ok(())
    }

    /// What stands before the next such byte, which is passed over too.
    pub(super) fn before(&mut self, byte: u8, reason: &'static str) -> Result<&'a [u8], Mismatch> {
        let rest = self.rest();
        let length = memchr::memchr(byte, rest).ok_or(misfit(self.at, reason))?;
        self.at += length + 1;
        Ok(&rest[..length])
    }
}
