//! How soon a server ends after SIGTERM, whatever runs, on Linux.

#![cfg(target_os = "linux")]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::memory::frame;
use crate::support::{Folder, Served, page, place, report, weir};

const RECORDS: usize = 200_000;

/// The unit in which Linux reports the processor time of a process.
const TICK_MS: u64 = 10;

/// The processor time of the work between a signal and the end. It takes 0.1 to 0.3 s; what runs would
/// take minutes. Unlike the time of a clock, a busy machine does not change it.
const WORK_MAX: Duration = Duration::from_secs(4);

/// The time from the signal to the end, without the time in which a thread of the server, or this test,
/// was ready to run and waited for a processor. It takes 1.7 s at most. A stop that waits for clients
/// would take 5 s or more, on a busy machine too.
const STOP_MAX: Duration = Duration::from_millis(2_500);

fn log() -> String {
    let mut log = String::new();
    for number in 0..RECORDS {
        let _ = writeln!(
            log,
            "192.0.2.7 - - [22/Nov/2026:10:00:{:02} +0000] \"GET /abababababababa/{} HTTP/1.1\" 200 5 \
             \"-\" \"curl/8\"",
            number * 60 / RECORDS,
            number % 20_000
        );
    }
    log
}

/// A limit with patterns that match nothing, and take long for it.
fn long_rule() -> String {
    let mut text = "map $uri $k {".to_owned();
    for number in 0..3_000 {
        let _ = write!(text, " \"~(?:a.*){{9}}{number}\" x{number};");
    }
    text + " default \"\"; }\nlimit_req_zone $k zone=a:1m rate=1r/s;\nlimit_req zone=a;"
}

/// A server whose log was read.
struct Running {
    served: Served,
    host: String,
    session: String,
    /// What its clients hold open.
    clients: Vec<TcpStream>,
    _folder: Folder,
}

impl Running {
    fn start() -> Self {
        let folder = Folder::new();
        let log = folder.file("a.log", log().as_bytes());
        let mut command = weir(["--no-open", "--listen", "127.0.0.1:0", "--jobs", "2"]);
        let mut served =
            Served(command.arg(log).stdout(Stdio::piped()).spawn().expect("the binary runs"));
        let address = page(&mut served.0);
        let begun = Instant::now();
        while report(&address)["records"] != RECORDS {
            assert!(begun.elapsed() < Duration::from_secs(180), "the log is read");
        }
        let (host, session) = place(&address);
        let (host, session) = (host.to_owned(), session.to_owned());
        Self { served, host, session, clients: Vec::new(), _folder: folder }
    }

