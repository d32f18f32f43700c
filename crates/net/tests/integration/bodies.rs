//! Every kind of body over every kind of socket, byte for byte.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use bytes::Bytes;
use hyper::Response;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use weir_net::socket::{Address, BindOptions, Listener};
use weir_net::{Body, IncomingBody, Server};

use crate::common::soon;
use crate::transports::{connect_tls, tls_options};

const SIZES: [usize; 8] = [0, 1, 999, 16_384, 100_000, 1 << 20, (1 << 20) + 1, 3_500_001];

/// The bytes of every body: no two kibibytes of them are alike.
fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at / 1024 * 7 + at % 1024) as u8).collect()
}

/// A file that is removed when it is dropped.
struct Content(PathBuf);

impl Content {
    fn new(bytes: &[u8]) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("weir-body-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }

    fn open(&self) -> Arc<File> {
        Arc::new(File::open(&self.0).unwrap())
    }
}

impl Drop for Content {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

/// A body of that kind with [`content`].
fn body(kind: &str, bytes: usize) -> Body {
    let content = content(bytes);
    let part = |start: usize| Bytes::copy_from_slice(&content[start..bytes.min(start + 1000)]);
    match kind {
        "whole" => Body::from(content),
        "list" => Body::from_parts((0..bytes).step_by(1000).map(part)),
        "channel" => {
            let (sender, body) = Body::channel(10_000);
            std::thread::spawn(move || {
                content.chunks(1000).try_for_each(|part| sender.send_blocking(part.to_vec()))?;
                sender.finish()
            });
            body
        }
        "polled" => {
            let mut start = 0;
            let mut is_ready = false;
            Body::poll_fn(move |context| {
                // Every third part has to be waited for.
                is_ready = !is_ready;
                if !is_ready && start % 3000 == 0 {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                let end = content.len().min(start + 1000);
                let part = Bytes::copy_from_slice(&content[start..end]);
                start = end;
                Poll::Ready((!part.is_empty()).then_some(Ok(part)))
            })
        }
        _ => {
            // The bytes around the range must not be sent.
            let around = [b"before", &content[..], b"behind"].concat();
            Body::file(Content::new(&around).open(), 6..6 + bytes as u64)
        }
    }
}

/// Answers `/KIND/BYTES`.
fn serve(listener: Listener) {
    let handler = |request: hyper::Request<IncomingBody>, _| async move {
        let path = request.uri().path().trim_start_matches('/').to_owned();
        let (kind, bytes) = path.split_once('/').unwrap();
        Response::new(body(kind, bytes.parse().unwrap()))
    };
    tokio::spawn(Server::new([listener]).serve(handler, std::future::pending()));
}

/// Reads one response: its head, and its body without chunk heads.
async fn response(stream: &mut (impl AsyncRead + Unpin)) -> (String, Vec<u8>) {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(soon(stream.read_line(&mut head)).await.unwrap(), 0, "{head}");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = Vec::new();
    if let Some(length) = length {
        body.resize(length.parse().unwrap(), 0);
        soon(stream.read_exact(&mut body)).await.unwrap();
        return (head, body);
    }
    loop {
        let mut size = String::new();
        soon(stream.read_line(&mut size)).await.unwrap();
        let size = usize::from_str_radix(size.trim_end(), 16).unwrap();
        let start = body.len();
        body.resize(start + size + 2, 0);
        soon(stream.read_exact(&mut body[start..])).await.unwrap();
        assert_eq!(body.split_off(start + size), b"\r\n");
        if size == 0 {
            return (head, body);
        }
    }
}

/// Requests every kind and size on one connection.
async fn ask_for_all(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    for kind in ["whole", "list", "channel", "polled", "file"] {
        for bytes in SIZES {
            let request = format!("GET /{kind}/{bytes} HTTP/1.1\r\nHost: x\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
            let (head, body) = response(&mut stream).await;
            assert!(head.starts_with("HTTP/1.1 200 "), "{kind} {bytes}: {head}");
            assert!(body == content(bytes), "{kind} of {bytes} bytes: {} came", body.len());
            // An empty body may be known to be empty before it is sent.
            let is_chunked = head.contains("transfer-encoding: chunked");
            let is_made = ["channel", "polled"].contains(&kind);
            assert!(bytes == 0 || is_chunked == is_made, "{head}");
        }
    }
}

#[tokio::test]
async fn over_tcp() {
    let address: Address = "127.0.0.1:0".parse().unwrap();
    let listener = Listener::bind(&address, &BindOptions::default()).await.unwrap();
    let host = listener.local_addr().unwrap();
    serve(listener);
    ask_for_all(TcpStream::connect(host).await.unwrap()).await;
}

#[tokio::test]
async fn over_tls() {
    let address: Address = "tls://127.0.0.1:0".parse().unwrap();
    let listener = Listener::bind(&address, &tls_options()).await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    serve(listener);
    ask_for_all(connect_tls(&host).await).await;
}

#[cfg(unix)]
#[tokio::test]
async fn over_a_unix_socket() {
    let path = std::env::temp_dir().join(format!("weir-bodies-{}.sock", std::process::id()));
    let address = Address::Unix(path.clone());
    let listener = Listener::bind(&address, &BindOptions::default()).await.unwrap();
    serve(listener);
    ask_for_all(tokio::net::UnixStream::connect(&path).await.unwrap()).await;
    std::fs::remove_file(path).unwrap();
}

/// Pipelined requests are answered in order, even if some bodies are files and some are bytes.
#[tokio::test]
async fn pipelined_requests_keep_their_order() {
    let address: Address = "127.0.0.1:0".parse().unwrap();
    let listener = Listener::bind(&address, &BindOptions::default()).await.unwrap();
    let host = listener.local_addr().unwrap();
    serve(listener);
    let mut stream = BufReader::new(TcpStream::connect(host).await.unwrap());
    let kinds = ["file", "whole", "file", "file", "list"];
    let sizes = [5, 70_000, 0, 2_000_000, 4_000];
    let requests: String = kinds
        .iter()
        .zip(sizes)
        .map(|(kind, bytes)| format!("GET /{kind}/{bytes} HTTP/1.1\r\nHost: x\r\n\r\n"))
        .collect();
    stream.write_all(requests.as_bytes()).await.unwrap();
    for bytes in sizes {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            soon(stream.read_line(&mut head)).await.unwrap();
        }
        let mut body = vec![0; bytes];
        soon(stream.read_exact(&mut body)).await.unwrap();
        assert!(body == content(bytes), "{bytes} bytes");
    }
}

/// If a file has become shorter, at most its beginning is sent, and then the connection ends.
#[tokio::test]
async fn a_file_that_became_shorter_aborts_the_response() {
    for scheme in ["tcp", "tls"] {
        let address: Address = format!("{scheme}://127.0.0.1:0").parse().unwrap();
        let listener = Listener::bind(&address, &tls_options()).await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let handler = |_, _| async {
            let content = Content::new(&content(2_000_000));
            let body = Body::file(content.open(), 0..2_000_000);
            let mut file = File::options().write(true).open(&content.0).unwrap();
            file.set_len(0).unwrap();
            file.write_all(b"half").unwrap();
            Response::new(body)
        };
        tokio::spawn(Server::new([listener]).serve(handler, std::future::pending()));
        let request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        let mut received = Vec::new();
        match scheme {
            "tcp" => {
                let mut stream = TcpStream::connect(&host).await.unwrap();
                stream.write_all(request).await.unwrap();
                let _ended = soon(stream.read_to_end(&mut received)).await;
            }
            _ => {
                let mut stream = connect_tls(&host).await;
                stream.write_all(request).await.unwrap();
                let _ended = soon(stream.read_to_end(&mut received)).await;
            }
        }
        let text = String::from_utf8_lossy(&received);
        // hyper drops what it has not written when a body fails.
        let begins = text.contains("content-length: 2000000") && text.ends_with("\r\n\r\nhalf");
        assert!(begins || scheme == "tls" && text.is_empty(), "{scheme}: {text}");
    }
}

/// For an HTTP/1.0 client, such as nginx with its default upstream settings, the end of the
/// connection ends a body without a length.
#[tokio::test]
async fn an_aborted_body_is_not_taken_for_a_whole_one() {
    let server = Server::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let host = server.local_addr().unwrap();
    let may_end = Arc::new(Notify::new());
    let is_read = may_end.clone();
    let handler = move |request: hyper::Request<IncomingBody>, _| {
        let is_whole = request.uri().path() == "/whole";
        let may_end = may_end.clone();
        async move {
            let (sender, body) = Body::channel(1_000);
            tokio::spawn(async move {
                sender.send("half").await.unwrap();
                may_end.notified().await;
                if is_whole {
                    sender.finish().unwrap();
                }
            });
            Response::new(body)
        }
    };
    tokio::spawn(server.serve(handler, std::future::pending()));
    for (path, is_whole) in [("/whole", true), ("/cut", false)] {
        let mut stream = BufReader::new(TcpStream::connect(host).await.unwrap());
        let request = format!("GET {path} HTTP/1.0\r\nHost: x\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut received = String::new();
        while !received.ends_with("half") {
            received.push(char::from(soon(stream.read_u8()).await.unwrap()));
        }
        assert!(!received.contains("content-length"), "{received}");
        is_read.notify_one();
        let end = soon(stream.read_to_string(&mut received)).await;
        let error = end.err().map(|error| error.kind());
        assert_eq!(error, (!is_whole).then_some(std::io::ErrorKind::ConnectionReset), "{path}");
    }
}
