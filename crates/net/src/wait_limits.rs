//! How long connections may wait for requests.

use std::time::Duration;

/// The maximum times for which connections may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitLimits {
    /// For the first request of any connection, and for each request of HTTP/1.
    pub(crate) head: Duration,
    /// For a later request of HTTP/2.
    pub(crate) http2: Duration,
}

impl WaitLimits {
    /// Returns the interval at which the server should call
    /// [`close_late`](crate::idle::IdleConnections::close_late). A connection ends at most an
    /// eighth of its limit late.
    pub(crate) fn check_interval(&self) -> Duration {
        (self.head.min(self.http2) / 8).max(Duration::from_millis(1))
    }
}
