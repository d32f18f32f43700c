//! Sockets, an HTTP server with enforced limits, and WebSocket payload as it arrives.
//!
//! This crate covers everything between the network and a handler. It binds sockets, accepts
//! connections, limits the cost of each, serves requests, and turns an upgraded connection into a
//! stream of WebSocket events. It is independent of logs.
//!
//! - [`socket`] binds and accepts: TCP, TLS, UDP and Unix sockets.
//! - [`Server`] serves HTTP/1.1, and HTTP/2 over TLS: limits, timeouts, graceful shutdown.
//!   [`ServeOptions`] holds every limit with its reason.
//! - [`IncomingBody`] is the body of a request; [`RequestBody`] reads it at a minimum rate.
//! - [`Body`] is the body of a response: one buffer, a list of parts, parts produced while it is
//!   sent, or a file.
//! - [`Client`] is the client of a request: its address, and whether it has gone. [`InterimSender`]
//!   sends it responses such as `103 Early Hints` before the final one.
//! - [`HostGuard`] refuses requests that a browser was tricked into sending.
//! - [`websocket::accept`] answers a WebSocket handshake; [`websocket::SocketReader`] lends out the
//!   payload of each frame from one reused buffer, without waiting for the frame's end.
//!
//! # Example
//!
//! ```
//! use hyper::Response;
//! use weir_net::{Body, HostGuard, Server, text_response};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::bind("127.0.0.1:0".parse().unwrap()).await?;
//! let guard = HostGuard::loopback();
//! let shutdown = async { /* for instance: wait for ctrl-c */ };
//! server
//!     .serve(
//!         move |request, _client| {
//!             let refused = guard.check(&request).err();
//!             async move {
//!                 let Some(refused) = refused else { return Response::new(Body::from("hello")) };
//!                 text_response(refused.status(), refused.to_string())
//!             }
//!         },
//!         shutdown,
//!     )
//!     .await;
//! # Ok(())
//! # }
//! ```

mod admission;
mod authority;
mod body;
mod chunked;
mod client;
mod close_reason;
mod connection;
mod connection_threads;
pub mod der;
mod file_queue;
mod frame_limit;
mod framing;
mod guard;
mod handler;
mod head_cutter;
mod head_refusal;
mod history;
mod http2;
mod idle;
mod incoming_body;
mod interim;
mod linger;
mod options;
mod percent_encoding;
mod preference;
pub mod redaction;
mod refusal;
mod request_body;
mod reserve_descriptor;
mod resource;
mod response_body;
mod scheme;
mod serve;
pub mod socket;
mod stream_tasks;
mod text_response;
mod transport;
mod wait_limits;
pub mod websocket;

pub use authority::{PublicUrl, PublicUrlError};
pub use body::{Batch, Body, BodyAbortError, BodySender, ClientGoneError};
pub use client::Client;
pub use connection_threads::connection_thread;
pub use guard::{GuardError, HostGuard, InvalidAuthority};
pub use head_refusal::{HeadProblem, HeadRefusal, RefusalObserver};
pub use history::ConnectionHistory;
pub use incoming_body::IncomingBody;
pub use interim::InterimSender;
pub use options::{BodyRate, Http2Options, ServeOptions};
pub use percent_encoding::{hex_digit, percent_decode, percent_encode};
pub use preference::Preference;
pub use request_body::{RequestBody, RequestBodyError};
pub use resource::{
    ByteRange, ContentCoding, RequestedContent, Resource, entity_tag, set_content_range,
    set_unsatisfied_range,
};
pub use scheme::Scheme;
pub use serve::{Server, Shutdown};
pub use socket::Peer;
pub use text_response::text_response;
pub use transport::Transport;
