//! Connections that are served by connection threads.

use std::collections::BTreeMap;
use std::time::Duration;

use hyper::{Request, Response};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use weir_net::socket::{BindOptions, Listener};
use weir_net::{Body, Client, IncomingBody, ServeOptions, Server, connection_thread};

use crate::common::{Running, exchange, read_all, read_until, soon};
use crate::transports::begin_tls;

const GET: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const LAST_GET: &str = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

fn two_threads() -> ServeOptions {
    ServeOptions { connection_threads: 2, ..ServeOptions::default() }
}

/// Answers with the index of the thread.
async fn name_thread(_request: Request<IncomingBody>, _client: Client) -> Response<Body> {
    let thread = connection_thread().map_or("none".to_owned(), |thread| format!("thread {thread}"));
    Response::new(Body::from(thread))
}

#[tokio::test]
async fn connections_are_spread_and_stay_where_they_are() {
    let running = Running::start(two_threads(), name_thread).await;
    let mut connections = Vec::new();
    for _ in 0..4 {
        connections.push(running.connect().await);
    }
    let mut served = BTreeMap::<String, usize>::new();
    for connection in &mut connections {
        connection.write_all(GET.as_bytes()).await.unwrap();
        let head = read_until(connection, "\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let first = soon(read_until_digit(connection)).await;
        let second = exchange(connection, LAST_GET).await;
        assert!(second.ends_with(&first), "{first}, then {second}");
        *served.entry(first).or_default() += 1;
    }
    let expected = [("thread 0".to_owned(), 2), ("thread 1".to_owned(), 2)];
    assert_eq!(served, BTreeMap::from(expected));
    soon(running.stop()).await.unwrap();
}

/// Reads a body that ends in a digit.
async fn read_until_digit(connection: &mut tokio::net::TcpStream) -> String {
    use tokio::io::AsyncReadExt;

    let mut body = String::new();
    while !body.ends_with(|last: char| last.is_ascii_digit()) {
        body.push(char::from(connection.read_u8().await.unwrap()));
    }
    body
}

#[tokio::test]
async fn tls_is_served_by_them_too() {
    let running = Running::start_tls(two_threads(), name_thread).await;
    let mut stream = begin_tls(running.connect().await).await;
    stream.write_all(LAST_GET.as_bytes()).await.unwrap();
    let answer = read_all(&mut stream).await;
    assert!(answer.contains("\r\n\r\nthread "), "{answer}");
}

#[cfg(unix)]
#[tokio::test]
async fn unix_sockets_are_served_by_them_too() {
    let name = format!("weir-connection-threads-{}.socket", std::process::id());
    let path = std::env::temp_dir().join(name);
    let address = format!("unix:{}", path.display()).parse().unwrap();
    let listener = Listener::bind(&address, &BindOptions::default()).await.unwrap();
    let server = Server::new([listener]).with_options(two_threads());
    tokio::spawn(server.serve(name_thread, std::future::pending()));
    let mut stream = tokio::net::UnixStream::connect(&path).await.unwrap();
    stream.write_all(LAST_GET.as_bytes()).await.unwrap();
    let answer = read_all(&mut stream).await;
    std::fs::remove_file(&path).unwrap();
    assert!(answer.contains("\r\n\r\nthread "), "{answer}");
}

/// Requests must not need the listener's runtime. Here it has a single thread, which is blocked.
#[tokio::test]
async fn a_busy_runtime_of_the_server_holds_up_no_connection() {
    let running = Running::start(two_threads(), name_thread).await;
    let mut connection = running.connect().await;
    connection.write_all(GET.as_bytes()).await.unwrap();
    read_until(&mut connection, "\r\n\r\nthread ").await;
    let mut connection = connection.into_std().unwrap();
    // No `await` from here on.
    use std::io::{Read, Write};
    connection.set_nonblocking(false).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    connection.write_all(LAST_GET.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("\r\n\r\nthread "), "{answer}");
}

#[tokio::test]
async fn a_stop_waits_for_requests_in_progress_on_them() {
    let (arrived, mut arrivals) = mpsc::unbounded_channel();
    let (go_on, goes_on) = tokio::sync::watch::channel(false);
    let handler = move |_request, _client: Client| {
        let (arrived, mut goes_on) = (arrived.clone(), goes_on.clone());
        async move {
            arrived.send(()).unwrap();
            goes_on.wait_for(|it| *it).await.unwrap();
            Response::new(Body::from("at the end"))
        }
    };
    let running = Running::start(two_threads(), handler).await;
    let mut connection = running.connect().await;
    connection.write_all(GET.as_bytes()).await.unwrap();
    soon(arrivals.recv()).await.unwrap();
    let served = running.stop();
    go_on.send(true).unwrap();
    let answer = read_all(&mut connection).await;
    assert!(answer.ends_with("at the end"), "{answer}");
    soon(served).await.unwrap();
}

/// Tasks that a handler has started on a connection thread are dropped when the server has ended.
#[tokio::test]
async fn what_is_left_on_them_ends_with_the_server() {
    let (held, mut ended) = mpsc::unbounded_channel::<()>();
    let (arrived, mut arrivals) = mpsc::unbounded_channel();
    let handler = move |_request, _client: Client| {
        let (held, arrived) = (held.clone(), arrived.clone());
        async move {
            tokio::spawn(async move {
                arrived.send(()).unwrap();
                std::future::pending::<()>().await;
                drop(held);
            });
            Response::new(Body::from("begun"))
        }
    };
    let running = Running::start(two_threads(), handler).await;
    let mut connection = running.connect().await;
    assert!(exchange(&mut connection, LAST_GET).await.ends_with("begun"));
    soon(arrivals.recv()).await.unwrap();
    soon(running.stop()).await.unwrap();
    assert_eq!(ended.try_recv(), Err(mpsc::error::TryRecvError::Disconnected));
}
