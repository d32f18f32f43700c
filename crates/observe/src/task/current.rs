//! The task that this thread runs.

use std::cell::Cell;
use std::sync::Arc;

use super::name::TaskName;
use super::shared::Task;
use super::switch::is_enabled;
use super::work::add_alone;

thread_local! {
    static CURRENT: Cell<Option<Arc<Task>>> = const { Cell::new(None) };
}

/// Makes a task the one that this thread runs, until it is dropped.
pub(super) struct Entered<'t> {
    /// Where the task belongs.
    own: &'t mut Option<Arc<Task>>,
    /// The task around it.
    outer: Option<Arc<Task>>,
}

impl<'t> Entered<'t> {
    pub(super) fn new(own: &'t mut Option<Arc<Task>>) -> Self {
        let outer = CURRENT.try_with(|current| current.replace(own.take())).ok().flatten();
        Self { own, outer }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let outer = self.outer.take();
        *self.own = CURRENT.try_with(|current| current.replace(outer)).ok().flatten();
    }
}

/// Calls a function with the task that this thread runs, if it runs one.
fn with_current(function: impl FnOnce(&Task)) {
    if !is_enabled() {
        return;
    }
    // While a thread ends, it runs none.
    let _ended = CURRENT.try_with(|current| {
        let task = current.take();
        if let Some(task) = &task {
            function(task);
        }
        current.set(task);
    });
}

/// The task that runs has begun to answer, or has sent, so many requests.
pub fn add_requests(requests: u64) {
    with_current(|task| add_alone(&task.work.requests, requests));
}

/// The task that runs has received or sent so many bytes.
pub fn add_bytes(bytes: usize) {
    with_current(|task| add_alone(&task.work.bytes, bytes as u64));
}

/// The task that runs has another name from now on: one that was not known when it began.
pub fn set_name(name: impl Into<TaskName>) {
    if is_enabled() {
        let name = name.into();
        with_current(|task| task.set_name(name));
    }
}
