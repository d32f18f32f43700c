//! The limits of a server, each with its reason.

use std::time::Duration;

use crate::head_refusal::RefusalObserver;
use crate::socket::PeerFilter;
use crate::wait_limits::WaitLimits;

/// The limits on what a client may cost a [`Server`](crate::Server).
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The time in which a client must complete the head of its next request, counted from the
    /// start of the connection and again from the end of each response. It closes silent
    /// connections, idle kept-alive connections, and those that send a head byte by byte. An
    /// unfinished head is answered with `408`. The same limit holds for a TLS handshake, and for
    /// the first request of an HTTP/2 connection. Default 10 s.
    pub header_timeout: Duration,
    /// The time for which a client may read nothing while bytes wait for it. Then its connection is
    /// closed, upgraded ones included. An HTTP/2 stream is reset if its client reads less than
    /// [64 KiB](Self::http2) of it in this time. Default 60 s.
    pub write_timeout: Duration,
    /// The minimum rate of a request's body. Default 100 bytes a second, after a grace of 60 s.
    pub body_rate: BodyRate,
    /// The maximum size of a request's head, start line included, in bytes. Larger ones are
    /// answered with `431`. Default 32 KiB, four times what browsers send with many cookies.
    pub header_bytes_max: usize,
    /// The maximum number of header fields of a request. More are answered with `431`. Default
    /// 100, up to which hyper parses without allocating.
    pub headers_max: usize,
    /// The maximum number of open connections, upgraded ones included; at least 1. At the limit, or
    /// if the process has no file descriptor left, idle connections are closed in favour of new
    /// ones. If none is idle, new ones are refused with `503`. Default 1024.
    pub connections_max: usize,
    /// The maximum number of open connections of one client: of an IPv4 address, or of an IPv6
    /// network of 64 bits, because one client has all its addresses. Further ones are refused with
    /// `429`. Unix sockets have no address. Default 256, a fourth of all connections.
    pub connections_per_address_max: usize,
    /// Whether that limit also holds for loopback addresses. By default it does not, because all
    /// clients of a reverse proxy or of a forwarded port have such an address.
    pub limits_loopback: bool,
    /// The peers for which that limit does not hold, such as proxies with many clients.
    pub unlimited_peers: PeerFilter,
    /// The number of threads that serve connections. A connection stays on one thread, so no part
    /// of a request crosses threads. The threads end with the server, together with the upgraded
    /// connections that are left. Default 0: the runtime of the server also serves the connections.
    pub connection_threads: usize,
    /// Additional limits of HTTP/2 connections.
    pub http2: Http2Options,
    /// The time after which a request over HTTP/1 ends if its client has closed its sending side,
    /// and no byte of the response is sent meanwhile. Its handler and the body of the response are
    /// then dropped, and at once if the client resets its connection. A client that has gone looks
    /// like one that waits for the response, as `nc -N` does, until something is written. Default
    /// `None`: such requests go on.
    pub half_closed_timeout: Option<Duration>,
    /// What happens when a request is refused that the handler does not see.
    pub refusal_observer: RefusalObserver,
    /// The time in which requests in flight must finish after a shutdown begins. Default 5 s.
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
            half_closed_timeout: None,
            refusal_observer: RefusalObserver::default(),
            grace_period: Duration::from_secs(5),
        }
    }
}

/// The minimum rate at which a client must send the body of a request.
///
/// A client has a credit of time. The credit shrinks only while the server waits for bytes, so an
/// upload that the server delays is never too slow. Each byte adds the time that the rate allows
/// for it, up to the grace.
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

/// The limits of an HTTP/2 connection. They bound its memory: the server holds up to 512 KiB of
/// bodies that no handler has read, 256 KiB for each stream, and up to 128 KiB and one part of each
/// response.
#[derive(Clone, Debug)]
pub struct Http2Options {
    /// The maximum number of requests in progress. Further ones are refused with `REFUSED_STREAM`.
    /// Default 100, the minimum that RFC 9113 section 6.5.2 recommends.
    pub streams_max: u32,
    /// The maximum number of requests that the client may cancel in 10 s. Then the connection is
    /// closed, because each of them costs work (rapid reset, CVE-2023-44487). Default 200.
    pub resets_max: u32,
    /// The maximum number of frames in 10 s that request nothing: all except `HEADERS`,
    /// `CONTINUATION`, and `DATA` with bytes or the end of a body. Then the connection is closed.
    /// Each request allows 8 more, and each 32 bytes that the server writes allow one more, so busy
    /// clients stay far below the limit. Default 1,000.
    pub frames_max: u32,
    /// The maximum time without a request. Default 60 s.
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

/// hyper's default limit on header fields. If another limit is set, hyper allocates for each
/// request, so the limit is only set if it differs.
pub(crate) const HEADERS_MAX_ON_STACK: usize = 100;
