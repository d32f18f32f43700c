//! Follows growing files through every way of rotation.
//!
//! Files are polled every [`Follower::INTERVAL`], which works on every file system and needs only
//! `stat` and `read`. If the system sends notifications of changes ([`ChangeWatcher`]), files are
//! also read at once.
//!
//! - Renamed: the old file is read to its end, and for a while longer, because its writer may open
//!   the new one late. The new file is read from its start.
//! - Deleted and created again: the same.
//! - Truncated: read from its start again. A truncation is detected by the bytes before the
//!   position: they are missing or different, even if the file has grown to the same length or
//!   beyond. Lines that are written and truncated between two reads are lost. A note on the source
//!   states how long before the truncation the file was last read.
//! - Renamed twice between two polls: the file in between is not found.

mod change_watcher;
mod log_file;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::error::StopReason;
use crate::error::{Fault, ReadError};
use crate::progress::{Phase, SourceEnd};
use weir_core::FormatChoice;

use self::change_watcher::ChangeWatcher;
use self::log_file::{FileId, LogFile};
use crate::writer::{Intake, SourceOptions, SourceWriter};

/// How long a file that has left its path is still read after it last grew.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long lines wait for more lines before their format is detected.
const DETECTION_PATIENCE: Duration = Duration::from_millis(100);

/// The most files per path that have left it and are still read.
const RETIRED_MAX: usize = 8;

/// The number of changes in an interval that are read one by one. Further reads are
/// [`CHANGES_PAUSE`] apart, so that a writer of a hundred thousand lines a second does not take a
/// core for notifications.
const CHANGES_MAX: usize = 256;
const CHANGES_PAUSE: Duration = Duration::from_micros(200);

/// Follows files into a pipeline.
pub struct Follower {
    paths: Vec<FollowedPath>,
    clock: Arc<dyn Clock>,
    /// `None` if files are only polled.
    watcher: Option<Arc<ChangeWatcher>>,
}

/// A followed path, and the files that are or were there.
struct FollowedPath {
    path: PathBuf,
    writer: SourceWriter,
    /// The file that was at the path at the last poll.
    current: Option<LogFile>,
    /// Files that have left the path.
    retired: Vec<LogFile>,
    clock: Arc<dyn Clock>,
    watcher: Option<Arc<ChangeWatcher>>,
    /// The time since which lines wait for their format to be detected.
    waiting_since: Option<Duration>,
    stopped: Option<StopReason>,
}

impl Follower {
    /// The time between two polls, so that lines are seen well within 200 ms.
    pub const INTERVAL: Duration = Duration::from_millis(50);

    /// Opens a source for each path, whether there is a file yet or not.
    pub fn new(intake: &dyn Intake, paths: &[PathBuf], format: &FormatChoice) -> Self {
        let clock = Arc::new(SystemClock::default());
        let watcher = ChangeWatcher::new();
        for path in paths {
            if let (Some(watcher), Some(directory)) = (&watcher, path.parent()) {
                let is_here = directory.as_os_str().is_empty();
                watcher.watch_directory(if is_here { Path::new(".") } else { directory });
            }
        }
        Self::with(intake, paths, format, clock, watcher)
    }

    /// [`Self::new`] with a clock, which decides when files are polled and closed. Notifications of
    /// the system are not used.
    pub fn with_clock(
        intake: &dyn Intake,
        paths: &[PathBuf],
        format: &FormatChoice,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self::with(intake, paths, format, clock, None)
    }

    fn with(
        intake: &dyn Intake,
        paths: &[PathBuf],
        format: &FormatChoice,
        clock: Arc<dyn Clock>,
        watcher: Option<Arc<ChangeWatcher>>,
    ) -> Self {
        let followed = |path: &PathBuf| {
            let options = SourceOptions::new(&path.to_string_lossy(), format.clone());
            FollowedPath {
                path: path.clone(),
                writer: intake.open(options.watch_drift()),
                current: None,
                retired: Vec::new(),
                clock: clock.clone(),
                watcher: watcher.clone(),
                waiting_since: None,
                stopped: None,
            }
        };
        Self { paths: paths.iter().map(followed).collect(), clock, watcher }
    }

