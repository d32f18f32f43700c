//! Blocks of whole lines in a buffer that stays in the processor's cache.
//!
//! [`weir_core::BlockCutter`] makes blocks of a mebibyte that are passed from thread to thread. A
//! search uses each block once and immediately, and reads faster into a buffer that stays in the
//! second-level cache. The lines are the same however the stream is cut; property tests check that.
//! Only the limit on the length of a line differs: a search in whole lines has no reason to skip a
//! line that a report could not store.

use std::io::{self, Read};

use memchr::{memchr, memmem, memrchr};

use weir_core::leading_nuls;

/// The size of a read: small enough that the bytes are still in the second-level cache when they
/// are searched, large enough that the system call costs nothing beside it.
const READ_BYTES: usize = 128 << 10;

/// A longer line is skipped and counted.
const LINE_BYTES_MAX: usize = 256 << 20;

/// The whole lines of a stream, block by block.
///
/// Lines are those of [`weir_core::Lines`], with their line ends. NUL bytes before a line do not
/// belong to it and are dropped, as are those at the end of the stream. A run of them takes
/// constant memory. Otherwise the memory is that of the longest line, 256 MiB at most.
#[derive(Debug)]
pub struct LineBlocks<R> {
    stream: R,
    buffer: Vec<u8>,
    /// `buffer[..released]` holds the last block.
    released: usize,
    /// `buffer[released..filled]` was read and not returned yet.
    filled: usize,
    /// `buffer[..line_feed_free]` holds no line feed.
    line_feed_free: usize,
    line_bytes_max: usize,
    /// Whether the stream is inside a line over the limit.
    is_skipping: bool,
    too_long_lines: u64,
    has_ended: bool,
    error: Option<io::Error>,
}

impl<R: Read> LineBlocks<R> {
    /// Creates the blocks of a stream that starts at the start of a line.
    pub fn new(stream: R) -> Self {
        Self::with_sizes(stream, READ_BYTES, LINE_BYTES_MAX)
    }

    fn with_sizes(stream: R, read_bytes: usize, line_bytes_max: usize) -> Self {
        Self {
            stream,
            buffer: vec![0; read_bytes],
            released: 0,
            filled: 0,
            line_feed_free: 0,
            line_bytes_max,
            is_skipping: false,
            too_long_lines: 0,
            has_ended: false,
            error: None,
        }
    }

    /// The number of lines that were longer than the limit and are in no block.
    pub fn too_long_lines(&self) -> u64 {
        self.too_long_lines
    }

    /// Returns the next whole lines as soon as there are any, or `None` at the end. The last
    /// line may lack its line end.
    ///
    /// # Errors
    /// If the stream cannot be read further. All lines before the error were returned.
    pub fn next_block(&mut self) -> io::Result<Option<&[u8]>> {
        let Some(released) = self.fill()? else { return Ok(None) };
        self.released = released;
        let length = drop_nuls(&mut self.buffer[..released]);
        Ok(Some(&self.buffer[..length]))
    }

    /// Reads until the buffer begins with whole lines and returns their length.
    fn fill(&mut self) -> io::Result<Option<usize>> {
        let released = std::mem::take(&mut self.released);
        self.drop_front(released);
        loop {
            if !self.is_skipping {
                self.drop_front_nuls();
                let start = self.line_feed_free;
                if let Some(last) = memrchr(b'\n', &self.buffer[start..self.filled]) {
                    return Ok(Some(start + last + 1));
                }
                self.line_feed_free = self.filled;
            }
            if self.has_ended {
                return self.rest();
            }
            self.read();
        }
    }

    /// The last line, which has no line end; then the error that ended the stream.
    fn rest(&mut self) -> io::Result<Option<usize>> {
        if self.filled > 0 {
            return Ok(Some(self.filled));
        }
        self.error.take().map_or(Ok(None), Err)
    }

