//! `weir --follow` with many files, with folders, and with little memory or few descriptors.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Folder, Served, report, text, weir};

/// A step of a test fails after this time. It allows for a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// A followed service, and what it says.
struct Service {
    served: Served,
    page: String,
    said: std::path::PathBuf,
}

impl Service {
    /// Runs the service in a shell, after a command that sets a limit.
    fn start(folder: &Folder, limit: &str, arguments: &[&str]) -> Self {
        let said = folder.path("said.txt");
        let script = format!("{limit} exec \"$@\" 2>'{}'", said.display());
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_weir")]);
        command.args(["--no-open", "--listen", "127.0.0.1:0", "--follow"]).args(arguments);
        let mut served = Served(command.stdout(Stdio::piped()).spawn().expect("a shell"));
        let mut page = String::new();
        let stdout = served.0.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut page).expect("an address");
        assert!(page.starts_with("http"), "{}", std::fs::read_to_string(&said).unwrap_or_default());
        Self { served, page: page.trim().to_owned(), said }
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.said).expect("its messages")
    }

    /// Waits until the report fulfils a condition, and returns it.
    fn wait(&self, is_reached: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let report = report(&self.page);
            if is_reached(&report) {
                return report;
            }
            assert!(start.elapsed() < TIMEOUT, "{} lines; {}", report["lines"], self.said());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn wait_for_lines(&self, lines: u64) -> Value {
        self.wait(|report| report["lines"] == lines)
    }

    fn wait_for_records(&self, records: u64) -> Value {
        self.wait(|report| report["records"] == records)
    }
}

fn lines(from: u64, until: u64) -> String {
    let line = |number: u64| {
        format!("192.0.2.1 - - [17/Dec/2025:09:00:00 +0000] \"GET /{number:07} HTTP/1.1\" 200 1\n")
    };
    (from..until).map(line).collect()
}

/// Writes logs of a few lines into a folder below.
fn many_logs(folder: &Folder, count: u64) -> std::path::PathBuf {
    let logs = folder.path("logs");
    std::fs::create_dir(&logs).expect("a folder");
    for number in 0..count {
        let path = logs.join(format!("site{number}x.log"));
        std::fs::write(path, lines(number * 20, number * 20 + 20)).expect("room");
    }
    logs
}

fn append(path: &Path, bytes: &str) {
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    file.expect("a file").write_all(bytes.as_bytes()).expect("room");
}

/// They took 547 MB while each had a buffer of a mebibyte.
#[cfg(target_os = "linux")]
#[test]
fn quiet_logs_take_little_memory() {
    let folder = Folder::new();
    let logs = many_logs(&folder, 500);
    let service = Service::start(&folder, "", &[text(&logs)]);
    service.wait_for_lines(10_000);
    let kib = crate::memory::status_kib(service.served.0.id(), "VmRSS:");
    assert!(kib < 80 << 10, "{kib} KiB");
    append(&logs.join("site7x.log"), &lines(10_000, 10_003));
    service.wait_for_lines(10_003);
}

#[test]
fn a_file_that_appears_is_followed_and_a_message_says_so() {
    let folder = Folder::new();
    let logs = many_logs(&folder, 2);
    let pattern = logs.join("*.log");
    let service = Service::start(&folder, "", &[text(&pattern)]);
    service.wait_for_lines(40);
    append(&logs.join("later.log"), &lines(40, 45));
    append(&logs.join("other.txt"), "no log\n");
    let report = service.wait_for_lines(45);
    assert_eq!(report["sources"].as_array().expect("a list").len(), 3);
    let start = Instant::now();
    while !service.said().contains("later.log: has appeared and is followed") {
        assert!(start.elapsed() < TIMEOUT, "{}", service.said());
        std::thread::sleep(Duration::from_millis(50));
    }
    std::fs::rename(logs.join("later.log"), logs.join("later.log.1")).expect("a rotation");
    append(&logs.join("later.log"), &lines(45, 47));
    service.wait_for_lines(47);
}

/// The files of a state are not those of a log, wherever they are.
#[test]
fn a_state_in_a_followed_folder_is_no_log() {
    let folder = Folder::new();
    let logs = many_logs(&folder, 2);
    let state = logs.join("state");
    let service = Service::start(&folder, "", &["--state", text(&state), text(&logs)]);
    service.wait_for_lines(40);
    append(&logs.join("later.log"), &lines(40, 45));
    // It appears after the files of the state.
    let report = service.wait_for_lines(45);
    assert!(state.join("data.weir").exists());
    assert_eq!(report["sources"].as_array().expect("a list").len(), 3, "{report}");
    assert!(!service.said().contains("state/"), "{}", service.said());
}

