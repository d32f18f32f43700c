//! One file that is or was at a followed path.

use std::fs::{self, File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::error::StopReason;
use crate::plain_file::PlainFile;
use crate::source::cri::is_cri;
use crate::source::line_joiner::LineJoiner;
use crate::source::stream_head::{HEAD_BYTES, is_packed};
use crate::writer::SourceWriter;

use super::change_watcher::{ChangeWatcher, FileWatch};

/// The device and inode number of a file, which identify it.
pub(super) type FileId = (u64, u64);

/// The size of a read in bytes.
const READ_BYTES: usize = 1 << 20;

/// The number of bytes that are read of one file before the others get their turn.
const TURN_BYTES: usize = 16 << 20;

/// The number of bytes before the current position that must be unchanged when reading continues.
const FINGERPRINT_BYTES: usize = 64;

/// A longer line is over the length limit anyway, so it need not be kept whole.
const LINE_BYTES_MAX: usize = (1 << 20) + 2;

/// A log file, open at the position up to which it was read.
pub(super) struct LogFile {
    file: File,
    id: FileId,
    /// The file, from which its lines can be read again; `None` if its lines are joined.
    plain: Option<PlainFile>,
    clock: Arc<dyn Clock>,
    /// Bytes read.
    position: u64,
    /// The last bytes before the position.
    fingerprint: Vec<u8>,
    /// The incomplete line at the end. The files of one path are read in turns, so only whole
    /// lines are written.
    line: Vec<u8>,
    buffer: Vec<u8>,
    last_growth: Duration,
    /// Joins the lines that a container runtime has split, if it writes the file.
    joiner: LineJoiner,
    /// When the file was last read.
    last_read: Duration,
    _watch: Option<FileWatch>,
}

impl LogFile {
    /// Opens the file at a path, if there is one.
    pub(super) fn open(
        path: &Path,
        clock: &Arc<dyn Clock>,
        watcher: Option<&Arc<ChangeWatcher>>,
    ) -> Option<Self> {
        let file = File::open(path).ok()?;
        let metadata = file.metadata().ok().filter(Metadata::is_file)?;
        Some(Self {
            _watch: watcher.and_then(|watcher| watcher.watch(&file)),
            last_read: clock.elapsed(),
            id: id_of(&metadata),
            plain: PlainFile::new(path, &file),
            file,
            last_growth: clock.elapsed(),
            clock: clock.clone(),
            position: 0,
            fingerprint: Vec::new(),
            line: Vec::new(),
            joiner: LineJoiner::default(),
            buffer: Vec::new(),
        })
    }

    /// Returns the identity of the file.
    pub(super) fn id(&self) -> FileId {
        self.id
    }

    /// The time since bytes were last appended.
    pub(super) fn idle_time(&self) -> Duration {
        self.clock.elapsed().saturating_sub(self.last_growth)
    }

    /// Reads appended bytes up to a bound. Returns whether there may be more.
    pub(super) fn read(&mut self, writer: &mut SourceWriter) -> Result<bool, StopReason> {
        let mut read_bytes = 0;
        while read_bytes < TURN_BYTES {
            match self.read_once() {
                Some(fresh) if fresh > 0 => {
                    self.take(fresh, writer)?;
                    read_bytes += fresh;
                }
                Some(_) => return Ok(false),
                None => self.restart(writer)?,
            }
        }
        Ok(read_bytes >= TURN_BYTES)
    }

    /// Ends reading. An incomplete last line is written as a line.
    pub(super) fn finish(mut self, writer: &mut SourceWriter) -> Result<(), StopReason> {
        self.end_line(writer)
    }

    /// Reads the next bytes into the buffer and returns their number. Returns `None` if the bytes
    /// before the position are missing or have changed: then the file was truncated, and may have
    /// grown since.
    fn read_once(&mut self) -> Option<usize> {
        let known = self.fingerprint.len();
        self.buffer.resize(FINGERPRINT_BYTES + READ_BYTES, 0);
        // One read covers both, so that the file cannot change in between.
        let start = self.position - known as u64;
        let read = self
            .file
            .seek(SeekFrom::Start(start))
            .and_then(|_| self.file.read(&mut self.buffer[..known + READ_BYTES]));
        // A failed read is not a sign of truncation; the next poll tries again.
        let Ok(read) = read else { return Some(0) };
        if read < known || self.buffer[..known] != self.fingerprint {
            return None;
        }
        self.last_read = self.clock.elapsed();
        Some(read - known)
    }

    /// Writes the new bytes in the buffer.
    fn take(&mut self, fresh: usize, writer: &mut SourceWriter) -> Result<(), StopReason> {
        let start = self.fingerprint.len();
        let buffer = std::mem::take(&mut self.buffer);
        let (before, bytes) = (&buffer[..start + fresh], &buffer[start..start + fresh]);
        if self.position == 0 && is_cri(bytes) {
            self.plain = None;
        }
        self.begin_part(writer);
        self.position += fresh as u64;
        self.fingerprint = before[before.len().saturating_sub(FINGERPRINT_BYTES)..].to_vec();
        self.last_growth = self.clock.elapsed();
        let ended = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = std::mem::take(&mut self.line);
        if ended > 0 {
            self.write([&line, &bytes[..ended]], writer)?;
        } else {
            self.line = line;
        }
        self.line.extend_from_slice(&bytes[ended..]);
        if self.line.len() > LINE_BYTES_MAX {
            let line = std::mem::take(&mut self.line);
            self.write([&line, &[]], writer)?;
        }
        self.buffer = buffer;
        Ok(())
    }

    /// Writes lines, or the beginning of one over the limit. Split lines are joined.
    fn write(&mut self, parts: [&[u8]; 2], writer: &mut SourceWriter) -> Result<(), StopReason> {
        let lines = self.joiner.join(parts);
        lines.into_iter().try_for_each(|part| writer.write_all(part))?;
        self.joiner.release();
        Ok(())
    }

    /// Continues at the start of the file, which was truncated.
    fn restart(&mut self, writer: &mut SourceWriter) -> Result<(), StopReason> {
        let unread = self.clock.elapsed().saturating_sub(self.last_read);
        writer.progress().note_truncation(unread);
        self.end_line(writer)?;
        if let Some(plain) = &self.plain {
            writer.progress().forget_parts(plain);
        }
        self.position = 0;
        self.fingerprint.clear();
        Ok(())
    }

    /// Records that the next bytes of the source are those of the file, from the incomplete line on.
    fn begin_part(&self, writer: &SourceWriter) {
        if let Some(plain) = &self.plain {
            let line_start = self.position.saturating_sub(self.line.len() as u64);
            writer.progress().add_part(writer.offset(), plain, line_start);
        }
    }

    fn end_line(&mut self, writer: &mut SourceWriter) -> Result<(), StopReason> {
        if !self.line.is_empty() {
            // Another file may have been read since the beginning of the line.
            self.begin_part(writer);
            let mut line = std::mem::take(&mut self.line);
            // The file does not have this line feed.
            writer.progress().end_part(writer.offset() + line.len() as u64);
            line.push(b'\n');
            self.write([&line, &[]], writer)?;
        }
        writer.write_all(self.joiner.finish())?;
        self.joiner.release();
        Ok(())
    }
}

/// Returns the identity of the file at a path, if there is one.
pub(super) fn id_at(path: &Path) -> Option<FileId> {
    fs::metadata(path).ok().filter(Metadata::is_file).map(|metadata| id_of(&metadata))
}

#[cfg(unix)]
fn id_of(metadata: &Metadata) -> FileId {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// On other platforms the creation time identifies a file.
#[cfg(not(unix))]
fn id_of(metadata: &Metadata) -> FileId {
    let created = metadata.created().ok();
    let since = created.and_then(|created| created.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or((0, 0), |since| (since.as_secs(), u64::from(since.subsec_nanos())))
}

/// Whether a path has a plain text file, or nothing yet.
pub(super) fn can_follow(path: &Path) -> bool {
    let Ok(metadata) = fs::metadata(path) else { return true };
    // Reading a pipe here would take bytes from it, and opening it may block.
    if !metadata.is_file() {
        return false;
    }
    let mut head = Vec::new();
    let file = File::open(path);
    let read = file.and_then(|file| file.take(HEAD_BYTES as u64).read_to_end(&mut head));
    read.is_ok() && (is_cri(&head) || !is_packed(&head))
}
