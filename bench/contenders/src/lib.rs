//! WebSocket servers that receive as fast as they can, and a client that sends to them.
//!
//! The function of a server listens on a free port, sends the address to the client, serves one
//! connection until the client closes it, and returns a [`Received`].

mod client;
mod distance;
mod fast;
mod payload;
mod plain;
pub mod respond;
mod tungstenite_blocking;
mod weir;

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;

pub use client::{Handshake, send};
pub use distance::distance_of_cores;
pub use fast::fastwebsockets;
pub use payload::{Checksum, FRAME_BYTES, Received};
pub use plain::{discard, read};
pub use tungstenite_blocking::tungstenite;
pub use weir::{weir, weir_into};

/// One of the servers.
#[derive(Clone, Copy)]
pub struct Contender {
    /// The argument of the program.
    pub name: &'static str,
    /// How the client opens the connection.
    pub handshake: Handshake,
    /// Sends its address, and receives until the client closes.
    pub receive: fn(Sender<SocketAddr>) -> io::Result<Received>,
}

/// All servers.
pub const CONTENDERS: [Contender; 6] = [
    Contender { name: "weir", handshake: Handshake::Http, receive: weir },
    Contender { name: "weir-into", handshake: Handshake::Http, receive: weir_into },
    Contender { name: "tungstenite", handshake: Handshake::None, receive: tungstenite },
    Contender { name: "fastwebsockets", handshake: Handshake::None, receive: fastwebsockets },
    Contender { name: "read", handshake: Handshake::None, receive: read },
    Contender { name: "discard", handshake: Handshake::None, receive: discard },
];

/// Listens on a free port on loopback, and sends the address to the client.
fn listen(ready: &Sender<SocketAddr>) -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    ready.send(listener.local_addr()?).map_err(io::Error::other)?;
    Ok(listener)
}
