//! The gateway: listens, and answers each request from a backend.

use std::future::Future;
use std::sync::{Arc, PoisonError, RwLock};

use weir_net::socket::{Address, BindError, BindOptions, Listener, TlsFiles};
use weir_net::{ServeOptions, Server};

use crate::answer::answer;
use crate::backend::watch;
use crate::config::Config;
use crate::record::Recorder;
use crate::routing::Routing;

/// A gateway on listening sockets that does not accept connections yet.
#[derive(Debug)]
pub struct Gateway {
    server: Server,
    shared: Arc<Shared>,
}

/// Replaces the configuration of a running gateway.
#[derive(Debug, Clone)]
pub struct GatewayHandle(Arc<Shared>);

/// What all requests share.
#[derive(Debug)]
struct Shared {
    routing: RwLock<Arc<Routing>>,
    recorder: Arc<Recorder>,
}

impl Gateway {
    /// Listens at the addresses of a configuration.
    ///
    /// # Errors
    /// If an address is in use, or its certificate cannot be used.
    pub async fn bind(config: &Config, options: ServeOptions) -> Result<Self, BindError> {
        let tls = config.tls.clone();
        let tls = tls.map(|files| TlsFiles { certificate: files.certificate, key: files.key });
        let bind = BindOptions { tls, ..BindOptions::default() };
        let mut listeners = Vec::new();
        for address in &config.listen {
            listeners.push(Listener::bind(address, &bind).await?);
        }
        let shared = Arc::new(Shared { routing: RwLock::default(), recorder: Recorder::new() });
        let gateway = Self { server: Server::new(listeners).with_options(options), shared };
        gateway.handle().replace(config);
        Ok(gateway)
    }

    /// The addresses at which it listens, with their ports.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.server.listeners().iter().map(Listener::address)
    }

    /// The records of its requests.
    pub fn recorder(&self) -> &Arc<Recorder> {
        &self.shared.recorder
    }

    /// Replaces its configuration while it runs.
    pub fn handle(&self) -> GatewayHandle {
        GatewayHandle(self.shared.clone())
    }

    /// Answers requests until `shutdown` resolves, and then those in flight.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) {
        let shared = self.shared;
        let handler = move |request, client| {
            let (routing, recorder) = (shared.routing(), shared.recorder.clone());
            answer(routing, recorder, request, client)
        };
        self.server.serve(handler, shutdown).await;
    }
}

impl GatewayHandle {
    /// Uses another configuration for all requests from now on. Those in flight end under the old one. The
    /// addresses stay as they are.
    pub fn replace(&self, config: &Config) {
        let before = self.0.routing();
        let routing = Arc::new(Routing::new(config, Some(&before)));
        for backend in routing.backends() {
            let is_new = !before.backends().any(|kept| Arc::ptr_eq(kept, backend));
            if is_new && backend.config().health.is_some() {
                tokio::spawn(watch(Arc::downgrade(backend)));
            }
        }
        *self.0.routing.write().unwrap_or_else(PoisonError::into_inner) = routing;
    }
}

impl Shared {
    fn routing(&self) -> Arc<Routing> {
        self.routing.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
