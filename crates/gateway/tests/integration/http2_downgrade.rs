//! Hostile requests over HTTP/2, and the bytes of them that reach a backend of HTTP/1.1.
//!
//! HTTP/2 has no lines, so a value may hold bytes that end a line of HTTP/1.1. A gateway that
//! copies them lets one client write the request of another (request smuggling).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::backends::{Backend, answer_with};
use crate::gate::{Gate, PATIENCE};
use crate::http2::{connector, data};

/// The kinds of frames that end a request (RFC 9113 section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// A name and a value.
type Line<'a> = (&'a str, &'a [u8]);

/// The name of a case, the fields of its request, and its body.
type Case = (&'static str, Vec<Line<'static>>, Option<&'static [u8]>);

/// The pseudo-header fields of a good request.
const GOOD: [Line<'static>; 4] =
    [(":method", b"POST"), (":scheme", b"https"), (":authority", b"localhost"), (":path", b"/a")];

/// A frame of the first stream of a client, or of the connection.
fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short frame").to_be_bytes();
    let stream = u32::from(kind != SETTINGS).to_be_bytes();
    [&length[1..], &[kind, flags], &stream, payload].concat()
}

/// Field lines as HPACK literals that are neither indexed nor compressed (RFC 7541 section 6.2.2),
/// so that each byte arrives as it is.
fn fields(lines: &[Line<'_>]) -> Vec<u8> {
    let mut block = Vec::new();
    let mut push = |text: &[u8]| {
        assert!(text.len() < 127, "a length of one byte");
        block.push(u8::try_from(text.len()).expect("a short text"));
        block.extend_from_slice(text);
    };
    for (name, value) in lines {
        // The length of the name follows a byte of zero.
        push(b"");
        push(name.as_bytes());
        push(value);
    }
    block
}

/// A backend that keeps what it receives, and answers each connection once.
async fn recording() -> (Backend, Arc<Mutex<Vec<u8>>>) {
    let received = Arc::new(Mutex::new(Vec::new()));
    let receives = received.clone();
    let backend = Backend::start(move |mut stream, _| {
        let receives = receives.clone();
        async move {
            let mut part = [0; 4_096];
            while let Ok(read @ 1..) = stream.read(&mut part).await {
                let text = {
                    let mut bytes = receives.lock().expect("no panic");
                    bytes.extend_from_slice(&part[..read]);
                    String::from_utf8_lossy(&bytes).into_owned()
                };
                let is_whole = match text.split_once("\r\n\r\n") {
                    Some((head, body)) if head.contains("chunked") => body.ends_with("0\r\n\r\n"),
                    Some((head, body)) => !head.contains("content-length: 2") || body.len() >= 2,
                    None => false,
                };
                if is_whole && stream.write_all(answer_with("ok").as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    })
    .await;
    (backend, received)
}

/// Sends one request over HTTP/2. Returns the kind of the frame that ends it, with its payload.
async fn ask(gate: &Gate, lines: &[Line<'_>], body: Option<&[u8]>) -> (u8, Vec<u8>) {
    let stream = TcpStream::connect(gate.address).await.expect("it accepts");
    let name = ServerName::try_from("localhost").expect("a name");
    let mut stream = connector(b"h2").connect(name, stream).await.expect("a handshake");
    let mut sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    sent.extend(frame(SETTINGS, 0, b""));
    let flags = if body.is_none() { END_HEADERS | END_STREAM } else { END_HEADERS };
    sent.extend(frame(HEADERS, flags, &fields(lines)));
    if let Some(body) = body {
        sent.extend(frame(DATA, END_STREAM, body));
    }
    stream.write_all(&sent).await.expect("it reads");
    loop {
        let mut head = [0; 9];
        let read = timeout(PATIENCE, stream.read_exact(&mut head)).await.expect("in time");
        if read.is_err() {
            return (GOAWAY, Vec::new());
        }
        let length = usize::from(head[1]) << 8 | usize::from(head[2]);
        let mut payload = vec![0; length];
        let read = timeout(PATIENCE, stream.read_exact(&mut payload)).await.expect("in time");
        if read.is_err() || matches!(head[3], HEADERS | RST_STREAM | GOAWAY) {
            return (head[3], payload);
        }
    }
}

/// The indexed field `:status: 200` (RFC 7541 appendix A).
const STATUS_200: u8 = 0x88;

async fn start() -> (Gate, Arc<Mutex<Vec<u8>>>) {
    let (backend, received) = recording().await;
    let config = format!(
        "tls = {{ certificate = {:?}, key = {:?} }}\n{}",
        data("cert.pem"),
        data("key.pem"),
        backend.config()
    );
    (Gate::start_at("tls://127.0.0.1:0", &config).await, received)
}

/// Replaces or removes the pseudo-header fields of a good request, and adds fields.
fn request<'a>(changed: &[(&str, Option<&'a [u8]>)], more: &[Line<'a>]) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'a>> = GOOD.to_vec();
    for (name, value) in changed {
        lines.retain_mut(|line| match value {
            Some(value) if line.0 == *name => {
                line.1 = value;
                true
            }
            _ => line.0 != *name,
        });
    }
    lines.extend_from_slice(more);
    lines
}

#[tokio::test]
async fn no_byte_of_a_hostile_request_reaches_the_backend() {
    const SMUGGLED: &[u8] = b"a\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: b\r\n\r\n";
    let (gate, received) = start().await;
    let get = [(":method", Some(&b"GET"[..]))];
    let with = |more: &[Line<'static>]| request(&get, more);
    let instead = |name: &'static str, value: &'static [u8]| request(&[(name, Some(value))], &[]);
    let without = |name: &'static str| request(&[(name, None)], &[]);
    let cases: Vec<Case> = vec![
        ("CR LF in a value", with(&[("x", SMUGGLED)]), None),
        ("CR in a value", with(&[("x", b"a\rb")]), None),
        ("LF in a value", with(&[("x", b"a\nb: c")]), None),
        ("NUL in a value", with(&[("x", b"a\0b")]), None),
        ("CR LF in a name", with(&[("x\r\ny", b"a")]), None),
        ("colon in a name", with(&[("x: y", b"a")]), None),
        ("space in a name", with(&[("x y", b"a")]), None),
        ("capitals in a name", with(&[("X-Name", b"a")]), None),
        ("an empty name", with(&[("", b"a")]), None),
        ("CR LF in the path", instead(":path", b"/a HTTP/1.1\r\nHost: b\r\n\r\n"), None),
        ("a space in the path", instead(":path", b"/a HTTP/1.1"), None),
        ("LF in the path", instead(":path", b"/a\nb"), None),
        ("a path without a slash", instead(":path", b"a"), None),
        ("an empty path", instead(":path", b""), None),
        ("an ambiguous path", instead(":path", b"/a/..%2fb"), None),
        ("CR LF in the method", instead(":method", b"GET / HTTP/1.1\r\nx: "), None),
        ("a space in the method", instead(":method", b"GET /"), None),
        ("an empty method", instead(":method", b""), None),
        ("a tunnel", instead(":method", b"CONNECT"), None),
        ("CR LF in the authority", instead(":authority", b"a\r\nx: y"), None),
        ("userinfo in the authority", instead(":authority", b"user@localhost"), None),
        ("an empty authority", instead(":authority", b""), None),
        ("a path in the authority", instead(":authority", b"localhost/b"), None),
        ("CR LF in the scheme", instead(":scheme", b"https\r\nx: y"), None),
        ("no method", without(":method"), None),
        ("no path", without(":path"), None),
        ("no scheme", without(":scheme"), None),
        ("no authority and no host", without(":authority"), None),
        ("two methods", with(&[(":method", b"POST")]), None),
        ("two paths", with(&[(":path", b"/b")]), None),
        ("two authorities", with(&[(":authority", b"b")]), None),
        ("an unknown pseudo-header field", with(&[(":x", b"a")]), None),
        ("a pseudo-header field of an answer", with(&[(":status", b"200")]), None),
        ("a host that differs", with(&[("host", b"b")]), None),
        ("one of two hosts differs", with(&[("host", b"localhost"), ("host", b"b")]), None),
        (
            "a transfer coding",
            request(&[], &[("transfer-encoding", b"chunked")]),
            Some(b"0\r\n\r\n"),
        ),
        ("a connection field", with(&[("connection", b"close")]), None),
        ("an upgrade", with(&[("upgrade", b"websocket")]), None),
        ("keep-alive", with(&[("keep-alive", b"timeout=5")]), None),
        ("proxy-connection", with(&[("proxy-connection", b"close")]), None),
        ("te that is not trailers", with(&[("te", b"gzip")]), None),
        ("a length with a sign", request(&[], &[("content-length", b"+2")]), Some(b"ab")),
        (
            "two lengths",
            request(&[], &[("content-length", b"2"), ("content-length", b"3")]),
            Some(b"ab"),
        ),
        ("a list of lengths", request(&[], &[("content-length", b"2, 3")]), Some(b"ab")),
        ("a length and no body", request(&[], &[("content-length", b"2")]), None),
    ];
    let mut wrong = Vec::new();
    for (name, lines, body) in &cases {
        let (kind, payload) = ask(&gate, lines, *body).await;
        if kind == HEADERS && payload.first() == Some(&STATUS_200) {
            wrong.push(format!("{name}: it is answered"));
        }
        let received = std::mem::take(&mut *received.lock().expect("no panic"));
        if !received.is_empty() {
            wrong.push(format!("{name}: {:?}", String::from_utf8_lossy(&received)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The fields that the gateway adds for a client at 127.0.0.1.
const ADDED: &str = "x-forwarded-for: 127.0.0.1\r\nx-forwarded-host: localhost\r\n\
                     x-forwarded-proto: https\r\nforwarded: for=127.0.0.1;proto=https\r\n";

#[tokio::test]
async fn requests_arrive_in_one_form() {
    let (gate, received) = start().await;
    let chunked = "2\r\nab\r\n0\r\n\r\n";
    for (name, lines, body, fields, content) in [
        ("no body", request(&[(":method", Some(&b"GET"[..]))], &[]), None, "", ""),
        ("a body", request(&[], &[]), Some(&b"ab"[..]), "transfer-encoding: chunked\r\n", chunked),
        (
            "a length",
            request(&[], &[("content-length", b"2")]),
            Some(b"ab"),
            "content-length: 2\r\n",
            "ab",
        ),
        (
            "a host that is the same",
            request(&[], &[("host", b"LOCALHOST"), ("content-length", b"2")]),
            Some(b"ab"),
            "content-length: 2\r\n",
            "ab",
        ),
        (
            "requests in a body",
            request(&[], &[]),
            Some(b"0\r\n\r\nGET /b HTTP/1.1\r\n\r\n"),
            "transfer-encoding: chunked\r\n",
            "18\r\n0\r\n\r\nGET /b HTTP/1.1\r\n\r\n\r\n0\r\n\r\n",
        ),
        (
            "fields of the gateway",
            request(
                &[],
                &[
                    ("content-length", b"2"),
                    ("x-forwarded-for", b"1.2.3.4"),
                    ("x_forwarded_for", b"1.2.3.4"),
                    ("forwarded", b"for=1.2.3.4"),
                ],
            ),
            Some(b"ab"),
            "content-length: 2\r\n",
            "ab",
        ),
    ] {
        let (kind, payload) = ask(&gate, &lines, body).await;
        assert_eq!((kind, payload.first()), (HEADERS, Some(&STATUS_200)), "{name}");
        tokio::time::sleep(Duration::from_millis(20)).await;
        let received = std::mem::take(&mut *received.lock().expect("no panic"));
        let text = String::from_utf8(received).expect("ASCII");
        let (head, rest) = text.split_once("\r\n\r\n").expect("a head");
        let mut found: Vec<&str> = head.split("\r\n").collect();
        let method = if body.is_none() { "GET" } else { "POST" };
        let expected = format!("{method} /a HTTP/1.1\r\nhost: localhost\r\n{fields}{ADDED}");
        let mut expected: Vec<&str> = expected.trim_end().split("\r\n").collect();
        assert_eq!(found[0], expected[0], "{name}: the request line comes first");
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{name}");
        assert_eq!(rest, content, "{name}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_as_long_as_announced_never_ends_well() {
    for body in [&b"a"[..], b"abc", b"abGET /smuggled HTTP/1.1\r\nHost: b\r\n\r\n"] {
        let (gate, received) = start().await;
        let (kind, payload) =
            ask(&gate, &request(&[], &[("content-length", b"2")]), Some(body)).await;
        assert!(kind != HEADERS || payload.first() != Some(&STATUS_200), "{body:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
        let received = received.lock().expect("no panic").clone();
        let text = String::from_utf8_lossy(&received);
        let content = text.split_once("\r\n\r\n").map_or("", |(_, content)| content);
        assert!(content.len() < 2 && !text.contains("smuggled"), "{text}");
    }
}
