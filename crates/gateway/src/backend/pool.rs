//! The connection pool of one server.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, Weak};
use std::task::Context;
use std::time::{Duration, Instant};

use hyper::Response;
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weir_net::connection_thread;
use weir_observe::capture::OpenCapture;
use weir_observe::task::TaskKind;
use weir_sync::Lock;

use super::connect::{ConnectError, Connector};
use super::connection::{Connection, UpstreamRequest};
use super::instance::Instance;
use crate::request::upload_body::RefusedUpload;

/// How long an idle connection is kept: less than the 60 s after which many servers close it.
const IDLE_MAX: Duration = Duration::from_secs(50);

/// The number of idle connections kept for one server.
const IDLE_COUNT_MAX: usize = 256;

/// The number of threads with their own idle list. If there are more threads, some share a list,
/// which only costs time.
const THREADS: usize = 64;

/// How often idle connections that the server has closed are removed, unless a request finds them
/// first.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(5);

/// The connections of one server.
#[derive(Debug)]
pub(crate) struct Pool {
    connector: Connector,
    /// One list for each thread that serves connections, because a connection wakes its tasks on
    /// the thread that opened it. The last list is for all other threads.
    idle: Box<[Lock<IdleList>]>,
    /// The idle connections of all threads.
    idle_count: AtomicUsize,
    /// One permit for each HTTP/1.1 connection that may be in use.
    permits: Arc<Semaphore>,
    connections_max: usize,
}

#[derive(Debug, Default)]
struct IdleList {
    /// The most recently used connection is last.
    queue: VecDeque<IdleConnection>,
    /// Whether a task removes closed connections from the queue.
    has_cleanup_task: bool,
}

/// A connection from an idle list.
enum PooledConnection {
    /// A connection for one request, which may be closed.
    Exclusive(IdleConnection),
    /// An HTTP/2 connection that carries other requests too.
    Shared(Connection),
}

impl IdleList {
    fn take(&mut self) -> Option<PooledConnection> {
        let mut last = self.queue.pop_back()?;
        let Some(shared) = last.connection.share().filter(Connection::is_ready) else {
            return Some(PooledConnection::Exclusive(last));
        };
        last.since = Instant::now();
        self.queue.push_back(last);
        Some(PooledConnection::Shared(shared))
    }
}

#[derive(Debug)]
struct IdleConnection {
    connection: Connection,
    since: Instant,
}

/// A connection in use by a request.
#[derive(Debug)]
pub(crate) struct Lease {
    connection: Connection,
    instance: Arc<Instance>,
    /// Whether an earlier request has used the connection: the server may be closing it at this
    /// moment.
    pub(crate) is_reused: bool,
    /// Whether a later request may use the connection.
    is_reusable: bool,
    /// The body of the request, if it was not sent. It ends when this is dropped.
    refused: Option<RefusedUpload>,
    /// How long the request waited for a permit.
    pub(crate) waited: Duration,
    /// How long connecting took, if the connection is new.
    pub(crate) connect_time: Option<Duration>,
    #[expect(dead_code, reason = "free again when it is dropped")]
    permit: Option<OwnedSemaphorePermit>,
}

