//! A wait for the next request, upload or feed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::captures::Captures;
use super::open::Capture;

/// A wait for the next subject. Dropping it ends the wait.
pub struct PendingCapture {
    captures: Arc<dyn Withdraw>,
    number: u64,
    receiver: oneshot::Receiver<Capture>,
}

/// The outcome of a wait.
#[derive(Debug)]
pub enum CaptureOutcome {
    /// The captured subject.
    Found(Box<Capture>),
    /// No subject met the condition in time.
    Nothing {
        /// The number of subjects that ended without meeting the condition.
        ended: u64,
        /// The number of subjects that were not captured because there were too many.
        unseen: u64,
    },
}

/// [`Captures`] of any type of condition, as a wait needs them.
trait Withdraw: Send + Sync {
    /// Ends a wait, and returns its outcome.
    fn withdraw(&self, number: u64) -> CaptureOutcome;
}

impl<C: Send> Withdraw for Captures<C> {
    fn withdraw(&self, number: u64) -> CaptureOutcome {
        self.end_wait(number)
    }
}

impl PendingCapture {
    pub(super) fn new<C: Send + 'static>(
        captures: Arc<Captures<C>>,
        number: u64,
        receiver: oneshot::Receiver<Capture>,
    ) -> Self {
        Self { captures, number, receiver }
    }

    /// Waits at most `patience`. Without a condition, it then returns an unfinished subject with
    /// its steps so far.
    pub async fn wait(mut self, patience: Duration) -> CaptureOutcome {
        let received = tokio::time::timeout(patience, &mut self.receiver).await;
        match received {
            Ok(Ok(capture)) => CaptureOutcome::Found(Box::new(capture)),
            // The sender is dropped without sending only when the program ends.
            Ok(Err(_)) => CaptureOutcome::Nothing { ended: 0, unseen: 0 },
            Err(_elapsed) => {
                let outcome = self.captures.withdraw(self.number);
                // It may have come just before that.
                let late = self.receiver.try_recv().ok();
                late.map_or(outcome, |capture| CaptureOutcome::Found(Box::new(capture)))
            }
        }
    }
}

impl Drop for PendingCapture {
    fn drop(&mut self) {
        self.captures.withdraw(self.number);
    }
}

impl fmt::Debug for PendingCapture {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PendingCapture")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}
