//! Plain files on disk, from which lines are read back by their offsets.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Bytes that are read at once: some dozens of usual lines.
const READ_BYTES: usize = 16 << 10;

/// The mark with which some programs begin a file of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A plain file that a source was read from, and what identifies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainFile {
    path: PathBuf,
    identity: FileIdentity,
}

/// The most parts of files that a source remembers. A file that is rotated every hour has as many
/// in a week.
const PARTS_MAX: usize = 168;

/// The parts of files that a source was read from, in the order of their offsets in it.
#[derive(Debug, Default)]
pub(crate) struct FileParts(Vec<FilePart>);

/// A part of a source that was read from one file without a gap.
#[derive(Debug)]
struct FilePart {
    /// Where it begins in the source.
    start: u64,
    file: PlainFile,
    /// Where it begins in the file.
    file_start: u64,
}

impl FileParts {
    /// Notes that the bytes of a source from an offset on are those of a file. The oldest part is
    /// forgotten if there are too many.
    pub(crate) fn add(&mut self, start: u64, file: &PlainFile, file_start: u64) {
        let goes_on = self.0.last().is_some_and(|last| {
            last.file == *file
                && start.checked_sub(last.start) == file_start.checked_sub(last.file_start)
                && file_start >= last.file_start
        });
        if goes_on {
            return;
        }
        if self.0.len() == PARTS_MAX {
            self.0.remove(0);
        }
        self.0.push(FilePart { start, file: file.clone(), file_start });
    }

    /// Forgets where the parts of a file are, because it was truncated.
    pub(crate) fn forget(&mut self, file: &PlainFile) {
        for part in &mut self.0 {
            if part.file == *file {
                part.file_start = u64::MAX;
            }
        }
    }

    /// The file with the byte at an offset of the source, and the offset there.
    pub(crate) fn find(&self, offset: u64) -> Option<(PlainFile, u64)> {
        let after = self.0.partition_point(|part| part.start <= offset);
        let part = self.0.get(after.checked_sub(1)?)?;
        let at = part.file_start.checked_add(offset - part.start)?;
        (part.file_start != u64::MAX).then(|| (part.file.clone(), at))
    }
}

/// What tells a file from another one that has later taken its path.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileIdentity {
    /// Device and inode, if the system has such numbers.
    number: Option<(u64, u64)>,
    /// An inode may be used again for another file.
    created: Option<SystemTime>,
}

/// Why a line cannot be read back.
#[derive(Debug)]
pub enum ReadBackError {
    /// The file cannot be opened or read.
    Io(io::Error),
    /// Another file has taken the path.
    Replaced,
    /// The file is shorter than it was, or other bytes are at the place.
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
    /// The line without its end, or the begin of it.
    pub bytes: &'a [u8],
    /// Whether the line is longer.
    pub is_cut: bool,
}

/// A plain file that is open again, to read lines back. Lines close to each other are read at once.
///
/// Memory: that of the longest line that was asked for, and 16 KiB.
#[derive(Debug)]
pub struct LineFile {
    file: File,
    buffer: Vec<u8>,
    /// The offset of the first byte of `buffer`.
    start: u64,
}

impl PlainFile {
    /// The open file at a path. `None` if its identity cannot be read.
    pub(crate) fn new(path: &Path, file: &File) -> Option<Self> {
        let identity = FileIdentity::of(&file.metadata().ok()?);
        Some(Self { path: path.to_owned(), identity })
    }

    /// Opens the file again. If it was rotated, it is looked for at its path with `.1` after it.
    ///
    /// # Errors
    /// If it cannot be opened, or if other files are at these paths.
    pub fn open(&self) -> Result<LineFile, ReadBackError> {
        let at_path = self.open_at(&self.path);
        if at_path.is_ok() {
            return at_path;
        }
        let mut rotated = self.path.clone().into_os_string();
        rotated.push(".1");
        self.open_at(Path::new(&rotated)).or(at_path)
    }

    fn open_at(&self, path: &Path) -> Result<LineFile, ReadBackError> {
        // A pipe that has taken the path would make the caller wait.
        if !std::fs::metadata(path)?.is_file() {
            return Err(ReadBackError::Replaced);
        }
        let file = File::open(path)?;
        if FileIdentity::of(&file.metadata()?) != self.identity {
            return Err(ReadBackError::Replaced);
        }
        Ok(LineFile { file, buffer: Vec::new(), start: 0 })
    }
}

impl FileIdentity {
    fn of(metadata: &Metadata) -> Self {
        Self { number: number_of(metadata), created: metadata.created().ok() }
    }
}

