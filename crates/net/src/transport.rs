//! An accepted connection, whatever it runs over.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;

/// One accepted connection. It counts against
/// [`connections_max`](crate::ServeOptions::connections_max) until it is dropped, also after
/// an upgrade has taken it away from HTTP.
#[derive(Debug)]
pub struct Transport {
    stream: Accepted,
    _permit: OwnedSemaphorePermit,
}

/// The kinds of stream that a listener yields. TLS and Unix sockets become variants here.
#[derive(Debug)]
pub(crate) enum Accepted {
    Tcp(TcpStream),
}

impl Transport {
    pub(crate) fn new(stream: Accepted, permit: OwnedSemaphorePermit) -> Self {
        Self { stream, _permit: permit }
    }

    /// The TCP socket underneath, where there is one: to read or set its options.
    pub fn tcp(&self) -> Option<&TcpStream> {
        match &self.stream {
            Accepted::Tcp(stream) => Some(stream),
        }
    }

    fn stream(self: Pin<&mut Self>) -> Pin<&mut TcpStream> {
        match &mut self.get_mut().stream {
            Accepted::Tcp(stream) => Pin::new(stream),
        }
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream().poll_read(context, buffer)
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream().poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream().poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Accepted::Tcp(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(context)
    }
}
