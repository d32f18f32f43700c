//! Sockets that listen for connections.

use std::fmt;
use std::io;
use std::net::SocketAddr;
#[cfg(unix)]
use std::os::fd::OwnedFd;
#[cfg(target_os = "linux")]
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::net::UnixListener;

use super::address::Address;
#[cfg(target_os = "linux")]
use super::address::PassedName;
use super::backoff::Backoff;
use super::connection::Connection;
use super::error::BindError;
use super::keep_alive;
use super::options::BindOptions;
#[cfg(unix)]
use super::passed::PassedSocket;
use super::peer::Peer;
use super::proxy_protocol::ProxyProtocol;
use super::stream::SocketStream;
use super::tls;
#[cfg(unix)]
use super::unix::{self, SocketFile};

/// The requested length of the kernel's queue of connections to accept; the kernel may allow less.
/// With a short queue, clients that reconnect all at once after a restart wait a second or more.
const BACKLOG: i32 = 4_096;

/// A socket that listens for connections over TCP, TLS or a Unix socket.
///
/// Clients can connect from [`bind`](Listener::bind) on; they wait in the kernel's queue until
/// [`accept`](Listener::accept) is called. Dropping the listener stops listening and removes the
/// file of a Unix socket.
pub struct Listener {
    socket: Arc<Socket>,
    tls: Option<tls::Acceptors>,
    proxy_protocol: Option<ProxyProtocol>,
    has_http2_prior_knowledge: bool,
    address: Address,
    backoff: Backoff,
}

/// A listening socket.
#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpListener),
    /// The socket, and its file if this process may have to remove it.
    #[cfg(unix)]
    Unix(UnixListener, #[cfg_attr(not(target_os = "linux"), expect(dead_code))] Option<SocketFile>),
}

#[cfg(target_os = "linux")]
impl Socket {
    /// Returns the file of a Unix socket.
    pub(super) fn file(&self) -> Option<&SocketFile> {
        match self {
            Self::Unix(_, file) => file.as_ref(),
            Self::Tcp(_) => None,
        }
    }
}

#[cfg(target_os = "linux")]
impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Unix(socket, _) => socket.as_fd(),
        }
    }
}

impl Listener {
    /// Listens at a stream address. Port 0 is replaced by a free port. A stale file at the path of
    /// a Unix socket is replaced.
    ///
    /// # Errors
    /// If the address is in use, does not belong to this machine, or is one for datagrams. If no
    /// such socket was passed. If the certificate or key of a `tls://` address is missing or cannot
    /// be used. If the path of a Unix socket holds a file that is not a socket.
    pub async fn bind(address: &Address, options: &BindOptions) -> Result<Self, BindError> {
        #[cfg(target_os = "linux")]
        let name = options.handover_name(address);
        let (socket, address, tls) = Self::open(address, options).await?;
        let (socket, proxy_protocol) = (Arc::new(socket), options.proxy_protocol.clone());
        #[cfg(target_os = "linux")]
        options.listening.add(name, &socket);
        let has_http2_prior_knowledge = options.has_http2_prior_knowledge && tls.is_none();
        let backoff = Backoff::default();
        Ok(Self { socket, tls, proxy_protocol, has_http2_prior_knowledge, address, backoff })
    }

    /// Opens the socket of an address. Returns it with its bound address and its TLS acceptors.
    async fn open(
        address: &Address,
        options: &BindOptions,
    ) -> Result<(Socket, Address, Option<tls::Acceptors>), BindError> {
        #[cfg(target_os = "linux")]
        if let Some(inherited) = inherit(address, options)? {
            return Ok(inherited);
        }
        let failed = |error| BindError::new(address, error);
        let unsupported = || BindError::Unsupported(address.clone());
        let mut tls = None;
        let (socket, address) = match address {
            Address::Tcp(host) => {
                let (socket, host) = listen_tcp(host).await.map_err(failed)?;
                (Socket::Tcp(socket), Address::Tcp(host))
            }
            Address::Tls(host) => {
                tls = Some(tls::acceptors(address, options)?);
                let (socket, host) = listen_tcp(host).await.map_err(failed)?;
                (Socket::Tcp(socket), Address::Tls(host))
            }
            #[cfg(unix)]
            Address::Unix(path) => {
                let stream = socket2::Type::STREAM;
                let (socket, file) = unix::bind(address, path, stream, options)?;
                // The permissions are set by now. Before this call, clients cannot connect.
                socket.listen(BACKLOG).map_err(failed)?;
                let socket = UnixListener::from_std(OwnedFd::from(socket).into());
                (Socket::Unix(socket.map_err(failed)?, Some(file)), address.clone())
            }
            #[cfg(unix)]
            Address::Passed(name) => {
                adopt(options.passed.take(name)?).map_err(failed)?.ok_or_else(unsupported)?
            }
            #[cfg(unix)]
            Address::PassedTls(name) => {
                let acceptors = tls::acceptors(address, options)?;
                match adopt(options.passed.take(name)?).map_err(failed)? {
                    Some((socket, Address::Tcp(host))) => {
                        tls = Some(acceptors);
                        (socket, Address::Tls(host))
                    }
                    _ => return Err(unsupported()),
                }
            }
            _ => return Err(unsupported()),
        };
        Ok((socket, address, tls))
    }

