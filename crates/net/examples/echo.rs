//! A server that echoes every WebSocket message and every body. The suites of `cargo xtask abuse`
//! test it, in addition to Weir itself.
//!
//!     echo ADDRESS...
//!
//! It prints its addresses, one a line. `/next` reads WebSockets with
//! [`SocketReader::next`](weir_net::websocket::SocketReader::next), `/next_into` with
//! [`SocketReader::next_into`](weir_net::websocket::SocketReader::next_into). A request is answered after the
//! end of its body, so that h2spec finds half-open streams. The limits allow many idle connections.

use std::path::PathBuf;
use std::time::Duration;

use hyper::{Request, Response};
use weir_net::socket::{BindOptions, Listener, TlsFiles, reserve_connections};
use weir_net::websocket::{
    BufferEvent, SocketError, SocketEvent, SocketOptions, SocketWriter, UpgradedStream, WebSocket,
    accept,
};
use weir_net::{Body, Client, Http2Options, IncomingBody, RequestBody, ServeOptions, Server};

/// The largest message or body, in bytes: twice what the Autobahn TestSuite sends.
const MESSAGE_BYTES_MAX: usize = 32 << 20;

/// The maximum number of bytes that one call of `next_into` reads. Most messages take several
/// calls.
const SPACE_BYTES: usize = 4 << 10;

/// The maximum number of connections: more than a suite opens.
const CONNECTIONS_MAX: usize = 16_384;

/// The idle time limit: longer than a suite takes.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = |name| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let tls = Some(TlsFiles { certificate: data("cert.pem"), key: data("key.pem") });
    let options = BindOptions { tls, ..BindOptions::default() };
    let mut listeners = Vec::new();
    for address in std::env::args().skip(1) {
        let listener = Listener::bind(&address.parse()?, &options).await?;
        println!("{}", listener.address());
        listeners.push(listener);
    }
    Server::new(listeners).with_options(limits()).serve(answer, std::future::pending()).await;
    Ok(())
}

fn limits() -> ServeOptions {
    ServeOptions {
        connections_max: reserve_connections(CONNECTIONS_MAX).connections_max,
        header_timeout: IDLE_TIMEOUT,
        http2: Http2Options { idle_timeout: IDLE_TIMEOUT, ..Http2Options::default() },
        ..ServeOptions::default()
    }
}

async fn answer(mut request: Request<IncomingBody>, _client: Client) -> Response<Body> {
    let reads_into_space = match request.uri().path() {
        "/next" => false,
        "/next_into" => true,
        _ => return Response::new(body(request).await),
    };
    let (response, upgrade) = match accept(&mut request) {
        Ok(accepted) => accepted,
        Err(error) => {
            let mut response = Response::new(Body::from(error.to_string()));
            error.set_on(&mut response);
            return response;
        }
    };
    let options = SocketOptions { text_bytes_max: MESSAGE_BYTES_MAX, ..SocketOptions::default() };
    tokio::spawn(async move {
        let socket = upgrade.websocket(options).await?;
        if reads_into_space { echo_next_into(socket).await } else { echo_next(socket).await }
    });
    response
}

/// Reads the body of a request to its end and returns it; a greeting if it is empty.
async fn body(request: Request<IncomingBody>) -> Body {
    let (_, mut received) = RequestBody::of(request);
    let mut bytes = Vec::new();
    while let Some(Ok(part)) = received.next().await {
        bytes.extend_from_slice(&part);
        if bytes.len() > MESSAGE_BYTES_MAX {
            return Body::empty();
        }
    }
    if bytes.is_empty() { Body::from("hello") } else { Body::from(bytes) }
}

async fn echo_next(socket: WebSocket<UpgradedStream>) -> Result<(), SocketError> {
    let (mut reader, writer) = socket.split();
    let mut message = Message::default();
    while let Some(event) = reader.next().await? {
        match event {
            SocketEvent::Text(text) => writer.send_text(text).await?,
            SocketEvent::Binary { bytes, end_of_message } => {
                message.add(bytes, end_of_message, &writer).await?;
            }
            SocketEvent::Pong(_) => {}
        }
    }
    Ok(())
}

async fn echo_next_into(socket: WebSocket<UpgradedStream>) -> Result<(), SocketError> {
    let (mut reader, writer) = socket.split();
    let mut message = Message::default();
    let mut space = [0; SPACE_BYTES];
    while let Some(event) = reader.next_into(&mut space).await? {
        match event {
            BufferEvent::Text(text) => writer.send_text(text).await?,
            BufferEvent::Binary { length, end_of_message } => {
                message.add(&space[..length], end_of_message, &writer).await?;
            }
            BufferEvent::Pong(_) => {}
        }
    }
    Ok(())
}

/// The bytes so far of a binary message.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    async fn add(
        &mut self,
        bytes: &[u8],
        end_of_message: bool,
        writer: &SocketWriter<UpgradedStream>,
    ) -> Result<(), SocketError> {
        self.0.extend_from_slice(bytes);
        if self.0.len() > MESSAGE_BYTES_MAX {
            return Err(SocketError::Closed);
        }
        if end_of_message {
            writer.send_binary(&self.0).await?;
            self.0.clear();
        }
        Ok(())
    }
}
