//! Sockets: addresses, binding, TLS, Unix sockets, accepting with back-off, and limits.
//!
//! Every server of the workspace listens through this module.
//!
//! - [`Address`] is an address to listen at, as a person writes it: `tcp://HOST:PORT`,
//!   `tls://HOST:PORT`, `udp://HOST:PORT`, `unix:PATH`, `unixgram:PATH`, `systemd:NAME`.
//! - [`Listener`] binds a stream address and accepts [`Connection`]s. It backs off while the system
//!   cannot accept. Dropping it stops listening and removes its socket file.
//! - [`Connection`] is accepted but not yet encrypted. [`Connection::open`] performs the TLS
//!   handshake, outside the accept loop, and returns a [`SocketStream`].
//! - [`ProxyProtocol`] makes a listener read the address of each client from the proxy before it.
//! - [`Handover`] passes the sockets of a process to its successor.
//! - [`DatagramSocket`] binds a datagram address.
//! - [`ConnectionLimit`] limits the open connections of any number of listeners, and waits for
//!   their end during a shutdown.
//!
//! # Example
//!
//! ```
//! use std::time::Duration;
//! use tokio::io::AsyncReadExt;
//! use weir_net::socket::{Address, BindOptions, Listener};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let address: Address = "tcp://127.0.0.1:0".parse()?;
//! let mut listener = Listener::bind(&address, &BindOptions::default()).await?;
//! println!("listening at {}", listener.address());
//! # tokio::net::TcpStream::connect(listener.local_addr()?).await?;
//! let connection = listener.accept().await?;
//! println!("a connection from {}", connection.peer());
//! let mut stream = connection.open(Duration::from_secs(10)).await?;
//! let mut received = Vec::new();
//! stream.read_to_end(&mut received).await?;
//! # Ok(())
//! # }
//! ```

mod address;
mod backoff;
mod certificate;
mod client_certificate;
mod connection;
mod datagram;
mod distinguished_name;
mod drops;
mod ends;
mod error;
mod file_state;
#[cfg(target_os = "linux")]
mod handover;
mod handshake_error;
mod keep_alive;
mod limit;
mod listener;
mod network_limit;
mod open_files;
mod options;
mod outward;
#[cfg(unix)]
mod owner;
#[cfg(unix)]
mod passed;
mod peer;
mod proxy_header;
mod proxy_protocol;
mod self_signed;
mod server_address;
mod stream;
mod tls;
#[cfg(unix)]
mod unix;
mod validity;

pub use address::{Address, AddressError, PassedName};
pub use client_certificate::ClientCertificate;
pub use connection::Connection;
pub(crate) use connection::OpenHttpError;
pub use datagram::DatagramSocket;
pub use drops::DropCounter;
pub(crate) use ends::ConnectionEnds;
pub use ends::{ConnectionEnd, ConnectionEndCounts};
pub use error::BindError;
pub use file_state::FileState;
#[cfg(target_os = "linux")]
pub use handover::{Handover, ListeningSockets, OpenSockets, report_ready, take_over};
pub use handshake_error::TlsHandshakeError;
pub use limit::{ConnectionLimit, ConnectionPermit};
pub use listener::Listener;
pub(crate) use network_limit::{NetworkLimit, NetworkPermit};
pub use open_files::{ConnectionBudget, reserve_connections};
pub use options::{BindOptions, ClientCertificates, SocketMode, SocketModeError, TlsFiles};
pub use outward::outward_address;
#[cfg(unix)]
pub use owner::{SocketOwner, SocketOwnerError};
#[cfg(unix)]
pub use passed::PassedSockets;
pub use peer::{Peer, PeerFilter};
pub use proxy_header::{ProxyHeaderError, read_proxy_header};
pub use proxy_protocol::ProxyProtocol;
pub use self_signed::{SelfSignedCertificate, SelfSignedError};
pub use server_address::server_address;
pub use stream::SocketStream;
pub(crate) use stream::{BytesAhead, SendingSide};
