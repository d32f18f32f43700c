//! The server side of WebSocket (RFC 6455), designed for large uploads.
//!
//! A library that returns messages must first assemble them, which costs a copy of every byte and
//! memory for the largest message. This module assembles only short texts. Bytes are read into one
//! buffer, unmasked in place, and lent to the caller as they arrive, before their frame or message
//! ends.
//!
//! - [`accept`] checks a handshake and returns the `101` response. The [`Upgrade`] that it also
//!   returns becomes a [`WebSocket`] after that response is sent.
//! - [`SocketReader`] yields [`SocketEvent`]s and answers pings and closes; [`SocketWriter`] sends. They may live
//!   in different tasks. [`SocketReader::next_into`] reads payload directly into a buffer of the caller.
//! - [`Decoder`] is the protocol without the socket. It decodes bytes into [`Frame`]s, also for
//!   tests and fuzzing.
//!
//! No extension is negotiated. Compressing a log takes longer than sending it to the same machine,
//! and decompression would need limits against decompression bombs.
//!
//! ```no_run
//! # use hyper::{Request, Response};
//! # use weir_net::{Body, IncomingBody};
//! use weir_net::websocket::{SocketEvent, SocketOptions, accept};
//!
//! async fn echo(mut request: Request<IncomingBody>) -> Response<Body> {
//!     let (response, upgrade) = match accept(&mut request) {
//!         Ok(accepted) => accepted,
//!         Err(error) => {
//!             let mut response = Response::new(Body::from(error.to_string()));
//!             error.set_on(&mut response);
//!             return response;
//!         }
//!     };
//!     tokio::spawn(async move {
//!         let socket = upgrade.websocket(SocketOptions::default()).await?;
//!         let (mut reader, writer) = socket.split();
//!         while let Some(event) = reader.next().await? {
//!             match event {
//!                 SocketEvent::Text(text) => writer.send_text(text).await?,
//!                 SocketEvent::Binary { bytes, .. } => writer.send_binary(bytes).await?,
//!                 SocketEvent::Pong(_) => {}
//!             }
//!         }
//!         Ok::<(), weir_net::websocket::SocketError>(())
//!     });
//!     response
//! }
//! ```

#[cfg(any(test, feature = "client"))]
pub mod client;
mod close;
mod close_code;
mod decoder;
mod error;
mod frame;
mod handshake;
mod mask;
mod options;
mod partial_text;
mod reader;
mod send_half;
mod socket;
mod upgraded_stream;
mod violation;
mod writer;

pub use close::CloseFrame;
pub use close_code::CloseCode;
pub use decoder::{Decoder, Frame};
pub use error::SocketError;
pub use handshake::{HandshakeError, Upgrade, accept};
pub use options::SocketOptions;
pub use reader::{BufferEvent, SocketEvent, SocketReader};
pub use socket::WebSocket;
pub use upgraded_stream::UpgradedStream;
pub use violation::Violation;
pub use writer::SocketWriter;
