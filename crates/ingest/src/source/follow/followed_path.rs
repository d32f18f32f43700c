//! A followed path, and the files that are or were there.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::copies::{Likeness, Original, likeness};
use super::log_file::LogFile;
use super::shared::{FileAt, PathNumber, Shared};
use crate::error::StopReason;
use crate::file_identity::FileIdentity;
use crate::place_sums::PlaceSums;
use crate::plain_file::PlainFile;
use crate::progress::{Phase, SourceEnd};
use crate::source::rotated_set::rotated_set;
use crate::writer::SourceWriter;

/// How long a file that has left its path is still read after it last grew.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How long lines wait for more lines before their format is detected.
const DETECTION_PATIENCE: Duration = Duration::from_millis(100);

/// The most paths whose lines wait for more lines. Each takes the room of a block meanwhile, and
/// thousands of logs are read at the same time when a folder of them is opened.
const UNDETECTED_MAX: usize = 32;

/// The most files per path that have left it and are still read.
const RETIRED_MAX: usize = 8;

/// How long a file that has grown is polled at every interval.
const BUSY: Duration = Duration::from_secs(2);

/// A followed path. It is a source, whatever files are there.
#[derive(Debug)]
pub(super) struct FollowedPath {
    number: PathNumber,
    pub(super) path: PathBuf,
    /// The name that it shares with the other files of its rotated set.
    pub(super) rotated_set: Arc<OsStr>,
    pub(super) writer: SourceWriter,
    /// The file that was at the path at the last poll.
    current: Option<LogFile>,
    /// Files that have left the path.
    retired: Vec<LogFile>,
    /// The time since which lines wait for their format to be detected.
    waiting_since: Option<Duration>,
    /// Why nothing more is read, once that is so.
    stopped: Option<StopReason>,
    /// Whether it was polled.
    was_polled: bool,
    /// The file that was at the path when it was opened.
    first: Option<FileIdentity>,
    /// Whether a file was at the path that no path has read to its end.
    pub(super) has_unread: bool,
}

impl FollowedPath {
    pub(super) fn new(number: PathNumber, path: PathBuf, writer: SourceWriter) -> Self {
        Self {
            number,
            rotated_set: rotated_set(&path).into_os_string().into(),
            first: FileIdentity::at(&path),
            path,
            writer,
            current: None,
            retired: Vec::new(),
            waiting_since: None,
            stopped: None,
            was_polled: false,
            has_unread: false,
        }
    }

    /// Returns the note about the source since the last call.
    pub(super) fn take_news(&self) -> Option<String> {
        self.writer.progress().take_news()
    }

    /// Whether nothing more is read.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// Whether the source was cancelled. The next poll closes its files.
    pub(super) fn is_cancelled(&self) -> bool {
        self.writer.progress().is_cancelled()
    }

    /// Whether a file was at the path when it was opened.
    pub(super) fn is_first(&self, file: FileIdentity) -> bool {
        self.first == Some(file)
    }

    /// Its number.
    pub(super) fn number(&self) -> PathNumber {
        self.number
    }

    /// Whether there is no file to read at the path, and those that were are closed.
    pub(super) fn is_gone(&self) -> bool {
        let has_file = self.has_unread || self.current.is_some() || !self.retired.is_empty();
        self.was_polled && !has_file && self.stopped.is_none()
    }

    /// When the file at the path was last written.
    pub(super) fn written(&self) -> Option<SystemTime> {
        self.current.as_ref()?.written()
    }

    /// Sets the note beside the source.
    pub(super) fn set_note(&self, note: &str) {
        self.writer.progress().set_note(Some(note.to_owned()));
    }

    /// Returns how a file is like those that are or were at the path, if it may be a copy of one.
    pub(super) fn likeness(&self, file: &File) -> Option<Likeness> {
        self.current.iter().chain(&self.retired).find_map(|known| likeness(known, file))
    }

