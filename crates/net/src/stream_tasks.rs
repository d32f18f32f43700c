//! The tasks of an HTTP/2 connection, one for each stream, with the limits of a stream.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::rt::Executor;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;
use weir_observe::task::{TaskKind, TaskName};
use weir_sync::Lock;

use crate::idle::{Activity, RequestInProgress};
use crate::socket::{ConnectionEnd, Peer};

tokio::task_local! {
    /// The progress of the current task's stream.
    static PROGRESS: Arc<Progress>;
}

/// The tasks that answer a request of an HTTP/2 connection.
static STREAM: TaskKind = TaskKind::short("stream");

/// The period to which [`resets_max`](crate::ServeOptions::http2) applies.
const RESET_PERIOD: Duration = Duration::from_secs(10);

/// Runs the streams of a connection. A stream is reset if its client reads nothing for too long.
#[derive(Clone, Debug)]
pub(crate) struct StreamTasks {
    tasks: Arc<Lock<JoinSet<()>>>,
    limit: Arc<UnreadLimit>,
}

/// The limit on the time for which a client may read nothing of a stream.
#[derive(Debug)]
struct UnreadLimit {
    timeout: Duration,
    peer: Peer,
    activity: Arc<Activity>,
    has_warned: AtomicBool,
}

impl UnreadLimit {
    /// Counts a stream that has reached the limit, and reports the first one of the connection.
    fn report(&self) {
        self.activity.count_end(ConnectionEnd::UnreadStream);
        if self.is_first() {
            let timeout_s = self.timeout.as_secs_f64();
            tracing::warn!(peer = %self.peer, timeout_s, "a stream is reset: its client does not read it");
        }
    }

    /// Whether this is the first call.
    fn is_first(&self) -> bool {
        !self.has_warned.swap(true, Ordering::Relaxed)
    }
}

/// The owner of a connection's [`StreamTasks`]. Dropping it ends the tasks, so none outlives the
/// connection.
#[derive(Debug)]
pub(crate) struct StreamTasksOwner(pub(crate) StreamTasks);

impl StreamTasksOwner {
    pub(crate) fn new(timeout: Duration, peer: Peer, activity: Arc<Activity>) -> Self {
        let limit =
            Arc::new(UnreadLimit { timeout, peer, activity, has_warned: AtomicBool::new(false) });
        Self(StreamTasks { tasks: Arc::default(), limit })
    }
}

impl Drop for StreamTasksOwner {
    fn drop(&mut self) {
        self.0.tasks.lock().abort_all();
    }
}

impl<F> Executor<F> for StreamTasks
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let progress = Arc::<Progress>::default();
        let limit = self.limit.clone();
        let mut tasks = self.tasks.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(STREAM.observe(TaskName::Unnamed, async move {
            tokio::select! {
                () = PROGRESS.scope(progress.clone(), stream) => {}
                // Dropping the stream resets it.
                () = progress.wait_blocked(limit.timeout) => limit.report(),
            }
        }));
    }
}

/// The progress of a stream: since when, if at all, it waits for its client to read.
#[derive(Debug, Default)]
struct Progress {
    blocked_since: Lock<Option<Instant>>,
}

impl Progress {
    /// Waits until the client has read nothing for `timeout`.
    async fn wait_blocked(&self, timeout: Duration) {
        loop {
            let blocked = self.blocked_since.lock().map_or(Duration::ZERO, |since| since.elapsed());
            match timeout.checked_sub(blocked).filter(|left| !left.is_zero()) {
                Some(left) => tokio::time::sleep(left).await,
                None => return,
            }
        }
    }
}

/// A request of an HTTP/2 connection and its response. Dropping it before the response
/// [is complete](Self::is_complete) counts as a reset.
#[derive(Debug)]
pub(crate) struct Http2Stream {
    pub(crate) is_complete: bool,
    request: Option<RequestInProgress>,
    activity: Arc<Activity>,
    resets: Arc<Resets>,
    progress: Option<Arc<Progress>>,
}

impl Http2Stream {
    pub(crate) fn begin(activity: &Arc<Activity>, resets: &Arc<Resets>) -> Self {
        let (activity, resets) = (activity.clone(), resets.clone());
        let request = Some(activity.begin_request());
        Self { is_complete: false, request, activity, resets, progress: None }
    }

    /// Connects the stream with the current task, which must be the one that runs it.
    pub(crate) fn enter_task(&mut self) {
        self.progress = PROGRESS.try_with(Arc::clone).ok();
    }

    /// Records whether a part of the response waits for the client from now on.
    pub(crate) fn set_blocked(&self, is_blocked: bool) {
        if let Some(progress) = &self.progress {
            *progress.blocked_since.lock() = is_blocked.then(Instant::now);
        }
    }
}

