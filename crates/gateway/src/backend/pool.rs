//! The idle connections of one server.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Context;
use std::time::{Duration, Instant};

use hyper::Response;
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weir_net::connection_thread;
use weir_observe::glass::Journal;
use weir_observe::task::TaskKind;

use super::connect::{ConnectError, Connector};
use super::connection::{Connection, UpstreamRequest};
use super::instance::Instance;

/// Idle connections are kept for less than the 60 s after which many servers close them.
const IDLE_MAX: Duration = Duration::from_secs(50);

/// Idle connections of one server that are kept.
const IDLE_COUNT_MAX: usize = 256;

/// Threads with idle connections of their own. If there are more, some share theirs, which only costs time.
const THREADS: usize = 64;

/// How long an idle connection that the server has closed stays, unless a request comes across it before.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// The connections of one server.
#[derive(Debug)]
pub(crate) struct Pool {
    connector: Connector,
    /// Each thread that serves connections has its own, because a connection to a server wakes its tasks on the
    /// thread that opened it. The last is for all other threads.
    idle: Box<[Mutex<IdleConnections>]>,
    /// Those of all threads.
    idle_count: AtomicUsize,
    /// The HTTP/1.1 connections that may be in use at a time.
    places: Arc<Semaphore>,
    connections_max: usize,
}

#[derive(Debug, Default)]
struct IdleConnections {
    /// The one that was used last is at the end.
    queue: VecDeque<Idle>,
    /// Whether a task looks after them.
    are_watched: bool,
}

/// What a request gets of the idle connections.
enum Taken {
    /// A connection of its own, which may be closed.
    Whole(Idle),
    /// One that carries other requests too.
    Shared(Connection),
}

impl IdleConnections {
    fn take(&mut self) -> Option<Taken> {
        let mut last = self.queue.pop_back()?;
        let Some(shared) = last.connection.share().filter(Connection::is_ready) else {
            return Some(Taken::Whole(last));
        };
        last.since = Instant::now();
        self.queue.push_back(last);
        Some(Taken::Shared(shared))
    }
}

#[derive(Debug)]
struct Idle {
    connection: Connection,
    since: Instant,
}

/// A connection that a request uses.
#[derive(Debug)]
pub(crate) struct Lease {
    connection: Connection,
    instance: Arc<Instance>,
    /// Whether an earlier request has used it: the server may be closing it just now.
    pub(crate) is_reused: bool,
    /// Whether a later request may use it.
    is_reusable: bool,
    /// How long the request waited for a connection to become free.
    pub(crate) waited: Duration,
    /// How long it took to connect, if the connection is new.
    pub(crate) connect_time: Option<Duration>,
    #[expect(dead_code, reason = "free again when it is dropped")]
    place: Option<OwnedSemaphorePermit>,
}

