//! The access log of `weir gateway`, read by `weir report` and replayed by `weir rules`.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::gateway::{TIMEOUT, address};
use crate::support::{Folder, Served, page, report, run, text, weir};

/// A backend that delays each answer by the number of milliseconds in the path: `/20` takes 20 ms.
fn backend() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.expect("a connection");
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

fn serve(mut stream: TcpStream) {
    let (mut request, mut byte) = (Vec::new(), [0]);
    while stream.read(&mut byte).is_ok_and(|bytes| bytes > 0) {
        request.push(byte[0]);
        if !request.ends_with(b"\r\n\r\n") {
            continue;
        }
        let head = String::from_utf8_lossy(&request).into_owned();
        let path = head.split(' ').nth(1).unwrap_or("/");
        let milliseconds = path.trim_start_matches('/').parse().unwrap_or(0);
        std::thread::sleep(Duration::from_millis(milliseconds));
        let status = if path.contains("missing") { "404 Not Found" } else { "200 OK" };
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{path}", path.len());
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
        request.clear();
    }
}

/// A running gateway.
struct Gateway {
    served: Served,
    address: SocketAddr,
    page: String,
}

impl Gateway {
    /// Starts a gateway. `settings` precede the backend and the route in its configuration.
    fn start(folder: &Folder, settings: &str) -> Self {
        let path = folder.path("gateway.toml");
        std::fs::write(&path, config(settings, backend())).expect("written");
        let arguments = ["gateway", "--no-open", "--listen", "127.0.0.1:0", text(&path)];
        let started = weir(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut served = Served(started.expect("it starts"));
        let address = address(&mut served);
        let page = page(&mut served.0);
        Self { served, address, page }
    }

    fn get(&self, path: &str, agent: &str) -> String {
        let mut stream = TcpStream::connect(self.address).expect("it accepts");
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: gate\r\nUser-Agent: {agent}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }

    fn signal(&self, name: &str) {
        let id = self.served.0.id().to_string();
        let killed = std::process::Command::new("kill").args([name, &id]).status();
        assert!(killed.expect("kill runs").success());
    }

    /// Whether it has a file of this name open.
    fn has_open(&self, name: &str) -> bool {
        let links = std::fs::read_dir(format!("/proc/{}/fd", self.served.0.id()));
        let files = links.into_iter().flatten().flatten();
        files.filter_map(|it| std::fs::read_link(it.path()).ok()).any(|it| it.ends_with(name))
    }

    /// Stops it, and waits for its end.
    fn stop(mut self) {
        self.signal("-TERM");
        assert!(self.served.0.wait().expect("it ends").success());
    }
}

fn config(settings: &str, backend: SocketAddr) -> String {
    format!(
        "listen = [\"127.0.0.1:0\"]\n{settings}[backends.one]\ninstances = [\"http://{backend}\"]\n\
         [[routes]]\npath = \"/\"\nbackend = \"one\"\n"
    )
}

/// Waits until something holds.
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < TIMEOUT, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A report of a log without the members about the log itself.
fn about_requests(mut report: Value) -> Value {
    let members = report.as_object_mut().expect("an object");
    for member in ["bytes_read", "format", "formats", "sources", "histogram"] {
        members.remove(member);
    }
    report
}

#[test]
fn a_report_of_the_log_has_the_numbers_of_the_page() {
    let folder = Folder::new();
    let gateway =
        Gateway::start(&folder, "access_log = { file = \"access.log\", format = \"json\" }\n");
    for path in ["/a", "/a?b='c'", "/\"a\"", "/missing", "/5", "/{x}", "//twice", "/caf\u{e9}"] {
        for agent in ["curl/8.0", "say \"hi\" \\x22", "-"] {
            gateway.get(path, agent);
        }
    }
    wait_until("all are on the page", || report(&gateway.page)["records"] == 24);
    let of_page = about_requests(report(&gateway.page));
    gateway.stop();
    let of_log = run(["report", "--json", text(&folder.path("access.log"))]);
    let of_log: Value = serde_json::from_str(&of_log.stdout).expect("JSON");
    assert_eq!(of_log["format"]["name"], "WEIRGATEWAY");
    assert_eq!(of_page["top"]["outcome"].as_array().map(Vec::len), Some(2), "{of_page}");
    assert!(of_page["wait_time"]["p50"].is_number(), "{of_page}");
    assert_eq!(about_requests(of_log), of_page);
}

#[test]
fn a_report_of_a_combined_log_has_the_counts_of_the_page() {
    let folder = Folder::new();
    let gateway = Gateway::start(&folder, "access_log = { file = \"access.log\" }\n");
    for path in ["/a", "/a?b", "/missing", "//twice"] {
        gateway.get(path, "curl/8.0");
    }
    wait_until("all are on the page", || report(&gateway.page)["records"] == 4);
    let of_page = report(&gateway.page);
    gateway.stop();
    let of_log = run(["report", "--json", text(&folder.path("access.log"))]);
    let of_log: Value = serde_json::from_str(&of_log.stdout).expect("JSON");
    assert_eq!(of_log["format"]["name"], "COMBINED");
    for member in ["lines", "records", "matching", "unparsed_lines", "bytes_sent", "errors"] {
        assert_eq!(of_log[member], of_page[member], "{member}");
    }
    for field in ["client", "method", "path", "query", "protocol", "status", "user_agent"] {
        assert_eq!(of_log["distinct"][field], of_page["distinct"][field], "{field}");
        assert_eq!(of_log["top"][field], of_page["top"][field], "{field}");
    }
}

#[test]
fn signals_turn_to_another_file() {
    let folder = Folder::new();
    let gateway = Gateway::start(&folder, "access_log = { file = \"access.log\" }\n");
    let log = |name: &str| std::fs::read_to_string(folder.path(name)).unwrap_or_default();
    gateway.get("/first", "a");
    std::fs::rename(folder.path("access.log"), folder.path("access.log.1")).expect("renamed");
    gateway.get("/second", "a");
    gateway.signal("-USR1");
    // The new file is there a moment before it is used.
    let has_turned = |from: &str, to: &str| folder.path(to).exists() && !gateway.has_open(from);
    wait_until("a new file", || has_turned("access.log.1", "access.log"));
    gateway.get("/third", "a");
    let configuration = std::fs::read_to_string(folder.path("gateway.toml")).expect("a file");
    let configuration = configuration.replace("access.log", "other.log");
    std::fs::write(folder.path("gateway.toml"), configuration).expect("written");
    gateway.signal("-HUP");
    wait_until("the other file", || has_turned("access.log", "other.log"));
    gateway.get("/fourth", "a");
    gateway.stop();
    for (name, paths) in [
        ("access.log.1", &["/first", "/second"][..]),
        ("access.log", &["/third"]),
        ("other.log", &["/fourth"]),
    ] {
        let log = log(name);
        let found: Vec<&str> = log.lines().filter_map(|line| line.split(' ').nth(6)).collect();
        assert_eq!(found, paths, "{name}: {log}");
    }
}

#[test]
fn a_log_that_cannot_be_opened_is_named_at_the_start() {
    let folder = Folder::new();
    let path = folder.path("gateway.toml");
    let nobody = "127.0.0.1:1".parse().expect("an address");
    for (file, expected) in [
        ("none/access.log", "line 2: access_log.file: there is no folder "),
        (".", ": the access log cannot be opened: "),
    ] {
        let settings = format!("access_log = {{ file = \"{file}\" }}\n");
        std::fs::write(&path, config(&settings, nobody)).expect("written");
        let failed = run(["gateway", "--no-open", "--listen", "127.0.0.1:0", text(&path)]);
        assert_eq!(failed.code, 2, "{}", failed.stderr);
        assert!(failed.stderr.contains(expected), "{}", failed.stderr);
    }
}

/// The decision of the gateway about each line of its log.
fn decided(log: &Path) -> Vec<String> {
    let log = std::fs::read_to_string(log).expect("a log");
    let verdict = |line: &str| {
        let record: Value = serde_json::from_str(line).expect("JSON");
        match record["verdict"].as_str() {
            None => "passed",
            Some("delayed" | "would_delay") => "delayed",
            Some("rejected" | "would_reject") => "rejected",
            Some(other) => panic!("{other}"),
        }
        .to_owned()
    };
    log.lines().map(verdict).collect()
}

/// The decision of a replay of the rule about each line of the log.
fn replayed(rule: &Path, log: &Path) -> Vec<String> {
    let replay = run(["rules", "--rule", text(rule), "--decisions", text(log)]);
    let decision = |line: &str| {
        let decision: Value = serde_json::from_str(line).expect("JSON");
        let number = decision["line"].as_u64().expect("a number");
        (number, decision["verdict"].as_str().expect("a verdict").to_owned())
    };
    let decisions: BTreeMap<u64, String> = replay.stdout.lines().map(decision).collect();
    assert_eq!(decisions.keys().next_back(), Some(&(decisions.len() as u64)), "{}", replay.stderr);
    decisions.into_values().collect()
}

/// Requests of several clients at once: bursts and pauses, in a fixed order for each of them.
fn traffic(gateway: &Gateway) {
    std::thread::scope(|scope| {
        for client in 0..4_u64 {
            scope.spawn(move || {
                let mut state = client + 1;
                for _ in 0..40 {
                    // A generator of Lehmer (1951), for pauses that look random.
                    state = state * 48_271 % 0x7fff_ffff;
                    gateway.get(&format!("/{}", state % 12), ["a", "b"][client as usize % 2]);
                    std::thread::sleep(Duration::from_millis(state / 12 % 15));
                }
            });
        }
    });
}

#[test]
fn a_rule_decides_over_the_log_what_it_decided_in_the_gate() {
    for (rule, mode, verdicts) in [
        (
            "limit_req_zone $http_user_agent zone=one:1m rate=10r/s;\n\
             limit_req zone=one burst=3 nodelay;\n",
            "enforce",
            &["passed", "rejected"][..],
        ),
        (
            "limit_req_zone $http_user_agent zone=one:1m rate=10r/s;\n\
             limit_req zone=one burst=4 delay=1;\n",
            "shadow",
            &["delayed", "passed", "rejected"],
        ),
        (
            "limit_req_zone $http_user_agent zone=one:1m rate=60r/s;\nlimit_req zone=one burst=2;\n",
            "enforce",
            &["delayed", "passed"],
        ),
        ("limit 8 requests in 1s by user_agent\n", "enforce", &["passed", "rejected"]),
    ] {
        assert_eq!(check_decisions((rule, mode), traffic, verdicts), 160);
    }
}

#[test]
fn requests_at_once_are_counted_over_the_log_as_in_the_gate() {
    let rule = "limit 1 requests at once by user_agent\n";
    // The pause keeps a request from arriving within microseconds of the end of another one, which
    // could change the verdict.
    let overlapping = |gateway: &Gateway| {
        for _ in 0..5 {
            std::thread::scope(|scope| {
                let first = scope.spawn(|| gateway.get("/200", "a"));
                std::thread::sleep(Duration::from_millis(60));
                gateway.get("/5", "a");
                gateway.get("/5", "b");
                first.join().expect("an answer");
            });
        }
    };
    for mode in ["enforce", "shadow"] {
        let count = check_decisions((rule, mode), overlapping, &["passed", "rejected"]);
        assert_eq!(count, 15);
    }
}

/// The second limit does not see what the first one rejects, so its replay is over the other lines.
#[test]
fn each_of_two_rule_files_decides_over_the_log_what_it_decided_in_the_gate() {
    let folder = Folder::new();
    let first = folder.file("first.conf", b"limit 8 requests in 1s by user_agent\n");
    let second = folder.file("second.conf", b"limit 2 requests in 1s by path\n");
    let limits = ["first", "second"]
        .map(|name| format!("[[limits]]\nrule_file = \"{name}.conf\"\nmode = \"enforce\"\n"));
    let settings = "access_log = { file = \"access.log\", format = \"json\" }\n";
    let gateway = Gateway::start(&folder, &format!("{settings}{}", limits.concat()));
    traffic(&gateway);
    gateway.stop();
    let log = folder.path("access.log");
    let content = std::fs::read_to_string(&log).expect("a log");
    let records: Vec<Value> =
        content.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let limit_of = |record: &Value| record["limit"].as_str().map(str::to_owned);
    let mut limits: Vec<String> = records.iter().filter_map(limit_of).collect();
    limits.sort_unstable();
    limits.dedup();
    assert_eq!(limits.len(), 2, "both reject some: {limits:?}");
    let of_first = replayed(&first, &log);
    let is_rejected = |verdict: &String| verdict == "rejected";
    let name_of_first = records.iter().zip(&of_first).find(|(_, it)| is_rejected(it));
    let name_of_first = limit_of(name_of_first.expect("it rejects one").0);
    for (record, verdict) in records.iter().zip(&of_first) {
        let by_first = name_of_first.is_some() && limit_of(record) == name_of_first;
        assert_eq!(is_rejected(verdict), by_first, "{record}");
    }
    let lines = content.lines().zip(&of_first).filter(|(_, verdict)| !is_rejected(verdict));
    let rest: String = lines.map(|(line, _)| format!("{line}\n")).collect();
    let rest = folder.file("rest.log", rest.as_bytes());
    assert_eq!(replayed(&second, &rest), decided(&rest));
}

/// Sends traffic through a gateway with a limit, and compares its decisions with a replay over its
/// log. Returns the number of requests.
fn check_decisions(
    (rule, mode): (&str, &str),
    traffic: impl Fn(&Gateway),
    verdicts: &[&str],
) -> usize {
    let folder = Folder::new();
    let file = folder.file("limits.conf", rule.as_bytes());
    let settings = "access_log = { file = \"access.log\", format = \"json\" }\n";
    let limits = format!("[[limits]]\nrule_file = \"limits.conf\"\nmode = \"{mode}\"\n");
    let gateway = Gateway::start(&folder, &format!("{settings}{limits}"));
    traffic(&gateway);
    gateway.stop();
    let log = folder.path("access.log");
    let decided = decided(&log);
    for verdict in verdicts {
        assert!(decided.iter().any(|it| it == verdict), "{rule}: nothing {verdict}");
    }
    assert_eq!(replayed(&file, &log), decided, "{rule}");
    decided.len()
}