    /// Sends a request of the session, and returns its connection.
    fn request(&self, method: &str, path: &str, fields: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).expect("the server listens");
        let (host, session) = (&self.host, &self.session);
        let head = format!(
            "{method} /api/sessions/{session}/{path} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n"
        );
        stream.write_all(head.as_bytes()).expect("the server reads");
        stream
    }

    fn hold(&mut self, method: &str, path: &str, fields: &str) {
        let stream = self.request(method, path, fields);
        self.clients.push(stream);
    }

    /// Opens a live connection or one for uploads, sends messages, and reads nothing more.
    fn send(&mut self, kind: &str, messages: &[Value]) {
        let mut stream = self.request(
            "GET",
            kind,
            "Upgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n",
        );
        let mut first = [0; 13];
        stream.read_exact(&mut first).expect("an answer");
        assert_eq!(&first, b"HTTP/1.1 101 ");
        for message in messages {
            stream.write_all(&frame(1, message.to_string().as_bytes())).expect("the server reads");
        }
        self.clients.push(stream);
    }

    /// The processor time of the process so far, and whether it has ended.
    fn processor_time(&self) -> (Duration, bool) {
        let path = format!("/proc/{}/stat", self.served.0.id());
        let stat = std::fs::read_to_string(path).expect("nobody has waited for it");
        // After the name come the state and, as fields 14 and 15 of proc(5), the times.
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        let ticks = |field: usize| fields[field - 3].parse::<u64>().expect("a number");
        (Duration::from_millis((ticks(14) + ticks(15)) * TICK_MS), fields[0] == "Z")
    }

    /// Waits until the process has used this much processor time since `before`.
    fn work_until(&self, before: Duration, used: Duration) {
        let begun = Instant::now();
        while self.processor_time().0 < before + used {
            assert!(begun.elapsed() < Duration::from_secs(180), "it works");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The time in which each thread of the process, and this one, waited for a processor so far.
    fn waits(&self) -> HashMap<PathBuf, Duration> {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.served.0.id()));
        let threads = threads.into_iter().flatten().flatten().map(|thread| thread.path());
        let wait = |thread: PathBuf| {
            // A thread may have ended meanwhile. The second number is its time in a run queue, in
            // nanoseconds (Linux, Documentation/scheduler/sched-stats.rst).
            let times = std::fs::read_to_string(thread.join("schedstat")).ok()?;
            let wait = times.split(' ').nth(1)?.parse().ok()?;
            Some((thread, Duration::from_nanos(wait)))
        };
        threads.chain([PathBuf::from("/proc/thread-self")]).filter_map(wait).collect()
    }

    /// Ends the server. Returns the processor time and the time that this takes. The time does not
    /// include waits for a processor.
    fn stop(self) -> (Duration, Duration) {
        let id = self.served.0.id().to_string();
        let (waits_before, before) = (self.waits(), self.processor_time().0);
        assert!(Command::new("kill").args(["-TERM", &id]).status().expect("kill runs").success());
        let (begun, mut waits) = (Instant::now(), HashMap::new());
        loop {
            let (used, has_ended) = self.processor_time();
            if has_ended {
                let took = begun.elapsed();
                let waited = waits.iter().map(|(thread, wait): (&PathBuf, &Duration)| {
                    wait.saturating_sub(waits_before.get(thread).copied().unwrap_or_default())
                });
                return (used - before, took.saturating_sub(waited.sum()));
            }
            assert!(begun.elapsed() < Duration::from_secs(180), "it ends");
            waits.extend(self.waits());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn live_question(id: usize) -> Value {
    let conditions = [format!("path!=/none{id}")];
    let query =
        json!({"id": 1, "group": "path", "top": 10_000, "conditions": conditions, "clauses": []});
    json!({"type": "query", "query": query})
}

#[test]
fn a_stop_ends_whatever_runs() {
    let mut running = Running::start();
    // Rules that take minutes, of which some are compiled and some replayed.
    let rules: Vec<Value> = (0..8)
        .map(|panel| {
            let query = json!({"id": 1});
            json!({"type": "rules", "panel": panel, "query": query, "rule": {"text": long_rule()}})
        })
        .collect();
    running.send("live", &rules);
    let before = running.processor_time().0;
    running.work_until(before, Duration::from_millis(500));
    // Views and exports that nobody reads, a costly condition, and uploads that go on.
    for viewer in 0..5 {
        running.send("live", &[live_question(viewer)]);
        running.hold("GET", "export?format=csv", "");
    }
    running.hold("GET", "report?where=path~%2F(a.*)%7B9%7Dz%2F&group=path", "");
    running.send("upload", &[]);
    let host = running.host.clone();
    for number in 0..3 {
        let mut upload = TcpStream::connect(&host).expect("the server listens");
        let head = format!(
            "PUT /{number}.log HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100000000\r\n\r\n"
        );
        upload.write_all(head.as_bytes()).expect("the server reads");
        upload.write_all(&log().as_bytes()[..100_000]).expect("the server reads");
        running.clients.push(upload);
    }
    let before = running.processor_time().0;
    running.work_until(before, Duration::from_millis(300));
    let (work, took) = running.stop();
    assert!(work < WORK_MAX, "{work:?} of work after the signal, {took:?}");
    assert!(took < STOP_MAX, "{took:?}");
}
