//! Tests of captures over real sockets.

use tokio::time::timeout;

use crate::serving::{PATIENCE, exchange, start};

#[tokio::test]
async fn what_cannot_be_is_refused_with_a_sentence() {
    let running = start(None).await;
    for (query, status, expected) in [
        ("?kind=x", "400", "kind=x: write one of request, tunnel, call, page, upload, feed\n"),
        ("?kind=page", "404", "this program has no requests of the page\n"),
        ("?seconds=3600", "400", "seconds=3600: write a number from 1 to 60\n"),
        ("?seconds=1", "404", "this program has no requests of a gateway\n"),
        ("?kind=feed", "404", "this program has no feeds\n"),
    ] {
        let line = format!("GET /glass.json{query}");
        let asked = exchange(running.address, &line, "Host: localhost\r\n");
        let answer = timeout(PATIENCE, asked).await.expect("in time");
        assert_eq!(answer.split(' ').nth(1), Some(status), "{answer}");
        assert!(answer.ends_with(expected), "{answer}");
    }
    let other = "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n";
    let answer = exchange(running.address, "GET /glass.json", other).await;
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("another site"), "{answer}");
    let answer = exchange(running.address, "HEAD /glass.json", "Host: localhost\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 405"), "{answer}");
}
