//! Requests that the HTTP server refuses before the gateway sees them, in the records, the access
//! log and the counts.

use crate::backends::{Backend, answer_with};
use crate::gate::{Gate, body, status};

#[tokio::test]
async fn every_refused_request_is_recorded() {
    let backend = Backend::answering(|_| answer_with("hello")).await;
    let gate = Gate::start(&backend.config()).await;
    gate.handle.measure();
    let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "a: b\r\n".repeat(100));
    for (request, expected) in [
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", "400"),
        (&many, "431"),
        ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "501"),
    ] {
        assert_eq!(status(&gate.exchange(request).await), expected, "{request}");
    }
    let rows = gate.rows(3).await;
    let known = |row: usize, name: &str| rows[row].get(name).map(String::as_str);
    for (row, (status, outcome)) in
        [("400", "malformed_head"), ("431", "head_too_large"), ("501", "unknown_coding")]
            .into_iter()
            .enumerate()
    {
        assert_eq!(known(row, "status"), Some(status));
        assert_eq!(known(row, "outcome"), Some(outcome));
        assert_eq!(known(row, "client"), Some("127.0.0.1"));
    }
    assert_eq!((known(0, "method"), known(0, "path")), (None, None));
    assert_eq!((known(2, "method"), known(2, "path")), (Some("POST"), Some("/x")));
    let counts = gate.handle.counts();
    for outcome in ["malformed_head", "head_too_large", "unknown_coding"] {
        assert_eq!(counts.events.unanswered.get(outcome), Some(&1), "{outcome}");
    }
    for reason in ["malformed_head", "head_too_large"] {
        assert!(counts.connection_ends.contains(&(reason, 1)), "{reason}");
    }
}

/// Bytes that people write into queries as they are, each with what the backend gets.
const QUERY_BYTES: [(&str, &str); 13] = [
    ("\"", "%22"),
    ("<", "%3C"),
    (">", "%3E"),
    ("|", "|"),
    ("\\", "\\"),
    ("^", "^"),
    ("`", "`"),
    ("{", "{"),
    ("}", "}"),
    ("[", "["),
    ("]", "]"),
    ("\u{e9}", "\u{e9}"),
    ("~", "~"),
];

#[tokio::test]
async fn a_query_as_people_write_it_reaches_the_backend() {
    let backend = Backend::answering(|head| answer_with(head.lines().next().unwrap_or(""))).await;
    let gate = Gate::start(&backend.config()).await;
    for (number, (sent, seen)) in QUERY_BYTES.into_iter().enumerate() {
        let answer = gate.get(&format!("/query?a={sent}&b={sent}x")).await;
        assert_eq!(body(&answer), format!("GET /query?a={seen}&b={seen}x HTTP/1.1"), "{answer}");
        let rows = gate.rows(number + 1).await;
        assert_eq!(rows[number]["query"], format!("a={seen}&b={seen}x"));
    }
}

/// The answer begins before the body has come, and is too large for the socket.
#[tokio::test]
async fn a_refusal_behind_an_unsent_answer_is_recorded() {
    const BYTES: usize = 16 << 20;
    let backend = Backend::answering(|_| answer_with(&"x".repeat(BYTES))).await;
    let gate = Gate::start(&backend.config()).await;
    gate.handle.measure();
    let good = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";
    let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "a: b\r\n".repeat(100));
    for (number, (refused, expected, outcome)) in [
        ("GET / HTTP/1.1\r\na b: c\r\n\r\n", "400", "malformed_head"),
        (&many, "431", "head_too_large"),
    ]
    .into_iter()
    .enumerate()
    {
        let answers = gate.exchange(&format!("{good}{refused}")).await;
        let (head, rest) = answers.split_once("\r\n\r\n").expect("an answer");
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        assert!(rest.as_bytes()[..BYTES].iter().all(|byte| *byte == b'x'), "nothing is lost");
        assert_eq!(status(&rest[BYTES..]), expected);
        let rows = gate.rows(2 * (number + 1)).await;
        let found = rows.iter().filter(|row| row.get("outcome").is_some_and(|it| it == outcome));
        assert_eq!(found.count(), 1, "{outcome}");
        assert_eq!(gate.handle.counts().events.unanswered.get(outcome), Some(&1), "{outcome}");
    }
}
