//! `--state`: a followed log that survives the end of its process.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Folder, Served, page, report, run, text, weir};

/// A step of a test fails after this time. It allows for a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// A log whose lines are all different.
struct Log {
    path: PathBuf,
    file: File,
    lines: u64,
}

impl Log {
    fn new(folder: &Folder) -> Self {
        let path = folder.path("access.log");
        let file = Self::open(&path);
        Self { path, file, lines: 0 }
    }

    fn open(path: &Path) -> File {
        OpenOptions::new().create(true).append(true).open(path).expect("a file")
    }

    fn write(&mut self, lines: u64) {
        let text: String = (self.lines..self.lines + lines).map(line).collect();
        self.file.write_all(text.as_bytes()).expect("room");
        self.lines += lines;
    }

    /// Renames the log, and goes on in a new one.
    fn rotate(&mut self, folder: &Folder, name: &str) {
        fs::rename(&self.path, folder.path(name)).expect("it is there");
        self.file = Self::open(&self.path);
    }
}

fn line(number: u64) -> String {
    let (minute, second) = (number / 60 % 60, number % 60);
    format!(
        "192.0.2.{} - - [17/Dec/2025:09:{minute:02}:{second:02} +0000] \"GET /{number} HTTP/1.1\" 200 5 \"-\" \"curl/8\"\n",
        number % 200
    )
}

