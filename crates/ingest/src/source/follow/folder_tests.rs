//! Folders in which files appear, are rotated in every way, and vanish, against a count of what was
//! written.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use weir_core::{Field, FormatChoice, Selection};

use super::{FileSet, FollowOptions, Follower};
use crate::clock::{Clock, ManualClock};
use crate::pipeline::{DataSet, Pipeline, PipelineOptions, Retention};

/// A followed folder, with a clock that only the test moves.
pub(super) struct Folder {
    pub(super) path: PathBuf,
    clock: Arc<ManualClock>,
    pub(super) pipeline: Pipeline,
    pub(super) data: Arc<DataSet>,
    pub(super) follower: Follower,
    /// Lines written so far; each has a path of its own.
    pub(super) written: u64,
    notes: Vec<String>,
    /// What has happened, for the message of a test that fails.
    pub(super) history: Vec<String>,
}

pub(super) fn new_path(name: &str) -> PathBuf {
    static FOLDERS: AtomicU64 = AtomicU64::new(0);
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let name = format!("weir-folder-{name}-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    fs::create_dir_all(&path).expect("a folder");
    path
}

impl Folder {
    fn new(name: &str) -> Self {
        let path = new_path(name);
        let set = FileSet::of(&path).expect("a folder");
        Self::with(path, set, usize::MAX)
    }

    fn with(path: PathBuf, set: FileSet, files_max: usize) -> Self {
        let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
        Self::of_data(path, set, files_max, (data, &[]))
    }

    /// Follows the files of a set, of which those at some paths are there at the start.
    pub(super) fn of_data(
        path: PathBuf,
        set: FileSet,
        files_max: usize,
        (data, paths): (Arc<DataSet>, &[PathBuf]),
    ) -> Self {
        let clock = Arc::new(ManualClock::default());
        let pipeline = Pipeline::start(&PipelineOptions::new(1, Retention::Segments), data.clone());
        let options = FollowOptions::new()
            .with_clock(clock.clone())
            .with_sets(vec![set], HashSet::new())
            .with_files_max(files_max);
        let follower = Follower::with(&pipeline, paths, &FormatChoice::Detect, options);
        Self {
            path,
            clock,
            pipeline,
            data,
            follower,
            written: 0,
            notes: Vec::new(),
            history: Vec::new(),
        }
    }

    /// Notes what happens.
    pub(super) fn note(&mut self, event: String) {
        self.history.push(event);
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(super) fn open(&self, name: &str) -> File {
        OpenOptions::new().create(true).append(true).open(self.at(name)).expect("a file")
    }

    pub(super) fn write(&mut self, file: &mut File, lines: u64) {
        let numbers = self.written..self.written + lines;
        let line = |number| {
            format!("192.0.2.1 - - [17/Dec/2025:09:00:00 +0000] \"GET /{number} HTTP/1.1\" 200 1\n")
        };
        self.history.push(format!("write {numbers:?}"));
        file.write_all(numbers.map(line).collect::<String>().as_bytes()).expect("room");
        self.written += lines;
    }

    pub(super) fn append(&mut self, name: &str, lines: u64) {
        let mut file = self.open(name);
        self.write(&mut file, lines);
    }

    /// Searches if it is time, and polls until there is no more.
    pub(super) fn step(&mut self, after: Duration) {
        self.history.push(format!("step {after:?}"));
        self.clock.sleep(after);
        while self.follower.poll() {}
        let notes = self.follower.discover(&self.pipeline);
        self.notes.extend(notes.iter().map(ToString::to_string));
        while self.follower.poll() {}
    }

    /// Waits until all files are found and read.
    pub(super) fn settle(&mut self) {
        for _ in 0..4 {
            self.step(Duration::from_millis(1_100));
        }
    }

    /// Ends following. Checks that each line was read once, and returns the names of the sources
    /// with their numbers of lines.
    pub(super) fn end(mut self) -> Vec<(String, u64)> {
        self.settle();
        assert!(self.follower.end().is_empty());
        self.pipeline.finish();
        let sources = self.data.sources();
        let name = |path: &str| Path::new(path).file_name().expect("one").to_string_lossy().into();
        let counts: Vec<(String, u64)> =
            sources.iter().map(|source| (name(source.name()), source.snapshot().lines)).collect();
        let lines: u64 = counts.iter().map(|(_, lines)| lines).sum();
        let wrong = wrong_lines(&self.data, self.written);
        assert!(wrong.is_empty(), "{wrong:?}: {counts:?} after {:#?}", self.history);
        assert_eq!(lines, self.written, "{counts:?}");
        fs::remove_dir_all(&self.path).expect("it is there");
        counts
    }
}

/// The lines that were not read once, each with the names of the sources that have it.
fn wrong_lines(data: &DataSet, written: u64) -> BTreeMap<u64, Vec<String>> {
    let mut readers: BTreeMap<u64, Vec<String>> =
        (0..written).map(|number| (number, Vec::new())).collect();
    let (names, values) = (data.sources(), data.values());
    let dictionary = values.dictionary(Field::Path.column());
    for segment in data.segments().iter().map(|it| &it.segment) {
        let name = names.iter().find(|it| it.number() == segment.source()).expect("one").name();
        let columns = segment.text_columns().filter(|(id, _)| *id == Field::Path.column());
        for (_, codes) in columns {
            codes.for_each(&Selection::All(segment.rows()), |id| {
                let path = dictionary.value(id as u32).and_then(|it| str::from_utf8(it).ok());
                let number = path.and_then(|it| it.strip_prefix('/')?.parse().ok());
                readers.entry(number.expect("a number")).or_default().push(name.to_owned());
            });
        }
    }
    readers.retain(|_, names| names.len() != 1);
    readers
}

pub(super) fn count(sources: &[(String, u64)], name: &str) -> Vec<u64> {
    sources.iter().filter(|(source, _)| source == name).map(|(_, lines)| *lines).collect()
}

pub(super) const SECOND: Duration = Duration::from_millis(1_100);

#[test]
fn files_that_appear_are_read_and_said() {
    let mut folder = Folder::new("appear");
    folder.append("access.2026-11-25.log", 3);
    folder.settle();
    folder.append("access.2026-11-26.log", 2);
    fs::create_dir(folder.at("shop")).expect("a folder");
    folder.append("shop/access.log", 4);
    folder.append(".hidden", 0);
    fs::write(folder.at("core"), [0x7f, 1, 2, 3, 0, 0, 0, 5, 6]).expect("room");
    fs::write(folder.at("old.gz"), [0x1f, 0x8b, 8, 0, 0, 0, 0, 0]).expect("room");
    for _ in 0..10 {
        folder.settle();
    }
    let said = folder.notes.join("\n");
    assert!(said.contains("access.2026-11-26.log: has appeared and is followed"), "{said}");
    assert_eq!(said.lines().count(), 3, "{said}");
    folder.append("shop/access.log", 1);
    let sources = folder.end();
    assert_eq!(sources.len(), 3, "{sources:?}");
    assert_eq!(count(&sources, "access.log"), [5]);
}

#[test]
fn a_vanished_file_ends_its_source_and_is_said() {
    let mut folder = Folder::new("vanish");
    folder.append("a.log", 3);
    folder.append("b.log", 3);
    folder.settle();
    fs::remove_file(folder.at("a.log")).expect("it is there");
    folder.step(SECOND);
    assert_eq!(folder.follower.paths.len(), 2, "its writer may have it open");
    folder.step(Duration::from_secs(61));
    folder.step(SECOND);
    folder.step(Duration::from_secs(11));
    assert_eq!(folder.follower.paths.len(), 1);
    assert!(folder.notes.iter().any(|note| note.contains("a.log: is gone")), "{:?}", folder.notes);
    while folder.data.sources()[0].end().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    // Another file with the same name is a source of its own.
    folder.append("a.log", 2);
    let sources = folder.end();
    assert_eq!(count(&sources, "a.log"), [3, 2]);
}

#[test]
fn a_renamed_log_is_not_read_twice_even_long_after() {
    let mut folder = Folder::new("rename");
    folder.append("access.log", 3);
    folder.settle();
    fs::rename(folder.at("access.log"), folder.at("access.log.1")).expect("a rotation");
    folder.append("access.log", 2);
    folder.settle();
    folder.step(Duration::from_secs(70));
    folder.settle();
    // A writer that has kept the old file open for that long.
    folder.append("access.log.1", 1);
    folder.settle();
    fs::rename(folder.at("access.log.1"), folder.at("access.log.2")).expect("a rotation");
    let sources = folder.end();
    assert_eq!(count(&sources, "access.log"), [5]);
    assert_eq!(count(&sources, "access.log.1"), [1]);
    assert_eq!(sources.len(), 2);
}

#[test]
fn what_copytruncate_would_lose_is_read_from_the_copy() {
    let mut folder = Folder::new("copytruncate");
    folder.append("access.log", 3);
    folder.settle();
    // Written after the last poll.
    folder.append("access.log", 2);
    fs::copy(folder.at("access.log"), folder.at("access.log.1")).expect("a copy");
    OpenOptions::new().write(true).truncate(true).open(folder.at("access.log")).expect("the log");
    folder.settle();
    folder.append("access.log", 4);
    let sources = folder.end();
    assert_eq!(sources.len(), 1, "{sources:?}");
}

#[test]
fn a_copy_is_told_from_a_log_that_begins_with_the_same_lines() {
    let mut folder = Folder::new("alike");
    let same = "192.0.2.1 - - [17/Dec/2025:09:00:00 +0000] \"GET /same HTTP/1.1\" 200 1\n";
    for name in ["shop.log", "shop-2.log"] {
        folder.open(name).write_all(same.repeat(3).as_bytes()).expect("room");
        folder.settle();
    }
    assert_eq!(folder.data.sources().len(), 1, "so far it is a copy");
    folder.append("shop.log", 3);
    folder.append("shop-2.log", 2);
    folder.settle();
    assert_eq!(folder.data.sources().len(), 2);
    let (data, path) = (folder.data.clone(), folder.path.clone());
    assert!(folder.follower.end().is_empty());
    folder.pipeline.finish();
    let lines: u64 = data.sources().iter().map(|source| source.snapshot().lines).sum();
    assert_eq!(lines, 11);
    fs::remove_dir_all(path).expect("it is there");
}

/// Of two days whose lines differ in the middle alone, each is a log.
#[test]
fn the_log_of_another_day_is_no_copy() {
    for names in
        [["app-2025-11-27.log", "app-2025-11-28.log"], ["access.log", "access.log.20251128"]]
    {
        let mut folder = Folder::new("days");
        for (day, name) in (27..).zip(names) {
            let line = |number: u32| {
                let (minute, second) = (number / 60, number % 60);
                format!(
                    "{{\"remote_addr\":\"192.0.2.1\",\"request\":\"GET /health HTTP/1.1\",\"host\":\
                     \"www.example.com\",\"time\":\"2025-11-{day}T10:{minute:02}:{second:02}Z\",\"status\":200,\
                     \"body_bytes_sent\":15,\"http_user_agent\":\"ELB-HealthChecker/2.0\",\"http_referer\":\"-\"}}\n"
                )
            };
            for part in 0..5 {
                let lines: String = (part * 10..part * 10 + 10).map(line).collect();
                folder.open(name).write_all(lines.as_bytes()).expect("room");
                folder.step(SECOND);
            }
        }
        folder.settle();
        let (data, path) = (folder.data.clone(), folder.path.clone());
        assert!(folder.follower.end().is_empty());
        folder.pipeline.finish();
        let lines: Vec<u64> = data.sources().iter().map(|source| source.snapshot().lines).collect();
        assert_eq!(lines, [50, 50], "{names:?}");
        fs::remove_dir_all(path).expect("it is there");
    }
}

/// The log was not truncated, so what its copy has more is nowhere else.
#[test]
fn what_a_copy_has_beyond_its_log_is_read() {
    let mut folder = Folder::new("beyond");
    folder.append("app.log", 3);
    folder.settle();
    fs::copy(folder.at("app.log"), folder.at("app.log.1")).expect("a copy");
    folder.settle();
    folder.append("app.log.1", 2);
    folder.settle();
    folder.append("app.log.1", 2);
    folder.end();
}

#[test]
fn a_file_that_is_being_packed_is_not_read() {
    let mut folder = Folder::new("packed");
    folder.append("access.log", 3);
    let mut packed = ["backup.tgz", "backup.part"].map(|name| folder.open(name));
    folder.settle();
    for file in &mut packed {
        file.write_all(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, b'\n', 1, 2]).expect("room");
    }
    folder.settle();
    let sources = folder.end();
    assert!(count(&sources, "backup.tgz").is_empty());
    assert_eq!(count(&sources, "backup.part"), [0]);
}

#[test]
fn a_table_is_read_once_when_its_writer_has_finished() {
    let mut folder = Folder::new("tables");
    folder.append("access.log", 3);
    let mut table = folder.open("old.parquet");
    for piece in ["", "PAR1", "rows, in as many pieces as their writer likes", "PAR"] {
        table.write_all(piece.as_bytes()).expect("room");
        folder.settle();
        assert!(folder.follower.newcomers.take_tables().is_empty(), "after {piece}");
    }
    table.write_all(b"1").expect("room");
    folder.settle();
    assert_eq!(folder.follower.newcomers.take_tables(), [folder.at("old.parquet")]);
    folder.settle();
    fs::rename(folder.at("old.parquet"), folder.at("older.parquet")).expect("a name");
    folder.settle();
    assert!(folder.follower.newcomers.take_tables().is_empty());
    assert_eq!(folder.end().len(), 1);
}

#[test]
fn links_and_loops_lead_to_each_file_once() {
    let mut folder = Folder::new("links");
    folder.append("access.2026-11-26.log", 2);
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(folder.at("access.2026-11-26.log"), folder.at("current")).expect("a link");
        symlink(&folder.path, folder.at("loop")).expect("a link");
        symlink(folder.at("missing"), folder.at("dangling")).expect("a link");
    }
    folder.settle();
    assert_eq!(folder.end().len(), 1);
}

