//! `--state` with a followed folder, in which logs are rotated while the process runs, and while it does
//! not.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use flate2::write::GzEncoder;
use serde_json::Value;

use crate::state::wait_for_state;
use crate::support::{Folder, Served, page, report, text, weir};

/// A step of a test fails after this time. It allows for a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// The time in which a file that should not be read would be found. A search comes every second.
const SEARCH: Duration = Duration::from_millis(1_500);

/// A folder with a log, whose lines are all different.
struct Logs {
    folder: Folder,
    file: File,
    lines: u64,
    /// The number of old files.
    rotated: u64,
}

impl Logs {
    fn new() -> Self {
        let folder = Folder::new();
        fs::create_dir(folder.path("logs")).expect("a folder");
        let file = open(&folder.path("logs/access.log"));
        Self { folder, file, lines: 0, rotated: 0 }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path(&format!("logs/{name}"))
    }

    fn log(&self) -> PathBuf {
        self.at("access.log")
    }

    fn write(&mut self, lines: u64) {
        let line = |number| {
            format!(
                "192.0.2.1 - - [17/Dec/2025:09:00:00 +0000] \"GET /{number} HTTP/1.1\" 200 5 \"-\" \"a\"\n"
            )
        };
        let text: String = (self.lines..self.lines + lines).map(line).collect();
        self.file.write_all(text.as_bytes()).expect("room");
        self.lines += lines;
    }

    /// Renames the numbered old files, so that the name with `.1` is free.
    fn shift(&mut self) -> PathBuf {
        for number in (1..=self.rotated).rev() {
            let at = |number| self.at(&format!("access.log.{number}"));
            fs::rename(at(number), at(number + 1)).expect("it is there");
        }
        self.rotated += 1;
        self.at("access.log.1")
    }

    /// Renames the log to a name with a number.
    fn rename(&mut self) {
        let old = self.shift();
        fs::rename(self.log(), old).expect("it is there");
    }

    /// Renames the log to a name with a date.
    fn rename_to_date(&mut self, day: u64) {
        fs::rename(self.log(), self.at(&format!("access.log-{}", 20_251_200 + day))).expect("it");
    }

    /// Opens a new log.
    fn reopen(&mut self) {
        self.file = open(&self.log());
    }

    /// Copies the log, and truncates it.
    fn copytruncate(&mut self) {
        let old = self.shift();
        fs::copy(self.log(), old).expect("it is there");
        self.file.set_len(0).expect("it can be truncated");
    }

