//! HTTP/2 over TLS: bodies, flow control, the limits of a connection, its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::{Request, Response};
use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;
use weir_net::{
    Body, Client, HostGuard, Http2Options, IncomingBody, RequestBody, Scheme, ServeOptions,
};

use crate::common::{Running, beside_bystander, read_all, soon};
use crate::http2_client::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, Http2Client, PING,
    RST_STREAM, SETTINGS, WINDOW_BYTES, WINDOW_UPDATE, header_block,
};
use crate::transports::connect_tls;

const REFUSED_STREAM: u32 = 7;
const CANCEL: [u8; 4] = [0, 0, 0, 8];

fn numbers(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| (index % 251) as u8).collect()
}

async fn hello(_request: Request<IncomingBody>, _client: Client) -> Response<Body> {
    Response::new(Body::from("hello"))
}

/// Bodies of all kinds, by path.
async fn bodies(request: Request<IncomingBody>, _client: Client) -> Response<Body> {
    let whole = numbers(1_000_000);
    Response::new(match request.uri().path() {
        "/whole" => Body::from(whole),
        "/parts" => Body::from_parts(whole.chunks(1_000).map(<[u8]>::to_vec)),
        "/channel" => {
            let (sender, body) = Body::channel(10_000);
            tokio::spawn(async move {
                for (index, part) in whole.chunks(777).enumerate() {
                    sender.send(part.to_vec()).await?;
                    if index % 100 == 0 {
                        tokio::task::yield_now().await;
                    }
                }
                sender.finish()
            });
            body
        }
        "/polled" => {
            let mut parts =
                whole.chunks(100_000).map(<[u8]>::to_vec).collect::<Vec<_>>().into_iter();
            Body::poll_fn(move |_| std::task::Poll::Ready(parts.next().map(|part| Ok(part.into()))))
        }
        "/empty" => Body::empty(),
        _ => Body::from("hello"),
    })
}

/// Asserts that another client is answered.
async fn assert_served(server: &Running) {
    let mut client = Http2Client::connect(server.address).await;
    client.get(1, "/").await;
    assert_eq!(client.read_body(1).await, b"hello");
}

#[tokio::test]
async fn bodies_of_all_kinds_arrive_whole() {
    let server = Running::start_tls(ServeOptions::default(), bodies).await;
    let mut client = Http2Client::connect(server.address).await;
    let paths = ["/whole", "/parts", "/channel", "/polled"];
    for (stream, path) in (1..).step_by(2).zip(paths) {
        client.get(stream, path).await;
        let body = client.read_body(stream).await;
        assert!(body == numbers(1_000_000), "{path}: {} bytes", body.len());
    }
    client.get(101, "/empty").await;
    assert_eq!(client.read_body(101).await, b"");
    let head = header_block("HEAD", "/whole", &[]);
    client.send(HEADERS, END_HEADERS | END_STREAM, 103, &head).await;
    let answer = client.receive_of(HEADERS, 103).await;
    assert_eq!((answer.status(), answer.flags & END_STREAM), (200, END_STREAM), "no body");
}

#[tokio::test]
async fn clients_without_alpn_speak_http_1() {
    let server = Running::start_tls(ServeOptions::default(), hello).await;
    let host = server.address.to_string();
    let mut stream = soon(connect_tls(&host)).await;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    assert!(read_all(&mut stream).await.starts_with("HTTP/1.1 200 OK\r\n"));
}

/// The producer of a body waits until its client opens the window.
#[tokio::test]
async fn a_client_that_does_not_read_stops_the_producer() {
    const PART: usize = 1_000;
    let produced = Arc::new(AtomicUsize::new(0));
    let counted = produced.clone();
    let handler = move |_, _| {
        let counted = counted.clone();
        async move {
            let (sender, body) = Body::channel(10_000);
            tokio::spawn(async move {
                for _ in 0..1_000 {
                    counted.fetch_add(PART, Ordering::Relaxed);
                    sender.send(vec![b'x'; PART]).await?;
                }
                sender.finish()
            });
            Response::new(body)
        }
    };
    let server = Running::start_tls(ServeOptions::default(), handler).await;
    let mut client = Http2Client::connect(server.address).await;
    client.get(1, "/").await;
    let mut received = 0;
    while received < WINDOW_BYTES {
        received += client.receive_of(DATA, 1).await.payload.len();
    }
    for _ in 0..100 {
        client.send(PING, 0, 0, &[7; 8]).await;
        while client.receive_of(PING, 0).await.flags & ACK == 0 {}
    }
    // The sum of: sent bytes, the send buffer, one batch each of hyper and the body, and the queue.
    let limit = WINDOW_BYTES + 3 * (64 << 10) + 10_000 + PART;
    let held = produced.load(Ordering::Relaxed);
    assert!(held <= limit, "{held} bytes were produced");
    client.open_windows(1, received).await;
    let rest = client.read_body(1).await;
    assert_eq!(received + rest.len(), 1_000 * PART);
}

