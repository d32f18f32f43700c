//! The gateway: listening sockets, request handling and configuration changes.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use weir_net::socket::{
    Address, BindError, BindOptions, ConnectionLimit, Listener, PeerFilter, ProxyHeaderError,
    ProxyProtocol, TlsFiles,
};
use weir_net::{Client, RefusalObserver, ServeOptions, Server, Shutdown};
use weir_observe::capture::{CaptureError, PendingCapture};
use weir_observe::task::TaskKind;
use weir_sync::ReadWriteLock;

use crate::access::key_refresh::{refresh_directory, refresh_keys};
use crate::access_log::AccessLog;
use crate::answer::answer;
use crate::backend::watch;
use crate::capture::{RequestCondition, TunnelCaptures};
use crate::clock_watch::watch_clock;
use crate::config::{Config, ListenAddress};
use crate::counts::GatewayCounts;
use crate::fetch::capture_call;
use crate::record::{Recorder, record_refused_head};
use crate::routing::Routing;

/// How long a request continues after its client has closed its sending side, if no byte of the
/// answer is sent meanwhile. Most such clients have gone; the others get the answers of all but
/// slow backends.
const HALF_CLOSED_TIMEOUT: Duration = Duration::from_secs(1);

/// A gateway whose sockets listen, but which does not accept connections yet.
#[derive(Debug)]
pub struct Gateway {
    server: Server,
    shared: Arc<SharedState>,
}

/// A handle to a running gateway: replaces its configuration, reads its counts and captures
/// requests.
#[derive(Debug, Clone)]
pub struct GatewayHandle {
    shared: Arc<SharedState>,
    /// The open connections of clients.
    connections: ConnectionLimit,
}

/// The state that all requests share.
#[derive(Debug)]
struct SharedState {
    routing: ReadWriteLock<Arc<Routing>>,
    recorder: Arc<Recorder>,
}

impl Gateway {
    /// Binds the addresses of a configuration.
    ///
    /// # Errors
    /// If an address is in use, or its certificate cannot be used.
    pub async fn bind(config: &Config, options: ServeOptions) -> Result<Self, BindError> {
        Self::bind_with(config, options, BindOptions::default()).await
    }

    /// Like [`bind`](Self::bind), but can use sockets that were passed to the program.
    ///
    /// # Errors
    /// If an address is in use, its certificate cannot be used, or its socket was not passed.
    pub async fn bind_with(
        config: &Config,
        options: ServeOptions,
        bind: BindOptions,
    ) -> Result<Self, BindError> {
        let recorder = Recorder::new();
        let refused = recorder.clone();
        let shared = Arc::new(SharedState { routing: ReadWriteLock::default(), recorder });
        let proxies = shared.clone();
        let proxies = PeerFilter::new(move |peer| proxies.routing().trusted.trusts(peer.ip()));
        let tls = config.tls.clone();
        let client_certificates = tls.as_ref().and_then(|files| files.clients.clone());
        let tls = tls.map(|files| TlsFiles { certificate: files.certificate, key: files.key });
        let mut bind = BindOptions { tls, client_certificates, ..bind };
        let mut listeners = Vec::new();
        for ListenAddress { address, is_proxied, has_prior_knowledge } in &config.listen {
            let protocol = || SharedState::proxy_protocol(proxies.clone());
            bind.proxy_protocol = is_proxied.then(protocol);
            bind.has_http2_prior_knowledge = *has_prior_knowledge;
            listeners.push(Listener::bind(address, &bind).await?);
        }
        // Each proxy carries the connections of many clients.
        let options = ServeOptions {
            unlimited_peers: proxies,
            half_closed_timeout: Some(HALF_CLOSED_TIMEOUT),
            refusal_observer: RefusalObserver::new(move |it| record_refused_head(&refused, it)),
            ..options
        };
        let gateway = Self { server: Server::new(listeners).with_options(options), shared };
        gateway.handle().replace(config);
        Ok(gateway)
    }

    /// The bound addresses, with their actual ports.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.server.listeners().iter().map(Listener::address)
    }

    /// The recorder of its requests.
    pub fn recorder(&self) -> &Arc<Recorder> {
        &self.shared.recorder
    }

    /// Returns a handle that controls the gateway while it runs.
    pub fn handle(&self) -> GatewayHandle {
        GatewayHandle {
            shared: self.shared.clone(),
            connections: self.server.connections().clone(),
        }
    }

    /// Serves requests until `shutdown` resolves, then finishes the requests in flight.
    pub async fn serve(self, shutdown: impl Future<Output = ()> + Send) {
        let shutdown = async {
            shutdown.await;
            Shutdown::Stop
        };
        self.serve_until(shutdown, std::future::pending()).await;
    }

    /// Like [`serve`](Self::serve), but `shutdown` chooses the kind of shutdown. After [a
    /// handover](Shutdown::Handover), `stop` ends the remaining connections as [`Shutdown::Stop`]
    /// does.
    pub async fn serve_until(
        self,
        shutdown: impl Future<Output = Shutdown> + Send,
        stop: impl Future<Output = ()> + Send,
    ) {
        self.run(pin!(shutdown), pin!(stop)).await;
    }

    /// Boxed so that the gateway is compiled in this crate, not in each crate that calls it.
    fn run<'a>(
        self,
        shutdown: Pin<&'a mut (dyn Future<Output = Shutdown> + Send)>,
        stop: Pin<&'a mut (dyn Future<Output = ()> + Send)>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(self.forward_until(shutdown, stop))
    }

    async fn forward_until(
        self,
        shutdown: Pin<&mut (dyn Future<Output = Shutdown> + Send)>,
        stop: Pin<&mut (dyn Future<Output = ()> + Send)>,
    ) {
        let shared = self.shared;
        let (recorder, ending) = (shared.recorder.clone(), shared.clone());
        let handler = move |request, client: Client| {
            answer(shared.routing(), &shared.recorder, request, &client)
        };
        let events = &recorder.meter().events;
        tokio::select! {
            () = self.server.serve_until(handler, shutdown, stop) => {}
            () = watch_clock(events) => {}
        }
        if let Some(traces) = ending.routing().traces.clone() {
            traces.flush().await;
        }
        // Waiting for the disk must not block other tasks of this thread.
        let flushed = tokio::task::spawn_blocking(move || recorder.access_log().flush());
        // `flush` does not panic, and nothing waits for it if the runtime is shutting down.
        let _ = flushed.await;
    }
}

