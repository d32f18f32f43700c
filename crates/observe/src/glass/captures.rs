//! Those who wait for a request.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::oneshot;

use super::journal::{Journal, Notes, Observation};
use super::places::{Place, Places};

/// Captures that wait at a time.
const WAITING_MAX: usize = 8;

/// The captures that wait in the whole program.
static ARMED: AtomicUsize = AtomicUsize::new(0);

/// Whether somebody in the program waits for anything: for code that does not know whose request it serves.
#[inline]
pub fn is_any_armed() -> bool {
    ARMED.load(Ordering::Relaxed) > 0
}

/// Those who wait for things of one kind, such as the requests of a gateway. `C` is the condition that such a
/// thing may have to meet.
#[derive(Debug)]
pub struct Captures<C> {
    /// The captures that wait.
    armed: AtomicUsize,
    places: Places,
    /// Those that were not noted so far, because too many were.
    unseen: AtomicU64,
    state: Mutex<State<C>>,
}

#[derive(Debug)]
struct State<C> {
    next: u64,
    waiting: Vec<Waiting<C>>,
    journals: Vec<Weak<Notes>>,
}

#[derive(Debug)]
struct Waiting<C> {
    number: u64,
    condition: Option<C>,
    sender: oneshot::Sender<Observation>,
    /// Those that have ended, and did not meet the condition.
    ended: u64,
    /// Those that were not noted before it began to wait.
    unseen_before: u64,
}

/// Somebody who waits. Dropping it ends the wait.
#[derive(Debug)]
pub struct Capture<C> {
    captures: Arc<Captures<C>>,
    number: u64,
    receiver: oneshot::Receiver<Observation>,
    is_unconditional: bool,
}

/// What a capture has seen.
#[derive(Debug)]
pub enum Sight {
    /// The one that was waited for.
    Found(Box<Observation>),
    /// None came in time.
    Nothing {
        /// Those that have ended, and did not meet the condition.
        ended: u64,
        /// Those that were not looked at, because too many were at the time.
        unseen: u64,
    },
}

/// As many captures wait as may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyCaptures;

impl fmt::Display for TooManyCaptures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{WAITING_MAX} others wait already; try again when one of them has ended")
    }
}

impl std::error::Error for TooManyCaptures {}

impl<C> Default for Captures<C> {
    fn default() -> Self {
        let state = State { next: 0, waiting: Vec::new(), journals: Vec::new() };
        Self {
            armed: AtomicUsize::new(0),
            places: Places::default(),
            unseen: AtomicU64::new(0),
            state: Mutex::new(state),
        }
    }
}

impl<C> Captures<C> {
    /// Begins to wait for the next thing, or the next one that meets a condition when it ends.
    ///
    /// # Errors
    /// If too many wait already.
    pub fn arm(self: &Arc<Self>, condition: Option<C>) -> Result<Capture<C>, TooManyCaptures> {
        let (sender, receiver) = oneshot::channel();
        let is_unconditional = condition.is_none();
        let mut state = self.lock();
        if state.waiting.len() >= WAITING_MAX {
            return Err(TooManyCaptures);
        }
        let number = state.next;
        state.next += 1;
        let unseen_before = self.unseen.load(Ordering::Relaxed);
        state.waiting.push(Waiting { number, condition, sender, ended: 0, unseen_before });
        self.count(&state);
        ARMED.fetch_add(1, Ordering::Relaxed);
        drop(state);
        Ok(Capture { captures: self.clone(), number, receiver, is_unconditional })
    }

    /// Whether somebody waits.
    #[inline]
    pub fn is_armed(&self) -> bool {
        self.armed.load(Ordering::Relaxed) > 0
    }

    /// A journal for something that begins now, if somebody waits. `name` says what it is, without secrets.
    #[inline]
    pub fn journal(&self, name: impl FnOnce() -> String) -> Option<Journal> {
        if self.is_armed() { self.open(&name()) } else { None }
    }

    /// Begins the journal of something long that is under way, such as an upload, if somebody waits and it has
    /// none; lets go of one that nobody waits for any more. It can be called for each of its steps: it takes a lock
    /// that others may want only if it begins a journal.
    #[inline]
    pub fn follow(&self, journal: &mut Option<Journal>, name: impl FnOnce() -> String) {
        if !self.is_armed() {
            *journal = None;
        } else if journal.as_ref().is_none_or(|journal| journal.notes().is_over())
            && let Some(place) = self.places.take()
        {
            *journal = Some(self.open_at(place, &name()));
        }
    }