    /// Compresses an old file, as logrotate does with `delaycompress`.
    fn compress(&self, name: &str) {
        let path = self.at(name);
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&fs::read(&path).expect("it is there")).expect("memory");
        let packed = encoder.finish().expect("memory");
        fs::write(self.at(&format!("{name}.gz")), packed).expect("room");
        fs::remove_file(path).expect("it is there");
    }

    /// Starts to follow the folder.
    fn start(&self) -> (Served, String) {
        let (logs, state) = (self.folder.path("logs"), self.folder.path("state"));
        let mut command = weir(["--follow", "--no-open", "--listen", "127.0.0.1:0", "--state"]);
        command.args([text(&state), text(&logs)]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the binary runs");
        let address = page(&mut child);
        (Served(child), address)
    }

    /// Follows until all lines are counted, and for a search longer. Checks that each is there once.
    fn follow(&self) -> (Served, Value) {
        let (served, address) = self.start();
        self.wait(&address);
        thread::sleep(SEARCH);
        let report = report(&address);
        for name in ["lines", "records"] {
            assert_eq!(report[name], self.lines, "{name}: {}", report["sources"]);
        }
        assert_eq!(report["distinct"]["path"], self.lines, "each line is there once");
        (served, report)
    }

    fn wait(&self, address: &str) {
        let start = Instant::now();
        loop {
            let found = report(address)["lines"].as_u64().expect("a number");
            if found >= self.lines {
                return;
            }
            assert!(start.elapsed() < TIMEOUT, "{found} of {} lines", self.lines);
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn open(path: &Path) -> File {
    OpenOptions::new().create(true).append(true).open(path).expect("a file")
}

/// Lets a change happen while a process follows the folder, which is killed then.
fn killed_after(logs: &mut Logs, change: impl FnOnce(&mut Logs)) {
    let (served, address) = logs.start();
    logs.wait(&address);
    change(logs);
    logs.wait(&address);
    thread::sleep(SEARCH);
    wait_for_state(&logs.folder.path("state"));
    drop(served);
}

#[test]
fn a_log_that_got_a_name_with_a_date_is_not_read_again() {
    let mut logs = Logs::new();
    logs.write(500);
    killed_after(&mut logs, |logs| {
        logs.rename_to_date(1);
        logs.reopen();
        logs.write(20);
    });
    drop(logs.follow());
    killed_after(&mut logs, |logs| {
        logs.rename_to_date(2);
        logs.reopen();
        logs.write(30);
    });
    logs.rename_to_date(3);
    logs.reopen();
    logs.write(5);
    drop(logs.follow());
}

#[test]
fn a_copy_is_read_only_from_where_its_log_was_read() {
    let mut logs = Logs::new();
    logs.write(500);
    killed_after(&mut logs, |_| ());
    // While no process runs.
    logs.write(7);
    logs.copytruncate();
    logs.write(900);
    drop(logs.follow());
    killed_after(&mut logs, |logs| {
        logs.write(3);
        logs.copytruncate();
    });
    drop(logs.follow());
    logs.write(4);
    logs.copytruncate();
    drop(logs.follow());
}

#[test]
fn a_log_that_is_compressed_after_it_was_read_is_not_read_again() {
    let mut logs = Logs::new();
    logs.write(5_000);
    killed_after(&mut logs, |logs| {
        logs.rename();
        logs.reopen();
        logs.write(20);
        logs.compress("access.log.1");
    });
    drop(logs.follow());
    // While no process runs, with lines that none has read.
    logs.write(3);
    logs.rename_to_date(1);
    logs.reopen();
    logs.write(4);
    logs.compress("access.log-20251201");
    drop(logs.follow());
    drop(logs.follow());
}

#[test]
fn a_rotated_log_is_known_before_there_is_a_new_one() {
    let mut logs = Logs::new();
    logs.write(500);
    killed_after(&mut logs, |_| ());
    logs.rename();
    drop(logs.follow());
    // Its writer still has it.
    logs.write(3);
    let (served, _) = logs.follow();
    logs.reopen();
    logs.write(10);
    drop(served);
    drop(logs.follow());
}

#[test]
fn a_folder_is_exact_after_kills_and_rotations_at_random_moments() {
    let kills: u64 = std::env::var("WEIR_KILLS").ok().and_then(|it| it.parse().ok()).unwrap_or(15);
    let mut logs = Logs::new();
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let (mut day, mut may_rotate) = (10, false);
    let mut rotate = |logs: &mut Logs, kind: u64, late: u64| {
        day += 1;
        match kind {
            0 => logs.rename_to_date(day),
            1 => logs.rename(),
            _ => return logs.copytruncate(),
        }
        logs.write(late);
        logs.reopen();
    };
    for kill in 0..kills {
        logs.write(1 + next(200));
        if kill % 3 == 0 {
            let (served, _) = logs.follow();
            wait_for_state(&logs.folder.path("state"));
            drop(served);
            may_rotate = true;
        }
        let (served, _) = logs.start();
        let end = Instant::now() + Duration::from_millis(next(600));
        while Instant::now() < end {
            thread::sleep(Duration::from_millis(next(8)));
            logs.write(next(20));
            // A file that no process has seen is read whole, whatever its name.
            if may_rotate && next(20) == 0 {
                rotate(&mut logs, next(3), next(3));
                may_rotate = false;
            }
        }
        drop(served);
        if may_rotate && next(2) == 0 {
            rotate(&mut logs, next(3), next(3));
            may_rotate = false;
        }
    }
    drop(logs.follow());
    drop(logs.follow());
}
