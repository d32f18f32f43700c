//! tungstenite on a blocking socket, its fastest mode.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::time::Instant;

use tungstenite::protocol::Role;
use tungstenite::{Message, WebSocket};

use crate::listen;
use crate::payload::{Checksum, Received};

/// Receives until the client closes.
pub fn tungstenite(ready: Sender<SocketAddr>) -> io::Result<Received> {
    let (stream, _) = listen(&ready)?.accept()?;
    stream.set_nodelay(true)?;
    let mut socket = WebSocket::from_raw_socket(stream, Role::Server, None);
    let start = Instant::now();
    let mut checksum = Checksum::default();
    loop {
        match socket.read().map_err(io::Error::other)? {
            Message::Binary(bytes) => checksum.add(&bytes, true),
            Message::Close(_) => return Ok(checksum.received(start.elapsed())),
            _ => {}
        }
    }
}
