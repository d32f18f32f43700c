//! The half that sends.

use std::sync::Arc;

use bytes::Bytes;
use tokio::io::AsyncWrite;

use super::close_code::CloseCode;
use super::error::Error;
use super::frame::{CONTROL_BYTES_MAX, Opcode};
use super::send_half::SendHalf;

/// Sends messages over a WebSocket; clones of it share the connection.
///
/// A message is one frame and one write. Each method waits while the peer does not read, and
/// may be dropped meanwhile (by a timeout, say): the frame is then finished by the next call.
#[derive(Debug)]
pub struct Writer<S> {
    send_half: Arc<SendHalf<S>>,
}

impl<S> Clone for Writer<S> {
    fn clone(&self) -> Self {
        Self { send_half: Arc::clone(&self.send_half) }
    }
}

impl<S: AsyncWrite> Writer<S> {
    pub(crate) fn new(send_half: Arc<SendHalf<S>>) -> Self {
        Self { send_half }
    }

    /// Sends a text message. Fails with [`Error::Closed`] after a close frame, and with
    /// [`Error::Io`] when the connection broke.
    pub async fn send_text(&self, text: &str) -> Result<(), Error> {
        self.send_half.send(Opcode::Text, text.as_bytes()).await
    }

    /// Sends a text message of two parts: `head`, and `shared`, which is not copied, so that many
    /// connections can send one text at the memory of one. Both must be UTF-8. Fails as
    /// [`send_text`](Writer::send_text) does.
    pub async fn send_shared_text(&self, head: &str, shared: Bytes) -> Result<(), Error> {
        self.send_half.send_shared(Opcode::Text, head.as_bytes(), shared).await
    }

    /// Sends a binary message; fails as [`send_text`](Writer::send_text) does.
    pub async fn send_binary(&self, bytes: &[u8]) -> Result<(), Error> {
        self.send_half.send(Opcode::Binary, bytes).await
    }

    /// Sends a ping (RFC 6455 section 5.5.2) with at most 125 bytes of payload, the rest being
    /// cut off; the answer comes as [`Event::Pong`](super::Event::Pong). Fails as
    /// [`send_text`](Writer::send_text) does.
    pub async fn send_ping(&self, payload: &[u8]) -> Result<(), Error> {
        let payload = &payload[..payload.len().min(CONTROL_BYTES_MAX)];
        self.send_half.send(Opcode::Ping, payload).await
    }

    /// Sends a close frame (RFC 6455 section 5.5.1), unless one was sent already. A reason over
    /// 123 bytes is cut. The peer answers with its own: read on until
    /// [`Reader::next`](super::Reader::next) yields `None`, or call
    /// [`Reader::drain`](super::Reader::drain), or the frame may be lost with the connection.
    pub async fn close(&self, code: CloseCode, reason: &str) -> Result<(), Error> {
        self.send_half.close(Some(code), reason).await
    }
}
