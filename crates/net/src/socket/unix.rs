//! Unix sockets, their files, and the permissions and owners of these files.

#[cfg(target_os = "linux")]
use std::fs::Metadata;
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
#[cfg(target_os = "linux")]
use std::os::unix::fs::chown;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use socket2::{Domain, SockAddr, Socket, Type};

use super::address::Address;
use super::error::{BindError, PATH_BYTES_MAX};
use super::options::{BindOptions, SocketMode};
use super::owner::SocketOwner;

/// Binds a Unix socket, which is non-blocking and does not listen yet. Returns it with its file.
pub(crate) fn bind(
    address: &Address,
    path: &Path,
    kind: Type,
    options: &BindOptions,
) -> Result<(Socket, SocketFile), BindError> {
    if path.as_os_str().len() > PATH_BYTES_MAX {
        return Err(BindError::PathTooLong(path.to_owned()));
    }
    remove_stale(address, path)?;
    let mode = options.socket_mode;
    let socket = bind_at(path, kind, mode).map_err(|error| BindError::new(address, error))?;
    let file = SocketFile::new(path);
    if let Some(owner) = options.socket_owner {
        let owned = set_owner(path, owner);
        owned.map_err(|error| BindError::Owner { address: address.clone(), error })?;
    }
    Ok((socket, file))
}

/// Returns the path to which a socket is bound; `@NAME` for an abstract socket, as ss(8) shows it.
pub(crate) fn path_of(address: &SocketAddr) -> PathBuf {
    match address.as_pathname() {
        Some(path) => path.to_owned(),
        None => abstract_name(address).into(),
    }
}

#[cfg(target_os = "linux")]
fn abstract_name(address: &SocketAddr) -> String {
    use std::os::linux::net::SocketAddrExt;
    let name = address.as_abstract_name().unwrap_or_default();
    format!("@{}", String::from_utf8_lossy(name))
}

#[cfg(not(target_os = "linux"))]
fn abstract_name(_address: &SocketAddr) -> String {
    "@".to_owned()
}

/// The file of a bound socket. Dropping it removes the file, unless another program has replaced
/// it.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    id: Option<FileId>,
    /// Whether the file is kept, because another process uses it.
    is_kept: AtomicBool,
}

#[derive(Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// Returns the identity of the file itself, not of a link's target; `None` if there is no file.
    fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::symlink_metadata(path).ok()?;
        Some(Self { device: metadata.dev(), inode: metadata.ino() })
    }
}