#[test]
fn a_pattern_takes_the_files_that_match() {
    let path = new_path("pattern");
    let set = FileSet::of(&path.join("*/acc*.log")).expect("a pattern");
    let mut folder = Folder::with(path, set, usize::MAX);
    folder.settle();
    fs::create_dir(folder.at("one")).expect("a folder");
    folder.append("one/access.log", 2);
    folder.settle();
    fs::write(folder.at("one/error.log"), "other\n").expect("room");
    fs::write(folder.at("access.log"), "other\n").expect("room");
    let sources = folder.end();
    assert_eq!(count(&sources, "access.log"), [2]);
    assert_eq!(sources.len(), 1);
}

#[test]
fn the_most_recently_written_files_are_followed_if_there_are_too_many() {
    let path = new_path("many");
    let set = FileSet::of(&path).expect("a folder");
    let mut folder = Folder::with(path, set, 4);
    let name = |number: u64| format!("site{number}x.log");
    let write = |folder: &mut Folder, number: u64, second: u64| {
        let mut file = folder.open(&name(number));
        folder.write(&mut file, 1);
        let time = std::time::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + 100 * second);
        file.set_modified(time).expect("a time");
    };
    (0..10).for_each(|number| write(&mut folder, number, number));
    folder.settle();
    assert_eq!(folder.follower.paths.len(), 4);
    assert!(folder.follower.numbers.contains_key(&folder.at(&name(9))));
    let said = folder.notes.join("\n");
    assert!(said.contains("nor are 5 others: at most 4 files are"), "{said}");
    // The one that was written first grows, and then each of the others.
    for (second, number) in (100..).zip([0, 1, 2, 3, 4, 5, 9, 0]) {
        write(&mut folder, number, second);
        folder.settle();
        assert!(folder.follower.numbers.contains_key(&folder.at(&name(number))), "{number}");
        assert!(folder.follower.paths.len() <= 4);
    }
    folder.end();
}

