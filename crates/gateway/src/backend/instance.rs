//! One server of a backend: its connections, its load and its health.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::connect::{Connector, TlsClient};
use super::pool::Pool;
use crate::config::{BackendConfig, Origin};

/// After this many consecutive failures, a server is ejected: the balancer no longer chooses it.
pub(super) const FAILURES_MAX: u32 = 3;

/// How long an ejection lasts, unless a health check succeeds before.
pub(super) const EJECTION_TIME: Duration = Duration::from_secs(10);

/// How long a recovered server gets less than its share of requests, rising from a tenth.
const SLOW_START: Duration = Duration::from_secs(10);

/// A server of a backend.
#[derive(Debug)]
pub(crate) struct Instance {
    origin: Origin,
    name: Arc<str>,
    pub(crate) pool: Pool,
    /// Requests that it is answering.
    in_flight: AtomicUsize,
    health: Health,
}

/// The health of a server. Times are milliseconds since `started_at`.
#[derive(Debug)]
struct Health {
    started_at: Instant,
    failures: AtomicU32,
    /// When the ejection after failures ends.
    ejected_until_ms: AtomicU64,
    /// The result of the last health check.
    is_healthy: AtomicBool,
    /// When the server recovered; 0 if it never failed.
    recovered_at_ms: AtomicU64,
}

impl Instance {
    pub(super) fn new(origin: &Origin, config: &BackendConfig, tls: Option<&TlsClient>) -> Self {
        let health = Health {
            started_at: Instant::now(),
            failures: AtomicU32::new(0),
            ejected_until_ms: AtomicU64::new(0),
            is_healthy: AtomicBool::new(true),
            recovered_at_ms: AtomicU64::new(0),
        };
        Self {
            name: origin.authority().as_str().into(),
            pool: Pool::new(Connector::new(origin, config, tls), config.connections_max),
            origin: origin.clone(),
            in_flight: AtomicUsize::new(0),
            health,
        }
    }

    /// The server's address, as it appears in records.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Whether the balancer may choose this server: it is healthy and not ejected.
    pub(crate) fn is_available(&self) -> bool {
        let is_ejected =
            self.health.now_ms() < self.health.ejected_until_ms.load(Ordering::Relaxed);
        self.health.is_healthy.load(Ordering::Relaxed) && !is_ejected
    }

    /// The number of requests in flight, including the next one, divided by the server's share. A
    /// recovering server counts as more loaded.
    pub(super) fn load(&self) -> f64 {
        (self.in_flight.load(Ordering::Relaxed) + 1) as f64 / self.health.share()
    }

    /// Requests that it is answering.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Notes that the server answered.
    pub(crate) fn note_success(&self) {
        if self.health.failures.load(Ordering::Relaxed) > 0 {
            self.health.failures.store(0, Ordering::Relaxed);
        }
    }

    /// Notes a failure. Returns whether the server is ejected because of this one.
    pub(super) fn note_failure(&self) -> bool {
        let failures = self.health.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if failures >= FAILURES_MAX {
            let now = self.health.now_ms();
            let until = now + EJECTION_TIME.as_millis() as u64;
            self.health.ejected_until_ms.store(until, Ordering::Relaxed);
            self.health.recovered_at_ms.store(until, Ordering::Relaxed);
        }
        failures == FAILURES_MAX
    }

    /// Notes the result of a health check. Returns the previous result.
    pub(super) fn note_check(&self, is_healthy: bool) -> bool {
        let was_healthy = self.health.is_healthy.swap(is_healthy, Ordering::Relaxed);
        if is_healthy {
            self.health.failures.store(0, Ordering::Relaxed);
            self.health.ejected_until_ms.store(0, Ordering::Relaxed);
        }
        if is_healthy && !was_healthy {
            self.health.recovered_at_ms.store(self.health.now_ms().max(1), Ordering::Relaxed);
        }
        was_healthy
    }
}

impl Health {
    fn now_ms(&self) -> u64 {
        self.started_at.elapsed().as_millis() as u64
    }

    /// The share of requests that the server should get, from 0.1 to 1.
    fn share(&self) -> f64 {
        let recovered_at = self.recovered_at_ms.load(Ordering::Relaxed);
        if recovered_at == 0 {
            return 1.0;
        }
        let since_recovery_ms = self.now_ms().saturating_sub(recovered_at) as f64;
        (since_recovery_ms / SLOW_START.as_millis() as f64).clamp(0.1, 1.0)
    }
}

/// Counts a request of a server while it is in flight.
#[derive(Debug)]
pub(crate) struct InstanceGuard(Arc<Instance>);

impl InstanceGuard {
    pub(super) fn new(instance: Arc<Instance>) -> Self {
        instance.in_flight.fetch_add(1, Ordering::Relaxed);
        Self(instance)
    }

    pub(crate) fn instance(&self) -> &Arc<Instance> {
        &self.0
    }
}

impl Drop for InstanceGuard {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