impl Pool {
    pub(super) fn new(connector: Connector, connections_max: usize) -> Self {
        let connections_max = connections_max.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            connector,
            idle: (0..=THREADS).map(|_| Mutex::default()).collect(),
            idle_count: AtomicUsize::new(0),
            places: Arc::new(Semaphore::new(connections_max)),
            connections_max,
        }
    }

    /// The HTTP/1.1 connections that requests use.
    pub(crate) fn busy_connections(&self) -> usize {
        self.connections_max.saturating_sub(self.places.available_permits())
    }

    /// The connections that are kept for the next request.
    pub(crate) fn idle_connections(&self) -> usize {
        self.idle_count.load(Ordering::Relaxed)
    }

    /// Waits for a connection to become free. Returns how long that took, too.
    async fn place(&self) -> Result<(Option<OwnedSemaphorePermit>, Duration), ConnectError> {
        if self.connector.is_http2() {
            return Ok((None, Duration::ZERO));
        }
        if let Ok(place) = self.places.clone().try_acquire_owned() {
            return Ok((Some(place), Duration::ZERO));
        }
        let (patience, begun) = (self.connector.timeout(), Instant::now());
        let place = tokio::time::timeout(patience, self.places.clone().acquire_owned());
        // Most requests need not wait, and those futures are large.
        match Box::pin(place).await {
            // The places are never closed.
            Ok(place) => Ok((place.ok(), begun.elapsed())),
            Err(_elapsed) => Err(ConnectError::Busy(patience)),
        }
    }

    /// The idle connections of this thread.
    fn idle(&self) -> MutexGuard<'_, IdleConnections> {
        let place = connection_thread().map_or(THREADS, |thread| thread % THREADS);
        lock(&self.idle[place])
    }

    /// An idle connection of this thread that is still open.
    fn take_idle(&self) -> Option<Connection> {
        self.take_open(&|| self.idle().take())
    }

    /// An idle connection of any thread, if a new one would be one too many: idle ones count too. Who asks has a
    /// place, and no connection for it yet.
    fn take_instead_of_new(&self) -> Option<Connection> {
        let in_use = self.busy_connections();
        if in_use + self.idle_count.load(Ordering::Relaxed) <= self.connections_max {
            return None;
        }
        self.take_open(&|| self.idle.iter().find_map(|idle| lock(idle).take()))
    }

    /// The first that is still open of the idle connections that a function takes.
    fn take_open(&self, take: &dyn Fn() -> Option<Taken>) -> Option<Connection> {
        loop {
            let Idle { mut connection, since } = match take()? {
                Taken::Whole(idle) => idle,
                Taken::Shared(connection) => return Some(connection),
            };
            self.idle_count.fetch_sub(1, Ordering::Relaxed);
            connection.look();
            // One that has been idle for too long may be closed at this moment.
            if connection.is_ready() && since.elapsed() <= IDLE_MAX {
                return Some(connection);
            }
        }
    }

    /// Takes the oldest idle connection away: of this thread, or of another one if this has none.
    fn take_surplus(&self, own: &mut IdleConnections) -> Option<Idle> {
        let others = || {
            let free = self.idle.iter().filter_map(|idle| idle.try_lock().ok());
            free.into_iter().find_map(|mut idle| idle.queue.pop_front())
        };
        let surplus = own.queue.pop_front().or_else(others)?;
        self.idle_count.fetch_sub(1, Ordering::Relaxed);
        Some(surplus)
    }

    /// Forgets the idle connections that are closed, or too old. Returns whether any is left.
    fn look_after_idle(&self) -> bool {
        let mut idle = self.idle();
        let before = idle.queue.len();
        idle.queue.retain_mut(|idle| {
            idle.connection.look();
            !idle.connection.is_closed() && idle.since.elapsed() <= IDLE_MAX
        });
        self.idle_count.fetch_sub(before - idle.queue.len(), Ordering::Relaxed);
        idle.are_watched = !idle.queue.is_empty();
        idle.are_watched
    }
}

fn lock(idle: &Mutex<IdleConnections>) -> MutexGuard<'_, IdleConnections> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks after the idle connections of a server.
static IDLE_CONNECTIONS: TaskKind = TaskKind::new("idle backend connections");

/// Waits until a connection can take the next request.
static LAST_BYTES: TaskKind = TaskKind::new("end of a request");

/// Looks after the idle connections of a server for as long as there are some.
async fn watch_idle(instance: Weak<Instance>) {
    loop {
        tokio::time::sleep(LOOK_INTERVAL).await;
        let Some(instance) = instance.upgrade() else { return };
        if !instance.pool.look_after_idle() {
            return;
        }
    }
}

/// Keeps a connection for the next request.
fn put_idle(instance: &Arc<Instance>, connection: Connection) {
    let pool = &instance.pool;
    let mut idle = pool.idle();
    // The one that has waited longest is of the least use.
    let is_full = pool.idle_count.fetch_add(1, Ordering::Relaxed) >= IDLE_COUNT_MAX;
    let surplus = if is_full { pool.take_surplus(&mut idle) } else { None };
    idle.queue.push_back(Idle { connection, since: Instant::now() });
    let were_watched = std::mem::replace(&mut idle.are_watched, true);
    drop(idle);
    drop(surplus);
    if !were_watched {
        let watch = watch_idle(Arc::downgrade(instance));
        tokio::spawn(IDLE_CONNECTIONS.observe(instance.name().clone(), watch));
    }
}

