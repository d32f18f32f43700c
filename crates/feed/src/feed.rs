//! Listeners, their connections, and what all of them share.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use weir_ingest::StopReason;

use crate::address::Address;
use crate::bind::{BindError, Socket, bind};
use crate::connection::{self, End};
use crate::counts::{Counters, FeedCounts};
use crate::files;
use crate::herald::{Herald, Say};
use crate::kernel;
use crate::medium::Medium;
use crate::options::{Active, FeedOptions, Framing};
use crate::partials::Partials;
use crate::pool::Pool;
use crate::sink::Sink;

/// How often lines are handed on that do not fill a block, so that they are seen within 200 ms.
const FLUSH_INTERVAL: Duration = Duration::from_millis(50);

/// How often the counts are told, in flushes.
const FLUSHES_PER_NOTE: u32 = 10;

/// How long no connection is accepted where the system has nothing to accept one with.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A peer that does not answer for so long, and then not to so many questions in a row, is dead.
const KEEPALIVE: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);
const KEEPALIVE_RETRIES: u32 = 4;

/// Sockets that listen, and nobody reads yet.
pub struct Feed {
    options: FeedOptions,
    bound: Vec<(Address, Socket)>,
}

/// What the connections of one listener share.
#[derive(Debug)]
pub(crate) struct Listener<S> {
    pub(crate) name: String,
    pub(crate) active: Active,
    pub(crate) framing: Framing,
    pub(crate) idle: Duration,
    pub(crate) cap_bytes: usize,
    pub(crate) line_bytes_max: usize,
    pub(crate) sink: S,
    pub(crate) pool: Arc<Pool>,
    pub(crate) partials: Arc<Partials>,
    pub(crate) counters: Counters,
    /// Bytes that wait for the work, where reading is unlimited.
    pub(crate) waiting_bytes: AtomicUsize,
    handshake: Duration,
    connections_max: usize,
    /// What allows no more.
    connections_bound: &'static str,
    slots: Arc<Semaphore>,
    is_datagram: bool,
    /// Where the kernel counts what it drops.
    inode: Option<u64>,
    herald: Arc<Herald>,
    /// Set once the sink takes no more.
    stopped: watch::Sender<Option<StopReason>>,
}

/// A feed at work. Dropping it ends all of it at once.
pub struct Running<S> {
    listeners: Vec<Arc<Listener<S>>>,
    tasks: JoinSet<()>,
}

impl Feed {
    /// Listens at all of these addresses.
    ///
    /// # Errors
    /// Where one of them cannot be listened at; then at none.
    pub async fn bind(options: FeedOptions, addresses: &[Address]) -> Result<Self, BindError> {
        let mut bound = Vec::new();
        for address in addresses {
            let (socket, transport) = bind(&address.transport, &options).await?;
            bound.push((Address { transport, ..address.clone() }, socket));
        }
        Ok(Self { options, bound })
    }

    /// Where it listens, with the ports that were free, in the order of the addresses.
    pub fn names(&self) -> Vec<String> {
        self.bound.iter().map(|(address, _)| address.transport.to_string()).collect()
    }

    /// Begins to accept and to read, on the runtime that this is called on. `sink` makes the
    /// sink of the listener of that name; `say` is told what a person should know.
    pub fn start<S: Sink>(self, sink: impl Fn(&str) -> S, say: Say) -> Running<S> {
        let has_streams = self.bound.iter().any(|(address, _)| !address.transport.is_datagram());
        let shared = Shared::new(&self.options, has_streams, say);
        let (mut listeners, mut tasks) = (Vec::new(), JoinSet::new());
        for (address, socket) in self.bound {
            let sink = sink(&address.transport.to_string());
            let inode = if let Socket::Datagrams(_, inode, _) = &socket { *inode } else { None };
            let listener = Listener::new(&self.options, &address, sink, inode, &shared);
            tasks.spawn(run(listener.clone(), socket));
            listeners.push(listener);
        }
        Running { listeners, tasks }
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Feed").field(&self.names()).finish()
    }
}

impl<S: Sink> Running<S> {
    /// What happened so far, by listener in the order of the addresses.
    pub fn counts(&self) -> Vec<FeedCounts> {
        self.listeners.iter().map(|listener| listener.counters.now()).collect()
    }

    /// The sinks, in the order of the addresses.
    pub fn sinks(&self) -> impl Iterator<Item = &S> {
        self.listeners.iter().map(|listener| &listener.sink)
    }

    /// Waits until no sink takes any more; gives what stopped each, by the listener's name.
    pub async fn ended(mut self) -> Vec<(String, StopReason)> {
        while self.tasks.join_next().await.is_some() {}
        let why = |listener: &Arc<Listener<S>>| {
            let stopped = listener.stopped.borrow().unwrap_or(StopReason::Cancelled);
            (listener.name.clone(), stopped)
        };
        self.listeners.iter().map(why).collect()
    }
}

