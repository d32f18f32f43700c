//! Cuts a stream of bytes into blocks at line ends.

use memchr::{memchr, memrchr};

use super::Block;

/// The two sizes that bound a cutter's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockLimits {
    /// A block is cut when it holds this many bytes.
    pub block_bytes: usize,
    /// A line with more bytes than this, its line end not counted, is skipped.
    pub line_bytes_max: usize,
}

impl BlockLimits {
    /// Large enough that what is done once a block costs nothing, small enough that two
    /// blocks a core stay in the second-level cache of current machines.
    pub const BLOCK_BYTES: usize = 1 << 20;

    /// nginx accepts request lines up to 8 KiB and Apache up to 8,190 bytes by default;
    /// escaping makes them four times as long. A mebibyte is far beyond any real line.
    pub const LINE_BYTES_MAX: usize = 1 << 20;
}

impl Default for BlockLimits {
    fn default() -> Self {
        Self { block_bytes: Self::BLOCK_BYTES, line_bytes_max: Self::LINE_BYTES_MAX }
    }
}

/// Takes bytes in pieces of any size and gives them back as [`Block`]s.
///
/// The cutter holds at most one block and one line, `block_bytes + line_bytes_max + 2`
/// bytes, and one spare buffer of that size. The blocks, laid end to end, are the input,
/// except for what a limit made it skip; however the input is cut into pieces, the lines
/// in the blocks are the same (where the block borders fall may differ).
///
/// Runs of NUL bytes at the start of a line are what `copytruncate` and crashes leave in
/// front of the next line. They belong to no line, and a run that is longer than a
/// block is dropped here in constant memory.
#[derive(Debug)]
pub struct BlockCutter {
    limits: BlockLimits,
    /// Empty, or `capacity()` bytes long; `buffer[..filled]` is not yet given out and
    /// starts at a line start, unless `skipping`.
    buffer: Vec<u8>,
    filled: usize,
    /// A used buffer, to be used again: fresh memory costs a page fault every 4 KiB.
    spare: Option<Vec<u8>>,
    /// Where `buffer` starts in the source.
    offset: u64,
    /// No byte of `buffer` before this is a line feed: what was searched is not searched
    /// again, so that the cost stays linear however the input is cut.
    line_feed_free: usize,
    /// Inside a line over the limit, up to its line feed. `filled` is then 0.
    skipping: bool,
    /// Lines over the limit since the last block.
    too_long: u64,
}

impl BlockCutter {
    /// A cutter at the start of a source.
    pub fn new(limits: BlockLimits) -> Self {
        Self {
            limits,
            buffer: Vec::new(),
            filled: 0,
            spare: None,
            offset: 0,
            line_feed_free: 0,
            skipping: false,
            too_long: 0,
        }
    }

    /// Bytes taken so far, skipped ones included.
    pub fn offset(&self) -> u64 {
        self.offset + self.filled as u64
    }

    /// Bytes taken, but not given out in a block yet.
    pub fn pending_bytes(&self) -> usize {
        self.filled
    }

    /// Room for more bytes, never empty. Write to its start, then call [`Self::advance`].
    /// What it holds before is unspecified.
    pub fn space(&mut self) -> &mut [u8] {
        if self.buffer.is_empty() {
            self.buffer = self.new_buffer();
        }
        // Room beyond a block is for a line that has begun and does not end within it.
        let end = match self.limits.block_bytes {
            block_bytes if self.filled < block_bytes => block_bytes,
            _ => self.buffer.len(),
        };
        &mut self.buffer[self.filled..end]
    }

    /// Takes the first `length` bytes of [`Self::space`]. When [`Self::is_full`] then,
    /// [`Self::cut`] has to be called before more is taken.
    pub fn advance(&mut self, length: usize) {
        let start = self.filled;
        self.filled = (start + length).min(self.buffer.len());
        if self.skipping {
            self.skip();
        } else if self.filled == self.capacity() {
            self.make_room();
        }
    }

    /// Copies as much of `piece` as fits and returns how much that was: at least one byte
    /// of a piece that is not empty, where the cutter was not full.
    pub fn push(&mut self, piece: &[u8]) -> usize {
        let space = self.space();
        let length = piece.len().min(space.len());
        space[..length].copy_from_slice(&piece[..length]);
        self.advance(length);
        length
    }

