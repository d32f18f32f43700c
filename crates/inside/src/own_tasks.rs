//! The admin server's own tasks. They are listed like all others, so that the cost of observing is
//! visible.

use std::io;

use tokio::sync::oneshot;
use weir_observe::task::{TaskKind, TaskName};

/// The server of the admin address.
pub(crate) static SERVER: TaskKind = TaskKind::new("admin");

/// A connection to the admin address.
pub(crate) static CONNECTION: TaskKind = TaskKind::new("admin connection");

/// A request whose answer takes so long that it would delay others on a thread of the runtime.
static QUESTION: TaskKind = TaskKind::new("admin question");

/// Calls a function on a blocking thread; `None` if the runtime is shutting down.
pub(crate) async fn run_blocking<T: Send + 'static>(
    name: &str,
    function: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let question = QUESTION.observe_call(TaskName::from(name), function);
    tokio::task::spawn_blocking(question).await.ok()
}

/// Calls a function on a new thread.
///
/// # Errors
/// If the thread cannot be spawned, or if the function panics.
pub(crate) async fn run_on_new_thread<T: Send + 'static>(
    name: &str,
    function: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let question = QUESTION.observe_call(TaskName::from(name), function);
    let (sender, answered) = oneshot::channel();
    let call = move || {
        // The send fails if the caller was cancelled.
        let _ = sender.send(question());
    };
    std::thread::Builder::new().name(format!("admin-{name}")).spawn(call)?;
    answered.await.map_err(|_| io::Error::other("the thread has ended without an answer"))
}
