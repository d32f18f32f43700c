//! Connections to backends after unusual answers.

use tokio::io::AsyncWriteExt;

use crate::backends::{Backend, read_request};
use crate::gate::{Gate, status};

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
