//! The connections that wait for a request. They make room if the server is full.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The open connections without a request in progress, in the order in which they began to wait.
#[derive(Debug, Default)]
pub(crate) struct IdleConnections {
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    connections: BTreeMap<u64, Arc<Notify>>,
}

impl IdleConnections {
    /// Adds a connection, which waits for its first request.
    pub(crate) fn enter(self: &Arc<Self>) -> IdleEntry {
        let entry = IdleEntry {
            idle: self.clone(),
            close: Arc::default(),
            number: Mutex::default(),
            has_served: AtomicBool::new(false),
        };
        entry.begin_wait();
        entry
    }

    /// Asks the connection that has waited for the longest time to close. Returns false if none
    /// waits.
    pub(crate) fn close_oldest(&self) -> bool {
        let oldest = self.lock().connections.pop_first();
        oldest.is_some_and(|(_, close)| {
            close.notify_one();
            true
        })
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct IdleEntry {
    idle: Arc<IdleConnections>,
    close: Arc<Notify>,
    /// Its place among the connections that wait; `None` during a request.
    number: Mutex<Option<u64>>,
    has_served: AtomicBool,
}

impl IdleEntry {
    /// The connection has answered its request, and waits for the next one.
    pub(crate) fn begin_wait(&self) {
        let mut waiting = self.idle.lock();
        let number = waiting.next;
        waiting.next += 1;
        waiting.connections.insert(number, self.close.clone());
        *self.number() = Some(number);
    }

    /// A request has arrived.
    pub(crate) fn end_wait(&self) {
        self.has_served.store(true, Ordering::Relaxed);
        if let Some(number) = self.number().take() {
            self.idle.lock().connections.remove(&number);
        }
    }

    /// Whether a request has ever arrived.
    pub(crate) fn has_served(&self) -> bool {
        self.has_served.load(Ordering::Relaxed)
    }

    /// Waits until the connection is asked to make room.
    pub(crate) async fn asked_to_close(&self) {
        self.close.notified().await;
    }

    fn number(&self) -> MutexGuard<'_, Option<u64>> {
        self.number.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for IdleEntry {
    fn drop(&mut self) {
        self.end_wait();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::IdleConnections;

    #[tokio::test(start_paused = true)]
    async fn those_that_wait_for_the_longest_time_close_first() {
        let idle = Arc::new(IdleConnections::default());
        let [first, second, third] = [idle.enter(), idle.enter(), idle.enter()];
        first.end_wait();
        assert!(idle.close_oldest(), "the second, as the first has a request");
        second.asked_to_close().await;
        first.begin_wait();
        assert!(idle.close_oldest());
        third.asked_to_close().await;
        drop(first);
        assert!(!idle.close_oldest(), "none is left");
    }
}
