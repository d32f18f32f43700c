//! Backends for tests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// A backend that runs a function for each connection, with the connection's number.
pub(crate) struct Backend {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Backend {
    /// Calls `serve` for each connection.
    pub(crate) async fn start<F, S>(serve: S) -> Self
    where
        S: Fn(TcpStream, usize) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, count.fetch_add(1, Ordering::SeqCst)));
            }
        });
        Self { address, connections }
    }

    /// Answers every request with the result of `answer` for its head and body.
    pub(crate) async fn answering(answer: fn(&str) -> String) -> Self {
        Self::start(move |mut stream, _| async move {
            while let Some(request) = read_request(&mut stream).await {
                if stream.write_all(answer(&request).as_bytes()).await.is_err() {
                    return;
                }
            }
        })
        .await
    }

    /// The number of connections opened so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// A configuration with only this backend.
    pub(crate) fn config(&self) -> String {
        config(&[self.address], "")
    }
}

/// A configuration that sends all requests to these servers.
pub(crate) fn config(servers: &[SocketAddr], more: &str) -> String {
    let instances: Vec<String> = servers.iter().map(|it| format!("\"http://{it}\"")).collect();
    format!(
        "[backends.one]\ninstances = [{}]\n{more}\n[[routes]]\npath = \"/\"\nbackend = \"one\"\n",
        instances.join(", ")
    )
}

/// An address that refuses connections.
pub(crate) fn nobody() -> SocketAddr {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a free port");
    let address = socket.local_addr().expect("an address");
    // It stays bound, without listening: otherwise the server of another test could get the port.
    std::mem::forget(socket);
    address
}

/// Reads a request with its body. Returns `None` at the end of the connection.
pub(crate) async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut request = Vec::new();
    loop {
        let mut byte = [0];
        if stream.read(&mut byte).await.ok()? == 0 {
            return None;
        }
        request.push(byte[0]);
        if is_whole(&request) {
            return Some(String::from_utf8_lossy(&request).into_owned());
        }
    }
}

/// Whether the head and its body have arrived completely.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let head = head.to_ascii_lowercase();
    if head.contains("transfer-encoding: chunked") {
        return body.ends_with("0\r\n\r\n");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.is_none_or(|length| length.parse() == Ok(body.len()))
}

/// An answer with this body.
pub(crate) fn answer_with(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}
