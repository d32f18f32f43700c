//! The sending half of a WebSocket. The writers share it with the reader, which answers pings and
//! close frames.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncWrite, AsyncWriteExt, WriteHalf};
use weir_sync::Lock;

use super::close;
use super::close_code::CloseCode;
use super::error::SocketError;
use super::frame::{HEADER_BYTES_MAX, Opcode, put_header};

/// The send buffer is freed if a message made it grow beyond this.
const UNSENT_BYTES_KEPT: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct SendHalf<S> {
    /// The payload of the latest unanswered ping. A pong need answer only that one (section 5.5.3),
    /// so a peer that sends pings and reads nothing costs 125 bytes.
    pong: Lock<Option<Vec<u8>>>,
    sink: tokio::sync::Mutex<Sink<S>>,
}

#[derive(Debug)]
struct Sink<S> {
    half: WriteHalf<S>,
    /// Encoded frames that are not written yet. They outlive the future that encoded them. If that
    /// is dropped midway, the next send continues the frame.
    unsent: BytesMut,
    /// The payload after `unsent`, which other connections may share. Empty except during
    /// [`SendHalf::send_shared`].
    shared: Bytes,
    /// The frames after `shared`.
    after: BytesMut,
    /// Whether a close frame was encoded, after which nothing may be sent.
    is_closing: bool,
}

impl<S: AsyncWrite> SendHalf<S> {
    pub(crate) fn new(half: WriteHalf<S>) -> Self {
        let sink = Sink {
            half,
            unsent: BytesMut::new(),
            shared: Bytes::new(),
            after: BytesMut::new(),
            is_closing: false,
        };
        Self { pong: Lock::new(None), sink: tokio::sync::Mutex::new(sink) }
    }

    /// Sends one frame, with header and payload in one write.
    pub(crate) async fn send(&self, opcode: Opcode, payload: &[u8]) -> Result<(), SocketError> {
        let mut sink = self.sink.lock().await;
        if sink.is_closing {
            return Err(SocketError::Closed);
        }
        sink.drain().await?;
        sink.put(opcode, payload);
        sink.drain().await?;
        drop(sink);
        self.send_pong().await
    }

    /// Sends one frame whose payload is `head` and then `shared`, which is not copied.
    pub(crate) async fn send_shared(
        &self,
        opcode: Opcode,
        head: &[u8],
        shared: Bytes,
    ) -> Result<(), SocketError> {
        let mut sink = self.sink.lock().await;
        if sink.is_closing {
            return Err(SocketError::Closed);
        }
        sink.drain().await?;
        put_header(&mut sink.unsent, opcode, true, head.len() + shared.len(), None);
        sink.unsent.extend_from_slice(head);
        sink.shared = shared;
        sink.drain().await?;
        drop(sink);
        self.send_pong().await
    }

    /// Sends a close frame, unless one was sent already.
    pub(crate) async fn close(
        &self,
        code: Option<CloseCode>,
        reason: &str,
    ) -> Result<(), SocketError> {
        let mut sink = self.sink.lock().await;
        sink.put_close(code, reason);
        Ok(sink.drain().await?)
    }

    /// Sends a close frame, unless one was sent already, and ends the sending direction.
    pub(crate) async fn finish(&self, code: Option<CloseCode>, reason: &str) -> io::Result<()> {
        let mut sink = self.sink.lock().await;
        sink.put_close(code, reason);
        sink.drain().await?;
        sink.half.shutdown().await
    }

    /// Stores a ping to answer, in place of an earlier unanswered one.
    pub(crate) fn owe_pong(&self, payload: &[u8]) {
        *self.pong.lock() = Some(payload.to_vec());
    }

    /// Answers the stored ping as far as possible without waiting. Returns whether nothing is left
    /// to send.
    ///
    /// The reader must not wait here. Otherwise, if a peer reads only after it has sent everything,
    /// both sides would wait for each other. A writer that holds the lock sends the pong when it is
    /// done.
    pub(crate) fn poll_pong(&self, context: &mut Context<'_>) -> bool {
        let Ok(mut sink) = self.sink.try_lock() else { return false };
        loop {
            if sink.poll_drain(context).is_pending() {
                return false;
            }
            let Some(payload) = self.take_pong() else { return true };
            sink.put(Opcode::Pong, &payload);
        }
    }

    async fn send_pong(&self) -> Result<(), SocketError> {
        // Whoever holds the lock checks for a pong again after releasing it. So a reader that
        // stores a ping and finds the lock taken can leave the pong to the holder.
        while self.owes_pong() {
            let Ok(mut sink) = self.sink.try_lock() else { break };
            if let Some(payload) = self.take_pong() {
                sink.put(Opcode::Pong, &payload);
            }
            sink.drain().await?;
        }
        Ok(())
    }

    fn owes_pong(&self) -> bool {
        self.pong.lock().is_some()
    }

    fn take_pong(&self) -> Option<Vec<u8>> {
        self.pong.lock().take()
    }
}

impl<S: AsyncWrite> Sink<S> {
    fn put(&mut self, opcode: Opcode, payload: &[u8]) {
        if self.is_closing {
            return;
        }
        let last = if self.shared.is_empty() { &mut self.unsent } else { &mut self.after };
        last.reserve(HEADER_BYTES_MAX + payload.len());
        put_header(last, opcode, true, payload.len(), None);
        last.extend_from_slice(payload);
        self.is_closing = opcode == Opcode::Close;
    }

    fn put_close(&mut self, code: Option<CloseCode>, reason: &str) {
        self.put(Opcode::Close, &close::payload(code, reason));
    }

    async fn drain(&mut self) -> io::Result<()> {
        poll_fn(|context| self.poll_drain(context)).await
    }

    fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let next = if self.unsent.is_empty() { &self.shared[..] } else { &self.unsent[..] };
            if next.is_empty() {
                if self.after.is_empty() {
                    break;
                }
                self.unsent = std::mem::take(&mut self.after);
                continue;
            }
            let written = ready!(Pin::new(&mut self.half).poll_write(context, next))?;
            match (written, self.unsent.is_empty()) {
                (0, _) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                (_, false) => self.unsent.advance(written),
                (_, true) => self.shared.advance(written),
            }
        }
        // Releases the payload. An empty slice of it would keep it alive.
        self.shared = Bytes::new();
        if self.unsent.capacity() > UNSENT_BYTES_KEPT {
            self.unsent = BytesMut::new();
        }
        Pin::new(&mut self.half).poll_flush(context)
    }
}