    #[cold]
    fn open(&self, name: &str) -> Option<Journal> {
        match self.places.take() {
            Some(place) => Some(self.open_at(place, name)),
            None => {
                self.unseen.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    fn open_at(&self, place: Place, name: &str) -> Journal {
        let journal = Journal::new(place, name);
        let mut state = self.lock();
        state.journals.retain(|notes| notes.strong_count() > 0);
        state.journals.push(Arc::downgrade(journal.notes()));
        journal
    }

    /// What the journal is of has ended. The first who waits and whose condition it meets gets it when the last
    /// clone of the journal is dropped.
    pub fn end(&self, journal: Journal, meets: &dyn Fn(&C) -> bool) {
        let mut state = self.lock();
        if journal.notes().is_over() {
            return;
        }
        let fits = |waiting: &Waiting<C>| waiting.condition.as_ref().is_none_or(meets);
        let found = state.waiting.iter().position(fits);
        let passed = found.unwrap_or(state.waiting.len());
        for waiting in state.waiting.iter_mut().take(passed) {
            waiting.ended += 1;
        }
        if let Some(index) = found {
            let waiting = state.waiting.remove(index);
            journal.notes().send_to(waiting.number, waiting.sender);
            self.disarmed(&mut state);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, state: &State<C>) {
        self.armed.store(state.waiting.len(), Ordering::Relaxed);
    }

    /// One waits no longer. If it was the last one, nobody wants the journals.
    fn disarmed(&self, state: &mut State<C>) {
        self.count(state);
        ARMED.fetch_sub(1, Ordering::Relaxed);
        if state.waiting.is_empty() {
            for notes in state.journals.iter().filter_map(Weak::upgrade) {
                notes.give_up();
            }
            // What is on its way to somebody stays.
            state.journals.retain(|notes| notes.upgrade().is_some_and(|notes| !notes.is_over()));
        }
    }

    /// What a capture can have at the end of its patience: what has ended for it and still notes its last step,
    /// or without a condition the oldest that has not ended; otherwise how many passed.
    fn last_sight(&self, number: u64, is_unconditional: bool) -> Sight {
        let mut state = self.lock();
        let waiting = state.waiting.iter().position(|waiting| waiting.number == number);
        let waiting = waiting.map(|index| state.waiting.remove(index));
        let journals: Vec<Arc<Notes>> = state.journals.iter().filter_map(Weak::upgrade).collect();
        let own = || journals.iter().find(|notes| notes.is_for(number));
        let oldest = || journals.iter().find(|notes| is_unconditional && notes.is_free());
        let sight = match (own().or_else(oldest), &waiting) {
            (Some(notes), _) => Sight::Found(Box::new(notes.so_far())),
            (None, Some(Waiting { ended, unseen_before, .. })) => {
                let unseen = self.unseen.load(Ordering::Relaxed).saturating_sub(*unseen_before);
                Sight::Nothing { ended: *ended, unseen }
            }
            (None, None) => Sight::Nothing { ended: 0, unseen: 0 },
        };
        if waiting.is_some() {
            self.disarmed(&mut state);
        }
        sight
    }
}

impl<C> Capture<C> {
    /// Waits for so long. Without a condition, something that has not ended by then is shown as far as it
    /// came.
    pub async fn wait(mut self, patience: Duration) -> Sight {
        let came = tokio::time::timeout(patience, &mut self.receiver).await;
        match came {
            Ok(Ok(observation)) => Sight::Found(Box::new(observation)),
            // It cannot be dropped unsent, except when the program ends.
            Ok(Err(_)) => Sight::Nothing { ended: 0, unseen: 0 },
            Err(_elapsed) => match self.receiver.try_recv() {
                Ok(observation) => Sight::Found(Box::new(observation)),
                Err(_) => self.captures.last_sight(self.number, self.is_unconditional),
            },
        }
    }
}

impl<C> Drop for Capture<C> {
    fn drop(&mut self) {
        let mut state = self.captures.lock();
        let before = state.waiting.len();
        state.waiting.retain(|waiting| waiting.number != self.number);
        if state.waiting.len() < before {
            self.captures.disarmed(&mut state);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::super::places::JOURNALS_MAX;
    use super::{Captures, Journal};

    /// Asks in vain for a journal on another thread, while this one has the lock.
    fn asks_without_the_lock(captures: &Arc<Captures<Infallible>>, kept: Option<Journal>) -> bool {
        let held = captures.lock();
        let (sender, answered) = mpsc::channel();
        let asking = captures.clone();
        let thread = std::thread::spawn(move || {
            let mut journal = kept;
            asking.follow(&mut journal, || "a feed".to_owned());
            // The receiver has gone if this took too long.
            let _ = sender.send(());
        });
        let is_answered = answered.recv_timeout(Duration::from_secs(5)).is_ok();
        drop(held);
        thread.join().expect("no panic");
        is_answered
    }

    #[test]
    fn a_feed_without_a_place_takes_no_lock() {
        let captures = Arc::new(Captures::default());
        let _capture = captures.arm(None).expect("a place");
        let name = || "a feed".to_owned();
        let mut held: Vec<Journal> =
            (0..JOURNALS_MAX).map(|_| captures.journal(name).expect("a place")).collect();
        assert!(asks_without_the_lock(&captures, None), "all places are taken");
        let last = held.pop();
        assert!(asks_without_the_lock(&captures, last), "it has a journal");
        let mut journal = None;
        captures.follow(&mut journal, name);
        assert!(journal.is_some(), "the place of the one that ended is free");
    }

    #[test]
    fn a_journal_that_nobody_waits_for_holds_no_place() {
        let captures = Arc::new(Captures::<Infallible>::default());
        let name = || "a request".to_owned();
        let capture = captures.arm(None).expect("a place");
        let _held: Vec<Journal> =
            (0..JOURNALS_MAX).map(|_| captures.journal(name).expect("a place")).collect();
        assert!(captures.journal(name).is_none());
        drop(capture);
        let _capture = captures.arm(None).expect("a place");
        assert!(captures.journal(name).is_some());
    }
}