/// Random numbers from a seed.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

#[test]
fn a_table_that_is_written_anew_is_said_and_not_read_again() {
    let mut folder = Folder::new("rewritten");
    let table = |rows: usize| format!("PAR1{}PAR1", "row".repeat(rows));
    let taken = |folder: &mut Folder| {
        folder.settle();
        folder.follower.newcomers.take_tables()
    };
    let (today, yesterday) = (folder.at("today.parquet"), folder.at("yesterday.parquet"));
    fs::write(&today, table(1)).expect("room");
    assert_eq!(taken(&mut folder), std::slice::from_ref(&today));
    // The day is over: both names have a table of their own.
    fs::rename(&today, &yesterday).expect("a name");
    fs::write(&today, table(1)).expect("room");
    assert_eq!(taken(&mut folder), std::slice::from_ref(&today));
    folder.step(Duration::from_secs(11));
    assert!(!folder.notes.iter().any(|note| note.contains("anew")), "{:?}", folder.notes);
    // In place.
    fs::write(&yesterday, table(2)).expect("room");
    assert!(taken(&mut folder).is_empty());
    // By another file.
    fs::write(folder.at(".next"), table(3)).expect("room");
    fs::rename(folder.at(".next"), &today).expect("a name");
    assert!(taken(&mut folder).is_empty());
    // Messages are apart.
    folder.step(Duration::from_secs(11));
    for path in [&today, &yesterday] {
        let told = format!("{}: was written anew after it was read", path.display());
        let notes = folder.notes.iter().filter(|note| note.starts_with(&told));
        assert_eq!(notes.count(), 1, "{:?}", folder.notes);
    }
    folder.end();
}

