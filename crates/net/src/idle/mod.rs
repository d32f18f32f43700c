//! The activity of the connections of a server. Connections that wait for a request are closed if
//! the server is full, or if they wait for too long.
//!
//! A request reads no clock and takes no lock that connections share. Instead, waits are numbered
//! in the order of their beginning. The server records the latest number together with the time at
//! intervals. All waits up to that number are at least as old as the record.

mod activity;
mod entry;
mod interim_queue;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::time::Instant;
use weir_sync::Lock;

pub(crate) use self::activity::{Activity, RequestInProgress};
pub(crate) use self::entry::IdleEntry;
use crate::close_reason::CloseReason;
use crate::head_refusal::RefusalObserver;
use crate::socket::{ConnectionEnd, ConnectionEnds};
use crate::wait_limits::WaitLimits;

/// The open connections.
#[derive(Debug, Default)]
pub(crate) struct IdleConnections {
    /// The number of the latest wait. The first one has the number 1.
    waits: AtomicU64,
    /// Whether each connection ends after its next response.
    is_ending: AtomicBool,
    open: Lock<Open>,
    ends: Arc<ConnectionEnds>,
    refusal_observer: RefusalObserver,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    connections: HashMap<u64, Arc<Activity>>,
    is_stopping: bool,
    records: VecDeque<WaitRecord>,
}

/// The number of the latest wait that had begun at a time.
#[derive(Debug)]
struct WaitRecord {
    time: Instant,
    number: u64,
}

impl IdleConnections {
    /// Creates a list without connections, which counts those that it closes.
    pub(crate) fn new(ends: Arc<ConnectionEnds>, refusal_observer: RefusalObserver) -> Self {
        Self { ends, refusal_observer, ..Self::default() }
    }

    /// Adds a connection, which waits for its first request.
    pub(crate) fn enter(self: &Arc<Self>) -> IdleEntry {
        let activity = Arc::new(Activity::new(self.clone()));
        activity.begin_wait(&mut activity.state());
        let mut open = self.open.lock();
        if open.is_stopping {
            activity.close(CloseReason::Stop);
        }
        let key = open.next;
        open.next += 1;
        open.connections.insert(key, activity.clone());
        IdleEntry { activity, key }
    }

    /// Asks the connection that has waited for the longest time to close. Returns false if none
    /// waits. It visits every connection, which takes some nanoseconds for each.
    pub(crate) fn close_oldest(&self) -> bool {
        let open = self.open.lock();
        let waiting = open.connections.values().filter_map(|one| Some((one.wait_number()?, one)));
        let oldest = waiting.min_by_key(|(number, _)| *number);
        oldest.is_some_and(|(_, activity)| {
            activity.close(CloseReason::MakeRoom);
            self.ends.count(ConnectionEnd::MadeRoom);
            true
        })
    }

    /// Asks connections to close if they have waited for longer than their limit. The age of a wait
    /// is known to the precision of the calls: see [`WaitLimits::check_interval`].
    pub(crate) fn close_late(&self, limits: &WaitLimits) {
        let now = Instant::now();
        let mut open = self.open.lock();
        let number = self.waits.load(Ordering::SeqCst);
        open.records.push_back(WaitRecord { time: now, number });
        // The number of the latest wait that has lasted for at least `limit`.
        let late = |open: &Open, limit| {
            let old =
                open.records.partition_point(|record| now.duration_since(record.time) >= limit);
            old.checked_sub(1).map_or(0, |last| open.records[last].number)
        };
        let (head, http2) = (late(&open, limits.head), late(&open, limits.http2));
        for activity in open.connections.values() {
            let is_late = |number| number <= if activity.is_http2_wait() { http2 } else { head };
            if activity.wait_number().is_some_and(is_late) {
                activity.close(CloseReason::Late);
                self.ends.count(ConnectionEnd::NoRequest);
            }
        }
        let longest = limits.head.max(limits.http2);
        // Only the newest of the records that are older than both limits is still needed.
        while open.records.get(1).is_some_and(|record| now.duration_since(record.time) >= longest) {
            open.records.pop_front();
        }
    }

