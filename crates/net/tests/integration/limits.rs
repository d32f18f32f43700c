//! The limits of a server. In each test another client is not affected.

use std::time::Duration;

use hyper::{Request, Response, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weir_net::{Body, BodyRate, Client, IncomingBody, RequestBody, RequestBodyError, ServeOptions};

use crate::common::{Running, assert_served, exchange, read_all, read_until, soon};

const GET: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const GET_AND_CLOSE: &str = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

async fn hello(_request: Request<IncomingBody>, _client: Client) -> Response<Body> {
    Response::new(Body::from("hello"))
}

#[tokio::test]
async fn an_address_has_a_share_of_the_connections() {
    let options = ServeOptions {
        connections_per_address_max: 3,
        limits_loopback: true,
        ..ServeOptions::default()
    };
    let server = Running::start(options, hello).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        let mut stream = server.connect().await;
        stream.write_all(GET.as_bytes()).await.unwrap();
        read_until(&mut stream, "hello").await;
        open.push(stream);
    }
    for _ in 0..200 {
        let answer = exchange(&mut server.connect().await, GET).await;
        assert!(answer.starts_with("HTTP/1.1 429 "), "{answer}");
        assert!(answer.contains("too many connections"), "{answer}");
    }
    server.wait_for_ends("address_full", 200).await;
    let bystander = tokio::net::TcpSocket::new_v4().unwrap();
    bystander.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut bystander = bystander.connect(server.address).await.unwrap();
    assert!(exchange(&mut bystander, GET_AND_CLOSE).await.ends_with("hello"));
    // Open connections stay open, and one that closes makes room.
    for stream in &mut open {
        stream.write_all(GET.as_bytes()).await.unwrap();
        read_until(stream, "hello").await;
    }
    open.pop();
    soon(async {
        while !exchange(&mut server.connect().await, GET_AND_CLOSE).await.ends_with("hello") {}
    })
    .await;
}

/// A burst of three times as many refused clients as the server notifies does not keep others out.
#[tokio::test]
async fn a_flood_from_one_address_keeps_no_other_out() {
    let options = ServeOptions {
        connections_per_address_max: 1,
        limits_loopback: true,
        ..ServeOptions::default()
    };
    let server = Running::start(options, hello).await;
    let mut flood = Vec::new();
    for _ in 0..200 {
        flood.push(server.connect().await);
    }
    let bystander = tokio::net::TcpSocket::new_v4().unwrap();
    bystander.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut bystander = bystander.connect(server.address).await.unwrap();
    assert!(exchange(&mut bystander, GET_AND_CLOSE).await.ends_with("hello"));
}

/// Answers after the body is read, or with the error of reading it.
async fn read_body(request: Request<IncomingBody>, _client: Client) -> Response<Body> {
    let (_, mut body) = RequestBody::of(request);
    let mut bytes = 0;
    loop {
        match body.next().await {
            Some(Ok(part)) => bytes += part.len(),
            None if bytes == 0 => return Response::new(Body::from("hello")),
            None => return Response::new(Body::from(bytes.to_string())),
            Some(Err(error)) => {
                let mut response = Response::new(Body::from(error.to_string()));
                *response.status_mut() = match error {
                    RequestBodyError::TooSlow(_) => StatusCode::REQUEST_TIMEOUT,
                    RequestBodyError::Broken => StatusCode::BAD_REQUEST,
                };
                return response;
            }
        }
    }
}

#[tokio::test]
async fn a_body_that_trickles_in_is_given_up() {
    let body_rate = BodyRate { bytes_per_s: 1e6, grace: Duration::from_millis(500) };
    let options = ServeOptions { body_rate, ..ServeOptions::default() };
    let server = Running::start(options, read_body).await;
    let (mut read_half, mut write_half) = server.connect().await.into_split();
    let trickle = tokio::spawn(async move {
        let head = "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n";
        let _ = write_half.write_all(head.as_bytes()).await;
        // A byte is always in flight.
        while write_half.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    assert_served(&server).await;
    let answer = read_all(&mut read_half).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(
        answer.ends_with("the client sent less than 1000000 bytes a second for 0.5 s"),
        "{answer}"
    );
    server.wait_for_ends("slow_body", 1).await;
    soon(trickle).await.unwrap();
    // A client that sends at once is not cut off.
    let body = "x".repeat(100_000);
    let request = format!(
        "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\nConnection: close\r\n\r\n{body}"
    );
    let answer = exchange(&mut server.connect().await, &request).await;
    assert!(answer.ends_with("\r\n\r\n100000"), "{answer}");
}

/// A slow download is not closed to make room, because it is not idle.
#[tokio::test]
async fn a_long_download_is_not_idle() {
    const BYTES: usize = 64 << 20;
    let handler = |_, _| async { Response::new(Body::from(vec![b'x'; BYTES])) };
    let options = ServeOptions { connections_max: 1, ..ServeOptions::default() };
    let server = Running::start(options, handler).await;
    let mut slow = server.connect().await;
    slow.write_all(GET.as_bytes()).await.unwrap();
    read_until(&mut slow, "\r\n\r\n").await;
    let mut received = 0;
    let mut some = vec![0; 1 << 20];
    for _ in 0..3 {
        slow.read_exact(&mut some).await.unwrap();
        received += some.len();
        let answer = exchange(&mut server.connect().await, GET).await;
        assert!(answer.starts_with("HTTP/1.1 503 "), "{}", &answer[..12]);
    }
    while received < BYTES {
        received += soon(slow.read(&mut some)).await.unwrap();
    }
    // The whole body was sent, and the connection was not asked to close meanwhile.
    slow.write_all(GET.as_bytes()).await.unwrap();
    let head = read_until(&mut slow, "\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200 ") && !head.contains("close"), "{head}");
}

#[tokio::test]
async fn ended_connections_are_counted_by_reason() {
    let options = ServeOptions {
        connections_max: 1,
        // The connection must last until the next one is refused.
        write_timeout: Duration::from_secs(2),
        header_timeout: Duration::from_secs(1),
        ..ServeOptions::default()
    };
    let handler = |_, _| async { Response::new(Body::from(vec![b'x'; 64 << 20])) };
    let server = Running::start(options, handler).await;
    let mut unread = server.connect().await;
    unread.write_all(GET.as_bytes()).await.unwrap();
    read_until(&mut unread, "\r\n\r\n").await;
    let refused = exchange(&mut server.connect().await, GET).await;
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    server.wait_for_ends("server_full", 1).await;
    server.wait_for_ends("unread", 1).await;
    let idle = server.connect().await;
    let late = server.connect().await;
    server.wait_for_ends("made_room", 1).await;
    server.wait_for_ends("no_request", 1).await;
    drop((idle, late));
}

/// At the limit of all connections, a client at its own limit is refused, and no other connection
/// closes for it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_connection_makes_room_for_a_client_that_is_refused() {
    let options = ServeOptions {
        connections_max: 1,
        connections_per_address_max: 1,
        limits_loopback: true,
        ..ServeOptions::default()
    };
    let server = Running::start(options, hello).await;
    let mut idle = server.connect().await;
    idle.write_all(GET.as_bytes()).await.unwrap();
    read_until(&mut idle, "hello").await;
    let refused = exchange(&mut server.connect().await, GET).await;
    assert!(refused.starts_with("HTTP/1.1 429 "), "{refused}");
    idle.write_all(GET.as_bytes()).await.unwrap();
    read_until(&mut idle, "hello").await;
}
