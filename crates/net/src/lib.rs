//! HTTP/1.1 serving with limits that hold, and WebSocket bytes as they arrive.
//!
//! This crate is what stands between a socket and a handler. It knows nothing of logs: it
//! accepts connections, bounds what each may cost, answers requests, and turns an upgraded
//! connection into a stream of WebSocket events.
//!
//! - [`Server`] owns the accept loop: connection limit, header timeout, graceful shutdown.
//!   [`ServeOptions`] holds every limit with its reason.
//! - [`Body`] is what a response carries: nothing, some bytes, or parts from a [`BodySender`].
//! - [`HostGuard`] refuses requests that a browser was tricked into sending.
//! - [`websocket::accept`] answers a WebSocket handshake; [`websocket::Reader`] lends out the
//!   payload of each frame from one reused buffer, without waiting for the frame's end.
//!
//! # Example
//!
//! ```
//! use hyper::Response;
//! use weir_net::{Body, HostGuard, Server};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let server = Server::bind("127.0.0.1:0".parse().unwrap()).await?;
//! let guard = HostGuard::loopback(server.local_addr()?.port());
//! let shutdown = async { /* for instance: wait for ctrl-c */ };
//! server
//!     .serve(
//!         move |request, _peer| {
//!             let refused = guard.check(&request).err();
//!             async move {
//!                 let Some(refused) = refused else { return Response::new(Body::from("hello")) };
//!                 let mut response = Response::new(Body::from(refused.to_string()));
//!                 *response.status_mut() = refused.status();
//!                 response
//!             }
//!         },
//!         shutdown,
//!     )
//!     .await;
//! # Ok(())
//! # }
//! ```

mod body;
mod connection;
mod guard;
mod listener;
mod options;
mod peer;
mod serve;
mod transport;
pub mod websocket;

pub use body::{Body, BodyAborted, BodySender, Disconnected};
pub use guard::{HostGuard, InvalidAuthority, Refused};
pub use options::ServeOptions;
pub use peer::{Address, Peer};
pub use serve::Server;
pub use transport::Transport;
