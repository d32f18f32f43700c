//! Work that runs on a blocking thread, and holds its turn until it ends.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;
use weir_observe::task::{TaskKind, TaskName};
use weir_sync::Lock;

use super::{Cancellation, SessionTurns, Turn};
use crate::refusal::Refusal;

/// Computes an answer.
static ANSWER: TaskKind = TaskKind::new("answer");

/// Work that is running, with the turn that it holds until it ends.
pub(super) struct RunningWork<T> {
    pub(super) task: JoinHandle<Option<T>>,
    turn: Arc<Lock<Turn>>,
    started: Instant,
}

impl<T: Send + 'static> RunningWork<T> {
    pub(super) fn start<F>(
        turns: &SessionTurns,
        turn: Turn,
        cancellation: &Arc<Cancellation>,
        work: &Arc<F>,
    ) -> Self
    where
        F: Fn(&AtomicBool) -> Option<T> + Send + Sync + 'static,
    {
        let turn = Arc::new(Lock::new(turn));
        let (held, cancellation, work) = (turn.clone(), cancellation.clone(), work.clone());
        let view_work = turns.view_work().clone();
        let call = move || {
            let (_held, _timed) = (held, view_work.evaluate());
            work(&cancellation.should_stop)
        };
        let task = tokio::task::spawn_blocking(ANSWER.observe_call(TaskName::Unnamed, call));
        Self { task, turn, started: Instant::now() }
    }

    /// Waits for the work to end, up to this time after its start. Returns `None` if it still runs.
    pub(super) async fn wait(&mut self, time_max: Duration) -> Option<Result<Option<T>, Refusal>> {
        let done = tokio::time::timeout_at(self.started + time_max, &mut self.task).await.ok()?;
        // This fails only if the work panics, or the server ends.
        Some(done.map_err(|_| Refusal::SessionEnded))
    }

    /// Waits for stopped work to end. Returns its result if it was complete before it noticed.
    pub(super) async fn wait_for_stop(self) -> Option<T> {
        self.task.await.unwrap_or_default()
    }

    /// Replaces the turn, which frees the previous one.
    pub(super) fn exchange(&self, turn: Turn) {
        *self.turn.lock() = turn;
    }
}
