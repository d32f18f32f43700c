//! The server over real sockets: time limits, shutdown, and the bytes that reach the client.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::{
    Running, SOON, assert_served, beside_bystander, exchange, read_all, read_until, soon,
};
use bytes::Bytes;
use hyper::{Request, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::sleep;
use weir_net::socket::{BindOptions, Listener};
use weir_net::{Body, Client, HostGuard, IncomingBody, ServeOptions, Server, Shutdown};

const GET: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const GET_AND_CLOSE: &str = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
const HELLO_END: &str = "\r\n\r\nhello";

async fn hello(_request: Request<IncomingBody>, _client: Client) -> Response<Body> {
    Response::new(Body::from("hello"))
}

/// A short time limit, but not so short that a busy machine exceeds it between two lines of a test.
const HEADER_TIMEOUT: Duration = Duration::from_secs(1);

fn short_header_timeout() -> ServeOptions {
    ServeOptions { header_timeout: HEADER_TIMEOUT, ..ServeOptions::default() }
}

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let server = Running::start(short_header_timeout(), hello).await;
    let silence = async {
        let begun = Instant::now();
        let mut stream = server.connect().await;
        assert_eq!(read_all(&mut stream).await, "");
        assert!(begun.elapsed() >= HEADER_TIMEOUT, "closed too early");
    };
    beside_bystander(silence, || assert_served(&server)).await;
}

#[tokio::test]
async fn a_head_that_dribbles_in_is_cut_off() {
    let server = Running::start(short_header_timeout(), hello).await;
    let (mut read_half, mut write_half) = server.connect().await.into_split();
    let dribble = tokio::spawn(async move {
        let _ = write_half.write_all(b"GET / HTTP/1.1\r\nX: ").await;
        // A byte is always in flight: only a limit on the whole head can end this.
        while write_half.write_all(b"x").await.is_ok() {
            sleep(Duration::from_millis(20)).await;
        }
    });
    let answer = beside_bystander(read_all(&mut read_half), || assert_served(&server)).await;
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.ends_with("; retry\n"), "{answer}");
    soon(dribble).await.unwrap();
}