impl<S> fmt::Debug for Running<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Running").field("listeners", &self.listeners.len()).finish()
    }
}

/// What all listeners share.
struct Shared {
    connections_max: usize,
    connections_bound: &'static str,
    slots: Arc<Semaphore>,
    partials: Arc<Partials>,
    herald: Arc<Herald>,
}

impl Shared {
    fn new(options: &FeedOptions, has_streams: bool, say: Say) -> Self {
        let herald = Arc::new(Herald::new(say));
        let asked = options.connections_max.min(Semaphore::MAX_PERMITS);
        let (connections_max, files_max) = files::room_for(asked);
        if let Some(files_max) = files_max.filter(|_| has_streams) {
            herald.say(format_args!(
                "there may be {connections_max} connections, not {asked}: the system lets this \
                 program have {files_max} files open; `ulimit -n` raises that"
            ));
        }
        Self {
            connections_max,
            connections_bound: files_max.map_or("--connections", |_| "the limit of open files"),
            slots: Arc::new(Semaphore::new(connections_max)),
            partials: Partials::new(options.lines_begun_bytes_max),
            herald,
        }
    }
}

impl<S: Sink> Listener<S> {
    fn new(
        options: &FeedOptions,
        address: &Address,
        sink: S,
        inode: Option<u64>,
        shared: &Shared,
    ) -> Arc<Self> {
        let active = address.active.unwrap_or(options.active);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let chunks_max = match active {
            // Each thread reads into one while another is handed on.
            Active::Passive => 2 * cores + 2,
            _ => FeedOptions::CHUNKS_AHEAD_MAX,
        };
        Arc::new(Self {
            name: address.transport.to_string(),
            active,
            framing: address.framing.unwrap_or(options.framing),
            idle: options.idle,
            cap_bytes: options.cap_bytes,
            line_bytes_max: options.line_bytes_max,
            sink,
            pool: Pool::new(FeedOptions::CHUNK_BYTES, chunks_max),
            partials: shared.partials.clone(),
            counters: Counters::default(),
            waiting_bytes: AtomicUsize::new(0),
            handshake: options.handshake,
            connections_max: shared.connections_max,
            connections_bound: shared.connections_bound,
            slots: shared.slots.clone(),
            is_datagram: address.transport.is_datagram(),
            inode,
            herald: shared.herald.clone(),
            stopped: watch::Sender::new(None),
        })
    }

    fn stop(&self, why: StopReason) {
        let is_first = self.stopped.send_if_modified(|stopped| {
            let is_first = stopped.is_none();
            stopped.get_or_insert(why);
            is_first
        });
        if is_first {
            self.sink.end(why);
        }
    }

    /// Waits until the sink takes no more.
    async fn is_stopped(&self) {
        // The sender lives in `self`, so this cannot fail.
        let _ = self.stopped.subscribe().wait_for(Option::is_some).await;
    }

    fn say(&self, sentence: impl fmt::Display) {
        self.herald.say(format_args!("{}: {sentence}", self.name));
    }
}

/// Serves one listener until its sink takes no more.
async fn run<S: Sink>(listener: Arc<Listener<S>>, socket: Socket) {
    let mut connections = JoinSet::new();
    tokio::select! {
        () = accept_all(&listener, socket, &mut connections) => {}
        () = flush_all(&listener) => {}
        () = listener.is_stopped() => {}
        () = listener.sink.closed() => listener.stop(StopReason::Cancelled),
    }
}

/// Hands on what does not fill a block, and tells the counts.
async fn flush_all<S: Sink>(listener: &Listener<S>) {
    let mut told = None;
    for flush in 0u32.. {
        tokio::time::sleep(FLUSH_INTERVAL).await;
        if let Err(stopped) = listener.sink.flush().await {
            listener.stop(stopped);
            return;
        }
        if let Some(news) = listener.sink.news() {
            listener.say(news);
        }
        if !flush.is_multiple_of(FLUSHES_PER_NOTE) {
            continue;
        }
        if let Some(drops) = listener.inode.and_then(kernel::drops) {
            listener.counters.datagrams_dropped_by_kernel.set(drops);
        }
        let note = Some(listener.counters.now().sentence(listener.is_datagram));
        if note != told {
            listener.sink.note(note.clone());
            told = note;
        }
    }
}

async fn accept_all<S: Sink>(
    listener: &Arc<Listener<S>>,
    socket: Socket,
    connections: &mut JoinSet<()>,
) {
    match socket {
        Socket::Tcp(socket, tls) => loop {
            let accepted = socket.accept().await.map(|(stream, peer)| {
                keep_alive(&stream);
                (Medium::Tcp(stream), peer.to_string())
            });
            take(listener, connections, accepted, tls.as_ref()).await;
        },
        #[cfg(unix)]
        Socket::Unix(socket, _file) => loop {
            let accepted = socket.accept().await;
            let accepted =
                accepted.map(|(stream, _)| (Medium::Unix(stream), "a sender".to_owned()));
            take(listener, connections, accepted, None).await;
        },
        Socket::Datagrams(medium, _, _file) => {
            let end = connection::run(listener.clone(), medium).await;
            close(listener, "reading datagrams", &end);
            listener.stop(StopReason::Cancelled);
        }
    }
}

