//! The tasks of a look inside itself, which are listed among the others: what it costs to look is no secret.

use std::io;

use tokio::sync::oneshot;
use weir_observe::task::{TaskKind, TaskName};

/// The server of the admin address.
pub(crate) static SERVER: TaskKind = TaskKind::new("admin");

/// A connection to the admin address.
pub(crate) static CONNECTION: TaskKind = TaskKind::new("admin connection");

/// What takes a while, and would hold up others on a thread of a runtime.
static QUESTION: TaskKind = TaskKind::new("admin question");

/// Calls a function that takes a while on a thread for such functions; `None` if the program ends.
pub(crate) async fn aside<T: Send + 'static>(
    name: &str,
    function: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let question = QUESTION.observe_call(TaskName::from(name), function);
    tokio::task::spawn_blocking(question).await.ok()
}

/// Calls a function on a thread that is there for nothing else, and that nobody has seen before.
///
/// # Errors
/// If the system has no room for a thread.
pub(crate) async fn alone<T: Send + 'static>(
    name: &str,
    function: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let question = QUESTION.observe_call(TaskName::from(name), function);
    let (sender, answered) = oneshot::channel();
    let call = move || {
        // The one who has asked may have gone.
        let _ = sender.send(question());
    };
    std::thread::Builder::new().name(format!("admin-{name}")).spawn(call)?;
    answered.await.map_err(|_| io::Error::other("the thread has ended without an answer"))
}
