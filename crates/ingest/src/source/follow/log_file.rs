//! One file that is or was at a followed path.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::change_watcher::FileWatch;
use super::copies::COMPARED_BYTES;
use super::read_place::ReadPlace;
use super::shared::{READ_BYTES, Shared};
use crate::error::StopReason;
use crate::file_identity::FileIdentity;
use crate::file_parts::{FileContents, FileHandle};
use crate::file_reads::read_at;
use crate::place_sums::PlaceSums;
use crate::plain_file::PlainFile;
use crate::progress::SourceProgress;
use crate::source::cri::is_cri;
use crate::source::line_joiner::LineJoiner;
use crate::source::stream_head::{HEAD_BYTES, is_packed};
use crate::writer::SourceWriter;

/// The number of bytes that are read of one file before the others get their turn.
const TURN_BYTES: usize = 16 << 20;

/// A longer line is over the length limit anyway, so it need not be kept whole.
const LINE_BYTES_MAX: usize = (1 << 20) + 2;

/// A log file, open at the place up to which it was read.
///
/// A file that has no more to read takes a descriptor, a watch, and the bytes of an incomplete last
/// line.
#[derive(Debug)]
pub(super) struct LogFile {
    file: Arc<File>,
    place: ReadPlace,
    /// The file, from which its lines can be read again; `None` if its lines are joined.
    plain: Option<PlainFile>,
    /// The first bytes that were read.
    head: Vec<u8>,
    /// Whether it turned out to be compressed, after it was found empty. Then it is not read.
    is_packed: bool,
    /// What it had before the last truncations.
    truncated: Vec<Truncated>,
    /// The incomplete line at the end. The files of one path are read in turns, so only whole
    /// lines are written.
    line: Vec<u8>,
    /// When it last grew, or left its path.
    last_change: Duration,
    /// When it was last read.
    last_read: Duration,
    /// Joins the lines that a container runtime has split, if it writes the file.
    joiner: LineJoiner,
    _watch: Option<FileWatch>,
}

/// What a file had before it was truncated.
#[derive(Debug)]
pub(super) struct Truncated {
    /// The first bytes, up to [`COMPARED_BYTES`].
    pub(super) head: Vec<u8>,
    /// The place up to which it was read.
    pub(super) place: ReadPlace,
    /// The same for the state; `None` if the lines of the file are joined.
    pub(super) contents: Option<FileContents>,
}

/// The most truncations of which the copies are still looked for.
const TRUNCATIONS_MAX: usize = 4;

impl LogFile {
    /// Opens a file at a path, unless another one is there by now or some path reads it.
    ///
    /// If it was read before, reading goes on there.
    pub(super) fn open(path: &Path, file: FileIdentity, shared: &mut Shared) -> Option<Self> {
        let opened = Self::open_at(path, ReadPlace::start_of(file), shared)?;
        let place = shared.take_place(file);
        Some(Self { head: read_head(&opened.file, place.offset), place, ..opened })
    }

    /// Opens the file of a place at a path, unless another one is there by now or some path reads
    /// it.
    pub(super) fn open_at(path: &Path, place: ReadPlace, shared: &Shared) -> Option<Self> {
        if shared.is_full() {
            return None;
        }
        let file = open(path).ok()?;
        let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
        let identity = FileIdentity::of(&metadata);
        // A second watch of a file would replace the first.
        if identity != place.file || shared.reader(identity).is_some() {
            return None;
        }
        let now = shared.clock.elapsed();
        Some(Self {
            _watch: shared.watch(&file, identity),
            head: read_head(&file, place.offset),
            place,
            truncated: Vec::new(),
            is_packed: false,
            plain: PlainFile::new(path, &file),
            file: Arc::new(file),
            line: Vec::new(),
            last_change: now,
            last_read: now,
            joiner: LineJoiner::default(),
        })
    }

