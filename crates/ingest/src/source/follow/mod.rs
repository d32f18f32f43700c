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
//! - Copied and then truncated, in a followed folder: what only the copy has is read from it.
//! - Renamed twice between two polls: the file in between is not found.

mod change_watcher;
mod copies;
mod discovery;
mod file_set;
#[cfg(test)]
mod folder_tests;
mod follow_options;
mod followed_path;
mod log_file;
mod newcomers;
mod path_pattern;
mod read_place;
mod read_tables;
#[cfg(test)]
mod restart_tests;
mod restored;
mod resume;
mod seen_files;
mod shared;
mod table_reader;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use weir_core::FormatChoice;

use self::change_watcher::Changes;
use self::discovery::Discovery;
pub use self::file_set::FileSet;
pub use self::follow_options::FollowOptions;
use self::followed_path::FollowedPath;
use self::newcomers::Newcomers;
use self::restored::{RestoredPlaces, Siblings};
use self::shared::{FileAt, PathNumber, Shared};
use self::table_reader::TableReader;
use crate::error::{Fault, ReadError, StopReason};
use crate::file_identity::FileIdentity;
use crate::source::rotated_set::is_numbered;
use crate::writer::{Intake, SourceOptions};

/// The number of changes in an interval that are read one by one. Further reads are
/// [`CHANGES_PAUSE`] apart, so that a writer of a hundred thousand lines a second does not take a
/// core for notifications.
const CHANGES_MAX: usize = 256;
const CHANGES_PAUSE: Duration = Duration::from_micros(200);

/// The most quiet paths that are polled in an interval, in turns. A poll takes some microseconds,
/// so thousands of paths would take a core.
const POLLS_MAX: usize = 256;

/// The most files beside those of the followed paths that are known to be read.
const KNOWN_SPARE: usize = 1_000;

/// Follows files into a pipeline.
#[derive(Debug)]
pub struct Follower {
    paths: BTreeMap<PathNumber, FollowedPath>,
    /// The number of the next path.
    next_number: PathNumber,
    format: FormatChoice,
    newcomers: Newcomers,
    numbers: HashMap<PathBuf, PathNumber>,
    /// The paths of each rotated set.
    sets: HashMap<Arc<OsStr>, BTreeSet<PathNumber>>,
    shared: Shared,
    /// The paths that are polled at every interval.
    busy: BTreeSet<PathNumber>,
    /// The path after the one that was polled last in its turn.
    next: PathNumber,
    /// Whether changes have been missed, so that all paths have to be polled.
    has_missed_changes: bool,
}

impl Follower {
    /// The time between two polls, so that lines are seen well within 200 ms.
    pub const INTERVAL: Duration = Duration::from_millis(50);

    /// The memory that a followed file takes when it does not grow, in bytes, besides its records:
    /// its source, the state of its format, and its watch.
    pub const FILE_BYTES: usize = 24 << 10;

    /// Opens a source for each path, whether there is a file yet or not.
    pub fn new(intake: &dyn Intake, paths: &[PathBuf], format: &FormatChoice) -> Self {
        Self::with(intake, paths, format, FollowOptions::new())
    }

    /// [`Self::new`] with options.
    pub fn with(
        intake: &dyn Intake,
        paths: &[PathBuf],
        format: &FormatChoice,
        options: FollowOptions,
    ) -> Self {
        let FollowOptions {
            clock,
            watcher,
            sets,
            named,
            read_elsewhere,
            files_max,
            told,
            told_left_out,
        } = options;
        let discovery = Discovery::new(sets, &read_elsewhere);
        let mut follower = Self {
            paths: BTreeMap::new(),
            next_number: 0,
            format: format.clone(),
            newcomers: Newcomers::new(discovery, named, told_left_out),
            numbers: HashMap::new(),
            sets: HashMap::new(),
            shared: Shared::new(clock, watcher),
            busy: BTreeSet::new(),
            next: 0,
            has_missed_changes: false,
        };
        follower.shared.files_max = files_max;
        follower.newcomers.discovery.told = told;
        let directories: BTreeSet<&Path> = paths.iter().filter_map(|path| path.parent()).collect();
        directories.into_iter().for_each(|path| follower.shared.watch_directory(path));
        follower.begin(intake, paths);
        follower
    }

