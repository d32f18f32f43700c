//! The servers behind the gateway: which of them answers a request, and over which connection.

mod balance;
mod connect;
mod connection;
mod health;
mod instance;
mod pool;
mod retry_budget;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::config::{BackendConfig, Timeouts};
use crate::meter::{BackendMeter, Durations};

pub(crate) use self::connect::{ConnectError, TlsClient};
pub(crate) use self::connection::UpstreamRequest;
pub(crate) use self::health::watch;
pub(crate) use self::instance::{Instance, InstanceGuard};
pub(crate) use self::pool::Lease;
use self::retry_budget::RetryBudget;

/// A group of servers that answer the same requests.
#[derive(Debug)]
pub(crate) struct Backend {
    id: BackendId,
    config: BackendConfig,
    /// Its name and the times of its requests, as records share them.
    meter: Arc<BackendMeter>,
    instances: Vec<Arc<Instance>>,
    retries: RetryBudget,
}

/// Tells backends apart, also one from another with its name that replaced it.
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
        let tls = TlsClient::of(&config);
        Self::sharing(config, tls.as_ref(), Arc::default())
    }

    /// Like [`new`](Self::new), with the TLS of another backend whose settings for it are the same, and with
    /// the times of its requests added to those of others.
    pub(crate) fn sharing(
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

    /// Its name, and the times of its requests.
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

    /// Whether a request may be sent once more. In an outage, retries would multiply the load.
    pub(crate) fn may_retry(&self) -> bool {
        self.retries.spend()
    }

    /// Notes a request, which earns a part of a retry.
    pub(crate) fn note_request(&self) {
        self.retries.earn();
    }

    /// Chooses a server for a request, other than `tried`; `None` if none is well.
    pub(crate) fn choose(&self, tried: Option<&Arc<Instance>>) -> Option<InstanceGuard> {
        balance::choose(&self.instances, tried).map(|instance| InstanceGuard::new(instance.clone()))
    }
}
