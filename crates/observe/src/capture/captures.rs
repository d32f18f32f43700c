//! The pending captures of one kind of subject, and those in progress.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use tokio::sync::oneshot;
use weir_sync::Lock;

use super::error::CaptureError;
use super::open::{Capture, OpenCapture, SharedCapture};
use super::pending::{CaptureOutcome, PendingCapture};
use super::permits::{CapturePermit, CapturePermits};

/// The most captures that are pending at a time.
pub(super) const PENDING_MAX: usize = 8;

/// The number of pending captures in the whole program.
static ARMED: AtomicUsize = AtomicUsize::new(0);

/// Returns whether any capture of the program is pending, for code that cannot access the
/// [`Captures`] of its request.
#[inline]
pub fn is_any_armed() -> bool {
    ARMED.load(Ordering::Relaxed) > 0
}

/// The captures of one kind of subject, such as the requests of a gateway. A subject is a request,
/// upload or feed. `C` is the type of the condition that a wait may put on its subject.
#[derive(Debug)]
pub struct Captures<C> {
    /// The number of waits: the length of `Waits::waiters`, readable without the lock.
    armed: AtomicUsize,
    permits: CapturePermits,
    /// The number of subjects that were not captured because there were too many.
    unseen: AtomicU64,
    waits: Lock<Waits<C>>,
}

#[derive(Debug)]
struct Waits<C> {
    /// The number of the next wait.
    next: u64,
    waiters: Vec<Waiter<C>>,
    open: Vec<Weak<SharedCapture>>,
}

/// The other half of a [`PendingCapture`].
#[derive(Debug)]
struct Waiter<C> {
    number: u64,
    condition: Option<C>,
    sender: oneshot::Sender<Capture>,
    /// The number of subjects that ended without meeting the condition.
    ended: u64,
    /// The value of `Captures::unseen` when the wait began.
    unseen_before: u64,
}

impl<C> Default for Captures<C> {
    fn default() -> Self {
        let waits = Waits { next: 0, waiters: Vec::new(), open: Vec::new() };
        Self {
            armed: AtomicUsize::new(0),
            permits: CapturePermits::default(),
            unseen: AtomicU64::new(0),
            waits: Lock::new(waits),
        }
    }
}

impl Captures<Infallible> {
    /// Starts to wait for the next subject.
    ///
    /// # Errors
    /// If there is a condition, or if too many captures are pending.
    pub fn arm_any(
        self: &Arc<Self>,
        condition: Option<&str>,
    ) -> Result<PendingCapture, CaptureError> {
        if condition.is_some() {
            return Err(CaptureError::NoConditions);
        }
        self.arm(None)
    }
}

impl<C: Send + 'static> Captures<C> {
    /// Starts to wait for the next subject, or for the next one that meets a condition when it
    /// ends.
    ///
    /// # Errors
    /// If too many captures are pending.
    pub fn arm(self: &Arc<Self>, condition: Option<C>) -> Result<PendingCapture, CaptureError> {
        let (sender, receiver) = oneshot::channel();
        let mut waits = self.waits.lock();
        if waits.waiters.len() >= PENDING_MAX {
            return Err(CaptureError::TooMany);
        }
        let number = waits.next;
        waits.next += 1;
        let unseen_before = self.unseen.load(Ordering::Relaxed);
        waits.waiters.push(Waiter { number, condition, sender, ended: 0, unseen_before });
        self.update_armed(&waits);
        ARMED.fetch_add(1, Ordering::Relaxed);
        drop(waits);
        Ok(PendingCapture::new(self.clone(), number, receiver))
    }
}

impl<C> Captures<C> {
    /// Returns whether a capture is pending.
    #[inline]
    pub fn is_armed(&self) -> bool {
        self.armed.load(Ordering::Relaxed) > 0
    }

    /// Opens the capture of a subject that begins now, if one is pending. `name` returns its name
    /// for a person, which must not contain secrets.
    #[inline]
    pub fn open(&self, name: impl FnOnce() -> String) -> Option<OpenCapture> {
        if self.is_armed() { self.open_counted(&name()) } else { None }
    }

    /// Updates the capture of a long subject in progress, such as an upload. Opens one if a capture
    /// is pending and there is none, and drops one that nobody waits for. It is cheap enough to
    /// call at each step: it takes a shared lock only to open a capture.
    #[inline]
    pub fn follow(&self, capture: &mut Option<OpenCapture>, name: impl FnOnce() -> String) {
        if !self.is_armed() {
            *capture = None;
        } else if capture.as_ref().is_none_or(|capture| capture.shared().is_closed())
            && let Some(permit) = self.permits.take()
        {
            *capture = Some(self.open_with(permit, &name()));
        }
    }

    #[cold]
    fn open_counted(&self, name: &str) -> Option<OpenCapture> {
        let permit = self.permits.take();
        if permit.is_none() {
            self.unseen.fetch_add(1, Ordering::Relaxed);
        }
        Some(self.open_with(permit?, name))
    }

    fn open_with(&self, permit: CapturePermit, name: &str) -> OpenCapture {
        let capture = OpenCapture::new(permit, name);
        let mut waits = self.waits.lock();
        waits.open.retain(|capture| capture.strong_count() > 0);
        waits.open.push(Arc::downgrade(capture.shared()));
        capture
    }