#[tokio::test]
async fn a_stream_that_its_client_does_not_take_is_reset() {
    let options =
        ServeOptions { write_timeout: Duration::from_millis(500), ..ServeOptions::default() };
    let server = Running::start_tls(options, bodies).await;
    let mut client = Http2Client::connect(server.address).await;
    for (stream, path) in [(1, "/whole"), (3, "/channel")] {
        client.get(stream, path).await;
        let reset = client.receive_of(RST_STREAM, stream).await;
        assert_eq!(reset.payload, CANCEL);
        client.send(WINDOW_UPDATE, 0, 0, &(WINDOW_BYTES as u32).to_be_bytes()).await;
    }
    server.wait_for_ends("unread_stream", 2).await;
    assert_served(&server).await;
}

#[tokio::test]
async fn bodies_of_requests_are_received_within_the_windows() {
    let (arrived, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (arrived_inside, release_inside) = (arrived.clone(), release.clone());
    let handler = move |request: Request<IncomingBody>, _| {
        let (arrived, release) = (arrived_inside.clone(), release_inside.clone());
        async move {
            arrived.notify_one();
            release.notified().await;
            let (_, mut body) = RequestBody::of(request);
            let mut bytes = 0;
            while let Some(Ok(part)) = body.next().await {
                bytes += part.len();
            }
            Response::new(Body::from(bytes.to_string()))
        }
    };
    let server = Running::start_tls(ServeOptions::default(), handler).await;
    let mut client = Http2Client::connect(server.address).await;
    let settings = client.receive_of(SETTINGS, 0).await.payload;
    // From here on the server relies on its window for streams.
    client.send(SETTINGS, ACK, 0, &[]).await;
    let setting = |id: u16| {
        let mut pairs = settings.chunks(6).filter(|pair| pair[..2] == id.to_be_bytes());
        pairs.next().map(|pair| u32::from_be_bytes(pair[2..].try_into().unwrap()))
    };
    assert_eq!((setting(3), setting(4), setting(6)), (Some(100), Some(256 << 10), Some(32 << 10)));
    let block = header_block("PUT", "/", &[]);
    client.send(HEADERS, END_HEADERS, 1, &block).await;
    soon(arrived.notified()).await;
    // Exactly the window of the stream, for which the server has sent no update.
    for _ in 0..16 {
        client.send(DATA, 0, 1, &[b'x'; 16 << 10]).await;
    }
    release.notify_one();
    client.receive_of(WINDOW_UPDATE, 1).await;
    client.send(DATA, END_STREAM, 1, b"more").await;
    assert_eq!(client.read_body(1).await, (16 * (16 << 10) + 4).to_string().as_bytes());
}

#[tokio::test]
async fn streams_beyond_the_limit_are_refused() {
    let handler = |request: Request<IncomingBody>, _| async move {
        if request.uri().path() == "/wait" {
            std::future::pending::<()>().await;
        }
        Response::new(Body::from("hello"))
    };
    let http2 = Http2Options { streams_max: 4, ..Http2Options::default() };
    let options = ServeOptions { http2, ..ServeOptions::default() };
    let server = Running::start_tls(options, handler).await;
    let mut client = Http2Client::connect(server.address).await;
    for stream in [1, 3, 5, 7] {
        client.get(stream, "/wait").await;
    }
    client.get(9, "/").await;
    assert_eq!(client.receive_of(RST_STREAM, 9).await.code(), REFUSED_STREAM);
    assert_served(&server).await;
}

/// Requests that are cancelled at once (CVE-2023-44487).
#[tokio::test]
async fn a_client_that_cancels_its_requests_is_cut_off() {
    let begun = Arc::new(AtomicUsize::new(0));
    let counted = begun.clone();
    let handler = move |request: Request<IncomingBody>, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move {
            if request.uri().path() == "/wait" {
                std::future::pending::<()>().await;
            }
            Response::new(Body::from("hello"))
        }
    };
    let http2 = Http2Options { resets_max: 50, ..Http2Options::default() };
    let options = ServeOptions { http2, ..ServeOptions::default() };
    let server = Running::start_tls(options, handler).await;
    for waits_for_each in [true, false] {
        let mut client = Http2Client::connect(server.address).await;
        begun.store(0, Ordering::Relaxed);
        let mut sent = 0;
        for stream in (1..20_001).step_by(2) {
            let block = header_block("GET", "/wait", &[]);
            let requested =
                client.try_send(HEADERS, END_HEADERS | END_STREAM, stream, &block).await;
            if requested.is_err() || client.try_send(RST_STREAM, 0, stream, &CANCEL).await.is_err()
            {
                break;
            }
            sent += 1;
            if waits_for_each {
                let pinged = client.try_send(PING, 0, 0, &[7; 8]).await;
                if pinged.is_err() || client.receive().await.is_none() {
                    break;
                }
            }
        }
        assert!(client.read_to_end().await.len() < 10_000, "the connection ends");
        assert!(begun.load(Ordering::Relaxed) <= 200, "{begun:?} of {sent}");
        assert_served(&server).await;
    }
}

