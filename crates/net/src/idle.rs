//! What the connections of a server are doing. Those that wait for a request make room if the server is
//! full, and end if they wait for too long.
//!
//! A request costs no look at a clock and takes no lock that connections share: waits are numbered in their
//! order. From time to time the server notes the number of the last wait, so waits with smaller numbers are
//! older than that note.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use atomic_waker::AtomicWaker;
use tokio::sync::watch;
use tokio::time::Instant;
use weir_observe::glass::Journal;

use crate::history::{ConnectionHistory, Detail, History};

/// The open connections.
#[derive(Debug, Default)]
pub(crate) struct IdleConnections {
    /// The number of the last wait that began. The first one has the number 1.
    waits: AtomicU64,
    /// Whether each connection ends after its next response.
    is_ending: AtomicBool,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    connections: HashMap<u64, Arc<Activity>>,
    is_stopping: bool,
    notes: VecDeque<Note>,
}

/// Waits up to this number had begun by this time.
#[derive(Debug)]
struct Note {
    time: Instant,
    number: u64,
}

/// The parts of a pause; what happens is seen at the end of each.
const PAUSE_PARTS: u32 = 5;

/// How long connections may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitLimits {
    /// For the first request, and for each one of HTTP/1.
    pub(crate) head: Duration,
    /// For a further request of HTTP/2.
    pub(crate) http2: Duration,
}

impl WaitLimits {
    /// How often the server should [look](IdleConnections::close_late). A connection ends an eighth of its
    /// limit late at most.
    pub(crate) fn interval(&self) -> Duration {
        (self.head.min(self.http2) / 8).max(Duration::from_millis(1))
    }
}

/// Why a connection is asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// Another connection needs its place.
    MakeRoom,
    /// It has waited for too long.
    Late,
    /// The server stops.
    Stop,
}

impl Closing {
    /// The reason with this number, which is not 0.
    fn from_number(number: u8) -> Option<Self> {
        [Self::MakeRoom, Self::Late, Self::Stop].into_iter().find(|one| one.number() == number)
    }

    fn number(self) -> u8 {
        self as u8 + 1
    }
}

impl IdleConnections {
    /// Adds a connection, which waits for its first request.
    pub(crate) fn enter(self: &Arc<Self>) -> IdleEntry {
        let activity = Arc::new(Activity {
            idle: self.clone(),
            state: Mutex::default(),
            sending_closed: watch::Sender::default(),
            is_unsent: AtomicBool::new(false),
            written_bytes: AtomicU64::new(0),
            notes_writes: AtomicBool::new(false),
            is_aborted: AtomicBool::new(false),
            is_http2: AtomicBool::new(false),
            closing: AtomicU8::new(0),
            waker: AtomicWaker::new(),
        });
        activity.begin_wait(&mut activity.state());
        let mut open = self.lock();
        if open.is_stopping {
            activity.close(Closing::Stop);
        }
        let key = open.next;
        open.next += 1;
        open.connections.insert(key, activity.clone());
        IdleEntry { activity, key }
    }

    /// Asks the connection that has waited for the longest time to close. Returns false if none
    /// waits. It looks at every connection, some nanoseconds for each.
    pub(crate) fn close_oldest(&self) -> bool {
        let open = self.lock();
        let waiting = open.connections.values().filter_map(|one| Some((one.wait()?, one)));
        let oldest = waiting.min_by_key(|(number, _)| *number);
        oldest.is_some_and(|(_, activity)| {
            activity.close(Closing::MakeRoom);
            true
        })
    }

    /// Asks the connections to close that have waited for longer than their limit, as far as the earlier
    /// calls can tell.
    pub(crate) fn close_late(&self, limits: &WaitLimits) {
        let now = Instant::now();
        let mut open = self.lock();
        let number = self.waits.load(Ordering::SeqCst);
        open.notes.push_back(Note { time: now, number });
        // The wait with this number has lasted for so long, and all before it.
        let late = |open: &Open, limit| {
            let old = open.notes.partition_point(|note| now.duration_since(note.time) >= limit);
            old.checked_sub(1).map_or(0, |last| open.notes[last].number)
        };
        let (head, http2) = (late(&open, limits.head), late(&open, limits.http2));
        for activity in open.connections.values() {
            let is_late = |number| number <= if activity.is_http2_wait() { http2 } else { head };
            if activity.wait().is_some_and(is_late) {
                activity.close(Closing::Late);
            }
        }
        let longest = limits.head.max(limits.http2);
        // The last note that is old enough for both is all that is needed of the old ones.
        while open.notes.get(1).is_some_and(|note| now.duration_since(note.time) >= longest) {
            open.notes.pop_front();
        }
    }

