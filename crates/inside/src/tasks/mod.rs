//! `GET /tasks.json`: the tasks, runtimes and threads of the program.

mod list;
mod request;

use std::convert::Infallible;
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use weir_observe::task::{Snapshot, snapshot};
use weir_observe::thread::{RuntimeMetrics, runtimes};
use weir_sync::Lock;
use weir_view::{TaskRuntime, Tasks, Thread};

pub use self::request::TaskSortKey;
pub(crate) use self::request::TasksRequest;
use crate::threads::ThreadHistory;

/// Requests within this time share a snapshot. A page asks every second. Rates over less time would
/// fluctuate, and many clients cost no more than one.
const FRESH_FOR: Duration = Duration::from_millis(900);

/// A snapshot is dropped at this age: with a hundred thousand tasks it takes 25 MB.
const KEPT_FOR: Duration = Duration::from_secs(5);

/// Takes snapshots of tasks and threads, and shares them between all clients.
#[derive(Debug, Default)]
pub(crate) struct TaskMonitor {
    snapshots: Lock<SnapshotCache>,
    has_snapshot: Notify,
}

#[derive(Debug, Default)]
struct SnapshotCache {
    last: Option<ProgramSnapshot>,
    threads: ThreadHistory,
}

#[derive(Debug)]
struct ProgramSnapshot {
    made: Instant,
    tasks: Snapshot,
    threads: Vec<Thread>,
    runtimes: Vec<RuntimeMetrics>,
}

impl TaskMonitor {
    /// Answers a request. It may take a tenth of a second.
    pub(crate) fn answer(&self, now: Instant, request: &TasksRequest) -> Tasks {
        let answer = self.snapshots().answer(now, request);
        self.has_snapshot.notify_one();
        answer
    }

    /// Drops snapshots when they are old. It never returns.
    pub(crate) async fn drop_old_snapshots(&self) -> Infallible {
        loop {
            self.has_snapshot.notified().await;
            while let Some(made) = self.last_made() {
                tokio::time::sleep(KEPT_FOR.saturating_sub(made.elapsed())).await;
                self.snapshots().drop_if_old(Instant::now());
            }
        }
    }

    /// Returns when the cached snapshot was made; `None` if there is none.
    fn last_made(&self) -> Option<Instant> {
        self.snapshots().last.as_ref().map(|snapshot| snapshot.made)
    }

    fn snapshots(&self) -> MutexGuard<'_, SnapshotCache> {
        self.snapshots.lock()
    }
}

impl SnapshotCache {
    fn answer(&mut self, now: Instant, request: &TasksRequest) -> Tasks {
        let last = self.last.take().filter(|it| now.duration_since(it.made) < FRESH_FOR);
        let snapshot = last.unwrap_or_else(|| ProgramSnapshot {
            made: now,
            tasks: snapshot(),
            threads: self.threads.update(now),
            runtimes: runtimes(),
        });
        let answer = snapshot.answer(request);
        self.last = Some(snapshot);
        answer
    }

    fn drop_if_old(&mut self, now: Instant) {
        self.last.take_if(|it| now.saturating_duration_since(it.made) >= KEPT_FOR);
    }
}

impl ProgramSnapshot {
    fn answer(&self, request: &TasksRequest) -> Tasks {
        let (tasks, tasks_left_out) = list::tasks(&self.tasks, request);
        Tasks {
            span: self.tasks.span.map(|span| span.as_secs_f64()),
            kinds: list::kinds(&self.tasks),
            tasks,
            tasks_left_out,
            runtimes: self.runtimes.iter().map(runtime).collect(),
            threads: self.threads.clone(),
        }
    }
}

fn runtime(metrics: &RuntimeMetrics) -> TaskRuntime {
    TaskRuntime {
        name: metrics.name.clone(),
        workers: metrics.workers as u64,
        tasks: metrics.tasks as u64,
        queued: metrics.queued as u64,
        busy: metrics.busy.as_secs_f64(),
        parks: metrics.parks,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{KEPT_FOR, TaskMonitor, TasksRequest};

    #[tokio::test(start_paused = true)]
    async fn old_snapshots_are_dropped() {
        let monitor = TaskMonitor::default();
        let dropping = monitor.drop_old_snapshots();
        let asking = async {
            for _ in 0..2 {
                let long_ago = Instant::now().checked_sub(KEPT_FOR).expect("a time");
                monitor.answer(long_ago, &TasksRequest::default());
                assert!(monitor.last_made().is_some());
                tokio::time::sleep(KEPT_FOR).await;
                assert!(monitor.last_made().is_none(), "it is old");
            }
            monitor.answer(Instant::now(), &TasksRequest::default());
            tokio::time::sleep(KEPT_FOR / 2).await;
            assert!(monitor.last_made().is_some(), "it is not old");
        };
        tokio::select! {
            never = dropping => match never {},
            () = asking => {}
        }
    }
}
