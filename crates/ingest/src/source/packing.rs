//! The layers of encoding that a text is unpacked from, except archives.

use super::compression::{Compression, compression_of};
use super::cri::is_cri;
use super::json_records::Arrangement;
use super::query_answer::Answer;
use super::utf16::ByteOrder;

/// One layer of encoding of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Compression(Compression),
    /// UTF-16.
    Utf16(ByteOrder),
    /// The lines of a container runtime, which may be split.
    Cri,
    /// JSON whose records are not one on each line.
    JsonRecords(Arrangement),
    /// The answer of a program to a query for lines.
    Answer(Answer),
}

impl Packing {
    /// Returns the outermost layer of a stream with these first bytes, or `None` if there is none.
    pub(super) fn of(first_bytes: &[u8]) -> Option<Self> {
        let compression = compression_of(first_bytes).map(Self::Compression);
        compression
            .or_else(|| ByteOrder::of(first_bytes).map(Self::Utf16))
            .or_else(|| is_cri(first_bytes).then_some(Self::Cri))
            .or_else(|| Answer::of(first_bytes).map(Self::Answer))
            .or_else(|| Arrangement::of(first_bytes).map(Self::JsonRecords))
    }

    /// Whether the bytes of the layer are lines of text, and so are the bytes inside it.
    pub(super) fn is_text(self) -> bool {
        matches!(self, Self::Cri | Self::JsonRecords(_) | Self::Answer(_))
    }

    /// The name, for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Compression(compression) => compression.name(),
            Self::Utf16(_) => "UTF-16",
            Self::Cri => "container runtime",
            Self::JsonRecords(_) => "JSON over lines",
            Self::Answer(_) => "JSON of an answer",
        }
    }
}
