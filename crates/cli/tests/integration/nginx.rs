//! nginx itself as a sender: every request is a row.
//!
//! It needs nginx, which `cargo xtask test` installs where apt is there, and runs these tests; by
//! themselves they are `cargo test -p weir --test nginx -- --ignored`.

#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Folder, Served, page, report, text, weir};

/// How long anything may take, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(60);

const REQUESTS: usize = 300;

/// Requests until all that nginx has sent is waited for: it waits for nobody, and Linux lets ten
/// datagrams wait at a Unix socket, unless it is told otherwise.
const REQUESTS_AT_ONCE: usize = 5;

/// nginx with a configuration in this folder; it ends with the test.
struct Nginx<'a> {
    folder: &'a Path,
    process: Child,
    /// Where it listens: a port that is free now may be taken when nginx asks for it.
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
            assert!(start.elapsed() < PATIENCE, "nginx does not listen: {}", nginx.errors());
            std::thread::sleep(Duration::from_millis(20));
        }
        nginx
    }

    fn command(folder: &Path) -> Command {
        let mut command = Command::new("nginx");
        command.arg("-p").arg(folder).arg("-c").arg(folder.join("nginx.conf"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Debian has it where only root looks for programs.
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{path}:/usr/sbin:/usr/local/sbin"));
        command
    }

    /// What it has complained of.
    fn errors(&self) -> String {
        std::fs::read_to_string(self.folder.join("error.log")).unwrap_or_default()
    }

    /// Asks for the pages of these numbers, of which one in ten is missing, on one connection.
    fn ask(&self, numbers: Range<usize>) {
        let mut stream = UnixStream::connect(&self.socket).expect("it listens");
        let mut answers = BufReader::new(stream.try_clone().expect("a socket"));
        for number in numbers {
            let folder = if number % 10 == 0 { "missing" } else { "there" };
            let request = format!(
                "GET /{folder}/{number}?a=\"b\" HTTP/1.1\r\nHost: localhost\r\nUser-Agent: t\\e\"st\r\n\r\n"
            );
            stream.write_all(request.as_bytes()).expect("it reads");
            read_answer(&mut answers);
        }
    }
}

impl Drop for Nginx<'_> {
    fn drop(&mut self) {
        // Its worker ends with it only where it is asked to.
        let asked = Self::command(self.folder).args(["-s", "stop"]).status();
        if !asked.is_ok_and(|status| status.success()) {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}

/// Reads an answer with its body.
fn read_answer(answers: &mut impl BufRead) {
    let (mut length, mut header) = (0, String::new());
    while header != "\r\n" {
        header.clear();
        assert!(answers.read_line(&mut header).expect("text") > 0, "nginx has closed");
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    answers.read_exact(&mut body).expect("a body");
}

#[test]
#[ignore = "needs nginx; `cargo xtask test` runs it"]
fn every_request_to_nginx_is_a_row() {
    let folder = Folder::new();
    // nginx's workers may be somebody else, who has to get there.
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
    let mut said = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let first = said.next().expect("a line").expect("UTF-8");
    let host = first.strip_prefix("weir: listening at udp://").expect("an address").to_owned();
    let page = page(&mut child);
    let _served = Served(child);
    std::thread::spawn(move || said.for_each(drop));

    let access_logs = format!(
        "access_log syslog:server={host} combined;\naccess_log syslog:server=unix:{} combined;",
        text(&socket)
    );
    let path = folder.path("nginx");
    let nginx = Nginx::new(&path, &access_logs);
    let mut asked = 0;
    while asked < REQUESTS {
        nginx.ask(asked..asked + REQUESTS_AT_ONCE);
        asked += REQUESTS_AT_ONCE;
        let start = Instant::now();
        while report(&page)["lines"] != 2 * asked {
            assert!(
                start.elapsed() < PATIENCE,
                "of {} lines some lack: {}",
                2 * asked,
                nginx.errors()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let seen = report(&page);
    drop(nginx);
    assert_eq!(seen["records"], 2 * REQUESTS);
    assert_eq!(seen["distinct"]["path"], REQUESTS);
    assert_eq!(seen["errors"], 2 * REQUESTS / 10);
    assert_eq!(seen["format"]["name"], "COMBINED in SYSLOG");
}
