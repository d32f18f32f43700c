//! Sockets that a service manager, such as systemd, bound and passed to this process.
//!
//! The protocol is that of `sd_listen_fds(3)`: `LISTEN_FDS` is the number of sockets, `LISTEN_PID`
//! the process that they are for, and `LISTEN_FDNAMES` the list of their names, separated by
//! colons.

#[cfg(target_os = "linux")]
use std::io;
use std::net::{TcpListener, UdpSocket};
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::sync::Arc;

use listenfd::ListenFd;
use weir_sync::Lock;

use super::address::PassedName;
use super::error::BindError;

/// The sockets that were passed to this process. Copies share them, so each socket can be taken
/// only once.
#[derive(Clone, Debug, Default)]
pub struct PassedSockets(Arc<Lock<Vec<NamedSocket>>>);

/// A socket that has not been taken yet.
#[derive(Debug)]
struct NamedSocket {
    /// Empty if the socket has no name.
    name: String,
    socket: PassedSocket,
}

/// A bound socket. A stream socket listens.
#[derive(Debug)]
pub(crate) enum PassedSocket {
    Tcp(TcpListener),
    Udp(UdpSocket),
    Unix(UnixListener),
    UnixDatagram(UnixDatagram),
}

impl PassedSocket {
    /// Takes the socket with this number. Returns `None` if it is of an unsupported kind.
    fn take(passed: &mut ListenFd, number: usize) -> Option<Self> {
        if let Ok(Some(socket)) = passed.take_tcp_listener(number) {
            return Some(Self::Tcp(socket));
        }
        if let Ok(Some(socket)) = passed.take_unix_listener(number) {
            return Some(Self::Unix(socket));
        }
        if let Ok(Some(socket)) = passed.take_udp_socket(number) {
            return Some(Self::Udp(socket));
        }
        passed.take_unix_datagram(number).ok().flatten().map(Self::UnixDatagram)
    }

    fn is_datagram(&self) -> bool {
        matches!(self, Self::Udp(_) | Self::UnixDatagram(_))
    }
}

impl PassedSockets {
    /// Takes the sockets that the environment describes. Removes the variables, so that child
    /// processes do not mistake the sockets for theirs.
    ///
    /// No other thread may read the environment meanwhile, so call this at the start of a program.
    pub fn from_environment() -> Self {
        let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
        let mut names = names.split(':').map(str::to_owned);
        let mut passed = ListenFd::from_env();
        let sockets = (0..passed.len()).filter_map(|number| {
            let name = names.next().unwrap_or_default();
            Some(NamedSocket { name, socket: PassedSocket::take(&mut passed, number)? })
        });
        Self(Arc::new(Lock::new(sockets.collect())))
    }

    /// Adds a socket that was received from another process of the same program.
    #[cfg(target_os = "linux")]
    pub(super) fn add(&self, name: String, socket: OwnedFd) -> io::Result<()> {
        let socket = socket2::Socket::from(socket);
        let socket = match socket.local_addr()?.is_unix() {
            true => PassedSocket::Unix(OwnedFd::from(socket).into()),
            false => PassedSocket::Tcp(socket.into()),
        };
        self.0.lock().push(NamedSocket { name, socket });
        Ok(())
    }

    /// Closes the sockets that are not taken.
    #[cfg(target_os = "linux")]
    pub fn close_rest(&self) {
        self.0.lock().clear();
    }

    /// Returns the names of the sockets that are not taken. A socket without a name has an empty
    /// one.
    pub fn names(&self) -> Vec<String> {
        self.0.lock().iter().map(|socket| socket.name.clone()).collect()
    }

    /// Whether the socket with this name receives datagrams. Returns false if there is none.
    pub(crate) fn is_datagram(&self, name: &PassedName) -> bool {
        let sockets = self.0.lock();
        position(&sockets, name).is_some_and(|position| sockets[position].socket.is_datagram())
    }

    /// Takes the socket with this name, or the first remaining one if there is no name.
    pub(crate) fn take(&self, name: &PassedName) -> Result<PassedSocket, BindError> {
        let mut sockets = self.0.lock();
        match position(&sockets, name) {
            Some(position) => Ok(sockets.remove(position).socket),
            None => {
                let left = sockets.iter().map(|socket| socket.name.clone()).collect();
                Err(BindError::NotPassed { name: name.clone(), left })
            }
        }
    }
}

fn position(sockets: &[NamedSocket], name: &PassedName) -> Option<usize> {
    let is_it = |socket: &NamedSocket| name.0.as_ref().is_none_or(|name| *name == socket.name);
    sockets.iter().position(is_it)
}