    /// Follows the files until `ends` is set or no source accepts more. Passes notes to `report` at
    /// once, and returns the errors.
    pub fn run(mut self, ends: &AtomicBool, report: impl Fn(Fault)) -> Vec<Fault> {
        while !ends.load(Ordering::Relaxed) && self.is_running() {
            let has_more = self.poll();
            self.news().for_each(&report);
            if !has_more {
                self.wait();
            }
        }
        self.end()
    }

    /// Waits until the next poll. Meanwhile reads the files if the system reports a change; the
    /// next poll submits the lines.
    fn wait(&mut self) {
        let Some(watcher) = self.watcher.clone() else {
            return self.clock.sleep(Self::INTERVAL);
        };
        let end = self.clock.elapsed() + Self::INTERVAL;
        let mut changes = 0;
        loop {
            let left = end.saturating_sub(self.clock.elapsed());
            if left.is_zero() || !watcher.wait(left) || self.read() {
                return;
            }
            changes += 1;
            if changes > CHANGES_MAX {
                self.clock.sleep(CHANGES_PAUSE);
            }
        }
    }

    /// Reads the bytes that were appended since the last poll, up to a bound for each file, and
    /// submits whole lines once no more arrive. Returns whether there may be more at once.
    pub fn poll(&mut self) -> bool {
        self.each_path(FollowedPath::poll)
    }

    /// Reads as [`Self::poll`] does, but submits only full blocks.
    fn read(&mut self) -> bool {
        self.each_path(FollowedPath::read)
    }

    fn each_path(&mut self, read: impl Fn(&mut FollowedPath) -> Result<bool, StopReason>) -> bool {
        let mut has_more = false;
        for index in 0..self.paths.len() {
            if self.paths[index].stopped.is_some() {
                continue;
            }
            self.take_over(index);
            match read(&mut self.paths[index]) {
                Ok(more) => has_more |= more,
                Err(reason) => self.paths[index].stopped = Some(reason),
            }
        }
        has_more
    }

    /// Returns the notes about the sources since the last call.
    fn news(&self) -> impl Iterator<Item = Fault> {
        let progress = self.paths.iter().map(|path| path.writer.progress());
        progress.filter_map(|one| Some(Fault::note(one.name(), one.take_news()?)))
    }

    /// If a rotation has moved a file from another followed path to this one, continues here from
    /// the same position.
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