    fn read(&mut self) {
        self.make_room();
        match self.stream.read(&mut self.buffer[self.filled..]) {
            Ok(0) => self.has_ended = true,
            Ok(length) => {
                self.filled += length;
                self.skip();
            }
            // A live stream fails with `WouldBlock` after a while without bytes.
            Err(error) if is_retryable(&error) => {}
            Err(error) => {
                self.has_ended = true;
                self.error = Some(error);
            }
        }
    }

    /// Makes room in a full buffer. If the buffer holds a line over the limit, drops it.
    fn make_room(&mut self) {
        if self.filled < self.buffer.len() {
            return;
        }
        let is_one_line =
            || memchr(b'\n', &self.buffer[self.line_feed_free..self.filled]).is_none();
        if self.filled >= self.line_bytes_max && is_one_line() {
            self.too_long_lines += 1;
            self.is_skipping = true;
            self.drop_front(self.filled);
            return;
        }
        let length = (self.buffer.len() * 2).min(self.line_bytes_max);
        self.buffer.resize(length.max(self.filled + 1), 0);
    }

    /// Drops the rest of a line over the limit.
    fn skip(&mut self) {
        if !self.is_skipping {
            return;
        }
        match memchr(b'\n', &self.buffer[..self.filled]) {
            Some(at) => {
                self.is_skipping = false;
                self.drop_front(at + 1);
            }
            None => self.drop_front(self.filled),
        }
    }

    fn drop_front_nuls(&mut self) {
        if self.buffer[..self.filled].first() == Some(&0) {
            self.drop_front(leading_nuls(&self.buffer[..self.filled]));
        }
    }

    fn drop_front(&mut self, length: usize) {
        self.buffer.copy_within(length..self.filled, 0);
        self.filled -= length;
        self.line_feed_free = self.line_feed_free.saturating_sub(length);
    }
}

/// Whether an error means that the read should be tried again.
pub fn is_retryable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

