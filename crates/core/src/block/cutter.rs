//! Cuts a stream of bytes into blocks at line ends.
//!
//! A cutter fills one buffer from its start. The last line feed in it divides it in two:
//!
//! ```text
//! |<------------ filled ------------>|
//! | whole lines ... \n | tail        | free room                     |
//! 0                    last \n       filled                           capacity
//! ```
//!
//! [`BlockCutter::cut`] moves the buffer with the whole lines into a block and copies the tail,
//! which is part of one line, to the start of the next buffer. No other byte is copied or moved.
//!
//! A line that does not end within the buffer is over the limit. Its bytes are dropped up to its
//! line feed, in constant memory: this is the state `is_skipping`. A run of NULs that fills the
//! buffer is dropped too, but is not counted as a line.
//!
//! Time is linear in the input, for pieces of any size: `cut` searches backwards for a line feed,
//! and only in the bytes that were not searched before (`line_feed_free`).

use memchr::{memchr, memrchr};

use super::Block;

/// The bytes of a line that do not count for its limit: a byte order mark before it, and CR and LF
/// after it. A line within the limit always fits a cutter, so that the reader of its block decides.
const LINE_MARKS_BYTES: usize = 5;

/// The two sizes that bound a cutter's memory.
///
/// A cutter needs `block_bytes + line_bytes_max + 5` bytes: a block that is nearly full, and the
/// longest line after it with its line end. The defaults make this 2 MiB for each source.
///
/// ```
/// use weir_core::BlockLimits;
///
/// let limits = BlockLimits { block_bytes: 64 << 10, ..BlockLimits::default() };
/// assert_eq!(limits.line_bytes_max, BlockLimits::LINE_BYTES_MAX);
/// ```
///
/// Small blocks cost more for each line; large ones leave the
/// processor's cache. Tests use blocks of a few bytes to place a cut at every offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockLimits {
    /// A block is cut when it holds this many bytes.
    ///
    /// It then holds at least this many bytes and at most `line_bytes_max + 5` more, or fewer if
    /// the caller cuts early. In bytes of unpacked text.
    pub block_bytes: usize,
    /// A line with more bytes than this, its line end not counted, is skipped.
    ///
    /// Such a line is counted in [`Block::too_long_lines`] or, if it is in a block as a whole, by
    /// the reader of the block. Either way it is counted once.
    pub line_bytes_max: usize,
}

impl BlockLimits {
    /// The default size of a block, one mebibyte: large enough that the cost per block does not
    /// matter, small enough that two blocks per core stay in the second-level cache.
    pub const BLOCK_BYTES: usize = 1 << 20;

    /// The default limit of a line, one mebibyte, which no real line reaches: by default nginx
    /// accepts request lines of 8 KiB and Apache of 8,190 bytes, and escapes make them at most
    /// four times as long.
    pub const LINE_BYTES_MAX: usize = 1 << 20;
}

impl Default for BlockLimits {
    fn default() -> Self {
        Self { block_bytes: Self::BLOCK_BYTES, line_bytes_max: Self::LINE_BYTES_MAX }
    }
}

