//! The connections that wait for a request. They make room if the server is full.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

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
        let activity = Activity {
            idle: self.clone(),
            close: Arc::default(),
            state: Mutex::new(State {
                place: None,
                begun: Instant::now(),
                requests: 0,
                is_unsent: false,
                has_served: false,
                has_left: false,
            }),
        };
        activity.begin_wait(&mut activity.state());
        IdleEntry(Arc::new(activity))
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
pub(crate) struct IdleEntry(Arc<Activity>);

impl IdleEntry {
    /// What the connection is doing, for its requests and its socket.
    pub(crate) fn activity(&self) -> Arc<Activity> {
        self.0.clone()
    }

    /// Whether a request has ever arrived.
    pub(crate) fn has_served(&self) -> bool {
        self.0.state().has_served
    }

    /// Waits for a while, and for as long again while a request is in progress.
    pub(crate) async fn idle_after(&self, pause: Duration) {
        loop {
            tokio::time::sleep(pause).await;
            if self.0.state().requests == 0 {
                return;
            }
        }
    }

    /// Waits until the connection is asked to make room.
    pub(crate) async fn asked_to_close(&self) {
        self.0.close.notified().await;
    }

    /// Waits until the connection has been idle for too long: for `first` before its first request, and
    /// for `next` after one.
    pub(crate) async fn idle_for(&self, first: Duration, next: Duration) {
        loop {
            let (limit, idle) = {
                let state = self.0.state();
                let limit = if state.has_served { next } else { first };
                (limit, if state.requests == 0 { state.begun.elapsed() } else { Duration::ZERO })
            };
            match limit.checked_sub(idle).filter(|left| !left.is_zero()) {
                Some(left) => tokio::time::sleep(left).await,
                None => return,
            }
        }
    }
}

impl Drop for IdleEntry {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.has_left = true;
        self.0.end_wait(&mut state);
    }
}

/// What a connection is doing: waiting, answering requests, or sending the last bytes of an answer.
#[derive(Debug)]
pub(crate) struct Activity {
    idle: Arc<IdleConnections>,
    close: Arc<Notify>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The place among the connections that wait; `None` during a request.
    place: Option<u64>,
    /// When the last wait began.
    begun: Instant,
    /// The requests in progress, up to the end of their response's body.
    requests: usize,
    /// Whether the end of a response may wait to be written. The connection is not idle until it is.
    is_unsent: bool,
    has_served: bool,
    /// Whether the connection has ended or has been upgraded, so that it makes no room.
    has_left: bool,
}

impl Activity {
    /// A request has arrived. It is in progress until the guard is dropped; after that, the connection
    /// is idle as soon as everything [is written](Self::all_written).
    pub(crate) fn begin_request(self: &Arc<Self>) -> RequestInProgress {
        let mut state = self.state();
        state.has_served = true;
        state.requests += 1;
        self.end_wait(&mut state);
        drop(state);
        RequestInProgress(self.clone())
    }

    /// Everything that was sent so far has been handed to the system.
    pub(crate) fn all_written(&self) {
        let mut state = self.state();
        if state.is_unsent && state.requests == 0 {
            state.is_unsent = false;
            self.begin_wait(&mut state);
        }
    }

    fn begin_wait(&self, state: &mut State) {
        state.begun = Instant::now();
        if state.has_left {
            return;
        }
        let mut waiting = self.idle.lock();
        let place = waiting.next;
        waiting.next += 1;
        waiting.connections.insert(place, self.close.clone());
        state.place = Some(place);
    }

    fn end_wait(&self, state: &mut State) {
        if let Some(place) = state.place.take() {
            self.idle.lock().connections.remove(&place);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request whose response is not complete.
#[derive(Debug)]
pub(crate) struct RequestInProgress(Arc<Activity>);

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.requests -= 1;
        state.is_unsent |= state.requests == 0;
        state.begun = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::time::Instant;

    use super::IdleConnections;

    #[tokio::test(start_paused = true)]
    async fn those_that_wait_for_the_longest_time_close_first() {
        let idle = Arc::new(IdleConnections::default());
        let [first, second, third] = [idle.enter(), idle.enter(), idle.enter()];
        let request = first.activity().begin_request();
        assert!(idle.close_oldest(), "the second, as the first has a request");
        second.asked_to_close().await;
        drop(request);
        first.activity().all_written();
        assert!(idle.close_oldest());
        third.asked_to_close().await;
        drop(first);
        assert!(!idle.close_oldest(), "none is left");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_when_its_last_answer_is_written() {
        let idle = Arc::new(IdleConnections::default());
        let entry = idle.enter();
        let activity = entry.activity();
        let requests = [activity.begin_request(), activity.begin_request()];
        for request in requests {
            activity.all_written();
            assert!(!idle.close_oldest(), "a request is in progress");
            drop(request);
        }
        assert!(!idle.close_oldest(), "the end of the answer may be unsent");
        activity.all_written();
        assert!(idle.close_oldest());
    }

    #[tokio::test(start_paused = true)]
    async fn idle_times_do_not_include_requests() {
        let [first, next] = [Duration::from_secs(1), Duration::from_secs(60)];
        let idle = Arc::new(IdleConnections::default());
        let entry = idle.enter();
        let begun = Instant::now();
        entry.idle_for(first, next).await;
        assert_eq!(begun.elapsed(), first);
        let request = entry.activity().begin_request();
        let answer = async {
            tokio::time::sleep(10 * next).await;
            drop(request);
            entry.activity().all_written();
        };
        let begun = Instant::now();
        tokio::join!(answer, entry.idle_for(first, next));
        assert_eq!(begun.elapsed(), 11 * next);
    }
}
