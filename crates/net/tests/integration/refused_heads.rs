//! Requests that are refused before a handler sees them: each has an answer with a text, is counted,
//! and is reported once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::{Request, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weir_net::{Body, Client, IncomingBody, RefusalObserver, RequestBody, ServeOptions};

use crate::common::{Running, exchange, soon};
use crate::http2_client::{END_HEADERS, END_STREAM, HEADERS, Http2Client, header_block};

/// The reported refusals: the name of the problem, the size of the text, and the target if it is
/// known.
type Reports = Arc<Mutex<Vec<(&'static str, usize, Option<String>)>>>;

async fn hello(_request: Request<IncomingBody>, _client: Client) -> Response<Body> {
    Response::new(Body::from("hello"))
}

fn observed(options: ServeOptions) -> (ServeOptions, Reports) {
    let reports = Reports::default();
    let reported = reports.clone();
    let refusal_observer = RefusalObserver::new(move |refusal| {
        let target = refusal.request.map(|request| request.uri().path().to_owned());
        reported.lock().unwrap().push((refusal.problem.name(), refusal.bytes, target));
    });
    (ServeOptions { refusal_observer, ..options }, reports)
}

/// Requests with the status of their refusal, and the reason for which it is counted.
fn refused() -> Vec<(String, &'static str, &'static str)> {
    let fields = |count| "a: b\r\n".repeat(count);
    let malformed = ("400", "malformed_head");
    [
        ("GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(), malformed),
        (
            "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"
                .to_owned(),
            malformed,
        ),
        ("GET / HTTP/1.1\r\nHost: x\r\na b: c\r\n\r\n".to_owned(), malformed),
        ("\x16\x03\x01\x02\x00\x01\x00\x01\u{fc}\r\n".to_owned(), malformed),
        (format!("GET / HTTP/1.1\r\nHost: x\r\n{}\r\n", fields(100)), ("431", "head_too_large")),
        (
            format!("GET / HTTP/1.1\r\nHost: x\r\na: {}\r\n\r\n", "x".repeat(40_000)),
            ("431", "head_too_large"),
        ),
    ]
    .map(|(request, (status, reason))| (request, status, reason))
    .into()
}

fn assert_has_text(answer: &str, status: &str) -> usize {
    let (head, text) = answer.split_once("\r\n\r\n").expect(answer);
    assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
    let head = head.to_ascii_lowercase();
    assert!(head.contains(&format!("\r\ncontent-length: {}", text.len())), "{head}");
    assert!(head.contains("\r\nconnection: close"), "{head}");
    assert!(text.ends_with('\n') && text.len() > 20, "{text}");
    text.len()
}

#[tokio::test]
async fn a_head_that_cannot_be_read_is_answered_counted_and_reported() {
    for (index, (request, status, reason)) in refused().into_iter().enumerate() {
        // After a request that was answered, and without one.
        for before in ["", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"] {
            let (options, reports) = observed(ServeOptions::default());
            let server = Running::start(options, hello).await;
            let mut stream = server.connect().await;
            let answer = exchange(&mut stream, &format!("{before}{request}")).await;
            let answer = match before {
                "" => &answer,
                _ => answer.split_once("hello").expect("the first request is answered").1,
            };
            let bytes = assert_has_text(answer, status);
            server.wait_for_ends(reason, 1).await;
            assert_eq!(*reports.lock().unwrap(), [(reason, bytes, None)], "{index}");
        }
    }
}

#[tokio::test]
async fn an_answer_of_a_handler_stays_as_it_is() {
    let (options, reports) = observed(ServeOptions::default());
    let server = Running::start(options, async |_, _| {
        Response::builder().status(400).body(Body::empty()).expect("an answer")
    })
    .await;
    let request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let answer = exchange(&mut server.connect().await, request).await;
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.ends_with("\r\n\r\n"), "{answer}");
    assert_eq!(*reports.lock().unwrap(), []);
}

#[tokio::test]
async fn a_late_head_is_reported() {
    let header_timeout = Duration::from_secs(1);
    let (options, reports) = observed(ServeOptions { header_timeout, ..ServeOptions::default() });
    let server = Running::start(options, hello).await;
    // A connection that is silent has no request to report.
    let mut silent = server.connect().await;
    let answer = exchange(&mut server.connect().await, "GET / HTTP/1.1\r\nHost: x").await;
    let bytes = assert_has_text(&answer, "408");
    assert_eq!(soon(silent.read(&mut [0])).await.unwrap(), 0, "it is closed");
    server.wait_for_ends("no_request", 2).await;
    assert_eq!(*reports.lock().unwrap(), [("late_head", bytes, None)]);
}

#[tokio::test]
async fn a_body_that_is_read_after_the_answer_is_no_late_head() {
    let header_timeout = Duration::from_secs(1);
    let (options, reports) = observed(ServeOptions { header_timeout, ..ServeOptions::default() });
    let server = Running::start(options, async |request: Request<IncomingBody>, _| {
        tokio::spawn(async {
            // The answer is written meanwhile.
            tokio::time::sleep(Duration::from_millis(100)).await;
            let (_, mut body) = RequestBody::of(request);
            while let Some(Ok(_)) = body.next().await {}
        });
        Response::new(Body::from("hello"))
    })
    .await;
    for body in ["Content-Length: 5\r\n\r\n12345", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"] {
        let request = format!("POST / HTTP/1.1\r\nHost: x\r\n{body}");
        let answer = exchange(&mut server.connect().await, &request).await;
        assert!(
            answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nhello"),
            "{answer}"
        );
    }
    assert_eq!(*reports.lock().unwrap(), []);
}

#[tokio::test]
async fn what_is_known_of_a_refused_request_is_reported() {
    let (options, reports) = observed(ServeOptions::default());
    let server = Running::start(options.clone(), hello).await;
    let request =
        "POST /upload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n";
    let answer = exchange(&mut server.connect().await, request).await;
    let bytes = assert_has_text(&answer, "501");
    let coding = ("unknown_coding", bytes, Some("/upload".to_owned()));
    assert_eq!(*reports.lock().unwrap(), [coding]);
    reports.lock().unwrap().clear();

    let server = Running::start_tls(options, hello).await;
    let mut client = Http2Client::connect(server.address).await;
    let many: Vec<_> = (0..101).map(|_| ("x", "y")).collect();
    for (stream, fields) in [(1, &many[..]), (3, &[("a", " padded")])] {
        let block = header_block("GET", "/page", fields);
        client.send(HEADERS, END_HEADERS | END_STREAM, stream, &block).await;
        client.read_body(stream).await;
    }
    let target = || Some("/page".to_owned());
    let reported = reports.lock().unwrap();
    let names: Vec<_> = reported.iter().map(|(name, _, target)| (*name, target.clone())).collect();
    assert_eq!(names, [("head_too_large", target()), ("malformed_head", target())]);
}

#[tokio::test]
async fn a_failed_handshake_is_counted() {
    let server = Running::start_tls(ServeOptions::default(), hello).await;
    let mut stream = server.connect().await;
    stream.write_all(b"\x16\x03\x01\x00\x05hello").await.unwrap();
    let _ = soon(stream.read_to_end(&mut Vec::new())).await;
    server.wait_for_ends("tls_failed", 1).await;
}

/// An answer that the socket cannot take at once.
const UNSENT_BYTES: usize = 16 << 20;

/// Answers at once, before it has read the body, with more than the socket takes.
async fn answer_early(request: Request<IncomingBody>, _client: Client) -> Response<Body> {
    tokio::spawn(async {
        let (_, mut body) = RequestBody::of(request);
        while let Some(Ok(_)) = body.next().await {}
    });
    Response::new(Body::from(vec![b'x'; UNSENT_BYTES]))
}

/// Requests whose bodies end before their answers are sent.
const ANSWERED_EARLY: [&str; 3] = [
    "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
    "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\na: b\r\n\r\n",
];

#[tokio::test]
async fn a_refusal_waits_for_the_answer_before_it() {
    let long = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "x".repeat(70_000));
    let mut refused = refused();
    refused.push((long, "414", "target_too_long"));
    refused.push(("GET / HTTP/1.1\r\nHost".to_owned(), "408", "late_head"));
    for before in ANSWERED_EARLY {
        for (request, status, reason) in &refused {
            let large_heads = *status == "414";
            let (options, reports) = observed(ServeOptions {
                header_timeout: Duration::from_secs(1),
                header_bytes_max: if large_heads { 100_000 } else { 32_768 },
                ..ServeOptions::default()
            });
            let server = Running::start(options, answer_early).await;
            let mut stream = server.connect().await;
            stream.write_all(format!("{before}{request}").as_bytes()).await.unwrap();
            // The answer fills the socket meanwhile.
            tokio::time::sleep(Duration::from_millis(50)).await;
            let mut received = Vec::new();
            soon(stream.read_to_end(&mut received)).await.unwrap();
            let answers = String::from_utf8(received).unwrap();
            let (head, rest) = answers.split_once("\r\n\r\n").expect("an answer");
            assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
            let (body, refusal) = rest.split_at(UNSENT_BYTES.min(rest.len()));
            assert!(body.bytes().all(|byte| byte == b'x'), "{status} is within the answer");
            let bytes = assert_has_text(refusal, status);
            assert_eq!(*reports.lock().unwrap(), [(*reason, bytes, None)], "{before}");
        }
    }
}

#[tokio::test]
async fn requests_behind_an_unsent_answer_are_all_answered() {
    let server = Running::start(ServeOptions::default(), answer_early).await;
    let requests = ANSWERED_EARLY.concat().repeat(3);
    let last = "GET /?\"last\" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let whole = format!("{requests}{last}");
    for cut in [0, 1, 7, 64, 1_000] {
        let stream = server.connect().await;
        let (mut reading, mut writing) = tokio::io::split(stream);
        let sent = whole.clone();
        let write = async move {
            for piece in sent.as_bytes().chunks(if cut == 0 { usize::MAX } else { cut }) {
                writing.write_all(piece).await.unwrap();
            }
            writing
        };
        let mut received = Vec::new();
        let read = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            soon(reading.read_to_end(&mut received)).await.unwrap();
        };
        tokio::join!(write, read);
        let answers = String::from_utf8(received).unwrap();
        assert_eq!(answers.matches("HTTP/1.1 200 ").count(), 10, "cut at {cut}");
        assert_eq!(answers.matches('x').count(), 10 * UNSENT_BYTES, "cut at {cut}");
    }
}
