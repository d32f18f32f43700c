//! Sockets that a service manager bound and passed to this process, as systemd does.
//!
//! Followed is `sd_listen_fds(3)`: `LISTEN_FDS` counts the sockets, `LISTEN_PID` is the process that they are
//! for, and `LISTEN_FDNAMES` has their names, separated by colons.

#[cfg(target_os = "linux")]
use std::io;
use std::net::{TcpListener, UdpSocket};
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use listenfd::ListenFd;

use super::address::PassedName;
use super::error::BindError;

/// The sockets that were passed to this process. All copies share them: each socket can be taken once.
#[derive(Clone, Debug, Default)]
pub struct PassedSockets(Arc<Mutex<Vec<NamedSocket>>>);

/// A socket that has not been taken yet.
#[derive(Debug)]
struct NamedSocket {
    /// Empty if it has none.
    name: String,
    socket: PassedSocket,
}

/// A socket that is bound, and listens if it is of connections.
#[derive(Debug)]
pub(crate) enum PassedSocket {
    Tcp(TcpListener),
    Udp(UdpSocket),
    Unix(UnixListener),
    UnixDatagram(UnixDatagram),
}

impl PassedSocket {
    /// The socket with this number; `None` if it is of another kind than these.
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
    /// Takes the sockets that the environment describes, and removes them from it, so that the programs
    /// which this one starts do not take them for theirs.
    ///
    /// The environment must not be read by other threads meanwhile, so this belongs to the start of a
    /// program.
    pub fn from_environment() -> Self {
        let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
        let mut names = names.split(':').map(str::to_owned);
        let mut passed = ListenFd::from_env();
        let sockets = (0..passed.len()).filter_map(|number| {
            let name = names.next().unwrap_or_default();
            Some(NamedSocket { name, socket: PassedSocket::take(&mut passed, number)? })
        });
        Self(Arc::new(Mutex::new(sockets.collect())))
    }

    /// Adds a socket that was received from another process of the same program.
    #[cfg(target_os = "linux")]
    pub(super) fn add(&self, name: String, socket: OwnedFd) -> io::Result<()> {
        let socket = socket2::Socket::from(socket);
        let socket = match socket.local_addr()?.is_unix() {
            true => PassedSocket::Unix(OwnedFd::from(socket).into()),
            false => PassedSocket::Tcp(socket.into()),
        };
        self.lock().push(NamedSocket { name, socket });
        Ok(())
    }

    /// Closes the sockets that were not taken.
    #[cfg(target_os = "linux")]
    pub fn close_rest(&self) {
        self.lock().clear();
    }

    /// Whether the socket with this name receives datagrams. `false` if there is none.
    pub(crate) fn is_datagram(&self, name: &PassedName) -> bool {
        let sockets = self.lock();
        position(&sockets, name).is_some_and(|position| sockets[position].socket.is_datagram())
    }

    /// Takes the socket with this name; without a name, the first one that is left.
    pub(crate) fn take(&self, name: &PassedName) -> Result<PassedSocket, BindError> {
        let mut sockets = self.lock();
        match position(&sockets, name) {
            Some(position) => Ok(sockets.remove(position).socket),
            None => {
                let left = sockets.iter().map(|socket| socket.name.clone()).collect();
                Err(BindError::NotPassed { name: name.clone(), left })
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<NamedSocket>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn position(sockets: &[NamedSocket], name: &PassedName) -> Option<usize> {
    let is_it = |socket: &NamedSocket| name.0.as_ref().is_none_or(|name| *name == socket.name);
    sockets.iter().position(is_it)
}
