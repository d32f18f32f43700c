//! Scripted HTTP servers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

/// The behaviour of a server for one request.
#[derive(Clone)]
pub(crate) enum Behaviour {
    /// Sends these bytes and closes.
    Send(Vec<u8>),
    /// Waits for a permit from the test, one for each request, then sends these bytes.
    SendLater(Vec<u8>, Arc<Semaphore>),
    /// Sends the head of an answer, then repeats this part without end.
    SendForever(&'static [u8], Vec<u8>),
    /// Sends nothing and does not close.
    BeSilent,
    /// Closes without an answer.
    Close,
}

impl Behaviour {
    /// A successful answer with this body.
    pub(crate) fn body(body: &str) -> Self {
        Self::Send(answer("200 OK", body))
    }
}

/// An answer with this status and body.
pub(crate) fn answer(status: &str, body: &str) -> Vec<u8> {
    let bytes = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {bytes}\r\n\r\n{body}").into_bytes()
}

/// A server on a free port. It ends with the test's runtime.
pub(crate) struct TestServer {
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    behaviour: Mutex<Behaviour>,
    requests: AtomicUsize,
    /// The bytes of the last request.
    last: Mutex<Vec<u8>>,
}

impl TestServer {
    /// Starts a server of plain HTTP.
    pub(crate) async fn start(behaviour: Behaviour) -> Self {
        Self::start_with(behaviour, None).await
    }

    /// Starts a server, with TLS if there is an acceptor.
    pub(crate) async fn start_with(behaviour: Behaviour, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            behaviour: Mutex::new(behaviour),
            requests: AtomicUsize::new(0),
            last: Mutex::default(),
        });
        let server = Self { port, shared: Arc::clone(&shared) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (shared, tls) = (Arc::clone(&shared), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => shared.serve(stream).await,
                        Some(tls) => {
                            let Ok(stream) = tls.accept(stream).await else { return };
                            shared.serve(stream).await;
                        }
                    }
                });
            }
        });
        server
    }

    /// Serves a connection that the test itself accepted.
    #[cfg(unix)]
    pub(crate) async fn serve_one(stream: impl AsyncRead + AsyncWrite + Unpin, body: &str) {
        let behaviour = Mutex::new(Behaviour::body(body));
        let shared = Shared { behaviour, requests: AtomicUsize::new(0), last: Mutex::default() };
        shared.serve(stream).await;
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/keys?x=1", self.port)
    }

    pub(crate) fn set(&self, behaviour: Behaviour) {
        *self.shared.behaviour.lock().unwrap() = behaviour;
    }

    /// The number of requests so far.
    pub(crate) fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }

    /// The text of the last request.
    pub(crate) fn last_request(&self) -> String {
        String::from_utf8(self.shared.last.lock().unwrap().clone()).unwrap()
    }
}

impl Shared {
    async fn serve(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin) {
        let Some(request) = read_request(&mut stream).await else { return };
        *self.last.lock().unwrap() = request;
        self.requests.fetch_add(1, Ordering::SeqCst);
        let behaviour = self.behaviour.lock().unwrap().clone();
        match behaviour {
            Behaviour::Send(bytes) => send(&mut stream, &bytes).await,
            Behaviour::SendLater(bytes, permits) => {
                permits.acquire().await.unwrap().forget();
                send(&mut stream, &bytes).await;
            }
            Behaviour::SendForever(head, part) => {
                let mut sent = stream.write_all(head).await;
                while sent.is_ok() {
                    sent = stream.write_all(&part).await;
                    tokio::task::yield_now().await;
                }
            }
            Behaviour::BeSilent => {
                // Reads until the client closes.
                let _bytes = stream.read_u8().await;
            }
            Behaviour::Close => {}
        }
    }
}

/// Sends an answer. The client may have disconnected meanwhile.
async fn send(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) {
    if stream.write_all(bytes).await.is_ok() {
        let _closed = stream.shutdown().await;
    }
}

/// Reads the head of a request, and a body if it has a length.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let mut request = Vec::new();
    loop {
        request.push(stream.read_u8().await.ok()?);
        if request.ends_with(b"\r\n\r\n") {
            break;
        }
    }
    let head = String::from_utf8_lossy(&request).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.ok()?;
    request.extend_from_slice(&body);
    Some(request)
}