#[tokio::test]
async fn an_idle_kept_alive_connection_is_closed() {
    let server = Running::start(short_header_timeout(), hello).await;
    let mut stream = server.connect().await;
    stream.write_all(GET.as_bytes()).await.unwrap();
    read_until(&mut stream, HELLO_END).await;
    let rest = beside_bystander(read_all(&mut stream), || assert_served(&server)).await;
    assert_eq!(rest, "");
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off() {
    // Longer than a busy machine pauses between two reads of the client.
    let options = ServeOptions {
        write_timeout: Duration::from_secs(5),
        connections_max: 1,
        ..ServeOptions::default()
    };
    // More than all buffers between server and client hold.
    let handler = |_, _| async { Response::new(Body::from(vec![b'x'; 64 << 20])) };
    let server = Running::start(options, handler).await;
    let mut first = server.connect().await;
    first.write_all(GET.as_bytes()).await.unwrap();
    // The client reads slowly for a while, which does not end the connection.
    let mut some = vec![0; 1 << 20];
    for _ in 0..4 {
        first.read_exact(&mut some).await.unwrap();
        sleep(Duration::from_millis(100)).await;
    }
    // Then it stops reading, and its connection is closed in favour of the next one. Until then
    // others are refused.
    soon(async {
        loop {
            let mut next = server.connect().await;
            next.write_all(GET.as_bytes()).await.unwrap();
            let status = read_until(&mut next, "\r\n").await;
            if status.contains("200 OK") {
                return;
            }
            assert!(status.starts_with("HTTP/1.1 503 "), "{status}");
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_slow_handler_does_not_use_up_the_header_timeout() {
    let handler = |_, _| async {
        sleep(2 * HEADER_TIMEOUT).await;
        Response::new(Body::from("hello"))
    };
    let server = Running::start(short_header_timeout(), handler).await;
    let answer = exchange(&mut server.connect().await, GET_AND_CLOSE).await;
    assert!(answer.ends_with(HELLO_END), "{answer}");
}

#[tokio::test]
async fn large_heads_are_refused() {
    let options =
        ServeOptions { header_bytes_max: 8192, headers_max: 20, ..ServeOptions::default() };
    let server = Running::start(options, hello).await;
    let large = format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "x".repeat(8192));
    let many = format!("GET / HTTP/1.1\r\nHost: x\r\n{}\r\n", "X: x\r\n".repeat(20));
    let mut bystander = server.connect().await;
    for request in [large, many] {
        let (beginning, rest) = request.split_at(request.len() / 2);
        let mut stream = server.connect().await;
        stream.write_all(beginning.as_bytes()).await.unwrap();
        bystander.write_all(GET.as_bytes()).await.unwrap();
        read_until(&mut bystander, HELLO_END).await;
        let answer = exchange(&mut stream, rest).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
    assert!(exchange(&mut bystander, GET_AND_CLOSE).await.ends_with(HELLO_END));
}

#[tokio::test]
async fn a_client_may_close_its_side_and_wait() {
    let handler = |_, _| async {
        sleep(Duration::from_millis(50)).await;
        Response::new(Body::from("hello"))
    };
    let server = Running::start(ServeOptions::default(), handler).await;
    let mut stream = server.connect().await;
    stream.write_all(GET.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    assert!(read_all(&mut stream).await.ends_with(HELLO_END));
}

#[tokio::test]
async fn a_handler_notices_that_its_client_has_gone() {
    let (begun, noticed) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begun_inside, noticed_inside) = (begun.clone(), noticed.clone());
    let handler = move |_, client: Client| {
        let (begun, noticed) = (begun_inside.clone(), noticed_inside.clone());
        async move {
            begun.notify_one();
            client.sending_closed().await;
            noticed.notify_one();
            Response::new(Body::from("hello"))
        }
    };
    let server = Running::start(ServeOptions::default(), handler).await;
    // One closes its sending side, one closes the connection, and one resets it.
    let mut waiting = server.connect().await;
    waiting.write_all(GET_AND_CLOSE.as_bytes()).await.unwrap();
    soon(begun.notified()).await;
    waiting.shutdown().await.unwrap();
    soon(noticed.notified()).await;
    assert!(read_all(&mut waiting).await.ends_with(HELLO_END));
    for is_reset in [false, true] {
        let mut stream = server.connect().await;
        stream.write_all(GET.as_bytes()).await.unwrap();
        soon(begun.notified()).await;
        if is_reset {
            stream.set_zero_linger().unwrap();
        }
        drop(stream);
        soon(noticed.notified()).await;
    }
}

#[tokio::test]
async fn a_client_that_stays_is_not_taken_for_gone() {
    let handler = |_, client: Client| async move {
        tokio::select! {
            () = client.sending_closed() => Response::new(Body::from("gone")),
            () = sleep(Duration::from_millis(100)) => Response::new(Body::from("hello")),
        }
    };
    let server = Running::start(ServeOptions::default(), handler).await;
    let mut stream = server.connect().await;
    stream.write_all(GET.as_bytes()).await.unwrap();
    read_until(&mut stream, HELLO_END).await;
    // The second request arrives while the first is answered.
    stream.write_all(GET.as_bytes()).await.unwrap();
    stream.write_all(GET_AND_CLOSE.as_bytes()).await.unwrap();
    read_until(&mut stream, HELLO_END).await;
    assert!(read_all(&mut stream).await.ends_with(HELLO_END));
}

#[tokio::test]
async fn at_the_connection_limit_idle_connections_make_room() {
    let options = ServeOptions { connections_max: 2, ..ServeOptions::default() };
    let server = Running::start(options, hello).await;
    let mut kept_alive = server.connect().await;
    kept_alive.write_all(GET.as_bytes()).await.unwrap();
    read_until(&mut kept_alive, HELLO_END).await;
    let mut dribbling = server.connect().await;
    dribbling.write_all(b"GET / HT").await.unwrap();
    for _ in 0..3 {
        let begun = Instant::now();
        let mut newcomer = server.connect().await;
        newcomer.write_all(GET.as_bytes()).await.unwrap();
        read_until(&mut newcomer, HELLO_END).await;
        assert!(begun.elapsed() < Duration::from_secs(5), "long before any timeout");
    }
    assert_eq!(read_all(&mut kept_alive).await, "");
    let answer = read_all(&mut dribbling).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[tokio::test]
async fn at_the_connection_limit_without_idle_ones_newcomers_are_refused() {
    let (arrived, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (arrived_inside, release_inside) = (Arc::clone(&arrived), Arc::clone(&release));
    let handler = move |_, _| {
        let (arrived, release) = (Arc::clone(&arrived_inside), Arc::clone(&release_inside));
        async move {
            arrived.notify_one();
            release.notified().await;
            Response::new(Body::from("hello"))
        }
    };
    let options = ServeOptions { connections_max: 1, ..ServeOptions::default() };
    let server = Running::start(options, handler).await;
    let mut busy = server.connect().await;
    busy.write_all(GET.as_bytes()).await.unwrap();
    soon(arrived.notified()).await;
    for _ in 0..100 {
        let answer = exchange(&mut server.connect().await, GET).await;
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(answer.contains("Retry-After: 1") && answer.ends_with("try again later\n"));
    }
    release.notify_one();
    read_until(&mut busy, HELLO_END).await;
}

#[tokio::test]
async fn transfer_codings_other_than_one_chunked_end_the_connection() {
    let server = Running::start(ServeOptions::default(), hello).await;
    for codings in [
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: gzip, chunked",
    ] {
        let request = format!("POST / HTTP/1.1\r\nHost: x\r\n{codings}\r\n\r\n0\r\n\r\n{GET}");
        let answer = exchange(&mut server.connect().await, &request).await;
        assert!(answer.starts_with("HTTP/1.1 501 "), "{codings}: {answer}");
        assert!(answer.contains("\r\ncontent-type: text/plain; charset=utf-8\r\n"), "{answer}");
        assert!(answer.contains("send the body with `chunked`, or with `Content-Length`"));
        assert!(!answer.contains("200 OK"), "the connection has ended: {answer}");
    }
    let request = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\
                   Connection: close\r\n\r\n0\r\n\r\n";
    let answer = exchange(&mut server.connect().await, request).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test]
async fn shutdown_finishes_what_is_in_flight_and_closes_what_is_idle() {
    let (arrived, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (arrived_inside, release_inside) = (Arc::clone(&arrived), Arc::clone(&release));
    let handler = move |request: Request<IncomingBody>, _| {
        let (arrived, release) = (Arc::clone(&arrived_inside), Arc::clone(&release_inside));
        async move {
            if request.uri().path() == "/slow" {
                arrived.notify_one();
                release.notified().await;
            }
            Response::new(Body::from("hello"))
        }
    };
    let options = ServeOptions {
        grace_period: crate::common::SOON,
        header_timeout: crate::common::SOON,
        ..<_>::default()
    };
    let server = Running::start(options, handler).await;
    let address = server.address;
    let mut idle = server.connect().await;
    idle.write_all(GET.as_bytes()).await.unwrap();
    read_until(&mut idle, HELLO_END).await;
    let mut busy = server.connect().await;
    busy.write_all(GET.replace("/ ", "/slow ").as_bytes()).await.unwrap();
    soon(arrived.notified()).await;

    let served = server.stop();
    assert_eq!(read_all(&mut idle).await, "", "the idle connection closes");
    assert!(!served.is_finished(), "the request in flight is waited for");
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "the socket is closed");
    release.notify_one();
    assert!(read_all(&mut busy).await.ends_with(HELLO_END));
    soon(served).await.unwrap();
}

/// RFC 9112 section 9.6: the last response of a connection says so. A request that is pipelined after
/// it was not read, so the client can send it again.
#[tokio::test]
async fn requests_behind_an_answer_in_progress_are_answered_or_can_be_sent_again() {
    for has_begun in [true, false] {
        let (arrived, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (arrived_inside, release_inside) = (Arc::clone(&arrived), Arc::clone(&release));
        let handler = move |request: Request<IncomingBody>, _| {
            let (arrived, release) = (Arc::clone(&arrived_inside), Arc::clone(&release_inside));
            async move {
                if request.uri().path() != "/slow" {
                    return Response::new(Body::from("hello"));
                }
                if !has_begun {
                    arrived.notify_one();
                    release.notified().await;
                    return Response::new(Body::from("slow"));
                }
                let (sender, body) = Body::channel(1 << 10);
                tokio::spawn(async move {
                    sender.send(Bytes::from_static(b"begun ")).await.unwrap();
                    arrived.notify_one();
                    release.notified().await;
                    sender.send(Bytes::from_static(b"slow")).await.unwrap();
                    let _ = sender.finish();
                });
                Response::new(body)
            }
        };
        let options = ServeOptions { grace_period: SOON, header_timeout: SOON, ..<_>::default() };
        let server = Running::start(options, handler).await;
        let mut stream = server.connect().await;
        let requests = format!("{}{GET}{GET}", GET.replace("/ ", "/slow "));
        stream.write_all(requests.as_bytes()).await.unwrap();
        soon(arrived.notified()).await;
        if has_begun {
            read_until(&mut stream, "begun").await;
        }
        let served = server.stop();
        sleep(Duration::from_millis(50)).await;
        release.notify_one();
        let answers = read_all(&mut stream).await.to_ascii_lowercase();
        // The head of the first answer is out before the stop, so the second answer is the last.
        let (heads, closes) = (answers.matches("http/1.1 200").count(), "connection: close");
        assert_eq!(heads, 1, "{answers}");
        assert_eq!(answers.matches(closes).count(), 1, "{answers}");
        assert_eq!(answers.ends_with("hello"), has_begun, "{answers}");
        soon(served).await.unwrap();
    }
}

#[tokio::test]
async fn after_the_grace_period_connections_are_cut() {
    let arrived = Arc::new(Notify::new());
    let arrived_inside = Arc::clone(&arrived);
    let handler = move |_, _| {
        arrived_inside.notify_one();
        std::future::pending()
    };
    let options =
        ServeOptions { grace_period: Duration::from_millis(100), ..ServeOptions::default() };
    let server = Running::start(options, handler).await;
    let mut stream = server.connect().await;
    stream.write_all(GET.as_bytes()).await.unwrap();
    soon(arrived.notified()).await;
    soon(server.stop()).await.unwrap();
    assert_eq!(read_all(&mut stream).await, "");
}

#[tokio::test]
async fn a_panic_costs_one_connection_only() {
    let handler = |request: Request<IncomingBody>, _| async move {
        assert_ne!(request.uri().path(), "/panic", "this panic belongs to the test");
        Response::new(Body::from("hello"))
    };
    let server = Running::start(ServeOptions::default(), handler).await;
    let panicking = GET.replace("/ ", "/panic ");
    assert_eq!(exchange(&mut server.connect().await, &panicking).await, "");
    let answer = exchange(&mut server.connect().await, GET_AND_CLOSE).await;
    assert!(answer.ends_with(HELLO_END));
}

/// With Nagle's algorithm, a body of many small writes waits 40 ms for the client's delayed
/// acknowledgement in nearly each response (measured: 44 ms in 30 of 31, against 1 ms). A busy
/// machine may delay most of them, so four without a stall are enough.
#[tokio::test]
async fn many_small_parts_arrive_without_stalls() {
    let handler = |_, _| async {
        let (sender, body) = Body::channel(4);
        tokio::spawn(async move {
            for _ in 0..64 {
                sender.send(vec![b'x'; 100]).await?;
                tokio::task::yield_now().await;
            }
            sender.finish()
        });
        Response::new(body)
    };
    let server = Running::start(ServeOptions::default(), handler).await;
    let mut stream = BufReader::new(server.connect().await);
    let mut times = Vec::new();
    for _ in 0..31 {
        let begun = Instant::now();
        stream.write_all(GET.as_bytes()).await.unwrap();
        let answer = read_until(&mut stream, "\r\n0\r\n\r\n").await;
        times.push(begun.elapsed());
        assert_eq!(answer.matches('x').count(), 6400);
    }
    times.sort();
    assert!(times[3] < Duration::from_millis(30), "the shortest times are {:?}", &times[..4]);
}

#[tokio::test]
async fn an_unfinished_body_does_not_look_whole() {
    let handler = |_, _| async {
        let (sender, body) = Body::channel(4);
        tokio::spawn(async move { sender.send("half").await });
        Response::new(body)
    };
    let server = Running::start(ServeOptions::default(), handler).await;
    let answer = exchange(&mut server.connect().await, GET).await;
    assert!(!answer.contains("\r\n0\r\n"), "{answer}");
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused() {
    let handler = |request: Request<IncomingBody>, _| {
        let checked = HostGuard::loopback().check(&request);
        async move {
            let mut response = Response::new(Body::empty());
            if let Err(refused) = checked {
                *response.status_mut() = refused.status();
            }
            response
        }
    };
    let server = Running::start(ServeOptions::default(), handler).await;
    let port = server.address.port();
    for (fields, status) in [
        (format!("Host: 127.0.0.1:{port}"), 200),
        (format!("Host: LOCALHOST:{port}\r\nOrigin: http://localhost:{port}"), 200),
        ("Host: evil.example".to_owned(), 421),
        (format!("X: no-host:{port}"), 400),
        (format!("Host: localhost:{port}\r\nHost: localhost:{port}"), 400),
        (format!("Host: localhost:{port}\r\nOrigin: http://evil.example"), 403),
        (format!("Host: localhost:{port}\r\nOrigin: null"), 403),
    ] {
        let request = format!("GET / HTTP/1.1\r\n{fields}\r\nConnection: close\r\n\r\n");
        let answer = exchange(&mut server.connect().await, &request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{fields}: {answer}");
    }
}

#[tokio::test]
async fn the_handler_receives_the_peer() {
    let handler = |_, client: Client| async move {
        let peer = client.peer();
        assert!(peer.ip().is_some_and(|ip| ip.is_loopback()));
        Response::new(Body::from(peer.to_string()))
    };
    let server = Running::start(ServeOptions::default(), handler).await;
    let mut stream = server.connect().await;
    let own = stream.local_addr().unwrap().to_string();
    assert!(exchange(&mut stream, GET_AND_CLOSE).await.ends_with(&own));
}

#[tokio::test]
async fn a_server_that_hands_over_answers_once_more_on_idle_connections() {
    let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap(), &BindOptions::default()).await;
    let server = Server::new([listener.unwrap()]);
    let address = server.local_addr().unwrap();
    let options = ServeOptions { header_timeout: SOON, ..ServeOptions::default() };
    let (hand_over, handed_over) = tokio::sync::oneshot::channel();
    let shutdown = async { handed_over.await.unwrap() };
    let served = tokio::spawn(server.with_options(options).serve_until(
        hello,
        shutdown,
        std::future::pending(),
    ));
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(GET.as_bytes()).await.unwrap();
        let answer = read_until(&mut stream, "hello").await;
        assert!(!answer.contains("connection: close"), "{answer}");
        streams.push(stream);
    }
    hand_over.send(Shutdown::Handover { grace_period: SOON }).unwrap();
    // The server no longer listens, but the idle connections are open.
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    for stream in &mut streams {
        let answer = exchange(stream, GET).await;
        assert!(answer.contains("connection: close") && answer.ends_with("hello"), "{answer}");
    }
    soon(served).await.unwrap();
}

/// Starts a server that hands over at once, with a grace period of an hour, and ends at `stop`.
/// Returns it with a connection on which `sent` was sent.
async fn handing_over(
    sent: &str,
    header_timeout: Duration,
    stop: impl Future<Output = ()> + Send + 'static,
) -> (tokio::task::JoinHandle<()>, TcpStream) {
    let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap(), &BindOptions::default()).await;
    let server = Server::new([listener.unwrap()]);
    let address = server.local_addr().unwrap();
    let options = ServeOptions { header_timeout, grace_period: SOON, ..ServeOptions::default() };
    let (accepts, accepted) = tokio::sync::oneshot::channel::<()>();
    let shutdown = async {
        accepted.await.unwrap();
        Shutdown::Handover { grace_period: Duration::from_secs(3_600) }
    };
    let served = tokio::spawn(server.with_options(options).serve_until(hello, shutdown, stop));
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(sent.as_bytes()).await.unwrap();
    // Connections are accepted in order, so the other one is open when this one is answered.
    let mut second = TcpStream::connect(address).await.unwrap();
    exchange(&mut second, GET_AND_CLOSE).await;
    accepts.send(()).unwrap();
    (served, stream)
}

#[tokio::test]
async fn a_server_that_hands_over_can_be_stopped() {
    let hour = Duration::from_secs(3_600);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let stopped = async { stopped.await.unwrap() };
    let (served, mut stream) = handing_over(GET, hour, stopped).await;
    read_until(&mut stream, "hello").await;
    stop.send(()).unwrap();
    soon(served).await.unwrap();
}

#[tokio::test]
async fn a_slow_head_does_not_outlast_a_handover() {
    let start = "GET / HTTP/1.1\r\nHost: ";
    let (served, mut stream) = handing_over(start, HEADER_TIMEOUT, std::future::pending()).await;
    let mut answer = String::new();
    soon(stream.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    soon(served).await.unwrap();
}