/// Follows a log, with its state in a folder.
fn follow(log: &Path, state: &Path) -> Command {
    let mut command = weir([
        "--follow",
        "--no-open",
        "--listen",
        "127.0.0.1:0",
        "--state",
        text(state),
        text(log),
    ]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts to follow, and waits until the page has so many lines. Returns its report.
fn followed(log: &Path, state: &Path, lines: u64) -> (Served, Value) {
    let mut child = follow(log, state).spawn().expect("the binary runs");
    let address = page(&mut child);
    let served = Served(child);
    let start = Instant::now();
    loop {
        let report = report(&address);
        let found = report["lines"].as_u64().expect("a number");
        if found >= lines {
            return (served, report);
        }
        assert!(start.elapsed() < TIMEOUT, "{found} of {lines} lines");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the state has what was read.
pub(crate) fn wait_for_state(state: &Path) {
    let size = || fs::metadata(state.join("data.weir")).map(|file| file.len()).unwrap_or(0);
    let mut before = size();
    loop {
        thread::sleep(Duration::from_millis(400));
        match size() {
            now if now == before => return,
            now => before = now,
        }
    }
}

fn assert_exact(report: &Value, lines: u64) {
    assert_eq!(report["lines"], lines);
    assert_eq!(report["records"], lines);
    assert_eq!(report["distinct"]["path"], lines, "each line is there once");
}

/// Ends a process as a service manager does.
fn terminate(mut served: Served) -> String {
    let id = served.0.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().expect("kill runs").success());
    let mut stderr = String::new();
    std::io::Read::read_to_string(&mut served.0.stderr.take().expect("a pipe"), &mut stderr)
        .expect("UTF-8");
    served.0.wait().expect("it ends");
    stderr
}

#[test]
fn a_restart_goes_on_at_the_byte() {
    let folder = Folder::new();
    let (mut log, state) = (Log::new(&folder), folder.path("state"));
    log.write(1_000);
    let (served, report) = followed(&log.path, &state, 1_000);
    assert_exact(&report, 1_000);
    terminate(served);
    // What was read is not read again: it may even be gone.
    log.write(10);
    let (served, report) = followed(&log.path, &state, 1_010);
    assert_exact(&report, 1_010);
    terminate(served);
    log.rotate(&folder, "access.log.1");
    log.write(5);
    let mut old = Log::open(&folder.path("access.log.1"));
    let late: String = (2_000..2_003).map(line).collect();
    old.write_all(late.as_bytes()).expect("room");
    let (served, report) = followed(&log.path, &state, 1_018);
    assert_exact(&report, 1_018);
    drop(served);
}

#[test]
fn a_killed_process_loses_and_repeats_nothing() {
    let kills: u64 = std::env::var("WEIR_KILLS").ok().and_then(|it| it.parse().ok()).unwrap_or(25);
    let folder = Folder::new();
    let (mut log, state) = (Log::new(&folder), folder.path("state"));
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    // A file that no process has seen before it was rotated away is not found.
    let mut may_rotate = false;
    for kill in 0..kills {
        log.write(1 + next(200));
        if kill % 5 == 0 {
            let (served, report) = followed(&log.path, &state, log.lines);
            assert_exact(&report, log.lines);
            wait_for_state(&state);
            drop(served);
            may_rotate = true;
        }
        let mut command = follow(&log.path, &state);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the binary runs");
        // From before it has read its state until it has written it several times.
        let end = Instant::now() + Duration::from_millis(next(400));
        while Instant::now() < end {
            thread::sleep(Duration::from_millis(next(8)));
            log.write(next(20));
            if may_rotate && next(40) == 0 {
                log.rotate(&folder, &format!("access.log.{kill}"));
                may_rotate = false;
            }
        }
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        if may_rotate && next(4) == 0 {
            log.rotate(&folder, &format!("access.log.{kill}.down"));
            may_rotate = false;
        }
    }
    let (served, report) = followed(&log.path, &state, log.lines);
    assert_exact(&report, log.lines);
    wait_for_state(&state);
    drop(served);
    let (_served, report) = followed(&log.path, &state, log.lines);
    assert_exact(&report, log.lines);
}

#[test]
fn the_kept_window_is_that_of_the_process_before() {
    let folder = Folder::new();
    let (mut log, state) = (Log::new(&folder), folder.path("state"));
    log.write(5_000);
    let (served, before) = followed(&log.path, &state, 5_000);
    wait_for_state(&state);
    drop(served);
    // The log is gone, the window is not.
    fs::write(&log.path, "").expect("a file");
    let (_served, after) = followed(&log.path, &state, 5_000);
    for part in ["lines", "records", "bytes_sent", "errors", "top", "distinct", "histogram", "time"]
    {
        assert_eq!(after[part], before[part], "{part}");
    }
}

#[test]
fn a_damaged_state_is_moved_aside_and_said() {
    let folder = Folder::new();
    let (mut log, state) = (Log::new(&folder), folder.path("state"));
    log.write(500);
    let (served, _) = followed(&log.path, &state, 500);
    terminate(served);
    let data = state.join("data.weir");
    let whole = fs::read(&data).expect("a file");
    for (number, damage) in [&b"not a data set"[..], b"", b"WEIRDATA\x63\0\0\0\0\0\0\0"]
        .into_iter()
        .chain([&whole[..100], &[&whole[..60], &b"x"[..], &whole[61..]].concat()])
        .enumerate()
    {
        fs::write(&data, damage).expect("a file");
        let (served, report) = followed(&log.path, &state, 500);
        assert_exact(&report, 500);
        let stderr = terminate(served);
        assert!(stderr.contains("data.weir.damaged"), "{number}: {stderr}");
    }
    assert!(state.join("data.weir.damaged.4").exists());
}

#[test]
fn a_folder_belongs_to_one_process() {
    let folder = Folder::new();
    let (mut log, state) = (Log::new(&folder), folder.path("state"));
    log.write(10);
    let (served, _) = followed(&log.path, &state, 10);
    let second = follow(&log.path, &state).output().expect("the binary runs");
    let stderr = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains(&format!("is used by process {}", served.0.id())), "{stderr}");
}

#[test]
fn a_folder_that_cannot_be_written_to_is_refused() {
    let folder = Folder::new();
    let log = folder.file("access.log", line(1).as_bytes());
    let at_file = folder.file("file", b"");
    let refused = follow(&log, &at_file).output().expect("the binary runs");
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("--state: ") && stderr.contains("cannot be used"), "{stderr}");
    let closed = folder.path("closed");
    fs::create_dir(&closed).expect("a folder");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).expect("it is ours");
    // Root may write anywhere.
    if File::create(closed.join("probe")).is_err() {
        let refused = follow(&log, &closed).output().expect("the binary runs");
        assert_eq!(refused.status.code(), Some(2));
    }
    let without = run(["--state", text(&closed), text(&log)]);
    assert!(without.code == 2 && without.stderr.contains("add --follow"), "{}", without.stderr);
}
