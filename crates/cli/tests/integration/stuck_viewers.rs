//! The memory of the server's process while many pages ask for large views and read none.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::net::TcpSocket;

use crate::memory::{frame, status_kib};
use crate::support::{Folder, Served, page, place, report, weir};

const RECORDS: usize = 200_000;

/// The paths of the log, all of which each view lists.
const PATHS: usize = 10_000;

const VIEWERS: usize = 200;

const MEMORY_MIB: usize = 64;

/// The heap and the stacks of the process may take this. A debug build, whose views take ten times as
/// long, has needed 1.1 times the limit; it was 5 times while each viewer kept what its view is
/// computed from.
const HEAP_KIB_MAX: usize = (MEMORY_MIB * 3 / 2) << 10;

/// How long the viewers are watched. Those that read nothing are disconnected after 2 s.
const WATCHED: Duration = Duration::from_secs(8);

/// A report takes milliseconds. On a busy machine, or in a debug build, it may take this many times as
/// long as the slowest of some before. If it waited for the views, it would take the time of most of them.
const REPORT_TIME_MAX: Duration = Duration::from_secs(2);
const ALONE_RATIO: u32 = 20;
const ALONE: usize = 10;

fn log() -> String {
    let mut log = String::new();
    for number in 0..RECORDS {
        let (client, path) = (number * 7 % 1_000, number * 7_919 % PATHS);
        let _ = writeln!(
            log,
            "192.0.{}.{} - - [22/Nov/2026:10:00:{:02} +0000] \"GET /shop/article/{path:06} HTTP/1.1\" \
             200 {} \"-\" \"Mozilla/5.0 (X11; Linux x86_64) agent{}\"",
            client / 250,
            client % 250,
            number * 60 / RECORDS,
            number % 9_000,
            number % 9
        );
    }
    log
}

/// Opens a live connection, which asks for a view of its own and reads nothing of it.
async fn ask(host: SocketAddr, session: &str, viewer: usize) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4 << 10).expect("a size");
    let stream = socket.connect(host).await.expect("the server listens");
    let mut stream = stream.into_std().expect("a socket");
    stream.set_nonblocking(false).expect("a socket");
    let head = format!(
        "GET /api/sessions/{session}/live HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\n\
         Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Version: 13\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("the server reads");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("an answer");
        answer.extend(byte);
    }
    assert!(answer.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&answer));
    let conditions = [format!("path!=/none{viewer}")];
    let query =
        json!({"id": 1, "group": "path", "top": PATHS, "conditions": conditions, "clauses": []});
    let query = json!({"type": "query", "query": query}).to_string();
    stream.write_all(&frame(1, query.as_bytes())).expect("the server reads");
    stream
}

#[tokio::test]
async fn viewers_that_never_read_stay_within_the_memory() {
    let folder = Folder::new();
    let log = folder.file("a.log", log().as_bytes());
    let memory = format!("{MEMORY_MIB}MiB");
    let mut command = weir(["--no-open", "--listen", "127.0.0.1:0", "--memory", &memory]);
    command.args(["--jobs", "2"]).arg(log);
    let mut served = Served(command.stdout(Stdio::piped()).spawn().expect("the binary runs"));
    let address = page(&mut served.0);
    let (host, session) = place(&address);
    let host: SocketAddr = host.parse().expect("an address");
    let begun = Instant::now();
    while report(&address)["records"] != RECORDS {
        assert!(begun.elapsed() < Duration::from_secs(180), "the log is read");
    }
    let time = || {
        let asked = Instant::now();
        assert_eq!(report(&address)["records"], RECORDS);
        asked.elapsed()
    };
    let alone = (0..ALONE).map(|_| time()).max().unwrap_or_default();
    let mut viewers = Vec::new();
    for viewer in 0..VIEWERS {
        viewers.push(ask(host, session, viewer).await);
    }
    let (begun, mut heap_kib, mut longest) = (Instant::now(), 0, Duration::ZERO);
    while begun.elapsed() < WATCHED {
        longest = longest.max(time());
        heap_kib = heap_kib.max(status_kib(served.0.id(), "RssAnon:"));
    }
    assert!(heap_kib <= HEAP_KIB_MAX, "{heap_kib} KiB");
    let time_max = REPORT_TIME_MAX.max(ALONE_RATIO * alone);
    assert!(longest <= time_max, "{longest:?}, {alone:?} before");
}
