//! The server: binding, serving, and sessions for programs.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use weir_ingest::{Retention, TotalMemory};
use weir_net::socket::{Address, ConnectionBudget, ConnectionLimit, Listener, reserve_connections};
use weir_net::{HostGuard, PublicUrl, ServeOptions};
use weir_query::find_zone;

use crate::access_token::AccessToken;
use crate::captures::{PageCaptures, UploadCaptures};
use crate::data_set_name::DataSetName;
use crate::hub::{Hub, SessionHandle};
use crate::options::{ServerOptions, StartError};
use crate::refusal::Refusal;
use crate::routes;
use crate::session::Lifetime;
use crate::statistics::ServerCounts;

/// How long connections may take to end after a stop. Together with what the program then waits for, a
/// stop takes less than 2 s.
const GRACE: Duration = Duration::from_secs(1);

/// A server that listens on its sockets but does not accept connections yet.
#[derive(Debug)]
pub struct Server {
    net: weir_net::Server,
    hub: Arc<Hub>,
    budget: ConnectionBudget,
}

/// Access to the state of a running server.
#[derive(Debug, Clone)]
pub struct ServerHandle {
    hub: Arc<Hub>,
    connections: ConnectionLimit,
}

impl ServerHandle {
    /// Returns the current statistics.
    pub fn counts(&self) -> ServerCounts {
        ServerCounts::read(&self.hub, &self.connections)
    }

    /// Makes the page link to the pages of `--admin` at this address. Only the first call counts.
    pub fn link_admin(&self, address: String) {
        // An address that is set already stays.
        let _ = self.hub.admin.set(address);
    }

    /// Returns the captures of uploads. A capture ends with the next finished upload, or with the
    /// longest observed one when its time is over.
    pub fn uploads(&self) -> &Arc<UploadCaptures> {
        &self.hub.uploads
    }

    /// Returns the captures of requests. A capture ends with the next finished request, or with the
    /// oldest unfinished one when its time is over.
    pub fn requests(&self) -> &Arc<PageCaptures> {
        &self.hub.requests
    }
}

impl Server {
    /// Listens on the addresses of the options.
    ///
    /// # Errors
    /// Fails if an address is in use or does not belong to this machine, if other machines can
    /// reach it without the protection that the options require, or if the time zone does not
    /// exist.
    pub async fn bind(mut options: ServerOptions) -> Result<Self, StartError> {
        if let Some(zone) = &options.zone {
            find_zone(zone).map_err(StartError::Zone)?;
        }
        let listeners = listen(&mut options).await?;
        let guard = guard(&listeners, options.public_url.clone());
        let budget = reserve_connections(options.connections_max);
        let limits = ServeOptions {
            connections_max: budget.connections_max,
            grace_period: GRACE,
            ..ServeOptions::default()
        };
        let net = weir_net::Server::new(listeners).with_options(limits);
        let hub = Hub::new(options, guard);
        Ok(Self { net, hub, budget })
    }

    /// Returns the addresses that the server listens on, with the actual ports, in the order of the
    /// options.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.net.listeners().iter().map(Listener::address)
    }

    /// Returns the IP address and port of the first TCP or TLS socket.
    ///
    /// # Errors
    /// Fails if the server listens only on Unix sockets.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.net.local_addr()
    }

    /// Returns the number of possible connections, which may be lower than
    /// [`ServerOptions::connections_max`].
    pub fn connection_budget(&self) -> ConnectionBudget {
        self.budget
    }

    /// Returns the token that clients must present; `None` if none is required.
    pub fn token(&self) -> Option<&AccessToken> {
        self.hub.options.token.as_ref()
    }

    /// Returns access to the state of the server while it runs.
    pub fn handle(&self) -> ServerHandle {
        ServerHandle { hub: self.hub.clone(), connections: self.net.connections().clone() }
    }

    /// Returns the memory of all sessions together, which can be watched while the server runs.
    pub fn total_memory(&self) -> TotalMemory {
        self.hub.memory.clone()
    }

    /// Creates a session for a program to fill. A pinned session lasts until `DELETE` or the end of
    /// the server. Any other session ends after disuse, like those of a page; it must be created
    /// inside a tokio runtime.
    ///
    /// # Errors
    /// Fails if [`ServerOptions::sessions_max`] sessions exist, or the system has no random numbers.
    pub fn new_session(&self, pinned: bool) -> Result<SessionHandle, Refusal> {
        let lifetime = if pinned { Lifetime::Pinned } else { Lifetime::Grace };
        let session = self.hub.create(lifetime)?.session;
        Ok(SessionHandle { session })
    }

    /// Creates the session that the server is there for. Its address, `/d/NAME` and `/`, is the same
    /// after a restart, and it lasts until the end of the server.
    ///
    /// # Errors
    /// Fails if the server has such a session already.
    pub fn new_served(&self, name: &DataSetName) -> Result<SessionHandle, Refusal> {
        let session = self.hub.create_served(&self.hub.options, name)?;
        Ok(SessionHandle { session })
    }

    /// [`Self::new_served`] for a live feed, with its own memory limit in bytes. `retention`
    /// determines when its oldest records are dropped.
    ///
    /// # Errors
    /// As for [`Self::new_served`].
    pub fn new_feed(
        &self,
        name: &DataSetName,
        retention: Retention,
        memory_bytes_max: usize,
    ) -> Result<SessionHandle, Refusal> {
        let options = ServerOptions { retention, memory_bytes_max, ..self.hub.options.clone() };
        let session = self.hub.create_served(&options, name)?;
        Ok(SessionHandle { session })
    }

    /// Serves until `shutdown` resolves. Then ends every session, closes WebSockets with code
    /// 1001, and finishes pending requests, for at most a second.
    pub async fn serve(self, shutdown: impl Future<Output = ()> + Send) {
        self.run(pin!(shutdown)).await;
    }

    /// Boxed so that the server is compiled in this crate, not in each crate that calls it.
    fn run<'a>(
        self,
        shutdown: Pin<&'a mut (dyn Future<Output = ()> + Send)>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        let (stopping, answering) = (self.hub.clone(), self.hub.clone());
        let shutdown = async move {
            shutdown.await;
            stopping.end_all();
        };
        let handler = move |request, client| routes::answer(answering.clone(), request, client);
        Box::pin(async move {
            self.net.serve(handler, shutdown).await;
            self.hub.end_all();
        })
    }
}

/// Listens on all addresses. Connections are not accepted yet, so an address that turns out to need
/// a token is not exposed.
async fn listen(options: &mut ServerOptions) -> Result<Vec<Listener>, StartError> {
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

/// Returns the guard of `Host` and `Origin`. `Host` must be a loopback name of this machine, an
/// address the server listens on, or the public URL. If the server listens on all addresses of the
/// machine, any IP address is allowed: another site can make a name resolve to this machine, but
/// not an address.
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
