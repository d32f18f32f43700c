//! The HTTP server: accepting, serving, shutting down.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, Response};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::body::Body;
use crate::connection::{HttpConnection, protocol};
use crate::options::ServeOptions;
use crate::socket::{
    Address, BindError, BindOptions, Connection, ConnectionLimit, ConnectionPermit, Listener, Peer,
};

/// An HTTP/1.1 server on a listening socket, not yet accepting.
///
/// Clients that connect before [`serve`](Server::serve) runs wait in the kernel's queue.
#[derive(Debug)]
pub struct Server {
    listener: Listener,
    options: ServeOptions,
}

impl Server {
    /// A server on a socket of any kind: TCP, TLS or Unix.
    pub fn new(listener: Listener) -> Self {
        Self { listener, options: ServeOptions::default() }
    }

    /// Listens on a TCP address; port 0 takes a free one.
    ///
    /// # Errors
    /// If the address is in use or does not belong to this machine.
    pub async fn bind(address: SocketAddr) -> Result<Self, BindError> {
        let address = Address::Tcp(address.to_string());
        Listener::bind(&address, &BindOptions::default()).await.map(Self::new)
    }

    /// Replaces the limits.
    #[must_use]
    pub fn with_options(mut self, options: ServeOptions) -> Self {
        self.options = options;
        self
    }

    /// The IP address and port on which it listens.
    ///
    /// # Errors
    /// For a Unix socket, which has none.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Accepts connections and answers each request with the response of `handler`, until
    /// `shutdown` resolves.
    ///
    /// Then the listening socket closes, idle connections close, and requests in flight are
    /// finished; what remains after the [grace period](ServeOptions::grace_period) is cut off.
    /// Upgraded connections belong to the tasks that took them: the server waits for them in
    /// the same period and then leaves them to their owners.
    ///
    /// A handler that panics loses only its own connection.
    pub async fn serve<H, F>(mut self, handler: H, shutdown: impl Future<Output = ()>)
    where
        H: Fn(Request<Incoming>, Peer) -> F + Send + Sync + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let mut shutdown = pin!(shutdown);
        let limit = ConnectionLimit::new(self.options.connections_max);
        let mut connections = Connections::new(&self.options, handler);
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                _ = connections.tasks.join_next(), if !connections.tasks.is_empty() => {}
                (connection, permit) = accept(&mut self.listener, &limit) => {
                    connections.start(connection, permit);
                }
            }
        }
        drop(self.listener);
        connections.finish(&limit, &self.options).await;
    }
}

/// The next connection, with its permit. Dropping the future loses none.
///
/// The permit is taken before accepting. At the limit, clients therefore wait in the kernel's
/// queue, which is bounded and costs nothing. Closing them after accepting would turn a short
/// rush into errors; letting them wait after accepting would spend a descriptor on each.
async fn accept(
    listener: &mut Listener,
    limit: &ConnectionLimit,
) -> (Connection, ConnectionPermit) {
    loop {
        let permit = limit.acquire().await;
        // The listener paces itself after an error.
        if let Ok(connection) = listener.accept().await {
            return (connection, permit);
        }
    }
}

/// The tasks of all connections that speak HTTP.
struct Connections<H> {
    tasks: JoinSet<()>,
    shared: Arc<HttpConnection<H>>,
    stopping: watch::Sender<bool>,
}

impl<H, F> Connections<H>
where
    H: Fn(Request<Incoming>, Peer) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    fn new(options: &ServeOptions, handler: H) -> Self {
        let options = options.clone();
        let shared = Arc::new(HttpConnection { protocol: protocol(&options), options, handler });
        Self { tasks: JoinSet::new(), shared, stopping: watch::Sender::new(false) }
    }

    fn start(&mut self, connection: Connection, permit: ConnectionPermit) {
        let stopping = self.stopping.subscribe();
        self.tasks.spawn(self.shared.clone().run(connection, permit, stopping));
    }

    /// Asks every connection to end, waits for the grace period, and drops the rest.
    async fn finish(mut self, limit: &ConnectionLimit, options: &ServeOptions) {
        self.stopping.send_replace(true);
        // Every open connection holds a permit, upgraded or not.
        let _closed_in_time = limit.wait_idle(options.grace_period).await;
        self.tasks.shutdown().await;
    }
}
