//! Queries with bytes that must be percent-encoded, and requests around them: each handler sees what
//! its client sent, however the bytes arrive.

use http_body_util::BodyExt;
use hyper::{Request, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weir_net::{Body, Client, IncomingBody, ServeOptions};

use crate::common::{Running, exchange, read_all, soon};

/// What looks like a request, but is a part of a body.
const DECOY: &str = "x\n\r\nGET /?a=\"<> HTTP/1.1\r\nHost: x\r\n\r\n";

/// Answers with the method, the target and the body of the request.
async fn echo(request: Request<IncomingBody>, _client: Client) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let body = String::from_utf8_lossy(&body).into_owned();
    Response::new(Body::from(format!("[{} {} {body}]", parts.method, parts.uri)))
}

/// Answers without reading the body.
async fn ignore(request: Request<IncomingBody>, _client: Client) -> Response<Body> {
    Response::new(Body::from(format!("[{} {} ]", request.method(), request.uri())))
}

/// Requests, with what [`echo`] and [`ignore`] answer.
fn requests() -> Vec<(String, [String; 2])> {
    let get = |target: &str, seen: &str| {
        let seen = format!("[GET {seen} ]");
        (format!("GET {target} HTTP/1.1\r\nHost: x\r\nA: /?\"<>\r\n\r\n"), [seen.clone(), seen])
    };
    let bytes = DECOY.len();
    let post = |fields: &str, body: &str, seen: &str| {
        let head = format!("POST /?b=<1> HTTP/1.1\r\nHost: x\r\n{fields}\r\n\r\n");
        let seen = [format!("[POST /?b=%3C1%3E {seen}]"), "[POST /?b=%3C1%3E ]".to_owned()];
        (format!("{head}{body}"), seen)
    };
    let chunked = format!("{bytes:x}\r\n{DECOY}\r\n1;a=\"\r\ny\r\n0\r\n\r\n");
    vec![
        get("/?q=up{job=\"x\"}", "/?q=up{job=%22x%22}"),
        get("/plain?a|\\^`{}[]~\u{e9}", "/plain?a|\\^`{}[]~\u{e9}"),
        post(&format!("Content-Length: {bytes}"), DECOY, DECOY),
        get("/?after=<length>", "/?after=%3Clength%3E"),
        post("Content-Length: 8", "{\"a\":\"<\"", "{\"a\":\"<\""),
        post("Transfer-Encoding: chunked", &chunked, &format!("{DECOY}y")),
        post("Transfer-Encoding: chunked", "0\r\nA: b\r\n\r\n", ""),
        post("Content-Length: 0", "", ""),
        (format!("\r\n\n{}", get("/?x=\"", "").0), ["[GET /?x=%22 ]"; 2].map(str::to_owned)),
        (
            "GET /?lf=\"1 HTTP/1.1\nHost: x\n\n".to_owned(),
            ["[GET /?lf=%221 ]"; 2].map(str::to_owned),
        ),
    ]
}

/// The bodies of some answers: they are in brackets.
fn bodies(answers: &str) -> Vec<String> {
    let bodies = answers.split("\r\n\r\n[").skip(1);
    bodies.map(|rest| format!("[{}", rest.split("HTTP/1.1 ").next().unwrap())).collect()
}

/// Sends each request after the answer to the one before, in pieces of this many bytes.
async fn in_turn(server: &Running, piece_bytes: usize) -> Vec<String> {
    let mut stream = server.connect().await;
    let mut seen = Vec::new();
    for (request, expected) in requests() {
        for piece in request.as_bytes().chunks(piece_bytes) {
            stream.write_all(piece).await.unwrap();
            tokio::task::yield_now().await;
        }
        let mut answer = Vec::new();
        while !expected.iter().any(|seen| answer.ends_with(seen.as_bytes())) {
            let byte = soon(stream.read_u8()).await;
            answer.push(byte.unwrap_or_else(|_| panic!("{request}: {answer:?}")));
        }
        seen.extend(bodies(&String::from_utf8(answer).expect("UTF-8")));
    }
    seen
}

#[tokio::test]
async fn each_request_arrives_as_it_was_sent_in_pieces_of_any_size() {
    let server = Running::start(ServeOptions::default(), echo).await;
    let expected: Vec<String> = requests().into_iter().map(|(_, [seen, _])| seen).collect();
    for piece_bytes in [1, 2, 3, 5, 7, 16, 50, 64, 100, 10_000] {
        assert_eq!(in_turn(&server, piece_bytes).await, expected, "pieces of {piece_bytes}");
    }
}

#[tokio::test]
async fn bodies_that_nobody_reads_are_not_taken_for_requests() {
    let server = Running::start(ServeOptions::default(), ignore).await;
    let expected: Vec<String> = requests().into_iter().map(|(_, [_, seen])| seen).collect();
    for piece_bytes in [1, 3, 10_000] {
        let mut stream = server.connect().await;
        let (mut read_half, mut write_half) = stream.split();
        let all: String = requests().into_iter().map(|(request, _)| request).collect();
        let write = async {
            for piece in all.as_bytes().chunks(piece_bytes) {
                write_half.write_all(piece).await.unwrap();
                tokio::task::yield_now().await;
            }
            write_half.shutdown().await.unwrap();
        };
        let (answers, ()) = tokio::join!(read_all(&mut read_half), write);
        let seen = bodies(&answers);
        // A request that arrives together with the end of a chunked body is not scanned.
        const BEFORE: usize = 6;
        assert_eq!(seen[..BEFORE], expected[..BEFORE], "{answers}");
        assert_eq!(seen, expected[..seen.len()], "{answers}");
    }
}

#[tokio::test]
async fn requests_that_come_together_are_answered_in_order() {
    let server = Running::start(ServeOptions::default(), echo).await;
    let requests = &requests()[..5];
    let all: String = requests.iter().map(|(request, _)| request.as_str()).collect();
    for copies in [1, 40] {
        let mut stream = server.connect().await;
        let last = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        let answers = exchange(&mut stream, &format!("{}{last}", all.repeat(copies))).await;
        let of_all = requests.iter().map(|(_, [seen, _])| seen.clone());
        let mut expected: Vec<String> = (0..copies).flat_map(|_| of_all.clone()).collect();
        expected.push("[GET / ]".to_owned());
        assert_eq!(bodies(&answers), expected);
    }
}

#[tokio::test]
async fn a_path_with_such_bytes_is_refused() {
    let server = Running::start(ServeOptions::default(), echo).await;
    for target in ["/<", "/>?a", "/a<b?c=\"d\""] {
        let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n");
        let answer = exchange(&mut server.connect().await, &request).await;
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.ends_with("malformed\n"), "{answer}");
    }
}
