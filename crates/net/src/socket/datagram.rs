//! Sockets that receive datagrams.

use std::io;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};

use tokio::io::ReadBuf;
use tokio::net::UdpSocket;
#[cfg(unix)]
use tokio::net::UnixDatagram;

use super::address::Address;
use super::drops::DropCounter;
use super::error::BindError;
use super::options::BindOptions;
#[cfg(unix)]
use super::passed::PassedSocket;
#[cfg(unix)]
use super::unix::{self, SocketFile};

/// The requested size of the kernel's receive buffer; Linux allows up to `net.core.rmem_max`. With
/// a smaller buffer, the kernel drops more of a burst.
const RECEIVE_BUFFER_BYTES: usize = 8 << 20;

/// A socket that receives datagrams over UDP or a Unix socket. Dropping it removes the file of a
/// Unix socket.
#[derive(Debug)]
pub struct DatagramSocket {
    socket: Socket,
    address: Address,
}

#[derive(Debug)]
enum Socket {
    Udp(UdpSocket),
    #[cfg(unix)]
    Unix(
        UnixDatagram,
        #[expect(dead_code, reason = "removes the file when dropped")] Option<SocketFile>,
    ),
}

impl DatagramSocket {
    /// Binds a datagram address. Port 0 is replaced by a free port. A stale file at the path of a
    /// Unix socket is replaced.
    ///
    /// # Errors
    /// If the address is in use, does not belong to this machine, or is one for connections. If the
    /// path of a Unix socket holds a file that is not a socket.
    pub async fn bind(address: &Address, options: &BindOptions) -> Result<Self, BindError> {
        let failed = |error| BindError::new(address, error);
        let (socket, address) = match address {
            Address::Udp(host) => {
                let socket = UdpSocket::bind(host).await.map_err(failed)?;
                let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(RECEIVE_BUFFER_BYTES);
                let host = socket.local_addr().map_err(failed)?.to_string();
                (Socket::Udp(socket), Address::Udp(host))
            }
            #[cfg(unix)]
            Address::UnixDatagram(path) => {
                let datagram = socket2::Type::DGRAM;
                let (socket, file) = unix::bind(address, path, datagram, options)?;
                let socket = UnixDatagram::from_std(OwnedFd::from(socket).into());
                (Socket::Unix(socket.map_err(failed)?, Some(file)), address.clone())
            }
            #[cfg(unix)]
            Address::Passed(name) => {
                let adopted = adopt(options.passed.take(name)?).map_err(failed)?;
                adopted.ok_or_else(|| BindError::Unsupported(address.clone()))?
            }
            _ => return Err(BindError::Unsupported(address.clone())),
        };
        Ok(Self { socket, address })
    }

    /// Returns the bound address. Port 0 is replaced by the assigned port.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Receives one datagram into `buffer`. Bytes that do not fit are dropped.
    pub fn poll_receive(
        &self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &self.socket {
            Socket::Udp(socket) => socket.poll_recv(context, buffer),
            #[cfg(unix)]
            Socket::Unix(socket, _) => socket.poll_recv(context, buffer),
        }
    }

    /// Returns the counter of datagrams that the kernel drops at this socket. Returns `None` for a
    /// Unix socket, where it drops none, and if the system does not count them.
    pub fn drop_counter(&self) -> Option<DropCounter> {
        match &self.socket {
            Socket::Udp(socket) => DropCounter::of(socket),
            #[cfg(unix)]
            Socket::Unix(..) => None,
        }
    }
}

/// Converts a passed datagram socket, and returns it with its address. Returns `None` for a socket
/// that accepts connections.
#[cfg(unix)]
fn adopt(socket: PassedSocket) -> io::Result<Option<(Socket, Address)>> {
    Ok(match socket {
        PassedSocket::Udp(socket) => {
            socket.set_nonblocking(true)?;
            let address = Address::Udp(socket.local_addr()?.to_string());
            Some((Socket::Udp(UdpSocket::from_std(socket)?), address))
        }
        PassedSocket::UnixDatagram(socket) => {
            socket.set_nonblocking(true)?;
            let address = Address::UnixDatagram(unix::path_of(&socket.local_addr()?));
            Some((Socket::Unix(UnixDatagram::from_std(socket)?, None), address))
        }
        PassedSocket::Tcp(_) | PassedSocket::Unix(_) => None,
    })
}
