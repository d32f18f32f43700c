//! `weir FILE...`, `weir` and `weir demo`: the page and its session, over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Folder, Served, finish, generated, page, place, run, text, weir};
use serde_json::Value;
use weir_testkit::fixtures;
use weir_testkit::oracle::{Layout, Oracle};

/// A step of a test fails after this time. It allows for a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// Starts `weir` on a free port. Returns the address that it prints.
fn serve(arguments: &[&str]) -> (Served, String) {
    let all = [arguments, &["--no-open", "--listen", "127.0.0.1:0"]].concat();
    let mut child =
        weir(all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    let mut address = String::new();
    let stdout = child.stdout.take().expect("a pipe");
    BufReader::new(stdout).read_line(&mut address).expect("an address");
    (Served(child), address.trim().to_owned())
}

/// Requests a path of the page's host. Returns the status and the body of the response.
fn get(address: &str, path: Option<&str>) -> (u16, String) {
    let rest = address.strip_prefix("http://").expect("an address");
    let (host, own_path) = rest.split_at(rest.find('/').expect("a path"));
    let path = path.unwrap_or(own_path);
    let mut stream = TcpStream::connect(host).expect("the server listens");
    stream.set_read_timeout(Some(TIMEOUT)).expect("a time-out");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("the server reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("the server answers");
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.expect("a status"), body.to_owned())
}

/// Waits until the session's report has `lines` lines, and returns it.
fn report(address: &str, lines: u64) -> Value {
    let (_, id) = place(address);
    let start = Instant::now();
    loop {
        let (status, body) = get(address, Some(&format!("/api/sessions/{id}/report")));
        assert_eq!(status, 200, "{body}");
        let json = &body[body.find('{').expect("an object")..=body.rfind('}').expect("an end")];
        let report: Value = serde_json::from_str(json).expect("JSON");
        if report["lines"] == lines {
            return report;
        }
        assert!(start.elapsed() < TIMEOUT, "{} of {lines} lines", report["lines"]);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends SIGTERM to a server, as a service manager does. Returns its exit code and standard error.
#[cfg(unix)]
fn terminate(mut served: Served) -> (Option<i32>, String) {
    let killed = Command::new("kill").args(["-TERM", &served.0.id().to_string()]).status();
    assert!(killed.expect("kill runs").success());
    let mut stderr = String::new();
    served.0.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("UTF-8");
    (served.0.wait().expect("the server ends").code(), stderr)
}

#[test]
fn the_page_shows_the_report_of_its_files() {
    let path = fixtures::elastic_near_8899();
    let (served, address) = serve(&[text(&path)]);
    let (status, body) = get(&address, None);
    assert_eq!(status, 200);
    assert!(body.contains("<html"), "{body}");
    let start = Instant::now();
    let mut served_report = report(&address, 41);
    // The end of the file comes after its last line.
    while served_report["sources"][0]["complete"] != true {
        assert!(start.elapsed() < TIMEOUT, "{served_report}");
        std::thread::sleep(Duration::from_millis(20));
        served_report = report(&address, 41);
    }
    let printed = run(["report", "--json", text(&path)]);
    let printed: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    assert_eq!(printed["sources"][0]["complete"], true);
    assert_eq!(served_report, printed);
    #[cfg(unix)]
    assert_eq!(terminate(served), (Some(0), String::new()));
    #[cfg(not(unix))]
    drop(served);
}

#[test]
fn addresses_of_this_machine_may_be_short_and_others_are_refused() {
    for (listen, host) in [("localhost:0", "127.0.0.1:"), (":0", "127.0.0.1:"), ("0", "127.0.0.1:")]
    {
        let mut command = weir(["--no-open", "--listen", listen]);
        let mut served = Served(command.stdout(Stdio::piped()).spawn().expect("the binary runs"));
        let mut address = String::new();
        let stdout = served.0.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut address).expect("an address");
        assert!(address.starts_with(&format!("http://{host}")), "{listen}: {address}");
    }
    let refused = run(["--no-open", "--listen", "0.0.0.0:7999"]);
    assert_eq!(refused.code, 2);
    for part in ["0.0.0.0:7999", "127.0.0.1:7999", "ssh -L 7999", "--public-url"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
}

/// Whether the server answers on this connection, which stays open. It refuses a connection with
/// 503.
fn is_answered(stream: &mut TcpStream) -> bool {
    let request = b"HEAD /favicon.svg HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let (mut answer, mut byte) = (Vec::new(), [0]);
    // A connection that was closed may be found so here, or when it is read.
    if stream.write_all(request).is_err() {
        return false;
    }
    while stream.read_exact(&mut byte).is_ok() {
        answer.extend(byte);
        if answer.ends_with(b"\r\n\r\n") {
            return answer.starts_with(b"HTTP/1.1 200 ");
        }
    }
    false
}

/// Opens three connections to a page with this limit. Returns how many of them are answered at the
/// end; `None` if one is refused, as it is if the idle one that makes room needs more than half a
/// second to end.
fn answered_of_three(limit: &str) -> Option<usize> {
    let mut command = weir(["--no-open", "--listen", "127.0.0.1:0"]);
    command.args(["--page-connections", limit]).stdout(Stdio::piped());
    let mut served = Served(command.spawn().expect("the binary runs"));
    let page = page(&mut served.0);
    let host = page.split('/').nth(2).expect("a host");
    let mut open = Vec::new();
    for _ in 0..3 {
        let mut stream = TcpStream::connect(host).expect("it listens");
        if !is_answered(&mut stream) {
            return None;
        }
        open.push(stream);
    }
    Some(open.iter_mut().map(is_answered).filter(|it| *it).count())
}

#[test]
fn the_connections_of_the_page_are_limited() {
    for (limit, expected) in [("2", 2), ("3", 3)] {
        let answered = (0..10).find_map(|_| answered_of_three(limit));
        assert_eq!(answered, Some(expected), "one that is idle makes room for another");
    }
    let refused = run(["--no-open", "--listen", "127.0.0.1:0", "--page-connections", "0"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("--page-connections: 0 is not a valid"), "{}", refused.stderr);
}

#[cfg(unix)]
#[test]
fn several_addresses_ask_for_the_token() {
    let folder = Folder::new();
    let socket = folder.path("weir.sock");
    let unix = format!("unix:{}", text(&socket));
    let token = folder.file("token", b"0123456789abcdef\n");
    let mut command = weir(["--no-open", "--listen", "127.0.0.1:0", "--listen", &unix]);
    command.args(["--page-socket-mode", "0600", "--listen", "[::1]:0", "--token-file"]).arg(&token);
    let mut served = Served(command.stdout(Stdio::piped()).spawn().expect("the binary runs"));
    let stdout = BufReader::new(served.0.stdout.take().expect("a pipe"));
    let lines: Vec<String> = stdout.lines().take(3).map(|line| line.expect("a line")).collect();
    assert!(lines[0].starts_with("http://127.0.0.1:"), "{lines:?}");
    assert_eq!(lines[1], unix);
    assert!(lines[2].starts_with("http://[::1]:"), "{lines:?}");
    assert!(!lines.concat().contains("0123456789abcdef"), "the user knows it, a journal need not");
    assert_eq!((get(&lines[0], None).0, get(&lines[2], None).0), (401, 401));
    for (field, status) in [("Authorization: Bearer 0123456789abcdef", 200), ("X: none", 401)] {
        let mut stream = std::os::unix::net::UnixStream::connect(&socket).expect("it listens");
        let request =
            format!("GET / HTTP/1.1\r\nHost: localhost\r\n{field}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
    drop(served);
}

#[test]
fn the_public_url_is_printed_and_answered() {
    let options = ["--public-url", "https://logs.example/"];
    let mut command = weir(["--no-open", "--listen", "127.0.0.1:0"].iter().chain(&options));
    let mut served = Served(command.stdout(Stdio::piped()).spawn().expect("the binary runs"));
    let mut address = String::new();
    let stdout = served.0.stdout.take().expect("a pipe");
    BufReader::new(stdout).read_line(&mut address).expect("an address");
    assert_eq!(address, "https://logs.example/\n");
    let refused = run(["--no-open", "--public-url", "logs.example"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("must begin with http"), "{}", refused.stderr);
}

#[cfg(unix)]
#[test]
fn a_missing_file_is_reported() {
    let folder = Folder::new();
    let missing = folder.path("missing.log");
    let (mut served, address) = serve(&[text(&missing), text(&fixtures::elastic_near_8899())]);
    report(&address, 41);
    let mut message = String::new();
    let stderr = served.0.stderr.as_mut().expect("a pipe");
    BufReader::new(stderr).read_line(&mut message).expect("UTF-8");
    let (code, _) = terminate(served);
    let sentence = format!("weir: {}: the file does not exist; check the name\n", text(&missing));
    assert_eq!((code, message), (Some(2), sentence));
}

#[test]
fn a_followed_file_is_read_through_its_rotation() {
    let folder = Folder::new();
    let log = generated(50_000);
    let lines = Oracle::read(Layout::Combined, &log).lines;
    let path = folder.file("access.log", &log);
    let (_served, address) = serve(&["--follow", text(&path)]);
    report(&address, lines);
    std::fs::rename(&path, folder.path("access.log.1")).expect("the file exists");
    folder.file("access.log", &log);
    report(&address, 2 * lines);
}

/// One request a second, from second `from` to before second `until`.
fn seconds(from: u64, until: u64) -> String {
    let line = |second: u64| {
        let (hour, minute) = (second / 3_600, second / 60 % 60);
        format!(
            "192.0.2.1 - - [09/Oct/2025:{hour:02}:{minute:02}:{:02} +0000] \"GET /{second} HTTP/1.1\" \
             200 1 \"-\" \"-\"\n",
            second % 60
        )
    };
    (from..until).map(line).collect()
}

#[test]
fn old_requests_leave_the_window() {
    let folder = Folder::new();
    let path = folder.file("access.log", seconds(0, 20_000).as_bytes());
    let (_served, address) = serve(&["--follow", "--keep", "1h", text(&path)]);
    let first = report(&address, 20_000);
    assert_eq!((&first["matching"], &first["records"]), (&3_601.into(), &20_000.into()));
    assert_eq!(first["time"]["first"], "2025-10-09T04:33:19Z");
    // A request with a time far in the future does not move the window.
    let future = seconds(0, 1).replace("2025", "2099");
    let mut log = std::fs::OpenOptions::new().append(true).open(&path).expect("the file exists");
    log.write_all(format!("{future}{}", seconds(20_000, 21_000)).as_bytes())
        .expect("it is written");
    report(&address, 21_001);
    log.write_all(seconds(21_000, 22_000).as_bytes()).expect("it is written");
    let last = report(&address, 22_001);
    assert_eq!((&last["matching"], &last["distinct"]["path"]), (&3_601.into(), &3_601.into()));
    assert_eq!(last["time"]["last"], "2025-10-09T06:06:39Z");
}

#[test]
fn invalid_windows_are_refused() {
    let path = fixtures::elastic_near_8899();
    for (arguments, sentence) in [
        (&["--keep", "1h"][..], "add --follow"),
        (&["--follow", "--keep", "1 fortnight"], "is not a valid duration or size"),
        (&["--follow", "--keep", "90"], "is not a valid duration or size"),
        (&["--follow", "--keep", "0s"], "a window of 0 keeps nothing"),
        (&["--follow", "--keep", "1KiB"], "write 16MiB or more"),
    ] {
        let run = run([arguments, &["--no-open", text(&path)]].concat());
        assert!(run.stderr.contains(sentence), "{}", run.stderr);
        assert_eq!(run.code, 2, "{arguments:?}");
    }
}

#[test]
fn without_files_the_empty_page_is_served() {
    let (_served, address) = serve(&[]);
    assert!(address.starts_with("http://127.0.0.1:") && address.ends_with('/'), "{address}");
    assert_eq!(get(&address, None).0, 200);
}

#[test]
fn the_upload_benchmark_is_served_only_by_its_command() {
    let (_served, address) = serve(&["bench", "upload"]);
    assert!(address.ends_with("/bench/upload"), "{address}");
    let (status, page) = get(&address, None);
    assert_eq!(status, 200);
    assert!(page.contains("/assets/app.js"));
    let (_without, address) = serve(&[]);
    assert_eq!(get(&address, Some("/bench/upload")).0, 404);
}

#[test]
fn the_page_shows_standard_input() {
    let log = generated(200_000);
    let lines = Oracle::read(Layout::Combined, &log).lines;
    let mut command = weir(["-", "--no-open", "--listen", "127.0.0.1:0"]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut served = Served(command.spawn().expect("the binary runs"));
    let mut stdin = served.0.stdin.take().expect("a pipe");
    let mut address = String::new();
    let stdout = served.0.stdout.take().expect("a pipe");
    BufReader::new(stdout).read_line(&mut address).expect("an address");
    stdin.write_all(&log).expect("the server reads");
    drop(stdin);
    report(address.trim(), lines);
}

#[test]
fn files_without_records_are_named_at_the_terminal() {
    let folder = Folder::new();
    let words = folder.file("text.log", b"one\ntwo\nthree\n");
    let binary = folder.file("program", &[0x7F, 1, 2, 3, 0xFF, b'\n']);
    let log = fixtures::elastic_near_8899();
    let (mut served, address) = serve(&[text(&words), text(&log), text(&binary)]);
    assert_eq!(get(&address, None).0, 200);
    let mut stderr = BufReader::new(served.0.stderr.take().expect("a pipe"));
    let mut line = || {
        let mut line = String::new();
        stderr.read_line(&mut line).expect("UTF-8");
        line
    };
    let sentence = "is a text without times or addresses, not a log; Weir reads logs, plain, packed \
                    or in archives; if it is one, give its format with --format";
    assert_eq!(line(), format!("weir: {}: {sentence}\n", words.display()));
    let sentence = "is not a text file; Weir reads logs, plain, packed or in archives; if it is one, give its format with --format";
    assert_eq!(line(), format!("weir: {}: {sentence}\n", binary.display()));
}

#[cfg(unix)]
#[test]
fn an_idle_pipe_does_not_delay_the_end() {
    let mut command = weir(["-", "--no-open", "--listen", "127.0.0.1:0"]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut served = Served(command.spawn().expect("the binary runs"));
    let stdin = served.0.stdin.take();
    let mut address = String::new();
    let stdout = served.0.stdout.take().expect("a pipe");
    BufReader::new(stdout).read_line(&mut address).expect("an address");
    assert_eq!(terminate(served).0, Some(0));
    drop(stdin);
}

#[test]
fn an_address_in_use_is_reported() {
    let (_served, address) = serve(&[]);
    let host = address.trim_start_matches("http://").trim_end_matches('/');
    let run = run(["--no-open", "--listen", host]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    let sentence =
        format!("weir: --listen: tcp://{host}: the address is in use by another program");
    assert!(run.stderr.starts_with(&sentence), "{}", run.stderr);
}

#[test]
fn options_without_an_address_of_their_kind_are_refused() {
    let folder = Folder::new();
    let (cert, key) = (folder.file("c.pem", b""), folder.file("k.pem", b""));
    let (cert, key) = (text(&cert), text(&key));
    let page = ["--no-open", "--listen", "127.0.0.1:0"];
    let config = folder.file(
        "gateway.toml",
        crate::gateway::config("127.0.0.1:1".parse().expect("an address")).as_bytes(),
    );
    let commands = [vec![], vec!["listen", "127.0.0.1:0"], vec!["gateway", text(&config)]];
    for (arguments, sentence) in [
        (
            &["--tls-cert", cert, "--tls-key", key][..],
            "--tls-cert: no address uses TLS; write one as tls://HOST:PORT",
        ),
        (&["--tls-self-signed"], "--tls-self-signed: no address uses TLS"),
        (
            &["--page-socket-mode", "0660"],
            "--page-socket-mode: the page has no Unix socket; add --listen unix:PATH",
        ),
        (&["--page-socket-owner", ":0"], "--page-socket-owner: the page has no Unix socket"),
        (
            &["--listen", "127.0.0.1:7904", "--listen", "localhost:7904"],
            "tcp://127.0.0.1:7904: the address is given twice",
        ),
        (
            &["--total-memory", "1MiB", "--memory", "4GiB"],
            "--total-memory: 1MiB is less than the 4GiB of --memory",
        ),
    ] {
        for command in &commands {
            let refused = run([&command[..], &page, arguments].concat());
            assert_eq!(
                (refused.code, refused.stdout.as_str()),
                (2, ""),
                "{command:?} {arguments:?}"
            );
            assert!(refused.stderr.contains(sentence), "{command:?}: {}", refused.stderr);
        }
    }
    for (arguments, sentence) in [
        (
            ["127.0.0.1:0", "--socket-mode", "0660"],
            "--socket-mode: no address for lines is a Unix socket; write one as unix:PATH",
        ),
        (
            ["unix:x", "--page-socket-mode", "0660"],
            "--page-socket-mode: the page has no Unix socket",
        ),
        (
            ["127.0.0.1:7904", "--listen", "tls://127.0.0.1:7904"],
            "tls://127.0.0.1:7904 and tcp://127.0.0.1:7904 are the same address",
        ),
    ] {
        let refused = run([&["listen", "--no-open"][..], &arguments].concat());
        assert_eq!(refused.code, 2, "{arguments:?}");
        assert!(refused.stderr.contains(sentence), "{arguments:?}: {}", refused.stderr);
    }
}

#[test]
fn token_files_that_cannot_be_used_are_named() {
    let folder = Folder::new();
    let binary = folder.file("big.tok", &[0xFF; 64]);
    let missing = folder.path("no.tok");
    for (file, sentence) in [
        (&binary, "big.tok: it is not a valid token: a token has 16 to 1,024 letters"),
        (&missing, "no.tok: the file does not exist; check the name"),
    ] {
        for command in [&["--no-open"][..], &["top", "--admin", "127.0.0.1:1"]] {
            let refused = run([command, &["--token-file", text(file)]].concat());
            assert_eq!(refused.code, 2, "{command:?}");
            assert!(refused.stderr.contains(sentence), "{command:?}: {}", refused.stderr);
        }
    }
}

#[test]
fn another_address_is_not_an_admin_address() {
    let (_served, address) = serve(&[]);
    let host = address.trim_start_matches("http://").trim_end_matches('/');
    let refused = run(["top", "--admin", host]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("it is not an admin address"), "{}", refused.stderr);
}

#[test]
fn the_demo_page_shows_the_traffic_that_the_demo_writes() {
    let folder = Folder::new();
    let path = folder.path("demo.log");
    let arguments = ["demo", "--size", "300KiB", "--seed", "5"];
    let written = run([&arguments[..], &["--write", text(&path)]].concat());
    let log = std::fs::read(&path).expect("it was written");
    let bytes = log.len().to_string();
    let bytes = format!("{},{}", &bytes[..bytes.len() - 3], &bytes[bytes.len() - 3..]);
    let sentence = format!("weir: {}: {bytes} bytes written\n", text(&path));
    assert_eq!((written.code, written.stderr), (0, sentence));
    assert!(log.len() >= 300 << 10);
    let piped = run([&arguments[..], &["--write", "-"]].concat());
    assert_eq!((piped.code, piped.stdout.into_bytes()), (0, log.clone()));
    let oracle = Oracle::read(Layout::Combined, &log);
    let (_served, address) = serve(&arguments);
    let (address, rule) = address.split_once("#rule=").expect("a rule to try");
    assert!(rule.starts_with("limit_req_zone%20%24request_method%20"), "{rule}");
    let report = report(address, oracle.lines);
    assert_eq!(
        (&report["records"], &report["bytes_sent"]),
        (&oracle.records_read.into(), &oracle.bytes_sent().into())
    );
    let nowhere = Path::new("no/such/folder/demo.log");
    let failed = run(["demo", "--size", "1k", "--write", text(nowhere)]);
    assert_eq!(failed.code, 2);
    assert!(failed.stderr.starts_with("weir: no/such/folder/demo.log: cannot be written"));
}

#[test]
fn formats_are_listed_and_matched() {
    let list = run(["formats"]);
    assert_eq!((list.code, list.stderr.as_str()), (0, ""));
    for name in ["COMBINED", "VCOMBINED", "COMMON", "CADDY", "JSON"] {
        assert!(list.stdout.lines().any(|line| line.split(' ').next() == Some(name)), "{name}");
    }
    let path = fixtures::elastic_near_8899();
    let tried = run(["formats", text(&path)]);
    assert_eq!((tried.code, tried.stderr.as_str()), (0, ""));
    assert!(tried.stdout.contains("   97.6%       40 lines  COMBINED\n"), "{}", tried.stdout);
    assert!(
        tried.stdout.contains("  line 20, column 183: expected `\"` after"),
        "{}",
        tried.stdout
    );
    let own = run(["formats", "--format", "$remote_addr [$time_local]", text(&path)]);
    assert_eq!(own.code, 1);
    assert!(own.stdout.contains("     0%        0 lines  custom"), "{}", own.stdout);
    let mut piped = weir(["formats", "-"]);
    let piped = finish(piped.stdin(std::fs::File::open(&path).expect("a fixture")));
    assert_eq!(piped.stdout.lines().next(), Some("standard input, the first 41 lines"));
    let folder = Folder::new();
    let gz = folder.path("a.log.gz");
    let file = std::fs::File::create(&gz).expect("a file");
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    encoder.write_all(&std::fs::read(&path).expect("a fixture")).expect("it is written");
    encoder.finish().expect("it is written");
    let tried_gz = run(["formats", text(&gz)]);
    assert_eq!(
        tried_gz.stdout.lines().skip(1).collect::<Vec<_>>(),
        tried.stdout.lines().skip(1).collect::<Vec<_>>()
    );
    let none = run(["formats", text(&fixtures::invalid_utf8())]);
    assert_eq!(none.code, 1);
    assert!(none.stdout.contains("Lines that do not match COMBINED"), "{}", none.stdout);
}

/// The commit of the sources.
fn commit() -> String {
    let git = Command::new("git").args(["rev-parse", "HEAD"]).output().expect("git runs");
    String::from_utf8_lossy(&git.stdout)[..12].to_owned()
}

#[test]
fn versions_and_help() {
    // `cargo xtask dist` checks the commit, which only a release build has.
    let build = if cfg!(debug_assertions) { "debug build" } else { &commit() };
    let version = format!("weir {} ({build})\n", env!("CARGO_PKG_VERSION"));
    for spelling in ["--version", "-V", "version"] {
        assert_eq!(run([spelling]).stdout, version, "{spelling}");
    }
    for arguments in
        [&["--help"][..], &["report", "--help"], &["formats", "--help"], &["demo", "--help"]]
    {
        let help = run(arguments);
        assert_eq!(help.code, 0);
        assert!(help.stdout.contains("Examples:"), "{arguments:?}");
    }
}