    fn is_running(&self) -> bool {
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

    /// Reads appended bytes, and submits the lines once no more arrive.
    fn poll(&mut self) -> Result<bool, StopReason> {
        let has_more = self.read()?;
        self.expire()?;
        self.flush(has_more)?;
        Ok(has_more)
    }

    /// Reads appended bytes, those of old files before those of the current one.
    fn read(&mut self) -> Result<bool, StopReason> {
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
        Ok(has_more)
    }

    /// Ends the source, with its incomplete lines. Returns why it had to stop, if it did.
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
        let Some(fresh) = LogFile::open(&self.path, &self.clock, self.watcher.as_ref()) else {
            return false;
        };
        if self.is_current(fresh.id()) {
            return false;
        }
        let known = self.remove(fresh.id());
        let old = self.current.replace(known.unwrap_or(fresh));
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
        // Set only after the lines are submitted: old lines were not written just now.
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

#[cfg(test)]
mod tests {
    use std::fs::{self, File, OpenOptions};
    use std::io::Write;
    use std::path::PathBuf;
    use std::sync::Arc;

    use weir_core::FormatChoice;

    use super::{ChangeWatcher, Follower};
    use crate::clock::ManualClock;
    use crate::pipeline::{DataSet, Pipeline, PipelineOptions, Retention};
    use crate::progress::SourceSnapshot;

    /// A followed file, with a clock that stands still.
    struct FollowedFile {
        path: PathBuf,
        file: File,
        follower: Follower,
        pipeline: Pipeline,
        data: Arc<DataSet>,
    }

    impl FollowedFile {
        fn new(name: &str, watcher: Option<Arc<ChangeWatcher>>) -> Self {
            let path = std::env::temp_dir().join(format!("weir-{name}-{}.log", std::process::id()));
            let _ = fs::remove_file(&path);
            let file = OpenOptions::new().create(true).append(true).open(&path).expect("a file");
            let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
            let options = PipelineOptions::new(1, Retention::Segments);
            let pipeline = Pipeline::start(&options, data.clone());
            let paths = std::slice::from_ref(&path);
            let clock = Arc::new(ManualClock::default());
            let mut follower =
                Follower::with(&pipeline, paths, &FormatChoice::Detect, clock, watcher);
            while follower.poll() {}
            Self { path, file, follower, pipeline, data }
        }

        fn write(&mut self, lines: std::ops::Range<u64>) {
            for number in lines {
                let line = format!(
                    "192.0.2.1 - - [17/Dec/2025:09:00:00 +0000] \"GET /{number:04} HTTP/1.1\" 200 1\n"
                );
                self.file.write_all(line.as_bytes()).expect("room");
            }
        }

        /// Ends following. Returns the source.
        fn end(mut self) -> SourceSnapshot {
            while self.follower.poll() {}
            assert!(self.follower.end().is_empty());
            self.pipeline.finish();
            fs::remove_file(&self.path).expect("it is there");
            self.data.sources()[0].snapshot()
        }
    }

    #[test]
    fn a_file_that_has_grown_back_to_its_length_is_read_again() {
        let mut followed = FollowedFile::new("grown-back", None);
        followed.write(0..100);
        while followed.follower.poll() {}
        followed.file.set_len(0).expect("it can be truncated");
        followed.write(100..200);
        while followed.follower.poll() {}
        // Longer than before, and shorter.
        for lines in [200..301, 400..410] {
            followed.file.set_len(0).expect("it can be truncated");
            followed.write(lines);
            while followed.follower.poll() {}
        }
        let source = followed.end();
        assert_eq!((source.lines, source.records), (311, 311));
        let note =
            "it was truncated 3 times; lines that were written in the 1 ms before may be missing";
        assert_eq!(source.note.as_deref(), Some(note));
    }

    #[test]
    fn a_file_that_only_grows_has_no_note() {
        let mut followed = FollowedFile::new("grows", None);
        followed.write(0..10);
        while followed.follower.poll() {}
        followed.write(10..20);
        let source = followed.end();
        assert_eq!((source.lines, source.note), (20, None));
    }

    #[test]
    fn lines_that_a_container_runtime_has_split_are_joined() {
        let mut followed = FollowedFile::new("split", None);
        for number in 0..20 {
            let part = format!(
                "2025-12-17T09:03:01.25Z stdout P 192.0.2.1 - - [17/Dec/2025:09:00:00 +0000] \"GET /{number}\n"
            );
            followed.file.write_all(part.as_bytes()).expect("room");
            while followed.follower.poll() {}
            let rest = b"2025-12-17T09:03:01.25Z stdout F ? HTTP/1.1\" 200 1\n";
            followed.file.write_all(rest).expect("room");
            while followed.follower.poll() {}
        }
        let source = followed.end();
        assert_eq!((source.lines, source.records), (20, 20));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_change_is_read_before_the_next_poll() {
        let Some(watcher) = ChangeWatcher::new() else { panic!("inotify has no room") };
        let mut followed = FollowedFile::new("notified", Some(watcher));
        for round in 0..5 {
            followed.write(round * 100..round * 100 + 10);
            // The system has reported the lines, and nothing is written after them.
            followed.follower.wait();
            followed.file.set_len(0).expect("it can be truncated");
        }
        let source = followed.end();
        assert_eq!(source.lines, 50, "lines before a truncation were read");
    }
}
