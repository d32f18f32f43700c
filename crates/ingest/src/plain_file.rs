//! Plain files on disk, from which lines are read back by their offsets.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use weir_core::record_length;

use crate::file_identity::FileIdentity;
use crate::file_parts::FilePlace;
use crate::file_sums::FileChunk;

/// The size of a read in bytes: some dozens of usual lines.
const READ_BYTES: usize = 16 << 10;

/// The byte order mark with which some programs begin a UTF-8 file.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A plain file that a source was read from, with its identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainFile {
    path: PathBuf,
    identity: FileIdentity,
}

/// Why a line cannot be read back.
#[derive(Debug)]
pub enum ReadBackError {
    /// The file cannot be opened or read.
    Io(io::Error),
    /// Another file has taken the path.
    Replaced,
    /// The file is shorter than it was, or its bytes at the offset have changed.
    Changed,
}

impl fmt::Display for ReadBackError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(formatter),
            Self::Replaced => formatter.write_str("another file is at its path now"),
            Self::Changed => formatter.write_str("it was truncated or written again"),
        }
    }
}

impl std::error::Error for ReadBackError {}

impl From<io::Error> for ReadBackError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A line that was read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundLine<'a> {
    /// The line without its line end, or the beginning of it. A record of several lines has those
    /// between them.
    pub bytes: &'a [u8],
    /// Whether the line is longer than `bytes`.
    pub is_cut: bool,
}

/// A reopened plain file, from which lines are read back. Nearby lines share a read.
///
/// Memory: the longest line that was requested, and 16 KiB.
#[derive(Debug)]
pub struct LineFile {
    file: File,
    buffer: Vec<u8>,
    /// The offset of the first byte of `buffer`.
    start: u64,
    /// Whether the buffer has whole chunks with the right sums.
    is_checked: bool,
}

impl PlainFile {
    /// Identifies the open file at a path. Returns `None` if its identity cannot be read.
    pub(crate) fn new(path: &Path, file: &File) -> Option<Self> {
        let identity = FileIdentity::of(&file.metadata().ok()?);
        Some(Self { path: path.to_owned(), identity })
    }

    /// The path at which the file is now: its own or, if it was rotated, that with `.1` appended.
    ///
    /// # Errors
    /// If other files are at these paths, or none.
    pub(crate) fn current_path(&self) -> Result<PathBuf, ReadBackError> {
        self.find().map(|(path, _)| path)
    }

    /// Opens the file again, to read lines back. If it was rotated, opens the file at its path with
    /// `.1` appended.
    ///
    /// # Errors
    /// If it cannot be opened, or if other files are at these paths.
    pub fn open(&self) -> Result<LineFile, ReadBackError> {
        Ok(LineFile { file: self.reopen()?, buffer: Vec::new(), start: 0, is_checked: false })
    }

    /// Opens the file again. If it was rotated, opens the file at its path with `.1` appended.
    ///
    /// # Errors
    /// If it cannot be opened, or if other files are at these paths.
    pub(crate) fn reopen(&self) -> Result<File, ReadBackError> {
        self.find().map(|(_, file)| file)
    }

    /// The path at which it was opened.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The device and the number of the file on it, if the system has such numbers.
    pub(crate) fn number(&self) -> Option<(u64, u64)> {
        self.identity.number()
    }

    /// Finds the file at one of its paths.
    fn find(&self) -> Result<(PathBuf, File), ReadBackError> {
        let missing = match self.open_at(&self.path) {
            Ok(file) => return Ok((self.path.clone(), file)),
            Err(error) => error,
        };
        let mut rotated = self.path.clone().into_os_string();
        rotated.push(".1");
        let rotated = PathBuf::from(rotated);
        let file = self.open_at(&rotated).map_err(|_| missing)?;
        Ok((rotated, file))
    }

