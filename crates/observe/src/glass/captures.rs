//! Captures: waits for the next request, upload or feed.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::oneshot;

use super::journal::{Journal, Observation, SharedJournal};
use super::permits::{JournalPermit, JournalPermits};

/// The most captures that wait at a time.
const WAITING_MAX: usize = 8;

/// The number of captures that wait in the whole program.
static ARMED: AtomicUsize = AtomicUsize::new(0);

/// Returns whether any capture of the program waits, for code that cannot access the [`Captures`]
/// of its request.
#[inline]
pub fn is_any_armed() -> bool {
    ARMED.load(Ordering::Relaxed) > 0
}

/// The captures of one kind of subject, such as the requests of a gateway. A subject is a request,
/// upload or feed. `C` is the type of the condition that a capture may put on its subject.
#[derive(Debug)]
pub struct Captures<C> {
    /// The number of waiting captures: the length of `State::waiters`, readable without the lock.
    armed: AtomicUsize,
    permits: JournalPermits,
    /// The number of subjects that got no journal because there were too many.
    unseen: AtomicU64,
    state: Mutex<State<C>>,
}

#[derive(Debug)]
struct State<C> {
    /// The number of the next capture.
    next: u64,
    waiters: Vec<Waiter<C>>,
    journals: Vec<Weak<SharedJournal>>,
}

/// The shared half of a waiting capture.
#[derive(Debug)]
struct Waiter<C> {
    number: u64,
    condition: Option<C>,
    sender: oneshot::Sender<Observation>,
    /// The number of subjects that ended without meeting the condition.
    ended: u64,
    /// The value of `Captures::unseen` when the wait began.
    unseen_before: u64,
}

/// A wait for the next subject. Dropping it ends the wait.
#[derive(Debug)]
pub struct Capture<C> {
    captures: Arc<Captures<C>>,
    number: u64,
    receiver: oneshot::Receiver<Observation>,
    is_unconditional: bool,
}

/// The outcome of a capture.
#[derive(Debug)]
pub enum Sight {
    /// The captured subject.
    Found(Box<Observation>),
    /// No subject met the condition in time.
    Nothing {
        /// The number of subjects that ended without meeting the condition.
        ended: u64,
        /// The number of subjects that got no journal because there were too many.
        unseen: u64,
    },
}

/// The error that the maximum number of captures already waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyCaptures;

impl fmt::Display for TooManyCaptures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{WAITING_MAX} others are waiting already; try again when one has ended")
    }
}

impl std::error::Error for TooManyCaptures {}

impl<C> Default for Captures<C> {
    fn default() -> Self {
        let state = State { next: 0, waiters: Vec::new(), journals: Vec::new() };
        Self {
            armed: AtomicUsize::new(0),
            permits: JournalPermits::default(),
            unseen: AtomicU64::new(0),
            state: Mutex::new(state),
        }
    }
}

impl<C> Captures<C> {
    /// Starts to wait for the next subject, or for the next one that meets a condition when it
    /// ends.
    ///
    /// # Errors
    /// If too many captures wait already.
    pub fn arm(self: &Arc<Self>, condition: Option<C>) -> Result<Capture<C>, TooManyCaptures> {
        let (sender, receiver) = oneshot::channel();
        let is_unconditional = condition.is_none();
        let mut state = self.lock();
        if state.waiters.len() >= WAITING_MAX {
            return Err(TooManyCaptures);
        }
        let number = state.next;
        state.next += 1;
        let unseen_before = self.unseen.load(Ordering::Relaxed);
        state.waiters.push(Waiter { number, condition, sender, ended: 0, unseen_before });
        self.update_armed(&state);
        ARMED.fetch_add(1, Ordering::Relaxed);
        drop(state);
        Ok(Capture { captures: self.clone(), number, receiver, is_unconditional })
    }

    /// Returns whether a capture waits.
    #[inline]
    pub fn is_armed(&self) -> bool {
        self.armed.load(Ordering::Relaxed) > 0
    }

    /// Returns a journal for a subject that begins now, if a capture waits. `name` returns its name
    /// for a person, which must not contain secrets.
    #[inline]
    pub fn journal(&self, name: impl FnOnce() -> String) -> Option<Journal> {
        if self.is_armed() { self.open(&name()) } else { None }
    }

    /// Updates the journal of a long subject in progress, such as an upload. Opens one if a capture
    /// waits and there is none, and drops one that no capture waits for. It is cheap enough to call
    /// at each step: it takes a shared lock only to open a journal.
    #[inline]
    pub fn follow(&self, journal: &mut Option<Journal>, name: impl FnOnce() -> String) {
        if !self.is_armed() {
            *journal = None;
        } else if journal.as_ref().is_none_or(|journal| journal.shared().is_closed())
            && let Some(permit) = self.permits.take()
        {
            *journal = Some(self.open_with(permit, &name()));
        }
    }

