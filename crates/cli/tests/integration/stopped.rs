//! The files that interrupted uploads and a killed server leave behind, on Linux.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Folder, Served, generated, page, text, weir};

/// A step of a test fails after this time. It allows for a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// How much the process may grow in nine hundred uploads, in bytes. Each of them takes about 2 MB,
/// and 16 sessions are kept.
const GROWTH_MAX: u64 = 48 << 20;

fn head(bytes: usize) -> String {
    format!("PUT /a.log HTTP/1.1\r\nHost: localhost\r\nContent-Length: {bytes}\r\n\r\n")
}

/// The memory of a process that is not swapped out, in bytes.
fn resident_bytes(served: &Served) -> u64 {
    let status = format!("/proc/{}/status", served.0.id());
    let status = std::fs::read_to_string(status).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    let kibibytes = line.trim().strip_suffix(" kB").expect("a unit");
    kibibytes.parse::<u64>().expect("a number") * 1_024
}

/// Begins a number of uploads one after the other, and breaks each off in the middle.
fn break_off(host: &str, uploads: usize) {
    let log = generated(256 << 10);
    for _ in 0..uploads {
        let mut stream = TcpStream::connect(host).expect("the server listens");
        stream.write_all(head(log.len()).as_bytes()).expect("the server reads");
        // A server that is full refuses, and closes the connection.
        let _ = stream.write_all(&log[..log.len() / 2]);
    }
}

#[test]
fn a_thousand_uploads_that_break_off_leave_memory_where_it_was() {
    let mut command = weir(["--no-open", "--listen", "127.0.0.1:0", "--keep-session", "1s"]);
    let mut served = Served(command.stdout(Stdio::piped()).spawn().expect("the binary runs"));
    let page = page(&mut served.0);
    let host = page.trim_start_matches("http://").trim_end_matches('/');
    break_off(host, 100);
    let before = resident_bytes(&served);
    break_off(host, 900);
    let start = Instant::now();
    while resident_bytes(&served) > before + GROWTH_MAX {
        assert!(start.elapsed() < TIMEOUT, "{} of {before} bytes", resident_bytes(&served));
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Starts a server on a Unix socket, which keeps its temporary files in the folder.
fn serve(folder: &Path, socket: &Path) -> Served {
    let listen = format!("unix:{}", text(socket));
    let mut command = weir(["--no-open", "--listen", &listen]);
    command.env("TMPDIR", folder).env("HOME", folder).current_dir(folder);
    let mut served = Served(command.stdout(Stdio::piped()).spawn().expect("the binary runs"));
    page(&mut served.0);
    served
}

#[test]
fn a_server_that_is_killed_leaves_only_a_socket_that_the_next_one_takes_over() {
    let folder = Folder::new();
    let (path, socket) = (folder.path(""), folder.path("weir.sock"));
    let mut killed = serve(&path, &socket);
    let log = generated(1 << 20);
    let mut upload = UnixStream::connect(&socket).expect("the server listens");
    let head = head(log.len()).replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
    upload.write_all(head.as_bytes()).expect("the server reads");
    let mut answer = String::new();
    BufReader::new(&upload).read_line(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 100 "), "{answer}");
    upload.write_all(&log[..log.len() / 2]).expect("the server reads");
    killed.0.kill().expect("SIGKILL");
    killed.0.wait().expect("its end");
    let left: Vec<_> = std::fs::read_dir(&path).expect("a folder").flatten().collect();
    let names: Vec<_> = left.iter().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["weir.sock"]);

    let _next = serve(&path, &socket);
    let mut stream = UnixStream::connect(&socket).expect("the next one listens");
    let request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("the server reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    assert!(answer.starts_with(b"HTTP/1.1 200 "));
}