/// The page answered nothing while files took all descriptors.
#[cfg(unix)]
#[test]
fn the_page_answers_when_there_are_more_files_than_descriptors() {
    let folder = Folder::new();
    let logs = many_logs(&folder, 150);
    let service = Service::start(&folder, "ulimit -n 128;", &[text(&logs)]);
    let report = service.wait(|report| report["lines"].as_u64() >= Some(600));
    let sources = report["sources"].as_array().expect("a list").len();
    assert!((30..=64).contains(&sources), "{sources}; {}", service.said());
    let said = service.said();
    assert!(said.contains("were written last are read and followed"), "{said}");
    // One that is not followed, or one that is.
    for number in 0..3 {
        append(&logs.join(format!("site{number}x.log")), &lines(0, 1));
    }
    service.wait(|report| report["lines"].as_u64() > Some(0));
    // The search for new files does not say it again.
    let said = service.said();
    assert!(!said.contains(", nor are "), "{said}");
}

/// A control group of version 1 or 2, in which a service runs.
#[cfg(target_os = "linux")]
struct Group {
    path: std::path::PathBuf,
    limit: &'static str,
}

#[cfg(target_os = "linux")]
impl Group {
    /// A group with this much memory; `None` if this process may not make one.
    fn new(bytes: u64) -> Option<Self> {
        let name = format!("weir-test-{}", std::process::id());
        let places =
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        places.into_iter().find_map(|(place, limit)| {
            let path = Path::new(place).join(&name);
            std::fs::create_dir(&path).ok()?;
            let group = Self { path, limit };
            // The file is there only if the group limits memory.
            let is_limited = group.path.join(limit).exists()
                && std::fs::write(group.path.join(group.limit), bytes.to_string()).is_ok();
            is_limited.then_some(group)
        })
    }
}

#[cfg(target_os = "linux")]
impl Drop for Group {
    fn drop(&mut self) {
        let start = Instant::now();
        // The process in it takes a moment to end.
        while std::fs::remove_dir(&self.path).is_err() && start.elapsed() < Duration::from_secs(10)
        {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A service with the default memory of 4 GiB was killed.
#[cfg(target_os = "linux")]
#[test]
fn a_log_is_followed_as_long_as_it_grows_in_a_container_with_little_memory() {
    let Some(group) = Group::new(128 << 20) else {
        println!("skipped: no control group can be made here");
        return;
    };
    let folder = Folder::new();
    let path = folder.file("access.log", b"");
    let enter = format!("echo $$ > '{}/cgroup.procs';", group.path.display());
    let service = Service::start(&folder, &enter, &["--jobs", "1", text(&path)]);
    let batch = 100_000;
    for number in 0..10 {
        append(&path, &lines(number * batch, (number + 1) * batch));
        service.wait_for_lines((number + 1) * batch);
    }
    let report = service.wait_for_lines(10 * batch);
    assert!(report["records"].as_u64() == Some(10 * batch), "{}", report["records"]);
    assert!(report["matching"].as_u64() < Some(10 * batch), "the window has moved on");
    let said = service.said();
    assert!(said.contains("the data may take 33.6 MB, because the container"), "{said}");
    drop(service);
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_of_address_space_bounds_the_data() {
    let folder = Folder::new();
    let path = folder.file("access.log", lines(0, 1_000).as_bytes());
    let service = Service::start(&folder, "ulimit -v 4194304;", &[text(&path)]);
    service.wait_for_lines(1_000);
    let said = service.said();
    // Half of what half of 4 GiB has beyond 64 MiB, unless the machine or its container has less.
    assert!(said.contains("the data may take 1.04 GB") || said.contains("because the"), "{said}");
}

#[test]
fn a_table_that_appears_is_read_once() {
    let folder = Folder::new();
    let logs = folder.path("logs");
    std::fs::create_dir(&logs).expect("a folder");
    std::fs::write(folder.path("old.log"), lines(100, 150)).expect("room");
    for table in ["logs/first.parquet", "later.parquet"] {
        let (old, table) = (folder.path("old.log"), folder.path(table));
        let mut export = weir(["export", "--output", text(&table), text(&old)]);
        assert!(export.status().expect("it starts").success());
    }
    append(&logs.join("access.log"), &lines(0, 20));
    // Their writers have not finished these.
    let table = std::fs::read(folder.path("later.parquet")).expect("a table");
    std::fs::write(logs.join("half.parquet"), &table[..table.len() / 2]).expect("room");
    std::fs::write(logs.join("empty.parquet"), "").expect("room");
    let service = Service::start(&folder, "", &[text(&logs)]);
    service.wait_for_records(20 + 50);
    std::fs::rename(folder.path("later.parquet"), logs.join("later.parquet")).expect("a name");
    service.wait_for_records(20 + 50 + 50);
    for name in ["half.parquet", "empty.parquet"] {
        std::fs::write(logs.join(name), &table).expect("room");
    }
    service.wait_for_records(20 + 4 * 50);
    append(&logs.join("access.log"), &lines(20, 30));
    let report = service.wait_for_records(20 + 4 * 50 + 10);
    assert_eq!(report["sources"].as_array().map(Vec::len), Some(5), "{report}");
    let said = service.said();
    assert!(said.contains("later.parquet: has appeared and is read"), "{said}");
    assert!(!said.contains("first.parquet"), "{said}");
}
