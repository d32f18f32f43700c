//! A plain file in pieces, so that all cores can read it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use memchr::memchr;
use weir_ingest::{Input, Text};

/// A piece of a file that is read at once: large enough that to begin costs nothing, small
/// enough that all cores have something to do to the end.
const PIECE_BYTES: u64 = 4 << 20;

/// A smaller file is read as it is.
const FILE_BYTES_MIN: u64 = 16 << 20;

/// The pieces of a plain file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pieces<'a> {
    path: &'a Path,
    bytes: u64,
}

impl<'a> Pieces<'a> {
    /// The pieces of a text that is a large plain file. One thread gains by them as well: they
    /// are read straight into the buffer that is searched.
    pub(crate) fn of(input: &'a Input, text: &Text<'_>) -> Option<Self> {
        let Input::File(path) = input else { return None };
        let is_plain = !text.is_packed() && !text.is_member() && input.is_file();
        let bytes = input.bytes_total().filter(|bytes| *bytes >= FILE_BYTES_MIN)?;
        is_plain.then_some(Self { path, bytes })
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.bytes.div_ceil(PIECE_BYTES) as usize
    }

    /// One of them; what is written to the file meanwhile belongs to the last.
    ///
    /// # Errors
    /// Where the file cannot be opened.
    pub(crate) fn open(&self, index: usize) -> io::Result<Piece> {
        let start = index as u64 * PIECE_BYTES;
        let end = if index + 1 == self.count() { u64::MAX } else { start + PIECE_BYTES };
        Piece::open(self.path, start, end)
    }

    /// The bytes of one of them, wherever its lines begin and end.
    ///
    /// # Errors
    /// Where the file cannot be opened.
    pub(crate) fn bytes(&self, index: usize) -> io::Result<impl Read> {
        let mut file = File::open(self.path)?;
        file.seek(SeekFrom::Start(index as u64 * PIECE_BYTES))?;
        Ok(file.take(if index + 1 == self.count() { u64::MAX } else { PIECE_BYTES }))
    }
}

/// The lines of a file that start in one range of it, as a stream.
#[derive(Debug)]
pub(crate) struct Piece {
    file: File,
    /// Where the next byte is read.
    at: u64,
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
    ///
    /// # Errors
    /// Where the file cannot be opened.
    pub(crate) fn open(path: &Path, start: u64, end: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        // The byte before tells whether a line starts here.
        let at = start.saturating_sub(1);
        file.seek(SeekFrom::Start(at))?;
        let state = match start {
            0 => State::Within { at_line_start: true },
            _ => State::Before,
        };
        Ok(Self { file, at, end, state })
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
            let is_behind = self.at >= self.end;
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
            let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
            let room = if is_behind { buffer.len() } else { buffer.len().min(left) };
            let read = self.file.read(&mut buffer[..room])?;
            if read == 0 {
                self.state = State::Done;
                return Ok(0);
            }
            self.at += read as u64;
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
    use std::io::Read;

    use proptest::prelude::*;

    use super::Piece;

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
            let mut joined = Vec::new();
            for start in (0..=log.len() as u64).step_by(piece_bytes as usize) {
                let mut piece =
                    Piece::open(&path, start, start + piece_bytes).expect("it is there");
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
