//! The wait of a request's body for the backend's `100 Continue`.
//!
//! A client that sends `Expect: 100-continue` wants to know before it sends the body whether it is of any
//! use. Only the backend knows. So its body is not read before the backend asks for it, and not at all if
//! the backend answers first (RFC 9110 section 10.1.1).

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::Sleep;
use weir_sync::Lock;

/// How long a body waits for a backend that may not know `Expect`. A client must not wait for ever
/// either; curl sends the body after a second too.
const CONTINUE_TIMEOUT: Duration = Duration::from_secs(1);

/// The wait of a body.
#[derive(Debug)]
pub(crate) struct Expectation {
    timeout: Duration,
    /// `None` until the head of the request is sent.
    end: Option<Pin<Box<Sleep>>>,
}

impl Expectation {
    /// The backend has to answer within `first_byte`, so half of that is left for the body.
    pub(crate) fn new(first_byte: Duration) -> Self {
        Self { timeout: CONTINUE_TIMEOUT.min(first_byte / 2), end: None }
    }

    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let sleep = || Box::pin(tokio::time::sleep(self.timeout));
        self.end.get_or_insert_with(sleep).as_mut().poll(context)
    }
}

/// Whether a body may be read.
#[derive(Debug)]
pub(super) struct ContinueGate(Lock<GateState>);

#[derive(Debug)]
struct GateState {
    phase: Phase,
    /// Wakes the task that waits for the body.
    waker: Option<Waker>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The body may be read.
    Open,
    /// The body waits for the backend.
    Closed,
    /// The backend has answered, and does not want the body. An error would break off its answer.
    Refused,
    /// The answer is over too.
    Over,
}

/// The backend has answered before the body was sent.
#[derive(Debug)]
pub(super) struct BodyRefused;

impl ContinueGate {
    pub(super) fn new(is_awaited: bool) -> Self {
        let phase = if is_awaited { Phase::Closed } else { Phase::Open };
        Self(Lock::new(GateState { phase, waker: None }))
    }

    /// Whether the body still waits for the backend.
    pub(super) fn is_closed(&self) -> bool {
        self.0.lock().phase == Phase::Closed
    }

    /// Lets the body be read, because the backend asks for it.
    pub(super) fn open(&self) {
        self.change(Phase::Closed, Phase::Open);
    }

    /// Keeps the body back if it still waits. Returns whether it did.
    pub(super) fn refuse(&self) -> bool {
        self.change(Phase::Closed, Phase::Refused)
    }

    /// Ends a body that was kept back, after the answer.
    pub(super) fn end(&self) {
        self.change(Phase::Refused, Phase::Over);
    }

    fn change(&self, from: Phase, to: Phase) -> bool {
        let mut state = self.0.lock();
        let is_changed = state.phase == from;
        if is_changed {
            state.phase = to;
            if let Some(waker) = state.waker.take() {
                waker.wake();
            }
        }
        is_changed
    }

    /// Waits until the body may be read, or for the timeout.
    ///
    /// # Errors
    /// If the body is not wanted and the answer is over.
    pub(super) fn poll_open(
        &self,
        expectation: &mut Expectation,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), BodyRefused>> {
        if self.is_closed() && expectation.poll_end(context).is_ready() {
            self.open();
        }
        let mut state = self.0.lock();
        match state.phase {
            Phase::Open => Poll::Ready(Ok(())),
            Phase::Over => Poll::Ready(Err(BodyRefused)),
            Phase::Closed | Phase::Refused => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}