/// The kernel finds out by itself that a peer is gone.
fn keep_alive(stream: &tokio::net::TcpStream) {
    let keepalive = socket2::TcpKeepalive::new()
        .with_time(KEEPALIVE)
        .with_interval(KEEPALIVE_INTERVAL)
        .with_retries(KEEPALIVE_RETRIES);
    // Without it the idle time ends the connection all the same.
    let _ = socket2::SockRef::from(stream).set_tcp_keepalive(&keepalive);
}

/// Takes a connection, if there may be one more.
async fn take<S: Sink>(
    listener: &Arc<Listener<S>>,
    connections: &mut JoinSet<()>,
    accepted: io::Result<(Medium, String)>,
    tls: Option<&TlsAcceptor>,
) {
    while connections.try_join_next().is_some() {}
    let (medium, peer) = match accepted {
        Ok(accepted) => accepted,
        Err(error) => {
            if !is_of_one_connection(&error) {
                listener.say(format_args!("no connection can be accepted: {error}"));
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
            return;
        }
    };
    let Ok(slot) = listener.slots.clone().try_acquire_owned() else {
        let (connections_max, bound) = (listener.connections_max, listener.connections_bound);
        listener.counters.connections_refused.add(1);
        listener.say(format_args!(
            "{peer} is refused: there are {connections_max} connections, and {bound} allows no \
             more"
        ));
        if tls.is_none() {
            medium.refuse("weir: too many connections; try again later\n");
        }
        return;
    };
    connections.spawn(serve(listener.clone(), medium, peer, tls.cloned(), slot));
}

/// True for errors that end the connection that was being accepted, and concern no other.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

/// Serves one connection to its end.
async fn serve<S: Sink>(
    listener: Arc<Listener<S>>,
    medium: Medium,
    peer: String,
    tls: Option<TlsAcceptor>,
    _slot: OwnedSemaphorePermit,
) {
    listener.counters.connections.add(1);
    listener.counters.connections_open.add(1);
    if let Some(medium) = encrypted(&listener, medium, &peer, tls).await {
        let end = connection::run(listener.clone(), medium).await;
        close(&listener, &peer, &end);
    }
    listener.counters.connections_open.subtract(1);
}

/// The medium inside of TLS, where there is to be TLS; `None` where there is none.
async fn encrypted<S: Sink>(
    listener: &Listener<S>,
    medium: Medium,
    peer: &str,
    tls: Option<TlsAcceptor>,
) -> Option<Medium> {
    let (stream, tls) = match (medium, tls) {
        (Medium::Tcp(stream), Some(tls)) => (stream, tls),
        (medium, _) => return Some(medium),
    };
    match tokio::time::timeout(listener.handshake, tls.accept(stream)).await {
        Ok(Ok(stream)) => return Some(Medium::Tls(Box::new(stream))),
        Ok(Err(error)) => {
            listener.counters.connections_dropped.add(1);
            listener.say(format_args!("{peer} is dropped: no TLS could be agreed on: {error}"));
        }
        Err(_) => {
            listener.counters.connections_timed_out.add(1);
            listener.say(format_args!("{peer} is dropped: its TLS handshake takes too long"));
        }
    }
    None
}

/// Counts how a connection ended, and says so where somebody should know.
fn close<S: Sink>(listener: &Listener<S>, peer: &str, end: &End) {
    let counters = &listener.counters;
    match end {
        End::Closed => return,
        End::Stopped(why) => return listener.stop(*why),
        End::TimedOut => counters.connections_timed_out.add(1),
        End::Failed(_) => {}
        End::Frame(_) | End::LinesBegun | End::Cap => counters.connections_dropped.add(1),
    }
    match end {
        End::TimedOut => listener.say(format_args!(
            "{peer} is closed: it has completed no line for {} s (--idle)",
            listener.idle.as_secs()
        )),
        End::Frame(error) => listener.say(format_args!("{peer} is dropped: {error}")),
        End::LinesBegun => listener.say(format_args!(
            "{peer} is dropped: the lines that all senders have begun, and not ended, take too \
             much memory"
        )),
        End::Cap => listener.say(format_args!(
            "{peer} is dropped: {} MiB wait to be worked off, which is the cap (--cap); what was \
             read stands",
            listener.cap_bytes >> 20
        )),
        End::Failed(error) => listener.say(format_args!("{peer}: reading failed: {error}")),
        End::Closed | End::Stopped(_) => {}
    }
}
