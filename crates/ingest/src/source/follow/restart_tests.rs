//! A followed folder whose process ends and starts again, while its files are rotated in every way,
//! against a count of what was written.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use flate2::write::GzEncoder;
use weir_core::FormatChoice;
use weir_store::StoredPlace;

use super::FileSet;
use super::folder_tests::{Folder, Random, SECOND, count, new_path};
use crate::pipeline::{DataSet, Retention};
use crate::progress::SourceProgress;
use crate::restored_place::path_of;
use crate::source::{Input, can_follow, read_inputs};
use crate::state::State;

/// A followed folder, of which the state is kept.
struct KeptFolder {
    folder: Folder,
    kept_at: PathBuf,
    state: Option<State>,
}

impl KeptFolder {
    fn new(name: &str) -> Self {
        Self::start(new_path(name), new_path("state"))
    }

    fn start(path: PathBuf, kept_at: PathBuf) -> Self {
        let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
        let fail = |error| panic!("{error}");
        let (state, notes) = State::open(&kept_at, data.clone(), fail).expect("a folder");
        assert_eq!(notes, [""; 0]);
        let set = FileSet::of(&path).expect("a folder");
        let place = |it: &StoredPlace| format!("{} of {}", it.position, path_of(it).display());
        let places = |it: &Arc<SourceProgress>| {
            let places: Vec<_> = it.restored_places().iter().map(place).collect();
            format!("{} has {places:?}", it.name())
        };
        let restored: Vec<_> = data.sources().iter().map(places).collect();
        let (files, _) = set.newest_files(usize::MAX);
        let (plain, packed): (Vec<_>, Vec<_>) = files.into_iter().partition(|it| can_follow(it));
        let mut folder = Folder::of_data(path, set, usize::MAX, (data, &plain));
        let packed: Vec<_> = packed.into_iter().map(|it| Input::File(it.into())).collect();
        assert_eq!(read_inputs(&folder.pipeline, &packed, &FormatChoice::Detect, 1).len(), 0);
        folder.note(format!("started: {restored:#?}"));
        Self { folder, kept_at, state: Some(state) }
    }