/// Header fields without an end (CVE-2024-27316).
#[tokio::test]
async fn endless_header_fields_end_the_connection() {
    let server = Running::start_tls(ServeOptions::default(), hello).await;
    let mut client = Http2Client::connect(server.address).await;
    let block = header_block("GET", "/", &[]);
    client.send(HEADERS, END_STREAM, 1, &block).await;
    let field = header_block("x", "y", &[("x-field", &"x".repeat(1_000))]);
    let field = &field[field.len() - 1_000 - 11..];
    let mut sent = 0;
    while sent < 10_000 && client.try_send(CONTINUATION, 0, 1, field).await.is_ok() {
        sent += 1;
        assert!(sent < 10_000, "10 MB of header fields were taken");
        if sent % 100 == 0 {
            assert_served(&server).await;
        }
    }
    assert!(client.read_to_end().await.iter().all(|frame| frame.kind != HEADERS));
}

#[tokio::test]
async fn large_heads_are_refused() {
    let server = Running::start_tls(ServeOptions::default(), hello).await;
    let mut bystander = Http2Client::connect(server.address).await;
    let mut bystander_streams = (1..).step_by(2);
    let mut client = Http2Client::connect(server.address).await;
    let large = "x".repeat(16_000);
    let three: Vec<_> = ["x-1", "x-2", "x-3"].map(|name| (name, &large[..])).into();
    let many: Vec<_> = (0..101).map(|_| ("x", "y")).collect();
    for (stream, fields) in [(1, three), (3, many)] {
        let block = header_block("GET", "/", &fields);
        let mut frames = block.chunks(16_000).peekable();
        let mut kind = HEADERS;
        while let Some(frame) = frames.next() {
            let end = if frames.peek().is_none() { END_HEADERS } else { 0 };
            let flags = if kind == HEADERS { end | END_STREAM } else { end };
            client.send(kind, flags, stream, frame).await;
            kind = CONTINUATION;
            let bystander_stream = bystander_streams.next().unwrap();
            bystander.get(bystander_stream, "/").await;
            assert_eq!(bystander.read_body(bystander_stream).await, b"hello");
        }
        assert_eq!(client.receive_of(HEADERS, stream).await.status(), 431);
    }
    let text = String::from_utf8(client.read_body(3).await).expect("UTF-8");
    assert_eq!(text, "the request has 101 header fields; at most 100 are allowed\n");
}

/// Frames that request nothing, with or without an answer (CVE-2019-9512, CVE-2019-9515).
#[tokio::test]
async fn floods_of_small_frames_end_the_connection() {
    let server = Running::start_tls(ServeOptions::default(), hello).await;
    for (kind, payload) in
        [(PING, &[7; 8][..]), (SETTINGS, &[]), (WINDOW_UPDATE, &[0, 0, 0, 1]), (0xfa, b"unknown")]
    {
        let client = Http2Client::connect(server.address).await;
        let (mut read_half, mut write_half) = tokio::io::split(client.stream);
        let reader =
            tokio::spawn(
                async move { tokio::io::copy(&mut read_half, &mut tokio::io::sink()).await },
            );
        let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        frame.extend([kind, 0, 0, 0, 0, 0]);
        frame.extend(payload);
        let mut frames = 0;
        while write_half.write_all(&frame.repeat(100)).await.is_ok()
            && write_half.flush().await.is_ok()
        {
            frames += 100;
            assert!(frames < 1_000_000, "type {kind}: the connection goes on");
        }
        let _ended = soon(reader).await.unwrap();
        assert_served(&server).await;
    }
}

/// A client may send many of such frames if it also sends requests and reads responses.
#[tokio::test]
async fn a_busy_client_may_send_many_small_frames() {
    let http2 = Http2Options { frames_max: 20, ..Http2Options::default() };
    let options = ServeOptions { http2, ..ServeOptions::default() };
    let server = Running::start_tls(options, bodies).await;
    let mut client = Http2Client::connect(server.address).await;
    for stream in (1..201).step_by(2) {
        for _ in 0..4 {
            client.send(PING, 0, 0, &[7; 8]).await;
        }
        client.get(stream, "/").await;
        assert_eq!(client.read_body(stream).await, b"hello");
    }
    client.get(201, "/parts").await;
    assert_eq!(client.read_body(201).await.len(), 1_000_000);
}