impl SocketFile {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), id: FileId::of(path), is_kept: AtomicBool::new(false) }
    }

    /// Creates the file of a socket that the predecessor has handed over. The file is kept until it
    /// is [claimed](Self::claim).
    #[cfg(target_os = "linux")]
    pub(crate) fn inherited(path: &Path) -> Self {
        Self { is_kept: AtomicBool::new(true), id: FileId::of(path), path: path.to_owned() }
    }

    /// Makes the drop keep the file.
    #[cfg(target_os = "linux")]
    pub(crate) fn leave(&self) {
        self.is_kept.store(true, Ordering::SeqCst);
    }

    /// Makes the drop remove the file.
    #[cfg(target_os = "linux")]
    pub(crate) fn claim(&self) {
        self.is_kept.store(false, Ordering::SeqCst);
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_own = self.id.is_some() && self.id == FileId::of(&self.path);
        if is_own && !self.is_kept.load(Ordering::SeqCst) {
            // An error is harmless: another program may have removed the file first.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Removes a socket file that no program has open. Fails if a program has the socket open, or if
/// the file is not a socket.
fn remove_stale(address: &Address, path: &Path) -> Result<(), BindError> {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if metadata.file_type().is_symlink() {
        return Err(BindError::Link(path.to_owned()));
    }
    if !metadata.file_type().is_socket() {
        return Err(BindError::NotSocket(path.to_owned()));
    }
    if is_live(path) {
        return Err(BindError::InUse(address.clone()));
    }
    std::fs::remove_file(path).map_err(|error| BindError::new(address, error))
}

/// Whether a program has the socket open, as a stream or as a datagram socket.
fn is_live(path: &Path) -> bool {
    let is_refused = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    let datagram = UnixDatagram::unbound().and_then(|socket| socket.connect(path));
    let stream = UnixStream::connect(path).map(|_| ());
    // If the socket is live but of the other kind, the error is not "refused".
    ![stream, datagram].iter().any(|result| result.as_ref().is_err_and(is_refused))
}

/// Binds a socket at `path`.
///
/// With a mode, the file never has more permissions than that. On Linux the file is created with
/// the permissions of the socket. On other systems, and if the umask removes some, they are set
/// after the file exists.
fn bind_at(path: &Path, kind: Type, mode: Option<SocketMode>) -> io::Result<Socket> {
    let address = SockAddr::unix(path)?;
    let mut socket = Socket::new(Domain::UNIX, kind, None)?;
    socket.set_nonblocking(true)?;
    let permissions = mode.map(|mode| Permissions::from_mode(mode.bits()));
    if let Some(permissions) = &permissions {
        let file = File::from(OwnedFd::from(socket));
        // On systems where sockets have no permissions, those of the file are set below.
        let _ = file.set_permissions(permissions.clone());
        socket = OwnedFd::from(file).into();
    }
    socket.bind(&address)?;
    if let Some(permissions) = permissions {
        set_permissions(path, permissions)?;
    }
    Ok(socket)
}

/// Sets the permissions of the socket at `path`, and never of another file. A program that may
/// write to the folder can replace the socket by a link to any file of this user at any time.
#[cfg(target_os = "linux")]
fn set_permissions(path: &Path, permissions: Permissions) -> io::Result<()> {
    let (file, metadata) = open_socket(path)?;
    if metadata.mode() & 0o7777 == permissions.mode() {
        return Ok(());
    }
    std::fs::set_permissions(descriptor_path(&file), permissions)
}

/// Sets the owner of the socket at `path`, and never of another file.
#[cfg(target_os = "linux")]
fn set_owner(path: &Path, owner: SocketOwner) -> io::Result<()> {
    let (file, _) = open_socket(path)?;
    chown(descriptor_path(&file), owner.user, owner.group)
}

/// Opens the socket file itself, not the target of a link. The descriptor gives access only to the
/// file's metadata.
#[cfg(target_os = "linux")]
fn open_socket(path: &Path) -> io::Result<(File, Metadata)> {
    use rustix::fs::{Mode, OFlags, open};

    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if !metadata.file_type().is_socket() {
        return Err(io::Error::other("another file was put in the socket's place"));
    }
    Ok((file, metadata))
}

/// Returns a path to the inode of an `O_PATH` descriptor, for calls that refuse such descriptors
/// themselves, such as fchmod(2).
#[cfg(target_os = "linux")]
fn descriptor_path(file: &File) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Sets the owner of the socket at `path`. Does not follow a link.
#[cfg(not(target_os = "linux"))]
fn set_owner(path: &Path, owner: SocketOwner) -> io::Result<()> {
    std::os::unix::fs::lchown(path, owner.user, owner.group)
}

/// Sets the permissions of the socket at `path`.
#[cfg(not(target_os = "linux"))]
fn set_permissions(path: &Path, permissions: Permissions) -> io::Result<()> {
    std::fs::set_permissions(path, permissions)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use socket2::Type;

    use super::{bind_at, set_permissions};

    #[test]
    fn a_link_in_place_of_the_socket_grants_nothing() {
        let folder = std::env::temp_dir().join(format!("weir-unix-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (file, socket) = (folder.join("file"), folder.join("socket"));
        let _socket = bind_at(&socket, Type::DGRAM, Some("0600".parse().unwrap())).unwrap();
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        for target in [&file, &socket] {
            let link = folder.join("link");
            symlink(target, &link).unwrap();
            set_permissions(&link, Permissions::from_mode(0o666)).unwrap_err();
            fs::remove_file(&link).unwrap();
            let mode = fs::metadata(target).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", target.display());
        }
        set_permissions(&file, Permissions::from_mode(0o666)).unwrap_err();
        set_permissions(&socket, Permissions::from_mode(0o666)).unwrap();
        assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o666);
        fs::remove_dir_all(&folder).unwrap();
    }
}
