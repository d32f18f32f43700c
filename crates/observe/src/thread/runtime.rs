//! The runtimes of the program.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;

/// The runtimes with their names, in the order of their start.
static RUNTIMES: Mutex<Vec<(String, Handle)>> = Mutex::new(Vec::new());

/// A runtime that is listed until this is dropped.
#[derive(Debug)]
pub struct ObservedRuntime(tokio::runtime::Id);

/// What tokio tells of a runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeNumbers {
    /// Its name.
    pub name: String,
    /// The threads that run its tasks.
    pub workers: usize,
    /// Its tasks that have not ended.
    pub tasks: usize,
    /// Tasks that were woken from outside and wait for one of its threads.
    pub queued: usize,
    /// How long its threads have run tasks, all of them together.
    pub busy: Duration,
    /// How often they had nothing to do, and slept.
    pub parks: u64,
}

/// Lists a runtime.
pub fn observe_runtime(name: impl Into<String>, runtime: &Handle) -> ObservedRuntime {
    let mut runtimes = RUNTIMES.lock().unwrap_or_else(PoisonError::into_inner);
    runtimes.push((name.into(), runtime.clone()));
    ObservedRuntime(runtime.id())
}

/// The listed runtimes.
pub fn runtimes() -> Vec<RuntimeNumbers> {
    let runtimes = RUNTIMES.lock().unwrap_or_else(PoisonError::into_inner);
    runtimes.iter().map(|(name, runtime)| numbers(name, runtime)).collect()
}

/// How long the threads of a runtime have run tasks, all of them together.
pub fn busy_time(runtime: &Handle) -> Duration {
    let metrics = runtime.metrics();
    (0..metrics.num_workers()).map(|worker| metrics.worker_total_busy_duration(worker)).sum()
}

fn numbers(name: &str, runtime: &Handle) -> RuntimeNumbers {
    let metrics = runtime.metrics();
    let workers = metrics.num_workers();
    RuntimeNumbers {
        name: name.to_owned(),
        workers,
        tasks: metrics.num_alive_tasks(),
        queued: metrics.global_queue_depth(),
        busy: busy_time(runtime),
        parks: (0..workers).map(|worker| metrics.worker_park_count(worker)).sum(),
    }
}

impl Drop for ObservedRuntime {
    fn drop(&mut self) {
        let mut runtimes = RUNTIMES.lock().unwrap_or_else(PoisonError::into_inner);
        runtimes.retain(|(_, runtime)| runtime.id() != self.0);
    }
}
