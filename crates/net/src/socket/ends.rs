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
    /// Its TLS handshake failed, or its client left before the end of it.
    TlsFailed,
    /// It was idle, and made room for another one.
    MadeRoom,
    /// No request arrived in time. This is also the normal end of a kept connection.
    NoRequest,
    /// The head of a request was malformed.
    MalformedHead,
    /// The head of a request was too large, or had too many fields.
    HeadTooLarge,
    /// The target of a request was too long.
    TargetTooLong,
    /// A body arrived at less than the minimum rate.
    SlowBody,
    /// Its client did not read a response in time.
    Unread,
    /// Its client did not read the response of an HTTP/2 stream in time. Only the stream was reset.
    UnreadStream,
}

impl ConnectionEnd {
    /// All reasons, in the order of their discriminants.
    pub const ALL: [Self; 12] = [
        Self::ServerFull,
        Self::AddressFull,
        Self::PlainHttp,
        Self::TlsFailed,
        Self::MadeRoom,
        Self::NoRequest,
        Self::MalformedHead,
        Self::HeadTooLarge,
        Self::TargetTooLong,
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
            Self::TlsFailed => "tls_failed",
            Self::MadeRoom => "made_room",
            Self::NoRequest => "no_request",
            Self::MalformedHead => "malformed_head",
            Self::HeadTooLarge => "head_too_large",
            Self::TargetTooLong => "target_too_long",
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