    /// Opens a source for each path. Those that another process has read come first, because they may go
    /// on with files that have other paths by now.
    fn begin(&mut self, intake: &dyn Intake, paths: &[PathBuf]) {
        let places = intake.restored_places();
        let sources: HashSet<Arc<str>> = places.iter().map(|it| it.source.clone()).collect();
        self.shared.restored = RestoredPlaces::new(places);
        let own = paths.iter().filter(|path| !self.is_rotated_away(path)).collect::<Vec<_>>();
        let is_restored = |path: &&PathBuf| sources.contains(&*path.to_string_lossy());
        let (restored, others): (Vec<_>, Vec<_>) = own.into_iter().partition(is_restored);
        let mut siblings = Siblings::default();
        for path in restored {
            self.add(intake, path, &mut siblings);
        }
        for path in others {
            // A copy may have been made while no process ran.
            let is_known =
                |it: &mut Self| it.has_all(path) || it.has_name_of_copy(path) && it.is_copy(path);
            if !self.newcomers.finds(path) || !is_known(self) {
                self.add(intake, path, &mut siblings);
            }
        }
    }

    /// Whether the file at a path has only lines that another process has read under the name of
    /// another source. If it grows, the search finds it.
    fn is_rotated_away(&mut self, path: &Path) -> bool {
        let Some(at) = FileAt::path(path) else { return false };
        let source = self.shared.recall_source(path, at.file);
        self.newcomers.finds(path)
            && source.is_some_and(|source| *source != *path.to_string_lossy())
            && self.shared.has_all(at)
    }

    /// Whether nothing of the file at a path has to be read.
    fn has_all(&self, path: &Path) -> bool {
        FileAt::path(path).is_some_and(|at| self.shared.has_all(at))
    }

    /// Returns how many paths are followed if so many files may be open. The others are those of
    /// rotated logs.
    pub fn paths_max(files_max: usize) -> usize {
        shared::paths_max(files_max)
    }

    /// Opens a source for a path. Returns its number.
    fn add(&mut self, intake: &dyn Intake, path: &Path, siblings: &mut Siblings) -> PathNumber {
        let options = SourceOptions::new(&path.to_string_lossy(), self.format.clone());
        let options = options.clock(self.shared.clock.clone());
        let number = self.next_number;
        self.next_number += 1;
        let writer = intake.open(options.watch_drift().keep());
        let mut followed = FollowedPath::new(number, path.to_owned(), writer);
        self.sets.entry(followed.rotated_set.clone()).or_default().insert(number);
        followed.resume(siblings, &mut self.shared);
        self.paths.insert(number, followed);
        self.numbers.insert(path.to_owned(), number);
        self.busy.insert(number);
        number
    }

    /// Follows the files until `ends` is set or no source accepts more. Passes notes to `report`,
    /// and returns the errors.
    pub fn run(
        self,
        intake: &dyn Intake,
        ends: &AtomicBool,
        report: impl Fn(Vec<Fault>) + Sync,
    ) -> Vec<Fault> {
        let format = self.format.clone();
        thread::scope(|scope| {
            let tables = TableReader::new(scope, intake, &format, &report);
            self.follow(intake, ends, &report, tables)
        })
    }

    fn follow(
        mut self,
        intake: &dyn Intake,
        ends: &AtomicBool,
        report: &impl Fn(Vec<Fault>),
        mut tables: TableReader<'_, '_>,
    ) -> Vec<Fault> {
        while !ends.load(Ordering::Relaxed) && self.is_running(intake) {
            let has_more = self.poll();
            // After the files at known paths are opened, so that other names of them are no news.
            let mut notes = self.discover(intake);
            tables.read(self.newcomers.take_tables());
            notes.extend(self.news());
            intake.reserve(self.paths.len() * Self::FILE_BYTES);
            if !notes.is_empty() {
                report(notes);
            }
            if !has_more {
                self.wait();
            }
        }
        self.end()
    }