    /// Makes each connection of HTTP/1 end after its next response.
    pub(crate) fn end_after_responses(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Asks every connection to close, also those that will be added.
    pub(crate) fn stop(&self) {
        let mut open = self.lock();
        open.is_stopping = true;
        for activity in open.connections.values() {
            activity.close(Closing::Stop);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection. Dropping it removes it: it has ended or is upgraded, so it makes no room.
#[derive(Debug)]
pub(crate) struct IdleEntry {
    activity: Arc<Activity>,
    key: u64,
}

impl IdleEntry {
    /// What the connection is doing, for its requests and its socket.
    pub(crate) fn activity(&self) -> Arc<Activity> {
        self.activity.clone()
    }

    /// Whether a request has ever arrived.
    pub(crate) fn has_served(&self) -> bool {
        self.activity.state().has_served
    }

    /// Whether no request is in progress, and everything that was answered is written.
    pub(crate) fn is_waiting(&self) -> bool {
        self.activity.state().waiting > 0
    }

    /// The connection speaks HTTP/2, which has a limit of its own.
    pub(crate) fn set_http2(&self) {
        self.activity.is_http2.store(true, Ordering::SeqCst);
    }

    /// Waits until no request was in progress and the client took no bytes for a while. What it takes in the
    /// first part of the first pause is what was written to say that the connection ends.
    pub(crate) async fn idle_after(&self, pause: Duration) {
        let mut quiet_parts = 0;
        let mut is_first = true;
        while quiet_parts < PAUSE_PARTS {
            let before = self.activity.written_bytes.load(Ordering::Relaxed);
            tokio::time::sleep(pause / PAUSE_PARTS).await;
            let has_written = self.activity.written_bytes.load(Ordering::Relaxed) != before;
            let is_quiet = is_first || !has_written;
            let has_requests = self.activity.state().requests > 0;
            quiet_parts = if is_quiet && !has_requests { quiet_parts + 1 } else { 0 };
            is_first = false;
        }
    }

    /// Waits until the connection is asked to close. The last reason counts.
    pub(crate) async fn asked_to_close(&self) -> Closing {
        poll_fn(|context| {
            self.activity.waker.register(context.waker());
            let closing = self.activity.closing.load(Ordering::SeqCst);
            Closing::from_number(closing).map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

impl Drop for IdleEntry {
    fn drop(&mut self) {
        self.activity.idle.lock().connections.remove(&self.key);
    }
}

/// What a connection is doing: waiting, answering requests, or sending the last bytes of an answer.
#[derive(Debug)]
pub(crate) struct Activity {
    idle: Arc<IdleConnections>,
    state: Mutex<State>,
    /// Whether the client has closed its sending side.
    pub(crate) sending_closed: watch::Sender<bool>,
    /// Whether the end of a response may wait to be written. The connection is not idle until it is.
    is_unsent: AtomicBool,
    written_bytes: AtomicU64,
    /// Whether somebody looks at each write of the answer.
    notes_writes: AtomicBool,
    /// Whether the end of the connection must not be taken for the end of a body.
    is_aborted: AtomicBool,
    is_http2: AtomicBool,
    /// The [`Closing`] that was asked for, as its number; 0 if none was.
    closing: AtomicU8,
    waker: AtomicWaker,
}

#[derive(Debug, Default)]
struct State {
    /// The number of its wait; 0 during a request.
    waiting: u64,
    /// The requests in progress, up to the end of their response's body.
    requests: usize,
    has_served: bool,
    history: History,
}

impl Activity {
    /// A request has arrived. It is in progress until the guard is dropped; after that, the connection
    /// is idle as soon as everything [is written](Self::all_written).
    pub(crate) fn begin_request(self: &Arc<Self>) -> RequestInProgress {
        let mut state = self.state();
        state.requests += 1;
        state.waiting = 0;
        state.has_served = true;
        state.history.begin_request();
        drop(state);
        RequestInProgress(self.clone())
    }

    /// Everything that was sent so far has been handed to the system.
    pub(crate) fn all_written(&self) {
        // Most writes are followed by others, and need not look further.
        if !self.is_unsent.load(Ordering::SeqCst) {
            return;
        }
        let mut state = self.state();
        if state.requests == 0 && self.is_unsent.swap(false, Ordering::SeqCst) {
            state.history.end_request();
            if self.notes_writes.load(Ordering::Relaxed) {
                self.notes_writes.store(false, Ordering::Relaxed);
            }
            self.begin_wait(&mut state);
        }
    }

    /// The TLS handshake is done, and the header of a proxy read.
    pub(crate) fn note_open(&self) {
        self.state().history.note_open();
    }

    /// The first bytes of a request have come. Called only while somebody looks.
    pub(crate) fn note_head(&self) {
        self.state().history.note_head();
    }

    /// Notes the end of the request that is being answered, and perhaps its parts.
    pub(crate) fn observe(&self, journal: Journal, detail: Detail) {
        if self.is_http2.load(Ordering::SeqCst) {
            return;
        }
        self.notes_writes.store(detail == Detail::Writes, Ordering::Relaxed);
        self.state().history.observe(journal);
    }

    /// What came before the request that arrived last.
    pub(crate) fn history(&self) -> ConnectionHistory {
        let history = self.state().history.of_request();
        // Of HTTP/2 it is not known which bytes belong to which request.
        let is_http2 = self.is_http2.load(Ordering::SeqCst);
        ConnectionHistory { head_begun: history.head_begun.filter(|_| !is_http2), ..history }
    }

    /// So many bytes have been handed to the system.
    pub(crate) fn count_written(&self, bytes: usize) {
        self.written_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        if self.notes_writes.load(Ordering::Relaxed) {
            self.state().history.note_write(bytes);
        }
    }

    /// Whether the connection ends after its next response.
    pub(crate) fn is_ending(&self) -> bool {
        self.idle.is_ending.load(Ordering::Relaxed)
    }

    /// Whether a body was aborted whose end is that of the connection.
    pub(crate) fn is_aborted(&self) -> bool {
        self.is_aborted.load(Ordering::Relaxed)
    }

    fn begin_wait(&self, state: &mut State) {
        state.waiting = self.idle.waits.fetch_add(1, Ordering::SeqCst) + 1;
    }

    /// The number of its wait, if it waits and is not asked to close.
    fn wait(&self) -> Option<u64> {
        let number = self.state().waiting;
        (number > 0 && self.closing.load(Ordering::SeqCst) == 0).then_some(number)
    }

    fn is_http2_wait(&self) -> bool {
        self.is_http2.load(Ordering::SeqCst) && self.state().has_served
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self, closing: Closing) {
        self.closing.store(closing.number(), Ordering::SeqCst);
        self.waker.wake();
    }
}

/// A request whose response is not complete.
#[derive(Debug)]
pub(crate) struct RequestInProgress(Arc<Activity>);

impl RequestInProgress {
    /// The body of the response ends before its time.
    pub(crate) fn abort(&self) {
        self.0.is_aborted.store(true, Ordering::Relaxed);
    }
}

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.requests -= 1;
        self.0.is_unsent.store(true, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{Closing, IdleConnections, IdleEntry, WaitLimits};

    const LIMITS: WaitLimits =
        WaitLimits { head: Duration::from_secs(8), http2: Duration::from_secs(80) };

    /// The reason why a connection was asked to close, if it was.
    async fn closing(entry: &IdleEntry) -> Option<Closing> {
        let waiting = tokio::time::timeout(Duration::ZERO, entry.asked_to_close());
        waiting.await.ok()
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_wait_for_the_longest_time_close_first() {
        let idle = Arc::new(IdleConnections::default());
        let [first, second, third] = [idle.enter(), idle.enter(), idle.enter()];
        let request = first.activity().begin_request();
        assert!(idle.close_oldest(), "the second, as the first has a request");
        assert_eq!(closing(&second).await, Some(Closing::MakeRoom));
        drop(request);
        first.activity().all_written();
        assert!(idle.close_oldest());
        assert_eq!(closing(&third).await, Some(Closing::MakeRoom));
        assert_eq!(closing(&first).await, None);
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
    async fn a_client_that_takes_bytes_is_waited_for() {
        let pause = Duration::from_secs(1);
        let entry = Arc::new(IdleConnections::default()).enter();
        let activity = entry.activity();
        let client = async {
            for _ in 0..5 {
                tokio::time::sleep(pause * 9 / 10).await;
                activity.count_written(1);
            }
        };
        let begun = tokio::time::Instant::now();
        tokio::join!(client, entry.idle_after(pause));
        let parts = 23 + super::PAUSE_PARTS;
        assert_eq!(begun.elapsed(), pause / 5 * parts, "the last byte was taken after 4.5 s");
    }

    /// Looks as often as the server does, and returns after how many looks each connection was asked to
    /// close.
    async fn looks(idle: &IdleConnections, entries: &[&IdleEntry], most: u32) -> Vec<Option<u32>> {
        let mut found = vec![None; entries.len()];
        for look in 0..most {
            idle.close_late(&LIMITS);
            for (entry, found) in entries.iter().zip(&mut found) {
                if found.is_none() && closing(entry).await == Some(Closing::Late) {
                    *found = Some(look);
                }
            }
            tokio::time::advance(LIMITS.interval()).await;
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
        answered.activity().all_written();
        // The interval is a second, and a look can only tell what an earlier one has seen.
        let found = looks(&idle, &[&first, &busy, &answered, &other], 100).await;
        assert_eq!(found, [Some(8), None, Some(80), Some(8)]);
        drop(request);
        busy.activity().all_written();
        assert_eq!(looks(&idle, &[&busy], 100).await, [Some(8)]);
        assert!(idle.lock().notes.len() <= 82, "old notes are dropped");
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_reaches_those_that_come_later() {
        let idle = Arc::new(IdleConnections::default());
        let before = idle.enter();
        let _request = before.activity().begin_request();
        idle.stop();
        assert_eq!(closing(&before).await, Some(Closing::Stop));
        assert_eq!(closing(&idle.enter()).await, Some(Closing::Stop));
    }
}