/// The kind of the tasks that refresh keys, named after their issuer.
static KEY_REFRESH: TaskKind = TaskKind::new("key refresh");

/// The kind of the tasks that check servers, named after their server.
static HEALTH_CHECK: TaskKind = TaskKind::new("health check");

impl GatewayHandle {
    /// The access log. The program turns it on and off itself, because opening the file may fail.
    pub fn access_log(&self) -> &AccessLog {
        self.shared.recorder.access_log()
    }

    /// Starts counting requests for [`Self::counts`].
    pub fn measure(&self) {
        self.shared.recorder.meter().turn_on();
    }

    /// Returns the current counts and gauges.
    pub fn counts(&self) -> GatewayCounts {
        GatewayCounts::read(&self.shared.routing(), &self.shared.recorder, &self.connections)
    }

    /// Starts a capture of the next request that meets the condition when it ends. Without a
    /// condition, any request matches. `docs/conditions.md` describes the language of conditions.
    ///
    /// # Errors
    /// If the condition is not valid, or too many captures are pending.
    pub fn capture(&self, condition: Option<&str>) -> Result<PendingCapture, CaptureError> {
        let recorder = &self.shared.recorder;
        let read = |text| RequestCondition::read(text, recorder.layout());
        let condition = condition.map(read).transpose()?;
        recorder.captures().arm(condition)
    }

    /// Starts a capture of the next request of the gateway itself: for keys, lookups, tokens,
    /// sessions or trace exports. With a text, only requests whose name contains it match, such as
    /// `key set`. The requests of all gateways of the program are captured.
    ///
    /// # Errors
    /// If too many captures are pending.
    pub fn capture_call(&self, text: Option<&str>) -> Result<PendingCapture, CaptureError> {
        capture_call(text)
    }

    /// The pending captures of tunnels. A capture receives the next tunnel that ends or, when its
    /// wait is over, the tunnel that it has followed for the longest time.
    pub fn tunnels(&self) -> &Arc<TunnelCaptures> {
        self.shared.recorder.tunnels()
    }

    /// Replaces the configuration for all following requests. Requests in flight keep the old one.
    /// The listening addresses do not change.
    pub fn replace(&self, config: &Config) {
        let before = self.shared.routing();
        let routing = Arc::new(Routing::new(config, Some(&before)));
        for backend in routing.backends() {
            let is_new = !before.backends().any(|kept| Arc::ptr_eq(kept, backend));
            if is_new && backend.config().health.is_some() {
                for instance in backend.instances() {
                    let watch = watch(Arc::downgrade(backend), instance.clone());
                    tokio::spawn(HEALTH_CHECK.observe(instance.name().clone(), watch));
                }
            }
        }
        for verifier in routing.verifiers() {
            if !before.verifiers().any(|kept| Arc::ptr_eq(kept, verifier)) {
                tokio::spawn(KEY_REFRESH.observe(verifier.name(), refresh_keys(verifier)));
            }
        }
        let directories = |routing: &Routing| {
            let crawlers = routing.crawlers.iter();
            crawlers
                .flat_map(|it| it.directories().map(|(keys, name)| (keys.clone(), name.clone())))
                .collect::<Vec<_>>()
        };
        let known = directories(&before);
        for (keys, name) in directories(&routing) {
            if !known.iter().any(|(kept, _)| Arc::ptr_eq(kept, &keys)) {
                tokio::spawn(KEY_REFRESH.observe(name, refresh_directory(&keys)));
            }
        }
        if let Some(traces) = &routing.traces
            && !before.traces.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, traces))
        {
            tokio::spawn(traces.export());
        }
        *self.shared.routing.write() = routing;
    }
}

impl SharedState {
    /// Configures the PROXY protocol, with a warning for each invalid header.
    fn proxy_protocol(proxies: PeerFilter) -> ProxyProtocol {
        ProxyProtocol::new(proxies, move |peer, error| {
            // An empty connection is a port check, not an error.
            if !matches!(error, ProxyHeaderError::Closed { is_empty: true }) {
                tracing::warn!(
                    target: "weir_gateway",
                    %peer,
                    "{peer}: closed without a valid header of the PROXY protocol: {error}"
                );
            }
        })
    }

    fn routing(&self) -> Arc<Routing> {
        self.routing.read().clone()
    }
}
