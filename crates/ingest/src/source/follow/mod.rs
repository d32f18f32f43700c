//! Follows growing files through every way of rotation.
//!
//! Files are polled every [`Follower::INTERVAL`], which works on every file system and needs
//! nothing from the system but `stat` and `read`.
//!
//! - Renamed: the old file is read to its end, and for a while longer, because its writer may open
//!   the new one late. The new file is read from its start.
//! - Deleted and created again: the same.
//! - Truncated: read from its start again. A truncation shows in the length, or, if the file has
//!   grown beyond the position again, in the bytes before the position. Lines that are written
//!   and truncated between two polls are lost.
//! - Renamed twice between two polls: the file in between is not found.

mod log_file;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::error::StopReason;
use crate::error::{Fault, ReadError};
use crate::pipeline::Pipeline;
use crate::progress::{Phase, SourceEnd};
use weir_core::FormatChoice;

use self::log_file::{FileId, LogFile};
use crate::writer::{SourceOptions, SourceWriter};

/// How long a file that has left its path is still read after it last grew.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long lines wait for more, to detect their format in.
const DETECTION_PATIENCE: Duration = Duration::from_millis(100);

/// Files that have left a path and are still read, at most, per path.
const RETIRED_MAX: usize = 8;

/// Follows files into a pipeline.
pub struct Follower {
    paths: Vec<FollowedPath>,
    clock: Arc<dyn Clock>,
}

/// One path, and the files that are or were there.
struct FollowedPath {
    path: PathBuf,
    writer: SourceWriter,
    /// The file that was at the path at the last poll.
    current: Option<LogFile>,
    /// Files that have left the path.
    retired: Vec<LogFile>,
    clock: Arc<dyn Clock>,
    /// Since when lines wait for their format to be detected.
    waiting_since: Option<Duration>,
    stopped: Option<StopReason>,
}

impl Follower {
    /// The time between two polls, so that lines are seen well within 200 ms.
    pub const INTERVAL: Duration = Duration::from_millis(50);

    /// Opens a source for each path, whether there is a file yet or not.
    pub fn new(pipeline: &Pipeline, paths: &[PathBuf], format: &FormatChoice) -> Self {
        Self::with_clock(pipeline, paths, format, Arc::new(SystemClock::default()))
    }

    /// [`Self::new`] with a clock, which decides when files are polled and closed.
    pub fn with_clock(
        pipeline: &Pipeline,
        paths: &[PathBuf],
        format: &FormatChoice,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let followed = |path: &PathBuf| {
            let options = SourceOptions::new(&path.to_string_lossy(), format.clone());
            FollowedPath {
                path: path.clone(),
                writer: pipeline.open(options.watch_drift()),
                current: None,
                retired: Vec::new(),
                clock: clock.clone(),
                waiting_since: None,
                stopped: None,
            }
        };
        Self { paths: paths.iter().map(followed).collect(), clock }
    }

    /// Follows the files until `ends` is set or no source takes more. Passes notes to `report` at
    /// once, and returns the errors.
    pub fn run(mut self, ends: &AtomicBool, report: impl Fn(Fault)) -> Vec<Fault> {
        while !ends.load(Ordering::Relaxed) && self.is_going() {
            let has_more = self.poll();
            self.news().for_each(&report);
            if !has_more {
                self.clock.sleep(Self::INTERVAL);
            }
        }
        self.end()
    }

    /// Reads the bytes that were appended since the last poll, up to a bound for each file.
    /// Returns whether there may be more at once.
    pub fn poll(&mut self) -> bool {
        let mut has_more = false;
        for index in 0..self.paths.len() {
            if self.paths[index].stopped.is_some() {
                continue;
            }
            self.take_over(index);
            match self.paths[index].poll() {
                Ok(more) => has_more |= more,
                Err(reason) => self.paths[index].stopped = Some(reason),
            }
        }
        has_more
    }

    /// Notes about the sources since the last call.
    fn news(&self) -> impl Iterator<Item = Fault> {
        let progress = self.paths.iter().map(|path| path.writer.progress());
        progress.filter_map(|one| Some(Fault::note(one.name(), one.take_news()?)))
    }

