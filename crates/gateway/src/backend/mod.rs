//! The servers behind the gateway: which of them answers a request, and over which connection.

mod balance;
mod connect;
mod health;
mod instance;
mod pool;

use std::sync::Arc;

use crate::config::{BackendConfig, Timeouts};

pub(crate) use self::connect::ConnectError;
pub(crate) use self::health::watch;
pub(crate) use self::instance::{Instance, InstanceGuard};
pub(crate) use self::pool::{Lease, UpstreamRequest};

/// A group of servers that answer the same requests.
#[derive(Debug)]
pub(crate) struct Backend {
    config: BackendConfig,
    /// The name in the configuration, as records share it.
    name: Arc<str>,
    instances: Vec<Arc<Instance>>,
}

impl Backend {
    pub(crate) fn new(config: BackendConfig) -> Self {
        let instances = config.instances.iter();
        let instance = |origin: &crate::config::Origin| Arc::new(Instance::new(origin, &config));
        let name = config.name.as_str().into();
        Self { instances: instances.map(instance).collect(), name, config }
    }

    /// The name in the configuration.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
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

    /// Chooses a server for a request, other than `tried`; `None` if none is well.
    pub(crate) fn choose(&self, tried: Option<&Arc<Instance>>) -> Option<InstanceGuard> {
        balance::choose(&self.instances, tried).map(|instance| InstanceGuard::new(instance.clone()))
    }
}