/// A log whose writer keeps its file open.
struct Log {
    name: String,
    file: File,
    /// The number of old files.
    rotated: u64,
}

impl Log {
    /// Renames the old files, so that the name with `.1` is free.
    fn shift(&mut self, folder: &Folder) {
        for number in (1..=self.rotated).rev() {
            let at = |number| folder.at(&format!("{}.{number}", self.name));
            fs::rename(at(number), at(number + 1)).expect("a rotation");
        }
        self.rotated += 1;
    }

    fn change(&mut self, folder: &mut Folder, random: &mut Random) {
        let first_old = folder.at(&format!("{}.1", self.name));
        let path = folder.at(&self.name);
        match random.below(6) {
            0 => {
                self.shift(folder);
                fs::rename(&path, &first_old).expect("a rotation");
                // The writer opens the new file late.
                folder.write(&mut self.file, random.below(3));
                if random.below(2) == 0 {
                    folder.step(Duration::from_millis(random.below(2_000)));
                }
                folder.write(&mut self.file, random.below(3));
                self.file = folder.open(&self.name);
            }
            1 => {
                folder.write(&mut self.file, random.below(3));
                self.shift(folder);
                fs::copy(&path, &first_old).expect("a copy");
                if random.below(2) == 0 {
                    folder.step(SECOND);
                }
                self.file.set_len(0).expect("it can be truncated");
                folder.step(Duration::from_millis(random.below(2_000)));
            }
            2 => {
                folder.settle();
                fs::remove_file(&path).expect("it is there");
                folder.write(&mut self.file, random.below(3));
                self.file = folder.open(&self.name);
            }
            _ => folder.write(&mut self.file, 1 + random.below(5)),
        }
    }
}

#[test]
fn rotations_at_random_moments_neither_lose_nor_double_lines() {
    let seeds: u64 = std::env::var("WEIR_SEEDS").ok().and_then(|it| it.parse().ok()).unwrap_or(40);
    for seed in 0..seeds {
        let mut random = Random(seed);
        let mut folder = Folder::new("random");
        let mut logs = Vec::new();
        for _ in 0..40 {
            if logs.is_empty() || random.below(12) == 0 {
                let name = format!("host{}x.log", logs.len());
                let mut file = folder.open(&name);
                folder.write(&mut file, random.below(3));
                logs.push(Log { name, file, rotated: 0 });
            }
            let at = random.below(logs.len() as u64) as usize;
            logs[at].change(&mut folder, &mut random);
            match random.below(8) {
                0 => {
                    // There is a search before files are closed.
                    folder.step(SECOND);
                    folder.step(Duration::from_secs(61));
                }
                1 | 2 => {}
                _ => folder.step(Duration::from_millis(random.below(1_500))),
            }
        }
        let sources = folder.end();
        assert!(sources.len() < 400, "{seed}");
    }
}
