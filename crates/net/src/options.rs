//! The limits of a server, each with its reason.

use std::time::Duration;

/// What a [`Server`](crate::Server) lets a client cost.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// How long a client may take until the head of its next request is complete: counted
    /// from the moment the connection is accepted, and again from the end of each response.
    /// So it closes silent connections, heads that dribble in, and idle kept-alive
    /// connections alike. Default 10 s.
    pub header_timeout: Duration,
    /// How long a client may take none of what it is sent, before its connection is closed:
    /// whoever does not read must not hold a connection for ever. Connections that were
    /// upgraded are bound by it too. Default 60 s.
    pub write_timeout: Duration,
    /// The size of a request's head, start line included, in bytes; beyond it the answer is
    /// `431`. Default 32 KiB, four times what browsers send with a jar full of cookies.
    pub header_bytes_max: usize,
    /// The number of header fields of a request; beyond it the answer is `431`. Default 100,
    /// up to which hyper parses without allocating.
    pub headers_max: usize,
    /// Connections open at a time, upgraded ones included, at least 1. At the limit the server
    /// stops accepting until one closes; newcomers wait in the kernel's queue. Default 1024.
    /// When the process runs out of file descriptors first, accepting pauses as well.
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
