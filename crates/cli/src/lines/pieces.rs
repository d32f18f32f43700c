//! A plain file in pieces, so that all cores can read it.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use memchr::memchr;
use weir_ingest::{Input, Text};

/// A piece of a file that is read at once: large enough that to begin costs nothing, small
/// enough that all cores have something to do to the end.
const PIECE_BYTES: u64 = 4 << 20;

/// Pieces of a file at the most, each of which takes a place in the order of the output: those
/// of a file of terabytes, which may be nothing but a hole, are larger.
const PIECES_MAX: u64 = 4_096;

/// A smaller file is read as it is.
const FILE_BYTES_MIN: u64 = 16 << 20;

/// The pieces of a plain file. It is opened once: one that is rotated away meanwhile is read to
/// its end.
#[derive(Debug)]
pub(crate) struct Pieces {
    file: Arc<File>,
    bytes: u64,
    piece_bytes: u64,
}

impl Pieces {
    /// The pieces of a text that is a large plain file. One thread gains by them as well: they
    /// are read straight into the buffer that is searched.
    pub(crate) fn of(input: &Input, text: &Text<'_>) -> Option<Self> {
        let Input::File(path) = input else { return None };
        let is_plain = !text.is_packed() && !text.is_member() && input.is_file();
        let bytes = input.bytes_total().filter(|bytes| *bytes >= FILE_BYTES_MIN)?;
        // What cannot be opened is said where it is read as it is.
        let file = Arc::new(is_plain.then(|| File::open(path).ok()).flatten()?);
        Some(Self { file, bytes, piece_bytes: PIECE_BYTES.max(bytes.div_ceil(PIECES_MAX)) })
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.bytes.div_ceil(self.piece_bytes) as usize
    }

    /// One of them; what is written to the file meanwhile belongs to the last.
    pub(crate) fn piece(&self, index: usize) -> Piece {
        let start = index as u64 * self.piece_bytes;
        let end = if index + 1 == self.count() { u64::MAX } else { start + self.piece_bytes };
        Piece::new(self.file.clone(), start, end)
    }

    /// The bytes of one of them, wherever its lines begin and end.
    pub(crate) fn bytes(&self, index: usize) -> impl Read {
        let from = From { file: self.file.clone(), at: index as u64 * self.piece_bytes };
        from.take(if index + 1 == self.count() { u64::MAX } else { self.piece_bytes })
    }
}

/// A file from some place on, which others may read at the same time.
#[derive(Debug)]
struct From {
    file: Arc<File>,
    /// Where the next byte is read.
    at: u64,
}

impl Read for From {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = read_at(&self.file, buffer, self.at)?;
        self.at += length as u64;
        Ok(length)
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
}

/// The lines of a file that start in one range of it, as a stream.
#[derive(Debug)]
pub(crate) struct Piece {
    from: From,
    end: u64,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In a line of the piece before.
    Before,
    /// In a line of this piece; whether what was read last is a line feed.
    Within {
        at_line_start: bool,
    },
    Done,
}

impl Piece {
    /// The lines that start at `start` or later and before `end`.
    fn new(file: Arc<File>, start: u64, end: u64) -> Self {
        // The byte before tells whether a line starts here.
        let from = From { file, at: start.saturating_sub(1) };
        let state = match start {
            0 => State::Within { at_line_start: true },
            _ => State::Before,
        };
        Self { from, end, state }
    }

    /// Passes by what belongs to the piece before; gives how many of the bytes that were read.
    fn skip(&mut self, bytes: &[u8]) -> usize {
        match memchr(b'\n', bytes) {
            Some(line_feed) => {
                self.state = State::Within { at_line_start: true };
                line_feed + 1
            }
            None => bytes.len(),
        }
    }
}