    /// Goes on at this position, which is after a line. `None` if the file does not reach it.
    pub(super) fn resume_at(self, position: u64) -> Option<Self> {
        let place = ReadPlace::in_file(self.identity(), &self.file, position)?;
        let head = read_head(&self.file, position);
        Some(Self { place, head, ..self })
    }

    /// Returns the identity of the file.
    pub(super) fn identity(&self) -> FileIdentity {
        self.place.file
    }

    /// The open file.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// The place up to which it was read.
    pub(super) fn place(&self) -> &ReadPlace {
        &self.place
    }

    /// The first bytes that were read, up to [`COMPARED_BYTES`].
    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// What it had before the last truncations, of which no copy is read.
    pub(super) fn truncated(&self) -> &[Truncated] {
        &self.truncated
    }

    /// What it has; `None` if its lines are joined.
    pub(super) fn contents(&self) -> Option<FileContents> {
        self.plain.clone().map(|file| FileContents { file, truncated: None })
    }

    /// Forgets what it had before a truncation, up to which it was read to this place.
    pub(super) fn forget_truncated(&mut self, place: &ReadPlace) {
        self.truncated.retain(|truncated| truncated.place != *place);
    }

    /// The offset after its last whole line.
    pub(super) fn lines_end(&self) -> u64 {
        self.place.offset.saturating_sub(self.line.len() as u64)
    }

    /// Lets the bytes around the end of its part be found while it is open.
    pub(super) fn hold_part(&self, progress: &SourceProgress) {
        if let Some(plain) = &self.plain {
            progress.set_file_handle(plain, self.handle());
        }
    }

    fn handle(&self) -> FileHandle {
        FileHandle::Open(Arc::downgrade(&self.file), self.sums())
    }

    /// The sums of what is known around its place.
    fn sums(&self) -> PlaceSums {
        PlaceSums::of_bytes(self.place.offset, self.place.before(), &self.head)
    }

    /// When it was last written, if that is known.
    pub(super) fn written(&self) -> Option<SystemTime> {
        self.file.metadata().ok()?.modified().ok()
    }

    /// The time since it last grew or left its path.
    pub(super) fn idle_time(&self, shared: &Shared) -> Duration {
        shared.clock.elapsed().saturating_sub(self.last_change)
    }

    /// Notes that it has left its path.
    pub(super) fn leave(&mut self, shared: &Shared) {
        self.last_change = shared.clock.elapsed();
    }

    /// Reads appended bytes up to a bound. Returns whether there may be more.
    pub(super) fn read(
        &mut self,
        writer: &mut SourceWriter,
        shared: &mut Shared,
    ) -> Result<bool, StopReason> {
        let mut read_bytes = 0;
        while read_bytes < TURN_BYTES {
            match self.read_once(shared) {
                Some(fresh) if fresh > 0 => {
                    self.take(fresh, writer, shared)?;
                    read_bytes += fresh;
                }
                Some(_) => return Ok(false),
                None => self.restart(writer, shared)?,
            }
        }
        Ok(read_bytes >= TURN_BYTES)
    }

    /// Ends reading. An incomplete last line is written as a line.
    pub(super) fn finish(
        mut self,
        writer: &mut SourceWriter,
        shared: &mut Shared,
    ) -> Result<(), StopReason> {
        let ended = self.end_line(writer);
        // Its name may be another one by now.
        if let Some((plain, sums)) =
            self.plain.as_ref().zip(PlaceSums::of(&self.file, self.place.offset))
        {
            writer.progress().set_file_handle(plain, FileHandle::Closed(sums));
        }
        shared.leave(self.place);
        ended
    }

