//! The sections of a record: a tag, a length, and bytes.

use crate::code::{Decoder, Encoder};

/// What a section has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    /// The names of columns, in the order of the numbers that refer to them.
    Columns = 1,
    /// Formats, see `format_table`.
    Formats = 2,
    /// Values of a column, see `values`.
    Values = 3,
    /// What is known of a column beside its values.
    ColumnState = 4,
    /// A segment, see `segment`.
    Segment = 5,
    /// The numbers of segments that are no longer in the data set.
    Removed = 6,
    /// Sources by their numbers: those that are new, or have changed.
    Sources = 7,
    /// The formats of the data set, and its summary. They replace those that were read before.
    Summary = 8,
}

impl Tag {
    const ALL: [Self; 8] = [
        Self::Columns,
        Self::Formats,
        Self::Values,
        Self::ColumnState,
        Self::Segment,
        Self::Removed,
        Self::Sources,
        Self::Summary,
    ];
}

impl Encoder {
    /// Writes a section.
    pub(crate) fn section<T>(&mut self, tag: Tag, write: impl FnOnce(&mut Self) -> T) -> T {
        self.u8(tag as u8);
        let start = self.bytes.len();
        self.u32(0);
        let result = write(self);
        let length = (self.bytes.len() - start - 4) as u32;
        self.bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
        result
    }
}

impl<'a> Decoder<'a> {
    /// Reads the tag and the bytes of a section.
    pub(crate) fn section(&mut self) -> Option<(Tag, Self)> {
        let tag = self.u8()?;
        let tag = Tag::ALL.into_iter().find(|known| *known as u8 == tag)?;
        Some((tag, Self::new(self.text()?)))
    }
}
