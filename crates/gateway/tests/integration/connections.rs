//! Connections to backends after unusual answers.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::backends::{Backend, read_request};
use crate::gate::{Gate, PATIENCE, status};

/// More than the buffers of sockets take, so that the backend's pauses are felt.
const UPLOAD_BYTES: usize = 12 << 20;

#[tokio::test]
async fn an_answer_before_the_end_of_the_request_cuts_nothing_off() {
    let (received, mut counts) = mpsc::unbounded_channel();
    let backend = Backend::start(move |mut stream, _| {
        let received = received.clone();
        async move {
            let mut part = vec![0; 64 << 10];
            let mut bytes = stream.read(&mut part).await.unwrap_or_default();
            let answer = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
            let _ = stream.write_all(answer).await;
            while let Ok(length @ 1..) = stream.read(&mut part).await {
                bytes += length;
                let _ = received.send(bytes);
                tokio::task::yield_now().await;
            }
        }
    })
    .await;
    let gate = Gate::start(&backend.config()).await;
    let upload = "x".repeat(UPLOAD_BYTES);
    let request = format!(
        "POST / HTTP/1.1\r\nHost: gate\r\nConnection: close\r\nContent-Length: {UPLOAD_BYTES}\r\n\r\n{upload}"
    );
    assert_eq!(status(&gate.exchange(&request).await), "202");
    let all = async { while counts.recv().await.is_some_and(|bytes| bytes < UPLOAD_BYTES) {} };
    tokio::time::timeout(PATIENCE, all).await.expect("the backend gets the whole body");
}

#[tokio::test]
async fn a_chunked_body_reaches_a_backend_of_http_1_0() {
    let backend = Backend::start(|mut stream, _| async move {
        while let Some(request) = read_request(&mut stream).await {
            let body = request.split_once("\r\n\r\n").map_or("", |(_, body)| body);
            let answer = format!(
                "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    })
    .await;
    let gate = Gate::start(&backend.config()).await;
    assert_eq!(status(&gate.get("/").await), "200");
    let post = "POST / HTTP/1.1\r\nHost: gate\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\
                4\r\ntext\r\n0\r\n\r\n";
    let answer = gate.exchange(post).await;
    assert_eq!(status(&answer), "200");
    assert!(answer.contains("text"), "{answer}");
}
