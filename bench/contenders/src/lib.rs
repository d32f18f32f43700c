//! WebSocket servers that receive as fast as they can, and a client that sends to them.
//!
//! Each server has a function that listens on a free port, says which, serves one connection
//! until the client closes it, and returns what it [`Received`].

mod client;
mod distance;
mod fast;
mod payload;
mod plain;
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
    /// By which it is asked for.
    pub name: &'static str,
    /// What the client says first.
    pub handshake: Handshake,
    /// Says where it listens, and receives until the client closes.
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

/// A free port on loopback, on which somebody was told to connect.
fn listen(ready: &Sender<SocketAddr>) -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    ready.send(listener.local_addr()?).map_err(io::Error::other)?;
    Ok(listener)
}