    fn open_at(&self, path: &Path) -> Result<File, ReadBackError> {
        // If a pipe has taken the path, opening it would block.
        if !std::fs::metadata(path)?.is_file() {
            return Err(ReadBackError::Replaced);
        }
        let file = File::open(path)?;
        if FileIdentity::of(&file.metadata()?) != self.identity {
            return Err(ReadBackError::Replaced);
        }
        Ok(file)
    }
}

impl LineFile {
    /// Reads the line at a place of this file, up to `bytes_max` bytes of it, or the lines of the
    /// record that begins there, if it has several. A growing file may end with a line that has no
    /// line feed.
    ///
    /// # Errors
    /// If the file cannot be read, ends before the line, has no line that begins there, or if the
    /// bytes around the line are not those that the source was read from.
    pub fn line(
        &mut self,
        place: &FilePlace,
        bytes_max: usize,
    ) -> Result<FoundLine<'_>, ReadBackError> {
        let FilePlace { offset, chunks, .. } = place;
        let offset = *offset;
        // One more byte on each side: the line feed before the line, and the one that ends it.
        // Without the first at the start of a part, whose bytes are known to begin a line.
        let first_chunk = chunks.as_ref().and_then(|chunks| chunks.first());
        let first = match first_chunk {
            Some(chunk) if chunk.start == offset => offset,
            _ => offset.saturating_sub(1),
        };
        let before = (offset - first) as usize;
        let mut wanted = READ_BYTES.min(before + bytes_max + 2);
        loop {
            let has_more = match chunks {
                Some(chunks) => self.fill_from(chunks, first, wanted)?,
                None => self.fill(first, wanted)?,
            };
            let found = &self.buffer[(first - self.start) as usize..];
            let line = found.get(before..).unwrap_or_default();
            let is_found = record_length(line, false).is_some() || line.len() > bytes_max + 1;
            if is_found || !has_more {
                break;
            }
            wanted = (2 * wanted).min(before + bytes_max + 2);
        }
        let found = &self.buffer[(first - self.start) as usize..];
        let (before, rest) = found.split_at_checked(before).ok_or(ReadBackError::Changed)?;
        if rest.is_empty() || !self.begins_line(offset, before) {
            return Err(ReadBackError::Changed);
        }
        Ok(first_line(rest, bytes_max))
    }

    /// Fills the buffer with `wanted` bytes from an offset on, or with all up to the end of the
    /// file. Returns whether the file may have more.
    fn fill(&mut self, offset: u64, wanted: usize) -> io::Result<bool> {
        let end = self.start + self.buffer.len() as u64;
        if offset >= self.start && offset + wanted as u64 <= end {
            return Ok(true);
        }
        self.start = offset;
        self.buffer.clear();
        self.file.seek(SeekFrom::Start(offset))?;
        let wanted = wanted.max(READ_BYTES) as u64;
        let read = (&mut self.file).take(wanted).read_to_end(&mut self.buffer)?;
        Ok(read as u64 == wanted)
    }

    /// Fills the buffer as [`Self::fill`] does, with whole chunks, which are compared with what they
    /// were.
    fn fill_from(
        &mut self,
        chunks: &[FileChunk],
        offset: u64,
        wanted: usize,
    ) -> Result<bool, ReadBackError> {
        let last = offset + wanted as u64;
        let wanted: Vec<&FileChunk> = chunks.iter().take_while(|it| it.start < last).collect();
        let first = wanted.first().filter(|first| first.start <= offset);
        let (Some(first), Some(end)) = (first, wanted.last()) else {
            return Err(ReadBackError::Changed);
        };
        let (start, length) = (first.start, end.start + end.length as u64 - first.start);
        if !self.is_checked || start != self.start || length != self.buffer.len() as u64 {
            self.is_checked = false;
            self.start = start;
            self.buffer.clear();
            self.file.seek(SeekFrom::Start(start))?;
            (&mut self.file).take(length).read_to_end(&mut self.buffer)?;
            let mut rest = &self.buffer[..];
            for chunk in &wanted {
                let bytes = rest.split_at_checked(chunk.length).ok_or(ReadBackError::Changed)?;
                rest = bytes.1;
                if !chunk.is_sum_of(bytes.0) {
                    return Err(ReadBackError::Changed);
                }
            }
            self.is_checked = true;
        }
        Ok(wanted.len() < chunks.len())
    }

    /// Whether a line can begin at an offset, given the byte before it. Truncated files have NUL
    /// bytes before their lines; they do not belong to the lines.
    fn begins_line(&self, offset: u64, before: &[u8]) -> bool {
        match before {
            [] => true,
            [b'\n' | 0] => true,
            [last] => {
                offset == BYTE_ORDER_MARK.len() as u64 && Some(last) == BYTE_ORDER_MARK.last()
            }
            _ => false,
        }
    }
}

