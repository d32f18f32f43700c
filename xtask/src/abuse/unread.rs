//! Viewers and exports that nobody reads: the memory of the server, how long a report and another
//! export wait, and a stop meanwhile.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::bystander::get;
use super::server::Server;
use super::{Setting, Verdict};
use crate::shell::{Outcome, is_installed, root, target_folder};

/// The log, whose values take most of the memory.
const RECORDS: usize = 400_000;
const PATHS: usize = 100_000;

/// The limit of the server's memory, and what it may have of it.
const MEMORY_MIB: u64 = 64;
const PEAK_MIB_MAX: u64 = MEMORY_MIB * 13 / 10;

const VIEWERS: usize = 200;

/// The forms of the exports that nobody reads, and how many there are of one at a time: one less than a
/// session may begin, because the next would wait 3 s for a place.
const FORMS: [&str; 3] = ["csv", "parquet", "arrow"];
const EXPORTS: usize = 63;

/// How long the viewers are watched. Those that read nothing are disconnected after 2 s.
const TIME: Duration = Duration::from_secs(10);

/// The longest that an answer may wait and that a stop may take, unless the machine is busy.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// Then answers may take this many times as long as the slowest before the attack.
const ALONE_RATIO: u32 = 20;

/// How often answers are timed before the attack.
const ALONE: usize = 20;

/// The name of the data set that is served.
const SESSION: &str = "main";

pub(super) fn run(setting: &Setting) -> Outcome<Verdict> {
    if !is_installed("python3") {
        return Ok(Verdict::Skipped("python3 is not installed".to_owned()));
    }
    let folder = root().join(target_folder()).join("unread");
    std::fs::create_dir_all(&folder)?;
    let log = folder.join("access.log");
    std::fs::write(&log, lines())?;
    let memory = format!("{MEMORY_MIB}MiB");
    let limits = ["--memory", &memory, "--total-memory", &memory];
    let arguments =
        [&["--listen", "127.0.0.1:0", "--jobs", "2"], &limits[..], &[&*log.to_string_lossy()]];
    let server = Server::start_with(&setting.weir, &arguments.concat())?;
    let report = format!("/api/sessions/{SESSION}/report");
    let export = format!("/api/sessions/{SESSION}/export?format=csv&where=status%3D999");
    while !is_read(&server, &report)? {}
    let wait_max = |path: &str| -> Outcome<Duration> {
        let waits = (0..ALONE).map(|_| wait(&server, path)).collect::<Outcome<Vec<_>>>()?;
        Ok(WAIT_MAX.max(ALONE_RATIO * waits.into_iter().max().unwrap_or_default()))
    };
    let (report_max, export_max) = (wait_max(&report)?, wait_max(&export)?);

    server.forget_peak()?;
    let viewers = Unread::open(&server, "viewers", VIEWERS)?;
    let (start, mut longest) = (Instant::now(), Duration::ZERO);
    while start.elapsed() < TIME {
        longest = longest.max(wait(&server, &report)?);
    }
    let mut lines =
        vec![judge(&server, &format!("{VIEWERS} viewers: a report"), longest, report_max)?];
    drop(viewers);
    let mut exports = None;
    for form in FORMS {
        drop(exports.take());
        server.forget_peak()?;
        exports = Some(Unread::open(&server, form, EXPORTS)?);
        let waited = wait(&server, &export)?;
        // Those that have waited make their first parts.
        std::thread::sleep(WAIT_MAX);
        let what = format!("{EXPORTS} exports as {form}: another one");
        lines.push(judge(&server, &what, waited, export_max)?);
    }
    let _viewers = Unread::open(&server, "viewers", VIEWERS)?;
    let stop = server.stop()?;
    lines.push(format!("SIGTERM meanwhile: the server ended after {:.2} s", stop.as_secs_f64()));
    let last = lines.len() - 1;
    if stop > WAIT_MAX.max(report_max) {
        Err(lines.remove(last).into())
    } else {
        Ok(Verdict::Passed(lines))
    }
}

/// Returns what was measured.
///
/// # Errors
/// If the answer took longer, or the server's memory is above its bound.
fn judge(server: &Server, what: &str, waited: Duration, wait_max: Duration) -> Outcome<String> {
    let (peak, waited_s) = (server.peak_mib()?, waited.as_secs_f64());
    let line = format!("{what} within {waited_s:.2} s, peak {peak} MiB of {MEMORY_MIB}");
    if peak > PEAK_MIB_MAX || waited > wait_max { Err(line.into()) } else { Ok(line) }
}

fn lines() -> String {
    let mut log = String::new();
    for number in 0..RECORDS {
        let (client, path) = (number * 7 % 1_000, number * 7_919 % PATHS);
        let _ = writeln!(
            log,
            "192.0.{}.{} - - [22/Nov/2026:10:00:{:02} +0000] \"GET /shop/article/{path:06} HTTP/1.1\" \
             200 {} \"-\" \"Mozilla/5.0 (X11; Linux x86_64) agent{}\"",
            client / 250,
            client % 250,
            number * 60 / RECORDS,
            number % 9_000,
            number % 5_000
        );
    }
    log
}

/// Whether the report is about all records.
fn is_read(server: &Server, report: &str) -> Outcome<bool> {
    let answer = get(server.host(), report).ok_or("a report got no answer")?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    Ok(answer.contains(&format!("\"records\":{RECORDS},")) && answer.contains("\"complete\":true"))
}

/// How long the answer to a request takes.
fn wait(server: &Server, path: &str) -> Outcome<Duration> {
    let start = Instant::now();
    get(server.host(), path).ok_or_else(|| format!("GET {path} got no answer"))?;
    Ok(start.elapsed())
}

/// Connections of clients that ask and never read. They end when this value is dropped.
struct Unread(Child);

impl Unread {
    fn open(server: &Server, kind: &str, count: usize) -> Outcome<Self> {
        let mut python = Command::new("python3");
        python.arg(root().join("xtask/src/abuse/unread.py"));
        python.args([kind, server.host(), SESSION, &count.to_string()]);
        let mut process = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdout = process.stdout.take().ok_or("the client has no output")?;
        let unread = Self(process);
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        if line.trim() == "ready" { Ok(unread) } else { Err("the clients cannot connect".into()) }
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
