//! Listeners behind proxies that speak the PROXY protocol.

use std::sync::{Arc, Mutex};

use hyper::Response;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, UnixStream};
use weir_net::socket::{BindOptions, Listener, PeerFilter, ProxyHeaderError, ProxyProtocol};
use weir_net::{Body, ServeOptions, Server};

use crate::common::{read_all, read_until, soon};
use crate::transports::{begin_tls, tls_options};

/// A server that answers with the address of the client.
struct Proxied {
    listening_at: String,
    /// The reasons for which connections were closed.
    closed: Arc<Mutex<Vec<String>>>,
}

impl Proxied {
    async fn start(address: &str, senders: PeerFilter, options: ServeOptions) -> Self {
        let closed = Arc::new(Mutex::new(Vec::new()));
        let heard = closed.clone();
        let hear = move |_, error: ProxyHeaderError| {
            heard.lock().unwrap().push(error.to_string());
        };
        let proxy_protocol = Some(ProxyProtocol::new(senders, hear));
        let bind = BindOptions { proxy_protocol, ..tls_options() };
        let listener = Listener::bind(&address.parse().unwrap(), &bind).await.unwrap();
        let listening_at = listener.address().to_string();
        let listening_at =
            listening_at.split_once(':').unwrap().1.trim_start_matches('/').to_owned();
        let server = Server::new([listener]).with_options(options);
        tokio::spawn(server.serve(
            |_, client| async move { Response::new(Body::from(format!("from {}", client.peer()))) },
            std::future::pending(),
        ));
        Self { listening_at, closed }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.listening_at).await.unwrap()
    }
}

fn everybody() -> PeerFilter {
    PeerFilter::new(|_| true)
}

const REQUEST: &str = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/// Version 2, from 203.0.113.9:4660, with an extension.
const BINARY: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x10\
                        \xcb\x00\x71\x09\x0a\x00\x00\x01\x12\x34\x01\xbb\x04\x00\x01x";

#[tokio::test]
async fn the_header_names_the_client() {
    let server = Proxied::start("tcp://127.0.0.1:0", everybody(), ServeOptions::default()).await;
    for (header, expected) in [
        (&b"PROXY TCP4 203.0.113.9 10.0.0.1 4660 443\r\n"[..], "from 203.0.113.9:4660"),
        (b"PROXY TCP6 2001:db8::7 ::1 4660 443\r\n", "from [2001:db8::7]:4660"),
        (BINARY, "from 203.0.113.9:4660"),
        (b"PROXY UNKNOWN\r\n", "from 127.0.0.1:"),
        (b"\r\n\r\n\0\r\nQUIT\n\x20\x00\x00\x00", "from 127.0.0.1:"),
    ] {
        for is_whole in [true, false] {
            let mut stream = server.connect().await;
            let bytes = [header, REQUEST.as_bytes()].concat();
            let pieces = if is_whole { bytes.chunks(bytes.len()) } else { bytes.chunks(1) };
            for piece in pieces {
                stream.write_all(piece).await.unwrap();
            }
            let answer = read_all(&mut stream).await;
            assert!(answer.contains(expected), "{header:?}: {answer}");
        }
    }
    assert!(server.closed.lock().unwrap().is_empty());
}

