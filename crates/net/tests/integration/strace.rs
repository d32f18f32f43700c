//! The system calls of a response, counted by strace. `cargo xtask test` installs it with apt-get
//! and runs these tests. To run them alone: `cargo test -p weir-net --test integration strace:: --
//! --ignored`.
//!
//! The numbers are exact. The server has one thread, and each socket has room for a whole response,
//! whether or not the client reads meanwhile: more than 200 kB over a Unix socket and 2 MB over
//! TCP.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use bytes::Bytes;
use hyper::{Request, Response};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use weir_net::socket::{Address, Listener};
use weir_net::{Body, IncomingBody, Server};

use crate::common::soon;
use crate::transports::{begin_tls, tls_options};

/// The test that strace runs again, in a separate process, as the server.
const SERVER_TEST: &str = "strace::an_answer_takes_few_system_calls";
/// Holds the folder of the server, and makes the process of the test a server.
const FOLDER_VARIABLE: &str = "WEIR_TRACED_FOLDER";
/// The server prints its ports after these words: the one for TCP, and the one for TLS.
const PORTS: &str = "listens on ports ";
/// The system calls that send.
const CALLS: &str = "trace=write,writev,sendto,sendmsg,sendfile";

static PART: [u8; 1000] = [b'x'; 1000];

/// A path, the bytes of its body, and the calls that send the response over TCP or a Unix socket.
type Answer = (&'static str, usize, &'static [&'static str]);

const ANSWERS: [Answer; 5] = [
    ("/string", 1_000, &["writev"]),
    ("/file", 100_000, &["sendmsg", "sendfile"]),
    // A call takes at most 64 of the 101 slices.
    ("/array", 100_000, &["writev"; 2]),
    // The parts are ready, so they leave in two chunks. Each chunk has two more slices.
    ("/chunks", 100_000, &["writev"; 2]),
    // The head, and each of five parts when it comes. The end of the body leaves with the last one.
    ("/stream", 5_000, &["writev"; 6]),
];

#[tokio::test]
#[ignore = "needs strace; `cargo xtask test` runs it"]
async fn an_answer_takes_few_system_calls() {
    if let Some(folder) = std::env::var_os(FOLDER_VARIABLE) {
        return serve(folder.into()).await;
    }
    let traced = Traced::start("tcp");
    let mut clients = Vec::new();
    for answer in &ANSWERS {
        let mut stream = TcpStream::connect(("127.0.0.1", traced.port)).await.unwrap();
        request(&mut stream, answer).await;
        clients.push(tcp_peer(&stream));
    }
    assert_calls(&traced.end(), &clients);
}

#[tokio::test]
#[ignore = "needs strace; `cargo xtask test` runs it"]
async fn an_answer_over_a_unix_socket_takes_as_many() {
    let traced = Traced::start("unix");
    let mut clients = Vec::new();
    for answer in &ANSWERS {
        let mut stream = UnixStream::connect(traced.folder.join("socket")).await.unwrap();
        request(&mut stream, answer).await;
        clients.push(unix_peer(&stream));
    }
    assert_calls(&traced.end(), &clients);
}

/// Asserts that each client got its answer by the calls of [`ANSWERS`].
#[track_caller]
fn assert_calls(trace: &str, clients: &[String]) {
    for ((path, _, calls), client) in ANSWERS.iter().zip(clients) {
        assert_eq!(calls_of(trace, client), *calls, "{path}: {trace}");
    }
}

/// TLS encrypts 64 KiB for one call. Files pass through memory, because they must be encrypted.
#[tokio::test]
#[ignore = "needs strace; `cargo xtask test` runs it"]
async fn an_answer_over_tls_takes_as_many() {
    let traced = Traced::start("tls");
    let mut clients = Vec::new();
    for answer in &ANSWERS {
        let stream = TcpStream::connect(("127.0.0.1", traced.tls_port)).await.unwrap();
        clients.push(tcp_peer(&stream));
        request(&mut begin_tls(stream).await, answer).await;
    }
    let trace = traced.end();
    for ((path, _, calls), client) in ANSWERS.iter().zip(clients) {
        // The first call belongs to the handshake, and the last one announces the end.
        let number = 1 + calls.len() + 1;
        assert_eq!(calls_of(&trace, &client), vec!["writev"; number], "{path}: {trace}");
    }
}

/// Requests a body, which ends the connection, and checks its size.
async fn request(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), (path, bytes, _): &Answer) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    let mut answer = Vec::new();
    soon(stream.read_to_end(&mut answer)).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"), "{path}");
    // Neither the head nor the head of a chunk has an `x`.
    assert_eq!(answer.iter().filter(|byte| **byte == b'x').count(), *bytes, "{path}");
}

