//! Blocks: the bytes of a source, cut at line ends.

mod cutter;

pub use cutter::{BlockCutter, BlockLimits};

pub(crate) use cutter::leading_nuls;

/// Consecutive bytes of one source that hold whole lines only: the last byte is a line
/// feed, unless the source ended without one.
#[derive(Debug, Clone, Default)]
pub struct Block {
    /// `buffer[..length]` are the lines; the rest is spare room that travels with them,
    /// so that the buffer can be used again.
    buffer: Vec<u8>,
    length: usize,
    /// Where the first byte lies in the source.
    pub offset: u64,
    /// Where the block's lines end in the source: every byte before this has been seen,
    /// whether it came in a block or was skipped.
    pub offset_end: u64,
    /// Lines over the length limit that were skipped on the way to this block.
    pub too_long: u64,
}

impl Block {
    /// A block at the start of a source.
    pub fn new(bytes: Vec<u8>) -> Self {
        let length = bytes.len();
        Self { buffer: bytes, length, offset: 0, offset_end: length as u64, too_long: 0 }
    }

    /// The lines.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }

    /// Memory that the block holds, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Gives up the lines and keeps their memory, for [`BlockCutter::recycle`].
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}
