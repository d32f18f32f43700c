//! nginx itself as a sender: every request becomes a record.
//!
//! The test needs nginx. `cargo xtask test` installs it with apt-get and runs the test; to run it
//! alone: `cargo test -p weir --test integration nginx -- --ignored`.

#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Folder, Served, page, report, text, weir};

/// A step of the test fails after this time. It allows for a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

const REQUESTS: usize = 300;

/// After this many requests the test waits until all of their lines have arrived. nginx does not
/// wait for the receiver, and by default Linux queues only ten datagrams at a Unix socket.
const REQUESTS_AT_ONCE: usize = 5;

/// nginx with a configuration in this folder. It is stopped when the test ends.
struct Nginx<'a> {
    folder: &'a Path,
    process: Child,
    /// The socket of its server. A port that is free now could be in use when nginx binds it.
    socket: PathBuf,
}

impl<'a> Nginx<'a> {
    fn new(folder: &'a Path, access_logs: &str) -> Self {
        let socket = folder.join("nginx.sock");
        let here = text(folder);
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {here}/{name};"))
            .join("\n");
        let configuration = format!(
            "daemon off; pid {here}/nginx.pid; error_log {here}/error.log warn; worker_processes 1;\n\
             events {{ worker_connections 64; }}\n\
             http {{\n{temporary}\n{access_logs}\n\
             server {{ listen unix:{here}/nginx.sock; keepalive_requests 1000;\n\
             location / {{ return 200 \"here\\n\"; }}\n\
             location /missing/ {{ return 404; }} }} }}\n"
        );
        std::fs::write(folder.join("nginx.conf"), configuration).expect("a file");
        let process = Self::command(folder).spawn().expect("nginx runs; `apt install nginx-light`");
        let nginx = Self { folder, process, socket };
        let start = Instant::now();
        while UnixStream::connect(&nginx.socket).is_err() {
            assert!(start.elapsed() < TIMEOUT, "nginx does not listen: {}", nginx.errors());
            std::thread::sleep(Duration::from_millis(20));
        }
        nginx
    }

    fn command(folder: &Path) -> Command {
        let mut command = Command::new("nginx");
        command.arg("-p").arg(folder).arg("-c").arg(folder.join("nginx.conf"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Debian installs it outside of the search path of users.
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{path}:/usr/sbin:/usr/local/sbin"));
        command
    }

    /// The content of its error log.
    fn errors(&self) -> String {
        std::fs::read_to_string(self.folder.join("error.log")).unwrap_or_default()
    }

    /// Requests the pages of these numbers on one connection. One in ten is missing.
    fn request(&self, numbers: Range<usize>) {
        let mut stream = UnixStream::connect(&self.socket).expect("nginx listens");
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
}

impl Drop for Nginx<'_> {
    fn drop(&mut self) {
        // The worker of nginx ends with it only if it is stopped cleanly.
        let stopped = Self::command(self.folder).args(["-s", "stop"]).status();
        if !stopped.is_ok_and(|status| status.success()) {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}

/// Reads a response with its body.
fn read_response(responses: &mut impl BufRead) {
    let (mut length, mut header) = (0, String::new());
    while header != "\r\n" {
        header.clear();
        assert!(responses.read_line(&mut header).expect("text") > 0, "nginx has closed");
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    responses.read_exact(&mut body).expect("a body");
}

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
    let nginx = Nginx::new(&path, &access_logs);
    let mut requests = 0;
    while requests < REQUESTS {
        nginx.request(requests..requests + REQUESTS_AT_ONCE);
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
