//! Backends that violate HTTP: what clients receive, and that answers are never mixed up.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::backends::{Backend, answer_with, config, read_request};
use crate::gate::{Gate, PATIENCE, body, status};

/// A backend that sends these bytes to each request, on a connection that stays open.
async fn sending(bytes: String) -> Backend {
    Backend::start(move |mut stream, _| {
        let bytes = bytes.clone();
        async move {
            while read_request(&mut stream).await.is_some() {
                if stream.write_all(bytes.as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    })
    .await
}

#[tokio::test]
async fn more_than_was_announced_is_no_other_answer() {
    let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    for head in [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n",
    ] {
        let backend = sending(format!("{head}{evil}")).await;
        let gate = Gate::start(&backend.config()).await;
        for number in 0..20 {
            let answer = gate.get("/").await;
            assert!(!answer.contains("evil"), "{head:?}, request {number}: {answer}");
            assert!(["200", "204", "304"].contains(&status(&answer)), "{head:?}: {answer}");
        }
    }
}

#[tokio::test]
async fn an_answer_has_one_framing() {
    for (answer, expected_status, expected_body) in [
        // RFC 9112 section 6.3: Transfer-Encoding overrides Content-Length, which must not be
        // forwarded.
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            "200",
            "2\r\nok\r\n0\r\n\r\n",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nok", "502", ""),
        ("HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok", "502", ""),
        ("HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok", "502", ""),
        ("HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 2\r\n\r\nok", "502", ""),
        ("HTTP/1.1 200 OK\r\nX : a\r\nContent-Length: 2\r\n\r\nok", "502", ""),
        ("HTTP/3.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "502", ""),
        ("HTTP/1.1 99 Odd\r\nContent-Length: 2\r\n\r\nok", "502", ""),
    ] {
        let gate = Gate::start(&sending(answer.to_owned()).await.config()).await;
        let got = gate.get("/").await;
        assert_eq!(status(&got), expected_status, "{answer:?}: {got}");
        if expected_status == "200" {
            assert_eq!(body(&got), expected_body, "{answer:?}");
            let head = got.to_ascii_lowercase();
            assert!(!head.contains("content-length"), "{answer:?}: {got}");
        } else {
            assert_eq!(gate.rows(1).await.remove(0)["outcome"], "backend_broken", "{answer:?}");
        }
    }
}

#[tokio::test]
async fn a_head_without_an_end_is_given_up() {
    let field = format!("X: {}\r\n", "x".repeat(1_000));
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    for (head, part) in [("HTTP/1.1 200 OK\r\n", field.as_str()), ("", interim)] {
        let (head, part) = (head.to_owned(), part.to_owned());
        let backend = Backend::start(move |mut stream, _| {
            let (head, part) = (head.clone(), part.clone());
            async move {
                if read_request(&mut stream).await.is_some() {
                    let mut sent = stream.write_all(head.as_bytes()).await;
                    while sent.is_ok() {
                        sent = stream.write_all(part.as_bytes()).await;
                        tokio::task::yield_now().await;
                    }
                }
            }
        })
        .await;
        let more = "timeouts = { first_byte = \"500ms\" }";
        let gate = Gate::start(&config(&[backend.address], more)).await;
        let answer =
            tokio::time::timeout(PATIENCE, gate.get("/")).await.expect("it is given up in time");
        // A few interim answers pass, and no more.
        let (interim, last) = answer.split_at(answer.rfind("HTTP/1.1 ").expect("an answer"));
        assert!(interim.len() <= 16 << 10, "{answer}");
        assert_eq!(interim.replace("HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n", ""), "");
        assert!(["502", "504"].contains(&status(last)), "{answer}");
    }
}

#[tokio::test]
async fn an_answer_that_trickles_arrives_whole() {
    let backend = Backend::start(|mut stream, _| async move {
        while let Some(request) = read_request(&mut stream).await {
            for byte in answer_with(&request).bytes() {
                if stream.write_all(&[byte]).await.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(15)).await;
            }
        }
    })
    .await;
    // Less than the duration of the body, and far more than the pause between two bytes.
    let more = "timeouts = { idle = \"2s\" }";
    let gate = Gate::start(&config(&[backend.address], more)).await;
    let answer = gate.get("/trickle").await;
    assert!(body(&answer).starts_with("GET /trickle HTTP/1.1\r\n"), "{answer}");
    assert!(body(&answer).ends_with("\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn an_answer_may_come_before_the_end_of_the_request() {
    let backend = Backend::start(|mut stream, _| async move {
        let mut head = [0; 64];
        if stream.read(&mut head).await.is_ok() {
            let refusal =
                "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno";
            let _ = stream.write_all(refusal.as_bytes()).await;
            let _ = stream.shutdown().await;
            // Reads until the gateway closes.
            let _ = stream.read_to_end(&mut Vec::new()).await;
        }
    })
    .await;
    let gate = Gate::start(&backend.config()).await;
    let mut client = TcpStream::connect(gate.address).await.expect("it accepts");
    let head = "POST / HTTP/1.1\r\nHost: gate\r\nContent-Length: 1000000\r\n\r\nhalf";
    client.write_all(head.as_bytes()).await.expect("it reads");
    let mut answer = [0; 12];
    let read = client.read_exact(&mut answer);
    tokio::time::timeout(PATIENCE, read).await.expect("in time").expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 413");
}