#[tokio::test]
async fn connections_without_a_valid_header_are_closed() {
    let server = Proxied::start("tcp://127.0.0.1:0", everybody(), ServeOptions::default()).await;
    for bytes in [REQUEST.as_bytes(), b"PROXY TCP4 1.1.1.1\r\n\r\n", b"\r\n\r\n\0\r\nQUIT\n\x31"] {
        let mut stream = server.connect().await;
        stream.write_all(bytes).await.unwrap();
        stream.shutdown().await.unwrap();
        assert_eq!(read_all(&mut stream).await, "", "{bytes:?}");
    }
    assert_eq!(server.closed.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn others_cannot_name_a_client() {
    let nobody = PeerFilter::default();
    let server = Proxied::start("tcp://127.0.0.1:0", nobody, ServeOptions::default()).await;
    for header in [BINARY, b""] {
        let mut stream = server.connect().await;
        stream.write_all(&[header, REQUEST.as_bytes()].concat()).await.unwrap();
        assert_eq!(read_all(&mut stream).await, "");
    }
    let closed = server.closed.lock().unwrap();
    assert_eq!(*closed, ["the peer is not trusted to send one"; 2]);
}

#[tokio::test]
async fn peers_of_unix_sockets_may_name_a_client() {
    let path = std::env::temp_dir().join(format!("weir-proxied-{}.sock", std::process::id()));
    let address = format!("unix:{}", path.display());
    let _server = Proxied::start(&address, PeerFilter::default(), ServeOptions::default()).await;
    let mut stream = UnixStream::connect(&path).await.unwrap();
    stream.write_all(&[BINARY, REQUEST.as_bytes()].concat()).await.unwrap();
    assert!(read_all(&mut stream).await.contains("from 203.0.113.9:4660"));
}

#[tokio::test]
async fn the_header_comes_before_tls() {
    let server = Proxied::start("tls://127.0.0.1:0", everybody(), ServeOptions::default()).await;
    let mut stream = server.connect().await;
    stream.write_all(BINARY).await.unwrap();
    let mut stream = begin_tls(stream).await;
    stream.write_all(REQUEST.as_bytes()).await.unwrap();
    assert!(read_all(&mut stream).await.contains("from 203.0.113.9:4660"));
}

#[tokio::test(start_paused = true)]
async fn a_late_header_is_not_waited_for() {
    let server = Proxied::start("tcp://127.0.0.1:0", everybody(), ServeOptions::default()).await;
    let mut stream = server.connect().await;
    stream.write_all(b"PROXY TCP4 ").await.unwrap();
    assert_eq!(read_all(&mut stream).await, "");
    assert_eq!(*server.closed.lock().unwrap(), ["it did not arrive in time"]);
}

#[tokio::test]
async fn the_limit_of_a_client_is_that_of_its_own_address() {
    let options = ServeOptions {
        connections_per_address_max: 1,
        limits_loopback: true,
        ..ServeOptions::default()
    };
    let server = Proxied::start("tcp://127.0.0.1:0", everybody(), options).await;
    let mut open = Vec::new();
    for (client, expected) in [
        ("203.0.113.1", "from 203.0.113.1:1"),
        ("203.0.113.2", "from 203.0.113.2:1"),
        ("203.0.113.1", "429"),
    ] {
        let mut stream = server.connect().await;
        let header = format!("PROXY TCP4 {client} 10.0.0.1 1 2\r\n");
        let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        stream.write_all((header + request).as_bytes()).await.unwrap();
        let answer = read_until(&mut stream, expected).await;
        assert!(answer.starts_with("HTTP/1.1 "), "{answer}");
        open.push(stream);
    }
    soon(async { drop(open) }).await;
}

/// Sends a request after a PROXY header. The connection stays open.
async fn ask_as(server: &Proxied, client: &str) -> TcpStream {
    let mut stream = server.connect().await;
    let header = format!("PROXY TCP4 {client} 10.0.0.1 1 2\r\n");
    let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    stream.write_all((header + request).as_bytes()).await.unwrap();
    stream
}

const FIRST: &str = "203.0.113.1";
const OTHER: &str = "203.0.113.2";

#[tokio::test]
async fn a_refused_client_takes_no_place() {
    let options = ServeOptions {
        connections_max: 2,
        connections_per_address_max: 1,
        ..ServeOptions::default()
    };
    let server = Proxied::start("tcp://127.0.0.1:0", everybody(), options).await;
    let mut first = ask_as(&server, FIRST).await;
    read_until(&mut first, "from 203.0.113.1:1").await;
    let mut refused = ask_as(&server, FIRST).await;
    read_until(&mut refused, "429").await;
    // The refused client is still connected, and both others fit beside it.
    let mut other = ask_as(&server, OTHER).await;
    read_until(&mut other, "from 203.0.113.2:1").await;
    first.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    read_until(&mut first, "from 203.0.113.1:1").await;
    drop(refused);
}

/// The number of clients that are being told at a time why they are refused is limited: to a third
/// of this flood.
#[tokio::test]
async fn a_flood_from_one_client_keeps_no_other_out() {
    const FLOOD: usize = 400;
    let options = ServeOptions { connections_per_address_max: 1, ..ServeOptions::default() };
    let server = Proxied::start("tcp://127.0.0.1:0", everybody(), options).await;
    let mut first = ask_as(&server, FIRST).await;
    read_until(&mut first, "from 203.0.113.1:1").await;
    let mut flood = Vec::new();
    for _ in 0..FLOOD {
        flood.push(ask_as(&server, FIRST).await);
    }
    let mut other = ask_as(&server, OTHER).await;
    read_until(&mut other, "from 203.0.113.2:1").await;
    let mut told = 0;
    for stream in &mut flood {
        let answer = read_all(stream).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 429 "), "{answer}");
        told += usize::from(!answer.is_empty());
    }
    assert!((1..FLOOD).contains(&told), "{told} of {FLOOD} were told why");
}

#[tokio::test]
async fn connections_without_a_header_make_room() {
    let options = ServeOptions { connections_max: 2, ..ServeOptions::default() };
    let server = Proxied::start("tcp://127.0.0.1:0", everybody(), options).await;
    let mut silent = [server.connect().await, server.connect().await];
    let mut other = ask_as(&server, OTHER).await;
    read_until(&mut other, "from 203.0.113.2:1").await;
    assert_eq!(read_all(&mut silent[0]).await, "", "the oldest is closed");
    // The overall limit also holds for clients that are not known yet, so only one more fits.
    let mut third = ask_as(&server, FIRST).await;
    read_until(&mut third, "from 203.0.113.1:1").await;
    assert_eq!(read_all(&mut silent[1]).await, "");
    assert!(server.closed.lock().unwrap().is_empty(), "they were not late");
}
