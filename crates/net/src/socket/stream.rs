//! A connected stream, over any transport.

use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::{Pin, pin};
use std::sync::Arc;
#[cfg(target_os = "linux")]
use std::task::ready;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

#[cfg(target_os = "linux")]
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio_rustls::server::TlsStream;

use super::client_certificate::ClientCertificate;
#[cfg(target_os = "linux")]
use crate::file_queue::FileSpan;

/// The byte stream of one connection, decrypted if it uses TLS.
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
    /// Returns the underlying TCP socket, to read or set its options; `None` for a Unix socket.
    pub fn tcp(&self) -> Option<&TcpStream> {
        match self {
            Self::Tcp(stream) => Some(stream),
            Self::Tls(stream) => Some(stream.get_ref().0),
            #[cfg(unix)]
            Self::Unix(_) => None,
        }
    }
}

/// The certificate of a client cannot be read, or its subject is too long.
#[derive(Debug)]
pub(crate) struct UnreadableCertificate;

/// The side of a connection on which the other end sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SendingSide {
    /// It is open, and all bytes are read.
    #[default]
    Open,
    /// Bytes wait to be read. If the side is open, the task is not woken when it closes.
    Unread,
    /// It is closed. The other end may still receive.
    Closed,
    /// The connection is reset, or closed on both sides.
    Reset,
}

impl SendingSide {
    /// Whether no more bytes can come.
    pub(crate) fn is_closed(self) -> bool {
        matches!(self, Self::Closed | Self::Reset)
    }
}

impl SocketStream {
    /// Checks whether the other end can still send. If it can, the task is woken when the socket
    /// becomes readable.
    pub(crate) fn poll_sending_side(&self, context: &mut Context<'_>) -> SendingSide {
        let mut byte = [0];
        let readable = match self {
            #[cfg(unix)]
            Self::Unix(stream) => stream.poll_read_ready(context).map_ok(|()| 1),
            _ => match self.tcp() {
                Some(socket) => socket.poll_peek(context, &mut ReadBuf::new(&mut byte)),
                None => Poll::Pending,
            },
        };
        let Poll::Ready(readable) = readable else { return SendingSide::Open };
        // The system has reported the end of the bytes even if it comes after unread ones.
        let state = self.readiness();
        match readable {
            Err(_) => SendingSide::Reset,
            Ok(_) if state.is_write_closed() => SendingSide::Reset,
            Ok(0) => SendingSide::Closed,
            Ok(_) if state.is_read_closed() => SendingSide::Closed,
            Ok(_) => SendingSide::Unread,
        }
    }

    /// Returns what the system has reported about the socket.
    fn readiness(&self) -> Ready {
        let interest = Interest::READABLE | Interest::WRITABLE;
        let mut context = Context::from_waker(Waker::noop());
        let ready = match self {
            #[cfg(unix)]
            Self::Unix(stream) => pin!(stream.ready(interest)).poll(&mut context),
            _ => match self.tcp() {
                Some(socket) => pin!(socket.ready(interest)).poll(&mut context),
                None => Poll::Pending,
            },
        };
        match ready {
            Poll::Ready(Ok(state)) => state,
            _ => Ready::EMPTY,
        }
    }

    /// Moves the stream to the current tokio runtime. A TLS stream stays on its runtime.
    ///
    /// # Errors
    /// If the system has no memory for it.
    pub(super) fn into_current_runtime(self) -> io::Result<Self> {
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

    /// Reads the certificate that the client has presented, if it has. The error is that it cannot be
    /// read.
    pub(crate) fn client_certificate(
        &self,
    ) -> Result<Option<Arc<ClientCertificate>>, UnreadableCertificate> {
        let chain = match self {
            Self::Tls(stream) => stream.get_ref().1.peer_certificates(),
            _ => None,
        };
        let Some(certificate) = chain.and_then(<[_]>::first) else { return Ok(None) };
        let read = ClientCertificate::read(certificate).ok_or(UnreadableCertificate)?;
        Ok(Some(Arc::new(read)))
    }

    /// Makes a TCP connection end with a reset, which no client mistakes for the end of a body. A
    /// TLS connection ends without `close_notify`, which has the same effect. Unix sockets have no
    /// resets.
    pub(crate) fn reset_on_close(&self) {
        if let Self::Tcp(stream) = self {
            // If the system refuses the option, the connection ends like any other.
            let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
        }
    }

    /// Reads bytes that will be discarded. Over TLS they are not decrypted, so it must be the last
    /// use of the stream.
    pub(crate) fn poll_read_raw(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream.get_mut().0).poll_read(context, buffer),
            #[cfg(unix)]
            Self::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }

    /// Ends a TLS connection whose client reads no bytes for `timeout`. Bytes that TLS has
    /// encrypted count as written, so a deadline for writes does not detect that they wait. The
    /// kernel does.
    pub(crate) fn limit_unsent(&self, timeout: Duration) {
        #[cfg(target_os = "linux")]
        if let Self::Tls(stream) = self {
            // If the system refuses the option, the socket works without it.
            let _ = socket2::SockRef::from(stream.get_ref().0).set_tcp_user_timeout(Some(timeout));
        }
        #[cfg(not(target_os = "linux"))]
        let _ = timeout;
    }
}

/// The bytes that a socket takes in advance, before it has sent those that it has; 0 for the system's
/// own choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BytesAhead(u32);

impl BytesAhead {
    /// Linux adds up to one packet, which has 64 KiB on the same machine.
    pub(crate) const FEW: Self = Self(16 << 10);
}

impl SocketStream {
    /// Sets how many bytes the system takes in advance, and returns how many it took before. What
    /// it has sent does not count, so that a distant client is as fast with few. Returns `None` if
    /// the system refuses; the socket works without it.
    pub(crate) fn replace_bytes_ahead(&self, bytes: BytesAhead) -> Option<BytesAhead> {
        #[cfg(target_os = "linux")]
        return match self {
            Self::Tcp(stream) => replace_notsent_lowat(&SockRef::from(stream), bytes),
            Self::Tls(stream) => replace_notsent_lowat(&SockRef::from(stream.get_ref().0), bytes),
            Self::Unix(stream) => {
                let socket = SockRef::from(stream);
                // Linux doubles the size that is set (socket(7)).
                let before = u32::try_from(socket.send_buffer_size().ok()? / 2).ok()?;
                socket.set_send_buffer_size(bytes.0 as usize).ok()?;
                Some(BytesAhead(before))
            }
        };
        #[cfg(not(target_os = "linux"))]
        {
            let _ = bytes;
            None
        }
    }
}

#[cfg(target_os = "linux")]
fn replace_notsent_lowat(socket: &SockRef<'_>, bytes: BytesAhead) -> Option<BytesAhead> {
    let before = socket.tcp_notsent_lowat().ok()?;
    socket.set_tcp_notsent_lowat(bytes.0).ok()?;
    Some(BytesAhead(before))
}

/// Writes of files, which the kernel copies into the socket.
#[cfg(target_os = "linux")]
impl SocketStream {
    /// Whether the kernel can copy files into the socket.
    pub(crate) fn supports_sendfile(&self) -> bool {
        !matches!(self, Self::Tls(_))
    }

    /// Sends a range of a file, or its beginning.
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

    /// Sends bytes that precede a file. The system may put both into one packet.
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

    /// Calls a function that writes to the socket, as soon as the socket has room.
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

/// On other systems files are copied through memory.
#[cfg(not(target_os = "linux"))]
impl SocketStream {
    pub(crate) fn supports_sendfile(&self) -> bool {
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

/// Evaluates an expression for the inner stream.
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
