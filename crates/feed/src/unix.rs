//! Unix sockets with the permissions that were asked for.

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use socket2::{Domain, SockAddr, Socket, Type};

use crate::options::SocketMode;

/// A socket at that path, which blocks nobody.
///
/// Where a mode is asked for, the file never has more permissions than that, from its first moment
/// on, where the system makes it with those of the socket (Linux does); elsewhere, and where the
/// umask leaves fewer, they are set when it is there.
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

/// Sets the permissions of the socket at that path and of nothing else: whoever may write to the
/// folder can put a link in the socket's place at any moment, and what it names may be any file of
/// ours.
#[cfg(target_os = "linux")]
fn set_permissions(path: &Path, permissions: Permissions) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{FileTypeExt, MetadataExt};

    use rustix::fs::{Mode, OFlags, open};

    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if !metadata.file_type().is_socket() {
        return Err(io::Error::other("another file was put in the socket's place"));
    }
    if metadata.mode() & 0o7777 == permissions.mode() {
        return Ok(());
    }
    // Of a file that is open for its place alone the permissions can be set by this name only.
    std::fs::set_permissions(format!("/proc/self/fd/{}", file.as_raw_fd()), permissions)
}

/// Sets the permissions of the socket at that path.
#[cfg(not(target_os = "linux"))]
fn set_permissions(path: &Path, permissions: Permissions) -> io::Result<()> {
    std::fs::set_permissions(path, permissions)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use socket2::Type;

    use super::{bind, set_permissions};

    #[test]
    fn a_link_in_the_sockets_place_gives_nobody_anything() {
        let folder = std::env::temp_dir().join(format!("weir-unix-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (file, socket) = (folder.join("file"), folder.join("socket"));
        let _socket = bind(&socket, Type::DGRAM, Some("0600".parse().unwrap())).unwrap();
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        for named in [&file, &socket] {
            let link = folder.join("link");
            symlink(named, &link).unwrap();
            set_permissions(&link, Permissions::from_mode(0o666)).unwrap_err();
            fs::remove_file(&link).unwrap();
            let mode = fs::metadata(named).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", named.display());
        }
        set_permissions(&file, Permissions::from_mode(0o666)).unwrap_err();
        set_permissions(&socket, Permissions::from_mode(0o666)).unwrap();
        assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o666);
        fs::remove_dir_all(&folder).unwrap();
    }
}
