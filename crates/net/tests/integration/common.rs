//! A test server, a bystander, and functions to send and receive bytes, for several tests.

use std::cell::Cell;
use std::net::SocketAddr;
use std::time::Duration;

use hyper::{Request, Response};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use weir_net::socket::{ConnectionLimit, Listener};
use weir_net::{Body, Client, IncomingBody, ServeOptions, Server};

use crate::transports::tls_options;

/// The time limit of events that are immediate on an idle machine.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// A server that runs in the background of a test.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    connections: ConnectionLimit,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

impl Running {
    pub(crate) async fn start<H, F>(options: ServeOptions, handler: H) -> Self
    where
        H: Fn(Request<IncomingBody>, Client) -> F + Send + Sync + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        Self::start_at("tcp://127.0.0.1:0", options, handler).await
    }

    /// Starts a server with TLS.
    pub(crate) async fn start_tls<H, F>(options: ServeOptions, handler: H) -> Self
    where
        H: Fn(Request<IncomingBody>, Client) -> F + Send + Sync + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        Self::start_at("tls://127.0.0.1:0", options, handler).await
    }

    async fn start_at<H, F>(address: &str, options: ServeOptions, handler: H) -> Self
    where
        H: Fn(Request<IncomingBody>, Client) -> F + Send + Sync + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let listener = Listener::bind(&address.parse().unwrap(), &tls_options()).await.unwrap();
        let server = Server::new([listener]).with_options(options);
        let connections = server.connections().clone();
        let address = server.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let shutdown = async move { stopped.await.unwrap_or_default() };
        let served = tokio::spawn(server.serve(handler, shutdown));
        Self { address, connections, stop, served }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Waits until this number of connections has ended for a reason.
    pub(crate) async fn wait_for_ends(&self, reason: &str, number: u64) {
        let is_counted = || self.connections.ends().contains(&(reason, number));
        soon(async {
            while !is_counted() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }

    /// Asks the server to shut down. The handle resolves after it has ended.
    pub(crate) fn stop(self) -> JoinHandle<()> {
        self.stop.send(()).unwrap();
        self.served
    }
}

/// The pause between two requests of a bystander.
const BYSTANDER_PAUSE: Duration = Duration::from_millis(20);

/// Carries out an attack while a bystander makes one request after another. `request` must panic if
/// its request is not answered. The first one is answered during the attack, the last one after it.
pub(crate) async fn beside_bystander<T>(
    attack: impl Future<Output = T>,
    request: impl AsyncFn(),
) -> T {
    let is_over = Cell::new(false);
    let attack = async {
        let result = attack.await;
        is_over.set(true);
        result
    };
    let bystander = async {
        request().await;
        assert!(!is_over.get(), "the first request is answered during the attack");
        while !is_over.get() {
            tokio::time::sleep(BYSTANDER_PAUSE).await;
            request().await;
        }
        request().await;
    };
    tokio::join!(attack, bystander).0
}

/// Asserts that another client is answered with `hello`, over HTTP/1.
pub(crate) async fn assert_served(server: &Running) {
    let request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let answer = exchange(&mut server.connect().await, request).await;
    assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
}

/// Sends bytes and reads until the server ends the connection.
pub(crate) async fn exchange(stream: &mut TcpStream, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    read_all(stream).await
}

/// Reads everything up to the end of the connection. A reset counts as the end.
pub(crate) async fn read_all(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut received = Vec::new();
    while let Ok(1..) = soon(stream.read_buf(&mut received)).await {}
    String::from_utf8_lossy(&received).into_owned()
}

/// Reads until `end` was received.
pub(crate) async fn read_until(stream: &mut (impl AsyncRead + Unpin), end: &str) -> String {
    let mut received = String::new();
    while !received.ends_with(end) {
        received.push(char::from(soon(stream.read_u8()).await.unwrap()));
    }
    received
}

pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(SOON, future).await.expect("this should happen soon")
}

/// A masked frame with a payload of at most 65,535 bytes; `first` holds its flags and opcode.
pub(crate) fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [0x1b, 0xad, 0xca, 0xfe];
    let mut frame = vec![first];
    match u8::try_from(payload.len()) {
        Ok(short @ ..126) => frame.push(0x80 | short),
        _ => {
            frame.push(0x80 | 126);
            frame.extend((payload.len() as u16).to_be_bytes());
        }
    }
    frame.extend(mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, key)| byte ^ key));
    frame
}

/// Reads one short frame of a server: its first byte and its payload.
pub(crate) async fn read_frame(stream: &mut (impl AsyncRead + Unpin)) -> (u8, Vec<u8>) {
    let [first, length] = [soon(stream.read_u8()).await.unwrap(), stream.read_u8().await.unwrap()];
    let length = match length {
        126 => usize::from(stream.read_u16().await.unwrap()),
        127 => stream.read_u64().await.unwrap() as usize,
        short => usize::from(short),
    };
    let mut payload = vec![0; length];
    soon(stream.read_exact(&mut payload)).await.unwrap();
    (first, payload)
}