    /// Makes each HTTP/1 connection end after its next response.
    pub(crate) fn end_after_responses(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Asks every connection to close, including those that are added later. One with a request in
    /// progress ends after its next response that has not begun, which says so.
    pub(crate) fn stop(&self) {
        self.end_after_responses();
        let mut open = self.open.lock();
        open.is_stopping = true;
        for activity in open.connections.values() {
            activity.close(CloseReason::Stop);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{IdleConnections, IdleEntry};
    use crate::close_reason::CloseReason;
    use crate::wait_limits::WaitLimits;

    const LIMITS: WaitLimits =
        WaitLimits { head: Duration::from_secs(8), http2: Duration::from_secs(80) };

    /// Returns the reason for which a connection was asked to close, if it was.
    async fn reason(entry: &IdleEntry) -> Option<CloseReason> {
        let waiting = tokio::time::timeout(Duration::ZERO, entry.wait_close_request());
        waiting.await.ok()
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_wait_for_the_longest_time_close_first() {
        let idle = Arc::new(IdleConnections::default());
        let [first, second, third] = [idle.enter(), idle.enter(), idle.enter()];
        let request = first.activity().begin_request();
        assert!(idle.close_oldest(), "the second, as the first has a request");
        assert_eq!(reason(&second).await, Some(CloseReason::MakeRoom));
        drop(request);
        first.activity().note_all_written();
        assert!(idle.close_oldest());
        assert_eq!(reason(&third).await, Some(CloseReason::MakeRoom));
        assert_eq!(reason(&first).await, None);
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
            activity.note_all_written();
            assert!(!idle.close_oldest(), "a request is in progress");
            drop(request);
        }
        assert!(!idle.close_oldest(), "the end of the answer may be unsent");
        activity.note_all_written();
        assert!(idle.close_oldest());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_bytes_is_waited_for() {
        let timeout = Duration::from_secs(1);
        let entry = Arc::new(IdleConnections::default()).enter();
        let activity = entry.activity();
        let client = async {
            for _ in 0..5 {
                tokio::time::sleep(timeout * 9 / 10).await;
                activity.count_written(1);
            }
        };
        let begun = tokio::time::Instant::now();
        tokio::join!(client, entry.wait_quiet(timeout));
        let parts = 23 + super::entry::TIMEOUT_PARTS;
        assert_eq!(begun.elapsed(), timeout / 5 * parts, "the last byte was taken after 4.5 s");
    }

    /// Checks as often as the server does. Returns the number of checks after which each connection
    /// was asked to close.
    async fn looks(idle: &IdleConnections, entries: &[&IdleEntry], most: u32) -> Vec<Option<u32>> {
        let mut found = vec![None; entries.len()];
        for look in 0..most {
            idle.close_late(&LIMITS);
            for (entry, found) in entries.iter().zip(&mut found) {
                if found.is_none() && reason(entry).await == Some(CloseReason::Late) {
                    *found = Some(look);
                }
            }
            tokio::time::advance(LIMITS.check_interval()).await;
        }
        found
    }

    #[tokio::test(start_paused = true)]
    async fn connections_that_wait_for_too_long_are_closed() {
        let idle = Arc::new(IdleConnections::default());
        let [first, busy, answered, other] = [(); 4].map(|()| idle.enter());
        let request = busy.activity().begin_request();
        for entry in [&answered, &other] {
            entry.set_http2();
        }
        drop(answered.activity().begin_request());
        answered.activity().note_all_written();
        // The interval is a second, and a check knows only the times of earlier checks.
        let found = looks(&idle, &[&first, &busy, &answered, &other], 100).await;
        assert_eq!(found, [Some(8), None, Some(80), Some(8)]);
        drop(request);
        busy.activity().note_all_written();
        assert_eq!(looks(&idle, &[&busy], 100).await, [Some(8)]);
        idle.stop();
        assert_eq!(reason(&busy).await, Some(CloseReason::Late), "the first reason stays");
        assert!(idle.open.lock().records.len() <= 82, "old records are dropped");
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_reaches_those_that_come_later() {
        let idle = Arc::new(IdleConnections::default());
        let before = idle.enter();
        let _request = before.activity().begin_request();
        idle.stop();
        assert_eq!(reason(&before).await, Some(CloseReason::Stop));
        assert_eq!(reason(&idle.enter()).await, Some(CloseReason::Stop));
    }
}
