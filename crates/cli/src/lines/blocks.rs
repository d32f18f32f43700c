//! Blocks of whole lines, in a buffer that stays in the processor's cache.

use std::io::{self, Read};

use memchr::{memchr, memmem, memrchr};

/// What is read at once: small enough that what is read is still in the second-level cache
/// when it is searched, large enough that a system call costs nothing beside it.
const READ_BYTES: usize = 128 << 10;

/// A line that is longer is skipped and counted.
const LINE_BYTES_MAX: usize = 256 << 20;

/// The lines of a stream, block by block.
///
/// Lines are what they are everywhere in Weir (see [`weir_core::Lines`]), with their line
/// ends: NUL bytes in front of a line are no part of it, and those in front of the end are no
/// line. A run of them is dropped as it is read, in constant memory. Otherwise the memory is
/// that of the longest line, 256 MiB at the most.
#[derive(Debug)]
pub(crate) struct LineBlocks<R> {
    stream: R,
    buffer: Vec<u8>,
    /// `buffer[..given]` was given out.
    given: usize,
    /// `buffer[given..filled]` waits.
    filled: usize,
    line_bytes_max: usize,
    /// Inside a line over the limit.
    skipping: bool,
    /// Lines over the limit so far.
    too_long: u64,
    ended: bool,
    error: Option<io::Error>,
}

impl<R: Read> LineBlocks<R> {
    /// The lines of a stream that starts at a line start.
    pub(crate) fn new(stream: R) -> Self {
        Self::with_sizes(stream, READ_BYTES, LINE_BYTES_MAX)
    }

    fn with_sizes(stream: R, read_bytes: usize, line_bytes_max: usize) -> Self {
        Self {
            stream,
            buffer: vec![0; read_bytes],
            given: 0,
            filled: 0,
            line_bytes_max,
            skipping: false,
            too_long: 0,
            ended: false,
            error: None,
        }
    }

    /// Lines that were longer than the limit and are in no block.
    pub(crate) fn too_long(&self) -> u64 {
        self.too_long
    }

    /// The next whole lines, as soon as there are any; `None` at the end. The last line may
    /// have no line end.
    ///
    /// # Errors
    /// Where the stream cannot be read on, after all that came before was given out.
    pub(crate) fn next_block(&mut self) -> io::Result<Option<&[u8]>> {
        let Some(length) = self.fill()? else { return Ok(None) };
        self.given = length;
        let length = drop_nuls(&mut self.buffer[..length]);
        Ok(Some(&self.buffer[..length]))
    }

    /// Reads until the buffer begins with whole lines, and gives their length.
    fn fill(&mut self) -> io::Result<Option<usize>> {
        self.buffer.copy_within(self.given..self.filled, 0);
        self.filled -= self.given;
        self.given = 0;
        let mut searched = 0;
        loop {
            if !self.skipping {
                self.drop_front_nuls();
                searched = searched.min(self.filled);
                if let Some(last) = memrchr(b'\n', &self.buffer[searched..self.filled]) {
                    return Ok(Some(searched + last + 1));
                }
            }
            searched = self.filled;
            if self.ended {
                return match (self.filled, self.error.take()) {
                    (0, None) => Ok(None),
                    (0, Some(error)) => Err(error),
                    (filled, error) => {
                        self.error = error;
                        Ok(Some(filled))
                    }
                };
            }
            self.make_room();
            self.read();
        }
    }

    /// Reads once, up to the end of the buffer.
    fn read(&mut self) {
        match self.stream.read(&mut self.buffer[self.filled..]) {
            Ok(0) => self.ended = true,
            Ok(length) => {
                self.filled += length;
                self.skip();
            }
            // A stream that brings nothing for now says so after a while.
            Err(error) if is_passing(&error) => {}
            Err(error) => {
                self.ended = true;
                self.error = Some(error);
            }
        }
    }

    fn make_room(&mut self) {
        if self.filled < self.buffer.len() {
            return;
        }
        if self.filled >= self.line_bytes_max {
            self.too_long += 1;
            self.skipping = true;
            self.filled = 0;
            return;
        }
        let length = (self.buffer.len() * 2).min(self.line_bytes_max);
        self.buffer.resize(length.max(self.filled + 1), 0);
    }

    /// Drops the rest of a line over the limit.
    fn skip(&mut self) {
        if !self.skipping {
            return;
        }
        match memchr(b'\n', &self.buffer[..self.filled]) {
            Some(at) => {
                self.skipping = false;
                self.drop_front(at + 1);
            }
            None => self.filled = 0,
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
    }
}

/// True for what is no failure: read again.
pub(crate) fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

/// The number of NUL bytes at the start, found a vector at a time: a run can be hundreds of
/// megabytes.
fn leading_nuls(bytes: &[u8]) -> usize {
    let is_zero = |chunk: &&[u8]| chunk.iter().fold(0, |any, byte| any | byte) == 0;
    let nuls = bytes.chunks_exact(64).take_while(is_zero).count() * 64;
    nuls + bytes[nuls..].iter().take_while(|byte| **byte == 0).count()
}

/// Drops the NULs in front of every line but the first, which has none; gives the length that
/// is left.
fn drop_nuls(lines: &mut [u8]) -> usize {
    // Nearly every block has no NUL at all, which is quickly seen.
    let Some(first) = memchr(0, lines) else { return lines.len() };
    let (mut from, mut to) = (first, first);
    // A NUL that is the first byte of its line has its line feed before it.
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
    use weir_core::Lines;

    use super::LineBlocks;

    /// Gives so many bytes at a time, and fails at the end where that is wanted.
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
                Ok(None) => return (lines, blocks.too_long(), false),
                Err(_) => return (lines, blocks.too_long(), true),
            }
        }
    }

    #[test]
    fn a_line_over_the_limit_is_skipped_and_counted() {
        let log = [b"a\n".as_slice(), &[b'x'; 100], b"\nb\n", &[b'y'; 40]].concat();
        for piece in [1, 7, 1_000] {
            let (lines, too_long, _) =
                lines_of(LineBlocks::with_sizes(Pieces(&log, piece, false), 8, 32));
            assert_eq!((lines, too_long), (vec![b"a\n".to_vec(), b"b\n".to_vec()], 2));
        }
    }

    #[test]
    fn what_was_read_before_an_error_stands() {
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

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_lines_are_the_cores(
            log in prop::collection::vec(prop::sample::select(&b"ab\n\n\0\0\r"[..]), 0..200),
            piece in 1usize..50,
            read_bytes in 1usize..40,
        ) {
            let blocks = LineBlocks::with_sizes(Pieces(&log, piece, false), read_bytes, 1 << 20);
            let (lines, too_long, _) = lines_of(blocks);
            let bare: Vec<&[u8]> = lines
                .iter()
                .map(|line| line.strip_suffix(b"\n").unwrap_or(line))
                .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
                .collect();
            let expected: Vec<&[u8]> = Lines::new(&log).map(|line| line.bytes).collect();
            prop_assert_eq!(bare, expected);
            prop_assert_eq!(too_long, 0);
        }
    }
}
