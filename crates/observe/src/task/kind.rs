//! The kinds of tasks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use weir_sync::Lock;

use super::work::{TaskWork, WorkCounters};

/// The purpose of a group of tasks. It is a `static` with a unique name, next to the code that
/// starts the tasks.
///
/// ```
/// use weir_observe::task::TaskKind;
///
/// static UPLOAD: TaskKind = TaskKind::new("upload");
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
/// # runtime.block_on(async {
/// let address: std::net::SocketAddr = "192.0.2.1:51234".parse().expect("an address");
/// let task = tokio::spawn(UPLOAD.observe(address, async { 7 }));
/// assert_eq!(task.await.expect("no panic"), 7);
/// # });
/// ```
#[derive(Debug)]
pub struct TaskKind {
    name: &'static str,
    pub(super) is_short: bool,
    is_listed: AtomicBool,
    begun: AtomicU64,
    /// The sums over the tasks that have ended.
    ended: WorkCounters,
}

/// The kinds with at least one task so far.
static KINDS: Lock<Vec<&'static TaskKind>> = Lock::new(Vec::new());

impl TaskKind {
    /// Makes a kind with this name.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            is_short: false,
            is_listed: AtomicBool::new(false),
            begun: AtomicU64::new(0),
            ended: WorkCounters::new(),
        }
    }

    /// Makes a kind for short tasks, such as one per request. Few polls are timed to keep the cost
    /// low, so the sums of the kind are estimates.
    pub const fn short(name: &'static str) -> Self {
        Self { is_short: true, ..Self::new(name) }
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Counts a task that begins.
    pub(super) fn begin(&'static self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        if !self.is_listed.load(Ordering::Relaxed) {
            let mut kinds = KINDS.lock();
            if !self.is_listed.swap(true, Ordering::Relaxed) {
                kinds.push(self);
            }
        }
    }

    /// Adds the work of a task that ends.
    pub(super) fn end(&self, work: &WorkCounters) {
        self.ended.add(work);
    }

    /// Returns the number of tasks that have begun so far.
    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Returns the total work of the tasks that have ended.
    pub(super) fn ended(&self) -> TaskWork {
        self.ended.read()
    }
}

/// Returns the kinds with at least one task so far.
pub(super) fn kinds() -> Vec<&'static TaskKind> {
    KINDS.lock().clone()
}
