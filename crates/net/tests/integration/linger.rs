//! A response that comes before the end of the request reaches a client that is still sending.

use std::time::{Duration, Instant};

use hyper::{Request, Response, StatusCode};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use weir_net::{Body, Client, IncomingBody, ServeOptions};

use crate::common::{Running, exchange, read_until, soon};
use crate::http2_client::{
    ACK, DATA, END_HEADERS, END_STREAM, HEADERS, Http2Client, RST_STREAM, SETTINGS, WINDOW_UPDATE,
    header_block,
};
use crate::transports::begin_tls;

const UPLOAD: &str = "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n";
const GET_AND_CLOSE: &str = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

/// The pause between two writes of a client that finds out whether it is cut off.
const WRITE_INTERVAL: Duration = Duration::from_millis(100);

/// The server's limit on discarded bytes, and more than any buffers hold.
const BYTES_MAX: usize = 64 << 20;
const BUFFERED_BYTES: usize = 64 << 20;

/// Refuses each request with a body, without reading it.
async fn refuse(request: Request<IncomingBody>, _client: Client) -> Response<Body> {
    let mut response = Response::new(Body::from("no room"));
    if hyper::body::Body::size_hint(request.body()).lower() > 0 {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    response
}

/// Begins an upload, and waits for the first line of the response.
async fn begin_upload(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) {
    stream.write_all(UPLOAD.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    let mut line = [0; 13];
    soon(stream.read_exact(&mut line)).await.expect("a response");
    assert_eq!(&line, b"HTTP/1.1 503 ");
}

/// Sends half of an upload after the response has come, and then reads the rest of the response.
async fn assert_answered(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    begin_upload(&mut stream).await;
    for _ in 0..4 {
        soon(stream.write_all(&vec![b'x'; 1 << 20])).await.expect("the server still reads");
        stream.flush().await.unwrap();
    }
    let mut answer = String::new();
    soon(stream.read_to_string(&mut answer)).await.expect("an end without a reset");
    assert!(answer.ends_with("no room"), "{answer}");
}

#[tokio::test]
async fn a_client_that_still_sends_gets_its_refusal() {
    let server = Running::start(ServeOptions::default(), refuse).await;
    assert_answered(server.connect().await).await;
    let server = Running::start_tls(ServeOptions::default(), refuse).await;
    assert_answered(begin_tls(server.connect().await).await).await;
}

#[tokio::test]
async fn a_client_with_a_head_that_is_too_large_gets_its_refusal() {
    let server = Running::start(ServeOptions::default(), refuse).await;
    let mut stream = server.connect().await;
    let head = format!("GET / HTTP/1.1\r\nHost: x\r\nA: {}", "x".repeat(8 << 20));
    soon(stream.write_all(head.as_bytes())).await.expect("the server still reads");
    let mut answer = String::new();
    soon(stream.read_to_string(&mut answer)).await.expect("an end without a reset");
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[tokio::test]
async fn a_client_that_sends_for_ever_is_cut_off() {
    let server = Running::start(ServeOptions::default(), refuse).await;
    let mut stream = server.connect().await;
    stream.write_all(UPLOAD.as_bytes()).await.unwrap();
    let (part, mut sent) = (vec![b'x'; 1 << 20], 0);
    while soon(stream.write_all(&part)).await.is_ok() {
        sent += part.len();
        assert!(sent <= BYTES_MAX + BUFFERED_BYTES, "{sent} bytes");
    }
}

#[tokio::test]
async fn a_client_that_neither_sends_nor_closes_is_cut_off() {
    let server = Running::start(ServeOptions::default(), refuse).await;
    let mut stream = server.connect().await;
    let (begun, text) = (Instant::now(), format!("{UPLOAD}x"));
    stream.write_all(text.as_bytes()).await.unwrap();
    // Only a write detects that the server has closed.
    while soon(stream.write_all(b"x")).await.is_ok() {
        tokio::time::sleep(WRITE_INTERVAL).await;
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
    assert!(begun.elapsed() > Duration::from_secs(4), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_connection_that_waits_for_its_client_makes_room() {
    let options = ServeOptions { connections_max: 1, ..ServeOptions::default() };
    let server = Running::start(options, refuse).await;
    let mut stream = server.connect().await;
    begin_upload(&mut stream).await;
    let answer = exchange(&mut server.connect().await, GET_AND_CLOSE).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

/// A rest that is read, so that the connection can go on.
#[tokio::test]
async fn a_connection_whose_rest_is_read_makes_room() {
    let options = ServeOptions { connections_max: 1, ..ServeOptions::default() };
    let server = Running::start(options, refuse).await;
    let mut stream = server.connect().await;
    stream
        .write_all(b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
        .await
        .unwrap();
    read_refusal(&mut stream).await;
    let answer = exchange(&mut server.connect().await, GET_AND_CLOSE).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test]
async fn a_request_without_a_body_ends_its_connection_at_once() {
    let options = ServeOptions { connections_max: 1, ..ServeOptions::default() };
    let server = Running::start(options, refuse).await;
    let mut stream = server.connect().await;
    let answer = exchange(&mut stream, GET_AND_CLOSE).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    // The client keeps its side open, and its place is free all the same.
    soon(server.stop()).await.unwrap();
}

/// The initial window of a stream.
const STREAM_WINDOW_BYTES: usize = 256 << 10;

/// Begins an upload over HTTP/2, and returns the client after it has received the refusal.
async fn begin_refused_upload(server: &Running) -> Http2Client {
    let mut client = Http2Client::connect(server.address).await;
    client.receive_of(SETTINGS, 0).await;
    // From here on the windows have the size that the server has set.
    client.send(SETTINGS, ACK, 0, &[]).await;
    let fields = [("content-length", "1000000000")];
    client.send(HEADERS, END_HEADERS, 1, &header_block("PUT", "/", &fields)).await;
    assert_eq!(client.receive_of(HEADERS, 1).await.status(), 503);
    let end = client.receive_of(DATA, 1).await;
    assert_eq!((&end.payload[..], end.flags), (&b"no room"[..], END_STREAM));
    client
}

/// Sends parts of a body as the windows allow. Returns the number of bytes that were sent before
/// the stream was reset, at most `bytes_max`, and the error code of the reset.
async fn send_until_reset(client: &mut Http2Client, bytes_max: usize) -> (usize, Option<u32>) {
    const PART: usize = 16 << 10;
    let mut windows = [STREAM_WINDOW_BYTES; 2];
    let mut sent = 0;
    while sent < bytes_max {
        if windows.iter().all(|window| *window >= PART) {
            client.send(DATA, 0, 1, &[b'x'; PART]).await;
            windows = windows.map(|window| window - PART);
            sent += PART;
            continue;
        }
        let frame = client.receive().await.expect("the connection is open");
        match frame.kind {
            RST_STREAM => return (sent, Some(frame.code())),
            WINDOW_UPDATE => windows[frame.stream as usize] += frame.code() as usize,
            _ => {}
        }
    }
    (sent, None)
}

#[tokio::test]
async fn over_http_2_a_client_may_send_the_rest_of_a_refused_upload() {
    let server = Running::start_tls(ServeOptions::default(), refuse).await;
    let mut client = begin_refused_upload(&server).await;
    assert_eq!(send_until_reset(&mut client, 4 << 20).await, (4 << 20, None));
    client.get(3, "/").await;
    assert_eq!(client.read_body(3).await, b"no room", "without a reset of the upload");
}

#[tokio::test]
async fn over_http_2_the_stream_of_a_client_that_sends_for_ever_is_reset_without_an_error() {
    let server = Running::start_tls(ServeOptions::default(), refuse).await;
    let mut client = begin_refused_upload(&server).await;
    let (sent, code) = send_until_reset(&mut client, 2 * BYTES_MAX).await;
    assert_eq!(code, Some(0), "NO_ERROR after {sent} bytes");
    client.get(3, "/").await;
    assert_eq!(client.receive_of(HEADERS, 3).await.status(), 200);
}

#[tokio::test]
async fn over_http_2_the_stream_of_a_client_that_stops_is_reset_without_an_error() {
    let server = Running::start_tls(ServeOptions::default(), refuse).await;
    let begun = Instant::now();
    let mut client = begin_refused_upload(&server).await;
    assert_eq!(client.receive_of(RST_STREAM, 1).await.code(), 0);
    assert!(begun.elapsed() > Duration::from_secs(4), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn over_http_2_the_stream_of_a_handler_that_panics_is_reset_at_once() {
    // To print a backtrace may take long. The handler ends after that.
    let (ends, mut ended) = tokio::sync::mpsc::unbounded_channel();
    let handler = move |request: Request<IncomingBody>, _| {
        let end = EndTime(ends.clone());
        async move {
            let _end = end;
            assert_ne!(request.uri().path(), "/panic", "this panic belongs to the test");
            Response::new(Body::from("hello"))
        }
    };
    let server = Running::start_tls(ServeOptions::default(), handler).await;
    let mut client = Http2Client::connect(server.address).await;
    client.send(HEADERS, END_HEADERS, 1, &header_block("PUT", "/panic", &[])).await;
    client.receive_of(RST_STREAM, 1).await;
    let time = soon(ended.recv()).await.expect("the handler has ended").elapsed();
    assert!(time < Duration::from_secs(4), "{time:?}");
}

/// Sends the time when it is dropped.
struct EndTime(tokio::sync::mpsc::UnboundedSender<Instant>);

impl Drop for EndTime {
    fn drop(&mut self) {
        let _ = self.0.send(Instant::now());
    }
}

#[tokio::test]
async fn over_http_2_a_connection_with_a_refused_upload_makes_room() {
    let options = ServeOptions { connections_max: 1, ..ServeOptions::default() };
    let server = Running::start_tls(options, refuse).await;
    let _client = begin_refused_upload(&server).await;
    let begun = Instant::now();
    let mut next = Http2Client::connect_to_full(server.address).await;
    next.get(1, "/").await;
    assert_eq!(next.receive_of(HEADERS, 1).await.status(), 200);
    // The stream of the upload is reset after 5 s.
    assert!(begun.elapsed() < Duration::from_millis(4_500), "{:?}", begun.elapsed());
}

/// Reads an answer with the body `no room`, and returns its head.
async fn read_refusal(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let answer = read_until(stream, "no room").await;
    answer.to_ascii_lowercase()
}

#[tokio::test]
async fn a_refusal_does_not_cost_the_connection() {
    let server = Running::start(ServeOptions::default(), refuse).await;
    let mut stream = server.connect().await;
    for (field, body) in [
        ("Content-Length: 10", "0123456789"),
        ("Transfer-Encoding: chunked", "4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n"),
        ("Content-Length: 1", "0"),
    ] {
        let head = format!("PUT / HTTP/1.1\r\nHost: x\r\n{field}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let refusal = read_refusal(&mut stream).await;
        assert!(!refusal.contains("connection: close"), "{refusal}");
        // The client sends the body although it has the answer.
        for byte in body.bytes() {
            stream.write_all(&[byte]).await.unwrap();
            stream.flush().await.unwrap();
            tokio::task::yield_now().await;
        }
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let answer = read_refusal(&mut stream).await;
        assert!(answer.starts_with("http/1.1 200 "), "{field}: {answer}");
    }
}

#[tokio::test]
async fn a_connection_that_cannot_go_on_says_so() {
    let server = Running::start(ServeOptions::default(), refuse).await;
    for fields in ["Content-Length: 1000000000", "Content-Length: 10\r\nExpect: 100-continue"] {
        let mut stream = server.connect().await;
        let head = format!("PUT / HTTP/1.1\r\nHost: x\r\n{fields}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        soon(stream.read_to_string(&mut answer)).await.expect("an end without a reset");
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(answer.to_ascii_lowercase().contains("connection: close"), "{answer}");
    }
}