#[tokio::test]
async fn silent_and_idle_connections_are_closed() {
    let http2 =
        Http2Options { idle_timeout: Duration::from_millis(300), ..Http2Options::default() };
    // Longer than three handshakes take on a busy machine.
    let options =
        ServeOptions { header_timeout: Duration::from_secs(3), http2, ..ServeOptions::default() };
    let server = Running::start_tls(options, hello).await;
    let mut silent = Http2Client::connect_silent(server.address).await;
    let mut without_request = Http2Client::connect(server.address).await;
    let mut idle = Http2Client::connect(server.address).await;
    idle.get(1, "/").await;
    assert_eq!(idle.read_body(1).await, b"hello");
    let is_goaway = |frames: Vec<crate::http2_client::Frame>| {
        frames.iter().any(|frame| frame.kind == GOAWAY && frame.goaway_code() == 0)
    };
    let ends = async {
        assert!(is_goaway(idle.read_to_end().await));
        assert!(is_goaway(without_request.read_to_end().await));
        silent.read_to_end().await;
    };
    beside_bystander(ends, || assert_served(&server)).await;
}

#[tokio::test]
async fn idle_connections_make_room() {
    let options = ServeOptions { connections_max: 1, ..ServeOptions::default() };
    let server = Running::start_tls(options, hello).await;
    let mut idle = Http2Client::connect(server.address).await;
    idle.get(1, "/").await;
    assert_eq!(idle.read_body(1).await, b"hello");
    // The client does not answer the ping of a graceful shutdown.
    let mut next = Http2Client::connect_to_full(server.address).await;
    next.get(1, "/").await;
    assert_eq!(next.read_body(1).await, b"hello");
    assert!(idle.read_to_end().await.iter().any(|frame| frame.kind == GOAWAY));
}

#[tokio::test]
async fn shutdown_finishes_what_is_in_flight() {
    let (arrived, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (arrived_inside, release_inside) = (arrived.clone(), release.clone());
    let handler = move |_, _| {
        let (arrived, release) = (arrived_inside.clone(), release_inside.clone());
        async move {
            arrived.notify_one();
            release.notified().await;
            Response::new(Body::from("hello"))
        }
    };
    let options = ServeOptions { grace_period: crate::common::SOON, ..ServeOptions::default() };
    let server = Running::start_tls(options, handler).await;
    let mut client = Http2Client::connect(server.address).await;
    client.get(1, "/").await;
    soon(arrived.notified()).await;
    let served = server.stop();
    assert_eq!(client.receive_of(GOAWAY, 0).await.goaway_code(), 0);
    release.notify_one();
    loop {
        let frame = client.receive().await.expect("the answer comes");
        if frame.kind == PING {
            client.send(PING, ACK, 0, &frame.payload).await;
        }
        if frame.kind == DATA {
            assert_eq!((&frame.payload[..], frame.flags), (&b"hello"[..], END_STREAM));
            break;
        }
    }
    client.read_to_end().await;
    soon(served).await.unwrap();
}

#[tokio::test]
async fn the_authority_is_checked_as_the_host_is() {
    let handler = |request: Request<IncomingBody>, _| {
        assert_eq!(Scheme::of(&request), Scheme::Https);
        let checked = HostGuard::loopback().check(&request);
        async move {
            let mut response = Response::new(Body::empty());
            if let Err(refused) = checked {
                *response.status_mut() = refused.status();
            }
            response
        }
    };
    let server = Running::start_tls(ServeOptions::default(), handler).await;
    let mut client = Http2Client::connect(server.address).await;
    let cases = [
        (&[(":authority", "localhost:7")][..], 200),
        (&[(":authority", "localhost:7"), ("host", "localhost:7")], 200),
        (&[(":authority", "localhost:7"), ("origin", "https://localhost:7")], 200),
        (&[(":authority", "evil.example")], 421),
        (&[(":authority", "localhost:7"), ("host", "localhost:8")], 400),
        (&[(":authority", "localhost:7"), ("host", "evil.example")], 400),
        (&[(":authority", "localhost:7"), ("origin", "http://localhost:7")], 403),
        (&[(":authority", "localhost:7"), ("origin", "https://localhost:8")], 403),
        (&[(":authority", "localhost:7"), ("origin", "https://evil.example")], 403),
    ];
    for (stream, (fields, status)) in (1..).step_by(2).zip(cases) {
        let block = header_block("GET", "/", fields);
        client.send(HEADERS, END_HEADERS | END_STREAM, stream, &block).await;
        assert_eq!(client.receive_of(HEADERS, stream).await.status(), status, "{fields:?}");
    }
}