impl Read for Piece {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let is_behind = self.from.at >= self.end;
            let ends = match self.state {
                State::Before => is_behind,
                State::Within { at_line_start } => is_behind && at_line_start,
                State::Done => true,
            };
            if ends || buffer.is_empty() {
                self.state = State::Done;
                return Ok(0);
            }
            // What lies behind the end is read only as far as the last line goes.
            let left = usize::try_from(self.end.saturating_sub(self.from.at)).unwrap_or(usize::MAX);
            let room = if is_behind { buffer.len() } else { buffer.len().min(left) };
            let read = self.from.read(&mut buffer[..room])?;
            if read == 0 {
                self.state = State::Done;
                return Ok(0);
            }
            let mut length = read;
            if self.state == State::Before {
                let skipped = self.skip(&buffer[..read]);
                buffer.copy_within(skipped..read, 0);
                length -= skipped;
                if length == 0 {
                    continue;
                }
            } else if is_behind && let Some(line_feed) = memchr(b'\n', &buffer[..read]) {
                self.state = State::Done;
                return Ok(line_feed + 1);
            }
            self.state = State::Within { at_line_start: buffer[length - 1] == b'\n' };
            return Ok(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::ops::ControlFlow;
    use std::sync::Arc;

    use proptest::prelude::*;
    use weir_ingest::Input;

    use super::{FILE_BYTES_MIN, Piece, Pieces};

    /// The pieces of a file of `bytes` line feeds, and its path.
    fn pieces_of(name: &str, bytes: u64) -> (Pieces, std::path::PathBuf) {
        let name = format!("weir-pieces-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut file = File::create(&path).expect("a file");
        file.write_all(b"a line\n").expect("it is written");
        file.set_len(bytes).expect("a hole");
        let (input, mut pieces) = (Input::File(path.clone()), None);
        let faults = input.read(&mut |text| {
            pieces = Pieces::of(&input, text);
            ControlFlow::Break(())
        });
        assert!(faults.is_empty());
        (pieces.expect("it is large"), path)
    }

    #[test]
    fn a_file_that_is_rotated_away_is_read_to_its_end() {
        let (pieces, path) = pieces_of("rotated", FILE_BYTES_MIN);
        std::fs::write(&path, b"another file\n").expect("it is written");
        std::fs::remove_file(&path).expect("it was there");
        let read = |index| std::io::copy(&mut pieces.bytes(index), &mut std::io::sink());
        assert_eq!(read(0).expect("it is read"), 13, "it was truncated");
        assert_eq!(read(1).expect("it is read"), 0);

        let (pieces, path) = pieces_of("renamed", FILE_BYTES_MIN);
        std::fs::remove_file(&path).expect("it was there");
        std::fs::write(&path, b"another file\n").expect("it is written");
        let read = |index| std::io::copy(&mut pieces.bytes(index), &mut std::io::sink());
        let bytes: u64 = (0..pieces.count()).map(|index| read(index).expect("it is read")).sum();
        assert_eq!(bytes, FILE_BYTES_MIN);
        std::fs::remove_file(&path).expect("it was there");
    }

    #[test]
    fn a_file_of_terabytes_has_no_more_pieces_than_can_be_kept() {
        let (pieces, path) = pieces_of("hole", 4 << 40);
        assert_eq!(pieces.count() as u64, super::PIECES_MAX);
        let mut line = [0; 7];
        pieces.piece(0).read_exact(&mut line).expect("it is read");
        assert_eq!(&line, b"a line\n");
        std::fs::remove_file(&path).expect("it was there");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn pieces_are_the_file(
            log in prop::collection::vec(prop::sample::select(&b"ab\n"[..]), 0..60),
            piece_bytes in 1u64..20,
            read_bytes in 1usize..7,
        ) {
            let name = format!("weir-pieces-{}-{:p}", std::process::id(), &log);
            let path = std::env::temp_dir().join(name);
            std::fs::write(&path, &log).expect("a file");
            let file = Arc::new(File::open(&path).expect("it is there"));
            let mut joined = Vec::new();
            for start in (0..=log.len() as u64).step_by(piece_bytes as usize) {
                let mut piece = Piece::new(file.clone(), start, start + piece_bytes);
                let before = joined.len();
                let mut buffer = vec![0; read_bytes];
                loop {
                    let length = piece.read(&mut buffer).expect("it is read");
                    if length == 0 { break; }
                    joined.extend_from_slice(&buffer[..length]);
                }
                let is_whole = joined.len() == log.len() || joined.len() == before
                    || joined.ends_with(b"\n");
                prop_assert!(is_whole, "a piece ends with a line");
            }
            std::fs::remove_file(&path).expect("it was there");
            prop_assert_eq!(joined, log);
        }
    }
}
