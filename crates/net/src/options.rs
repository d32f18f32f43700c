//! The limits of a server, each with its reason.

use std::time::Duration;

/// What a client may cost a [`Server`](crate::Server).
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// How long a client may take to complete the head of its next request, counted from the
    /// moment the connection is accepted and again from the end of each response. It closes
    /// silent connections, idle ones that are kept alive, and those that send a head byte by
    /// byte. A TLS handshake may take as long. Default 10 s.
    pub header_timeout: Duration,
    /// How long a client may read nothing while bytes wait for it; then its connection is
    /// closed. It holds for upgraded connections too. Default 60 s.
    pub write_timeout: Duration,
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
    /// How long requests in flight may take to finish once shutdown begins. Default 5 s.
    pub grace_period: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(60),
            header_bytes_max: 32 * 1024,
            headers_max: HEADERS_MAX_ON_STACK,
            connections_max: 1024,
            grace_period: Duration::from_secs(5),
        }
    }
}

/// hyper's own limit on header fields. Asking for any other number makes it allocate for
/// each request, so it is only asked when the number differs.
pub(crate) const HEADERS_MAX_ON_STACK: usize = 100;
