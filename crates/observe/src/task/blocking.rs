//! Blocking calls that are observed as tasks.

use std::panic::Location;

use super::kind::TaskKind;
use super::name::TaskName;
use super::observed::Observer;
use super::switch::is_enabled;

impl TaskKind {
    /// Wraps a function for `spawn_blocking`, so that it is listed as a task of this kind if
    /// observation is [enabled](super::enable). The task is scheduled until a thread calls the
    /// function.
    #[track_caller]
    pub fn observe_call<T>(
        &'static self,
        name: impl Into<TaskName>,
        function: impl FnOnce() -> T,
    ) -> impl FnOnce() -> T {
        let caller = Location::caller();
        let memory_bytes = size_of_val(&function);
        let observer = is_enabled().then(|| Observer::new(self, name.into(), caller, memory_bytes));
        move || match observer {
            None => function(),
            Some(observer) => observer.call(function),
        }
    }
}
