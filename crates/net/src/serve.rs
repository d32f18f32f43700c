//! The accept loop.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::{Request, Response};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::body::Body;
use crate::connection;
use crate::listener::{Listener, pause_after};
use crate::options::ServeOptions;
use crate::peer::Peer;
use crate::transport::Transport;

/// An HTTP/1.1 server on a listening socket, not yet accepting.
///
/// The socket listens from [`bind`](Server::bind) on, so clients that connect before
/// [`serve`](Server::serve) runs wait in the kernel's queue.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    options: ServeOptions,
}

impl Server {
    /// Listens on a TCP address; port 0 takes a free one. Fails when the address is in use or
    /// not this machine's.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        Ok(Self { listener, options: ServeOptions::default() })
    }

    /// Replaces the limits.
    #[must_use]
    pub fn with_options(mut self, options: ServeOptions) -> Self {
        self.options = options;
        self
    }

    /// The address and port it listens on.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Accepts connections and answers each request with what `handler` returns, until
    /// `shutdown` resolves.
    ///
    /// Then the listening socket closes, idle connections close, and requests in flight are
    /// finished; what is left after the [grace period](ServeOptions::grace_period) is cut off.
    /// Connections that were upgraded belong to whoever took them: they are waited for in the
    /// same period and then left to their owner.
    ///
    /// A handler that panics loses its own connection only.
    pub async fn serve<H, F>(self, handler: H, shutdown: impl Future<Output = ()>)
    where
        H: Fn(Request<Incoming>, Peer) -> F + Send + Sync + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        serve_on(self.listener, self.options, handler, shutdown).await;
    }
}

async fn serve_on<L, H, F>(
    listener: L,
    options: ServeOptions,
    handler: H,
    shutdown: impl Future<Output = ()>,
) where
    L: Listener,
    H: Fn(Request<Incoming>, Peer) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let mut shutdown = pin!(shutdown);
    let mut gate = Gate::new(listener, slots_total(&options), options.write_timeout);
    let mut connections = Connections::new(&options, handler);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            _ = connections.tasks.join_next(), if !connections.tasks.is_empty() => {}
            (transport, peer) = gate.next() => connections.start(transport, peer),
        }
    }
    let slots = gate.close();
    connections.finish(slots, &options).await;
}

/// The connection limit as the semaphore counts: at least one, or the server could do nothing.
fn slots_total(options: &ServeOptions) -> u32 {
    const SLOTS_MAX: usize = 1 << 24;
    options.connections_max.clamp(1, SLOTS_MAX) as u32
}

/// Lets connections in, never more than there are slots for.
struct Gate<L> {
    listener: L,
    slots: Arc<Semaphore>,
    pause: Duration,
    write_timeout: Duration,
}

impl<L: Listener> Gate<L> {
    fn new(listener: L, slots_total: u32, write_timeout: Duration) -> Self {
        let slots = Arc::new(Semaphore::new(slots_total as usize));
        Self { listener, slots, pause: Duration::ZERO, write_timeout }
    }

    /// The next connection. Dropping the future loses none.
    ///
    /// The slot is taken before accepting. At the limit, clients therefore wait in the
    /// kernel's queue, which costs nothing and is bounded; accepting only to close would turn
    /// a short rush into errors, and accepting to wait would spend a descriptor on each.
    async fn next(&mut self) -> (Transport, Peer) {
        loop {
            if !self.pause.is_zero() {
                tokio::time::sleep(self.pause).await;
            }
            let permit = Arc::clone(&self.slots).acquire_owned().await;
            let permit = permit.expect("the semaphore is never closed");
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    self.pause = Duration::ZERO;
                    let transport = Transport::new(stream, permit, self.write_timeout);
                    return (transport, Peer::new(address));
                }
                Err(error) => self.pause = pause_after(&error, self.pause),
            }
        }
    }

    /// Stops listening.
    fn close(self) -> Arc<Semaphore> {
        self.slots
    }
}

/// The tasks of all connections that speak HTTP.
struct Connections<H> {
    tasks: JoinSet<()>,
    protocol: http1::Builder,
    handler: Arc<H>,
    stopping: watch::Sender<bool>,
}

impl<H, F> Connections<H>
where
    H: Fn(Request<Incoming>, Peer) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    fn new(options: &ServeOptions, handler: H) -> Self {
        Self {
            tasks: JoinSet::new(),
            protocol: connection::protocol(options),
            handler: Arc::new(handler),
            stopping: watch::Sender::new(false),
        }
    }

    fn start(&mut self, transport: Transport, peer: Peer) {
        let protocol = self.protocol.clone();
        let handler = Arc::clone(&self.handler);
        let stopping = self.stopping.subscribe();
        self.tasks.spawn(connection::run(protocol, transport, peer, handler, stopping));
    }

    /// Asks every connection to end, waits for the grace period, and drops the rest.
    async fn finish(mut self, slots: Arc<Semaphore>, options: &ServeOptions) {
        self.stopping.send_replace(true);
        // Every open connection holds a slot, upgraded or not: all slots free, all closed.
        let closed = slots.acquire_many(slots_total(options));
        let _closed_in_time = tokio::time::timeout(options.grace_period, closed).await;
        self.tasks.shutdown().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::peer::Address;
    use crate::transport::Accepted;

    /// A listener that is out of file descriptors for ever.
    struct Exhausted(Arc<AtomicUsize>);

    impl Listener for Exhausted {
        async fn accept(&mut self) -> io::Result<(Accepted, Address)> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Err(io::Error::other("too many open files"))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn accept_errors_do_not_spin() {
        let attempts = Arc::new(AtomicUsize::new(0));
        let listener = Exhausted(Arc::clone(&attempts));
        let minute = tokio::time::sleep(Duration::from_secs(60));
        let handler = |_request, _peer| async { Response::new(Body::empty()) };
        serve_on(listener, ServeOptions::default(), handler, minute).await;
        let attempts = attempts.load(Ordering::Relaxed);
        assert!((60..80).contains(&attempts), "{attempts} attempts in a minute");
    }
}
