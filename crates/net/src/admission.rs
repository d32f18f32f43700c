//! The admission of connections: each is served, makes an idle one close, or is refused.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use weir_observe::task::TaskKind;

use crate::connection::HttpConnection;
use crate::connection_threads::{ConnectionThreads, ThreadPlace};
use crate::handler::Handler;
use crate::idle::IdleConnections;
use crate::options::ServeOptions;
use crate::refusal;
use crate::socket::{
    Connection, ConnectionEnd, ConnectionLimit, ConnectionPermit, NetworkLimit, NetworkPermit,
};

/// The maximum number of newcomers: connections beyond the limit that wait for room or for their
/// refusal. Further clients wait in the kernel's queue, which is bounded and costs nothing.
const NEWCOMERS_MAX: usize = 64;

/// The time for which a newcomer waits for an idle connection to make room. Then it is refused.
const ROOM_TIMEOUT: Duration = Duration::from_millis(500);

/// The tasks that tell a client that it has too many connections.
static REFUSAL: TaskKind = TaskKind::new("refusal");

/// The open connections of a running server, and their tasks.
pub(crate) struct Connections {
    pub(crate) tasks: JoinSet<()>,
    threads: ConnectionThreads,
    shared: Arc<HttpConnection>,
    pub(crate) idle: Arc<IdleConnections>,
    /// Bounds the newcomers beyond the limit.
    newcomers: Arc<Semaphore>,
    networks: NetworkLimit,
    task_kind: &'static TaskKind,
}

impl Connections {
    pub(crate) fn new(
        options: &ServeOptions,
        limit: &ConnectionLimit,
        task_kind: &'static TaskKind,
        handler: Handler,
    ) -> Self {
        let ends = limit.end_counters().clone();
        let networks = NetworkLimit::new(
            options.connections_per_address_max,
            options.limits_loopback,
            options.unlimited_peers.clone(),
        );
        let shared =
            Arc::new(HttpConnection::new(options.clone(), networks.clone(), ends.clone(), handler));
        Self {
            tasks: JoinSet::new(),
            threads: ConnectionThreads::start(options.connection_threads),
            shared,
            idle: Arc::new(IdleConnections::new(ends, options.refusal_observer.clone())),
            newcomers: Arc::new(Semaphore::new(NEWCOMERS_MAX)),
            networks,
            task_kind,
        }
    }

    /// Whether one more newcomer is allowed.
    pub(crate) fn may_accept(&self) -> bool {
        self.newcomers.available_permits() > 0
    }

    /// Serves a connection. At the limit, the connection that has been idle for the longest time
    /// makes room; if none is idle, the newcomer is refused.
    pub(crate) fn admit(&mut self, connection: Connection, limit: &ConnectionLimit) {
        let network = match connection.is_anonymous() {
            // The permit is acquired after the PROXY header has named the client.
            true => Some(NetworkPermit::default()),
            false => self.networks.try_acquire(connection.peer()),
        };
        let Some(network) = network else { return self.refuse(connection) };
        // An error means that the system could not register the socket with the other runtime.
        let Ok((connection, thread)) = self.move_to_thread(connection) else { return };
        if let Some(permit) = limit.try_acquire() {
            tracing::debug!(peer = %connection.peer(), "a connection is accepted");
            return self.start(connection, permit.with_network(network), thread);
        }
        let Ok(newcomer_permit) = self.newcomers.clone().try_acquire_owned() else { return };
        // Last, so that no connection closes for a newcomer that another limit keeps out.
        let has_room = self.idle.close_oldest();
        let (limit, shared) = (limit.clone(), self.shared.clone());
        let idle = self.idle.clone();
        let (runtime, thread) = thread.unzip();
        let peer = connection.peer().address();
        let task = self.task_kind.observe(peer, async move {
            let room = tokio::time::timeout(ROOM_TIMEOUT, limit.acquire());
            let permit = if has_room { room.await.ok() } else { None };
            match permit {
                Some(permit) => {
                    drop(newcomer_permit);
                    let permit = permit.with_network(network).with_thread(thread);
                    shared.run(connection, permit, idle.enter()).await;
                }
                None => {
                    shared.ends.count(ConnectionEnd::ServerFull);
                    tracing::debug!(peer = %connection.peer(), "a connection is refused: the limit of connections is reached");
                    refusal::send(connection, &refusal::SERVER_FULL).await;
                }
            }
        });
        self.spawn(runtime, task);
    }

    /// Tells a client that it has too many connections. If too many clients are being told, the
    /// connection just closes, so a flood of connections costs next to nothing.
    fn refuse(&mut self, connection: Connection) {
        self.shared.ends.count(ConnectionEnd::AddressFull);
        tracing::debug!(peer = %connection.peer(), "a connection is refused: its client has reached the limit of connections");
        let Ok(refusal_permit) = self.shared.refusals.clone().try_acquire_owned() else { return };
        self.tasks.spawn(REFUSAL.observe(connection.peer().address(), async move {
            let _refusal_permit = refusal_permit;
            refusal::send(connection, &refusal::TOO_MANY_FROM_ADDRESS).await;
        }));
    }

    /// Moves a connection to the thread that will serve it, if there are connection threads.
    fn move_to_thread(
        &mut self,
        connection: Connection,
    ) -> io::Result<(Connection, Option<(Handle, ThreadPlace)>)> {
        let Some((runtime, place)) = self.threads.place() else { return Ok((connection, None)) };
        let connection = {
            let _context = runtime.enter();
            connection.into_current_runtime()?
        };
        Ok((connection, Some((runtime, place))))
    }

    fn start(
        &mut self,
        connection: Connection,
        permit: ConnectionPermit,
        thread: Option<(Handle, ThreadPlace)>,
    ) {
        let (runtime, place) = thread.unzip();
        let permit = permit.with_thread(place);
        let entry = self.idle.enter();
        let peer = connection.peer().address();
        let served = self.shared.clone().run(connection, permit, entry);
        self.spawn(runtime, self.task_kind.observe_boxed(peer, served));
    }

    /// Starts a task on the given runtime, or on the current one.
    fn spawn(&mut self, runtime: Option<Handle>, task: impl Future<Output = ()> + Send + 'static) {
        match runtime {
            Some(runtime) => self.tasks.spawn_on(task, &runtime),
            None => self.tasks.spawn(task),
        };
    }

    /// Asks every connection to close, waits for up to the grace period, and drops the rest.
    pub(crate) async fn finish(mut self, limit: &ConnectionLimit, grace_period: Duration) {
        self.idle.stop();
        // Every open connection holds a permit, upgraded or not.
        let _closed_in_time = limit.wait_idle(grace_period).await;
        self.tasks.shutdown().await;
        self.threads.end().await;
    }
}
