//! The kinds of tasks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::work::{TaskWork, WorkCounters};

/// What tasks are for: a `static` beside the code that starts them, of which each has its own name.
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
    /// The sums of the tasks that have ended.
    ended: WorkCounters,
}

/// The kinds of which a task has begun.
static KINDS: Mutex<Vec<&'static TaskKind>> = Mutex::new(Vec::new());

impl TaskKind {
    /// A kind with this name.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            is_short: false,
            is_listed: AtomicBool::new(false),
            begun: AtomicU64::new(0),
            ended: WorkCounters::new(),
        }
    }

    /// A kind of which each request has a task of its own. Of few of them the time is taken, so that it costs
    /// next to nothing; the sums of the kind are estimates.
    pub const fn short(name: &'static str) -> Self {
        Self { is_short: true, ..Self::new(name) }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// A task has begun.
    pub(super) fn begin(&'static self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        if !self.is_listed.load(Ordering::Relaxed) {
            let mut kinds = KINDS.lock().unwrap_or_else(PoisonError::into_inner);
            if !self.is_listed.swap(true, Ordering::Relaxed) {
                kinds.push(self);
            }
        }
    }

    /// A task has ended.
    pub(super) fn end(&self, work: &WorkCounters) {
        self.ended.add(work);
    }

    /// The tasks that have begun so far.
    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// What the tasks that have ended did.
    pub(super) fn ended(&self) -> TaskWork {
        self.ended.read()
    }
}

/// The kinds of which a task has begun so far.
pub(super) fn kinds() -> Vec<&'static TaskKind> {
    KINDS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
