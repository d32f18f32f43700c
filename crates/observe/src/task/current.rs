//! The task that the current thread runs.

use std::cell::Cell;
use std::sync::Arc;

use super::name::TaskName;
use super::shared::Task;
use super::switch::is_enabled;
use super::work::add_as_single_writer;

thread_local! {
    static CURRENT: Cell<Option<Arc<Task>>> = const { Cell::new(None) };
}

/// Makes a task the current one of this thread, until the guard is dropped.
pub(super) struct CurrentTaskGuard<'t> {
    /// Where the task goes back to on drop.
    own: &'t mut Option<Arc<Task>>,
    /// The task that was current before.
    outer: Option<Arc<Task>>,
}

impl<'t> CurrentTaskGuard<'t> {
    pub(super) fn new(own: &'t mut Option<Arc<Task>>) -> Self {
        let outer = CURRENT.try_with(|current| current.replace(own.take())).ok().flatten();
        Self { own, outer }
    }
}

impl Drop for CurrentTaskGuard<'_> {
    fn drop(&mut self) {
        let outer = self.outer.take();
        *self.own = CURRENT.try_with(|current| current.replace(outer)).ok().flatten();
    }
}

/// Calls a function with the current task, if there is one.
fn with_current(function: impl FnOnce(&Task)) {
    if !is_enabled() {
        return;
    }
    // The thread-local is gone while the thread ends; then there is no task.
    let _ended = CURRENT.try_with(|current| {
        let task = current.take();
        if let Some(task) = &task {
            function(task);
        }
        current.set(task);
    });
}

/// Adds to the number of requests that the current task has answered or sent.
pub fn add_requests(requests: u64) {
    with_current(|task| add_as_single_writer(&task.work.requests, requests));
}

/// Adds to the number of bytes that the current task has received or sent.
pub fn add_bytes(bytes: usize) {
    with_current(|task| add_as_single_writer(&task.work.bytes, bytes as u64));
}

/// Renames the current task, for a name that was not known when the task began.
pub fn set_name(name: impl Into<TaskName>) {
    if is_enabled() {
        let name = name.into();
        with_current(|task| task.set_name(name));
    }
}