/// Takes bytes in pieces of any size and cuts them into [`Block`]s of whole lines.
///
/// The concatenated blocks are the input, except for the lines over the limit that do not fit into
/// the buffer. These are skipped and counted; the reader of a block skips the others
/// ([`crate::BlockReader`]). The lines do not depend on the pieces in which the input arrives; the
/// borders of the blocks may.
///
/// Memory is bounded: a cutter holds at most one block and one line, `block_bytes +
/// line_bytes_max + 5` bytes, and one spare buffer of that size.
///
/// NUL bytes at the start of a line, which `copytruncate` and crashes leave in a log, belong to
/// no line. A run of them that is longer than a block is dropped in constant memory.
///
/// # Examples
///
/// ```
/// use weir_core::{BlockCutter, BlockLimits};
///
/// let mut cutter = BlockCutter::new(BlockLimits::default());
/// assert_eq!(cutter.push(b"one\ntwo\nthr"), 11);
/// let block = cutter.cut().unwrap();
/// assert_eq!(block.bytes(), b"one\ntwo\n");
/// assert_eq!(cutter.pending_bytes(), 3);
///
/// cutter.push(b"ee");
/// let last = cutter.finish().unwrap();
/// assert_eq!((last.bytes(), last.offset), (&b"three"[..], 8));
/// ```
///
/// A source that can read into the cutter's own memory saves a copy:
///
/// ```
/// use std::io::Read;
/// use weir_core::{Block, BlockCutter, BlockLimits};
///
/// let limits = BlockLimits { block_bytes: 8, line_bytes_max: 100 };
/// let mut source = &b"one\ntwo\nthree\n"[..];
/// let (mut cutter, mut blocks) = (BlockCutter::new(limits), Vec::new());
/// loop {
///     let length = source.read(cutter.space())?;
///     if length == 0 {
///         blocks.extend(cutter.finish());
///         break;
///     }
///     cutter.advance(length);
///     if cutter.is_full() {
///         blocks.extend(cutter.cut());
///     }
/// }
/// let texts: Vec<&[u8]> = blocks.iter().map(Block::bytes).collect();
/// assert_eq!(texts, [&b"one\ntwo\n"[..], b"three\n"]);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// A line over the limit is skipped and counted, and the lines around it are kept:
///
/// ```
/// use weir_core::{BlockCutter, BlockLimits};
///
/// let mut cutter = BlockCutter::new(BlockLimits { block_bytes: 4, line_bytes_max: 4 });
/// let mut input = &b"far too long a line\nok\n"[..];
/// while !input.is_empty() {
///     let taken = cutter.push(input);
///     input = &input[taken..];
/// }
/// let block = cutter.finish().unwrap();
/// assert_eq!((block.bytes(), block.offset, block.too_long_lines), (&b"ok\n"[..], 20, 1));
/// ```
#[derive(Debug)]
pub struct BlockCutter {
    limits: BlockLimits,
    /// Empty, or `capacity()` bytes long. `buffer[..filled]` is not in a block yet and begins
    /// at a line start, unless `is_skipping`.
    buffer: Vec<u8>,
    filled: usize,
    /// A buffer for reuse: fresh memory costs a page fault every 4 KiB.
    spare: Option<Vec<u8>>,
    /// The offset of `buffer` in the source.
    offset: u64,
    /// `buffer[..line_feed_free]` has no line feed. It is not searched again, so the cost is
    /// linear for any pieces of input.
    line_feed_free: usize,
    /// Whether the cutter is inside a line over the limit, up to its line feed. `filled` is
    /// then 0.
    is_skipping: bool,
    /// Lines over the limit since the last block.
    too_long_lines: u64,
}

impl BlockCutter {
    /// A cutter at the start of a source.
    ///
    /// Allocates nothing until the first byte. To continue a source at an offset, add the offset to
    /// those of the blocks.
    pub fn new(limits: BlockLimits) -> Self {
        Self {
            limits,
            buffer: Vec::new(),
            filled: 0,
            spare: None,
            offset: 0,
            line_feed_free: 0,
            is_skipping: false,
            too_long_lines: 0,
        }
    }

