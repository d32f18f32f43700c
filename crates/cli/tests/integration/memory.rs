//! The memory of the server's process after its sessions have ended.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Served, generated, weir};

/// Sessions that receive uploads at the same time.
const SESSIONS: usize = 10;

const UPLOADS: usize = 1_000;

/// The bytes that arrive of each upload before it is dropped.
const UPLOAD_BYTES: usize = 512 << 10;

/// The memory that may be left after all sessions have ended. It was above 300 MiB while glibc
/// kept freed blocks, and is about 40 MiB.
const LEFT_KIB_MAX: usize = 128 << 10;

/// A size of a process, by its name in proc(5), `status`.
pub(crate) fn status_kib(pid: u32, name: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a size");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Sends one request, and returns the response.
fn request(host: &str, method: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(host).expect("the server listens");
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("the server reads");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("a response");
    response
}

fn create_session(host: &str) -> String {
    let response = request(host, "POST", "/api/sessions");
    let (_, rest) = response.split_once("{\"id\":\"").expect("a session");
    rest[..32].to_owned()
}

/// A masked WebSocket frame (RFC 6455 section 5.2) with a mask of zeros.
pub(crate) fn frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x80 | opcode];
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(length @ ..126), _) => frame.push(0x80 | length),
        (_, Ok(length)) => {
            frame.push(0x80 | 126);
            frame.extend(length.to_be_bytes());
        }
        _ => {
            frame.push(0x80 | 127);
            frame.extend((payload.len() as u64).to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(payload);
    frame
}

/// Begins an upload of twice the bytes, sends these, and drops the connection.
fn drop_upload(host: &str, session: &str, file: usize, bytes: &[u8]) {
    let mut stream = TcpStream::connect(host).expect("the server listens");
    let head = format!(
        "GET /api/sessions/{session}/upload HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\n\
         Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Version: 13\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("the server reads");
    let begin = format!(
        r#"{{"type":"begin","file":"f{file}","name":"a.log","bytes_total":{}}}"#,
        2 * bytes.len()
    );
    stream.write_all(&frame(1, begin.as_bytes())).expect("the server reads");
    let mut response = Vec::new();
    while !response.ends_with(b"}") {
        let mut piece = [0; 512];
        let length = stream.read(&mut piece).expect("a response");
        assert!(length > 0, "{}", String::from_utf8_lossy(&response));
        response.extend_from_slice(&piece[..length]);
    }
    stream.write_all(&frame(2, bytes)).expect("the server reads");
}

#[test]
fn memory_is_returned_when_sessions_end() {
    let mut command = weir(["--no-open", "--listen", "127.0.0.1:0"]);
    let mut served = Served(command.stdout(Stdio::piped()).spawn().expect("the binary runs"));
    let mut address = String::new();
    let stdout = served.0.stdout.take().expect("a pipe");
    BufReader::new(stdout).read_line(&mut address).expect("an address");
    let host = address.trim().trim_start_matches("http://").trim_end_matches('/');
    let log = generated(UPLOAD_BYTES as u64);
    let sessions: Vec<String> = (0..SESSIONS).map(|_| create_session(host)).collect();
    for number in 0..UPLOADS {
        drop_upload(host, &sessions[number % SESSIONS], number, &log);
    }
    for session in &sessions {
        let response = request(host, "DELETE", &format!("/api/sessions/{session}"));
        assert!(response.starts_with("HTTP/1.1 204 "), "{response}");
    }
    let start = Instant::now();
    loop {
        let left = status_kib(served.0.id(), "VmRSS:");
        if left <= LEFT_KIB_MAX {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(180), "{left} KiB are left");
        std::thread::yield_now();
    }
}
