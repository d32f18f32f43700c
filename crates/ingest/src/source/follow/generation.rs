//! One file at a path that is followed, from its start to its end.

use std::fs::{self, File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Instant;

use super::super::archive::{is_tar, is_zip};
use super::super::compression::compression_of;
use crate::error::StopReason;
use crate::writer::SourceWriter;

/// What tells a file from all others.
pub(super) type Identity = (u64, u64);

/// Bytes read at once.
const READ_BYTES: usize = 1 << 20;

/// Bytes read of one file before the others have their turn.
const TURN_BYTES: usize = 16 << 20;

/// Bytes before the place that was read to, by which a file is known again.
const KNOWN_BYTES: usize = 64;

/// A line that is longer counts as too long whatever comes; it is not kept together.
const LINE_BYTES_MAX: usize = (1 << 20) + 2;

/// Bytes that show what a file is.
const HEAD_BYTES: u64 = 512;

pub(super) struct Generation {
    file: File,
    identity: Identity,
    /// Bytes read.
    position: u64,
    /// The last of them.
    known: Vec<u8>,
    /// The line that has begun and not ended: files of one path are read beside one another,
    /// so only whole lines are written.
    line: Vec<u8>,
    buffer: Vec<u8>,
    last_growth: Instant,
}

impl Generation {
    /// The file at a path, where there is one.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let metadata = file.metadata().ok().filter(Metadata::is_file)?;
        Some(Self {
            identity: identity(&metadata),
            file,
            position: 0,
            known: Vec::new(),
            line: Vec::new(),
            buffer: Vec::new(),
            last_growth: Instant::now(),
        })
    }

    pub(super) fn identity(&self) -> Identity {
        self.identity
    }

    pub(super) fn last_growth(&self) -> Instant {
        self.last_growth
    }

    /// Reads what has come, up to a bound; true where there may be more.
    pub(super) fn read(&mut self, writer: &mut SourceWriter) -> Result<bool, StopReason> {
        let mut read_bytes = 0;
        while read_bytes < TURN_BYTES {
            // A file that cannot be read now is tried again with the next look.
            let Ok(length) = self.file.metadata().map(|metadata| metadata.len()) else { break };
            if length < self.position {
                self.start_again(writer)?;
            }
            if length == self.position {
                return Ok(false);
            }
            match self.read_once() {
                Some(fresh) if fresh > 0 => {
                    self.take(fresh, writer)?;
                    read_bytes += fresh;
                }
                Some(_) => return Ok(false),
                None => self.start_again(writer)?,
            }
        }
        Ok(read_bytes >= TURN_BYTES)
    }

    /// The last line of a file that is given up counts, if it ended or not.
    pub(super) fn finish(mut self, writer: &mut SourceWriter) -> Result<(), StopReason> {
        self.end_line(writer)
    }

    /// Reads on into the buffer, and says how many bytes came; `None` where the bytes before
    /// are not those that were read: it was truncated and has grown since.
    fn read_once(&mut self) -> Option<usize> {
        let known = self.known.len();
        self.buffer.resize(KNOWN_BYTES + READ_BYTES, 0);
        // In one read, so that nothing changes in between.
        let start = self.position - known as u64;
        let read = self
            .file
            .seek(SeekFrom::Start(start))
            .and_then(|_| self.file.read(&mut self.buffer[..known + READ_BYTES]));
        // What cannot be read now is looked at again soon; it is no sign of truncation.
        let Ok(read) = read else { return Some(0) };
        if read < known || self.buffer[..known] != self.known {
            return None;
        }
        Some(read - known)
    }

    /// Takes the fresh bytes in the buffer.
    fn take(&mut self, fresh: usize, writer: &mut SourceWriter) -> Result<(), StopReason> {
        let start = self.known.len();
        let buffer = std::mem::take(&mut self.buffer);
        let (before, bytes) = (&buffer[..start + fresh], &buffer[start..start + fresh]);
        self.position += fresh as u64;
        self.known = before[before.len().saturating_sub(KNOWN_BYTES)..].to_vec();
        self.last_growth = Instant::now();
        let ended = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if ended > 0 {
            writer.write_all(&self.line)?;
            writer.write_all(&bytes[..ended])?;
            self.line.clear();
        }
        self.line.extend_from_slice(&bytes[ended..]);
        if self.line.len() > LINE_BYTES_MAX {
            writer.write_all(&self.line)?;
            self.line.clear();
        }
        self.buffer = buffer;
        Ok(())
    }

    /// It was truncated: what comes now is at its start.
    fn start_again(&mut self, writer: &mut SourceWriter) -> Result<(), StopReason> {
        self.position = 0;
        self.known.clear();
        self.end_line(writer)
    }

    fn end_line(&mut self, writer: &mut SourceWriter) -> Result<(), StopReason> {
        if !self.line.is_empty() {
            self.line.push(b'\n');
            writer.write_all(&self.line)?;
            self.line.clear();
        }
        Ok(())
    }
}

/// Which file is at a path.
pub(super) fn identity_at(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().filter(Metadata::is_file).map(|metadata| identity(&metadata))
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// Where files have no numbers, they are told by when they were made.
#[cfg(not(unix))]
fn identity(metadata: &Metadata) -> Identity {
    let made = metadata.created().ok();
    let since = made.and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or((0, 0), |since| (since.as_secs(), u64::from(since.subsec_nanos())))
}

pub(super) fn can_follow(path: &Path) -> bool {
    let Ok(metadata) = fs::metadata(path) else { return true };
    // A pipe would lose what is read here, and may not even open.
    if !metadata.is_file() {
        return false;
    }
    let mut head = Vec::new();
    let file = File::open(path);
    let read = file.and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    let is_packed = compression_of(&head).is_some() || is_zip(&head) || is_tar(&head);
    read.is_ok() && !is_packed
}
