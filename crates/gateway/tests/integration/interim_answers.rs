//! Answers before the answer: `103 Early Hints` and its kin on their way to the client, and what
//! `Expect: 100-continue` asks of the backend.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use crate::backends::{Backend, config, read_request};
use crate::gate::{Gate, PATIENCE};

/// Reads until the bytes end with `end`.
async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut bytes = Vec::new();
    let reading = async {
        while !bytes.ends_with(end.as_bytes()) {
            bytes.push(stream.read_u8().await.expect("the connection is open"));
        }
    };
    timeout(PATIENCE, reading).await.expect("it comes");
    String::from_utf8(bytes).expect("text")
}

/// A backend that sends `interim`, waits for the notification, and answers.
async fn hinting(interim: &'static str, seen: Arc<Notify>) -> Backend {
    Backend::start(move |mut stream, _| {
        let seen = seen.clone();
        async move {
            while read_request(&mut stream).await.is_some() {
                stream.write_all(interim.as_bytes()).await.expect("it reads");
                seen.notified().await;
                let answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone";
                stream.write_all(answer.as_bytes()).await.expect("it reads");
            }
        }
    })
    .await
}

const HINTS: &str = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\
                     Connection: x-hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nContent-Length: 3\r\n\
                     Access-Control-Allow-Origin: *\r\nServer: old\r\n\r\n\
                     HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 104 Upload Resumption Supported\r\n\
                     Location: /uploads/1\r\n\r\n";

#[tokio::test]
async fn early_hints_arrive_before_the_answer() {
    let seen = Arc::new(Notify::new());
    let backend = hinting(HINTS, seen.clone()).await;
    let changes = "backend_path = \"/\"\nanswer_fields = { set = { X-Set = \"1\" }, remove = [\"Server\"] }\n";
    let config = backend.config().replace("path = \"/\"\n", &format!("path = \"/api\"\n{changes}"));
    let gate = Gate::start(&config).await;
    let mut client = TcpStream::connect(gate.address).await.expect("it accepts");
    // The second request has a connection of the backend that another task may drive.
    for _ in 0..3 {
        client.write_all(b"GET /api HTTP/1.1\r\nHost: gate\r\n\r\n").await.expect("it reads");
        let hints = read_until(&mut client, "\r\n\r\n").await;
        let expected =
            "HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\nx-set: 1\r\n\r\n";
        assert_eq!(hints, expected);
        let other = read_until(&mut client, "\r\n\r\n").await;
        assert_eq!(other, "HTTP/1.1 104 \r\nlocation: /api/uploads/1\r\nx-set: 1\r\n\r\n");
        seen.notify_one();
        let answer = read_until(&mut client, "done").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }
    let rows = gate.rows(3).await;
    assert_eq!((rows[2]["status"].as_str(), rows[2]["outcome"].as_str()), ("200", "answered"));
    // HTTP/1.0 has no interim answers.
    seen.notify_one();
    let answer = gate.exchange("GET /api HTTP/1.0\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.0 200 OK\r\n"), "{answer}");
}

/// A backend that reads the head of each request, hands it over, and then serves as it likes.
async fn after_head<F>(
    serve: impl Fn(TcpStream, String) -> F + Clone + Send + Sync + 'static,
) -> Backend
where
    F: Future<Output = ()> + Send + 'static,
{
    Backend::start(move |mut stream, _| {
        let serve = serve.clone();
        async move {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                match stream.read_u8().await {
                    Ok(byte) => head.push(byte),
                    Err(_) => return,
                }
            }
            serve(stream, String::from_utf8(head).expect("text")).await;
        }
    })
    .await
}

const UPLOADS: [&str; 2] = ["Content-Length: 5", "Transfer-Encoding: chunked"];

fn head(framing: &str) -> String {
    format!("POST / HTTP/1.1\r\nHost: gate\r\nExpect: 100-continue\r\n{framing}\r\n\r\n")
}

#[tokio::test]
async fn a_backend_refuses_a_body_before_it_is_sent() {
    let received = Arc::new(AtomicUsize::new(0));
    let count = received.clone();
    let backend = after_head(move |mut stream, head| {
        let count = count.clone();
        async move {
            assert!(head.contains("\r\nexpect: 100-continue\r\n"), "{head}");
            let refusal = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 9\r\n\r\n";
            stream.write_all(refusal.as_bytes()).await.expect("it reads");
            tokio::time::sleep(Duration::from_millis(20)).await;
            stream.write_all(b"too large").await.expect("it reads");
            let mut rest = Vec::new();
            // The gateway closes the connection, because it sends no body.
            timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("an end").expect("bytes");
            count.fetch_add(rest.len() + 1_000, Ordering::SeqCst);
        }
    })
    .await;
    let gate = Gate::start(&backend.config()).await;
    for framing in UPLOADS {
        // Longer than the wait for a backend that does not know `Expect`.
        let answer = timeout(PATIENCE, gate.exchange(&head(framing))).await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        assert!(answer.to_ascii_lowercase().contains("connection: close"), "{answer}");
        assert!(answer.ends_with("too large"), "{answer}");
        assert!(!answer.contains("100 Continue"), "{answer}");
    }
    let rows = gate.rows(2).await;
    assert_eq!((rows[1]["status"].as_str(), rows[1]["outcome"].as_str()), ("413", "answered"));
    let ended = async {
        while received.load(Ordering::SeqCst) < 2_000 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, ended).await.expect("both connections end");
    assert_eq!(received.load(Ordering::SeqCst), 2_000, "bytes of a body");
}

