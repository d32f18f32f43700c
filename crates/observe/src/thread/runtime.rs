//! The runtimes of the program.

use std::time::Duration;

use tokio::runtime::Handle;
use weir_sync::Lock;

/// The listed runtimes with their names, in the order of their registration.
static RUNTIMES: Lock<Vec<(String, Handle)>> = Lock::new(Vec::new());

/// The registration of a runtime, which ends when this is dropped.
#[derive(Debug)]
pub struct ObservedRuntime(tokio::runtime::Id);

/// Tokio's metrics of a runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeMetrics {
    /// The name of the runtime.
    pub name: String,
    /// The number of worker threads.
    pub workers: usize,
    /// The number of live tasks.
    pub tasks: usize,
    /// The number of tasks in the global queue: woken from outside the runtime, and waiting for a
    /// worker.
    pub queued: usize,
    /// The total time that the workers have run tasks.
    pub busy: Duration,
    /// How often workers went to sleep because they had no task.
    pub parks: u64,
}

/// Registers a runtime, so that [`runtimes`] lists it.
pub fn observe_runtime(name: impl Into<String>, runtime: &Handle) -> ObservedRuntime {
    let mut runtimes = RUNTIMES.lock();
    runtimes.push((name.into(), runtime.clone()));
    ObservedRuntime(runtime.id())
}

/// Returns the metrics of the registered runtimes.
pub fn runtimes() -> Vec<RuntimeMetrics> {
    let runtimes = RUNTIMES.lock();
    runtimes.iter().map(|(name, runtime)| metrics(name, runtime)).collect()
}

/// Returns the total time that the workers of a runtime have run tasks.
pub fn busy_time(runtime: &Handle) -> Duration {
    let metrics = runtime.metrics();
    (0..metrics.num_workers()).map(|worker| metrics.worker_total_busy_duration(worker)).sum()
}

fn metrics(name: &str, runtime: &Handle) -> RuntimeMetrics {
    let metrics = runtime.metrics();
    let workers = metrics.num_workers();
    RuntimeMetrics {
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
        let mut runtimes = RUNTIMES.lock();
        runtimes.retain(|(_, runtime)| runtime.id() != self.0);
    }
}
