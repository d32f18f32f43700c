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

    /// The block in pieces, cut at these places in its bytes, which are starts of lines in
    /// order. Places at its ends, and such as are out of order, cut nothing.
    pub fn split(self, places: impl IntoIterator<Item = usize>) -> Vec<Self> {
        let mut pieces: Vec<Self> = Vec::new();
        let mut start = 0;
        for end in places.into_iter().filter(|place| *place < self.length) {
            if end > start {
                pieces.push(self.piece(start, end));
                start = end;
            }
        }
        if start == 0 {
            return vec![self];
        }
        let mut last = self.piece(start, self.length);
        last.offset_end = self.offset_end;
        pieces.push(last);
        // What was skipped came before all of them.
        pieces[0].too_long = self.too_long;
        pieces
    }

    /// A copy of the lines between two places.
    fn piece(&self, start: usize, end: usize) -> Self {
        Self {
            buffer: self.buffer[start..end].to_vec(),
            length: end - start,
            offset: self.offset + start as u64,
            offset_end: self.offset + end as u64,
            too_long: 0,
        }
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

#[cfg(test)]
mod tests {
    use super::Block;

    #[test]
    fn splits_into_what_it_was() {
        let block = || {
            let mut block = Block::new(b"a\nb\nc\n".to_vec());
            (block.offset, block.offset_end, block.too_long) = (10, 17, 3);
            block
        };
        for places in [&[][..], &[0], &[6], &[2], &[2, 4], &[0, 2, 2, 4, 6], &[4, 2]] {
            let pieces = block().split(places.iter().copied());
            let bytes: Vec<u8> = pieces.iter().flat_map(Block::bytes).copied().collect();
            assert_eq!(bytes, b"a\nb\nc\n", "{places:?}");
            assert_eq!(pieces.iter().map(|piece| piece.too_long).collect::<Vec<_>>()[0], 3);
            assert_eq!(pieces.iter().map(|piece| piece.too_long).sum::<u64>(), 3);
            assert_eq!((pieces[0].offset, pieces[pieces.len() - 1].offset_end), (10, 17));
            for pair in pieces.windows(2) {
                assert_eq!(pair[0].offset_end, pair[1].offset);
            }
        }
        assert_eq!(block().split([2, 4]).len(), 3);
    }
}
