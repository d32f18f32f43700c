//! The reasons for which a connection has no valid header.

use std::fmt;
use std::io;

/// The reason for which a connection has no valid header.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProxyHeaderError {
    /// The peer is not allowed to send a header.
    Untrusted,
    /// The connection does not begin with a header.
    Missing,
    /// The header violates the protocol, as the text states.
    Malformed(&'static str),
    /// The connection ended within the header.
    Closed {
        /// Whether no byte was received, as from a check whether the port is open.
        is_empty: bool,
    },
    /// The header did not arrive in time.
    TimedOut,
    /// The connection broke.
    Io(io::Error),
}

impl fmt::Display for ProxyHeaderError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untrusted => formatter.write_str("the peer is not trusted to send one"),
            Self::Missing => formatter.write_str("there is none; does the proxy send it?"),
            Self::Malformed(fault) => formatter.write_str(fault),
            Self::Closed { .. } => formatter.write_str("the connection ended before its end"),
            Self::TimedOut => formatter.write_str("it did not arrive in time"),
            Self::Io(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for ProxyHeaderError {}
