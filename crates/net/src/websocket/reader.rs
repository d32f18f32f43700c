//! The half that receives.

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
use super::error::Error;
use super::outgoing::Outgoing;
use super::socket::SocketOptions;
use super::violation::Violation;

/// What the peer sent. Everything is borrowed from the reader, until its next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The next bytes of a binary message, as they came off the socket: neither a frame's nor
    /// a message's end is waited for.
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

/// What [`Reader::next_into`] yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received<'a> {
    /// The next bytes of a binary message lie at the start of the space that was given.
    Binary {
        /// How many. 0 only at the end of a message, and where the space was empty.
        length: usize,
        /// Whether they are the last of their message.
        end_of_message: bool,
    },
    /// A whole text message.
    Text(&'a str),
    /// The answer to a ping, with its payload.
    Pong(&'a [u8]),
}

/// Receives from a WebSocket, and answers what must be answered.
pub struct Reader<S> {
    half: ReadHalf<S>,
    outgoing: Arc<Outgoing<S>>,
    decoder: Decoder,
    /// What the last read brought; its capacity is fixed. Bytes before `consumed` are decoded.
    buffer: Vec<u8>,
    consumed: usize,
    /// The last binary frame went past the buffer: the next one probably does too, and only
    /// its header should come into the buffer.
    is_passing: bool,
    /// Whether a pong may be due still.
    owes_pong: bool,
    phase: Phase,
    close_frame: Option<CloseFrame>,
    options: SocketOptions,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Open,
    /// The peer is to be told of the end, until the deadline.
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

impl<S: AsyncRead + AsyncWrite> Reader<S> {
    pub(crate) fn new(
        half: ReadHalf<S>,
        outgoing: Arc<Outgoing<S>>,
        options: SocketOptions,
    ) -> Self {
        Self {
            half,
            outgoing,
            decoder: Decoder::new(options.text_bytes_max),
            buffer: Vec::with_capacity(options.read_buffer_bytes.max(READ_BUFFER_BYTES_MIN)),
            consumed: 0,
            is_passing: false,
            owes_pong: false,
            phase: Phase::Open,
            close_frame: None,
            options,
        }
    }

    /// Waits for the next event. `None` means that the peer closed with a close frame, which
    /// has been answered; [`close_frame`](Reader::close_frame) has it.
    ///
    /// Pings are answered on the way. The future may be dropped at any time without losing
    /// anything, so it may stand in a `select!` or under a timeout.
    ///
    /// # Errors
    ///
    /// [`Error::Violation`] when the peer breaches RFC 6455 or a limit; before it is returned,
    /// the peer is told with a close frame and given
    /// [`linger_timeout`](SocketOptions::linger_timeout) to read it. [`Error::Disconnected`]
    /// when the connection ends without a close frame, [`Error::Io`] when reading fails
    /// otherwise. Calling on after an end returns that end again, a failed read as disconnected.
    pub async fn next(&mut self) -> Result<Option<Event<'_>>, Error> {
        while self.advance().await? {
            if !self.has_buffered() {
                self.fill(usize::MAX).await?;
            }
            let start = self.consumed;
            match self.decode_buffered(usize::MAX) {
                Some(Frame::Binary { range, end_of_message }) => {
                    let bytes = &self.buffer[start..][range];
                    return Ok(Some(Event::Binary { bytes, end_of_message }));
                }
                Some(Frame::Text) => return Ok(Some(Event::Text(self.decoder.text()))),
                Some(Frame::Pong) => return Ok(Some(Event::Pong(self.decoder.control()))),
                frame => self.answer(frame).await,
            }
        }
        Ok(None)
    }

    /// As [`next`](Reader::next), but the bytes of binary messages are put at the start of
    /// `space`: straight from the socket, and unmasked there, for all but the first few of a
    /// long frame. At most [`read_buffer_bytes`](SocketOptions::read_buffer_bytes) come at
    /// once. What `space` holds behind them is unspecified afterwards.
    ///
    /// Calls of `next` and `next_into` may alternate. The future may be dropped at any time
    /// without losing anything.
    ///
    /// # Errors
    ///
    /// As [`next`](Reader::next).
    pub async fn next_into(&mut self, space: &mut [u8]) -> Result<Option<Received<'_>>, Error> {
        while self.advance().await? {
            if space.is_empty() {
                return Ok(Some(Received::Binary { length: 0, end_of_message: false }));
            }
            if !self.has_buffered() {
                if let Some(bytes_due) = self.decoder.binary_bytes_due() {
                    return self.pass(space, bytes_due).await.map(Some);
                }
                let room = if self.is_passing { HEADER_ROOM_BYTES } else { usize::MAX };
                self.fill(room).await?;
            }
            let start = self.consumed;
            match self.decode_buffered(space.len()) {
                Some(Frame::Binary { range, end_of_message }) => {
                    let bytes = &self.buffer[start..][range];
                    space[..bytes.len()].copy_from_slice(bytes);
                    self.is_passing &= self.decoder.binary_bytes_due().is_some();
                    return Ok(Some(Received::Binary { length: bytes.len(), end_of_message }));
                }
                Some(Frame::Text) => return Ok(Some(Received::Text(self.decoder.text()))),
                Some(Frame::Pong) => return Ok(Some(Received::Pong(self.decoder.control()))),
                frame => self.answer(frame).await,
            }
        }
        Ok(None)
    }

    /// Reads payload, of which so many bytes are due, past the buffer.
    async fn pass(&mut self, space: &mut [u8], bytes_due: u64) -> Result<Received<'_>, Error> {
        let most = space.len().min(self.buffer.capacity());
        let length = usize::try_from(bytes_due).map_or(most, |due| due.min(most));
        let read = self.half.read(&mut space[..length]);
        let result = receive(read, &self.outgoing, &mut self.owes_pong).await;
        let length = self.note_read(result)?;
        self.is_passing = true;
        // Inside a payload nothing can be violated, and all that was read belongs to it.
        let decoded = self.decoder.decode(&mut space[..length]);
        let end_of_message =
            matches!(decoded, Ok((_, Some(Frame::Binary { end_of_message: true, .. }))));
        Ok(Received::Binary { length, end_of_message })
    }

    /// Decodes at most so many of the bytes in the buffer.
    fn decode_buffered(&mut self, bytes_max: usize) -> Option<Frame> {
        let start = self.consumed;
        let end = self.buffer.len().min(start.saturating_add(bytes_max));
        match self.decoder.decode(&mut self.buffer[start..end]) {
            Ok((consumed, frame)) => {
                self.consumed += consumed;
                frame
            }
            Err(violation) => {
                self.leave(End::Violation(violation));
                None
            }
        }
    }

    /// Deals with a frame that is none of the caller's business.
    async fn answer(&mut self, frame: Option<Frame>) {
        match frame {
            Some(Frame::Ping) => self.answer_ping().await,
            Some(Frame::Close(frame)) => {
                self.close_frame = Some(frame);
                self.leave(End::Closed);
            }
            _ => {}
        }
    }

    /// Whether bytes that were read wait to be decoded: the next event probably comes without
    /// waiting. When this is false, the socket may still have more; to know that the peer
    /// pauses, wait for [`next`](Reader::next) under a short timeout.
    pub fn has_buffered(&self) -> bool {
        self.consumed < self.buffer.len()
    }

    /// What the peer's close frame said, once [`next`](Reader::next) returned `None`.
    pub fn close_frame(&self) -> Option<&CloseFrame> {
        self.close_frame.as_ref()
    }

    /// Discards what still comes until the peer closes, for at most
    /// [`linger_timeout`](SocketOptions::linger_timeout). For use after
    /// [`Writer::close`](super::Writer::close): closing a socket with unread bytes in it resets
    /// the connection, and a reset can overtake the close frame.
    pub async fn drain(&mut self) {
        let linger_timeout = self.options.linger_timeout;
        let end = async { while let Ok(Some(_)) = self.next().await {} };
        let _ended_in_time = timeout(linger_timeout, end).await;
    }

    fn leave(&mut self, end: End) {
        self.phase = Phase::Leaving(end, Instant::now() + self.options.linger_timeout);
    }

    /// Finishes a leave in progress. True while the connection is open; false or an error, by
    /// how it came about, at its end.
    async fn advance(&mut self) -> Result<bool, Error> {
        if let Phase::Leaving(end, deadline) = self.phase {
            // The peer may be gone or stuck; it had its chance.
            let _told_in_time = timeout_at(deadline, self.say_goodbye(end)).await;
            self.phase = Phase::Ended(end);
        }
        match self.phase {
            Phase::Ended(End::Closed) => Ok(false),
            Phase::Ended(End::Violation(violation)) => Err(Error::Violation(violation)),
            Phase::Ended(End::Disconnected) => Err(Error::Disconnected),
            Phase::Open | Phase::Leaving(..) => Ok(true),
        }
    }

    async fn say_goodbye(&mut self, end: End) -> io::Result<()> {
        match end {
            End::Closed => {
                let code = self.close_frame.as_ref().and_then(|frame| frame.code);
                self.outgoing.finish(code, "").await
            }
            End::Violation(violation) => {
                self.outgoing.finish(Some(violation.close_code()), &violation.to_string()).await?;
                self.discard().await
            }
            End::Disconnected => Ok(()),
        }
    }

    /// Reads to the end, decoding nothing: see [`drain`](Reader::drain) for the reason.
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
        self.outgoing.owe_pong(self.decoder.control());
        self.owes_pong = true;
        poll_fn(|context| {
            self.owes_pong = !self.outgoing.poll_pong(context);
            Poll::Ready(())
        })
        .await;
    }

    /// Fills the buffer, which must be consumed, with what one read of the socket yields, at
    /// most `bytes_max`.
    async fn fill(&mut self, bytes_max: usize) -> Result<(), Error> {
        self.buffer.clear();
        self.consumed = 0;
        // `read_buf` writes into the spare capacity of the vector: nothing is filled with zeros
        // first, and nothing grows, since a read never exceeds that capacity.
        let room = bytes_max.min(self.buffer.capacity());
        let mut space = (&mut self.buffer).limit(room);
        let read = self.half.read_buf(&mut space);
        let result = receive(read, &self.outgoing, &mut self.owes_pong).await;
        self.note_read(result).map(drop)
    }

    /// Says how many bytes a read brought; where it brought none, the connection has ended.
    fn note_read(&mut self, result: io::Result<usize>) -> Result<usize, Error> {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
        let error = match result {
            Ok(0) => Error::Disconnected,
            Ok(length) => return Ok(length),
            Err(error) => match error.kind() {
                BrokenPipe | ConnectionAborted | ConnectionReset => Error::Disconnected,
                _ => Error::Io(error),
            },
        };
        self.phase = Phase::Ended(End::Disconnected);
        Err(error)
    }
}

/// Waits for a read. A pong that could not be sent at once is tried again whenever this wakes.
async fn receive<S: AsyncWrite>(
    read: impl Future<Output = io::Result<usize>>,
    outgoing: &Outgoing<S>,
    owes_pong: &mut bool,
) -> io::Result<usize> {
    let mut read = pin!(read);
    poll_fn(|context| {
        if *owes_pong {
            *owes_pong = !outgoing.poll_pong(context);
        }
        read.as_mut().poll(context)
    })
    .await
}

impl<S> fmt::Debug for Reader<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Reader")
            .field("bytes_buffered", &(self.buffer.len() - self.consumed))
            .field("phase", &self.phase)
            .finish_non_exhaustive()
    }
}

/// Below this, system calls would cost more than the bytes.
const READ_BUFFER_BYTES_MIN: usize = 4 * 1024;

/// Room for the header of a long frame; what else comes with it is copied.
const HEADER_ROOM_BYTES: usize = 64;
