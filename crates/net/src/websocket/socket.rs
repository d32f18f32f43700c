//! A WebSocket over a stream, before it is split in two.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use super::outgoing::Outgoing;
use super::reader::Reader;
use super::writer::Writer;

/// The limits of one WebSocket.
#[derive(Clone, Copy, Debug)]
pub struct SocketOptions {
    /// The size of the read buffer in bytes, and so of the largest piece of payload handed on
    /// at once; at least 4 KiB. Default 256 KiB: few system calls, and the bytes are still in
    /// the processor's second-level cache when they are unmasked and used.
    pub read_buffer_bytes: usize,
    /// The size of the largest text message, in bytes. Default 64 KiB; texts are assembled, so
    /// this bounds the memory that a connection can take.
    pub text_bytes_max: usize,
    /// How long a peer that is told to go (for a violation, or by
    /// [`Reader::drain`](super::Reader::drain)) may take to go. Default 2 s.
    pub linger_timeout: Duration,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self {
            read_buffer_bytes: 256 * 1024,
            text_bytes_max: 64 * 1024,
            linger_timeout: Duration::from_secs(2),
        }
    }
}

/// The server's end of a WebSocket (RFC 6455), over any stream that has been upgraded.
#[derive(Debug)]
pub struct WebSocket<S> {
    reader: Reader<S>,
    writer: Writer<S>,
}

impl<S: AsyncRead + AsyncWrite> WebSocket<S> {
    /// Takes over a stream on which the handshake is done; see [`accept`](super::accept).
    pub fn new(stream: S, options: SocketOptions) -> Self {
        let (read_half, write_half) = tokio::io::split(stream);
        let outgoing = Arc::new(Outgoing::new(write_half));
        let reader = Reader::new(read_half, Arc::clone(&outgoing), options);
        Self { reader, writer: Writer::new(outgoing) }
    }

    /// The two halves, each of which may move to a task of its own. The connection closes when
    /// the reader and every writer are dropped.
    pub fn split(self) -> (Reader<S>, Writer<S>) {
        (self.reader, self.writer)
    }
}
