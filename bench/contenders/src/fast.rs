//! fastwebsockets on one thread of tokio, as in its own examples.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::Sender;
use std::time::Instant;

use fastwebsockets::{OpCode, Role, WebSocket};
use tokio::task::unconstrained;

use crate::listen;
use crate::payload::{Checksum, Received};

/// Receives until the client closes.
pub fn fastwebsockets(ready: Sender<SocketAddr>) -> io::Result<Received> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(unconstrained(receive(listen(&ready)?)))
}

async fn receive(listener: TcpListener) -> io::Result<Received> {
    listener.set_nonblocking(true)?;
    let (stream, _) = tokio::net::TcpListener::from_std(listener)?.accept().await?;
    stream.set_nodelay(true)?;
    let mut socket = WebSocket::after_handshake(stream, Role::Server);
    let start = Instant::now();
    let mut checksum = Checksum::default();
    loop {
        let frame = socket.read_frame().await.map_err(io::Error::other)?;
        match frame.opcode {
            OpCode::Close => return Ok(checksum.received(start.elapsed())),
            OpCode::Binary | OpCode::Continuation => checksum.add(&frame.payload, frame.fin),
            _ => {}
        }
    }
}
