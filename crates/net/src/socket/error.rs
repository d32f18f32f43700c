//! The errors of binding a socket.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::address::{Address, PassedName};

/// The maximum length of a Unix socket's path, without the terminating zero (`sun_path`, unix(7)).
pub(crate) const PATH_BYTES_MAX: usize =
    if cfg!(any(target_os = "linux", target_os = "android")) { 107 } else { 103 };

/// Returns why a file cannot be read and what to do, as a clause without its name.
fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "the file does not exist; check the name".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "permission denied; run weir as a user who may read it".to_owned()
        }
        io::ErrorKind::IsADirectory => "is a directory; name a file".to_owned(),
        io::ErrorKind::InvalidData => "is not a text file".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

/// The error of binding a socket.
#[derive(Debug)]
pub enum BindError {
    /// Another program listens at the address.
    InUse(Address),
    /// The path of a Unix socket is taken by a file that is not a socket.
    NotSocket(PathBuf),
    /// The path of a Unix socket is taken by a symbolic link, which is not followed.
    Link(PathBuf),
    /// The path of a Unix socket is longer than the system allows.
    PathTooLong(PathBuf),
    /// The service manager passed no socket with this name, or all are taken.
    NotPassed {
        /// The requested name.
        name: PassedName,
        /// The names of the passed sockets that are not taken.
        left: Vec<String>,
    },
    /// The owner of a Unix socket's file could not be set.
    Owner {
        /// The requested address.
        address: Address,
        /// The system's error.
        error: io::Error,
    },
    /// This `tls://` address has no certificate: neither
    /// [`BindOptions::tls`](super::BindOptions::tls) nor a self-signed one.
    NoCertificate(Address),
    /// The certificate or the key cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The certificate or the key cannot be used.
    Tls {
        /// The file.
        path: PathBuf,
        /// The reason, as a clause.
        reason: String,
    },
    /// The address is one for datagrams and connections are needed, or the reverse, or the system
    /// has no such sockets.
    Unsupported(Address),
    /// The system refused for another reason.
    Io {
        /// The requested address.
        address: Address,
        /// The system's error.
        error: io::Error,
    },
}

impl BindError {
    pub(crate) fn new(address: &Address, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AddrInUse => Self::InUse(address.clone()),
            _ => Self::Io { address: address.clone(), error },
        }
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse(address) => write!(
                formatter,
                "{address}: the address is in use by another program; choose another one, or \
                 end that program"
            ),
            Self::NotSocket(path) => write!(
                formatter,
                "{}: the file is not a socket; choose another path, or remove the file",
                path.display()
            ),
            Self::Link(path) => write!(
                formatter,
                "{}: the file is a symbolic link, which is not followed; name the path that it stands \
                 for, or remove the link",
                path.display()
            ),
            Self::PathTooLong(path) => write!(
                formatter,
                "{}: the path is longer than the {PATH_BYTES_MAX} bytes that the system allows for a \
                 socket; choose a shorter one",
                path.display()
            ),
            Self::NotPassed { name, left } => write_not_passed(formatter, name, left),
            Self::Owner { address, error } => {
                write!(formatter, "{address}: the owner of the socket cannot be set: {error}")
            }
            Self::NoCertificate(address) => {
                write!(formatter, "{address}: TLS needs a certificate and its key")
            }
            Self::Unreadable { path, error } => {
                write!(formatter, "{}: {}", path.display(), unreadable(error))
            }
            Self::Tls { path, reason } => {
                write!(formatter, "{}: cannot be used for TLS: {reason}", path.display())
            }
            Self::Unsupported(address) => {
                write!(
                    formatter,
                    "{address}: this kind of socket is not supported here; choose another kind of address"
                )
            }
            Self::Io { address: Address::Unix(path) | Address::UnixDatagram(path), error }
                if error.kind() == io::ErrorKind::NotFound =>
            {
                write!(
                    formatter,
                    "{}: the folder does not exist; create it, or check the path",
                    path.display()
                )
            }
            Self::Io { address, error } => write!(formatter, "cannot listen at {address}: {error}"),
        }
    }
}

fn write_not_passed(
    formatter: &mut fmt::Formatter<'_>,
    name: &PassedName,
    left: &[String],
) -> fmt::Result {
    match name {
        PassedName(Some(name)) => {
            write!(formatter, "systemd:{name}: no socket with this name was passed; ")?;
        }
        PassedName(None) => formatter.write_str("systemd: no further socket was passed; ")?,
    }
    match left {
        [] => formatter.write_str("the service needs a socket unit"),
        _ => write!(formatter, "the sockets left are: {}", left.join(", ")),
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } | Self::Owner { error, .. } | Self::Unreadable { error, .. } => {
                Some(error)
            }
            _ => None,
        }
    }
}

impl From<BindError> for io::Error {
    fn from(error: BindError) -> Self {
        let kind = match &error {
            BindError::InUse(_) => io::ErrorKind::AddrInUse,
            BindError::Io { error, .. }
            | BindError::Owner { error, .. }
            | BindError::Unreadable { error, .. } => error.kind(),
            BindError::Unsupported(_) => io::ErrorKind::Unsupported,
            _ => io::ErrorKind::InvalidInput,
        };
        Self::new(kind, error)
    }
}
