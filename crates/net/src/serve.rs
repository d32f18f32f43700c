//! The HTTP server: it accepts connections, serves them and shuts down.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use hyper::{Request, Response};
use tokio::time::{Interval, MissedTickBehavior};
use weir_observe::task::TaskKind;

use crate::admission::Connections;
use crate::body::Body;
use crate::client::Client;
use crate::handler::Handler;
use crate::idle::IdleConnections;
use crate::incoming_body::IncomingBody;
use crate::options::ServeOptions;
use crate::reserve_descriptor::ReserveDescriptor;
use crate::socket::{Address, BindError, BindOptions, Connection, ConnectionLimit, Listener};

/// An HTTP server on any number of listening sockets, before it accepts connections. It speaks
/// HTTP/1.1, and HTTP/2 to TLS clients that choose it.
///
/// Clients that connect before [`serve`](Server::serve) runs wait in the kernel's queue.
#[derive(Debug)]
pub struct Server {
    listeners: Vec<Listener>,
    options: ServeOptions,
    connections: ConnectionLimit,
    task_kind: &'static TaskKind,
}

impl Server {
    /// Creates a server on sockets of any kind: TCP, TLS or Unix. The limits hold for all sockets
    /// together.
    pub fn new(listeners: impl IntoIterator<Item = Listener>) -> Self {
        let listeners = listeners.into_iter().collect();
        let options = ServeOptions::default();
        let connections = ConnectionLimit::new(options.connections_max);
        Self { listeners, options, connections, task_kind: &CONNECTION }
    }

    /// Creates a server that listens on a TCP address. Port 0 is replaced by a free port.
    ///
    /// # Errors
    /// If the address is in use or does not belong to this machine.
    pub async fn bind(address: SocketAddr) -> Result<Self, BindError> {
        let address = Address::Tcp(address.to_string());
        Listener::bind(&address, &BindOptions::default())
            .await
            .map(|listener| Self::new([listener]))
    }

    /// Replaces the limits.
    #[must_use]
    pub fn with_options(mut self, options: ServeOptions) -> Self {
        self.connections = ConnectionLimit::new(options.connections_max);
        self.options = options;
        self
    }

    /// Sets the kind of the tasks that serve connections. Default `connection`.
    #[must_use]
    pub fn with_task_kind(self, task_kind: &'static TaskKind) -> Self {
        Self { task_kind, ..self }
    }

    /// Returns the limit of connections, which also counts the open ones.
    pub fn connections(&self) -> &ConnectionLimit {
        &self.connections
    }

    /// Returns the sockets on which the server listens.
    pub fn listeners(&self) -> &[Listener] {
        &self.listeners
    }

