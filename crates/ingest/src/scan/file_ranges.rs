//! Divides a large plain file into ranges, so that all cores can read it at once.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use memchr::memchr;

use super::line_blocks::is_retryable;
use crate::error::StreamError;
use crate::file_reads::read_at;
use crate::first_length::FirstLength;
use crate::source::{Input, Text};

/// The size of a range: large enough that its start costs nothing, small enough that all cores
/// have work until the end.
const RANGE_BYTES: u64 = 4 << 20;

/// The largest number of ranges, because each has a slot in the order of the output. The ranges
/// of a file of terabytes, which may be a single hole, are larger.
const RANGES_MAX: u64 = 4_096;

/// A smaller file is read from start to end.
const FILE_BYTES_MIN: u64 = 16 << 20;

/// The ranges of a plain file.
///
/// The file is opened once: if it is rotated away meanwhile, it is still read to its end.
#[derive(Debug)]
pub struct FileRanges {
    file: Arc<File>,
    length: FirstLength,
    range_bytes: u64,
}

impl FileRanges {
    /// The ranges of a text that is a plain file of at least 16 MiB; `None` for any other text.
    ///
    /// The ranges are faster even on one thread, because a range is read straight into the buffer
    /// that is searched.
    pub fn of(input: &Input, text: &Text<'_>) -> Option<Self> {
        let Input::File(path) = input else { return None };
        let is_plain = !text.is_packed() && !text.is_member() && input.is_file();
        input.bytes_total().filter(|bytes| is_plain && *bytes >= FILE_BYTES_MIN)?;
        // If the file cannot be opened, reading the text reports that.
        let file = File::open(path).ok()?;
        let length = FirstLength::of(&file).ok().filter(|length| length.bytes() > 0)?;
        let range_bytes = RANGE_BYTES.max(length.bytes().div_ceil(RANGES_MAX));
        Some(Self { file: Arc::new(file), length, range_bytes })
    }

    /// The number of ranges.
    pub fn count(&self) -> usize {
        self.length.bytes().div_ceil(self.range_bytes) as usize
    }

    /// The lines that start in range `index`, as a stream. Bytes that are appended to the file
    /// meanwhile belong to the last range.
    pub fn lines(&self, index: usize) -> RangeLines {
        let start = index as u64 * self.range_bytes;
        let end = if index + 1 == self.count() { u64::MAX } else { start + self.range_bytes };
        RangeLines::new(self.reader(start.saturating_sub(1)), start, end)
    }

    /// The bytes of range `index`, which may begin and end within a line.
    pub fn bytes(&self, index: usize) -> impl Read {
        let reader = self.reader(index as u64 * self.range_bytes);
        reader.take(if index + 1 == self.count() { u64::MAX } else { self.range_bytes })
    }

    fn reader(&self, at: u64) -> OffsetReader {
        OffsetReader { file: self.file.clone(), length: self.length, at }
    }
}

/// Reads a file from an offset on, without moving the shared file position. The end is an error if
/// the file was truncated.
#[derive(Debug)]
struct OffsetReader {
    file: Arc<File>,
    length: FirstLength,
    /// The offset of the next read.
    at: u64,
}

impl Read for OffsetReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.read_or_check_end(buffer).map_err(|error| self.located(error))?;
        self.at += read as u64;
        Ok(read)
    }
}

impl OffsetReader {
    fn read_or_check_end(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = read_at(&self.file, buffer, self.at)?;
        if read == 0 && !buffer.is_empty() {
            self.length.check_end(&self.file, self.at)?;
        }
        Ok(read)
    }

    /// The error of a read at this offset, which the readers above do not know.
    fn located(&self, error: io::Error) -> io::Error {
        if is_retryable(&error) {
            error
        } else {
            StreamError::of_read(&error, self.at).into_io_error()
        }
    }
}

/// The lines of a file that start in one range of it, as a stream.
#[derive(Debug)]
pub struct RangeLines {
    reader: OffsetReader,
    end: u64,
    position: Position,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// In a line that starts before the range.
    BeforeFirstLine,
    /// In a line of the range, or at the start of the next one.
    Within {
        at_line_start: bool,
    },
    AfterLastLine,
}

impl RangeLines {
    /// The lines that start at `start` or later and before `end`. The reader begins with the byte
    /// before the range, which shows whether a line starts with it.
    fn new(reader: OffsetReader, start: u64, end: u64) -> Self {
        let position = match start {
            0 => Position::Within { at_line_start: true },
            _ => Position::BeforeFirstLine,
        };
        Self { reader, end, position }
    }

    /// Skips the rest of the line that starts before the range. Returns how many of `bytes`
    /// belong to it.
    fn skip_first(&mut self, bytes: &[u8]) -> usize {
        match memchr(b'\n', bytes) {
            Some(line_feed) => {
                self.position = Position::Within { at_line_start: true };
                line_feed + 1
            }
            None => bytes.len(),
        }
    }
}

