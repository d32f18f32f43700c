//! The gateway: listens, and answers each request from a backend.

use std::future::Future;
use std::sync::{Arc, PoisonError, RwLock};

use weir_net::socket::{
    Address, BindError, BindOptions, ConnectionLimit, Listener, PeerFilter, ProxyHeaderError,
    ProxyProtocol, TlsFiles,
};
use weir_net::{Client, ServeOptions, Server, Shutdown};
use weir_observe::glass::Capture;
use weir_observe::task::TaskKind;

use crate::access_log::AccessLog;
use crate::answer::answer;
use crate::backend::watch;
use crate::clock_watch::watch_clock;
use crate::config::{Config, ListenAddress};
use crate::counts::GatewayCounts;
use crate::fetch::{CallCondition, capture_call};
use crate::glass::{CaptureError, RequestCondition, TunnelCaptures};
use crate::notices::{Notice, Notices};
use crate::record::Recorder;
use crate::routing::Routing;

/// A gateway on listening sockets that does not accept connections yet.
#[derive(Debug)]
pub struct Gateway {
    server: Server,
    shared: Arc<Shared>,
}

/// Replaces the configuration of a running gateway, and tells what it does.
#[derive(Debug, Clone)]
pub struct GatewayHandle {
    shared: Arc<Shared>,
    /// The open connections of clients.
    connections: ConnectionLimit,
}

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
        Self::bind_with(config, options, BindOptions::default(), Notices::default()).await
    }

    /// Like [`bind`](Self::bind), with sockets that were passed to the program, and with ears for what happens.
    ///
    /// # Errors
    /// If an address is in use, its certificate cannot be used, or its socket was not passed.
    pub async fn bind_with(
        config: &Config,
        options: ServeOptions,
        bind: BindOptions,
        notices: Notices,
    ) -> Result<Self, BindError> {
        let recorder = Recorder::new(notices);
        let shared = Arc::new(Shared { routing: RwLock::default(), recorder });
        let proxies = shared.clone();
        let proxies = PeerFilter::new(move |peer| proxies.routing().trusted.trusts(peer.ip()));
        let tls = config.tls.clone();
        let tls = tls.map(|files| TlsFiles { certificate: files.certificate, key: files.key });
        let mut bind = BindOptions { tls, ..bind };
        let mut listeners = Vec::new();
        for ListenAddress { address, is_proxied } in &config.listen {
            let protocol = || shared.proxy_protocol(proxies.clone());
            bind.proxy_protocol = is_proxied.then(protocol);
            listeners.push(Listener::bind(address, &bind).await?);
        }
        // Many clients stand behind each of them.
        let options = ServeOptions { unlimited_peers: proxies, ..options };
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

    /// Replaces its configuration while it runs, and tells what it does.
    pub fn handle(&self) -> GatewayHandle {
        GatewayHandle {
            shared: self.shared.clone(),
            connections: self.server.connections().clone(),
        }
    }

    /// Answers requests until `shutdown` resolves, and then those in flight.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) {
        let shutdown = async {
            shutdown.await;
            Shutdown::Stop
        };
        self.serve_until(shutdown, std::future::pending()).await;
    }

    /// Like [`serve`](Self::serve), until a shutdown of one kind or another. After
    /// [a hand-over](Shutdown::HandOver), `stop` ends what is left as [`Shutdown::Stop`] does.
    pub async fn serve_until(
        self,
        shutdown: impl Future<Output = Shutdown>,
        stop: impl Future<Output = ()>,
    ) {
        let shared = self.shared;
        let (recorder, ending) = (shared.recorder.clone(), shared.clone());
        let handler = move |request, client: Client| {
            // A connection keeps the room of its handler's future while it is idle.
            Box::pin(answer(shared.routing(), &shared.recorder, request, &client))
        };
        let (events, notices) = (&recorder.meter().events, recorder.notices());
        tokio::select! {
            () = self.server.serve_until(handler, shutdown, stop) => {}
            () = watch_clock(events, notices) => {}
        }
        if let Some(traces) = ending.routing().traces.clone() {
            traces.flush().await;
        }
        // Waiting for the disk must not hold up others on this thread.
        let flushed = tokio::task::spawn_blocking(move || recorder.access_log().flush());
        // It cannot panic, and a runtime that ends has nobody who waits.
        let _ = flushed.await;
    }
}

