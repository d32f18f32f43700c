//! The errors of a WebSocket.

use std::{fmt, io};

use super::violation::Violation;

/// The error of a WebSocket that cannot continue.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The peer violated the protocol. A close frame has told it so.
    Violation(Violation),
    /// The connection ended without a close frame: the peer crashed, or the network broke.
    Disconnected,
    /// A close frame has been sent, after which nothing may be sent (RFC 6455 section 5.5.1).
    Closed,
    /// The socket failed.
    Io(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Violation(violation) => {
                write!(formatter, "the peer violated the WebSocket protocol: {violation}")
            }
            Error::Disconnected => {
                formatter.write_str("the connection ended without a close frame")
            }
            Error::Closed => formatter.write_str("the WebSocket is closed already"),
            Error::Io(error) => write!(formatter, "the WebSocket's connection failed: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Violation(violation) => Some(violation),
            Error::Io(error) => Some(error),
            Error::Disconnected | Error::Closed => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::Io(error)
    }
}

impl From<Violation> for Error {
    fn from(violation: Violation) -> Self {
        Error::Violation(violation)
    }
}
