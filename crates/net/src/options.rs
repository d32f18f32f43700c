//! The limits of a server, each with its reason.

use std::time::Duration;

use crate::idle::WaitLimits;
use crate::socket::PeerFilter;

/// What a client may cost a [`Server`](crate::Server).
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// How long a client may take to complete the head of its next request, counted from the
    /// moment the connection is accepted and again from the end of each response. It closes
    /// silent connections, idle ones that are kept alive, and those that send a head byte by
    /// byte; an unfinished head is answered with `408`. A TLS handshake may take as long, and so may
    /// the first request of an HTTP/2 connection. Default 10 s.
    pub header_timeout: Duration,
    /// How long a client may read nothing while bytes wait for it; then its connection is
    /// closed. It holds for upgraded connections too. A stream of HTTP/2 is reset if its client takes
    /// less than [64 KiB](Self::http2) of it in this time. Default 60 s.
    pub write_timeout: Duration,
    /// The slowest body of a request. Default 100 bytes a second, after a grace of 60 s.
    pub body_rate: BodyRate,
    /// The size of a request's head, start line included, in bytes; beyond it the answer is
    /// `431`. Default 32 KiB, four times what browsers send with many cookies.
    pub header_bytes_max: usize,
    /// The number of header fields of a request; beyond it the answer is `431`. Default 100,
    /// up to which hyper parses without allocating.
    pub headers_max: usize,
    /// Open connections, upgraded ones included, at least 1. At the limit, or if the process has
    /// no file descriptor left, idle connections make room for new ones, and if there is none,
    /// new ones are refused with `503`. Default 1024.
    pub connections_max: usize,
    /// Open connections of one IPv4 address, or of one IPv6 network of 64 bits, because a client has
    /// the whole of it. Further ones are refused with `429`. Unix sockets have no address. Default 256, a
    /// fourth of all.
    pub connections_per_address_max: usize,
    /// Whether that limit holds for loopback addresses too. By default it does not, because all clients
    /// of a reverse proxy and of a forwarded port come from there.
    pub limits_loopback: bool,
    /// Clients for which that limit does not hold, because others stand behind them.
    pub unlimited_peers: PeerFilter,
    /// Threads that serve the connections, each from its first byte to its last, so that nothing of a request
    /// crosses from one to another. They end with the server, and upgraded connections that are left with
    /// them. Default 0: the runtime that runs the server serves them too.
    pub connection_threads: usize,
    /// What an HTTP/2 connection may cost beside the above.
    pub http2: Http2Options,
    /// How long requests in flight may take to finish once shutdown begins. Default 5 s.
    pub grace_period: Duration,
}

impl ServeOptions {
    pub(crate) fn wait_limits(&self) -> WaitLimits {
        WaitLimits { head: self.header_timeout, http2: self.http2.idle_timeout }
    }
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(60),
            body_rate: BodyRate::default(),
            header_bytes_max: 32 * 1024,
            headers_max: HEADERS_MAX_ON_STACK,
            connections_max: 1024,
            connections_per_address_max: 256,
            limits_loopback: false,
            unlimited_peers: PeerFilter::default(),
            connection_threads: 0,
            http2: Http2Options::default(),
            grace_period: Duration::from_secs(5),
        }
    }
}

/// The slowest body of a request that is read to its end.
///
/// A client has a credit of time. It shrinks while the server waits for bytes, and only then, so an
/// upload that the server holds up is never too slow. Each byte adds to it what the rate allows for a
/// byte, up to the grace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyRate {
    /// Bytes a second, on average; above 0.
    pub bytes_per_s: f64,
    /// The credit at the beginning, and its maximum.
    pub grace: Duration,
}

impl Default for BodyRate {
    fn default() -> Self {
        Self { bytes_per_s: 100.0, grace: Duration::from_secs(60) }
    }
}

/// The limits of an HTTP/2 connection. Its memory is bounded by them: the server takes up to 512 KiB of
/// bodies that no handler has read, 256 KiB of each stream, and holds up to 64 KiB of each response and
/// one part of it.
#[derive(Clone, Debug)]
pub struct Http2Options {
    /// Requests in progress; further ones are refused with `REFUSED_STREAM`. Default 100, the least
    /// that RFC 9113 section 6.5.2 recommends.
    pub streams_max: u32,
    /// Requests that the client may cancel in 10 s. Beyond it the connection is closed, because work is
    /// begun for each of them (rapid reset, CVE-2023-44487). Default 200.
    pub resets_max: u32,
    /// Frames in 10 s that ask for nothing: all but `HEADERS`, `CONTINUATION`, and `DATA` with bytes or
    /// the end of a body. Beyond it the connection is closed. A request makes up for 8 of them and
    /// 32 bytes that the server writes for one, so that a busy client is never close. Default 1,000.
    pub frames_max: u32,
    /// How long the connection may be without a request. Default 60 s.
    pub idle_timeout: Duration,
}

impl Default for Http2Options {
    fn default() -> Self {
        Self {
            streams_max: 100,
            resets_max: 200,
            frames_max: 1_000,
            idle_timeout: Duration::from_secs(60),
        }
    }
}

/// hyper's own limit on header fields. Asking for any other number makes it allocate for
/// each request, so it is only asked when the number differs.
pub(crate) const HEADERS_MAX_ON_STACK: usize = 100;