    /// Waits until all lines are read and counted. If some are not, the end of the test says which.
    fn read_all(&mut self) {
        self.folder.settle();
        let lines = || self.folder.data.sources().iter().map(|it| it.snapshot().lines).sum::<u64>();
        let start = Instant::now();
        while lines() < self.folder.written && start.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends the process as it is: what is not in the state is lost. Another one starts after `meanwhile`.
    fn restart(mut self, meanwhile: impl FnOnce(&mut Folder)) -> Self {
        drop(self.state.take());
        let lines = |it: &Arc<SourceProgress>| format!("{} {}", it.name(), it.snapshot().lines);
        let counted: Vec<_> = self.folder.data.sources().iter().map(lines).collect();
        self.folder.note(format!("killed; counted: {counted:?}"));
        meanwhile(&mut self.folder);
        let (path, written) = (self.folder.path.clone(), self.folder.written);
        let history = std::mem::take(&mut self.folder.history);
        drop(self.folder);
        let mut next = Self::start(path, self.kept_at);
        next.folder.written = written;
        next.folder.history.splice(0..0, history);
        next
    }

    /// Ends following, and checks that each line was read once. So does a process that starts then.
    fn end(mut self) -> Vec<(String, u64)> {
        for _ in 0..2 {
            self.read_all();
            self = self.restart(|_| ());
        }
        drop(self.state.take());
        fs::remove_dir_all(&self.kept_at).expect("it is there");
        self.folder.end()
    }
}

fn truncate(folder: &Folder, name: &str) {
    let log = OpenOptions::new().write(true).truncate(true).open(folder.at(name));
    drop(log.expect("the log"));
}

fn rename(folder: &Folder, from: &str, to: &str) {
    fs::rename(folder.at(from), folder.at(to)).expect("a rotation");
}

/// Lets a file be one that nothing more is expected of.
fn age(folder: &Folder, name: &str) {
    let time = SystemTime::now() - Duration::from_secs(3_600);
    File::options()
        .write(true)
        .open(folder.at(name))
        .and_then(|it| it.set_modified(time))
        .expect("it");
}

#[test]
fn a_log_that_was_renamed_while_it_was_followed_is_known_by_its_new_name() {
    for is_closed in [false, true] {
        let mut kept = KeptFolder::new("renamed");
        kept.folder.append("access.log", 3);
        kept.read_all();
        rename(&kept.folder, "access.log", "access.log-20251217");
        kept.folder.append("access.log", 2);
        kept.read_all();
        if is_closed {
            kept.folder.step(Duration::from_secs(70));
            kept.folder.settle();
            rename(&kept.folder, "access.log-20251217", "access.log-20251217.old");
            age(&kept.folder, "access.log-20251217.old");
        }
        let mut kept = kept.restart(|_| ());
        kept.folder.append("access.log", 4);
        let sources = kept.end();
        assert_eq!(count(&sources, "access.log"), [9], "{sources:?}");
        assert_eq!(sources.len(), 1, "{sources:?}");
    }
}

#[test]
fn what_a_copy_has_that_was_made_while_no_process_ran_is_read() {
    let mut kept = KeptFolder::new("copied-down");
    kept.folder.append("access.log", 30);
    kept.read_all();
    let mut kept = kept.restart(|folder| {
        folder.append("access.log", 2);
        fs::copy(folder.at("access.log"), folder.at("access.log.1")).expect("a copy");
        truncate(folder, "access.log");
        folder.append("access.log", 40);
    });
    kept.folder.append("access.log", 1);
    let sources = kept.end();
    assert_eq!(count(&sources, "access.log"), [73], "{sources:?}");
    assert_eq!(sources.len(), 1, "{sources:?}");
}

#[test]
fn of_two_copies_that_were_made_while_no_process_ran_the_longer_one_is_read() {
    for (first, second) in [("access.log.1", "access.log.2"), ("access.log.2", "access.log.1")] {
        let mut kept = KeptFolder::new("copied-twice");
        kept.folder.append("access.log", 30);
        kept.read_all();
        let mut kept = kept.restart(|folder| {
            folder.append("access.log", 2);
            fs::copy(folder.at("access.log"), folder.at(first)).expect("a copy");
            folder.append("access.log", 3);
            fs::copy(folder.at("access.log"), folder.at(second)).expect("a copy");
            truncate(folder, "access.log");
            folder.append("access.log", 40);
        });
        kept.folder.append("access.log", 1);
        let sources = kept.end();
        assert_eq!(count(&sources, "access.log"), [76], "{sources:?}");
        assert_eq!(sources.len(), 1, "{sources:?}");
    }
}

#[test]
fn a_copy_that_was_made_while_no_process_ran_of_a_log_that_goes_on_is_known() {
    for copied in [0, 2] {
        let mut kept = KeptFolder::new("copied-aside");
        kept.folder.append("access.log", 30);
        kept.read_all();
        let mut kept = kept.restart(|folder| {
            folder.append("access.log", copied);
            fs::copy(folder.at("access.log"), folder.at("access.log.1")).expect("a copy");
            folder.append("access.log", 4);
        });
        kept.folder.append("access.log", 1);
        let sources = kept.end();
        assert_eq!(count(&sources, "access.log"), [35 + copied], "{sources:?}");
        assert_eq!(sources.len(), 1, "{sources:?}");
    }
}

#[test]
fn a_copy_that_was_made_while_it_was_followed_is_known() {
    for is_seen in [false, true] {
        let mut kept = KeptFolder::new("copied-up");
        kept.folder.append("access.log", 30);
        kept.read_all();
        kept.folder.append("access.log", 2);
        fs::copy(kept.folder.at("access.log"), kept.folder.at("access.log.1")).expect("a copy");
        if is_seen {
            kept.folder.settle();
        }
        truncate(&kept.folder, "access.log");
        kept.folder.append("access.log", 5);
        if is_seen {
            kept.folder.settle();
        } else {
            // The log alone.
            while kept.folder.follower.poll() {}
        }
        // A line that was in the copy alone is not counted yet.
        let lines = || kept.folder.data.sources().iter().map(|it| it.snapshot().lines).sum::<u64>();
        while lines() < 35 {
            kept.folder.follower.poll();
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut kept = kept.restart(|_| ());
        kept.folder.append("access.log", 1);
        let sources = kept.end();
        assert_eq!(count(&sources, "access.log"), [38], "{sources:?}");
    }
}

#[test]
fn a_rotated_log_without_a_new_file_is_known() {
    for late in [0, 2] {
        let mut kept = KeptFolder::new("no-new-file");
        kept.folder.append("access.log", 3);
        kept.read_all();
        let mut kept = kept.restart(|folder| {
            rename(folder, "access.log", "access.log.1");
            folder.append("access.log.1", late);
            if late == 0 {
                age(folder, "access.log.1");
            }
        });
        kept.folder.settle();
        kept.folder.append("access.log", 4);
        kept.read_all();
        let sources = kept.end();
        assert_eq!(count(&sources, "access.log"), [7], "{sources:?}");
    }
}

#[test]
fn a_source_that_began_again_goes_on_with_its_last_file() {
    let mut kept = KeptFolder::new("again");
    kept.folder.append("a.log", 3);
    kept.folder.append("b.log", 3);
    kept.read_all();
    fs::remove_file(kept.folder.at("a.log")).expect("it is there");
    for wait in [1, 61, 2, 11] {
        kept.folder.step(Duration::from_secs(wait));
    }
    kept.folder.append("a.log", 2);
    kept.read_all();
    let mut kept = kept.restart(|_| ());
    kept.folder.append("a.log", 1);
    assert_eq!(count(&kept.end(), "a.log"), [3, 3]);
}

/// Compresses a file, and removes it.
fn pack(path: &Path, extension: &str) {
    let text = fs::read(path).expect("it is there");
    let packed = match extension {
        "gz" => {
            let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(&text).expect("memory");
            encoder.finish().expect("memory")
        }
        _ => zstd::encode_all(&text[..], 1).expect("memory"),
    };
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{extension}"));
    fs::write(name, packed).expect("room");
    fs::remove_file(path).expect("it is there");
}

#[test]
fn a_log_that_was_compressed_is_not_read_again() {
    for (extension, late, is_copied) in
        [("gz", 0, false), ("zst", 0, false), ("gz", 3, false), ("zst", 3, true), ("gz", 3, true)]
    {
        let mut kept = KeptFolder::new("compressed");
        kept.folder.append("access.log", 5_000);
        kept.read_all();
        let mut kept = kept.restart(|folder| {
            folder.append("access.log", late);
            if is_copied {
                fs::copy(folder.at("access.log"), folder.at("access.log.1")).expect("a copy");
                truncate(folder, "access.log");
            } else {
                rename(folder, "access.log", "access.log.1");
            }
            pack(&folder.at("access.log.1"), extension);
            // Nobody has read this one.
            folder.append("access.log.2", 7);
            pack(&folder.at("access.log.2"), extension);
            folder.append("access.log", 4);
        });
        kept.folder.append("access.log", 1);
        let sources = kept.end();
        assert_eq!(count(&sources, "access.log"), [5_005], "{sources:?}");
        let rest: &[u64] = if late == 0 { &[] } else { &[late] };
        assert_eq!(count(&sources, &format!("access.log.1.{extension}")), rest, "{sources:?}");
        assert_eq!(count(&sources, &format!("access.log.2.{extension}")), [7], "{sources:?}");
    }
}

#[test]
fn a_log_that_begins_like_another_is_read() {
    let mut kept = KeptFolder::new("alike");
    kept.folder.append("a.log", 1);
    kept.read_all();
    let mut kept = kept.restart(|folder| {
        let first = fs::read(folder.at("a.log")).expect("a line");
        folder.open("a-2.log").write_all(&first).expect("room");
        folder.written += 1;
        folder.append("a-2.log", 7);
    });
    kept.read_all();
    let lines = |name: &str| {
        let sources = kept.folder.data.sources();
        sources.iter().find(|it| it.name().ends_with(name)).map(|it| it.snapshot().lines)
    };
    assert_eq!((lines("a.log"), lines("a-2.log")), (Some(1), Some(8)));
}

/// Appends lines of a W3C log, whose fields only its first line names.
fn append_w3c(folder: &mut Folder, name: &str, lines: u64) {
    let mut text = String::new();
    if !folder.at(name).exists() {
        text += "#Fields: date time c-ip cs-method cs-uri-stem sc-status\n";
    }
    for number in folder.written..folder.written + lines {
        text += &format!("2025-12-17 09:00:00 192.0.2.1 GET /{number} 200\n");
    }
    folder.open(name).write_all(text.as_bytes()).expect("room");
    folder.written += lines;
}

#[test]
fn the_rest_of_a_log_has_the_fields_of_its_header() {
    let mut kept = KeptFolder::new("header");
    append_w3c(&mut kept.folder, "access.log", 2_000);
    kept.read_all();
    let mut kept = kept.restart(|folder| append_w3c(folder, "access.log", 20));
    kept.read_all();
    let log = &kept.folder.data.sources()[0];
    assert_eq!((log.snapshot().records, log.snapshot().unparsed_lines), (2_020, 0));
    let mut kept = kept.restart(|folder| {
        append_w3c(folder, "access.log", 30);
        rename(folder, "access.log", "access.log.1");
        pack(&folder.at("access.log.1"), "gz");
    });
    kept.read_all();
    let sources = kept.folder.data.sources();
    let rest = sources.iter().find(|it| it.name().ends_with(".gz")).expect("it was read");
    assert_eq!((rest.snapshot().records, rest.snapshot().unparsed_lines), (30, 0));
    let records: u64 = sources.iter().map(|it| it.snapshot().records).sum();
    assert_eq!(records, 2_050);
}

#[test]
fn a_header_without_records_names_the_fields_of_later_lines() {
    let mut kept = KeptFolder::new("only-header");
    append_w3c(&mut kept.folder, "site.log", 0);
    append_w3c(&mut kept.folder, "other.log", 3);
    kept.folder.step(SECOND);
    kept.read_all();
    // Another order of the fields, of which no record is there yet.
    let reordered = "#Fields: cs-method date time cs-uri-stem c-ip sc-status\n";
    kept.folder.open("other.log").write_all(reordered.as_bytes()).expect("room");
    kept.folder.step(SECOND);
    kept.read_all();
    let mut kept = kept.restart(|folder| {
        append_w3c(folder, "site.log", 20);
        // It begins with the same header, and is no copy.
        append_w3c(folder, "site.log.1", 7);
        let line = "GET 2025-12-17 09:00:00 /later 192.0.2.9 404\n";
        folder.open("other.log").write_all(line.as_bytes()).expect("room");
        folder.written += 1;
    });
    kept.read_all();
    let of = |name: &str| {
        let sources = kept.folder.data.sources();
        let log = sources.iter().find(|it| it.name().ends_with(name)).expect("it was read");
        (log.snapshot().records, log.snapshot().unparsed_lines)
    };
    assert_eq!([of("site.log"), of("site.log.1"), of("other.log")], [(20, 0), (7, 0), (4, 0)]);
}

/// A log whose writer keeps its file open.
struct Log {
    name: String,
    file: File,
    /// The number of old files.
    rotated: u64,
    is_dated: bool,
}

impl Log {
    /// The name of the next old file. The others are renamed if need be.
    fn old_name(&mut self, folder: &Folder) -> PathBuf {
        self.rotated += 1;
        if self.is_dated {
            return folder.at(&format!("{}-2025{:04}", self.name, 1_000 + self.rotated));
        }
        for number in (1..self.rotated).rev() {
            let at = |number| folder.at(&format!("{}.{number}", self.name));
            fs::rename(at(number), at(number + 1)).expect("a rotation");
        }
        folder.at(&format!("{}.1", self.name))
    }

    /// Compresses the old file that was made before the last one.
    fn compress(&self, folder: &mut Folder) {
        let old = folder.at(&format!("{}-2025{:04}", self.name, 999 + self.rotated));
        if self.is_dated && old.exists() {
            folder.note(format!("compress {}", old.display()));
            pack(&old, "gz");
        }
    }

    /// Changes the log. `step` lets time pass.
    fn change(&mut self, folder: &mut Folder, random: &mut Random, step: fn(&mut Folder, u64)) {
        let path = folder.at(&self.name);
        folder.note(format!("change {}", self.name));
        match random.below(8) {
            0 => {
                let old = self.old_name(folder);
                folder.note(format!("rename to {}", old.display()));
                fs::rename(&path, &old).expect("a rotation");
                // The writer opens the new file late.
                folder.write(&mut self.file, random.below(3));
                step(folder, random.below(2_000));
                folder.write(&mut self.file, random.below(3));
                self.file = folder.open(&self.name);
            }
            1 => {
                folder.write(&mut self.file, random.below(3));
                let old = self.old_name(folder);
                folder.note(format!("copy to {}", old.display()));
                fs::copy(&path, &old).expect("a copy");
                step(folder, random.below(2_000));
                folder.note(format!("truncate {}", self.name));
                self.file.set_len(0).expect("it can be truncated");
                step(folder, random.below(2_000));
            }
            _ => folder.write(&mut self.file, 1 + random.below(5)),
        }
    }
}

fn wait(folder: &mut Folder, time_ms: u64) {
    if time_ms.is_multiple_of(2) {
        folder.step(Duration::from_millis(time_ms));
    }
}

#[test]
fn restarts_at_random_moments_neither_lose_nor_double_lines() {
    let number = |name: &str| std::env::var(name).ok().and_then(|it| it.parse().ok());
    let (first, seeds) = (number("WEIR_SEED").unwrap_or(0), number("WEIR_SEEDS").unwrap_or(20));
    for seed in first..first + seeds {
        let mut random = Random(seed);
        let mut kept = KeptFolder::new("restarts");
        let mut logs: Vec<Log> = Vec::new();
        for _ in 0..40 {
            if logs.is_empty() || random.below(15) == 0 {
                let name = format!("host{}x.log", logs.len());
                let mut file = kept.folder.open(&name);
                kept.folder.write(&mut file, random.below(3));
                logs.push(Log { name, file, rotated: 0, is_dated: random.below(2) == 0 });
            }
            let at = random.below(logs.len() as u64) as usize;
            logs[at].change(&mut kept.folder, &mut random, wait);
            match random.below(10) {
                0 => {
                    kept.folder.step(SECOND);
                    kept.folder.step(Duration::from_secs(61));
                }
                1 => {}
                2 | 3 => {
                    kept = kept.restart(|folder| {
                        for _ in 0..random.below(4) {
                            let at = random.below(logs.len() as u64) as usize;
                            logs[at].change(folder, &mut random, |_, _| ());
                        }
                        if random.below(3) == 0 {
                            logs[0].compress(folder);
                        }
                    });
                }
                _ => kept.folder.step(Duration::from_millis(random.below(1_500))),
            }
        }
        println!("seed {seed}");
        kept.end();
    }
}
