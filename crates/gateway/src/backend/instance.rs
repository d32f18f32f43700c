//! One server of a backend: its connections, its load and its health.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::connect::{Connector, TlsClient};
use super::pool::Pool;
use crate::config::{BackendConfig, Origin};

/// So many failures in a row take a server out of the choice.
const FAILURES_MAX: u32 = 3;

/// How long it then stays out, unless a health check says that it is well.
const REST: Duration = Duration::from_secs(10);

/// How long a server that has come back gets less than its share, rising from a tenth.
const SLOW_START: Duration = Duration::from_secs(10);

/// One server.
#[derive(Debug)]
pub(crate) struct Instance {
    origin: Origin,
    name: Arc<str>,
    pub(crate) pool: Pool,
    /// Requests that it is answering.
    in_flight: AtomicUsize,
    health: Health,
}

/// What is known of the health of a server. Times are milliseconds since `begun`.
#[derive(Debug)]
struct Health {
    begun: Instant,
    failures: AtomicU32,
    /// Until when it rests after failures.
    rests_until_ms: AtomicU64,
    /// What the last health check said.
    is_well: AtomicBool,
    /// When it came back; 0 if it was never away.
    back_since_ms: AtomicU64,
}

impl Instance {
    pub(super) fn new(origin: &Origin, config: &BackendConfig, tls: Option<&TlsClient>) -> Self {
        let health = Health {
            begun: Instant::now(),
            failures: AtomicU32::new(0),
            rests_until_ms: AtomicU64::new(0),
            is_well: AtomicBool::new(true),
            back_since_ms: AtomicU64::new(0),
        };
        Self {
            name: origin.authority().as_str().into(),
            pool: Pool::new(Connector::new(origin, config, tls), config.connections_max),
            origin: origin.clone(),
            in_flight: AtomicUsize::new(0),
            health,
        }
    }

    /// The address, as it is written in records.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Whether requests may go to it.
    pub(crate) fn is_available(&self) -> bool {
        let rests = self.health.now_ms() < self.health.rests_until_ms.load(Ordering::Relaxed);
        self.health.is_well.load(Ordering::Relaxed) && !rests
    }

    /// The requests in flight by the share that it should have. A server that has come back weighs more.
    pub(super) fn load(&self) -> f64 {
        (self.in_flight.load(Ordering::Relaxed) + 1) as f64 / self.health.share()
    }

    /// Requests that it is answering.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Notes that it answered.
    pub(crate) fn note_success(&self) {
        if self.health.failures.load(Ordering::Relaxed) > 0 {
            self.health.failures.store(0, Ordering::Relaxed);
        }
    }

    /// Notes that it refused a connection, broke one, or did not answer in time.
    pub(crate) fn note_failure(&self) {
        let failures = self.health.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if failures == FAILURES_MAX {
            let server = &self.name;
            tracing::warn!(%server, failures, "a server gets no requests for {REST:?}, because it failed in a row");
        }
        if failures >= FAILURES_MAX {
            let now = self.health.now_ms();
            let until = now + REST.as_millis() as u64;
            self.health.rests_until_ms.store(until, Ordering::Relaxed);
            self.health.back_since_ms.store(until, Ordering::Relaxed);
        }
    }

    /// Notes the answer to a health check. Returns what the one before was.
    pub(super) fn note_check(&self, is_well: bool) -> bool {
        let was_well = self.health.is_well.swap(is_well, Ordering::Relaxed);
        if is_well {
            self.health.failures.store(0, Ordering::Relaxed);
            self.health.rests_until_ms.store(0, Ordering::Relaxed);
        }
        if is_well && !was_well {
            self.health.back_since_ms.store(self.health.now_ms().max(1), Ordering::Relaxed);
        }
        was_well
    }
}

impl Health {
    fn now_ms(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }

    /// The share of requests that it should have, from 0.1 to 1.
    fn share(&self) -> f64 {
        let back_since = self.back_since_ms.load(Ordering::Relaxed);
        if back_since == 0 {
            return 1.0;
        }
        let back_ms = self.now_ms().saturating_sub(back_since) as f64;
        (back_ms / SLOW_START.as_millis() as f64).clamp(0.1, 1.0)
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
