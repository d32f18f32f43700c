//! The receiving half of a WebSocket.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::{fmt, io};

use bytes::BufMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadHalf};
use tokio::time::{Instant, timeout, timeout_at};

use super::close::CloseFrame;
use super::decoder::{Decoder, Frame};
use super::error::SocketError;
use super::options::SocketOptions;
use super::send_half::SendHalf;
use super::violation::Violation;

/// An event from the peer, borrowed from the reader until its next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketEvent<'a> {
    /// The next bytes of a binary message as they were read from the socket, before the end of
    /// their frame or message.
    Binary {
        /// The bytes, at most as many as the read buffer holds. Empty only at the end of a
        /// message.
        bytes: &'a [u8],
        /// Whether they are the last of their message.
        end_of_message: bool,
    },
    /// A whole text message.
    Text(&'a str),
    /// The answer to a ping, with its payload.
    Pong(&'a [u8]),
}

/// An event from [`SocketReader::next_into`], whose binary payload is in the buffer of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferEvent<'a> {
    /// The next bytes of a binary message are at the start of the given space.
    Binary {
        /// The number of bytes. 0 only at the end of a message, or if the space was empty.
        length: usize,
        /// Whether they are the last of their message.
        end_of_message: bool,
    },
    /// A whole text message.
    Text(&'a str),
    /// The answer to a ping, with its payload.
    Pong(&'a [u8]),
}

/// Receives from a WebSocket, and answers pings and close frames.
pub struct SocketReader<S> {
    half: ReadHalf<S>,
    send_half: Arc<SendHalf<S>>,
    decoder: Decoder,
    /// The bytes of the last read; the capacity is fixed. Bytes before `consumed` are decoded.
    buffer: Vec<u8>,
    consumed: usize,
    /// Whether the last binary frame was read into space of the caller. The next one probably will
    /// be too, so only its header should be read into the buffer.
    bypasses_buffer: bool,
    /// Whether a pong may still have to be sent.
    owes_pong: bool,
    phase: Phase,
    close_frame: Option<CloseFrame>,
    options: SocketOptions,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Open,
    /// The peer must be told of the end, before the deadline.
    Leaving(End, Instant),
    Ended(End),
}

#[derive(Clone, Copy, Debug)]
enum End {
    /// The peer sent a close frame.
    Closed,
    Violation(Violation),
    Disconnected,
}

impl<S: AsyncRead + AsyncWrite> SocketReader<S> {
    pub(crate) fn new(
        half: ReadHalf<S>,
        send_half: Arc<SendHalf<S>>,
        options: SocketOptions,
    ) -> Self {
        Self {
            half,
            send_half,
            decoder: Decoder::new(options.text_bytes_max),
            buffer: Vec::with_capacity(options.read_buffer_bytes.max(READ_BUFFER_BYTES_MIN)),
            consumed: 0,
            bypasses_buffer: false,
            owes_pong: false,
            phase: Phase::Open,
            close_frame: None,
            options,
        }
    }

    /// Waits for the next event. `None` means that the peer closed with a close frame, which
    /// has been answered; [`close_frame`](SocketReader::close_frame) returns it.
    ///
    /// Pings are answered meanwhile. The future may be dropped at any time without losing
    /// anything, so it may be used in a `select!` or under a timeout.
    ///
    /// # Errors
    ///
    /// [`SocketError::Violation`] if the peer violates RFC 6455 or a limit. Before that, the peer is sent
    /// a close frame and has [`linger_timeout`](SocketOptions::linger_timeout) to read it.
    /// [`SocketError::Disconnected`] if the connection ends without a close frame. [`SocketError::Io`] if
    /// reading fails otherwise. Further calls return the same error, or `Disconnected` after `Io`.
    pub async fn next(&mut self) -> Result<Option<SocketEvent<'_>>, SocketError> {
        while self.advance().await? {
            if !self.has_buffered() {
                self.fill(usize::MAX).await?;
            }
            let start = self.consumed;
            match self.decode_buffered(usize::MAX) {
                Some(Frame::Binary { range, end_of_message }) => {
                    let bytes = &self.buffer[start..][range];
                    return Ok(Some(SocketEvent::Binary { bytes, end_of_message }));
                }
                Some(Frame::Text) => return Ok(Some(SocketEvent::Text(self.decoder.text()))),
                Some(Frame::Pong) => return Ok(Some(SocketEvent::Pong(self.decoder.control()))),
                frame => self.answer(frame).await,
            }
        }
        Ok(None)
    }

    /// Like [`next`](SocketReader::next), but stores the bytes of binary messages at the start of
    /// `space`. Except for the first few, the bytes of a long frame are read from the socket
    /// directly into `space` and unmasked there. One call stores at most
    /// [`read_buffer_bytes`](SocketOptions::read_buffer_bytes). The rest of `space` is unspecified
    /// afterwards.
    ///
    /// Calls of `next` and `next_into` may alternate. The future may be dropped at any time
    /// without losing anything.
    ///
    /// # Errors
    ///
    /// The same as those of [`next`](SocketReader::next).
    pub async fn next_into(
        &mut self,
        space: &mut [u8],
    ) -> Result<Option<BufferEvent<'_>>, SocketError> {
        while self.advance().await? {
            if space.is_empty() {
                return Ok(Some(BufferEvent::Binary { length: 0, end_of_message: false }));
            }
            if !self.has_buffered() {
                if let Some(bytes_due) = self.decoder.binary_bytes_due() {
                    return self.read_directly(space, bytes_due).await.map(Some);
                }
                let room = if self.bypasses_buffer { HEADER_ROOM_BYTES } else { usize::MAX };
                self.fill(room).await?;
            }
            let start = self.consumed;
            match self.decode_buffered(space.len()) {
                Some(Frame::Binary { range, end_of_message }) => {
                    let bytes = &self.buffer[start..][range];
                    space[..bytes.len()].copy_from_slice(bytes);
                    self.bypasses_buffer &= self.decoder.binary_bytes_due().is_some();
                    return Ok(Some(BufferEvent::Binary { length: bytes.len(), end_of_message }));
                }
                Some(Frame::Text) => return Ok(Some(BufferEvent::Text(self.decoder.text()))),
                Some(Frame::Pong) => return Ok(Some(BufferEvent::Pong(self.decoder.control()))),
                frame => self.answer(frame).await,
            }
        }
        Ok(None)
    }

    /// Reads payload directly into `space`; `bytes_due` is the rest of the frame.
    async fn read_directly(
        &mut self,
        space: &mut [u8],
        bytes_due: u64,
    ) -> Result<BufferEvent<'_>, SocketError> {
        let most = space.len().min(self.buffer.capacity());
        let length = usize::try_from(bytes_due).map_or(most, |due| due.min(most));
        let read = self.half.read(&mut space[..length]);
        let result = receive(read, &self.send_half, &mut self.owes_pong).await;
        let length = self.check_read(result)?;
        self.bypasses_buffer = true;
        // A payload cannot violate the protocol, and all bytes read belong to it.
        let decoded = self.decoder.decode(&mut space[..length]);
        let end_of_message =
            matches!(decoded, Ok((_, Some(Frame::Binary { end_of_message: true, .. }))));
        Ok(BufferEvent::Binary { length, end_of_message })
    }

    /// Decodes at most `bytes_max` of the bytes in the buffer.
    fn decode_buffered(&mut self, bytes_max: usize) -> Option<Frame> {
        let start = self.consumed;
        let end = self.buffer.len().min(start.saturating_add(bytes_max));
        match self.decoder.decode(&mut self.buffer[start..end]) {
            Ok((consumed, frame)) => {
                self.consumed += consumed;
                frame
            }
            Err(violation) => {
                self.begin_close(End::Violation(violation));
                None
            }
        }
    }

    /// Handles a frame that the caller does not see.
    async fn answer(&mut self, frame: Option<Frame>) {
        match frame {
            Some(Frame::Ping) => self.answer_ping().await,
            Some(Frame::Close(frame)) => {
                self.close_frame = Some(frame);
                self.begin_close(End::Closed);
            }
            _ => {}
        }
    }

    /// Whether there are bytes that were read and not yet decoded. If so, the next event probably
    /// follows at once. Otherwise the socket may still have bytes; to detect a pause of the peer,
    /// call [`next`](SocketReader::next) with a short timeout.
    pub fn has_buffered(&self) -> bool {
        self.consumed < self.buffer.len()
    }

    /// Returns the peer's close frame, after [`next`](SocketReader::next) has returned `None`.
    pub fn close_frame(&self) -> Option<&CloseFrame> {
        self.close_frame.as_ref()
    }

    /// Discards further messages until the peer closes, for at most
    /// [`linger_timeout`](SocketOptions::linger_timeout). Call it after
    /// [`SocketWriter::close`](super::SocketWriter::close). Closing a socket with unread bytes resets the
    /// connection, and a reset can overtake the close frame.
    pub async fn drain(&mut self) {
        let linger_timeout = self.options.linger_timeout;
        let end = async { while let Ok(Some(_)) = self.next().await {} };
        let _ended_in_time = timeout(linger_timeout, end).await;
    }

    fn begin_close(&mut self, end: End) {
        self.phase = Phase::Leaving(end, Instant::now() + self.options.linger_timeout);
    }

    /// Sends the close frame if one is due. Returns whether the connection is open, or the error
    /// that ended it.
    async fn advance(&mut self) -> Result<bool, SocketError> {
        if let Phase::Leaving(end, deadline) = self.phase {
            // The peer may be gone or stuck; the deadline bounds the wait.
            let _sent_in_time = timeout_at(deadline, self.send_close(end)).await;
            self.phase = Phase::Ended(end);
        }
        match self.phase {
            Phase::Ended(End::Closed) => Ok(false),
            Phase::Ended(End::Violation(violation)) => Err(SocketError::Violation(violation)),
            Phase::Ended(End::Disconnected) => Err(SocketError::Disconnected),
            Phase::Open | Phase::Leaving(..) => Ok(true),
        }
    }

    async fn send_close(&mut self, end: End) -> io::Result<()> {
        match end {
            End::Closed => {
                let code = self.close_frame.as_ref().and_then(|frame| frame.code);
                self.send_half.finish(code, "").await
            }
            End::Violation(violation) => {
                self.send_half.finish(Some(violation.close_code()), &violation.to_string()).await?;
                self.discard().await
            }
            End::Disconnected => Ok(()),
        }
    }

    /// Reads to the end without decoding, for the reason that [`drain`](SocketReader::drain) states.
    async fn discard(&mut self) -> io::Result<()> {
        loop {
            self.buffer.clear();
            self.consumed = 0;
            if self.half.read_buf(&mut self.buffer).await? == 0 {
                return Ok(());
            }
        }
    }

    async fn answer_ping(&mut self) {
        self.send_half.owe_pong(self.decoder.control());
        self.owes_pong = true;
        poll_fn(|context| {
            self.owes_pong = !self.send_half.poll_pong(context);
            Poll::Ready(())
        })
        .await;
    }

    /// Fills the buffer by one read of at most `bytes_max`. All buffered bytes must be decoded.
    async fn fill(&mut self, bytes_max: usize) -> Result<(), SocketError> {
        self.buffer.clear();
        self.consumed = 0;
        // `read_buf` writes into the spare capacity of the vector. The capacity is not filled with
        // zeros first, and does not grow, because a read never exceeds it.
        let room = bytes_max.min(self.buffer.capacity());
        let mut space = (&mut self.buffer).limit(room);
        let read = self.half.read_buf(&mut space);
        let result = receive(read, &self.send_half, &mut self.owes_pong).await;
        self.check_read(result).map(drop)
    }

    /// Returns the length of a read, or ends the connection if it is 0 or the read failed.
    fn check_read(&mut self, result: io::Result<usize>) -> Result<usize, SocketError> {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
        let error = match result {
            Ok(0) => SocketError::Disconnected,
            Ok(length) => return Ok(length),
            Err(error) => match error.kind() {
                BrokenPipe | ConnectionAborted | ConnectionReset => SocketError::Disconnected,
                _ => SocketError::Io(error),
            },
        };
        self.phase = Phase::Ended(End::Disconnected);
        Err(error)
    }
}

/// Waits for a read. A pong that could not be sent at once is retried at each wake-up.
async fn receive<S: AsyncWrite>(
    read: impl Future<Output = io::Result<usize>>,
    send_half: &SendHalf<S>,
    owes_pong: &mut bool,
) -> io::Result<usize> {
    let mut read = pin!(read);
    poll_fn(|context| {
        if *owes_pong {
            *owes_pong = !send_half.poll_pong(context);
        }
        read.as_mut().poll(context)
    })
    .await
}

impl<S> fmt::Debug for SocketReader<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SocketReader")
            .field("bytes_buffered", &(self.buffer.len() - self.consumed))
            .field("phase", &self.phase)
            .finish_non_exhaustive()
    }
}

/// The minimum size of the read buffer. With less, system calls cost more than the bytes.
const READ_BUFFER_BYTES_MIN: usize = 4 * 1024;

/// The size of a read that expects the header of a long frame. Payload that arrives with it is
/// copied.
const HEADER_ROOM_BYTES: usize = 64;
