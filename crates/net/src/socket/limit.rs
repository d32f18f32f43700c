//! The limit on open connections.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::ends::{ConnectionEndCounts, ConnectionEnds};
use super::network_limit::NetworkPermit;
use crate::connection_threads::ThreadPlace;

/// Limits the open connections of one or more listeners. Clones share the limit.
///
/// ```
/// use weir_net::socket::ConnectionLimit;
///
/// let limit = ConnectionLimit::new(1);
/// let permit = limit.try_acquire().expect("no connection is open");
/// assert_eq!(limit.open(), 1);
/// assert!(limit.try_acquire().is_none());
/// drop(permit);
/// assert!(limit.try_acquire().is_some());
/// ```
#[derive(Clone, Debug)]
pub struct ConnectionLimit {
    permits: Arc<Semaphore>,
    connections_max: u32,
    ends: Arc<ConnectionEnds>,
}

/// The permit to keep one connection open. Dropping it allows another connection.
#[derive(Debug)]
pub struct ConnectionPermit {
    _permit: Option<OwnedSemaphorePermit>,
    _network: Option<NetworkPermit>,
    _thread: Option<ThreadPlace>,
}

impl ConnectionPermit {
    /// Adds the permit of the client's network. Both are released together.
    pub(crate) fn with_network(self, network: NetworkPermit) -> Self {
        Self { _network: Some(network), ..self }
    }

    /// Adds the place on the thread that serves the connection. Both are released together.
    pub(crate) fn with_thread(self, place: Option<ThreadPlace>) -> Self {
        Self { _thread: place, ..self }
    }
}

/// The maximum limit, which fits the semaphore. No machine has as many descriptors.
const CONNECTIONS_MAX: usize = 1 << 24;

impl ConnectionLimit {
    /// Creates a limit of `connections_max` connections, at least 1.
    pub fn new(connections_max: usize) -> Self {
        let connections_max = connections_max.clamp(1, CONNECTIONS_MAX);
        let permits = Arc::new(Semaphore::new(connections_max));
        Self { permits, connections_max: connections_max as u32, ends: Arc::default() }
    }

    /// Returns the maximum number of open connections.
    pub fn connections_max(&self) -> usize {
        self.connections_max as usize
    }

    /// Returns the number of open connections.
    pub fn open(&self) -> usize {
        self.connections_max().saturating_sub(self.permits.available_permits())
    }

    /// Returns the number of connections that were refused, or closed before their clients did, for
    /// each reason.
    pub fn ends(&self) -> ConnectionEndCounts {
        self.ends.read()
    }

    /// Returns the counters of [`Self::ends`].
    pub(crate) fn end_counters(&self) -> &Arc<ConnectionEnds> {
        &self.ends
    }

    /// Waits until a connection may be opened.
    pub async fn acquire(&self) -> ConnectionPermit {
        // The semaphore is never closed, so there always is a permit.
        ConnectionPermit {
            _permit: self.permits.clone().acquire_owned().await.ok(),
            _network: None,
            _thread: None,
        }
    }

    /// Returns a permit, or `None` if the limit is reached.
    pub fn try_acquire(&self) -> Option<ConnectionPermit> {
        let permit = self.permits.clone().try_acquire_owned().ok()?;
        Some(ConnectionPermit { _permit: Some(permit), _network: None, _thread: None })
    }

    /// Waits until no connection is open, for at most `grace_period`. Returns whether all were
    /// closed in time. Stop accepting before the call.
    pub async fn wait_idle(&self, grace_period: Duration) -> bool {
        let idle = self.permits.acquire_many(self.connections_max);
        tokio::time::timeout(grace_period, idle).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn shutdown_waits_for_open_connections() {
        let limit = ConnectionLimit::new(2);
        let permit = limit.acquire().await;
        assert!(!limit.wait_idle(Duration::from_secs(5)).await);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            drop(permit);
        });
        assert!(limit.wait_idle(Duration::from_secs(5)).await);
    }

    #[test]
    fn extreme_limits_are_clamped() {
        assert_eq!(ConnectionLimit::new(0).connections_max(), 1);
        assert_eq!(ConnectionLimit::new(usize::MAX).connections_max(), CONNECTIONS_MAX);
    }
}