    /// Reads what a copy has after a place of its original, which the original does not have any
    /// more.
    pub(super) fn read_copy(
        &mut self,
        path: &Path,
        at: FileAt,
        original: &Original,
        shared: &mut Shared,
    ) {
        let place = &original.place;
        let in_copy = place.in_copy(at.file, at.length);
        // If too many files are open, the next search finds the copy again.
        let Some(mut copy) = LogFile::open_at(path, in_copy, shared) else { return };
        self.note_copy(path, copy.file(), at.length, original);
        copy.hold_part(self.writer.progress());
        for file in self.current.iter_mut().chain(&mut self.retired) {
            file.forget_truncated(place);
        }
        if let Some(contents) = &original.contents {
            self.writer.progress().forget_truncated(contents);
        }
        shared.set_reader(copy.identity(), self.number);
        copy.leave(shared);
        self.retired.push(copy);
    }

    /// Records that the source has the bytes of a copy of this length, so that another process does not
    /// read them.
    pub(super) fn note_copy(&self, path: &Path, copy: &File, length: u64, original: &Original) {
        let offset = original.place.offset.min(length);
        if let Some(contents) = &original.contents
            && let Some((plain, sums)) = PlainFile::new(path, copy).zip(PlaceSums::of(copy, offset))
        {
            let start = self.writer.offset();
            self.writer.progress().add_copy(start, &plain, sums, contents.clone());
            self.writer.note_change();
        }
    }

    /// Whether it has to be polled at every interval: more is expected soon, or something has to be
    /// done a while later.
    pub(super) fn is_busy(&self, shared: &Shared) -> bool {
        let grows = |file: &LogFile| file.idle_time(shared) < BUSY;
        self.waiting_since.is_some()
            || !self.retired.is_empty()
            || self.writer.offset() > self.writer.submitted()
            || self.current.as_ref().is_some_and(grows)
    }

    /// Whether this is the file that was at the path at the last poll.
    pub(super) fn is_current(&self, file: FileIdentity) -> bool {
        self.current.as_ref().is_some_and(|current| current.identity() == file)
    }

    /// Goes on with a file that is at the path now, instead of the one before.
    pub(super) fn set_current(&mut self, file: LogFile, shared: &mut Shared) {
        shared.set_reader(file.identity(), self.number);
        self.retire(shared);
        self.current = Some(file);
    }

    /// Adds a file that was at the path before.
    pub(super) fn add_retired(&mut self, file: LogFile, shared: &mut Shared) {
        shared.set_reader(file.identity(), self.number);
        self.retired.push(file);
    }

    /// Reads appended bytes, and submits whole lines once no more arrive. `here` is the file at the
    /// path. Returns whether there may be more at once.
    pub(super) fn poll(&mut self, here: Option<FileIdentity>, shared: &mut Shared) -> bool {
        if self.is_cancelled() {
            self.stop(StopReason::Cancelled, shared);
        }
        self.was_polled = true;
        let has_more = self.read(here, shared);
        self.attempt(shared, |own, shared| {
            own.expire(shared)?;
            own.flush(has_more, shared)
        });
        has_more
    }

    /// Reads appended bytes, those of old files before those of the current one.
    pub(super) fn read(&mut self, here: Option<FileIdentity>, shared: &mut Shared) -> bool {
        self.read_files(shared) || self.follow_path(here, shared)
    }

    /// Reads the bytes that were appended to its files, up to a bound. Returns whether there may be
    /// more.
    pub(super) fn read_files(&mut self, shared: &mut Shared) -> bool {
        let mut has_more = false;
        self.attempt(shared, |own, shared| {
            for file in own.retired.iter_mut().chain(&mut own.current) {
                has_more |= file.read(&mut own.writer, shared)?;
            }
            Ok(())
        });
        has_more
    }

