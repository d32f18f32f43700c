//! Blocks: the bytes of a source, cut at line ends.
//!
//! A source delivers pieces of any size. Parsers need whole lines, so that each block can be read
//! without the others, on any thread:
//!
//! ```text
//! pieces   |one\nt|wo\nth|ree\nfo|ur\n|
//! blocks   |one\ntwo\n    |three\nfour\n|
//! ```
//!
//! The lines must not depend on the pieces: a test feeds [`BlockCutter`] whole inputs, single
//! bytes, and pieces that are cut at any offset.
//!
//! # Guarantees
//!
//! - The blocks of a source, put together, are its bytes, without the lines over the length limit
//!   that did not fit into the cutter's buffer.
//! - A block begins at a line start. It ends after a line feed, unless the source ended without
//!   one. It may be empty: then it only carries the number of skipped lines.
//! - `offset` and `offset_end` are offsets in the source, in bytes of the unpacked text. The block
//!   after this one begins at `offset_end`, so a reader that stores the number can continue there.
//! - Where a block ends depends on the pieces in which the source delivers its bytes, and on when
//!   the caller cuts. The lines in it do not.
//!
//! # Memory
//!
//! A block owns one buffer of fixed size ([`BlockLimits`]), which goes from the source to a parser
//! and back ([`Block::into_buffer`], [`BlockCutter::recycle`]). So reading a log of any size takes
//! the memory of the blocks in flight, and no allocation for each block once the buffers exist.

mod cutter;

pub use cutter::{BlockCutter, BlockLimits, leading_nuls};

/// Consecutive bytes of one source that are whole lines: the last byte is a line feed, unless
/// the source ended without one.
///
/// ```
/// use weir_core::{Block, Lines};
///
/// let block = Block::new(b"one\ntwo\n".to_vec());
/// assert_eq!(Lines::new(block.bytes()).count(), 2);
/// ```
///
/// The end may differ from `offset` plus the length: skipped bytes before or after the lines are in
/// no block, but belong to the range of the source that is done.
///
/// A block of [`Self::default`] is empty and at offset 0. The clone copies the lines.
#[derive(Debug, Clone, Default)]
pub struct Block {
    /// `buffer[..length]` are the lines. The rest is unused room, kept so that the buffer can be
    /// reused.
    buffer: Vec<u8>,
    length: usize,
    /// The offset of the first byte in the source.
    ///
    /// The first line is there, or later if NUL bytes precede it ([`crate::Lines`]).
    pub offset: u64,
    /// The offset in the source after the block. Every byte before it was in a block or was
    /// skipped.
    pub offset_end: u64,
    /// The number of lines over the length limit that were skipped before or in this block.
    pub too_long_lines: u64,
}

impl Block {
    /// A block at the start of a source.
    ///
    /// For tests and for text that is in memory as a whole. The bytes are taken as they are: they
    /// are not checked for a line end, and lines over a limit are left to the reader. Set
    /// [`Self::offset`] and [`Self::offset_end`] for bytes from the middle of a source.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::Block;
    ///
    /// let block = Block::new(b"one\ntwo".to_vec());
    /// assert_eq!((block.offset, block.offset_end, block.too_long_lines), (0, 7, 0));
    /// ```
    pub fn new(bytes: Vec<u8>) -> Self {
        let length = bytes.len();
        Self { buffer: bytes, length, offset: 0, offset_end: length as u64, too_long_lines: 0 }
    }

    /// The lines.
    ///
    /// Empty if the block only carries a number of skipped lines. [`crate::Lines`] divides the
    /// bytes into lines.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }

    /// The room for the bytes of a block that [`BlockCutter::take_unread`] returned.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.length]
    }

    /// Keeps the first `length` bytes, if the others could not be read. The range of offsets stays.
    ///
    /// ```
    /// use weir_core::Block;
    ///
    /// let mut block = Block::new(b"one\ntwo\n".to_vec());
    /// block.truncate(4);
    /// assert_eq!((block.bytes(), block.offset_end), (&b"one\n"[..], 8));
    /// ```
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Splits the block at `offsets` in its bytes, which are starts of lines in ascending order.
    /// Offsets at the ends of the block or out of order are ignored.
    ///
    /// The pieces together have the bytes, the range of offsets and the count of skipped lines of
    /// the block.
    ///
    /// ```
    /// use weir_core::Block;
    ///
    /// let pieces = Block::new(b"one\ntwo\nthree\n".to_vec()).split([4, 8]);
    /// let texts: Vec<&[u8]> = pieces.iter().map(Block::bytes).collect();
    /// assert_eq!(texts, [&b"one\n"[..], b"two\n", b"three\n"]);
    /// assert_eq!((pieces[1].offset, pieces[1].offset_end), (4, 8));
    /// ```
    ///
    /// Each piece is a copy, so splitting costs the block's length in time and memory. A block with
    /// no valid offset is returned as it is, without a copy. The caller finds the offsets, for
    /// instance at the lines at which a log changes its format.
    pub fn split(self, offsets: impl IntoIterator<Item = usize>) -> Vec<Self> {
        let mut pieces: Vec<Self> = Vec::new();
        let mut start = 0;
        for end in offsets.into_iter().filter(|offset| *offset < self.length) {
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
        // The skipped lines are counted once, in the first piece.
        pieces[0].too_long_lines = self.too_long_lines;
        pieces
    }

    /// A copy of the lines from `start` to `end`.
    fn piece(&self, start: usize, end: usize) -> Self {
        Self {
            buffer: self.buffer[start..end].to_vec(),
            length: end - start,
            offset: self.offset + start as u64,
            offset_end: self.offset + end as u64,
            too_long_lines: 0,
        }
    }

    /// The memory of the block in bytes, unused room included.
    ///
    /// For a block from a [`BlockCutter`] this is `block_bytes + line_bytes_max + 5` of the
    /// cutter's limits, however few lines it holds.
    pub fn memory_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// The block's buffer, for [`BlockCutter::recycle`].
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}

#[cfg(test)]
mod tests {
    use super::Block;

    #[test]
    fn the_pieces_of_a_split_are_the_block() {
        let block = || {
            let mut block = Block::new(b"a\nb\nc\n".to_vec());
            (block.offset, block.offset_end, block.too_long_lines) = (10, 17, 3);
            block
        };
        for offsets in [&[][..], &[0], &[6], &[2], &[2, 4], &[0, 2, 2, 4, 6], &[4, 2]] {
            let pieces = block().split(offsets.iter().copied());
            let bytes: Vec<u8> = pieces.iter().flat_map(Block::bytes).copied().collect();
            assert_eq!(bytes, b"a\nb\nc\n", "{offsets:?}");
            assert_eq!(pieces.iter().map(|piece| piece.too_long_lines).collect::<Vec<_>>()[0], 3);
            assert_eq!(pieces.iter().map(|piece| piece.too_long_lines).sum::<u64>(), 3);
            assert_eq!((pieces[0].offset, pieces[pieces.len() - 1].offset_end), (10, 17));
            for pair in pieces.windows(2) {
                assert_eq!(pair[0].offset_end, pair[1].offset);
            }
        }
        assert_eq!(block().split([2, 4]).len(), 3);
    }
}
