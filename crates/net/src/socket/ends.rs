//! Counts of the connections and streams that a server ended before their clients did.

use std::sync::atomic::{AtomicU64, Ordering};

/// Why a server refused or closed a connection that its client wanted to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// It was refused: the server was full, and no connection was idle.
    ServerFull,
    /// It was refused: its address had too many connections.
    AddressFull,
    /// It was refused: its client sent HTTP to an address with TLS.
    PlainHttp,
    /// It was idle, and made room for another one.
    MadeRoom,
    /// No request arrived in time. This is also the normal end of a kept connection.
    NoRequest,
    /// A body arrived at less than the minimum rate.
    SlowBody,
    /// Its client did not read a response in time.
    Unread,
    /// Its client did not read the response of an HTTP/2 stream in time. Only the stream was reset.
    UnreadStream,
}

impl ConnectionEnd {
    /// All reasons, in the order of their discriminants.
    pub const ALL: [Self; 8] = [
        Self::ServerFull,
        Self::AddressFull,
        Self::PlainHttp,
        Self::MadeRoom,
        Self::NoRequest,
        Self::SlowBody,
        Self::Unread,
        Self::UnreadStream,
    ];

    /// Returns the name for programs, which never changes.
    pub fn name(self) -> &'static str {
        match self {
            Self::ServerFull => "server_full",
            Self::AddressFull => "address_full",
            Self::PlainHttp => "plain_http",
            Self::MadeRoom => "made_room",
            Self::NoRequest => "no_request",
            Self::SlowBody => "slow_body",
            Self::Unread => "unread",
            Self::UnreadStream => "unread_stream",
        }
    }
}

/// The number of ended connections for each reason, by [`ConnectionEnd::name`].
pub type ConnectionEndCounts = [(&'static str, u64); ConnectionEnd::ALL.len()];

/// Counters of ended connections.
#[derive(Debug, Default)]
pub(crate) struct ConnectionEnds([AtomicU64; ConnectionEnd::ALL.len()]);

impl ConnectionEnds {
    pub(crate) fn count(&self, end: ConnectionEnd) {
        self.0[end as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> ConnectionEndCounts {
        ConnectionEnd::ALL.map(|end| (end.name(), self.0[end as usize].load(Ordering::Relaxed)))
    }
}
