//! The server as a whole.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use weir_ingest::Keep;
use weir_net::HostGuard;
use weir_net::socket::{Address, BindError};
use weir_view::find_zone;

use crate::hub::{Hub, SessionHandle};
use crate::options::{Options, StartError};
use crate::refusal::Refusal;
use crate::routes;
use crate::session::Hold;

/// A server on a listening socket, not yet accepting.
#[derive(Debug)]
pub struct Server {
    net: weir_net::Server,
    address: SocketAddr,
    hub: Arc<Hub>,
}

impl Server {
    /// Listens at the address of the options.
    ///
    /// # Errors
    /// If the address is in use or does not belong to this machine, or the zone of the options
    /// does not exist.
    pub async fn bind(options: Options) -> Result<Self, StartError> {
        if let Some(zone) = &options.zone {
            find_zone(zone).map_err(StartError::Zone)?;
        }
        let net = weir_net::Server::bind(options.address).await.map_err(StartError::Bind)?;
        let address = net.local_addr().map_err(|error| {
            let address = Address::Tcp(options.address.to_string());
            StartError::Bind(BindError::Io { address, error })
        })?;
        let hub = Arc::new(Hub::new(options, guard(address)));
        Ok(Self { net, address, hub })
    }

    /// The address it listens on, with the port that was free.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Makes a session for a program to fill. A pinned one is kept until the server ends or
    /// a `DELETE` asks for its end; any other goes as those do that a page makes, and has to
    /// be made inside a tokio runtime.
    ///
    /// # Errors
    /// Where there are as many sessions as may be, or the system has no random numbers.
    pub fn new_session(&self, pinned: bool) -> Result<SessionHandle, Refusal> {
        let hold = if pinned { Hold::Pinned } else { Hold::Grace };
        let session = self.hub.create(hold)?;
        Ok(SessionHandle { session })
    }

    /// Makes a session for what goes on being written, with so much memory: `keep` says how its
    /// oldest records leave. It is kept until the server ends or a `DELETE` asks for its end.
    ///
    /// # Errors
    /// As for [`Self::new_session`].
    pub fn new_feed(&self, keep: Keep, memory_bytes_max: usize) -> Result<SessionHandle, Refusal> {
        let options = Options { keep, memory_bytes_max, ..self.hub.options.clone() };
        let session = self.hub.create_with(&options, Hold::Pinned)?;
        Ok(SessionHandle { session })
    }

    /// Serves until `shutdown` resolves; then ends every session, closes WebSockets with code
    /// 1001, and finishes what was asked, for a few seconds at the most.
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

/// Who may ask: pages and programs that call the server by this machine's own names, or by
/// the address that it was told to listen on.
fn guard(address: SocketAddr) -> HostGuard {
    let guard = HostGuard::loopback(address.port());
    // The text of a socket address is a valid authority.
    guard.clone().allow(&address.to_string()).unwrap_or(guard)
}