    /// Returns the IP address and port of the first socket that has one.
    ///
    /// # Errors
    /// If the server has only Unix sockets.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let address = self.listeners.iter().find_map(|listener| listener.local_addr().ok());
        address.ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// Accepts connections and answers each request with the response of `handler`, until
    /// `shutdown` resolves.
    ///
    /// Then the listening sockets and idle connections close, and requests in flight finish.
    /// Connections that remain after the [grace period](ServeOptions::grace_period) are closed.
    /// Upgraded connections belong to the tasks that took them over. The server waits for them in
    /// the same period and then leaves them to their owners, unless they run on one of the server's
    /// [threads](ServeOptions::connection_threads).
    ///
    /// At the limit of [connections](ServeOptions::connections_max), or if the system has no
    /// descriptor left, the connection that has been idle for the longest time is closed in favour
    /// of a new one. If none is idle, the new one is refused with `503` within a second. A client
    /// at [its own limit](ServeOptions::connections_per_address_max) is refused with `429`.
    ///
    /// A handler reads the body of a request as a [`RequestBody`](crate::RequestBody), which
    /// enforces the [minimum rate](ServeOptions::body_rate).
    ///
    /// A handler that panics loses only its own connection; over HTTP/2, only its own stream.
    pub async fn serve<H, F>(self, handler: H, shutdown: impl Future<Output = ()> + Send)
    where
        H: Fn(Request<IncomingBody>, Client) -> F + Send + Sync + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let shutdown = async {
            shutdown.await;
            Shutdown::Stop
        };
        self.serve_until(handler, shutdown, std::future::pending()).await;
    }

    /// Like [`serve`](Self::serve), with a choice of the kind of shutdown. During
    /// [a handover](Shutdown::Handover), `stop` ends the remaining connections as
    /// [`Shutdown::Stop`] does.
    pub async fn serve_until<H, F>(
        self,
        handler: H,
        shutdown: impl Future<Output = Shutdown> + Send,
        stop: impl Future<Output = ()> + Send,
    ) where
        H: Fn(Request<IncomingBody>, Client) -> F + Send + Sync + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        self.run(Handler::new(handler), pin!(shutdown), pin!(stop)).await;
    }

    /// Returns a boxed `dyn Future`, so that the server is compiled in this crate. The future of an
    /// `async fn` that is awaited directly is compiled again in each crate that awaits it.
    fn run<'a>(
        self,
        handler: Handler,
        shutdown: Pin<&'a mut (dyn Future<Output = Shutdown> + Send)>,
        stop: Pin<&'a mut (dyn Future<Output = ()> + Send)>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(self.accept_until(handler, shutdown, stop))
    }

    async fn accept_until(
        mut self,
        handler: Handler,
        mut shutdown: Pin<&mut (dyn Future<Output = Shutdown> + Send)>,
        stop: Pin<&mut (dyn Future<Output = ()> + Send)>,
    ) {
        let limit = self.connections.clone();
        let mut connections = Connections::new(&self.options, &limit, self.task_kind, handler);
        let mut reserve = ReserveDescriptor::default();
        let waits = self.options.wait_limits();
        let mut checks = tokio::time::interval(waits.check_interval());
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let shutdown = loop {
            tokio::select! {
                shutdown = &mut shutdown => break shutdown,
                _ = checks.tick() => connections.idle.close_late(&waits),
                _ = connections.tasks.join_next(), if !connections.tasks.is_empty() => {}
                accepted = accept(&mut self.listeners), if connections.may_accept() => {
                    reserve.acquire();
                    match accepted {
                        Ok(connection) => connections.admit(connection, &limit),
                        // The listener delays its next attempt after an error.
                        Err(_) if connections.idle.close_oldest() => {}
                        Err(_) => reserve.release(),
                    }
                }
            }
        };
        drop(self.listeners);
        let ends = match shutdown {
            Shutdown::Stop => false,
            Shutdown::Handover { grace_period } => tokio::select! {
                () = hand_over(&connections.idle, checks, &limit, &self.options, grace_period) => true,
                () = stop => false,
            },
        };
        let grace_period = if ends { Duration::ZERO } else { self.options.grace_period };
        connections.finish(&limit, grace_period).await;
    }
}

/// The tasks that serve a connection from its first byte to its last.
static CONNECTION: TaskKind = TaskKind::new("connection");

/// The kind of a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Idle connections close at once.
    Stop,
    /// Another process has the listening sockets and answers new connections. An idle connection
    /// may be used for one more request, whose response announces its end (RFC 9112 section 9.6),
    /// so no client writes to a connection that is just being closed. Without a request it ends
    /// after [the usual time limit](ServeOptions::header_timeout).
    Handover {
        /// The time in which requests in progress and upgraded connections must end, in place of
        /// [`ServeOptions::grace_period`].
        grace_period: Duration,
    },
}

/// Lets each connection answer one more request. Waits until no connection is left or the grace
/// period has passed.
async fn hand_over(
    idle: &IdleConnections,
    mut checks: Interval,
    limit: &ConnectionLimit,
    options: &ServeOptions,
    grace_period: Duration,
) {
    idle.end_after_responses();
    let waits = options.wait_limits();
    let close_late = async {
        loop {
            checks.tick().await;
            idle.close_late(&waits);
        }
    };
    // Every late head is detected within this time. `stop` comes after that, because a connection
    // that is asked to stop may spend the whole grace period on half a head.
    let heads = options.header_timeout.saturating_mul(3) / 2;
    // The first call records the waits that have begun, and the last one finds those that are late,
    // even if a busy machine delays all checks between them.
    idle.close_late(&waits);
    tokio::select! {
        _closed_in_time = limit.wait_idle(heads) => {}
        () = close_late => {}
    }
    idle.close_late(&waits);
    idle.stop();
    let _closed_in_time = limit.wait_idle(grace_period).await;
}

/// Waits for the next connection on any of the sockets. The sockets take turns at being polled
/// first, so a busy one does not starve the others.
async fn accept(listeners: &mut [Listener]) -> io::Result<Connection> {
    match listeners {
        [] => return std::future::pending().await,
        [listener] => return listener.accept().await,
        [..] => listeners.rotate_left(1),
    }
    let mut waiting: Vec<_> =
        listeners.iter_mut().map(|listener| Box::pin(listener.accept())).collect();
    std::future::poll_fn(|context| {
        for accepting in &mut waiting {
            if let Poll::Ready(accepted) = accepting.as_mut().poll(context) {
                return Poll::Ready(accepted);
            }
        }
        Poll::Pending
    })
    .await
}
