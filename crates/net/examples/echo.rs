//! A server that sends every WebSocket message back: what `cargo xtask abuse websocket` tests.
//!
//!     echo
//!
//! It listens on a free port of this machine, which it prints. `/next` reads with
//! [`Reader::next`](weir_net::websocket::Reader::next), `/next_into` with
//! [`Reader::next_into`](weir_net::websocket::Reader::next_into).

use hyper::body::Incoming;
use hyper::{Request, Response};
use weir_net::websocket::{
    BufferEvent, Error, Event, SocketOptions, Stream, WebSocket, Writer, accept,
};
use weir_net::{Body, Client, Server};

/// The largest message, in bytes: twice what the Autobahn TestSuite sends.
const MESSAGE_BYTES_MAX: usize = 32 << 20;

/// What one call of `next_into` reads at most, in bytes. Most messages take several calls.
const SPACE_BYTES: usize = 4 << 10;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::bind("127.0.0.1:0".parse()?).await?;
    println!("http://{}/", server.local_addr()?);
    server.serve(answer, std::future::pending()).await;
    Ok(())
}

async fn answer(mut request: Request<Incoming>, _client: Client) -> Response<Body> {
    let (response, upgrade) = match accept(&mut request) {
        Ok(accepted) => accepted,
        Err(error) => {
            let mut response = Response::new(Body::from(error.to_string()));
            error.set_on(&mut response);
            return response;
        }
    };
    let reads_into_space = request.uri().path() == "/next_into";
    let options = SocketOptions { text_bytes_max: MESSAGE_BYTES_MAX, ..SocketOptions::default() };
    tokio::spawn(async move {
        let socket = upgrade.websocket(options).await?;
        if reads_into_space { echo_next_into(socket).await } else { echo_next(socket).await }
    });
    response
}

async fn echo_next(socket: WebSocket<Stream>) -> Result<(), Error> {
    let (mut reader, writer) = socket.split();
    let mut message = Message::default();
    while let Some(event) = reader.next().await? {
        match event {
            Event::Text(text) => writer.send_text(text).await?,
            Event::Binary { bytes, end_of_message } => {
                message.add(bytes, end_of_message, &writer).await?;
            }
            Event::Pong(_) => {}
        }
    }
    Ok(())
}

async fn echo_next_into(socket: WebSocket<Stream>) -> Result<(), Error> {
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
        writer: &Writer<Stream>,
    ) -> Result<(), Error> {
        self.0.extend_from_slice(bytes);
        if self.0.len() > MESSAGE_BYTES_MAX {
            return Err(Error::Closed);
        }
        if end_of_message {
            writer.send_binary(&self.0).await?;
            self.0.clear();
        }
        Ok(())
    }
}
