//! The names of tasks.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// The name of a task, which distinguishes it from other tasks of its kind. It is formatted only
/// when it is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskName {
    /// No name.
    #[default]
    Unnamed,
    /// The address of the other end of a connection.
    Address(SocketAddr),
    /// A text, which may contain any character.
    Text(Arc<str>),
}

impl From<SocketAddr> for TaskName {
    fn from(address: SocketAddr) -> Self {
        Self::Address(address)
    }
}

impl From<Option<SocketAddr>> for TaskName {
    fn from(address: Option<SocketAddr>) -> Self {
        address.map_or(Self::Unnamed, Self::Address)
    }
}

impl From<&str> for TaskName {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<Arc<str>> for TaskName {
    fn from(text: Arc<str>) -> Self {
        Self::Text(text)
    }
}

impl fmt::Display for TaskName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unnamed => Ok(()),
            Self::Address(address) => address.fmt(formatter),
            Self::Text(text) => formatter.write_str(text),
        }
    }
}
