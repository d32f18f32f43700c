//! Reading from whatever a listener listens to.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::{TcpStream, UdpSocket};
#[cfg(unix)]
use tokio::net::{UnixDatagram, UnixStream};
use tokio_rustls::server::TlsStream;

use crate::datagram::{normalise, whole_lines};
use crate::pool::Chunk;

/// Something to read from.
#[derive(Debug)]
pub(crate) enum Medium {
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    Udp(UdpSocket),
    #[cfg(unix)]
    Unix(UnixStream),
    #[cfg(unix)]
    UnixDatagram(UnixDatagram),
}

/// The longest datagram that is taken whole. UDP has no longer ones; Unix sockets may.
const DATAGRAM_BYTES_MAX: usize = 64 << 10;

impl Medium {
    /// True where nothing ever ends and nobody waits for its turn.
    pub(crate) fn is_datagram(&self) -> bool {
        match self {
            Self::Udp(_) => true,
            #[cfg(unix)]
            Self::UnixDatagram(_) => true,
            _ => false,
        }
    }

    /// Reads what there is into an empty chunk; ready with nothing in it at the end.
    pub(crate) fn poll_fill(
        &mut self,
        context: &mut Context<'_>,
        chunk: &mut Chunk,
    ) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => fill_once(stream, context, chunk),
            Self::Tls(stream) => fill_records(stream, context, chunk),
            #[cfg(unix)]
            Self::Unix(stream) => fill_once(stream, context, chunk),
            Self::Udp(socket) => fill_datagrams(chunk, |read| socket.poll_recv(context, read)),
            #[cfg(unix)]
            Self::UnixDatagram(socket) => {
                fill_datagrams(chunk, |read| socket.poll_recv(context, read))
            }
        }
    }

    /// Tells a sender why it is not wanted, if it can be told at once.
    pub(crate) fn refuse(&self, sentence: &str) {
        // A sender that does not read has to find out by itself.
        let _ = match self {
            Self::Tcp(stream) => stream.try_write(sentence.as_bytes()),
            #[cfg(unix)]
            Self::Unix(stream) => stream.try_write(sentence.as_bytes()),
            _ => Ok(0),
        };
    }
}

fn fill_once<S: AsyncRead + Unpin>(
    stream: &mut S,
    context: &mut Context<'_>,
    chunk: &mut Chunk,
) -> Poll<io::Result<()>> {
    let mut read = ReadBuf::new(&mut chunk.buffer);
    let polled = Pin::new(stream).poll_read(context, &mut read);
    chunk.filled = read.filled().len();
    polled
}

/// Each read brings a record of TLS, 16 KiB at the most.
fn fill_records<S: AsyncRead + Unpin>(
    stream: &mut S,
    context: &mut Context<'_>,
    chunk: &mut Chunk,
) -> Poll<io::Result<()>> {
    let mut read = ReadBuf::new(&mut chunk.buffer);
    while read.remaining() > 0 {
        let filled = read.filled().len();
        let polled = Pin::new(&mut *stream).poll_read(context, &mut read);
        let is_end = match polled {
            Poll::Ready(Ok(())) => read.filled().len() == filled,
            // Senders that end without a farewell are many; that nobody cut the stream is for
            // them to say.
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => true,
            // What is wrong is found again by the next read.
            Poll::Ready(Err(_)) | Poll::Pending if filled > 0 => true,
            other => return other,
        };
        if is_end {
            break;
        }
    }
    chunk.filled = read.filled().len();
    Poll::Ready(Ok(()))
}

fn fill_datagrams(
    chunk: &mut Chunk,
    mut receive: impl FnMut(&mut ReadBuf<'_>) -> Poll<io::Result<()>>,
) -> Poll<io::Result<()>> {
    // A byte tells that a datagram is longer, or is left for a line feed.
    const ROOM_BYTES: usize = DATAGRAM_BYTES_MAX + 1;
    while chunk.buffer.len() - chunk.filled >= ROOM_BYTES {
        let start = chunk.filled;
        let mut read = ReadBuf::new(&mut chunk.buffer[start..start + ROOM_BYTES]);
        match receive(&mut read) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(_)) | Poll::Pending if chunk.datagrams > 0 => break,
            other => return other,
        }
        let mut length = read.filled().len();
        if length > DATAGRAM_BYTES_MAX {
            length = whole_lines(&chunk.buffer[start..start + DATAGRAM_BYTES_MAX]);
            chunk.datagrams_cut += 1;
        }
        chunk.filled = normalise(&mut chunk.buffer, start, start + length);
        chunk.datagrams += 1;
    }
    Poll::Ready(Ok(()))
}
