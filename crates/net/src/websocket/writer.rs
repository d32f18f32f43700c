//! The sending half of a WebSocket, as callers use it.

use std::sync::Arc;

use bytes::Bytes;
use tokio::io::AsyncWrite;

use super::close_code::CloseCode;
use super::error::SocketError;
use super::frame::{CONTROL_BYTES_MAX, Opcode};
use super::send_half::SendHalf;

/// Sends messages over a WebSocket. Clones share the connection.
///
/// A message is one frame and one write. Each method waits while the peer does not read. Its future
/// may be dropped meanwhile, for instance by a timeout; the next call then finishes the frame.
#[derive(Debug)]
pub struct SocketWriter<S> {
    send_half: Arc<SendHalf<S>>,
}

impl<S> Clone for SocketWriter<S> {
    fn clone(&self) -> Self {
        Self { send_half: Arc::clone(&self.send_half) }
    }
}

impl<S: AsyncWrite> SocketWriter<S> {
    pub(crate) fn new(send_half: Arc<SendHalf<S>>) -> Self {
        Self { send_half }
    }

    /// Sends a text message. Fails with [`SocketError::Closed`] after a close frame, and with
    /// [`SocketError::Io`] if the connection broke.
    pub async fn send_text(&self, text: &str) -> Result<(), SocketError> {
        self.send_half.send(Opcode::Text, text.as_bytes()).await
    }

    /// Sends a text message of two parts, `head` and `shared`, which must both be UTF-8. `shared`
    /// is not copied, so many connections can send one text in the memory of one. Fails like
    /// [`send_text`](SocketWriter::send_text).
    pub async fn send_shared_text(&self, head: &str, shared: Bytes) -> Result<(), SocketError> {
        self.send_half.send_shared(Opcode::Text, head.as_bytes(), shared).await
    }

    /// Sends a binary message. Fails like [`send_text`](SocketWriter::send_text).
    pub async fn send_binary(&self, bytes: &[u8]) -> Result<(), SocketError> {
        self.send_half.send(Opcode::Binary, bytes).await
    }

    /// Sends a ping (RFC 6455 section 5.5.2). The payload is truncated to 125 bytes. The reader
    /// returns the answer as [`SocketEvent::Pong`](super::SocketEvent::Pong). Fails like
    /// [`send_text`](SocketWriter::send_text).
    pub async fn send_ping(&self, payload: &[u8]) -> Result<(), SocketError> {
        let payload = &payload[..payload.len().min(CONTROL_BYTES_MAX)];
        self.send_half.send(Opcode::Ping, payload).await
    }

    /// Sends a close frame (RFC 6455 section 5.5.1), unless one was sent already. A reason over 123
    /// bytes is truncated. The peer answers with its own close frame. After this call, read until
    /// [`SocketReader::next`](super::SocketReader::next) returns `None`, or call
    /// [`SocketReader::drain`](super::SocketReader::drain); otherwise the frame may be lost with the
    /// connection.
    pub async fn close(&self, code: CloseCode, reason: &str) -> Result<(), SocketError> {
        self.send_half.close(Some(code), reason).await
    }
}