    /// The same cutter for bytes that begin at this offset of their source.
    #[must_use]
    pub fn starting_at(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    /// The number of bytes taken so far, skipped ones included.
    ///
    /// After [`Self::forget_tail`] it is the offset of the first byte to send again.
    pub fn offset(&self) -> u64 {
        self.offset + self.filled as u64
    }

    /// The number of bytes taken that are not in a block yet.
    ///
    /// At most `block_bytes + line_bytes_max + 5`. They include whole lines until [`Self::cut`] is
    /// called, and never bytes of a line that is being skipped.
    pub fn pending_bytes(&self) -> usize {
        self.filled
    }

    /// Room for more bytes, never empty. Write to its start, then call [`Self::advance`]. Its
    /// content before the write is unspecified.
    ///
    /// Its length changes from call to call: up to `block_bytes` while the block is not full, then
    /// up to `line_bytes_max + 5` for the line that crosses its end. The first call after a cut may
    /// allocate a buffer.
    pub fn space(&mut self) -> &mut [u8] {
        if self.buffer.is_empty() {
            self.buffer = self.new_buffer();
        }
        // The room after a full block is only for a line that begins in the block and ends
        // after it.
        let block_bytes = self.limits.block_bytes;
        let end = if self.filled < block_bytes { block_bytes } else { self.buffer.len() };
        &mut self.buffer[self.filled..end]
    }

    /// Takes the first `length` bytes of [`Self::space`]. If the cutter [`Self::is_full`]
    /// afterwards, call [`Self::cut`] before it takes more.
    ///
    /// A `length` beyond the room counts as the room: nothing is read outside the buffer.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{BlockCutter, BlockLimits};
    ///
    /// let mut cutter = BlockCutter::new(BlockLimits::default());
    /// cutter.space()[..8].copy_from_slice(b"one\ntwo\n");
    /// cutter.advance(8);
    /// assert_eq!((cutter.offset(), cutter.is_full()), (8, false));
    /// assert_eq!(cutter.cut().unwrap().bytes(), b"one\ntwo\n");
    /// ```
    pub fn advance(&mut self, length: usize) {
        let start = self.filled;
        self.filled = (start + length).min(self.buffer.len());
        if self.is_skipping {
            self.skip();
        } else if self.filled == self.capacity() {
            self.make_room();
        }
    }

    /// Copies as much of `piece` as there is room for and returns the number of bytes: at least
    /// one if `piece` is not empty and the cutter was not full.
    ///
    /// The caller passes the rest of the piece in the next call. A full cutter still takes bytes up
    /// to the end of the line in progress; it returns 0 if its buffer holds a line feed and is full
    /// to the last byte.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{BlockCutter, BlockLimits};
    ///
    /// let mut cutter = BlockCutter::new(BlockLimits { block_bytes: 4, line_bytes_max: 100 });
    /// assert_eq!(cutter.push(b"one\ntwo\n"), 4);
    /// assert!(cutter.is_full());
    /// assert_eq!(cutter.cut().unwrap().bytes(), b"one\n");
    /// assert_eq!(cutter.push(b"two\n"), 4);
    /// ```
    pub fn push(&mut self, piece: &[u8]) -> usize {
        let space = self.space();
        let length = piece.len().min(space.len());
        space[..length].copy_from_slice(&piece[..length]);
        self.advance(length);
        length
    }

    /// Whether the cutter holds at least the bytes of a whole block.
    ///
    /// A full cutter may hold no whole line yet: then [`Self::cut`] returns `None`, and the cutter
    /// takes more bytes, up to the longest allowed line.
    pub fn is_full(&self) -> bool {
        self.filled >= self.limits.block_bytes
    }

    /// Returns all whole lines as a block, or `None` if there are none. Call it when the cutter
    /// is full, and also to process the lines so far while the source is idle.
    ///
    /// The bytes of the unfinished line stay for the next block. If there is no whole line but
    /// lines were skipped, the block is empty and carries their number, so that a count is never
    /// late by more than a cut.
    pub fn cut(&mut self) -> Option<Block> {
        self.cut_some(|_, lines_end| lines_end)
    }

    /// [`Self::cut`] for a caller that keeps some of the whole lines back, and may replace bytes.
    ///
    /// `choose` gets all bytes that are pending and the number of those that are whole lines. It
    /// returns the number of bytes that become a block: an end of a line, or 0. If the cutter is full,
    /// it has to be an end of a line.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{BlockCutter, BlockLimits};
    ///
    /// let mut cutter = BlockCutter::new(BlockLimits::default());
    /// cutter.push(b"one\ntwo\nthr");
    /// assert!(cutter.cut_some(|_, _| 0).is_none());
    /// let block = cutter.cut_some(|bytes, lines_end| {
    ///     assert_eq!((bytes.len(), lines_end), (11, 8));
    ///     4
    /// });
    /// assert_eq!(block.unwrap().bytes(), b"one\n");
    /// assert_eq!(cutter.cut().unwrap().bytes(), b"two\n");
    /// ```
    pub fn cut_some(&mut self, choose: impl FnOnce(&mut [u8], usize) -> usize) -> Option<Block> {
        let searched = self.line_feed_free;
        let Some(last) = memrchr(b'\n', &self.buffer[searched..self.filled]) else {
            self.line_feed_free = self.filled;
            return (self.too_long_lines > 0).then(|| self.take_block(0));
        };
        let lines_end = searched + last + 1;
        let chosen = choose(&mut self.buffer[..self.filled], lines_end).min(lines_end);
        let block = (chosen > 0 || self.too_long_lines > 0).then(|| self.take_block(chosen));
        if chosen < lines_end {
            // The lines that are kept back have line feeds.
            self.line_feed_free = 0;
        }
        block
    }

    /// All bytes that are pending, before [`Self::finish`] takes them.
    pub fn pending_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.filled]
    }

    /// Ends the source and returns the remaining bytes, including a last line without a line
    /// feed.
    ///
    /// Returns `None` if every byte is in a block already and no line was skipped since. A line
    /// over the limit whose line feed never came is counted like the others. The cutter can then
    /// take the bytes of the source again if it grows, as a log does that is followed: they belong
    /// to a new line.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{BlockCutter, BlockLimits};
    ///
    /// let mut cutter = BlockCutter::new(BlockLimits::default());
    /// assert!(cutter.finish().is_none());
    /// cutter.push(b"no line feed");
    /// assert_eq!(cutter.finish().unwrap().bytes(), b"no line feed");
    /// assert!(cutter.finish().is_none());
    /// ```
    pub fn finish(&mut self) -> Option<Block> {
        self.is_skipping = false;
        (self.filled > 0 || self.too_long_lines > 0).then(|| self.take_block(self.filled))
    }

    /// Discards the bytes of the unfinished line at the end, so that the source can send them
    /// again from [`Self::offset`] on. Call [`Self::cut`] first.
    ///
    /// For a connection that breaks in the middle of a line and resumes. Whole lines that are not
    /// cut yet are discarded too, which is why `cut` comes first.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{BlockCutter, BlockLimits};
    ///
    /// let mut cutter = BlockCutter::new(BlockLimits::default());
    /// cutter.push(b"one\ntw");
    /// let block = cutter.cut().unwrap();
    /// cutter.forget_tail();
    /// assert_eq!((block.offset_end, cutter.offset()), (4, 4));
    /// ```
    pub fn forget_tail(&mut self) {
        self.filled = 0;
        self.line_feed_free = 0;
    }

    /// Takes the buffer of a processed block ([`Block::into_buffer`]) for reuse. A buffer of
    /// another size is freed.
    ///
    /// One buffer is kept; a second one replaces it. Its content does not matter.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{BlockCutter, BlockLimits};
    ///
    /// let mut cutter = BlockCutter::new(BlockLimits::default());
    /// cutter.push(b"one\n");
    /// let block = cutter.cut().unwrap();
    /// let buffer = block.into_buffer();
    /// let address = buffer.as_ptr();
    /// cutter.recycle(buffer);
    /// assert_eq!(cutter.space().as_ptr(), address);
    /// ```
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        if buffer.len() == self.capacity() {
            self.spare = Some(buffer);
        }
    }

    /// Returns a buffer that holds no byte, while the source pauses: another source can
    /// [`Self::recycle`] it. `None` if no such buffer is left.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{BlockCutter, BlockLimits};
    ///
    /// let mut cutter = BlockCutter::new(BlockLimits::default());
    /// cutter.push(b"one\n");
    /// assert!(cutter.take_spare().is_none());
    /// let block = cutter.cut().unwrap();
    /// cutter.recycle(block.into_buffer());
    /// assert!(cutter.take_spare().is_some() && cutter.take_spare().is_none());
    /// ```
    pub fn take_spare(&mut self) -> Option<Vec<u8>> {
        let is_unused = self.filled == 0 && !self.buffer.is_empty();
        self.spare.take().or_else(|| is_unused.then(|| std::mem::take(&mut self.buffer)))
    }

    /// Continues in the caller's buffer, which is still in its core's cache. Costs a copy of the
    /// pending bytes. A buffer that [`Self::recycle`] would not take is ignored.
    pub fn move_to(&mut self, mut buffer: Vec<u8>) {
        if buffer.len() == self.capacity() {
            buffer[..self.filled].copy_from_slice(&self.buffer[..self.filled]);
            let before = std::mem::replace(&mut self.buffer, buffer);
            self.recycle(before);
        }
    }

    /// Where the next block begins in the source; `None` in a line that is being skipped.
    ///
    /// A source that can be read at any offset need not send the bytes from there on:
    /// [`Self::take_unread`] takes them without.
    pub fn block_start(&self) -> Option<u64> {
        (!self.is_skipping).then_some(self.offset)
    }

    /// Returns the next `length` bytes of the source as a block that has none of them yet: the
    /// caller writes them to [`Block::bytes_mut`], at any time and on any thread. The bytes that
    /// are pending are the first of them, so they are dropped.
    ///
    /// The bytes have to be whole lines from [`Self::block_start`] on, at most `block_bytes`, which
    /// a larger `length` counts as. `buffer` is used if [`Self::recycle`] would take it.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{BlockCutter, BlockLimits};
    ///
    /// let source = b"one\ntwo\nthree\n";
    /// let mut cutter = BlockCutter::new(BlockLimits::default());
    /// cutter.push(&source[..6]);
    /// assert_eq!(cutter.cut().unwrap().bytes(), b"one\n");
    ///
    /// let start = cutter.block_start().unwrap() as usize;
    /// let mut block = cutter.take_unread(10, None);
    /// block.bytes_mut().copy_from_slice(&source[start..]);
    /// assert_eq!((block.bytes(), block.offset), (&b"two\nthree\n"[..], 4));
    /// assert_eq!((cutter.pending_bytes(), cutter.offset()), (0, 14));
    /// ```
    pub fn take_unread(&mut self, length: usize, buffer: Option<Vec<u8>>) -> Block {
        if let Some(buffer) = buffer {
            self.recycle(buffer);
        }
        self.forget_tail();
        let length = length.min(self.limits.block_bytes);
        let buffer = self.new_buffer();
        let offset = self.offset;
        self.offset += length as u64;
        let too_long_lines = std::mem::take(&mut self.too_long_lines);
        Block { buffer, length, offset, offset_end: self.offset, too_long_lines }
    }

    /// The number of bytes at which a block is cut.
    pub fn block_bytes(&self) -> usize {
        self.limits.block_bytes
    }

    /// Returns the first `length` bytes as a block and keeps the rest.
    ///
    /// `length` is 0 or follows a line feed, except at the end of the source. The rest is at most one
    /// line, and lines that the caller keeps back, and is the only thing that is copied.
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
        let too_long_lines = std::mem::take(&mut self.too_long_lines);
        Block { buffer, length, offset, offset_end: self.offset, too_long_lines }
    }

    /// The spare buffer, or a new one.
    fn new_buffer(&mut self) -> Vec<u8> {
        let capacity = self.capacity();
        self.spare.take().unwrap_or_else(|| vec![0; capacity])
    }

    /// The size of a buffer: the longest allowed line with its marks fits after a block that is
    /// nearly full.
    fn capacity(&self) -> usize {
        self.limits.block_bytes + self.limits.line_bytes_max + LINE_MARKS_BYTES
    }

    /// Makes room in a buffer that is at its capacity. If it holds a line feed, `cut` makes
    /// room; otherwise it is one line over the limit, or a run of NULs.
    ///
    /// Called only when the buffer is full to its last byte, so its cost is spread over
    /// `line_bytes_max` bytes or more.
    fn make_room(&mut self) {
        if memrchr(b'\n', &self.buffer[self.line_feed_free..]).is_some() {
            return;
        }
        let nul_bytes = leading_nuls(&self.buffer);
        if nul_bytes > 0 {
            self.drop_front(nul_bytes);
        } else {
            self.drop_front(self.filled);
            self.too_long_lines += 1;
            self.is_skipping = true;
        }
        self.line_feed_free = self.filled;
    }

    /// Drops the rest of a line over the limit from the bytes just taken.
    fn skip(&mut self) {
        match memchr(b'\n', &self.buffer[..self.filled]) {
            Some(at) => {
                self.is_skipping = false;
                self.drop_front(at + 1);
            }
            None => self.drop_front(self.filled),
        }
    }

    /// Drops the first `length` bytes, which are then in no block.
    fn drop_front(&mut self, length: usize) {
        self.buffer.copy_within(length..self.filled, 0);
        self.filled -= length;
        self.offset += length as u64;
    }
}

/// The number of NUL bytes at the start. They are counted a vector at a time.
///
/// ```
/// assert_eq!(weir_core::leading_nuls(b"\0\0a\0"), 2);
/// ```
pub fn leading_nuls(bytes: &[u8]) -> usize {
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