#[cfg(unix)]
fn number_of(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn number_of(_: &Metadata) -> Option<(u64, u64)> {
    None
}

impl LineFile {
    /// Reads the line that begins at an offset, up to `bytes_max` bytes of it. A file that grows
    /// may end with a line without an end.
    ///
    /// # Errors
    /// If the file cannot be read, ends before the line, or has no line that begins there.
    pub fn line(&mut self, offset: u64, bytes_max: usize) -> Result<FoundLine<'_>, ReadBackError> {
        // One byte more on both sides: the end of the line before, and that of this one.
        let first = offset.saturating_sub(1);
        let before = (offset - first) as usize;
        let mut wanted = READ_BYTES.min(before + bytes_max + 2);
        loop {
            let has_more = self.fill(first, wanted)?;
            let found = &self.buffer[(first - self.start) as usize..];
            let line = found.get(before..).unwrap_or_default();
            let is_found = line.contains(&b'\n') || line.len() > bytes_max + 1;
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
        Ok(line_of(rest, bytes_max))
    }

    /// Has the buffer contain `wanted` bytes from an offset on, or all up to the end of the file.
    /// Returns whether the file may have more.
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

    /// Whether a line can begin at an offset, given the byte before it. The NUL bytes that truncated
    /// files have before their lines are no part of them.
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

/// The line at the begin of these bytes.
fn line_of(bytes: &[u8], bytes_max: usize) -> FoundLine<'_> {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let line = &bytes[..end];
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    FoundLine { bytes: &line[..line.len().min(bytes_max)], is_cut: line.len() > bytes_max }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::PathBuf;

    use super::{FileParts, PARTS_MAX, PlainFile, READ_BYTES, ReadBackError};

    /// A file of a test, which is deleted with it.
    struct Temporary(PathBuf);

    impl Temporary {
        fn new(name: &str, bytes: &[u8]) -> Self {
            let name = format!("weir-plain-file-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::write(&path, bytes).expect("a writable folder");
            Self(path)
        }

        fn plain(&self) -> PlainFile {
            let file = File::open(&self.0).expect("the file is there");
            PlainFile::new(&self.0, &file).expect("its metadata")
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    /// Lines of lengths around those that are read at once, and their offsets.
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
        let file = Temporary::new("any-order", &text);
        let mut open = file.plain().open().expect("the same file");
        let backwards = lines.iter().rev();
        for (offset, line) in lines.iter().chain(backwards) {
            for bytes_max in [1, 100, READ_BYTES - 1, READ_BYTES, 1 << 20] {
                let found = open.line(*offset, bytes_max).expect("a line");
                let expected = &line[..line.len().min(bytes_max)];
                assert!(found.bytes == expected, "{} bytes at {offset}", line.len());
                assert_eq!(found.is_cut, line.len() > bytes_max, "{} of {bytes_max}", line.len());
            }
        }
    }

    #[test]
    fn only_the_begins_of_lines_are_read() {
        let file = Temporary::new("begins", b"\xEF\xBB\xBFone\r\n\0\0two\nthree");
        let mut open = file.plain().open().expect("the same file");
        let mut found = |offset| open.line(offset, 100).map(|line| line.bytes.to_vec()).ok();
        assert_eq!(found(3).as_deref(), Some(&b"one"[..]));
        assert_eq!(found(10).as_deref(), Some(&b"two"[..]));
        assert_eq!(found(14).as_deref(), Some(&b"three"[..]));
        for offset in [2, 4, 5, 11, 15, 19, 20, 1 << 40] {
            assert_eq!(found(offset), None, "{offset}");
        }
    }

    #[test]
    fn another_file_at_the_path_is_noticed() {
        let file = Temporary::new("replaced", b"one\ntwo\n");
        let plain = file.plain();
        let other = Temporary::new("other", b"uno\ndos\n");
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
        let file = Temporary::new("rotated", b"one\ntwo\n");
        let plain = file.plain();
        let rotated = Temporary(file.0.with_extension("1"));
        assert!(plain.path.extension().is_none());
        fs::rename(&file.0, &rotated.0).expect("the same folder");
        fs::write(&file.0, b"uno\ndos\n").expect("a writable folder");
        let mut open = plain.open().expect("the same file");
        assert_eq!(open.line(4, 100).expect("a line").bytes, b"two");
    }

    #[test]
    fn parts_are_found_by_their_offsets() {
        let files = ["parts-one", "parts-two"].map(|name| Temporary::new(name, name.as_bytes()));
        let [one, two] = [files[0].plain(), files[1].plain()];
        let mut parts = FileParts::default();
        assert_eq!(parts.find(0), None);
        for (start, file, file_start) in
            [(0, &one, 10), (5, &one, 15), (9, &one, 30), (12, &two, 0), (20, &one, 41)]
        {
            parts.add(start, file, file_start);
        }
        assert_eq!(parts.0.len(), 4);
        for (offset, file, at) in [
            (0, &one, 10),
            (8, &one, 18),
            (9, &one, 30),
            (12, &two, 0),
            (19, &two, 7),
            (25, &one, 46),
        ] {
            assert_eq!(parts.find(offset), Some((file.clone(), at)), "{offset}");
        }
        parts.forget(&one);
        assert_eq!((parts.find(8), parts.find(25)), (None, None));
        assert_eq!(parts.find(13), Some((two, 1)));
        for start in 0..1_000 {
            parts.add(100 + start, &one, 0);
        }
        assert_eq!(parts.0.len(), PARTS_MAX);
        assert_eq!((parts.find(13), parts.find(1_099)), (None, Some((one, 0))));
    }

    #[test]
    fn a_truncated_file_is_noticed() {
        let file = Temporary::new("truncated", b"one\ntwo\n");
        let plain = file.plain();
        File::options().write(true).open(&file.0).and_then(|file| file.set_len(4)).expect("a file");
        let mut open = plain.open().expect("the same file");
        assert!(matches!(open.line(4, 100), Err(ReadBackError::Changed)));
        assert_eq!(open.line(0, 100).expect("a line").bytes, b"one");
    }
}
