//! Reading from a stream or a datagram socket into a chunk.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use weir_net::socket::{DatagramSocket, SocketStream};

use crate::framing::{normalise_datagram, whole_lines_bytes};
use crate::memory::Chunk;

/// The socket of one connection, or of all datagrams of a listener.
#[derive(Debug)]
pub(crate) enum Socket {
    Stream(SocketStream),
    Datagrams(DatagramSocket),
}

/// The longest datagram that is received whole. UDP allows no longer ones; Unix sockets may.
const DATAGRAM_BYTES_MAX: usize = 64 << 10;

impl Socket {
    /// Whether the socket receives datagrams. Such a socket never ends, and cannot slow its senders
    /// down.
    pub(crate) fn is_datagram(&self) -> bool {
        matches!(self, Self::Datagrams(_))
    }

    /// Fills an empty chunk with the bytes that are ready. Leaves it empty at the end of the
    /// stream.
    pub(crate) fn poll_fill(
        &mut self,
        context: &mut Context<'_>,
        chunk: &mut Chunk,
    ) -> Poll<io::Result<()>> {
        match self {
            Self::Stream(stream @ SocketStream::Tls(_)) => fill_records(stream, context, chunk),
            Self::Stream(stream) => fill_once(stream, context, chunk),
            Self::Datagrams(socket) => fill_datagrams(socket, context, chunk),
        }
    }
}

fn fill_once(
    stream: &mut SocketStream,
    context: &mut Context<'_>,
    chunk: &mut Chunk,
) -> Poll<io::Result<()>> {
    let mut read = ReadBuf::new(&mut chunk.buffer);
    let polled = Pin::new(stream).poll_read(context, &mut read);
    chunk.filled = read.filled().len();
    polled
}

/// Reads until the chunk is full or no record is ready. One read of a TLS stream returns at most
/// one record, which is 16 KiB.
fn fill_records(
    stream: &mut SocketStream,
    context: &mut Context<'_>,
    chunk: &mut Chunk,
) -> Poll<io::Result<()>> {
    let mut read = ReadBuf::new(&mut chunk.buffer);
    while read.remaining() > 0 {
        let filled = read.filled().len();
        let polled = Pin::new(&mut *stream).poll_read(context, &mut read);
        let is_end = match polled {
            Poll::Ready(Ok(())) => read.filled().len() == filled,
            // The next read fails with the same error.
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
    socket: &DatagramSocket,
    context: &mut Context<'_>,
    chunk: &mut Chunk,
) -> Poll<io::Result<()>> {
    // The extra byte detects a datagram that is too long; otherwise it has room for a line feed.
    const ROOM_BYTES: usize = DATAGRAM_BYTES_MAX + 1;
    while chunk.buffer.len() - chunk.filled >= ROOM_BYTES {
        let start = chunk.filled;
        let mut read = ReadBuf::new(&mut chunk.buffer[start..start + ROOM_BYTES]);
        match socket.poll_receive(context, &mut read) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(_)) | Poll::Pending if chunk.datagrams > 0 => break,
            other => return other,
        }
        let mut length = read.filled().len();
        if length > DATAGRAM_BYTES_MAX {
            length = whole_lines_bytes(&chunk.buffer[start..start + DATAGRAM_BYTES_MAX]);
            chunk.datagrams_cut += 1;
        }
        chunk.filled = normalise_datagram(&mut chunk.buffer, start, start + length);
        chunk.datagrams += 1;
    }
    Poll::Ready(Ok(()))
}
