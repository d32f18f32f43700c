//! `weir listen`: what is sent is on the page.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Served, generated, page, report, run, weir};
use weir_testkit::oracle::{Layout, Oracle};

/// How long anything may take, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What it says on standard error after its first words.
type Said = std::io::Lines<BufReader<std::process::ChildStderr>>;

/// Starts it; gives the address of the page and of the listeners.
fn listen(addresses: &[&str]) -> (Served, String, Vec<String>) {
    let (served, page, names, said) = listen_and_hear(addresses);
    // Whoever hears it would end it by not hearing it.
    std::thread::spawn(move || said.for_each(drop));
    (served, page, names)
}

/// As [`listen`], with what it says.
fn listen_and_hear(addresses: &[&str]) -> (Served, String, Vec<String>, Said) {
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
    (Served(child), page, names, stderr)
}

/// Waits until the page has so many lines, of which so many fit.
fn wait(page: &str, lines: u64, records: u64) {
    let start = Instant::now();
    loop {
        let report = report(page);
        if report["lines"] == lines {
            assert_eq!(report["records"], records);
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{} of {lines} lines", report["lines"]);
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_is_sent_over_tcp_is_on_the_page() {
    let log = generated(300_000);
    let oracle = Oracle::read(Layout::Combined, &log);
    let (_served, page, names) = listen(&["127.0.0.1:0"]);
    let host = names[0].strip_prefix("tcp://").expect("TCP").to_owned();
    let mut stream = TcpStream::connect(host).expect("it listens");
    stream.write_all(&log).expect("it reads");
    // While the connection stays open.
    wait(&page, oracle.lines, oracle.records_read);
}

#[test]
fn messages_of_nginx_are_on_the_page() {
    let (_served, page, names) = listen(&["udp://127.0.0.1:0"]);
    let host = names[0].strip_prefix("udp://").expect("UDP").to_owned();
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    for number in 0..50 {
        let message = format!(
            "<190>Dec 17 09:03:01 web nginx: 192.0.2.{number} - - [17/Dec/2025:09:03:01 +0000] \
             \"GET /{number} HTTP/1.1\" 200 10 \"-\" \"curl/8.0\""
        );
        socket.send_to(message.as_bytes(), &host).expect("it is sent");
    }
    wait(&page, 50, 50);
    assert_eq!(report(&page)["distinct"]["client"], 50);
}

#[test]
fn the_first_line_does_not_decide_for_ever() {
    let log = generated(300_000);
    let oracle = Oracle::read(Layout::Combined, &log);
    let (_served, page, names, mut said) = listen_and_hear(&["127.0.0.1:0"]);
    let host = names[0].strip_prefix("tcp://").expect("TCP").to_owned();
    let stray = "2025/12/17 09:03:01 [error] 7#7: *1 open() \"/x\" failed, client: 192.0.2.1\n";
    let mut sender = TcpStream::connect(&host).expect("it listens");
    sender.write_all(stray.as_bytes()).expect("it reads");
    wait(&page, 1, 1);
    let mut sender = TcpStream::connect(&host).expect("it listens");
    sender.write_all(&log).expect("it reads");
    wait(&page, oracle.lines + 1, oracle.records_read + 1);
    let sentence = said.next().expect("a line").expect("UTF-8");
    assert!(sentence.contains("its lines no longer fit NGINXERROR"), "{sentence}");
    assert!(sentence.ends_with("it is read as COMBINED"), "{sentence}");
}

#[test]
fn what_cannot_be_listened_at_is_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
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
