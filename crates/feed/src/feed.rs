//! All listeners of a feed.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;
use weir_ingest::StopReason;
use weir_net::socket::{BindError, ConnectionLimit, reserve_connections};
use weir_observe::task::TaskKind;

use crate::address::FeedAddress;
use crate::connection::{ConnectionContext, ConnectionOptions, FeedCaptures, SharedMemory};
use crate::counts::FeedCounts;
use crate::listener::{Admission, BoundSocket, Listener};
use crate::memory::LineMemory;
use crate::options::FeedOptions;
use crate::sink::Sink;

/// The bound sockets of a feed, which are not read yet.
pub struct Feed {
    options: FeedOptions,
    bound: Vec<(FeedAddress, BoundSocket)>,
}

/// A running feed. Dropping it ends all listeners and connections at once.
pub struct RunningFeed<S> {
    listeners: Vec<Arc<Listener<S>>>,
    tasks: JoinSet<()>,
    captures: Arc<FeedCaptures>,
}

/// The tasks that accept connections or receive datagrams, one for each listener.
static LISTENER: TaskKind = TaskKind::new("feed listener");

impl Feed {
    /// Binds all addresses. Senders can connect from then on.
    ///
    /// # Errors
    /// If one of the addresses cannot be bound. Then no address stays bound.
    pub async fn bind(options: FeedOptions, addresses: &[FeedAddress]) -> Result<Self, BindError> {
        let mut bound = Vec::new();
        for address in addresses {
            let socket = BoundSocket::bind(&address.socket, &options.bind).await?;
            bound.push((address.clone(), socket));
        }
        Ok(Self { options, bound })
    }

    /// Returns the bound addresses, in the order given. Port 0 is replaced by the assigned port.
    pub fn names(&self) -> Vec<String> {
        self.bound.iter().map(|(_, socket)| socket.address().to_string()).collect()
    }

    /// Starts to accept and read, on the tokio runtime of the caller. `sink` creates the sink of
    /// a listener from its name.
    pub fn start<S: Sink>(self, sink: impl Fn(&str) -> S) -> RunningFeed<S> {
        let has_streams = self.bound.iter().any(|(_, socket)| !socket.address().is_datagram());
        let admission = admission(&self.options, has_streams);
        let lines = LineMemory::new(self.options.partial_lines_bytes_max);
        let (mut listeners, mut tasks) = (Vec::new(), JoinSet::new());
        let captures = Arc::<FeedCaptures>::default();
        for (address, socket) in self.bound {
            let options = ConnectionOptions::new(&self.options, &address);
            let address = socket.address().clone();
            let context = ConnectionContext {
                memory: SharedMemory::new(options.active, lines.clone()),
                options,
                sink: sink(&address.to_string()),
                counters: Arc::default(),
                captures: captures.clone(),
            };
            let listener = Arc::new(Listener {
                address,
                context: Arc::new(context),
                admission: admission.clone(),
                remedies: self.options.remedies,
                drop_counter: socket.drop_counter(),
                stopped: watch::Sender::new(None),
            });
            let name = listener.name();
            tasks.spawn(LISTENER.observe(&*name, listener.clone().run(socket)));
            listeners.push(listener);
        }
        RunningFeed { listeners, tasks, captures }
    }
}

/// Returns the limit of connections, reduced to the number of files that the process may open.
fn admission(options: &FeedOptions, has_streams: bool) -> Admission {
    let (wanted, handshake) = (options.connections_max, options.handshake);
    let budget = reserve_connections(wanted);
    let limit = ConnectionLimit::new(budget.connections_max);
    let Some(open_files_max) = budget.open_files_max else {
        return Admission { handshake, limit, is_limited_by_files: false };
    };
    if has_streams {
        let connections_max = budget.connections_max;
        tracing::warn!(
            target: "weir_feed",
            "at most {connections_max} connections are possible, not {wanted}: the limit of open \
             files is {open_files_max}; `ulimit -n` raises it"
        );
    }
    Admission { handshake, limit, is_limited_by_files: true }
}

impl fmt::Debug for Feed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Feed").field(&self.names()).finish()
    }
}

impl<S: Sink> RunningFeed<S> {
    /// Returns the current counts of each listener, in the order of the addresses.
    pub fn counts(&self) -> Vec<FeedCounts> {
        self.listeners.iter().map(|listener| listener.context.counters.snapshot()).collect()
    }

    /// Returns a function that reads the name and the counts of each listener. It also works after
    /// the feed has ended.
    pub fn counts_reader(&self) -> impl Fn() -> Vec<(String, FeedCounts)> + Send + Sync + use<S> {
        let counters = |it: &Arc<Listener<S>>| (it.name(), it.context.counters.clone());
        let counters: Vec<_> = self.listeners.iter().map(counters).collect();
        move || {
            counters.iter().map(|(name, counters)| (name.clone(), counters.snapshot())).collect()
        }
    }

    /// Returns the pending captures of connections. A capture receives the next
    /// connection that ends. If none ends in time, it receives the one that it has followed for the longest time.
    pub fn captures(&self) -> &Arc<FeedCaptures> {
        &self.captures
    }

    /// Returns the sinks, in the order of the addresses.
    pub fn sinks(&self) -> impl Iterator<Item = &S> {
        self.listeners.iter().map(|listener| &listener.context.sink)
    }

    /// Waits until every sink has stopped. Returns the name of each listener and why it stopped.
    pub async fn ended(mut self) -> Vec<(String, StopReason)> {
        while self.tasks.join_next().await.is_some() {}
        let reason = |listener: &Arc<Listener<S>>| {
            let stopped = listener.stopped.borrow().unwrap_or(StopReason::Cancelled);
            (listener.name(), stopped)
        };
        self.listeners.iter().map(reason).collect()
    }
}

impl<S> fmt::Debug for RunningFeed<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RunningFeed").field("listeners", &self.listeners.len()).finish()
    }
}
