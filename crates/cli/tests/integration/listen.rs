//! `weir listen`: the page shows the lines that are sent.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Served, generated, page, report, run, weir};
use weir_testkit::oracle::{Layout, Oracle};

/// A step of a test fails after this time. It allows for a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// The lines on standard error after the addresses.
type Notices = std::io::Lines<BufReader<std::process::ChildStderr>>;

/// Starts `weir listen`. Returns the addresses of the page and of the listeners.
fn listen(addresses: &[&str]) -> (Served, String, Vec<String>) {
    let (served, page, names, notices) = listen_with_notices(addresses);
    // A full or closed pipe would stop the process.
    std::thread::spawn(move || notices.for_each(drop));
    (served, page, names)
}

/// Like [`listen`], and also returns the notices on standard error.
fn listen_with_notices(addresses: &[&str]) -> (Served, String, Vec<String>, Notices) {
    let arguments = [&["listen"], addresses, &["--no-open", "--listen", "127.0.0.1:0"]].concat();
    let mut command = weir(arguments);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let name = |_: &&str| {
        let line = stderr.next().expect("a line").expect("UTF-8");
        line.trim_start_matches("weir: listening at ").to_owned()
    };
    let names = addresses.iter().map(name).collect();
    let page = page(&mut child);
    let memory = stderr.next().expect("a line").expect("UTF-8");
    assert!(memory.contains("the data may take"), "{memory}");
    (Served(child), page, names, stderr)
}

/// Waits until the page has `lines` lines, and checks that `records` of them were parsed.
fn wait(page: &str, lines: u64, records: u64) {
    let start = Instant::now();
    loop {
        let report = report(page);
        if report["lines"] == lines {
            assert_eq!(report["records"], records);
            return;
        }
        assert!(start.elapsed() < TIMEOUT, "{} of {lines} lines", report["lines"]);
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_page_shows_lines_sent_over_tcp() {
    let log = generated(300_000);
    let oracle = Oracle::read(Layout::Combined, &log);
    let (_served, page, names) = listen(&["127.0.0.1:0"]);
    let host = names[0].strip_prefix("tcp://").expect("TCP").to_owned();
    let mut stream = TcpStream::connect(host).expect("the server listens");
    stream.write_all(&log).expect("the server reads");
    // While the connection stays open.
    wait(&page, oracle.lines, oracle.records_read);
}

#[test]
fn the_page_shows_messages_of_nginx() {
    let (_served, page, names) = listen(&["udp://127.0.0.1:0"]);
    let host = names[0].strip_prefix("udp://").expect("UDP").to_owned();
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    for number in 0..50 {
        let message = format!(
            "<190>Dec 17 09:03:01 web nginx: 192.0.2.{number} - - [17/Dec/2025:09:03:01 +0000] \
             \"GET /{number} HTTP/1.1\" 200 10 \"-\" \"curl/8.0\""
        );
        socket.send_to(message.as_bytes(), &host).expect("a datagram");
    }
    wait(&page, 50, 50);
    assert_eq!(report(&page)["distinct"]["client"], 50);
}

/// As syslog-ng sends the lines of a file that it does not parse.
#[test]
fn the_page_shows_messages_without_a_tag() {
    let (_served, page, names) = listen(&["udp://127.0.0.1:0"]);
    let host = names[0].strip_prefix("udp://").expect("UDP").to_owned();
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    for number in 0..50 {
        let message = format!(
            "<13>Dec 17 09:03:01 web 192.0.2.{number} - - [17/Dec/2025:09:03:01 +0000] \
             \"GET /{number} HTTP/1.1\" 200 10 \"-\" \"curl/8.0\""
        );
        socket.send_to(message.as_bytes(), &host).expect("a datagram");
    }
    wait(&page, 50, 50);
    assert_eq!(report(&page)["distinct"]["client"], 50);
}

#[test]
fn lines_that_do_not_fit_are_said_once() {
    let (_served, page, names, mut notices) = listen_with_notices(&["127.0.0.1:0"]);
    let host = names[0].strip_prefix("tcp://").expect("TCP").to_owned();
    let mut sender = TcpStream::connect(&host).expect("the server listens");
    let line = "<13>Dec 17 09:03:01 web - - - \"GET / HTTP/1.1\" 200 1\n";
    sender.write_all(line.repeat(200).as_bytes()).expect("the server reads");
    wait(&page, 200, 0);
    let sentence = notices.next().expect("a line").expect("UTF-8");
    assert!(sentence.contains("lines do not fit a known format: line 1, column"), "{sentence}");
    sender.write_all(line.repeat(200).as_bytes()).expect("the server reads");
    wait(&page, 400, 0);
    drop((sender, _served));
    let rest: Vec<String> = notices.map_while(Result::ok).collect();
    assert!(!rest.iter().any(|it| it.contains("do not fit")), "{rest:?}");
}

#[test]
fn a_stray_first_line_does_not_fix_the_format() {
    let log = generated(300_000);
    let oracle = Oracle::read(Layout::Combined, &log);
    let (_served, page, names, mut notices) = listen_with_notices(&["127.0.0.1:0"]);
    let host = names[0].strip_prefix("tcp://").expect("TCP").to_owned();
    let stray = "2025/12/17 09:03:01 [error] 7#7: *1 open() \"/x\" failed, client: 192.0.2.1\n";
    let mut sender = TcpStream::connect(&host).expect("the server listens");
    sender.write_all(stray.as_bytes()).expect("the server reads");
    wait(&page, 1, 1);
    let mut sender = TcpStream::connect(&host).expect("the server listens");
    sender.write_all(&log).expect("the server reads");
    wait(&page, oracle.lines + 1, oracle.records_read + 1);
    let sentence = notices.next().expect("a line").expect("UTF-8");
    assert!(sentence.contains("its lines no longer fit NGINXERROR"), "{sentence}");
    let end = format!("it is read as COMBINED listener={}", names[0]);
    assert!(sentence.ends_with(&end), "{sentence}");
}

#[test]
fn invalid_addresses_and_options_are_refused() {
    let other_program = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = other_program.local_addr().expect("an address").to_string();
    for (arguments, sentence) in [
        (vec![address.as_str()], "the address is in use by another program"),
        (vec!["tls://127.0.0.1:0"], "needs a certificate and its key; name them with --tls-cert"),
        (vec!["127.0.0.1:0", "--idle", "soon"], "--idle: `soon` is not a valid duration"),
        (vec!["127.0.0.1:0", "--cap", "much"], "--cap: `much` is not a valid size"),
        (vec!["unix:x", "--socket-mode", "rw"], "`rw` is not a valid socket mode"),
        (vec!["5140"], "`5140` is not a valid address to listen at"),
    ] {
        let page = ["--no-open", "--listen", "127.0.0.1:0"];
        let run = run([&["listen"][..], &arguments, &page].concat());
        assert_eq!(run.code, 2, "{arguments:?}");
        assert!(run.stderr.contains(sentence), "{arguments:?}: {}", run.stderr);
    }
}
