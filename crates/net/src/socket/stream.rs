//! A connected stream, over any transport.

use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
#[cfg(target_os = "linux")]
use std::task::ready;
use std::task::{Context, Poll};
use std::time::Duration;

#[cfg(target_os = "linux")]
use tokio::io::Interest;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio_rustls::server::TlsStream;

#[cfg(target_os = "linux")]
use crate::file_queue::FileSpan;

/// The bytes of one connection, decrypted if it is TLS.
#[derive(Debug)]
pub enum SocketStream {
    /// TCP.
    Tcp(TcpStream),
    /// TLS over TCP. A read returns at most one record, 16 KiB.
    Tls(Box<TlsStream<TcpStream>>),
    /// A Unix stream socket.
    #[cfg(unix)]
    Unix(UnixStream),
}

impl SocketStream {
    /// The TCP socket underneath, to read or set its options; `None` for a Unix socket.
    pub fn tcp(&self) -> Option<&TcpStream> {
        match self {
            Self::Tcp(stream) => Some(stream),
            Self::Tls(stream) => Some(stream.get_ref().0),
            #[cfg(unix)]
            Self::Unix(_) => None,
        }
    }
}

impl SocketStream {
    /// The stream, so that the runtime whose context this is wakes its tasks. A TLS stream stays where it is.
    ///
    /// # Errors
    /// If the system has no memory for it.
    pub(super) fn into_this_runtime(self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(TcpStream::from_std(stream.into_std()?)?),
            #[cfg(unix)]
            Self::Unix(stream) => Self::Unix(UnixStream::from_std(stream.into_std()?)?),
            Self::Tls(stream) => Self::Tls(stream),
        })
    }

    /// Whether the client has chosen HTTP/2.
    pub(crate) fn speaks_http2(&self) -> bool {
        match self {
            Self::Tls(stream) => stream.get_ref().1.alpn_protocol() == Some(super::tls::HTTP2),
            _ => false,
        }
    }

    /// Makes the end of a TCP connection a reset, which no client takes for the end of what was sent. The end
    /// of a TLS connection without a `close_notify` is none anyway; Unix sockets have no resets.
    pub(crate) fn reset_on_close(&self) {
        if let Self::Tcp(stream) = self {
            // If the option is refused, the connection ends as any other.
            let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
        }
    }

    /// Ends a TLS connection whose client takes no bytes for this long. What TLS has encrypted counts as
    /// written, so a deadline for writes does not see that it waits; the kernel does.
    pub(crate) fn limit_unsent(&self, timeout: Duration) {
        #[cfg(target_os = "linux")]
        if let Self::Tls(stream) = self {
            // A socket that refuses the option works all the same.
            let _ = socket2::SockRef::from(stream.get_ref().0).set_tcp_user_timeout(Some(timeout));
        }
        #[cfg(not(target_os = "linux"))]
        let _ = timeout;
    }
}

/// Writing that ends in a file, which the kernel copies into the socket.
#[cfg(target_os = "linux")]
impl SocketStream {
    /// Whether the kernel can copy files into the socket.
    pub(crate) fn takes_files(&self) -> bool {
        !matches!(self, Self::Tls(_))
    }

    /// Sends a range of a file, or the beginning of it.
    pub(crate) fn poll_send_file(
        &self,
        context: &mut Context<'_>,
        span: &FileSpan,
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(context, |socket| {
            let mut offset = span.offset;
            let bytes = usize::try_from(span.bytes).unwrap_or(usize::MAX);
            match rustix::fs::sendfile(socket, &*span.file, Some(&mut offset), bytes)? {
                0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter")),
                sent => Ok(sent),
            }
        })
    }

    /// Sends bytes that a file follows, so that the system may put both into one packet.
    pub(crate) fn poll_write_more(
        &self,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};

        self.poll_write_with(context, |socket| {
            let flags = SendFlags::MORE | SendFlags::NOSIGNAL;
            Ok(sendmsg(socket, slices, &mut SendAncillaryBuffer::default(), flags)?)
        })
    }

    /// Calls a function that writes to the socket, once the socket has room.
    fn poll_write_with(
        &self,
        context: &mut Context<'_>,
        mut write: impl FnMut(BorrowedFd<'_>) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let written = match self {
                Self::Tcp(stream) => {
                    ready!(stream.poll_write_ready(context))?;
                    stream.try_io(Interest::WRITABLE, || write(stream.as_fd()))
                }
                Self::Unix(stream) => {
                    ready!(stream.poll_write_ready(context))?;
                    stream.try_io(Interest::WRITABLE, || write(stream.as_fd()))
                }
                Self::Tls(_) => Err(io::ErrorKind::Unsupported.into()),
            };
            match written {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }
}

/// Other systems copy files through memory.
#[cfg(not(target_os = "linux"))]
impl SocketStream {
    pub(crate) fn takes_files(&self) -> bool {
        false
    }

    pub(crate) fn poll_send_file(
        &self,
        _context: &mut Context<'_>,
        _span: &crate::file_queue::FileSpan,
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Err(io::ErrorKind::Unsupported.into()))
    }

    pub(crate) fn poll_write_more(
        &self,
        _context: &mut Context<'_>,
        _slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Err(io::ErrorKind::Unsupported.into()))
    }
}

/// Calls a method of the stream inside.
macro_rules! delegate {
    ($self:ident, $stream:ident => $call:expr) => {
        match $self.get_mut() {
            SocketStream::Tcp($stream) => $call,
            SocketStream::Tls($stream) => $call,
            #[cfg(unix)]
            SocketStream::Unix($stream) => $call,
        }
    };
}

impl AsyncRead for SocketStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        delegate!(self, stream => Pin::new(stream).poll_read(context, buffer))
    }
}

impl AsyncWrite for SocketStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        delegate!(self, stream => Pin::new(stream).poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        delegate!(self, stream => Pin::new(stream).poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
            #[cfg(unix)]
            Self::Unix(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        delegate!(self, stream => Pin::new(stream).poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        delegate!(self, stream => Pin::new(stream).poll_shutdown(context))
    }
}