    /// Waits until the next poll. Meanwhile reads the files that the system reports as changed; the
    /// next poll submits the lines.
    fn wait(&mut self) {
        let Some(watcher) = self.shared.watcher.clone() else {
            return self.shared.clock.sleep(Self::INTERVAL);
        };
        let end = self.shared.clock.elapsed() + Self::INTERVAL;
        for waits in 0.. {
            let left = end.saturating_sub(self.shared.clock.elapsed());
            if left.is_zero() {
                return;
            }
            let changes = watcher.wait(left);
            if changes.is_empty() || self.read(&changes) {
                return;
            }
            if waits > CHANGES_MAX {
                self.shared.clock.sleep(CHANGES_PAUSE);
            }
        }
    }

    /// Reads the files that have changed. Returns whether the next poll should not wait.
    fn read(&mut self, changes: &Changes) -> bool {
        self.has_missed_changes |= changes.are_incomplete;
        let written = changes.files.iter().filter_map(|file| self.shared.reader(*file));
        let appeared = changes.appeared.iter().filter_map(|path| self.numbers.get(path).copied());
        let numbers: BTreeSet<PathNumber> = written.chain(appeared).collect();
        if changes.appeared.iter().any(|path| !self.numbers.contains_key(path)) {
            self.newcomers.discovery.expect();
        }
        let mut has_more = self.has_missed_changes;
        for number in numbers {
            has_more |= self.visit(number, FollowedPath::read);
            self.busy.insert(number);
        }
        has_more
    }

    /// Reads the bytes that were appended since the last poll, up to a bound for each file, and
    /// submits whole lines once no more arrive. Returns whether there may be more at once.
    ///
    /// Of many quiet files some are polled, in turns.
    pub fn poll(&mut self) -> bool {
        let is_all = std::mem::take(&mut self.has_missed_changes);
        let polls_max = if is_all { usize::MAX } else { POLLS_MAX };
        let after = self.paths.range(self.next..).chain(self.paths.range(..self.next));
        let turn: Vec<PathNumber> = after.map(|(number, _)| *number).take(polls_max).collect();
        self.next = turn.last().map_or(0, |last| last + 1);
        let due: BTreeSet<PathNumber> =
            turn.into_iter().chain(std::mem::take(&mut self.busy)).collect();
        let mut has_more = false;
        self.forget_gone();
        for number in due {
            has_more |= self.visit(number, FollowedPath::poll);
            if self.paths.get(&number).is_some_and(|path| path.is_busy(&self.shared)) {
                self.busy.insert(number);
            }
        }
        has_more
    }

    /// Reads the files of a path. Returns whether there may be more at once.
    fn visit(
        &mut self,
        number: PathNumber,
        read: impl Fn(&mut FollowedPath, Option<FileIdentity>, &mut Shared) -> bool,
    ) -> bool {
        let Some(path) = self.paths.get_mut(&number).filter(|path| !path.is_stopped()) else {
            return false;
        };
        path.has_unread = false;
        let at = FileAt::path(&path.path);
        if let Some(at) = at {
            self.shared.recall(&path.path, at.file);
        }
        let here = at.filter(|at| self.may_read(number, *at)).map(|at| at.file);
        self.paths.get_mut(&number).is_some_and(|path| read(path, here, &mut self.shared))
    }

    /// Whether a path reads the file that is there now. A rotation moves files from path to path:
    /// each stays with the path that read it first.
    fn may_read(&mut self, number: PathNumber, at: FileAt) -> bool {
        if self.shared.reader(at.file) == Some(number) {
            return true;
        }
        let Some(path) = self.paths.get_mut(&number) else { return false };
        path.has_unread = !self.shared.has_all(at);
        if !path.has_unread {
            return false;
        }
        // A file that was there at first is read, whatever others have.
        if path.is_first(at.file) {
            return true;
        }
        let path = path.path.clone();
        if self.newcomers.finds(&path) && is_numbered(&path) {
            // It may be the copy of a log that is not known yet. The search finds both.
            self.newcomers.discovery.expect();
            return false;
        }
        !self.is_copy(&path)
    }

