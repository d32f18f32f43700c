//! Unix sockets with the permissions that were asked for.

use std::fs::{File, Permissions, set_permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use socket2::{Domain, SockAddr, Socket, Type};

use crate::options::SocketMode;

/// A socket at that path, which blocks nobody.
///
/// Where a mode is asked for, the file never has more permissions than that, from its first moment
/// on, where the system makes it with those of the socket (Linux does); elsewhere, and to have no
/// fewer, they are set when it is there.
pub(crate) fn bind(path: &Path, kind: Type, mode: Option<SocketMode>) -> io::Result<Socket> {
    let address = SockAddr::unix(path)?;
    let mut socket = Socket::new(Domain::UNIX, kind, None)?;
    socket.set_nonblocking(true)?;
    let permissions = mode.map(|mode| Permissions::from_mode(mode.bits()));
    if let Some(permissions) = &permissions {
        let file = File::from(OwnedFd::from(socket));
        // Where a socket has none of its own, they are set below.
        let _ = file.set_permissions(permissions.clone());
        socket = OwnedFd::from(file).into();
    }
    socket.bind(&address)?;
    if let Some(permissions) = permissions {
        set_permissions(path, permissions)?;
    }
    Ok(socket)
}