impl Pool {
    pub(super) fn new(connector: Connector, connections_max: usize) -> Self {
        let connections_max = connections_max.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            connector,
            idle: (0..=THREADS).map(|_| Lock::default()).collect(),
            idle_count: AtomicUsize::new(0),
            permits: Arc::new(Semaphore::new(connections_max)),
            connections_max,
        }
    }

    /// The number of HTTP/1.1 connections in use.
    pub(crate) fn busy_connections(&self) -> usize {
        self.connections_max.saturating_sub(self.permits.available_permits())
    }

    /// The number of idle connections.
    pub(crate) fn idle_connections(&self) -> usize {
        self.idle_count.load(Ordering::Relaxed)
    }

    /// Acquires a permit for a connection; HTTP/2 needs none. Also returns the time spent waiting.
    async fn acquire_permit(
        &self,
    ) -> Result<(Option<OwnedSemaphorePermit>, Duration), ConnectError> {
        if self.connector.is_http2() {
            return Ok((None, Duration::ZERO));
        }
        if let Ok(permit) = self.permits.clone().try_acquire_owned() {
            return Ok((Some(permit), Duration::ZERO));
        }
        let (patience, started_at) = (self.connector.timeout(), Instant::now());
        let permit = tokio::time::timeout(patience, self.permits.clone().acquire_owned());
        // Boxed because the future is large and most requests need not wait.
        match Box::pin(permit).await {
            // The semaphore is never closed.
            Ok(permit) => Ok((permit.ok(), started_at.elapsed())),
            Err(_elapsed) => Err(ConnectError::Busy(patience)),
        }
    }

    /// Locks the idle list of this thread.
    fn idle(&self) -> MutexGuard<'_, IdleList> {
        let index = connection_thread().map_or(THREADS, |thread| thread % THREADS);
        self.idle[index].lock()
    }

    /// Takes an open idle connection of this thread.
    fn take_idle(&self) -> Option<Connection> {
        self.take_open(&|| self.idle().take())
    }

    /// Takes an idle connection of any thread if a new one would exceed the limit, which includes
    /// idle ones. The caller holds a permit but no connection yet.
    fn take_instead_of_new(&self) -> Option<Connection> {
        let in_use = self.busy_connections();
        if in_use + self.idle_count.load(Ordering::Relaxed) <= self.connections_max {
            return None;
        }
        self.take_open(&|| self.idle.iter().find_map(|idle| idle.lock().take()))
    }

    /// Calls `take` until it returns an open connection or `None`.
    fn take_open(&self, take: &dyn Fn() -> Option<PooledConnection>) -> Option<Connection> {
        loop {
            let IdleConnection { mut connection, since } = match take()? {
                PooledConnection::Exclusive(idle) => idle,
                PooledConnection::Shared(connection) => return Some(connection),
            };
            self.idle_count.fetch_sub(1, Ordering::Relaxed);
            connection.poll_once();
            // The server may be closing a connection that has been idle for too long.
            if connection.is_ready() && since.elapsed() <= IDLE_MAX {
                return Some(connection);
            }
        }
    }

    /// Removes the oldest idle connection of this thread, or of another thread if this one has
    /// none.
    fn take_surplus(&self, own: &mut IdleList) -> Option<IdleConnection> {
        let others = || {
            let free = self.idle.iter().filter_map(Lock::try_lock);
            free.into_iter().find_map(|mut idle| idle.queue.pop_front())
        };
        let surplus = own.queue.pop_front().or_else(others)?;
        self.idle_count.fetch_sub(1, Ordering::Relaxed);
        Some(surplus)
    }

    /// Removes the idle connections of this thread that are closed or too old. Returns whether any
    /// is left.
    fn remove_closed(&self) -> bool {
        let mut idle = self.idle();
        let before = idle.queue.len();
        idle.queue.retain_mut(|idle| {
            idle.connection.poll_once();
            !idle.connection.is_closed() && idle.since.elapsed() <= IDLE_MAX
        });
        self.idle_count.fetch_sub(before - idle.queue.len(), Ordering::Relaxed);
        idle.has_cleanup_task = !idle.queue.is_empty();
        idle.has_cleanup_task
    }
}

/// The kind of the tasks that remove closed idle connections.
static IDLE_CONNECTIONS: TaskKind = TaskKind::new("idle backend connections");

/// The kind of the tasks that wait until a connection can take the next request.
static LAST_BYTES: TaskKind = TaskKind::new("end of a request");

/// Removes closed idle connections of this thread at intervals, until none is left.
async fn clean_up_idle(instance: Weak<Instance>) {
    loop {
        tokio::time::sleep(CLEANUP_INTERVAL).await;
        let Some(instance) = instance.upgrade() else { return };
        if !instance.pool.remove_closed() {
            return;
        }
    }
}