    /// Forgets files that are at no followed path, if no search does that.
    fn forget_gone(&mut self) {
        let known_max = 2 * self.paths.len() + KNOWN_SPARE;
        if self.newcomers.discovery.is_empty() && self.shared.known_count() > known_max {
            let paths = self.paths.values();
            let here: HashSet<FileIdentity> =
                paths.filter_map(|path| FileIdentity::at(&path.path)).collect();
            self.shared.retain_known(|file| here.contains(&file));
        }
    }

    /// Returns the notes about the sources since the last call.
    fn news(&self) -> impl Iterator<Item = Fault> {
        let news = |path: &FollowedPath| {
            Some(Fault::note(&path.path.to_string_lossy(), path.take_news()?))
        };
        self.paths.values().filter_map(news)
    }

    fn is_running(&self, intake: &dyn Intake) -> bool {
        let may_have_more = !self.newcomers.discovery.is_empty() && !intake.is_ended();
        may_have_more || self.paths.values().any(|path| !path.is_stopped() && !path.is_cancelled())
    }

    fn end(mut self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for path in std::mem::take(&mut self.paths).into_values() {
            let name = path.path.to_string_lossy().into_owned();
            let stopped = path.end(&mut self.shared);
            if let Some(reason) = stopped.filter(|reason| *reason != StopReason::Cancelled) {
                faults.push(Fault::new(&name, ReadError::Stopped(reason)));
            }
        }
        faults
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
    use std::time::Duration;

    use weir_core::FormatChoice;

    use super::change_watcher::ChangeWatcher;
    use super::{FollowOptions, Follower};
    use crate::clock::{Clock, ManualClock};
    use crate::pipeline::{DataSet, Pipeline, PipelineOptions, Retention};
    use crate::progress::SourceSnapshot;

    /// A followed file, with a clock that stands still.
    struct FollowedFile {
        path: PathBuf,
        file: File,
        follower: Follower,
        clock: Arc<ManualClock>,
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
            let options = FollowOptions::new().with_clock(clock.clone()).with_watcher(watcher);
            let mut follower = Follower::with(&pipeline, paths, &FormatChoice::Detect, options);
            while follower.poll() {}
            Self { path, file, follower, clock, pipeline, data }
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

    #[test]
    fn a_record_of_several_lines_waits_for_its_end() {
        let mut followed = FollowedFile::new("several-lines", None);
        let head = "2025/12/17 09:03:01 [error] 1#1: *5 FastCGI sent in stderr: \"a\n";
        let end = "b\" while reading upstream, client: 192.0.2.1, server: a\n";
        let parsed = |followed: &mut FollowedFile, text: &str| {
            followed.file.write_all(text.as_bytes()).expect("room");
            // The format is decided after a while.
            for _ in 0..3 {
                while followed.follower.poll() {}
                followed.clock.sleep(Duration::from_millis(101));
            }
            let source = followed.data.sources()[0].clone();
            while *source.parsed().borrow() < source.submitted() {
                std::thread::yield_now();
            }
            let snapshot = source.snapshot();
            (snapshot.lines, snapshot.records)
        };
        assert_eq!(parsed(&mut followed, &format!("{head}{end}")), (1, 1));
        assert_eq!(parsed(&mut followed, head), (1, 1), "it waits");
        assert_eq!(parsed(&mut followed, end), (2, 2));
        assert_eq!(parsed(&mut followed, head), (2, 2));
        followed.clock.sleep(Duration::from_secs(1));
        assert_eq!(parsed(&mut followed, ""), (3, 3), "not for ever");
        // What comes after that is a line of its own.
        assert_eq!(parsed(&mut followed, end), (4, 3));
        let source = followed.end();
        assert_eq!((source.lines, source.records), (4, 3));
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
