//! The server: binding, serving, and sessions for programs.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use weir_ingest::Retention;
use weir_net::socket::{Address, BindError, reserve_connections};
use weir_net::{HostGuard, PublicUrl, ServeOptions};
use weir_view::find_zone;

use crate::hub::{Hub, SessionHandle};
use crate::options::{Options, StartError};
use crate::refusal::Refusal;
use crate::routes;
use crate::session::Lifetime;

/// A server on a listening socket that does not accept connections yet.
#[derive(Debug)]
pub struct Server {
    net: weir_net::Server,
    address: SocketAddr,
    hub: Arc<Hub>,
}

impl Server {
    /// Listens on the address of the options.
    ///
    /// # Errors
    /// If the address is in use or does not belong to this machine, or if the time zone of the
    /// options does not exist.
    pub async fn bind(options: Options) -> Result<Self, StartError> {
        if let Some(zone) = &options.zone {
            find_zone(zone).map_err(StartError::Zone)?;
        }
        let net = weir_net::Server::bind(options.address).await.map_err(StartError::Bind)?;
        let limits = ServeOptions::default();
        let budget = reserve_connections(limits.connections_max);
        let connections_max = budget.connections_max;
        let net = net.with_options(ServeOptions { connections_max, ..limits });
        let address = net.local_addr().map_err(|error| {
            let address = Address::Tcp(options.address.to_string());
            StartError::Bind(BindError::Io { address, error })
        })?;
        let guard = guard(address, options.public_url.clone());
        let hub = Arc::new(Hub::new(options, guard));
        Ok(Self { net, address, hub })
    }

    /// The address the server listens on, with the actual port.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
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
        let handler = move |request, _peer| routes::answer(hub.clone(), request);
        self.net.serve(handler, shutdown).await;
        self.hub.end_all();
    }
}

/// Allows requests whose `Host` is a loopback name of this machine, the address the server
/// listens on, or the public URL.
fn guard(address: SocketAddr, public_url: Option<PublicUrl>) -> HostGuard {
    let guard = HostGuard::loopback();
    // Cannot fail: the text of a socket address is a valid authority.
    let guard = guard.clone().allow(&address.to_string()).unwrap_or(guard);
    match public_url {
        Some(url) => guard.allow_url(url),
        None => guard,
    }
}
