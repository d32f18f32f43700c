//! Notices: the events that a feed reports to the program that runs it, as data.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use weir_net::socket::{Peer, TlsHandshakeError};

use crate::framing::FrameError;

/// Receives the notices of a feed, at a limited rate. The feed's tasks call it, so it must not
/// block.
pub type Report = Arc<dyn Fn(&Notice) + Send + Sync>;

/// An event that a person should know about. It displays as a sentence.
#[derive(Debug)]
pub struct Notice {
    /// The listener's name; `None` if the event concerns the whole feed.
    pub listener: Option<String>,
    /// The event.
    pub event: Event,
    /// The bytes that the connection had received, if the event is its end.
    pub received_bytes: Option<u64>,
    /// The number of earlier notices that the rate limit suppressed.
    pub suppressed: u64,
}

/// An event in a feed.
#[derive(Debug)]
pub enum Event {
    /// The limit of open files allows fewer connections than the options.
    ConnectionsReduced {
        /// The maximum in the options.
        wanted: usize,
        /// The maximum that the limit of open files allows.
        connections_max: usize,
        /// The limit of open files.
        open_files_max: u64,
    },
    /// The system cannot accept connections; the listener retries.
    AcceptFailed(io::Error),
    /// A connection was refused because the limit of connections is reached.
    ConnectionRefused {
        /// The sender.
        peer: Peer,
        /// The limit.
        connections_max: usize,
        /// The origin of the limit.
        origin: LimitOrigin,
    },
    /// A connection was dropped because its TLS handshake failed.
    HandshakeFailed(Peer, TlsHandshakeError),
    /// A connection was closed because it completed no line for [`FeedOptions::idle`].
    ///
    /// [`FeedOptions::idle`]: crate::FeedOptions::idle
    IdleTimeout(Peer, Duration),
    /// A connection was dropped because its frames are malformed.
    MalformedFrame(Peer, FrameError),
    /// A connection was dropped because the partial lines of all senders take too much memory.
    LineMemoryFull(Peer),
    /// A connection was dropped because the cap of unlimited reading, in bytes, is reached.
    CapReached(Peer, usize),
    /// Reading failed. The peer is `None` for a datagram socket.
    ReadFailed(Option<Peer>, io::Error),
    /// A message of the sink.
    SinkMessage(String),
}

impl Event {
    /// Returns the sender that caused the event; `None` if there is no single one.
    pub fn peer(&self) -> Option<Peer> {
        match self {
            Self::ConnectionRefused { peer, .. }
            | Self::HandshakeFailed(peer, _)
            | Self::IdleTimeout(peer, _)
            | Self::MalformedFrame(peer, _)
            | Self::LineMemoryFull(peer)
            | Self::CapReached(peer, _)
            | Self::ReadFailed(Some(peer), _) => Some(*peer),
            Self::ConnectionsReduced { .. }
            | Self::AcceptFailed(_)
            | Self::ReadFailed(None, _)
            | Self::SinkMessage(_) => None,
        }
    }
}

/// The origin of the limit on connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitOrigin {
    /// [`FeedOptions::connections_max`](crate::FeedOptions::connections_max).
    Options,
    /// The process's limit of open files.
    OpenFiles,
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(listener) = &self.listener {
            write!(formatter, "{listener}: ")?;
        }
        self.event.fmt(formatter)?;
        match self.suppressed {
            0 => Ok(()),
            1 => formatter.write_str(" (1 earlier message was suppressed)"),
            suppressed => write!(formatter, " ({suppressed} earlier messages were suppressed)"),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConnectionsReduced { wanted, connections_max, open_files_max } => write!(
                formatter,
                "at most {connections_max} connections are possible, not {wanted}: the limit of \
                 open files is {open_files_max}; `ulimit -n` raises it"
            ),
            Self::AcceptFailed(error) => {
                write!(formatter, "connections cannot be accepted: {error}")
            }
            Self::ConnectionRefused { peer, connections_max, origin } => write!(
                formatter,
                "{peer} is refused: {connections_max} connections are open, the maximum that {} \
                 allows",
                match origin {
                    LimitOrigin::Options => "this feed",
                    LimitOrigin::OpenFiles => "the limit of open files",
                }
            ),
            Self::HandshakeFailed(peer, error) => write!(formatter, "{peer} is dropped: {error}"),
            Self::IdleTimeout(peer, idle) => write!(
                formatter,
                "{peer} is closed: it has completed no line for {} s",
                idle.as_secs()
            ),
            Self::MalformedFrame(peer, error) => write!(formatter, "{peer} is dropped: {error}"),
            Self::LineMemoryFull(peer) => write!(
                formatter,
                "{peer} is dropped: the unfinished lines of all senders take too much memory"
            ),
            Self::CapReached(peer, cap_bytes) => write!(
                formatter,
                "{peer} is dropped: {} MiB wait to be parsed, which is the cap; the lines read \
                 before are kept",
                cap_bytes >> 20
            ),
            Self::ReadFailed(Some(peer), error) => {
                write!(formatter, "{peer}: reading failed: {error}")
            }
            Self::ReadFailed(None, error) => {
                write!(formatter, "reading datagrams failed: {error}")
            }
            Self::SinkMessage(message) => formatter.write_str(message),
        }
    }
}
