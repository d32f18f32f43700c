//! A WebSocket over a stream, before it is split in two.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};

use super::options::SocketOptions;
use super::reader::SocketReader;
use super::send_half::SendHalf;
use super::writer::SocketWriter;

/// The server's end of a WebSocket (RFC 6455), over any stream that has been upgraded.
#[derive(Debug)]
pub struct WebSocket<S> {
    reader: SocketReader<S>,
    writer: SocketWriter<S>,
}

impl<S: AsyncRead + AsyncWrite> WebSocket<S> {
    /// Creates a WebSocket on a stream after its handshake; see [`accept`](super::accept).
    pub fn new(stream: S, options: SocketOptions) -> Self {
        let (read_half, write_half) = tokio::io::split(stream);
        let send_half = Arc::new(SendHalf::new(write_half));
        let reader = SocketReader::new(read_half, Arc::clone(&send_half), options);
        Self { reader, writer: SocketWriter::new(send_half) }
    }

    /// Splits the WebSocket into its halves, which may move to different tasks. The connection
    /// closes when the reader and every writer are dropped.
    pub fn split(self) -> (SocketReader<S>, SocketWriter<S>) {
        (self.reader, self.writer)
    }
}