/// Returns the line or record at the beginning of these bytes.
fn first_line(bytes: &[u8], bytes_max: usize) -> FoundLine<'_> {
    let length = record_length(bytes, true).unwrap_or(bytes.len());
    let line = &bytes[..length];
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    FoundLine { bytes: &line[..line.len().min(bytes_max)], is_cut: line.len() > bytes_max }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::PathBuf;

    use crate::file_span::FileSpan;

    use super::{PlainFile, READ_BYTES, ReadBackError};
    use crate::file_parts::{FileHandle, FileParts, FilePlace, PARTS_MAX};
    use crate::place_sums::PlaceSums;

    /// A temporary file, deleted when it is dropped.
    struct TemporaryFile(PathBuf);

    impl TemporaryFile {
        fn new(name: &str, bytes: &[u8]) -> Self {
            let name = format!("weir-plain-file-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::write(&path, bytes).expect("a writable folder");
            Self(path)
        }

        fn plain(&self) -> PlainFile {
            let file = File::open(&self.0).expect("the file exists");
            PlainFile::new(&self.0, &file).expect("its metadata")
        }
    }

    impl Drop for TemporaryFile {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    /// Lines with lengths around [`READ_BYTES`], and their offsets.
    fn lines() -> Vec<(u64, Vec<u8>)> {
        let lengths = [0, 1, 5, 200, READ_BYTES - 2, READ_BYTES - 1, READ_BYTES, READ_BYTES + 1];
        let mut offset = 0;
        lengths
            .iter()
            .cycle()
            .take(40)
            .map(|length| {
                let line = vec![b'a' + (length % 26) as u8; *length];
                offset += *length as u64 + 1;
                (offset - *length as u64 - 1, line)
            })
            .collect()
    }

    #[test]
    fn every_line_is_read_back_in_any_order() {
        let lines = lines();
        let text: Vec<u8> =
            lines.iter().flat_map(|(_, line)| [line, &b"\n"[..]].concat()).collect();
        let file = TemporaryFile::new("any-order", &text);
        let plain = file.plain();
        let mut open = plain.open().expect("the same file");
        let backwards = lines.iter().rev();
        for (offset, line) in lines.iter().chain(backwards) {
            for bytes_max in [1, 100, READ_BYTES - 1, READ_BYTES, 1 << 20] {
                let found = open
                    .line(&FilePlace::unchecked(plain.clone(), *offset), bytes_max)
                    .expect("a line");
                let expected = &line[..line.len().min(bytes_max)];
                assert!(found.bytes == expected, "{} bytes at {offset}", line.len());
                assert_eq!(found.is_cut, line.len() > bytes_max, "{} of {bytes_max}", line.len());
            }
        }
    }

    #[test]
    fn a_record_of_several_lines_is_read_as_a_whole() {
        let head = "2025/12/17 09:03:01 [error] 1#1: *5 ";
        let record = format!(
            "{head}FastCGI sent in stderr: \"a\nb\" while reading upstream, client: 192.0.2.1"
        );
        let log = format!("{record}\n{head}c\n{record}");
        let file = TemporaryFile::new("record", log.as_bytes());
        let plain = file.plain();
        let mut open = plain.open().expect("the same file");
        let last = log.len() - record.len();
        for (offset, text) in
            [(0, &record[..]), (record.len() + 1, &log[record.len() + 1..last - 1])]
        {
            let place = FilePlace::unchecked(plain.clone(), offset as u64);
            assert_eq!(open.line(&place, 4_096).expect("a record").bytes, text.as_bytes());
            let found = open.line(&place, 10).expect("a record");
            assert_eq!((found.bytes, found.is_cut), (&text.as_bytes()[..10], true));
        }
        let place = FilePlace::unchecked(plain.clone(), last as u64);
        assert_eq!(open.line(&place, 4_096).expect("a record").bytes, record.as_bytes());
    }

    #[test]
    fn only_beginnings_of_lines_are_read() {
        let file = TemporaryFile::new("begins", b"\xEF\xBB\xBFone\r\n\0\0two\nthree");
        let plain = file.plain();
        let mut open = plain.open().expect("the same file");
        let mut found = |offset| {
            let place = FilePlace::unchecked(plain.clone(), offset);
            open.line(&place, 100).map(|line| line.bytes.to_vec()).ok()
        };
        assert_eq!(found(3).as_deref(), Some(&b"one"[..]));
        assert_eq!(found(10).as_deref(), Some(&b"two"[..]));
        assert_eq!(found(14).as_deref(), Some(&b"three"[..]));
        for offset in [2, 4, 5, 11, 15, 19, 20, 1 << 40] {
            assert_eq!(found(offset), None, "{offset}");
        }
    }

    #[test]
    fn another_file_at_the_path_is_noticed() {
        let file = TemporaryFile::new("replaced", b"one\ntwo\n");
        let plain = file.plain();
        let other = TemporaryFile::new("other", b"uno\ndos\n");
        fs::rename(&other.0, &file.0).expect("the same folder");
        assert!(matches!(plain.open(), Err(ReadBackError::Replaced)));
        fs::remove_file(&file.0).expect("the file");
        assert!(matches!(plain.open(), Err(ReadBackError::Io(_))));
        fs::create_dir(&file.0).expect("a free path");
        assert!(matches!(plain.open(), Err(ReadBackError::Replaced)));
        fs::remove_dir(&file.0).expect("the folder");
    }

    #[test]
    fn a_rotated_file_is_found() {
        let file = TemporaryFile::new("rotated", b"one\ntwo\n");
        let plain = file.plain();
        let rotated = TemporaryFile(file.0.with_extension("1"));
        assert!(plain.path.extension().is_none());
        fs::rename(&file.0, &rotated.0).expect("the same folder");
        fs::write(&file.0, b"uno\ndos\n").expect("a writable folder");
        let mut open = plain.open().expect("the same file");
        assert_eq!(open.line(&FilePlace::unchecked(plain, 4), 100).expect("a line").bytes, b"two");
    }

    #[test]
    fn parts_are_found_by_their_offsets() {
        let files =
            ["parts-one", "parts-two"].map(|name| TemporaryFile::new(name, name.as_bytes()));
        let [one, two] = [files[0].plain(), files[1].plain()];
        let mut parts = FileParts::default();
        assert_eq!(parts.find(0), None);
        for (start, file, file_start) in
            [(0, &one, 10), (5, &one, 15), (9, &one, 30), (12, &two, 0), (20, &one, 41)]
        {
            parts.add(start, (file, FileHandle::Path), file_start);
        }
        assert_eq!(parts.len(), 4);
        for (offset, file, at) in [
            (0, &one, 10),
            (8, &one, 18),
            (9, &one, 30),
            (12, &two, 0),
            (19, &two, 7),
            (25, &one, 46),
        ] {
            assert_eq!(
                parts.find(offset),
                Some(FilePlace::unchecked(file.clone(), at)),
                "{offset}"
            );
        }
        let span = |file: &PlainFile, start, length| FileSpan::new(file.clone(), start, length);
        let first = [span(&one, 10, 9), span(&one, 30, 3)];
        assert_eq!(parts.spans(12).as_deref(), Some(&first[..]));
        let last = [span(&two, 0, 8), span(&one, 41, 5)];
        assert_eq!(parts.spans(25), Some([first, last].concat()));
        assert_eq!(parts.spans(0), Some(Vec::new()));
        parts.truncate(&one, 25, PlaceSums::of_bytes(46, b"", b""));
        assert_eq!((parts.find(8), parts.find(25)), (None, None));
        assert_eq!(parts.find(13), Some(FilePlace::unchecked(two, 1)));
        assert_eq!(parts.spans(15), None, "the first file was truncated");
        for start in 0..1_000 {
            parts.add(100 + start, (&one, FileHandle::Path), 0);
        }
        assert_eq!(parts.len(), PARTS_MAX);
        assert_eq!((parts.find(13), parts.find(1_099)), (None, Some(FilePlace::unchecked(one, 0))));
    }

    #[test]
    fn a_truncated_file_is_noticed() {
        let file = TemporaryFile::new("truncated", b"one\ntwo\n");
        let plain = file.plain();
        File::options().write(true).open(&file.0).and_then(|file| file.set_len(4)).expect("a file");
        let mut open = plain.open().expect("the same file");
        let place = |offset| FilePlace::unchecked(plain.clone(), offset);
        assert!(matches!(open.line(&place(4), 100), Err(ReadBackError::Changed)));
        assert_eq!(open.line(&place(0), 100).expect("a line").bytes, b"one");
    }

    #[test]
    fn only_the_bytes_that_were_summed_are_read_back() {
        let lines: Vec<String> = (0..30_000).map(|number| format!("line {number:05}\n")).collect();
        let text = lines.concat().into_bytes();
        let file = TemporaryFile::new("summed", &text);
        let plain = file.plain();
        let mut parts = FileParts::default();
        parts.keep_sums();
        parts.add(0, (&plain, FileHandle::Path), 0);
        for (number, piece) in text.chunks(1_000).enumerate() {
            parts.sum(1_000 * number as u64, piece);
        }
        let read = |number: usize| {
            let place = parts.find(11 * number as u64).expect("a place");
            let mut open = place.file.open().expect("the same file");
            open.line(&place, 100).map(|line| line.bytes.to_vec())
        };
        let whole = || {
            let mut bytes = Vec::new();
            let spans = parts.spans(text.len() as u64 - 5).expect("all is in a file");
            spans.iter().try_for_each(|span| {
                span.read(|piece| {
                    bytes.extend_from_slice(piece);
                    true
                })
            })?;
            Ok::<_, ReadBackError>(bytes)
        };
        // A log that grows has the same lines as before.
        let mut grown = text.clone();
        grown.extend_from_slice(b"line 30000\nline 30001\n");
        for bytes in [&text, &grown] {
            fs::write(&file.0, bytes).expect("a file");
            for number in [0, 1, 11_914, 11_915, 11_916, 20_000, 29_999] {
                assert_eq!(read(number).expect("a line"), &lines[number].as_bytes()[..10]);
            }
            assert!(whole().expect("all") == text[..text.len() - 5]);
        }
        // One byte of the second chunk.
        grown[11 * 15_000] ^= 1;
        fs::write(&file.0, &grown).expect("a file");
        assert!(read(0).is_ok() && read(29_999).is_ok());
        assert!(matches!(read(15_000), Err(ReadBackError::Changed)));
        assert!(matches!(read(15_001), Err(ReadBackError::Changed)));
        assert!(matches!(whole(), Err(ReadBackError::Changed)));
    }
}
