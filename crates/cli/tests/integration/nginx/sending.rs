//! nginx as a sender of lines: every request becomes a record.

use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{Nginx, TIMEOUT, read_response};
use crate::support::{Folder, Served, page, report, text, weir};

const REQUESTS: usize = 300;

/// After this many requests the test waits until all of their lines have arrived. nginx does not
/// wait for the receiver, and by default Linux queues only ten datagrams at a Unix socket.
const REQUESTS_AT_ONCE: usize = 5;

#[test]
#[ignore = "needs nginx; `cargo xtask test` runs it"]
fn every_request_to_nginx_becomes_a_record() {
    let folder = Folder::new();
    // The workers of nginx may run as another user, who needs access to the folder.
    std::fs::create_dir_all(folder.path("nginx")).expect("a folder");
    let socket = folder.path("weir.sock");
    let unix = format!("unixgram:{}", text(&socket));
    let mut command = weir([
        "listen",
        "udp://127.0.0.1:0",
        &unix,
        "--socket-mode",
        "0666",
        "--no-open",
        "--listen",
        "127.0.0.1:0",
    ]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut notices = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let first = notices.next().expect("a line").expect("UTF-8");
    let host = first.strip_prefix("weir: listening at udp://").expect("an address").to_owned();
    let page = page(&mut child);
    let _served = Served(child);
    std::thread::spawn(move || notices.for_each(drop));

    let access_logs = format!(
        "access_log syslog:server={host} combined;\naccess_log syslog:server=unix:{} combined;",
        text(&socket)
    );
    let path = folder.path("nginx");
    let server = "location / { return 200 \"here\\n\"; }\nlocation /missing/ { return 404; }";
    let nginx = Nginx::new(&path, &access_logs, server);
    let mut requests = 0;
    while requests < REQUESTS {
        request(&nginx, requests..requests + REQUESTS_AT_ONCE);
        requests += REQUESTS_AT_ONCE;
        let start = Instant::now();
        while report(&page)["lines"] != 2 * requests {
            assert!(
                start.elapsed() < TIMEOUT,
                "fewer than {} lines arrived: {}",
                2 * requests,
                nginx.errors()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let last = report(&page);
    drop(nginx);
    assert_eq!(last["records"], 2 * REQUESTS);
    assert_eq!(last["distinct"]["path"], REQUESTS);
    assert_eq!(last["errors"], 2 * REQUESTS / 10);
    assert_eq!(last["format"]["name"], "COMBINED in SYSLOG");
}

/// Requests the pages of these numbers on one connection. One in ten is missing.
fn request(nginx: &Nginx<'_>, numbers: Range<usize>) {
    let mut stream = nginx.connect();
    let mut responses = BufReader::new(stream.try_clone().expect("a socket"));
    for number in numbers {
        let folder = if number % 10 == 0 { "missing" } else { "there" };
        let request = format!(
            "GET /{folder}/{number}?a=\"b\" HTTP/1.1\r\nHost: localhost\r\nUser-Agent: t\\e\"st\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("nginx reads");
        read_response(&mut responses);
    }
}
