//! The errors of a WebSocket.

use std::{fmt, io};

use super::violation::Violation;

/// The error of a WebSocket that cannot continue.
#[derive(Debug)]
#[non_exhaustive]
pub enum SocketError {
    /// The peer violated the protocol. A close frame has told it so.
    Violation(Violation),
    /// The connection ended without a close frame: the peer crashed, or the network broke.
    Disconnected,
    /// A close frame has been sent, after which nothing may be sent (RFC 6455 section 5.5.1).
    Closed,
    /// The socket failed.
    Io(io::Error),
}

impl fmt::Display for SocketError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SocketError::Violation(violation) => {
                write!(formatter, "the peer violated the WebSocket protocol: {violation}")
            }
            SocketError::Disconnected => {
                formatter.write_str("the connection ended without a close frame")
            }
            SocketError::Closed => formatter.write_str("the WebSocket is closed already"),
            SocketError::Io(error) => {
                write!(formatter, "the WebSocket's connection failed: {error}")
            }
        }
    }
}

impl std::error::Error for SocketError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SocketError::Violation(violation) => Some(violation),
            SocketError::Io(error) => Some(error),
            SocketError::Disconnected | SocketError::Closed => None,
        }
    }
}

impl From<io::Error> for SocketError {
    fn from(error: io::Error) -> Self {
        SocketError::Io(error)
    }
}

impl From<Violation> for SocketError {
    fn from(violation: Violation) -> Self {
        SocketError::Violation(violation)
    }
}