/// Returns the end of the server's descriptor in the trace: `9<TCP:[127.0.0.1:80->127.0.0.1:5000]`.
fn tcp_peer(client: &TcpStream) -> String {
    format!("->{}]", client.local_addr().unwrap())
}

/// Returns a piece of the server's descriptor: `9<UNIX-STREAM:[70->71,"/socket"]`. The numbers are
/// the inodes of both ends.
fn unix_peer(client: &UnixStream) -> String {
    let link = format!("/proc/self/fd/{}", client.as_fd().as_raw_fd());
    let link = std::fs::read_link(link).unwrap();
    let inode = link.to_str().unwrap().trim_matches(|letter: char| !letter.is_ascii_digit());
    format!("->{inode},")
}

/// Returns the names of the calls on the connection whose descriptor contains `peer`, in order.
fn calls_of<'a>(trace: &'a str, peer: &str) -> Vec<&'a str> {
    // `7 sendfile(9<TCP:[127.0.0.1:80->127.0.0.1:5000]>, 8</file>, ...) = 100000`
    let calls = trace.lines().filter_map(|line| line.split_once('('));
    let calls = calls.filter(|(_, arguments)| {
        arguments.split(">, ").next().is_some_and(|descriptor| descriptor.contains(peer))
    });
    calls.filter_map(|(head, _)| head.split_whitespace().next_back()).collect()
}

/// The server in a traced process.
struct Traced {
    folder: PathBuf,
    strace: Child,
    port: u16,
    tls_port: u16,
}

impl Traced {
    fn start(name: &str) -> Self {
        let folder = format!("weir-strace-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("file"), PART.repeat(100)).unwrap();
        let mut strace = Command::new("strace")
            .args(["-f", "-qq", "-yy", "-e", CALLS, "-o"])
            .arg(folder.join("trace"))
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "--nocapture", SERVER_TEST])
            .env(FOLDER_VARIABLE, &folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("strace runs; `apt install strace`");
        let lines = BufReader::new(strace.stdout.take().unwrap()).lines();
        let mut lines = lines.map(Result::unwrap);
        let ports = lines.find_map(|line| {
            let (tcp, tls) = line.split_once(PORTS)?.1.split_once(' ')?;
            Some((tcp.parse().ok()?, tls.parse().ok()?))
        });
        // The test runner prints its result, so the pipe must be read to its end.
        std::thread::spawn(move || lines.for_each(drop));
        let (port, tls_port) = ports.expect("the server prints its ports");
        Self { folder, strace, port, tls_port }
    }

    /// Ends the server and returns its calls.
    fn end(mut self) -> String {
        drop(self.strace.stdin.take());
        assert!(self.strace.wait().unwrap().success());
        let trace = std::fs::read_to_string(self.folder.join("trace")).unwrap();
        std::fs::remove_dir_all(&self.folder).unwrap();
        trace
    }
}

/// Serves over TCP, TLS and a Unix socket until its input ends.
async fn serve(folder: PathBuf) {
    let file = Arc::new(File::open(folder.join("file")).unwrap());
    let [tcp, tls] = ["tcp", "tls"].map(|scheme| format!("{scheme}://127.0.0.1:0"));
    let unix = Address::Unix(folder.join("socket"));
    let mut listeners = Vec::new();
    for address in [tcp.parse().unwrap(), tls.parse().unwrap(), unix] {
        listeners.push(Listener::bind(&address, &tls_options()).await.unwrap());
    }
    let port = |listener: &Listener| listener.local_addr().unwrap().port();
    println!("\n{PORTS}{} {}", port(&listeners[0]), port(&listeners[1]));
    let handler = move |request: Request<IncomingBody>, _| {
        let body = body(request.uri().path(), &file);
        async { Response::new(body) }
    };
    let end = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    Server::new(listeners).serve(handler, async { drop(end.await) }).await;
}

fn body(path: &str, file: &Arc<File>) -> Body {
    let parts = |number| (0..number).map(|_| Bytes::from_static(&PART));
    match path {
        "/string" => Body::from(Bytes::from_static(&PART)),
        "/file" => Body::file(Arc::clone(file), 0..100_000),
        "/array" => Body::from_parts(parts(100)),
        "/chunks" => {
            let (sender, body) = Body::channel(1 << 20);
            parts(100).try_for_each(|part| sender.send_blocking(part)).unwrap();
            sender.finish().unwrap();
            body
        }
        _ => {
            let (sender, body) = Body::channel(1 << 20);
            tokio::spawn(async move {
                for part in parts(5) {
                    // The connection sends the part before this one.
                    tokio::task::yield_now().await;
                    sender.send(part).await.unwrap();
                }
                sender.finish().unwrap();
            });
            body
        }
    }
}
