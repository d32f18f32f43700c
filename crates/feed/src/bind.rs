//! Sockets that listen, or the sentence that says why not.

use std::fmt;
use std::io;
use std::path::PathBuf;

#[cfg(unix)]
use std::os::fd::OwnedFd;
#[cfg(unix)]
use std::path::Path;

#[cfg(unix)]
use socket2::Type;
use tokio::net::{TcpListener, UdpSocket};
#[cfg(unix)]
use tokio::net::{UnixDatagram, UnixListener};
use tokio_rustls::TlsAcceptor;

use crate::address::Transport;
use crate::kernel;
use crate::medium::Medium;
use crate::options::FeedOptions;
use crate::tls;
#[cfg(unix)]
use crate::unix;

/// Why a feed cannot listen.
#[derive(Debug)]
pub enum BindError {
    /// Somebody else listens at that address.
    InUse(Transport),
    /// Where the socket should be is a file that is none.
    NoSocket(PathBuf),
    /// TLS without a certificate or a key.
    NoCertificate,
    /// A certificate or key that cannot be used.
    Tls {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The system cannot do that.
    Unsupported(Transport),
    /// Listening failed otherwise.
    Io {
        /// The address asked for.
        transport: Transport,
        /// What went wrong.
        error: io::Error,
    },
}

impl fmt::Display for BindError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse(transport) => write!(
                formatter,
                "{transport}: the address is in use by another program; choose another, or end \
                 that program"
            ),
            Self::NoSocket(path) => write!(
                formatter,
                "{}: there is a file that is no socket; choose another path, or remove it",
                path.display()
            ),
            Self::NoCertificate => formatter.write_str(
                "tls:// needs a certificate and its key; name them with --tls-cert and --tls-key",
            ),
            Self::Tls { path, why } => {
                write!(formatter, "{}: cannot be used for TLS: {why}", path.display())
            }
            Self::Unsupported(transport) => {
                write!(formatter, "{transport}: this system has no such sockets; use tcp://")
            }
            Self::Io { transport, error } => {
                write!(formatter, "cannot listen at {transport}: {error}")
            }
        }
    }
}

impl std::error::Error for BindError {}

/// A socket that listens.
pub(crate) enum Socket {
    Tcp(TcpListener, Option<TlsAcceptor>),
    #[cfg(unix)]
    Unix(UnixListener, SocketFile),
    /// What brings datagrams, and its inode.
    Datagrams(Medium, Option<u64>, Option<SocketFile>),
}

/// A socket's place among the files; removed with the socket.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    /// What it is known by, whoever puts another file in its place.
    number: Option<(u64, u64)>,
}

impl SocketFile {
    #[cfg(unix)]
    fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), number: file_number(path) }
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        #[cfg(unix)]
        if self.number.is_some() && self.number == file_number(&self.path) {
            // Whoever has removed it before has done no harm.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The device and the inode of a file.
#[cfg(unix)]
fn file_number(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Connections that wait to be accepted, at the most; the kernel may allow fewer. Senders that come
/// back all at once, as after a restart, would otherwise be kept waiting for a second and more.
const BACKLOG: i32 = 4_096;

/// What a kernel is asked to keep of datagrams; it gives less where it is not allowed.
const DATAGRAM_BUFFER_BYTES: usize = 8 << 20;

/// Listens there; gives the address with the port that was free.
pub(crate) async fn bind(
    transport: &Transport,
    options: &FeedOptions,
) -> Result<(Socket, Transport), BindError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AddrInUse => BindError::InUse(transport.clone()),
        _ => BindError::Io { transport: transport.clone(), error },
    };
    match transport {
        Transport::Tcp(host) => {
            let listener = listen(host).await.map_err(failed)?;
            let bound = Transport::Tcp(listener.local_addr().map_err(failed)?.to_string());
            Ok((Socket::Tcp(listener, None), bound))
        }
        Transport::Tls(host) => {
            let acceptor = tls::acceptor(options)?;
            let listener = listen(host).await.map_err(failed)?;
            let bound = Transport::Tls(listener.local_addr().map_err(failed)?.to_string());
            Ok((Socket::Tcp(listener, Some(acceptor)), bound))
        }
        Transport::Udp(host) => {
            let socket = UdpSocket::bind(host).await.map_err(failed)?;
            // Less room means that more is dropped, which is counted.
            let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(DATAGRAM_BUFFER_BYTES);
            let bound = Transport::Udp(socket.local_addr().map_err(failed)?.to_string());
            let inode = kernel::inode(&socket);
            Ok((Socket::Datagrams(Medium::Udp(socket), inode, None), bound))
        }
        #[cfg(unix)]
        Transport::Unix(path) => {
            free_path(transport, path)?;
            let socket = unix::bind(path, Type::STREAM, options.socket_mode).map_err(failed)?;
            // Only now can anybody connect.
            socket.listen(BACKLOG).map_err(failed)?;
            let listener = UnixListener::from_std(OwnedFd::from(socket).into()).map_err(failed)?;
            Ok((Socket::Unix(listener, SocketFile::new(path)), transport.clone()))
        }
        #[cfg(unix)]
        Transport::UnixDatagram(path) => {
            free_path(transport, path)?;
            let socket = unix::bind(path, Type::DGRAM, options.socket_mode).map_err(failed)?;
            let socket = UnixDatagram::from_std(OwnedFd::from(socket).into()).map_err(failed)?;
            let file = SocketFile::new(path);
            let medium = Medium::UnixDatagram(socket);
            Ok((Socket::Datagrams(medium, None, Some(file)), transport.clone()))
        }
        #[cfg(not(unix))]
        Transport::Unix(_) | Transport::UnixDatagram(_) => {
            Err(BindError::Unsupported(transport.clone()))
        }
    }
}

/// Listens at a host and a port.
async fn listen(host: &str) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(host).await?;
    // It listens already, with a shorter queue.
    let _ = socket2::SockRef::from(&listener).listen(BACKLOG);
    Ok(listener)
}

/// Removes the file that a program has left behind which ended without doing so. A socket that
/// somebody still listens to stays, and so does anything that is no socket.
#[cfg(unix)]
fn free_path(transport: &Transport, path: &Path) -> Result<(), BindError> {
    use std::os::unix::fs::FileTypeExt;
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !metadata.file_type().is_socket() {
        return Err(BindError::NoSocket(path.to_owned()));
    }
    if is_listened_to(path) {
        return Err(BindError::InUse(transport.clone()));
    }
    let removed = std::fs::remove_file(path);
    removed.map_err(|error| BindError::Io { transport: transport.clone(), error })
}

/// True where a program has the socket open, of whichever kind it is.
#[cfg(unix)]
fn is_listened_to(path: &Path) -> bool {
    use std::os::unix::net::{UnixDatagram, UnixStream};
    let is_refused = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    let datagram = UnixDatagram::unbound().and_then(|socket| socket.connect(path));
    let stream = UnixStream::connect(path).map(|_| ());
    // A socket of the other kind answers with another error.
    ![stream, datagram].iter().any(|result| result.as_ref().is_err_and(is_refused))
}