impl Read for RangeLines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let is_past_end = self.reader.at >= self.end;
            let has_ended = match self.position {
                Position::BeforeFirstLine => is_past_end,
                Position::Within { at_line_start } => is_past_end && at_line_start,
                Position::AfterLastLine => true,
            };
            if has_ended || buffer.is_empty() {
                self.position = Position::AfterLastLine;
                return Ok(0);
            }
            // After the end of the range, only the rest of the last line is needed.
            let left = self.end.saturating_sub(self.reader.at);
            let left = usize::try_from(left).unwrap_or(usize::MAX);
            let room = if is_past_end { buffer.len() } else { buffer.len().min(left) };
            let read = self.reader.read(&mut buffer[..room])?;
            if read == 0 {
                self.position = Position::AfterLastLine;
                return Ok(0);
            }
            let mut length = read;
            if self.position == Position::BeforeFirstLine {
                let skipped = self.skip_first(&buffer[..read]);
                buffer.copy_within(skipped..read, 0);
                length -= skipped;
                if length == 0 {
                    continue;
                }
            } else if is_past_end && let Some(line_feed) = memchr(b'\n', &buffer[..read]) {
                self.position = Position::AfterLastLine;
                return Ok(line_feed + 1);
            }
            self.position = Position::Within { at_line_start: buffer[length - 1] == b'\n' };
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

    use super::{FILE_BYTES_MIN, FileRanges};
    use crate::first_length::FirstLength;
    use crate::source::Input;

    /// The ranges of a file with a line and then a hole, `bytes` together, and its path.
    fn ranges_of(name: &str, bytes: u64) -> (FileRanges, std::path::PathBuf) {
        let name = format!("weir-ranges-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut file = File::create(&path).expect("a file");
        file.write_all(b"a line\n").expect("it is written");
        file.set_len(bytes).expect("a hole");
        let (input, mut ranges) = (Input::File(path.clone().into()), None);
        let faults = input.read(&mut |text| {
            ranges = FileRanges::of(&input, text);
            ControlFlow::Break(())
        });
        assert!(faults.is_empty());
        (ranges.expect("it is large"), path)
    }

    #[test]
    fn a_truncated_file_is_an_error() {
        let (ranges, path) = ranges_of("truncated", FILE_BYTES_MIN);
        std::fs::write(&path, b"another file\n").expect("it is written");
        std::fs::remove_file(&path).expect("it was there");
        for index in [0, 1] {
            let mut text = Vec::new();
            let error = ranges.bytes(index).read_to_end(&mut text).expect_err("it was truncated");
            let at = [13, 4 << 20][index];
            let message = "the file had 16777216 bytes and was truncated while it was read";
            assert_eq!(error.to_string(), format!("reading failed at byte {at}: {message}"));
            assert_eq!(text.len(), [13, 0][index], "what is there is read");
        }
    }

    #[test]
    fn a_file_that_is_rotated_away_is_read_to_its_end() {
        let (ranges, path) = ranges_of("renamed", FILE_BYTES_MIN);
        std::fs::remove_file(&path).expect("it was there");
        std::fs::write(&path, b"another file\n").expect("it is written");
        let read = |index| std::io::copy(&mut ranges.bytes(index), &mut std::io::sink());
        let bytes: u64 = (0..ranges.count()).map(|index| read(index).expect("it is read")).sum();
        assert_eq!(bytes, FILE_BYTES_MIN);
        std::fs::remove_file(&path).expect("it was there");
    }

    #[test]
    fn the_number_of_ranges_is_bounded() {
        let (ranges, path) = ranges_of("hole", 4 << 40);
        assert_eq!(ranges.count() as u64, super::RANGES_MAX);
        let mut line = [0; 7];
        ranges.lines(0).read_exact(&mut line).expect("it is read");
        assert_eq!(&line, b"a line\n");
        std::fs::remove_file(&path).expect("it was there");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_lines_of_all_ranges_are_the_file(
            log in prop::collection::vec(prop::sample::select(&b"ab\n"[..]), 0..60),
            range_bytes in 1u64..20,
            read_bytes in 1usize..7,
        ) {
            let name = format!("weir-ranges-{}-{:p}", std::process::id(), &log);
            let path = std::env::temp_dir().join(name);
            std::fs::write(&path, &log).expect("a file");
            let file = Arc::new(File::open(&path).expect("it is there"));
            let length = FirstLength::of(&file).expect("its length");
            let ranges = FileRanges { file, length, range_bytes };
            let mut joined = Vec::new();
            for index in 0..ranges.count() {
                let mut lines = ranges.lines(index);
                let before = joined.len();
                let mut buffer = vec![0; read_bytes];
                loop {
                    let length = lines.read(&mut buffer).expect("it is read");
                    if length == 0 { break; }
                    joined.extend_from_slice(&buffer[..length]);
                }
                let is_whole = joined.len() == log.len() || joined.len() == before
                    || joined.ends_with(b"\n");
                prop_assert!(is_whole, "a range ends with a line");
            }
            std::fs::remove_file(&path).expect("it was there");
            prop_assert_eq!(joined, log);
        }
    }
}
