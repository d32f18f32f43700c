//! Reads packed uploads, whose bytes arrive piece by piece.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weir_core::FormatChoice;

use super::byte_counter::ByteCounter;
use super::read::TextReader;
use super::unpack::{Text, Unpacked, unpack};
use crate::error::{Fault, FaultKind, ReadError, StopReason};
use crate::progress::SourceProgress;
use crate::writer::{Intake, SourceWriter};

/// A limit on the files in archives that become sources, shared by several archives.
#[derive(Debug)]
pub struct MemberLimit {
    members_max: usize,
    left: AtomicUsize,
}

impl MemberLimit {
    /// A limit of `members_max` files.
    pub fn new(members_max: usize) -> Self {
        Self { members_max, left: AtomicUsize::new(members_max) }
    }

    /// The number of files allowed in total.
    pub fn members_max(&self) -> usize {
        self.members_max
    }

    /// Counts one more file. Returns false if the limit is reached.
    pub(super) fn take(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

/// The result of reading a packed upload.
#[derive(Debug)]
pub struct ReadUpload {
    /// The writer of its source, which has not ended.
    pub writer: SourceWriter,
    /// Whether it was read to its end; the errors of files in an archive do not count.
    pub result: Result<(), ReadError>,
    /// The sources of the files in an archive. All of their lines are submitted, but perhaps not
    /// parsed yet.
    pub sources: Vec<Arc<SourceProgress>>,
    /// Why parts of an archive could not be read.
    pub errors: Vec<ReadError>,
    /// The number of files that did not become sources because the limit was reached, whether or
    /// not they could be read.
    pub left_out: u64,
}

/// Reads a packed upload to its end, or until its source has ended. Its text goes to `writer`. If it
/// is an archive, each file in it becomes a source, up to the limit.
///
/// A read of the stream may fail with [`io::ErrorKind::WouldBlock`] if the sender pauses. All whole
/// lines are then submitted before the next read.
pub fn read_upload(
    intake: &dyn Intake,
    mut writer: SourceWriter,
    stream: impl Read,
    format: &FormatChoice,
    limit: &MemberLimit,
) -> ReadUpload {
    let progress = writer.progress().clone();
    let counter = ByteCounter::of_source(&progress);
    let mut reader = TextReader::of_members(intake, format, limit);
    let mut copied = Ok(());
    let stream = PausingReader { stream, counter: counter.clone() };
    let Unpacked { faults, damage } = unpack(progress.name(), stream, &counter, &mut |text| {
        if text.is_member() {
            return reader.read(text);
        }
        copied = copy(&mut writer, text);
        ControlFlow::Break(())
    });
    let is_own = |fault: &Fault| fault.name == progress.name();
    let (own, members) = faults.into_iter().partition::<Vec<_>, _>(is_own);
    reader.note(members);
    let mut errors: Vec<ReadError> = own.into_iter().filter_map(error_of).collect();
    let mut of_members = reader.faults.into_iter().filter_map(error_of);
    let stopped = match progress.end() {
        Some(_) => Some(ReadError::Stopped(StopReason::Cancelled)),
        None => of_members.find(|error| matches!(error, ReadError::Stopped(_))),
    };
    let refusal = match errors.last() {
        Some(ReadError::Refused(_)) if reader.sources.is_empty() => errors.pop(),
        _ => None,
    };
    let result = match stopped.or(damage.map(ReadError::Stream)).or(refusal) {
        Some(error) => Err(error),
        None => copied,
    };
    ReadUpload { writer, result, sources: reader.sources, errors, left_out: reader.left_out }
}

fn error_of(fault: Fault) -> Option<ReadError> {
    match fault.kind {
        FaultKind::Error(error) => Some(error),
        FaultKind::Note(_) => None,
    }
}

/// Copies the text of an upload to its end.
fn copy(writer: &mut SourceWriter, text: &mut Text<'_>) -> Result<(), ReadError> {
    loop {
        let space = writer.space();
        let room = space.len();
        let (length, is_paused) = match text.read(space) {
            Ok(0) => return Ok(()),
            Ok(length) => (length, false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => (0, true),
            Err(error) => return Err(text.error(&error)),
        };
        writer.advance(length);
        writer.progress().note_written(writer.offset());
        let is_early = length < room && writer.may_flush_early();
        if writer.is_full() || is_paused || is_early {
            writer.flush()?;
        }
    }
}

/// A stream whose sender may pause.
struct PausingReader<R> {
    stream: R,
    counter: ByteCounter,
}

impl<R: Read> Read for PausingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(buffer) {
                Err(error)
                    if error.kind() == io::ErrorKind::WouldBlock
                        && !self.counter.may_time_out() => {}
                result => return result,
            }
        }
    }
}