    #[cold]
    fn open(&self, name: &str) -> Option<Journal> {
        match self.permits.take() {
            Some(permit) => Some(self.open_with(permit, name)),
            None => {
                self.unseen.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    fn open_with(&self, permit: JournalPermit, name: &str) -> Journal {
        let journal = Journal::new(permit, name);
        let mut state = self.lock();
        state.journals.retain(|journal| journal.strong_count() > 0);
        state.journals.push(Arc::downgrade(journal.shared()));
        journal
    }

    /// Ends the subject of a journal, and assigns the journal to the first capture whose condition
    /// it `meets`. The capture receives it when the last clone of the journal is dropped.
    pub fn end(&self, journal: Journal, meets: &dyn Fn(&C) -> bool) {
        let mut state = self.lock();
        if journal.shared().is_closed() {
            return;
        }
        let accepts = |waiter: &Waiter<C>| waiter.condition.as_ref().is_none_or(meets);
        let found = state.waiters.iter().position(accepts);
        let rejected = found.unwrap_or(state.waiters.len());
        for waiter in state.waiters.iter_mut().take(rejected) {
            waiter.ended += 1;
        }
        if let Some(index) = found {
            let waiter = state.waiters.remove(index);
            journal.shared().send_to(waiter.number, waiter.sender);
            self.disarm(&mut state);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update_armed(&self, state: &State<C>) {
        self.armed.store(state.waiters.len(), Ordering::Relaxed);
    }

    /// Accounts for a waiter that was removed. After the last one, closes the journals.
    fn disarm(&self, state: &mut State<C>) {
        self.update_armed(state);
        ARMED.fetch_sub(1, Ordering::Relaxed);
        if state.waiters.is_empty() {
            for journal in state.journals.iter().filter_map(Weak::upgrade) {
                journal.close_if_unassigned();
            }
            // Journals that are assigned to a capture remain.
            state.journals.retain(|it| it.upgrade().is_some_and(|journal| !journal.is_closed()));
        }
    }

    /// Returns the outcome of a capture whose time is over. A journal that is assigned to the
    /// capture, but still has clones, is returned as it is. Otherwise a capture without a condition
    /// gets the oldest unfinished journal. If there is none, the outcome is the number of subjects
    /// that did not match.
    fn sight_at_timeout(&self, number: u64, is_unconditional: bool) -> Sight {
        let mut state = self.lock();
        let waiter = state.waiters.iter().position(|waiter| waiter.number == number);
        let waiter = waiter.map(|index| state.waiters.remove(index));
        let journals: Vec<Arc<SharedJournal>> =
            state.journals.iter().filter_map(Weak::upgrade).collect();
        let own = || journals.iter().find(|journal| journal.is_for(number));
        let oldest = || journals.iter().find(|it| is_unconditional && it.is_unassigned());
        let sight = match (own().or_else(oldest), &waiter) {
            (Some(journal), _) => Sight::Found(Box::new(journal.snapshot())),
            (None, Some(Waiter { ended, unseen_before, .. })) => {
                let unseen = self.unseen.load(Ordering::Relaxed).saturating_sub(*unseen_before);
                Sight::Nothing { ended: *ended, unseen }
            }
            (None, None) => Sight::Nothing { ended: 0, unseen: 0 },
        };
        if waiter.is_some() {
            self.disarm(&mut state);
        }
        sight
    }
}

impl<C> Capture<C> {
    /// Waits at most `patience`. Without a condition, it then returns an unfinished subject with
    /// its steps so far.
    pub async fn wait(mut self, patience: Duration) -> Sight {
        let received = tokio::time::timeout(patience, &mut self.receiver).await;
        match received {
            Ok(Ok(observation)) => Sight::Found(Box::new(observation)),
            // The sender is dropped without sending only when the program ends.
            Ok(Err(_)) => Sight::Nothing { ended: 0, unseen: 0 },
            Err(_elapsed) => match self.receiver.try_recv() {
                Ok(observation) => Sight::Found(Box::new(observation)),
                Err(_) => self.captures.sight_at_timeout(self.number, self.is_unconditional),
            },
        }
    }
}

impl<C> Drop for Capture<C> {
    fn drop(&mut self) {
        let mut state = self.captures.lock();
        let before = state.waiters.len();
        state.waiters.retain(|waiter| waiter.number != self.number);
        if state.waiters.len() < before {
            self.captures.disarm(&mut state);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::super::permits::JOURNALS_MAX;
    use super::{Captures, Journal};

    /// Calls `follow` on another thread while this one holds the lock. Returns whether it finished
    /// without it.
    fn follows_without_lock(captures: &Arc<Captures<Infallible>>, kept: Option<Journal>) -> bool {
        let held = captures.lock();
        let (sender, answered) = mpsc::channel();
        let asking = captures.clone();
        let thread = std::thread::spawn(move || {
            let mut journal = kept;
            asking.follow(&mut journal, || "a feed".to_owned());
            // The receiver was dropped if this took too long.
            let _ = sender.send(());
        });
        let is_answered = answered.recv_timeout(Duration::from_secs(20)).is_ok();
        drop(held);
        thread.join().expect("no panic");
        is_answered
    }

    #[test]
    fn follow_without_a_permit_takes_no_lock() {
        let captures = Arc::new(Captures::default());
        let _capture = captures.arm(None).expect("room");
        let name = || "a feed".to_owned();
        let mut held: Vec<Journal> =
            (0..JOURNALS_MAX).map(|_| captures.journal(name).expect("a permit")).collect();
        assert!(follows_without_lock(&captures, None), "all permits are taken");
        let last = held.pop();
        assert!(follows_without_lock(&captures, last), "it has a journal");
        let mut journal = None;
        captures.follow(&mut journal, name);
        assert!(journal.is_some(), "the ended journal has returned its permit");
    }

    #[test]
    fn a_closed_journal_holds_no_permit() {
        let captures = Arc::new(Captures::<Infallible>::default());
        let name = || "a request".to_owned();
        let capture = captures.arm(None).expect("room");
        let _held: Vec<Journal> =
            (0..JOURNALS_MAX).map(|_| captures.journal(name).expect("a permit")).collect();
        assert!(captures.journal(name).is_none());
        drop(capture);
        let _capture = captures.arm(None).expect("room");
        assert!(captures.journal(name).is_some());
    }
}
