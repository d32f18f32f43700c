//! The servers behind the gateway, their selection and their connections.

mod balance;
mod connect;
mod connection;
mod health;
mod instance;
mod pool;
mod retry_budget;

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::config::{BackendConfig, Timeouts};
use crate::meter::{BackendMeter, Durations};

pub(crate) use self::connect::{ConnectError, TlsClient};
pub(crate) use self::connection::UpstreamRequest;
pub(crate) use self::health::watch;
use self::instance::{EJECTION_TIME, FAILURES_MAX};
pub(crate) use self::instance::{Instance, InstanceGuard};
pub(crate) use self::pool::Lease;
use self::retry_budget::RetryBudget;

/// The end of a notice about a server if the balancer has none to choose.
const NONE_AVAILABLE: &str = "no server of the backend is well, so each of them is tried";

/// A group of servers that answer the same requests.
#[derive(Debug)]
pub(crate) struct Backend {
    id: BackendId,
    config: BackendConfig,
    /// The backend's name and request durations, shared with records.
    meter: Arc<BackendMeter>,
    instances: Vec<Arc<Instance>>,
    retries: RetryBudget,
}

/// Identifies a backend. A backend that replaces another of the same name has a different id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct BackendId(u64);

impl BackendId {
    fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed))
    }
}

impl Backend {
    pub(crate) fn new(config: BackendConfig) -> Self {
        let tls = TlsClient::for_backend(&config);
        Self::with_shared(config, tls.as_ref(), Arc::default())
    }

    /// Like [`new`](Self::new), but with the TLS client of a backend with the same TLS settings,
    /// and with request durations that are shared with other backends.
    pub(crate) fn with_shared(
        config: BackendConfig,
        tls: Option<&TlsClient>,
        durations: Arc<Durations>,
    ) -> Self {
        let instances = config.instances.iter();
        let instance =
            |origin: &crate::config::Origin| Arc::new(Instance::new(origin, &config, tls));
        let meter = Arc::new(BackendMeter { name: config.name.as_str().into(), durations });
        let instances = instances.map(instance).collect();
        let retries = RetryBudget::default();
        Self { id: BackendId::next(), instances, meter, config, retries }
    }

    pub(crate) fn id(&self) -> BackendId {
        self.id
    }

    /// The name in the configuration.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.meter.name
    }

    /// The backend's name and request durations, as records share them.
    pub(crate) fn meter(&self) -> &Arc<BackendMeter> {
        &self.meter
    }

    pub(crate) fn config(&self) -> &BackendConfig {
        &self.config
    }

    pub(crate) fn timeouts(&self) -> &Timeouts {
        &self.config.timeouts
    }

    pub(crate) fn instances(&self) -> &[Arc<Instance>] {
        &self.instances
    }

    /// Takes a retry from the budget, and returns whether there was one. In an outage, unlimited
    /// retries would multiply the load.
    pub(crate) fn may_retry(&self) -> bool {
        self.retries.spend()
    }

    /// Notes a request, which earns a fraction of a retry.
    pub(crate) fn note_request(&self) {
        self.retries.earn();
    }

    /// Whether the balancer has a server to choose. Otherwise it tries all of them.
    pub(crate) fn has_available(&self) -> bool {
        self.instances.iter().any(|instance| instance.is_available())
    }

    /// Reports why no connection to a server could be opened.
    pub(crate) fn report_unreachable(&self, instance: &Instance, error: &ConnectError) {
        let (backend, server) = (&**self.name(), &**instance.name());
        tracing::warn!(
            target: "weir_gateway",
            backend,
            server,
            "{server} of the backend {backend}: {error}"
        );
    }

    /// Notes that a server refused or broke a connection, or did not answer in time. If the server
    /// is ejected therefore, reports it.
    pub(crate) fn note_failure(&self, instance: &Instance, reason: &dyn Display) {
        if !instance.note_failure() {
            return;
        }
        let (backend, server) = (&**self.name(), &**instance.name());
        let failed = format!("failed {FAILURES_MAX} times in a row: {reason}");
        let effect = match self.has_available() {
            true => format!("it gets no requests for {EJECTION_TIME:?}, because it {failed}"),
            false => format!("it {failed}; {NONE_AVAILABLE}"),
        };
        tracing::warn!(
            target: "weir_gateway",
            backend,
            server,
            "{server} of the backend {backend}: {effect}"
        );
    }

    /// Chooses a server for a request, if possible other than `tried`.
    pub(crate) fn choose(&self, tried: Option<&Arc<Instance>>) -> Option<InstanceGuard> {
        balance::choose(&self.instances, tried).map(|instance| InstanceGuard::new(instance.clone()))
    }
}
