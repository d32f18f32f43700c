//! Stops the work on an answer, or on the check of a question.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use weir_sync::Lock;

use super::Viewer;

/// Stops the work on an answer.
#[derive(Debug, Default)]
pub(crate) struct Cancellation {
    /// The flag that the work checks.
    pub(super) should_stop: Arc<AtomicBool>,
    pub(super) viewer: Viewer,
    /// The time that was spent on checking the question, which counts as a part of the answer.
    pub(super) checked_in: Duration,
    /// True if the answer is no longer wanted. If it is false, the work was stopped to start again.
    is_final: watch::Sender<bool>,
}

impl Cancellation {
    fn cancel(&self) {
        self.is_final.send_replace(true);
        self.should_stop.store(true, Ordering::SeqCst);
    }

    /// Awaits a future, unless the answer is cancelled.
    pub(crate) async fn unless_cancelled<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let mut is_final = self.is_final.subscribe();
        tokio::select! {
            value = future => Some(value),
            // This cannot fail, because the sender lives in `self`.
            _ = is_final.wait_for(|is_final| *is_final) => None,
        }
    }

    pub(super) fn stop(&self) {
        self.should_stop.store(true, Ordering::SeqCst);
    }

    /// Lets the work start again. Returns false if the answer is no longer wanted.
    pub(super) fn restart(&self) -> bool {
        // The order matters: if `cancel` comes between the two, its flag is set last.
        self.should_stop.store(false, Ordering::SeqCst);
        let is_wanted = !*self.is_final.borrow();
        if !is_wanted {
            self.stop();
        }
        is_wanted
    }
}

/// Cancels work on an answer when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct CancelOnDrop(Arc<Cancellation>);

impl CancelOnDrop {
    /// Makes the cancellation of an answer to a checked question of a viewer.
    pub(crate) fn of<T>(checked: &Checked<T>, viewer: &Viewer) -> Self {
        // A question has one answer at a time, so that no other work looks at the flag.
        checked.stop.store(false, Ordering::SeqCst);
        Self(Arc::new(Cancellation {
            should_stop: checked.stop.clone(),
            viewer: viewer.clone(),
            // Of its first answer.
            checked_in: std::mem::take(&mut *checked.took.lock()),
            is_final: watch::Sender::default(),
        }))
    }

    /// Returns the cancellation, which the work must check.
    pub(crate) fn cancellation(&self) -> Arc<Cancellation> {
        self.0.clone()
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A question that was checked.
#[derive(Debug)]
pub(crate) struct Checked<T> {
    pub(crate) question: T,
    /// The flag that the check looked at, and that its answers look at.
    pub(super) stop: Arc<AtomicBool>,
    /// What its first answer has less of.
    pub(super) took: Lock<Duration>,
}

impl<T> Checked<T> {
    /// Returns what was checked, and what stops further work on it when it is dropped.
    pub(crate) fn into_stoppable(self) -> (T, StopOnDrop) {
        (self.question, StopOnDrop(Some(self.stop)))
    }
}

impl<T, E> Checked<Result<Option<T>, E>> {
    /// Returns the question, if there is one.
    ///
    /// # Errors
    /// Fails if the question was refused.
    pub(crate) fn transpose(self) -> Result<Option<Checked<T>>, E> {
        let Self { question, stop, took } = self;
        Ok(question?.map(|question| Checked { question, stop, took }))
    }
}

/// Sets a flag when it is dropped, unless it has become the flag of something else.
#[derive(Debug)]
pub(crate) struct StopOnDrop(pub(super) Option<Arc<AtomicBool>>);

impl StopOnDrop {
    pub(super) fn stop(&self) {
        self.0.iter().for_each(|flag| flag.store(true, Ordering::SeqCst));
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::Cancellation;

    #[test]
    fn work_that_is_cancelled_does_not_start_again() {
        let cancellation = Cancellation::default();
        cancellation.stop();
        assert!(cancellation.restart() && !cancellation.should_stop.load(Ordering::SeqCst));
        cancellation.cancel();
        assert!(!cancellation.restart() && cancellation.should_stop.load(Ordering::SeqCst));
    }
}
