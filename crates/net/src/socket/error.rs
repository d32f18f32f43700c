//! Why binding fails.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::address::Address;

/// Why a socket could not be bound.
#[derive(Debug)]
pub enum BindError {
    /// Another program listens at the address.
    InUse(Address),
    /// The path of a Unix socket is taken by a file that is not a socket.
    NotSocket(PathBuf),
    /// A `tls://` address without [`BindOptions::tls`](super::BindOptions::tls).
    NoCertificate,
    /// The certificate or the key cannot be used.
    Tls {
        /// The file.
        path: PathBuf,
        /// The fault, as a clause.
        reason: String,
    },
    /// The address is of datagrams and connections are needed, or the other way round, or the
    /// system has no such sockets.
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
            Self::NoCertificate => formatter.write_str("tls:// needs a certificate and its key"),
            Self::Tls { path, reason } => {
                write!(formatter, "{}: cannot be used for TLS: {reason}", path.display())
            }
            Self::Unsupported(address) => {
                write!(formatter, "{address}: such sockets are not supported here; use tcp://")
            }
            Self::Io { address, error } => write!(formatter, "cannot listen at {address}: {error}"),
        }
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl From<BindError> for io::Error {
    fn from(error: BindError) -> Self {
        let kind = match &error {
            BindError::InUse(_) => io::ErrorKind::AddrInUse,
            BindError::Io { error, .. } => error.kind(),
            BindError::Unsupported(_) => io::ErrorKind::Unsupported,
            _ => io::ErrorKind::InvalidInput,
        };
        Self::new(kind, error)
    }
}