    /// True where a whole block may be waiting.
    pub fn is_full(&self) -> bool {
        self.filled >= self.limits.block_bytes
    }

    /// Gives out all whole lines; `None` where there is none. Call it when the cutter is
    /// full, and also to hand on what there is while the source has nothing more to give.
    pub fn cut(&mut self) -> Option<Block> {
        let searched = self.line_feed_free;
        let Some(last) = memrchr(b'\n', &self.buffer[searched..self.filled]) else {
            self.line_feed_free = self.filled;
            return (self.too_long > 0).then(|| self.take_block(0));
        };
        Some(self.take_block(searched + last + 1))
    }

    /// Ends the source: gives out what is left, a last line without a line feed included.
    pub fn finish(&mut self) -> Option<Block> {
        self.skipping = false;
        (self.filled > 0 || self.too_long > 0).then(|| self.take_block(self.filled))
    }

    /// Forgets the bytes of the unfinished line at the end, so that the source can send
    /// them again from [`Self::offset`] on. Call [`Self::cut`] first.
    pub fn forget_tail(&mut self) {
        self.filled = 0;
        self.line_feed_free = 0;
    }

    /// Takes back the memory of a block that is done with.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        if buffer.len() == self.capacity() {
            self.spare = Some(buffer);
        }
    }

    /// Goes on in another buffer, where it is one that [`Self::recycle`] would take: the
    /// caller's, which is still in its core's cache. Costs a copy of the pending bytes.
    pub fn move_to(&mut self, mut buffer: Vec<u8>) {
        if buffer.len() == self.capacity() {
            buffer[..self.filled].copy_from_slice(&self.buffer[..self.filled]);
            let before = std::mem::replace(&mut self.buffer, buffer);
            self.recycle(before);
        }
    }

    /// Gives out the first `length` bytes and keeps the rest.
    fn take_block(&mut self, length: usize) -> Block {
        let mut next = Vec::new();
        let tail_bytes = self.filled - length;
        if tail_bytes > 0 {
            next = self.new_buffer();
            next[..tail_bytes].copy_from_slice(&self.buffer[length..self.filled]);
        }
        let buffer = std::mem::replace(&mut self.buffer, next);
        self.filled = tail_bytes;
        self.line_feed_free = tail_bytes;
        let offset = self.offset;
        self.offset += length as u64;
        let too_long = std::mem::take(&mut self.too_long);
        Block { buffer, length, offset, offset_end: self.offset, too_long }
    }

    fn new_buffer(&mut self) -> Vec<u8> {
        let capacity = self.capacity();
        self.spare.take().unwrap_or_else(|| vec![0; capacity])
    }

    /// The longest line that counts has to fit behind a block that is nearly full, with
    /// its line end.
    fn capacity(&self) -> usize {
        self.limits.block_bytes + self.limits.line_bytes_max + 2
    }

    /// The buffer is at its capacity. Where it holds a line feed, `cut` makes room;
    /// otherwise it is one line that is over the limit, or a run of NULs.
    fn make_room(&mut self) {
        if memrchr(b'\n', &self.buffer[self.line_feed_free..]).is_some() {
            return;
        }
        let nul_bytes = leading_nuls(&self.buffer);
        if nul_bytes > 0 {
            self.drop_front(nul_bytes);
        } else {
            self.drop_front(self.filled);
            self.too_long += 1;
            self.skipping = true;
        }
        self.line_feed_free = self.filled;
    }

    /// Drops the rest of a line over the limit from what has just been taken.
    fn skip(&mut self) {
        match memchr(b'\n', &self.buffer[..self.filled]) {
            Some(at) => {
                self.skipping = false;
                self.drop_front(at + 1);
            }
            None => self.drop_front(self.filled),
        }
    }

    fn drop_front(&mut self, length: usize) {
        self.buffer.copy_within(length..self.filled, 0);
        self.filled -= length;
        self.offset += length as u64;
    }
}

/// The number of NUL bytes at the start.
pub(crate) fn leading_nuls(bytes: &[u8]) -> usize {
    // Whole chunks first: a run can be hundreds of megabytes.
    let mut nuls = 0;
    for chunk in bytes.chunks_exact(64) {
        if chunk.iter().fold(0, |any, byte| any | byte) != 0 {
            break;
        }
        nuls += 64;
    }
    nuls + bytes[nuls..].iter().take_while(|byte| **byte == 0).count()
}
