//! The byte stream of an HTTP connection after its upgrade.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::transport::Transport;

/// A connection after its upgrade from HTTP.
///
/// If this crate's server accepted it, it is the socket itself, so reading takes one system call
/// and no copy. With any other server it is hyper's wrapper.
#[derive(Debug)]
pub struct UpgradedStream {
    /// Bytes that HTTP read after the end of the request.
    read_ahead: Bytes,
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    Transport(Box<Transport>),
    Wrapped(TokioIo<Upgraded>),
}

impl UpgradedStream {
    pub(crate) fn new(upgraded: Upgraded) -> Self {
        match upgraded.downcast::<TokioIo<Transport>>() {
            Ok(parts) => {
                let transport = Box::new(parts.io.into_inner());
                // An empty slice would keep the buffer of HTTP alive.
                let is_empty = parts.read_buf.is_empty();
                let read_ahead = if is_empty { Bytes::new() } else { parts.read_buf };
                Self { read_ahead, inner: Inner::Transport(transport) }
            }
            Err(upgraded) => {
                Self { read_ahead: Bytes::new(), inner: Inner::Wrapped(TokioIo::new(upgraded)) }
            }
        }
    }

    /// Returns the connection itself; `None` if another server accepted it.
    pub fn transport(&self) -> Option<&Transport> {
        match &self.inner {
            Inner::Transport(transport) => Some(transport),
            Inner::Wrapped(_) => None,
        }
    }
}

impl AsyncRead for UpgradedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stream = self.get_mut();
        if !stream.read_ahead.is_empty() {
            let taken = stream.read_ahead.len().min(buffer.remaining());
            buffer.put_slice(&stream.read_ahead[..taken]);
            stream.read_ahead.advance(taken);
            if stream.read_ahead.is_empty() {
                stream.read_ahead = Bytes::new();
            }
            return Poll::Ready(Ok(()));
        }
        match &mut stream.inner {
            Inner::Transport(inner) => Pin::new(inner).poll_read(context, buffer),
            Inner::Wrapped(inner) => Pin::new(inner).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for UpgradedStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().inner {
            Inner::Transport(inner) => Pin::new(inner).poll_write(context, bytes),
            Inner::Wrapped(inner) => Pin::new(inner).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().inner {
            Inner::Transport(inner) => Pin::new(inner).poll_flush(context),
            Inner::Wrapped(inner) => Pin::new(inner).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().inner {
            Inner::Transport(inner) => Pin::new(inner).poll_shutdown(context),
            Inner::Wrapped(inner) => Pin::new(inner).poll_shutdown(context),
        }
    }
}
