//! The server: binding, serving, and sessions for programs.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use weir_ingest::{Retention, TotalMemory};
use weir_net::socket::{Address, ConnectionBudget, ConnectionLimit, Listener, reserve_connections};
use weir_net::{HostGuard, PublicUrl, ServeOptions};
use weir_view::find_zone;

use crate::access_token::AccessToken;
use crate::captures::{PageCaptures, UploadCaptures};
use crate::counts::ServerCounts;
use crate::hub::{Hub, SessionHandle};
use crate::options::{Options, StartError};
use crate::refusal::Refusal;
use crate::routes;
use crate::session::Lifetime;

/// A server on listening sockets that does not accept connections yet.
#[derive(Debug)]
pub struct Server {
    net: weir_net::Server,
    hub: Arc<Hub>,
    budget: ConnectionBudget,
}

/// Tells what a running server does.
#[derive(Debug, Clone)]
pub struct ServerHandle {
    hub: Arc<Hub>,
    connections: ConnectionLimit,
}

impl ServerHandle {
    /// What was read so far, and what is going on.
    pub fn counts(&self) -> ServerCounts {
        ServerCounts::read(&self.hub, &self.connections)
    }

    /// Those who wait to look at an upload: at the next one that ends, or the one that has been looked at for the
    /// longest time when the wait is over.
    pub fn uploads(&self) -> &Arc<UploadCaptures> {
        &self.hub.uploads
    }

    /// Those who wait to look at a request: at the next one that ends, or the oldest one in progress when the wait
    /// is over.
    pub fn requests(&self) -> &Arc<PageCaptures> {
        &self.hub.requests
    }
}

impl Server {
    /// Listens on the addresses of the options.
    ///
    /// # Errors
    /// If an address is in use or does not belong to this machine, if other machines can reach it and
    /// the options do not protect it, or if the time zone of the options does not exist.
    pub async fn bind(mut options: Options) -> Result<Self, StartError> {
        if let Some(zone) = &options.zone {
            find_zone(zone).map_err(StartError::Zone)?;
        }
        let listeners = listen(&mut options).await?;
        let guard = guard(&listeners, options.public_url.clone());
        let budget = reserve_connections(options.connections_max);
        let limits =
            ServeOptions { connections_max: budget.connections_max, ..ServeOptions::default() };
        let net = weir_net::Server::new(listeners).with_options(limits);
        let hub = Arc::new(Hub::new(options, guard));
        Ok(Self { net, hub, budget })
    }

    /// The addresses that the server listens on, with the actual ports, in the order of the options.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.net.listeners().iter().map(Listener::address)
    }

    /// The IP address and port of its first TCP or TLS socket.
    ///
    /// # Errors
    /// If it listens on Unix sockets only.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.net.local_addr()
    }

    /// The connections that it can have, which may be fewer than [`Options::connections_max`].
    pub fn connection_budget(&self) -> ConnectionBudget {
        self.budget
    }

    /// The token that lets a client in; `None` if all are let in.
    pub fn token(&self) -> Option<&AccessToken> {
        self.hub.options.token.as_ref()
    }

    /// Tells what the server does while it serves.
    pub fn handle(&self) -> ServerHandle {
        ServerHandle { hub: self.hub.clone(), connections: self.net.connections().clone() }
    }

    /// The memory of all sessions together. It can be watched while the server serves.
    pub fn total_memory(&self) -> TotalMemory {
        self.hub.memory.clone()
    }

    /// Creates a session for a program to fill. A pinned session is kept until it is ended by
    /// `DELETE` or with the server. Any other ends like those of a page, once it is unused; it
    /// must be created inside a tokio runtime.
    ///
    /// # Errors
    /// If [`Options::sessions_max`] sessions exist, or the system has no random numbers.
    pub fn new_session(&self, pinned: bool) -> Result<SessionHandle, Refusal> {
        let lifetime = if pinned { Lifetime::Pinned } else { Lifetime::Grace };
        let session = self.hub.create(lifetime)?.session;
        Ok(SessionHandle { session })
    }

    /// Creates a pinned session for a live feed, with its own memory limit in bytes. `retention`
    /// determines when its oldest records are dropped.
    ///
    /// # Errors
    /// As for [`Self::new_session`].
    pub fn new_feed(
        &self,
        retention: Retention,
        memory_bytes_max: usize,
    ) -> Result<SessionHandle, Refusal> {
        let options = Options { retention, memory_bytes_max, ..self.hub.options.clone() };
        let session = self.hub.create_with(&options, Lifetime::Pinned)?.session;
        Ok(SessionHandle { session })
    }

    /// Serves until `shutdown` resolves. Then ends every session, closes WebSockets with code
    /// 1001, and finishes pending requests, for at most a few seconds.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) {
        let hub = self.hub.clone();
        let shutdown = async {
            shutdown.await;
            hub.end_all();
        };
        let hub = self.hub.clone();
        let handler = move |request, client| routes::answer(hub.clone(), request, client);
        self.net.serve(handler, shutdown).await;
        self.hub.end_all();
    }
}

/// Listens on all addresses. Nothing is accepted yet, so an address that turns out to need a token
/// lets nobody in.
async fn listen(options: &mut Options) -> Result<Vec<Listener>, StartError> {
    let mut listeners = Vec::new();
    for address in &options.listen {
        let listener = Listener::bind(address, &options.bind).await.map_err(StartError::Bind)?;
        let is_public = listener.local_addr().is_ok_and(|address| !address.ip().is_loopback());
        let address = || listener.address().clone();
        let is_encrypted = matches!(listener.address(), Address::Tls(_));
        if is_public && options.token.is_none() {
            options.token = options.public_token.take();
        }
        if is_public && options.token.is_none() {
            return Err(StartError::NoToken(address()));
        }
        if is_public && !is_encrypted && !options.allows_insecure_http {
            return Err(StartError::Insecure(address()));
        }
        listeners.push(listener);
    }
    Ok(listeners)
}

/// Allows requests whose `Host` is a loopback name of this machine, an address the server listens
/// on, or the public URL. If the server listens on all addresses of the machine, `Host` may be any
/// address: a page of another site can make a name resolve to this machine, but not an address.
fn guard(listeners: &[Listener], public_url: Option<PublicUrl>) -> HostGuard {
    let mut guard = HostGuard::loopback();
    for address in listeners.iter().filter_map(|listener| listener.local_addr().ok()) {
        if address.ip().is_unspecified() {
            guard = guard.allow_addresses();
        } else {
            // Cannot fail: the text of a socket address is a valid authority.
            guard = guard.clone().allow(&address.to_string()).unwrap_or(guard);
        }
    }
    match public_url {
        Some(url) => guard.allow_url(url),
        None => guard,
    }
}