    /// Reads the next bytes into the buffer and returns their number. Returns `None` if the bytes
    /// before the place are missing or have changed: then the file was truncated, and may have
    /// grown since.
    fn read_once(&mut self, shared: &mut Shared) -> Option<usize> {
        let known = self.place.before().len();
        // One read covers both, so that the file cannot change in between.
        let start = self.place.offset - known as u64;
        let read = read_at(&self.file, &mut shared.buffer[..known + READ_BYTES], start);
        // A failed read is not a sign of truncation; the next poll tries again.
        let Ok(read) = read else { return Some(0) };
        if read < known || shared.buffer[..known] != *self.place.before() {
            return None;
        }
        self.last_read = shared.clock.elapsed();
        Some(read - known)
    }

    /// Writes the new bytes in the buffer.
    fn take(
        &mut self,
        fresh: usize,
        writer: &mut SourceWriter,
        shared: &Shared,
    ) -> Result<(), StopReason> {
        let start = self.place.before().len();
        let (before, bytes) = (&shared.buffer[..start + fresh], &shared.buffer[start..][..fresh]);
        if self.place.offset == 0 {
            if is_cri(bytes) {
                self.plain = None;
            }
            self.is_packed = self.plain.is_some() && is_packed(bytes);
        }
        if self.plain.is_none() {
            // Its offsets are not those of the source.
            writer.progress().set_kept(false);
        }
        if self.place.offset == self.head.len() as u64 {
            let missing = COMPARED_BYTES - self.head.len();
            self.head.extend_from_slice(&bytes[..missing.min(fresh)]);
        }
        if self.is_packed {
            self.place.advance(before, fresh);
            return Ok(());
        }
        self.begin_part(writer);
        self.place.advance(before, fresh);
        // Before the lines are counted: if it is truncated then, these bytes show that.
        self.hold_part(writer.progress());
        self.last_change = shared.clock.elapsed();
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
    fn restart(&mut self, writer: &mut SourceWriter, shared: &Shared) -> Result<(), StopReason> {
        let unread = shared.clock.elapsed().saturating_sub(self.last_read);
        writer.progress().note_truncation(unread);
        self.end_line(writer)?;
        if self.truncated.len() == TRUNCATIONS_MAX {
            self.truncated.remove(0);
        }
        let sums = self.sums();
        let contents = self.plain.clone().map(|file| {
            writer.progress().truncate_parts(&file, writer.offset(), sums);
            FileContents { file, truncated: Some(sums) }
        });
        let head = std::mem::take(&mut self.head);
        self.truncated.push(Truncated { head, place: self.place.clone(), contents });
        self.place.restart();
        Ok(())
    }

    /// Records that the next bytes of the source are those of the file, from the incomplete line on.
    fn begin_part(&self, writer: &SourceWriter) {
        if let Some(plain) = &self.plain {
            let file = (plain, self.handle());
            writer.progress().add_part(writer.offset(), file, self.lines_end());
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

/// Reads the first bytes of a file that was read up to an offset.
fn read_head(file: &File, offset: u64) -> Vec<u8> {
    let mut head = vec![0; offset.min(COMPARED_BYTES as u64) as usize];
    // Without them the bytes before the offset are still compared.
    let read = read_at(file, &mut head, 0).unwrap_or_default();
    head.truncate(read);
    head
}

/// Opens a file for reading. If a pipe has taken its path, the call does not wait for a writer.
#[cfg(unix)]
pub(super) fn open(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    File::options().read(true).custom_flags(nonblocking).open(path)
}

#[cfg(not(unix))]
pub(super) fn open(path: &Path) -> std::io::Result<File> {
    File::open(path)
}

/// Whether a path has a plain text file, or nothing yet.
pub(super) fn can_follow(path: &Path) -> bool {
    let Ok(metadata) = fs::metadata(path) else { return true };
    // Reading a pipe here would take bytes from it, and opening it may block.
    if !metadata.is_file() {
        return false;
    }
    let mut head = Vec::new();
    let read = open(path).and_then(|file| file.take(HEAD_BYTES as u64).read_to_end(&mut head));
    read.is_ok() && (is_cri(&head) || !is_packed(&head))
}
