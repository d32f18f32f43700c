//! The list of the tasks that have not ended.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::shared::Task;

/// Threads that begin tasks at the same time rarely want the same part of the list.
const PARTS: usize = 32;

static REGISTRY: [Mutex<Part>; PARTS] = [const { Mutex::new(Part::new()) }; PARTS];

/// A part of the list, with the places in it that are free.
#[derive(Debug)]
struct Part {
    tasks: Vec<Option<Arc<Task>>>,
    free: Vec<usize>,
}

/// Where a task stands in the list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    part: usize,
    index: usize,
}

impl Part {
    const fn new() -> Self {
        Self { tasks: Vec::new(), free: Vec::new() }
    }
}

/// The part in which this thread puts its tasks.
fn own_part() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: Cell<Option<usize>> = const { Cell::new(None) };
    }
    OWN.with(|own| {
        own.get().unwrap_or_else(|| {
            let part = NEXT.fetch_add(1, Ordering::Relaxed) % PARTS;
            own.set(Some(part));
            part
        })
    })
}

/// Adds a task.
pub(super) fn add(task: Arc<Task>) -> Place {
    let part = own_part();
    let mut tasks = REGISTRY[part].lock().unwrap_or_else(PoisonError::into_inner);
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
    Place { part, index }
}

/// Removes a task.
pub(super) fn remove(Place { part, index }: Place) {
    let mut tasks = REGISTRY[part].lock().unwrap_or_else(PoisonError::into_inner);
    let removed = tasks.tasks[index].take();
    tasks.free.push(index);
    // A burst of tasks must not keep its memory.
    if tasks.free.len() == tasks.tasks.len() {
        *tasks = Part::new();
    }
    drop(tasks);
    // Its waker may end other tasks.
    drop(removed);
}

/// Calls a function with each task.
pub(super) fn for_each(mut visit: impl FnMut(&Task)) {
    for part in &REGISTRY {
        // Copied, so that tasks that begin meanwhile do not wait for those who look.
        let tasks: Vec<_> = {
            let part = part.lock().unwrap_or_else(PoisonError::into_inner);
            part.tasks.iter().flatten().cloned().collect()
        };
        tasks.iter().for_each(|task| visit(task));
    }
}