    /// Returns the bound address. Port 0 is replaced by the assigned port.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the IP address and port where it listens.
    ///
    /// # Errors
    /// For a Unix socket, which has none.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &*self.socket {
            Socket::Tcp(socket) => socket.local_addr(),
            #[cfg(unix)]
            Socket::Unix(..) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Waits for the next connection. Dropping the future loses none.
    ///
    /// # Errors
    /// If the system cannot accept because it has no descriptors or no memory left. Report the
    /// error and call again. The next call first waits for 5 ms, later ones for up to 1 s.
    pub async fn accept(&mut self) -> io::Result<Connection> {
        let (stream, peer) = match &*self.socket {
            Socket::Tcp(socket) => {
                let (stream, peer) = self.backoff.accept(|| socket.accept()).await?;
                prepare(&stream);
                (SocketStream::Tcp(stream), Peer::tcp(peer))
            }
            #[cfg(unix)]
            Socket::Unix(socket, _) => {
                let (stream, _) = self.backoff.accept(|| socket.accept()).await?;
                (SocketStream::Unix(stream), Peer::local())
            }
        };
        let connection =
            Connection::new(stream, peer, self.tls.clone(), self.proxy_protocol.clone());
        Ok(connection.with_http2_prior_knowledge(self.has_http2_prior_knowledge))
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Listener").field(&self.address).finish()
    }
}

/// Listens at a host and a port. Returns the socket with its address and port.
async fn listen_tcp(host: &str) -> io::Result<(TcpListener, String)> {
    let socket = TcpListener::bind(host).await?;
    // tokio listens with a shorter queue; a second listen(2) only lengthens it.
    let _ = socket2::SockRef::from(&socket).listen(BACKLOG);
    let address = socket.local_addr()?.to_string();
    Ok((socket, address))
}

/// Converts a passed socket that accepts connections, and returns it with its address. Returns
/// `None` for a datagram socket. The file of a Unix socket belongs to the program that bound it.
#[cfg(unix)]
fn adopt(socket: PassedSocket) -> io::Result<Option<(Socket, Address)>> {
    Ok(match socket {
        PassedSocket::Tcp(socket) => {
            socket.set_nonblocking(true)?;
            let address = Address::Tcp(socket.local_addr()?.to_string());
            Some((Socket::Tcp(TcpListener::from_std(socket)?), address))
        }
        PassedSocket::Unix(socket) => {
            socket.set_nonblocking(true)?;
            let address = unix::path_of(&socket.local_addr()?);
            Some((Socket::Unix(UnixListener::from_std(socket)?, None), Address::Unix(address)))
        }
        PassedSocket::Udp(_) | PassedSocket::UnixDatagram(_) => None,
    })
}

/// Returns the socket that the predecessor has handed over for an address, if there is one.
#[cfg(target_os = "linux")]
fn inherit(
    address: &Address,
    options: &BindOptions,
) -> Result<Option<(Socket, Address, Option<tls::Acceptors>)>, BindError> {
    let name = PassedName(Some(options.handover_name(address)));
    let Ok(socket) = options.inherited.take(&name) else { return Ok(None) };
    let adopted = adopt(socket).map_err(|error| BindError::new(address, error))?;
    let Some((socket, own)) = adopted else { return Ok(None) };
    let has_tls = matches!(address, Address::Tls(_) | Address::PassedTls(_));
    let tls = if has_tls { Some(tls::acceptors(address, options)?) } else { None };
    Ok(Some(match (socket, own, address) {
        (socket, Address::Tcp(host), _) if has_tls => (socket, Address::Tls(host), tls),
        // The predecessor removes the file, until this process has taken over.
        (Socket::Unix(socket, _), own, Address::Unix(path)) => {
            (Socket::Unix(socket, Some(SocketFile::inherited(path))), own, tls)
        }
        (socket, own, _) => (socket, own, tls),
    }))
}

/// Sets the options of an accepted socket. A refused option is ignored, because the socket works
/// without it.
fn prepare(stream: &tokio::net::TcpStream) {
    // A chunked response is many small writes. With Nagle's algorithm (RFC 896) each waits up to
    // 40 ms for the client's delayed acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    keep_alive::enable(stream);
}
