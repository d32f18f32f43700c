//! Ranges of a line, without borrowing it.
//!
//! The values of a JSON line are found in the order of the line and stored in the order of the
//! format. Between the two they are ranges, because a buffer of slices could not be kept for the
//! next line.

/// The range of a value in a line, or none.
///
/// Two words, without the extra word of an `Option`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) struct Span {
    start: usize,
    end: usize,
}

impl Span {
    /// A value that the line does not have.
    pub(in crate::format) const NONE: Self = Self { start: usize::MAX, end: usize::MAX };

    /// The bytes from `start` to before `end`.
    pub(in crate::format) const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Whether there is a value.
    pub(in crate::format) fn is_some(self) -> bool {
        self != Self::NONE
    }

    /// Whether the value has no bytes.
    pub(in crate::format) fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The offset of the value in the line.
    pub(in crate::format) fn start(self) -> usize {
        self.start
    }

    /// The offset after the value.
    pub(in crate::format) fn end(self) -> usize {
        self.end
    }

    /// The bytes of the value.
    ///
    /// # Panics
    /// If the span is [`Self::NONE`], or of a longer line.
    pub(in crate::format) fn of(self, line: &[u8]) -> &[u8] {
        &line[self.start..self.end]
    }
}