    /// Ends the source, with its incomplete lines. Returns why it had to stop, if it did.
    pub(super) fn end(mut self, shared: &mut Shared) -> Option<StopReason> {
        self.end_wait(shared);
        self.retire(shared);
        for file in std::mem::take(&mut self.retired) {
            self.attempt(shared, |own, shared| own.close(file, shared));
        }
        let end = self.stopped.map_or(SourceEnd::Done, SourceEnd::from);
        self.stopped.or(self.writer.finish(end).err())
    }

    /// Does something unless the source has stopped. If it has to stop, nothing more is read.
    fn attempt(
        &mut self,
        shared: &mut Shared,
        work: impl FnOnce(&mut Self, &mut Shared) -> Result<(), StopReason>,
    ) {
        if self.stopped.is_none()
            && let Err(reason) = work(self, shared)
        {
            self.stop(reason, shared);
        }
    }

    fn stop(&mut self, reason: StopReason, shared: &mut Shared) {
        self.stopped = Some(reason);
        for file in self.retired.drain(..).chain(self.current.take()) {
            shared.leave(file.place().clone());
        }
        self.end_wait(shared);
        self.writer.rest();
    }

    /// Opens the file at the path if it is another one. Returns whether it is.
    fn follow_path(&mut self, here: Option<FileIdentity>, shared: &mut Shared) -> bool {
        if self.is_stopped() || here.is_some_and(|here| self.is_current(here)) {
            return false;
        }
        let Some(here) = here else {
            self.retire(shared);
            return false;
        };
        let returned = self.retired.iter().position(|file| file.identity() == here);
        let next = match returned {
            Some(at) => Some(self.retired.remove(at)),
            None => LogFile::open(&self.path, here, shared),
        };
        let is_other = next.is_some();
        next.into_iter().for_each(|next| self.set_current(next, shared));
        is_other
    }

    /// Notes that the current file has left the path.
    fn retire(&mut self, shared: &Shared) {
        if let Some(mut old) = self.current.take() {
            old.leave(shared);
            self.retired.push(old);
        }
    }

    /// Closes files that have left the path and have not grown for a while.
    fn expire(&mut self, shared: &mut Shared) -> Result<(), StopReason> {
        let mut index = 0;
        while index < self.retired.len() {
            let is_over = self.retired[index].idle_time(shared) > PATIENCE
                || self.retired.len() > RETIRED_MAX
                || shared.is_crowded();
            if is_over {
                let file = self.retired.remove(index);
                self.close(file, shared)?;
            } else {
                index += 1;
            }
        }
        Ok(())
    }

    fn close(&mut self, file: LogFile, shared: &mut Shared) -> Result<(), StopReason> {
        file.finish(&mut self.writer, shared)
    }

    /// Submits the lines that were read, once no more arrive.
    fn flush(&mut self, has_more: bool, shared: &mut Shared) -> Result<(), StopReason> {
        if has_more {
            self.writer.progress().set_phase(Phase::Reading);
            return Ok(());
        }
        if self.writer.offset() > self.writer.submitted() {
            if !self.writer.is_format_decided() && !self.has_waited(shared) {
                return Ok(());
            }
            self.writer.flush()?;
            self.end_wait(shared);
        }
        self.writer.rest();
        // Set only after the lines are submitted: old lines were not written just now.
        self.writer.progress().set_phase(Phase::Following);
        Ok(())
    }

    /// Whether the lines have waited long enough for more of them. The first call begins the wait.
    fn has_waited(&mut self, shared: &mut Shared) -> bool {
        let now = shared.clock.elapsed();
        match self.waiting_since {
            Some(since) => now.saturating_sub(since) >= DETECTION_PATIENCE,
            None if shared.undetected == UNDETECTED_MAX => true,
            None => {
                self.waiting_since = Some(now);
                shared.undetected += 1;
                false
            }
        }
    }

    fn end_wait(&mut self, shared: &mut Shared) {
        if self.waiting_since.take().is_some() {
            shared.undetected -= 1;
        }
    }
}