    /// If a rotation has moved a file from one followed path to another, continues there from the
    /// same position.
    fn take_over(&mut self, index: usize) {
        let Some(id) = log_file::id_at(&self.paths[index].path) else { return };
        if self.paths[index].is_current(id) {
            return;
        }
        for other in 0..self.paths.len() {
            if other == index {
                continue;
            }
            let Some(moved) = self.paths[other].remove(id) else { continue };
            let old = self.paths[index].current.replace(moved);
            self.paths[index].retire(old);
            return;
        }
    }

    fn is_going(&self) -> bool {
        self.paths
            .iter()
            .any(|path| path.stopped.is_none() && !path.writer.progress().is_cancelled())
    }

    fn end(self) -> Vec<Fault> {
        let fault = |path: FollowedPath| {
            let name = path.path.to_string_lossy().into_owned();
            let stopped = path.end().filter(|stopped| *stopped != StopReason::Cancelled)?;
            Some(Fault::new(&name, ReadError::Stopped(stopped)))
        };
        self.paths.into_iter().filter_map(fault).collect()
    }
}

impl FollowedPath {
    fn is_current(&self, id: FileId) -> bool {
        self.current.as_ref().is_some_and(|current| current.id() == id)
    }

    /// Removes a file from this path.
    fn remove(&mut self, id: FileId) -> Option<LogFile> {
        if self.is_current(id) {
            return self.current.take();
        }
        let at = self.retired.iter().position(|retired| retired.id() == id)?;
        Some(self.retired.remove(at))
    }

    /// Reads appended bytes, of old files before the current one.
    fn poll(&mut self) -> Result<bool, StopReason> {
        let mut has_more = false;
        for retired in &mut self.retired {
            has_more |= retired.read(&mut self.writer)?;
        }
        if let Some(current) = &mut self.current {
            has_more |= current.read(&mut self.writer)?;
        }
        if !has_more {
            has_more = self.follow_path();
        }
        self.expire()?;
        self.flush(has_more)?;
        Ok(has_more)
    }

    /// Ends the source, incomplete lines included. Returns why it had to stop, if it did.
    fn end(mut self) -> Option<StopReason> {
        for file in self.retired.drain(..).chain(self.current.take()) {
            if self.stopped.is_none() {
                self.stopped = file.finish(&mut self.writer).err();
            }
        }
        let end = self.stopped.map_or(SourceEnd::Done, SourceEnd::from);
        self.stopped.or(self.writer.finish(end).err())
    }

    /// Opens the file at the path if it is another one. Returns whether it is.
    fn follow_path(&mut self) -> bool {
        if log_file::id_at(&self.path).is_none_or(|id| self.is_current(id)) {
            return false;
        }
        let Some(fresh) = LogFile::open(&self.path, &self.clock) else { return false };
        if self.is_current(fresh.id()) {
            return false;
        }
        let again = self.remove(fresh.id());
        let old = self.current.replace(again.unwrap_or(fresh));
        self.retire(old);
        true
    }

    fn retire(&mut self, old: Option<LogFile>) {
        self.retired.extend(old);
    }

    /// Closes files that have left the path and have not grown for a while.
    fn expire(&mut self) -> Result<(), StopReason> {
        let mut index = 0;
        while index < self.retired.len() {
            let is_over =
                self.retired[index].idle_time() > PATIENCE || self.retired.len() > RETIRED_MAX;
            if is_over {
                self.retired.remove(index).finish(&mut self.writer)?;
            } else {
                index += 1;
            }
        }
        Ok(())
    }

    /// Submits the lines that were read, once no more arrive.
    fn flush(&mut self, has_more: bool) -> Result<(), StopReason> {
        if self.writer.offset() > self.writer.submitted() && !has_more {
            let now = self.clock.elapsed();
            let waited = now.saturating_sub(*self.waiting_since.get_or_insert(now));
            if self.writer.is_format_decided() || waited >= DETECTION_PATIENCE {
                self.writer.flush()?;
                self.waiting_since = None;
            }
        }
        // Only after it is submitted: old lines were not written just now.
        if has_more {
            self.writer.progress().set_phase(Phase::Reading);
        } else if self.waiting_since.is_none() {
            self.writer.progress().set_phase(Phase::Following);
        }
        Ok(())
    }
}

/// Whether the file at a path can be followed: it is plain text, or does not exist yet.
pub fn can_follow(path: &Path) -> bool {
    log_file::can_follow(path)
}