/// Drops the NULs before every line but the first, which has none. Returns the length that is
/// left.
fn drop_nuls(lines: &mut [u8]) -> usize {
    // Almost no block has a NUL, and this check is fast.
    let Some(first) = memchr(0, lines) else { return lines.len() };
    let (mut from, mut to) = (first, first);
    // A NUL that is the first byte of its line has the line feed before it.
    from -= usize::from(from > 0);
    to -= usize::from(to > 0);
    while let Some(at) = memmem::find(&lines[from..], b"\n\0") {
        let kept = at + 1;
        lines.copy_within(from..from + kept, to);
        (from, to) = (from + kept, to + kept);
        from += leading_nuls(&lines[from..]);
    }
    lines.copy_within(from.., to);
    to + lines.len() - from
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use proptest::prelude::*;
    use weir_core::{Block, BlockCutter, BlockLimits, Lines};

    use super::LineBlocks;

    /// Returns at most n bytes per read, and an error at the end if the flag is set.
    struct Pieces<'a>(&'a [u8], usize, bool);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() && self.2 {
                return Err(io::Error::other("broken"));
            }
            let length = buffer.len().min(self.1).min(self.0.len());
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    fn lines_of(mut blocks: LineBlocks<impl Read>) -> (Vec<Vec<u8>>, u64, bool) {
        let mut lines: Vec<Vec<u8>> = Vec::new();
        loop {
            match blocks.next_block() {
                Ok(Some(block)) => {
                    assert!(!block.is_empty());
                    lines.extend(block.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec));
                }
                Ok(None) => return (lines, blocks.too_long_lines(), false),
                Err(_) => return (lines, blocks.too_long_lines(), true),
            }
        }
    }

    #[test]
    fn a_line_over_the_limit_is_skipped_and_counted() {
        let log = [b"a\n".as_slice(), &[b'x'; 100], b"\nb\n", &[b'y'; 40]].concat();
        for piece in [1, 7, 1_000] {
            let (lines, too_long_lines, _) =
                lines_of(LineBlocks::with_sizes(Pieces(&log, piece, false), 8, 32));
            assert_eq!((lines, too_long_lines), (vec![b"a\n".to_vec(), b"b\n".to_vec()], 2));
        }
    }

    #[test]
    fn lines_before_an_error_are_kept() {
        let blocks = LineBlocks::with_sizes(Pieces(b"a\nbc", 3, true), 8, 32);
        assert_eq!(lines_of(blocks), (vec![b"a\n".to_vec(), b"bc".to_vec()], 0, true));
    }

    #[test]
    fn a_run_of_nuls_takes_no_memory() {
        let log = io::repeat(0).take(100 << 20).chain(&b"a\n"[..]);
        let mut blocks = LineBlocks::new(log);
        assert_eq!(blocks.next_block().expect("it is read"), Some(&b"a\n"[..]));
        assert_eq!(blocks.buffer.len(), super::READ_BYTES);
    }

    /// The lines that the core's cutter makes of the log, without line ends and NULs, and the
    /// number of lines over its limit.
    fn cutter_lines(log: &[u8], limits: BlockLimits, piece: usize) -> (Vec<Vec<u8>>, u64) {
        let mut cutter = BlockCutter::new(limits);
        let (mut lines, mut too_long_lines) = (Vec::new(), 0);
        let mut take = |block: Option<Block>| {
            if let Some(block) = block {
                lines.extend(Lines::new(block.bytes()).map(|line| line.bytes.to_vec()));
                too_long_lines += block.too_long_lines;
            }
        };
        for mut piece in log.chunks(piece) {
            while !piece.is_empty() {
                piece = &piece[cutter.push(piece)..];
                if cutter.is_full() {
                    take(cutter.cut());
                }
            }
        }
        take(cutter.finish());
        (lines, too_long_lines)
    }

    fn bare(line: &[u8]) -> Vec<u8> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        line.strip_suffix(b"\r").unwrap_or(line).to_vec()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Blocks, the core's cutter and the core's lines agree, however the log is cut.
        #[test]
        fn the_lines_are_those_of_the_core(
            pieces in prop::collection::vec(
                prop::sample::select(&["a", "b", "\n", "\n\n", "\r", "\r\n", "\0", "\0\0\0\0\0\0\0\0\0"][..]),
                0..200,
            ),
            piece in 1usize..50,
            read_bytes in 1usize..40,
        ) {
            let log = pieces.concat().into_bytes();
            let blocks = LineBlocks::with_sizes(Pieces(&log, piece, false), read_bytes, 1 << 20);
            let (lines, too_long_lines, _) = lines_of(blocks);
            let lines: Vec<Vec<u8>> = lines.iter().map(|line| bare(line)).collect();
            let expected: Vec<Vec<u8>> =
                Lines::new(&log).map(|line| line.bytes.to_vec()).collect();
            prop_assert_eq!(&lines, &expected);
            let limits = BlockLimits { block_bytes: read_bytes, line_bytes_max: 1 << 20 };
            prop_assert_eq!((lines, too_long_lines), cutter_lines(&log, limits, piece));
        }

        /// Lines over the limit are skipped and counted as the core's cutter does. A line that
        /// may be just over it is left out: the limits are not exact to the byte.
        #[test]
        fn long_lines_are_skipped_as_in_the_core(
            lengths in prop::collection::vec(prop_oneof![0usize..20, 100usize..200], 1..40),
            piece in 1usize..50,
            read_bytes in 1usize..30,
        ) {
            let lines: Vec<Vec<u8>> = lengths.iter().map(|length| vec![b'x'; *length]).collect();
            let log = lines.join(&b'\n');
            let blocks = LineBlocks::with_sizes(Pieces(&log, piece, false), read_bytes, 32);
            let (lines, too_long_lines, _) = lines_of(blocks);
            let lines: Vec<Vec<u8>> = lines.iter().map(|line| bare(line)).collect();
            let limits = BlockLimits { block_bytes: 1, line_bytes_max: 32 };
            prop_assert_eq!((lines, too_long_lines), cutter_lines(&log, limits, piece));
        }
    }
}
