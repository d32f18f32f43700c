//! The registry of live tasks.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weir_sync::Lock;

use super::shared::Task;

/// The number of shards. With this many, threads that start tasks at the same time rarely contend
/// for a lock.
const SHARDS: usize = 32;

static REGISTRY: [Lock<Shard>; SHARDS] = [const { Lock::new(Shard::new()) }; SHARDS];

/// A part of the registry with its own lock.
#[derive(Debug)]
struct Shard {
    tasks: Vec<Option<Arc<Task>>>,
    /// The indices of the empty entries in `tasks`.
    free: Vec<usize>,
}

/// The position of a task in the registry.
#[derive(Debug, Clone, Copy)]
pub(super) struct TaskIndex {
    shard: usize,
    index: usize,
}

impl Shard {
    const fn new() -> Self {
        Self { tasks: Vec::new(), free: Vec::new() }
    }
}

/// Returns the shard that this thread adds its tasks to.
fn own_shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: Cell<Option<usize>> = const { Cell::new(None) };
    }
    OWN.with(|own| {
        own.get().unwrap_or_else(|| {
            let shard = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
            own.set(Some(shard));
            shard
        })
    })
}

/// Adds a task.
pub(super) fn add(task: Arc<Task>) -> TaskIndex {
    let shard = own_shard();
    let mut tasks = REGISTRY[shard].lock();
    let index = match tasks.free.pop() {
        Some(index) => {
            tasks.tasks[index] = Some(task);
            index
        }
        None => {
            tasks.tasks.push(Some(task));
            tasks.tasks.len() - 1
        }
    };
    TaskIndex { shard, index }
}

/// Removes a task.
pub(super) fn remove(TaskIndex { shard, index }: TaskIndex) {
    let mut tasks = REGISTRY[shard].lock();
    let removed = tasks.tasks[index].take();
    tasks.free.push(index);
    // Frees the memory after a burst of tasks.
    if tasks.free.len() == tasks.tasks.len() {
        *tasks = Shard::new();
    }
    drop(tasks);
    // After the lock is released, because dropping the task's waker may end other tasks.
    drop(removed);
}

/// Calls a function with each live task.
pub(super) fn for_each(mut visit: impl FnMut(&Task)) {
    for shard in &REGISTRY {
        // Copies the list, so that starting tasks do not wait while the function runs.
        let tasks: Vec<_> = {
            let shard = shard.lock();
            shard.tasks.iter().flatten().cloned().collect()
        };
        tasks.iter().for_each(|task| visit(task));
    }
}