#[tokio::test]
async fn a_body_is_sent_when_the_backend_asks_for_it() {
    for (interim, least, most) in [
        ("HTTP/1.1 100 Continue\r\n\r\n", Duration::ZERO, PATIENCE),
        // It does not know `Expect`.
        ("", Duration::from_millis(900), PATIENCE),
    ] {
        let backend = after_head(move |mut stream, head| async move {
            stream.write_all(interim.as_bytes()).await.expect("it reads");
            let end = if head.contains("chunked") { "0\r\n\r\n" } else { "hello" };
            let body = read_until(&mut stream, end).await;
            assert!(body.contains("hello"), "{body}");
            let answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\ndone";
            stream.write_all(answer.as_bytes()).await.expect("it reads");
        })
        .await;
        let gate = Gate::start(&backend.config()).await;
        for framing in UPLOADS {
            let mut client = TcpStream::connect(gate.address).await.expect("it accepts");
            let sent_at = Instant::now();
            client.write_all(head(framing).as_bytes()).await.expect("it reads");
            let interim = read_until(&mut client, "\r\n\r\n").await;
            assert_eq!(interim, "HTTP/1.1 100 Continue\r\n\r\n");
            let waited = sent_at.elapsed();
            assert!(waited >= least && waited < most, "{waited:?}");
            let is_chunked = framing.contains("chunked");
            let body: &[u8] = if is_chunked { b"5\r\nhello\r\n0\r\n\r\n" } else { b"hello" };
            client.write_all(body).await.expect("it reads");
            let answer = read_until(&mut client, "done").await;
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            // The connection of the client stays.
            client.write_all(b"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n").await.expect("it reads");
            assert!(read_until(&mut client, "\r\n\r\n").await.starts_with("HTTP/1.1 405 "));
        }
    }
}

/// Between the head and the body a hint may come too.
#[tokio::test]
async fn hints_and_continue_come_in_order() {
    let backend = after_head(|mut stream, _| async move {
        let interim = "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n";
        stream.write_all(interim.as_bytes()).await.expect("it reads");
        assert_eq!(read_until(&mut stream, "hello").await, "hello");
        let answer =
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n";
        stream.write_all(answer.as_bytes()).await.expect("it reads");
    })
    .await;
    let gate = Gate::start(&backend.config()).await;
    let mut client = TcpStream::connect(gate.address).await.expect("it accepts");
    client.write_all(head(UPLOADS[0]).as_bytes()).await.expect("it reads");
    let mut interim = read_until(&mut client, "\r\n\r\n").await;
    interim += &read_until(&mut client, "\r\n\r\n").await;
    // hyper writes `100` before the connection writes what the backend has sent.
    let expected = ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 102 Processing\r\n\r\n"];
    assert!(expected.iter().all(|part| interim.contains(part)), "{interim}");
    client.write_all(b"hello").await.expect("it reads");
    // The hint and the answer came together, so the hint may be dropped.
    let mut answer = read_until(&mut client, "\r\n\r\n").await;
    if answer.starts_with("HTTP/1.1 103 ") {
        answer = read_until(&mut client, "\r\n\r\n").await;
    }
    assert!(answer.starts_with("HTTP/1.1 204 "), "{answer}");
}

/// A client that has gone while its body is awaited leaves nothing behind.
#[tokio::test]
async fn a_client_may_leave_while_its_body_is_awaited() {
    let ended = Arc::new(Notify::new());
    let notify = ended.clone();
    let backend = after_head(move |mut stream, _| {
        let notify = notify.clone();
        async move {
            let _ = stream.read_to_end(&mut Vec::new()).await;
            notify.notify_one();
        }
    })
    .await;
    let gate = Gate::start(&config(&[backend.address], "")).await;
    let mut client = TcpStream::connect(gate.address).await.expect("it accepts");
    client.write_all(head(UPLOADS[0]).as_bytes()).await.expect("it reads");
    drop(client);
    timeout(PATIENCE, ended.notified()).await.expect("the connection of the backend ends");
    assert_eq!(gate.rows(1).await[0]["outcome"], "client_gone");
}
