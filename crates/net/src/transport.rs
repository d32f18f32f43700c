//! An accepted connection, whatever it runs over.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep};

/// One accepted connection. It counts against
/// [`connections_max`](crate::ServeOptions::connections_max) until it is dropped, also after
/// an upgrade has taken it away from HTTP.
#[derive(Debug)]
pub struct Transport {
    stream: Accepted,
    patience: Patience,
    _permit: OwnedSemaphorePermit,
}

/// A wait that ended so long ago was given up before.
const UNSEEN: Duration = Duration::from_secs(1);

/// How long a peer may take nothing of what it is sent.
#[derive(Debug)]
struct Patience {
    timeout: Duration,
    /// When it ends; `None` while nothing waits to be taken.
    end: Option<Pin<Box<Sleep>>>,
}

impl Patience {
    /// Passes on what a write came to, or that the peer had its time.
    fn check<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.end = None;
            return written;
        }
        // Where nobody was there to see it end, nobody was waiting.
        let is_past = |end: &mut Pin<Box<Sleep>>| end.deadline() + UNSEEN < Instant::now();
        self.end.take_if(is_past);
        let end = self.end.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.timeout)));
        ready!(end.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read")))
    }
}

/// The kinds of stream that a listener yields. TLS and Unix sockets become variants here.
#[derive(Debug)]
pub(crate) enum Accepted {
    Tcp(TcpStream),
}

impl Transport {
    pub(crate) fn new(
        stream: Accepted,
        permit: OwnedSemaphorePermit,
        write_timeout: Duration,
    ) -> Self {
        let patience = Patience { timeout: write_timeout, end: None };
        Self { stream, patience, _permit: permit }
    }

    /// The TCP socket underneath, where there is one: to read or set its options.
    pub fn tcp(&self) -> Option<&TcpStream> {
        match &self.stream {
            Accepted::Tcp(stream) => Some(stream),
        }
    }

    fn stream(self: Pin<&mut Self>) -> Pin<&mut TcpStream> {
        self.parts().0
    }

    fn parts(self: Pin<&mut Self>) -> (Pin<&mut TcpStream>, &mut Patience) {
        let this = self.get_mut();
        match &mut this.stream {
            Accepted::Tcp(stream) => (Pin::new(stream), &mut this.patience),
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
        let (stream, patience) = self.parts();
        let written = stream.poll_write(context, bytes);
        patience.check(context, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let (stream, patience) = self.parts();
        let written = stream.poll_write_vectored(context, slices);
        patience.check(context, written)
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
