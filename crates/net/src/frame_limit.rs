//! A limit on HTTP/2 frames that request nothing. Such frames are cheap to send, by the million.
//!
//! h2 reads everything that a socket has in one poll. A client that floods it with `PING` or
//! `SETTINGS` (CVE-2019-9512, CVE-2019-9515) takes no memory, because each answer is written before
//! the next frame is read. But it takes the processor time of all other clients. hyper does not
//! report such frames, so they are counted below it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// The period to which [`frames_max`](crate::Http2Options::frames_max) applies.
const PERIOD: Duration = Duration::from_secs(10);

/// The number of frames that each request allows: its priority, and window updates.
const FRAMES_FOR_REQUEST: u32 = 8;

/// The number of written bytes, frame headers included, that allow one frame more: a window update
/// for the smallest part of a response.
const BYTES_FOR_FRAME: usize = 32;

/// The length of the connection preface, which precedes the first frame (RFC 9113 section 3.4).
const PREFACE_BYTES: usize = 24;

/// The length of a frame header, and the offsets of its type and its flags (section 4.1).
const HEADER_BYTES: usize = 9;
const TYPE: usize = 3;
const FLAGS: usize = 4;

/// Frame types (section 6), and the flag that ends a body.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;

/// A connection whose reads fail after too many frames that request nothing.
#[derive(Debug)]
pub(crate) struct FrameLimiter<T> {
    inner: T,
    frames: FrameCounter,
}

impl<T> FrameLimiter<T> {
    pub(crate) fn new(inner: T, frames_max: u32) -> Self {
        Self { inner, frames: FrameCounter::new(frames_max) }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for FrameLimiter<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let start = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
        Poll::Ready(this.frames.receive(&buffer.filled()[start..]).map_err(io::Error::other))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for FrameLimiter<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.inner).poll_write(context, bytes);
        this.frames.count_written(written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.inner).poll_write_vectored(context, slices);
        this.frames.count_written(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(context)
    }
}

/// Counts the frames of a client. It parses only their headers.
#[derive(Clone, Debug)]
struct FrameCounter {
    frames_max: u32,
    /// The frames in this period that request nothing, less those that requests and written bytes
    /// allow.
    count: u32,
    period_start: Instant,
    /// The header of the next frame, of which `filled` bytes have arrived.
    header: [u8; HEADER_BYTES],
    filled: usize,
    /// The bytes before that header that are still to be skipped: a payload, or the preface.
    skipped: usize,
}

impl FrameCounter {
    fn new(frames_max: u32) -> Self {
        Self {
            frames_max,
            count: 0,
            period_start: Instant::now(),
            header: [0; HEADER_BYTES],
            filled: 0,
            skipped: PREFACE_BYTES,
        }
    }

    fn receive(&mut self, mut bytes: &[u8]) -> Result<(), TooManyFrames> {
        loop {
            let skipped = self.skipped.min(bytes.len());
            self.skipped -= skipped;
            let taken = (HEADER_BYTES - self.filled).min(bytes.len() - skipped);
            let (part, rest) = bytes[skipped..].split_at(taken);
            self.header[self.filled..self.filled + taken].copy_from_slice(part);
            self.filled += taken;
            bytes = rest;
            if self.filled < HEADER_BYTES {
                return Ok(());
            }
            self.filled = 0;
            let [high, middle, low, ..] = self.header;
            self.skipped = u32::from_be_bytes([0, high, middle, low]) as usize;
            self.count_frame()?;
        }
    }

    /// Counts the frame whose header is complete.
    fn count_frame(&mut self) -> Result<(), TooManyFrames> {
        match self.header[TYPE] {
            HEADERS => self.count = self.count.saturating_sub(FRAMES_FOR_REQUEST),
            // h2 limits them itself.
            CONTINUATION => {}
            DATA if self.skipped > 0 || self.header[FLAGS] & END_STREAM != 0 => {}
            _ => self.count += 1,
        }
        if self.count <= self.frames_max {
            return Ok(());
        }
        if self.period_start.elapsed() < PERIOD {
            return Err(TooManyFrames);
        }
        (self.count, self.period_start) = (0, Instant::now());
        Ok(())
    }

    fn count_written(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = written {
            let frames = u32::try_from(bytes / BYTES_FOR_FRAME).unwrap_or(u32::MAX);
            self.count = self.count.saturating_sub(frames);
        }
        written
    }
}

/// The error of a connection with too many frames that request nothing.
#[derive(Debug, PartialEq, Eq)]
struct TooManyFrames;

impl std::fmt::Display for TooManyFrames {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("the client sends too many HTTP/2 frames that request nothing")
    }
}

impl std::error::Error for TooManyFrames {}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use tokio::time::advance;

    use super::{CONTINUATION, DATA, END_STREAM, FrameCounter, HEADERS, PERIOD, TooManyFrames};

    const SETTINGS: u8 = 4;
    const PING: u8 = 6;
    const WINDOW_UPDATE: u8 = 8;
    const MAX: u32 = 20;

    fn frame(kind: u8, flags: u8, payload_bytes: u8) -> Vec<u8> {
        let header = [0, 0, payload_bytes, kind, flags, 0, 0, 0, 1];
        // A payload that would be read as frames of any type.
        [&header[..], &vec![PING; usize::from(payload_bytes)]].concat()
    }

    /// A connection after its preface.
    fn frames() -> FrameCounter {
        let mut frames = FrameCounter::new(MAX);
        frames.receive(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
        frames
    }

    /// Returns the number of frames, up to 100, after which a connection fails.
    fn taken(frame: &[u8], piece_bytes: usize) -> usize {
        let mut frames = frames();
        let bytes = frame.repeat(100);
        for (index, piece) in bytes.chunks(piece_bytes).enumerate() {
            if frames.receive(piece).is_err() {
                return index * piece_bytes / frame.len();
            }
        }
        100
    }

    #[tokio::test(start_paused = true)]
    async fn frames_that_ask_for_nothing_are_limited() {
        for piece_bytes in 1..50 {
            for (kind, payload_bytes) in
                [(PING, 8), (SETTINGS, 0), (WINDOW_UPDATE, 4), (DATA, 0), (0xfa, 200)]
            {
                let frame = frame(kind, 0, payload_bytes);
                let taken = taken(&frame, piece_bytes);
                assert!(taken.abs_diff(MAX as usize) <= piece_bytes, "{kind}: {taken}");
            }
            for (kind, flags, payload_bytes) in
                [(HEADERS, 0, 20), (DATA, 0, 1), (DATA, END_STREAM, 0), (CONTINUATION, 0, 9)]
            {
                assert_eq!(taken(&frame(kind, flags, payload_bytes), piece_bytes), 100, "{kind}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn time_requests_and_answers_make_up_for_frames() {
        let mut frames = frames();
        let pings = |count: u32| frame(PING, 0, 8).repeat(count as usize);
        frames.receive(&pings(MAX)).unwrap();
        frames.receive(&frame(HEADERS, 0, 20)).unwrap();
        frames.receive(&pings(8)).unwrap();
        let _written = frames.count_written(Poll::Ready(Ok(320)));
        frames.receive(&pings(10)).unwrap();
        let mut late = frames.clone();
        assert_eq!(frames.receive(&pings(1)), Err(TooManyFrames));
        advance(PERIOD).await;
        late.receive(&pings(1 + MAX)).unwrap();
        assert_eq!(late.receive(&pings(1)), Err(TooManyFrames));
    }
}
