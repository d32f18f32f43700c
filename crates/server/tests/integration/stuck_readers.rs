//! Clients that ask and never read, and their effect on others.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use weir_server::{ServerOptions, SessionHandle};

use crate::common::{TestServer, within};

/// How many paths the log has. A report of all of them is larger than the buffers on its way.
const PATHS: usize = 3_000;

const VIEWERS: usize = 60;

async fn server_with_paths(memory_bytes_max: usize) -> (TestServer, SessionHandle) {
    let options = ServerOptions { memory_bytes_max, jobs: 2, ..ServerOptions::default() };
    let (server, session) = TestServer::start_timed(options).await;
    let mut log = String::new();
    for number in 0..PATHS {
        let _ = writeln!(
            log,
            "192.0.2.7 - - [22/Nov/2026:10:00:00 +0000] \"GET /{number:03000} HTTP/1.1\" 200 5"
        );
    }
    server.upload(session.id()).await.send_file("a", log.as_bytes(), 100_000).await;
    (server, session)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_does_not_wait_for_viewers_that_never_read() {
    let (server, session) = server_with_paths(32 << 20).await;
    let mut viewers = Vec::new();
    for number in 0..VIEWERS {
        let mut live = server.live(session.id()).await;
        let conditions = [format!("path!=/none{number}")];
        let query = json!({
            "id": 1, "group": "path", "top": PATHS, "conditions": conditions, "clauses": []
        });
        live.ask(query).await;
        viewers.push(live);
    }
    let mut longest = Duration::ZERO;
    for _ in 0..10 {
        let begun = Instant::now();
        let path = format!("/api/sessions/{}/report", session.id());
        let answer = server.request("GET", &path, &[]).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        longest = longest.max(begun.elapsed());
    }
    // It takes milliseconds. The views take ten times as long as this together.
    assert!(longest < Duration::from_secs(5), "{longest:?}");
    drop(viewers);
    server.stop().await;
}

/// Requests a large report over a connection with small buffers, and returns it unread.
async fn begin_report(server: &TestServer, session: &SessionHandle) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4 << 10).expect("a size");
    let mut stream = socket.connect(server.address).await.expect("the server listens");
    let path = format!("/api/sessions/{}/report?top={PATHS}&group=path", session.id());
    let head = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    stream.write_all(head.as_bytes()).await.expect("the server reads");
    let mut first = [0; 12];
    within(stream.read_exact(&mut first)).await.expect("an answer");
    assert_eq!(&first, b"HTTP/1.1 200");
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_that_nobody_reads_make_room_for_others() {
    let (server, session) = server_with_paths(32 << 20).await;
    let mut unread = Vec::new();
    for _ in 0..3 {
        unread.push(begin_report(&server, &session).await);
    }
    let whole = format!("/api/sessions/{}/report?top={PATHS}&group=path", session.id());
    let report = server.request("GET", &whole, &[]).await;
    assert_eq!(report.status, 200, "{}", report.text());
    assert_eq!(report.json()["group"]["rows"].as_array().map(Vec::len), Some(PATHS));
    let length = report.field("Content-Length").and_then(|bytes| bytes.parse().ok());
    assert_eq!(length, Some(report.body.len()));
    // The first was cut off: what it reads now is not the whole.
    let mut rest = Vec::new();
    let ended = within(unread.remove(0).read_to_end(&mut rest)).await;
    assert!(ended.is_err() && rest.len() < report.body.len(), "{ended:?}, {} bytes", rest.len());
    drop(unread);
    server.stop().await;
}