/// Adds a connection to the idle list of this thread.
fn put_idle(instance: &Arc<Instance>, connection: Connection) {
    let pool = &instance.pool;
    let mut idle = pool.idle();
    // The connection that has been idle longest is the least useful.
    let is_full = pool.idle_count.fetch_add(1, Ordering::Relaxed) >= IDLE_COUNT_MAX;
    let surplus = if is_full { pool.take_surplus(&mut idle) } else { None };
    idle.queue.push_back(IdleConnection { connection, since: Instant::now() });
    let had_cleanup_task = std::mem::replace(&mut idle.has_cleanup_task, true);
    drop(idle);
    drop(surplus);
    if !had_cleanup_task {
        let watch = clean_up_idle(Arc::downgrade(instance));
        tokio::spawn(IDLE_CONNECTIONS.observe(instance.name().clone(), watch));
    }
}

impl Lease {
    /// Takes an idle connection, or opens a new one.
    ///
    /// # Errors
    /// If the server cannot be connected to.
    pub(crate) async fn take(instance: &Arc<Instance>) -> Result<Self, ConnectError> {
        let (permit, waited) = instance.pool.acquire_permit().await?;
        // HTTP/2 connections have no permits.
        let has_permit = permit.is_some();
        let lease = |connection, connect_time: Option<Duration>| {
            let (instance, is_reused) = (instance.clone(), connect_time.is_none());
            let (is_reusable, refused) = (true, None);
            Self {
                connection,
                instance,
                is_reused,
                is_reusable,
                refused,
                waited,
                connect_time,
                permit,
            }
        };
        let instead_of_new = || has_permit.then(|| instance.pool.take_instead_of_new()).flatten();
        if let Some(connection) = instance.pool.take_idle().or_else(instead_of_new) {
            return Ok(lease(connection, None));
        }
        let started_at = Instant::now();
        // Boxed because the future is large and most requests find an idle connection.
        let connection = Box::pin(instance.pool.connector.connect()).await?;
        if let Some(shared) = connection.share() {
            put_idle(instance, shared);
        }
        Ok(lease(connection, Some(started_at.elapsed())))
    }

    /// Opens a detached connection that does not count toward the limit, for health checks, which
    /// must work when all connections are in use.
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
            refused: None,
            waited: Duration::ZERO,
            connect_time: None,
            permit: None,
        })
    }

    /// Whether the connection speaks HTTP/2.
    pub(crate) fn is_http2(&self) -> bool {
        self.connection.is_http2()
    }

    /// Sends a request, and waits for the head of the answer. The body arrives while the connection
    /// is [driven](Self::drive). The capture notes when the head of the request is written.
    ///
    /// # Errors
    /// If the connection breaks before the head arrives. If nothing was sent, the error contains
    /// the request.
    pub(crate) fn send<'a>(
        &'a mut self,
        request: UpstreamRequest,
        capture: Option<&'a OpenCapture>,
    ) -> impl Future<Output = Result<Response<Incoming>, TrySendError<UpstreamRequest>>> + 'a {
        self.connection.send(request, capture)
    }

    /// Describes the connection for the request's capture: the server, and whether it is new or
    /// reused.
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

    /// Reads and writes as much as possible without waiting. Returns whether more of the answer may
    /// have arrived.
    pub(crate) fn drive(&mut self, context: &mut Context<'_>) -> bool {
        self.connection.drive(context)
    }

    /// Prevents other requests from using the connection.
    pub(crate) fn retire(&mut self) {
        self.is_reusable = false;
    }

    /// Prevents other requests from using the connection, because the body of this one was not sent.
    pub(crate) fn retire_after(&mut self, refused: RefusedUpload) {
        self.is_reusable = false;
        self.refused = Some(refused);
    }

    /// Spawns a task that drives the connection from now on.
    pub(crate) fn detach(&mut self) {
        self.connection.detach(self.instance.name());
    }

    /// Returns the connection to the pool after the end of an answer.
    pub(crate) fn give_back(mut self) {
        if self.is_http2() || !self.is_reusable {
            return;
        }
        if !self.connection.is_ready() {
            self.connection.poll_once();
        }
        if self.connection.is_ready() {
            put_idle(&self.instance, self.connection);
        } else if !self.connection.is_closed() {
            // The rest of the request's body is still being sent, or the connection has to be
            // driven further.
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