    /// Ends the subject of a capture, and assigns the capture to the first wait whose condition it
    /// `meets`. The wait receives it when its last clone is dropped.
    pub fn end(&self, capture: OpenCapture, meets: &dyn Fn(&C) -> bool) {
        let mut waits = self.waits.lock();
        if capture.shared().is_closed() {
            return;
        }
        let accepts = |waiter: &Waiter<C>| waiter.condition.as_ref().is_none_or(meets);
        let found = waits.waiters.iter().position(accepts);
        let rejected = found.unwrap_or(waits.waiters.len());
        for waiter in waits.waiters.iter_mut().take(rejected) {
            waiter.ended += 1;
        }
        if let Some(index) = found {
            let waiter = waits.waiters.remove(index);
            capture.shared().send_to(waiter.number, waiter.sender);
            self.disarm(&mut waits);
        }
    }

    fn update_armed(&self, waits: &Waits<C>) {
        self.armed.store(waits.waiters.len(), Ordering::Relaxed);
    }

    /// Accounts for a waiter that was removed. After the last one, closes the captures in progress.
    fn disarm(&self, waits: &mut Waits<C>) {
        self.update_armed(waits);
        ARMED.fetch_sub(1, Ordering::Relaxed);
        if waits.waiters.is_empty() {
            for capture in waits.open.iter().filter_map(Weak::upgrade) {
                capture.close_if_unassigned();
            }
            // Captures that are assigned to a wait remain.
            waits.open.retain(|it| it.upgrade().is_some_and(|capture| !capture.is_closed()));
        }
    }

    /// Ends a wait whose time is over, or that was given up, and returns its outcome. A capture
    /// that is assigned to the wait, but still has clones, is returned as it is. Otherwise a wait
    /// without a condition gets the oldest unfinished capture. If there is none, the outcome is the
    /// number of subjects that did not match.
    pub(super) fn end_wait(&self, number: u64) -> CaptureOutcome {
        let mut waits = self.waits.lock();
        let waiter = waits.waiters.iter().position(|waiter| waiter.number == number);
        let waiter = waiter.map(|index| waits.waiters.remove(index));
        let takes_any = waiter.as_ref().is_some_and(|waiter| waiter.condition.is_none());
        let open: Vec<Arc<SharedCapture>> = waits.open.iter().filter_map(Weak::upgrade).collect();
        let own = || open.iter().find(|capture| capture.is_for(number));
        let oldest = || open.iter().find(|it| takes_any && it.is_unassigned());
        let outcome = match (own().or_else(oldest), &waiter) {
            (Some(capture), _) => CaptureOutcome::Found(Box::new(capture.snapshot())),
            (None, Some(Waiter { ended, unseen_before, .. })) => {
                let unseen = self.unseen.load(Ordering::Relaxed).saturating_sub(*unseen_before);
                CaptureOutcome::Nothing { ended: *ended, unseen }
            }
            (None, None) => CaptureOutcome::Nothing { ended: 0, unseen: 0 },
        };
        if waiter.is_some() {
            self.disarm(&mut waits);
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::super::permits::OPEN_MAX;
    use super::{Captures, OpenCapture};

    /// Calls `follow` on another thread while this one holds the lock. Returns whether it finished
    /// without it.
    fn follows_without_lock(
        captures: &Arc<Captures<Infallible>>,
        kept: Option<OpenCapture>,
    ) -> bool {
        let held = captures.waits.lock();
        let (sender, answered) = mpsc::channel();
        let asking = captures.clone();
        let thread = std::thread::spawn(move || {
            let mut capture = kept;
            asking.follow(&mut capture, || "a feed".to_owned());
            // The receiver was dropped if this took too long.
            let _ = sender.send(());
        });
        let is_answered = answered.recv_timeout(Duration::from_secs(60)).is_ok();
        drop(held);
        thread.join().expect("no panic");
        is_answered
    }

    #[test]
    fn follow_without_a_permit_takes_no_lock() {
        let captures = Arc::new(Captures::default());
        let _pending = captures.arm(None).expect("room");
        let name = || "a feed".to_owned();
        let mut held: Vec<OpenCapture> =
            (0..OPEN_MAX).map(|_| captures.open(name).expect("a permit")).collect();
        assert!(follows_without_lock(&captures, None), "all permits are taken");
        let last = held.pop();
        assert!(follows_without_lock(&captures, last), "it has a capture");
        let mut capture = None;
        captures.follow(&mut capture, name);
        assert!(capture.is_some(), "the ended capture has returned its permit");
    }

    #[test]
    fn a_closed_capture_holds_no_permit() {
        let captures = Arc::new(Captures::<Infallible>::default());
        let name = || "a request".to_owned();
        let pending = captures.arm(None).expect("room");
        let _held: Vec<OpenCapture> =
            (0..OPEN_MAX).map(|_| captures.open(name).expect("a permit")).collect();
        assert!(captures.open(name).is_none());
        drop(pending);
        let _pending = captures.arm(None).expect("room");
        assert!(captures.open(name).is_some());
    }
}