impl Lease {
    /// Takes an idle connection, or opens one.
    ///
    /// # Errors
    /// If the server cannot be connected to.
    pub(crate) async fn take(instance: &Arc<Instance>) -> Result<Self, ConnectError> {
        let (place, waited) = instance.pool.place().await?;
        // Connections with HTTP/2 have no places.
        let has_place = place.is_some();
        let lease = |connection, connect_time: Option<Duration>| {
            let (instance, is_reused) = (instance.clone(), connect_time.is_none());
            let is_reusable = true;
            Self { connection, instance, is_reused, is_reusable, waited, connect_time, place }
        };
        let instead_of_new = || has_place.then(|| instance.pool.take_instead_of_new()).flatten();
        if let Some(connection) = instance.pool.take_idle().or_else(instead_of_new) {
            return Ok(lease(connection, None));
        }
        let begun = Instant::now();
        // Most requests find one, and the future of a connection that is opened is large.
        let connection = Box::pin(instance.pool.connector.connect()).await?;
        if let Some(shared) = connection.share() {
            put_idle(instance, shared);
        }
        Ok(lease(connection, Some(begun.elapsed())))
    }

    /// Opens a connection beside those of requests, with a task of its own: for what must work when all of
    /// these are in use.
    ///
    /// # Errors
    /// If the server cannot be connected to.
    pub(crate) async fn open(instance: &Arc<Instance>) -> Result<Self, ConnectError> {
        let mut connection = Box::pin(instance.pool.connector.connect()).await?;
        connection.detach(instance.name());
        Ok(Self {
            connection,
            instance: instance.clone(),
            is_reused: false,
            is_reusable: false,
            waited: Duration::ZERO,
            connect_time: None,
            place: None,
        })
    }

    /// Whether the connection speaks HTTP/2.
    pub(crate) fn is_http2(&self) -> bool {
        self.connection.is_http2()
    }

    /// Sends a request, and waits for the head of the answer. Its body comes while the connection is
    /// [driven](Self::drive). A journal is told when the head of the request is written.
    ///
    /// # Errors
    /// If the connection breaks before it. If nothing was sent, the request comes back with the error.
    pub(crate) fn send<'a>(
        &'a mut self,
        request: UpstreamRequest,
        journal: Option<&'a Journal>,
    ) -> impl Future<Output = Result<Response<Incoming>, TrySendError<UpstreamRequest>>> + 'a {
        self.connection.send(request, journal)
    }

    /// Where the connection goes and how it came, for one who looks at its request.
    #[cold]
    pub(crate) fn description(&self) -> String {
        let ms = |duration: Duration| duration.as_secs_f64() * 1_000.0;
        let how = match self.connect_time {
            Some(time) => format!("new, connected in {:.3} ms", ms(time)),
            None => "reused".to_owned(),
        };
        let waited = match self.waited.is_zero() {
            true => String::new(),
            false => format!(", after waiting {:.3} ms for a free one", ms(self.waited)),
        };
        format!("{}: {how}{waited}", self.instance.name())
    }

    /// Reads and writes what can be read and written now. Returns whether a further part of the answer may
    /// be there now.
    pub(crate) fn drive(&mut self, context: &mut Context<'_>) -> bool {
        self.connection.drive(context)
    }

    /// Lets no other request use the connection.
    pub(crate) fn retire(&mut self) {
        self.is_reusable = false;
    }

    /// Lets a task of its own drive the connection from now on.
    pub(crate) fn detach(&mut self) {
        self.connection.detach(self.instance.name());
    }

    /// Gives the connection back after the end of an answer.
    pub(crate) fn give_back(mut self) {
        if self.is_http2() || !self.is_reusable {
            return;
        }
        if !self.connection.is_ready() {
            self.connection.look();
        }
        if self.connection.is_ready() {
            put_idle(&self.instance, self.connection);
        } else if !self.connection.is_closed() {
            // The rest of the request's body is on its way, or its task has to run first.
            self.connection.detach(self.instance.name());
            let server = self.instance.name().clone();
            tokio::spawn(LAST_BYTES.observe(server, async move {
                if self.connection.ready().await {
                    put_idle(&self.instance, self.connection);
                }
            }));
        }
    }
}
