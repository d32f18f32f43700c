//! Interim responses over HTTP/1.1: they arrive before the response of the handler, and never among the
//! bytes of another one.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::{HeaderMap, HeaderValue, LINK};
use hyper::{Request, Response, StatusCode, Version};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use weir_net::{Body, Client, IncomingBody, ServeOptions};

use crate::common::{Running, exchange, read_until, soon};

fn hints(text: &str) -> HeaderMap {
    HeaderMap::from_iter([(LINK, HeaderValue::from_str(text).unwrap())])
}

#[tokio::test]
async fn hints_arrive_before_the_response_is_there() {
    let arrived = Arc::new(Notify::new());
    let notify = arrived.clone();
    let handler = move |request: Request<IncomingBody>, client: Client| {
        let arrived = arrived.clone();
        async move {
            let sender = client.interim_sender(request.version()).unwrap();
            assert!(!sender.send(StatusCode::CONTINUE, &HeaderMap::new()));
            assert!(!sender.send(StatusCode::SWITCHING_PROTOCOLS, &HeaderMap::new()));
            assert!(!sender.send(StatusCode::OK, &HeaderMap::new()));
            // One in the task of the connection, and one in another task.
            assert!(sender.send(StatusCode::EARLY_HINTS, &hints("</a>")));
            arrived.notified().await;
            let other = sender.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                assert!(other.send(StatusCode::PROCESSING, &hints("</b>")));
            });
            arrived.notified().await;
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                assert!(!sender.send(StatusCode::EARLY_HINTS, &hints("too late")));
            });
            Response::new(Body::from("done"))
        }
    };
    let server = Running::start(ServeOptions::default(), handler).await;
    let mut stream = server.connect().await;
    for _ in 0..2 {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let first = soon(read_until(&mut stream, "\r\n\r\n")).await;
        assert_eq!(first, "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n");
        notify.notify_one();
        let second = soon(read_until(&mut stream, "\r\n\r\n")).await;
        assert_eq!(second, "HTTP/1.1 102 Processing\r\nlink: </b>\r\n\r\n");
        notify.notify_one();
        let response = soon(read_until(&mut stream, "done")).await;
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
}

#[tokio::test]
async fn http_1_0_gets_no_hints() {
    let handler = |request: Request<IncomingBody>, client: Client| async move {
        assert!(client.interim_sender(Version::HTTP_2).is_none());
        let has_sender = client.interim_sender(request.version()).is_some();
        Response::new(Body::from(has_sender.to_string()))
    };
    let server = Running::start(ServeOptions::default(), handler).await;
    let answer = exchange(&mut server.connect().await, "GET / HTTP/1.0\r\n\r\n").await;
    assert!(answer.ends_with("\r\n\r\nfalse"), "{answer}");
}

const COUNT: usize = 40;
const BODY_BYTES: usize = 150_000;

/// Sends three hints with pauses, then a body that no buffer holds.
async fn large(request: Request<IncomingBody>, client: Client) -> Response<Body> {
    let path = request.uri().path().to_owned();
    let sender = client.interim_sender(request.version()).unwrap();
    for number in 0..3 {
        sender.send(StatusCode::EARLY_HINTS, &hints(&format!("<{path}/{number}>")));
        if number == 1 {
            tokio::task::yield_now().await;
        }
    }
    let letter = b'a' + u8::try_from(path.len()).unwrap() % 26;
    let mut response = Response::new(Body::from(vec![letter; BODY_BYTES]));
    response.headers_mut().insert(LINK, HeaderValue::from_str(&path).unwrap());
    response
}

/// Reads all responses of [`large`], and returns the number of hints before them.
fn check(mut bytes: &[u8]) -> usize {
    let mut hints = 0;
    for number in 0..COUNT {
        let path = format!("/{}", "x".repeat(number));
        loop {
            let end = bytes.windows(4).position(|it| it == b"\r\n\r\n").expect("a head") + 4;
            let (head, rest) = bytes.split_at(end);
            let head = std::str::from_utf8(head).expect("a head");
            bytes = rest;
            if head.starts_with("HTTP/1.1 103 ") {
                assert!(head.contains(&format!("link: <{path}/")), "{number}: {head}");
                hints += 1;
                continue;
            }
            assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{number}: {head}");
            assert!(head.contains(&format!("link: {path}\r\n")), "{number}: {head}");
            break;
        }
        let letter = b'a' + u8::try_from(path.len()).unwrap() % 26;
        let (body, rest) = bytes.split_at(BODY_BYTES);
        assert!(body.iter().all(|byte| *byte == letter), "{number}");
        bytes = rest;
    }
    assert!(bytes.is_empty());
    hints
}

/// The requests come all at once, so the next handler runs while the response before it still waits for
/// room in the socket.
#[tokio::test]
async fn hints_keep_out_of_other_responses() {
    for is_slow in [false, true] {
        let server = Running::start(ServeOptions::default(), large).await;
        let mut stream = server.connect().await;
        let requests = (0..COUNT).map(|number| {
            let close = if number + 1 == COUNT { "Connection: close\r\n" } else { "" };
            format!("GET /{} HTTP/1.1\r\nHost: x\r\n{close}\r\n", "x".repeat(number))
        });
        let requests: String = requests.collect();
        stream.write_all(requests.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        let mut part = vec![0; 30_000];
        loop {
            if is_slow && bytes.len() % 7 == 0 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            match soon(stream.read(&mut part)).await.unwrap() {
                0 => break,
                count => bytes.extend_from_slice(&part[..count]),
            }
        }
        let hints = check(&bytes);
        assert!(hints > 0, "no hint at all");
    }
}
