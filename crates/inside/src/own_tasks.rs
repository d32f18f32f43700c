//! The tasks of a look inside itself, which are listed among the others: what it costs to look is no secret.

use weir_observe::task::{TaskKind, TaskName};

/// The server of the admin address.
pub(crate) static SERVER: TaskKind = TaskKind::new("admin");

/// A connection to the admin address.
pub(crate) static CONNECTION: TaskKind = TaskKind::new("admin connection");

/// What takes a while, and would hold up others on a thread of a runtime.
static QUESTION: TaskKind = TaskKind::new("admin question");

/// Calls a function that takes a while on a thread of its own; `None` if the program ends.
pub(crate) async fn aside<T: Send + 'static>(
    name: &str,
    function: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let question = QUESTION.observe_call(TaskName::from(name), function);
    tokio::task::spawn_blocking(question).await.ok()
}