impl Drop for Http2Stream {
    fn drop(&mut self) {
        self.set_blocked(false);
        if !self.is_complete {
            self.resets.count();
        }
        // Another thread may have written the end of the response already.
        self.request = None;
        self.activity.note_all_written();
    }
}

/// Counts the streams that a client has cancelled.
#[derive(Debug)]
pub(crate) struct Resets {
    resets_max: u32,
    period: Lock<Period>,
    exceeded: Notify,
}

#[derive(Debug)]
struct Period {
    started_at: Instant,
    resets: u32,
}

impl Resets {
    pub(crate) fn new(resets_max: u32) -> Self {
        let period = Lock::new(Period { started_at: Instant::now(), resets: 0 });
        Self { resets_max, period, exceeded: Notify::new() }
    }

    fn count(&self) {
        let mut period = self.period.lock();
        if period.started_at.elapsed() >= RESET_PERIOD {
            *period = Period { started_at: Instant::now(), resets: 0 };
        }
        period.resets = period.resets.saturating_add(1);
        if period.resets > self.resets_max {
            self.exceeded.notify_one();
        }
    }

    /// Waits until there are too many resets.
    pub(crate) async fn wait_exceeded(&self) {
        self.exceeded.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use hyper::rt::Executor;
    use tokio::time::{Instant, sleep};

    use super::{Activity, Http2Stream, RESET_PERIOD, Resets, StreamTasksOwner};
    use crate::idle::IdleConnections;
    use crate::socket::Peer;

    const TIMEOUT: Duration = Duration::from_secs(60);

    fn activity() -> Arc<Activity> {
        Arc::new(IdleConnections::default()).enter().activity()
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_its_client_does_not_take_is_dropped() {
        let owner = StreamTasksOwner::new(TIMEOUT, Peer::local(), activity());
        let (activity, resets) = (activity(), Arc::new(Resets::new(0)));
        let mut stream = Http2Stream::begin(&activity, &resets);
        let started_at = Instant::now();
        owner.0.execute(async move {
            stream.enter_task();
            // The handler takes long, and then the client takes each part late.
            sleep(10 * TIMEOUT).await;
            for _ in 0..10 {
                stream.set_blocked(true);
                sleep(TIMEOUT - Duration::from_secs(1)).await;
                stream.set_blocked(false);
            }
            stream.set_blocked(true);
            std::future::pending::<()>().await;
        });
        resets.wait_exceeded().await;
        assert_eq!(started_at.elapsed(), 21 * TIMEOUT - Duration::from_secs(10));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_reported_once() {
        let (activity, resets) = (activity(), Arc::new(Resets::new(2)));
        let owner = StreamTasksOwner::new(TIMEOUT, Peer::local(), activity.clone());
        let other = StreamTasksOwner::new(TIMEOUT, Peer::local(), activity.clone());
        for _ in 0..3 {
            let mut stream = Http2Stream::begin(&activity, &resets);
            owner.0.execute(async move {
                stream.enter_task();
                stream.set_blocked(true);
                std::future::pending::<()>().await;
            });
        }
        // All three have ended.
        resets.wait_exceeded().await;
        assert!(!owner.0.limit.is_first(), "one of them was reported");
        let limit = &other.0.limit;
        assert!(limit.is_first() && !limit.is_first());
    }

    #[tokio::test(start_paused = true)]
    async fn streams_end_with_their_connection() {
        let owner = StreamTasksOwner::new(TIMEOUT, Peer::local(), activity());
        let (activity, resets) = (activity(), Arc::new(Resets::new(0)));
        let stream = Http2Stream::begin(&activity, &resets);
        owner.0.execute(async move {
            let _stream = stream;
            std::future::pending::<()>().await;
        });
        drop(owner);
        resets.wait_exceeded().await;
    }

    #[tokio::test(start_paused = true)]
    async fn resets_are_counted_for_a_while() {
        let (activity, resets) = (activity(), Arc::new(Resets::new(2)));
        let is_exceeded = async || {
            tokio::time::timeout(Duration::from_millis(1), resets.wait_exceeded()).await.is_ok()
        };
        for _ in 0..3 {
            for _ in 0..2 {
                drop(Http2Stream::begin(&activity, &resets));
                let mut complete = Http2Stream::begin(&activity, &resets);
                complete.is_complete = true;
            }
            assert!(!is_exceeded().await);
            sleep(RESET_PERIOD).await;
        }
        for _ in 0..3 {
            drop(Http2Stream::begin(&activity, &resets));
        }
        assert!(is_exceeded().await);
    }
}