/// Asks the servers of a backend how they are.
static HEALTH_CHECK: TaskKind = TaskKind::new("health check");

impl GatewayHandle {
    /// The log with a line for each request, which a program turns on and off itself: that may fail.
    pub fn access_log(&self) -> &AccessLog {
        self.shared.recorder.access_log()
    }

    /// Counts requests from now on, for [`Self::counts`].
    pub fn measure(&self) {
        self.shared.recorder.meter().turn_on();
    }

    /// What was counted so far, and what is going on.
    pub fn counts(&self) -> GatewayCounts {
        GatewayCounts::read(&self.shared.routing(), &self.shared.recorder, &self.connections)
    }

    /// Begins to wait for the next request, or the next one that meets a condition when it ends. The
    /// condition is written in the language of `docs/conditions.md`.
    ///
    /// # Errors
    /// If the condition is not valid, or too many others wait.
    pub fn capture(
        &self,
        condition: Option<&str>,
    ) -> Result<Capture<RequestCondition>, CaptureError> {
        let recorder = &self.shared.recorder;
        let read = |text| RequestCondition::read(text, recorder.layout());
        let condition = condition.map(read).transpose()?;
        recorder.captures().arm(condition).map_err(CaptureError::TooMany)
    }

    /// Begins to wait for the next request that the gateway itself sends, for keys, a backend's name, a token, a
    /// session or to its collector of spans; with a text, for the next one that has it in its name, such as
    /// `key set`. Those of all gateways of the program are seen.
    ///
    /// # Errors
    /// If too many others wait.
    pub fn capture_call(&self, text: Option<&str>) -> Result<Capture<CallCondition>, CaptureError> {
        capture_call(text).map_err(CaptureError::TooMany)
    }

    /// Those who wait to look at a tunnel: at the next one that ends, or the one that has been looked at for the
    /// longest time when the wait is over.
    pub fn tunnels(&self) -> &Arc<TunnelCaptures> {
        self.shared.recorder.tunnels()
    }

    /// Uses another configuration for all requests from now on. Those in flight end under the old one. The
    /// addresses stay as they are.
    pub fn replace(&self, config: &Config) {
        let before = self.shared.routing();
        let routing = Arc::new(Routing::new(config, Some(&before)));
        for backend in routing.backends() {
            let is_new = !before.backends().any(|kept| Arc::ptr_eq(kept, backend));
            if is_new && backend.config().health.is_some() {
                let notices = self.shared.recorder.notices().clone();
                let watch = watch(Arc::downgrade(backend), notices);
                tokio::spawn(HEALTH_CHECK.observe(backend.name().clone(), watch));
            }
        }
        if let Some(traces) = &routing.traces
            && !before.traces.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, traces))
        {
            tokio::spawn(traces.export(self.shared.recorder.notices().clone()));
        }
        *self.shared.routing.write().unwrap_or_else(PoisonError::into_inner) = routing;
    }
}

impl Shared {
    /// Accepts the headers of proxies, and says whose were not valid.
    fn proxy_protocol(&self, proxies: PeerFilter) -> ProxyProtocol {
        let notices = self.recorder.notices().clone();
        ProxyProtocol::new(proxies, move |peer, error| {
            // A check whether the port is open is no fault.
            if !matches!(error, ProxyHeaderError::Closed { is_empty: true }) {
                notices.say("PROXY", || Notice {
                    peer: Some(peer.to_string()),
                    ..Notice::new(format!(
                        "{peer}: closed without a valid header of the PROXY protocol: {error}"
                    ))
                });
            }
        })
    }

    fn routing(&self) -> Arc<Routing> {
        self.routing.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
