//! Returns freed memory to the system some time after it was freed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use weir_observe::task::{TaskKind, TaskName};

/// Returns memory that was freed.
static MEMORY_RETURN: TaskKind = TaskKind::new("return of memory");

/// How long tasks and threads have time to drop what they hold. Whatever is freed meanwhile is returned
/// with it, so that the heaps are looked through once in this time at most.
const DELAY: Duration = Duration::from_secs(1);

/// The way to return memory to the system.
#[derive(Debug)]
pub(crate) struct MemoryReturn {
    returns: fn(),
    is_due: AtomicBool,
}

impl MemoryReturn {
    pub(crate) fn new(returns: fn()) -> Arc<Self> {
        Arc::new(Self { returns, is_due: AtomicBool::new(false) })
    }

    /// Returns what has been freed. Call it on a blocking thread.
    pub(crate) fn now(&self) {
        (self.returns)();
    }

    /// Returns what has been freed after [`DELAY`]. Does nothing outside of a runtime, which has ended.
    pub(crate) fn soon(self: &Arc<Self>) {
        let Ok(runtime) = Handle::try_current() else { return };
        if self.is_due.swap(true, Ordering::Relaxed) {
            return;
        }
        let memory = self.clone();
        runtime.spawn(MEMORY_RETURN.observe(TaskName::Unnamed, async move {
            tokio::time::sleep(DELAY).await;
            memory.is_due.store(false, Ordering::Relaxed);
            // This fails only if the server ends.
            let _ = tokio::task::spawn_blocking(move || memory.now()).await;
        }));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_freed_in_a_second_is_returned_together() {
        static RETURNED: AtomicUsize = AtomicUsize::new(0);
        let memory = MemoryReturn::new(|| {
            RETURNED.fetch_add(1, Ordering::Relaxed);
        });
        let returned = async || {
            tokio::time::sleep(DELAY * 2).await;
            // A blocking thread has its own time.
            while RETURNED.load(Ordering::Relaxed) == 0 {
                tokio::task::yield_now().await;
            }
            RETURNED.swap(0, Ordering::Relaxed)
        };
        for _ in 0..3 {
            memory.soon();
        }
        assert_eq!(RETURNED.load(Ordering::Relaxed), 0, "what was dropped has time to go");
        assert_eq!(returned().await, 1);
        memory.soon();
        assert_eq!(returned().await, 1, "what is freed later is returned later");
    }
}
