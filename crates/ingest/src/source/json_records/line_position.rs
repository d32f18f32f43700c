//! The place of a byte in its line.

/// The place of the last byte in its line.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinePosition {
    /// The blanks at the start of the line.
    pub(super) indent: usize,
    part: LinePart,
}

/// How far a line has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinePart {
    Indent,
    AfterComma,
    Rest,
}

impl LinePosition {
    /// The start of a text.
    pub(super) const START: Self = Self { indent: 0, part: LinePart::Indent };

    /// Goes on to the next byte. Returns whether nothing is before it on its line but blanks and commas, and
    /// it is none of them. After a torn record its closing braces count as blanks: they are before the next
    /// one on the same line.
    pub(super) fn advance(&mut self, byte: u8, is_torn: bool) -> bool {
        match (byte, self.part) {
            (b'\n', _) => *self = Self::START,
            (b' ' | b'\t', LinePart::Indent) => self.indent += 1,
            (b' ' | b'\t' | b'\r', _) => {}
            (b',', LinePart::Indent) => self.part = LinePart::AfterComma,
            (b'}', LinePart::Indent) if is_torn => {}
            (_, part) => {
                self.part = LinePart::Rest;
                return part != LinePart::Rest;
            }
        }
        false
    }
}
