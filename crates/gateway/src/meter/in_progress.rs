//! Requests in progress, so that their time and bytes count before they end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use weir_observe::{WaitClock, WaitTimes};

/// The requests of a backend that are in progress, and the bytes of all its answers.
#[derive(Debug, Default)]
pub(crate) struct InProgress {
    wait: WaitClock,
    header: WaitClock,
    body: WaitClock,
    body_wait: WaitClock,
    /// The bytes of answers that were passed on so far.
    bytes: AtomicU64,
}

/// A phase of a request in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Before the request goes to a server.
    Wait,
    /// Until the head of the answer.
    Header,
    /// Until the client has taken the last byte.
    Body,
}

/// The requests of a backend that are in progress, and the bytes of all its answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InProgressCounts {
    /// Those that have not been sent to a server.
    pub wait: WaitTimes,
    /// Those that wait for the head of an answer.
    pub header: WaitTimes,
    /// Those whose answer is being passed on, without tunnels.
    pub body: WaitTimes,
    /// The total time in which answers waited for more bytes from the backend, of all requests
    /// since the start.
    pub body_wait: Duration,
    /// The bytes of answers that were passed on since the start, without tunnels.
    pub bytes: u64,
}

impl InProgress {
    /// Counts a request in a phase that began at this time, until [`Self::end`].
    pub(crate) fn begin(&self, phase: Phase, begun_at: Instant) {
        self.clock(phase).begin(begun_at.into_std());
    }

    /// Ends the phase that began at this time. Its duration counts when the request has ended.
    pub(crate) fn end(&self, phase: Phase, begun_at: Instant) {
        self.clock(phase).withdraw(begun_at.into_std());
    }

    /// The waits for more bytes of an answer, which are parts of [`Phase::Body`].
    pub(crate) fn body_wait(&self) -> &WaitClock {
        &self.body_wait
    }

    /// Adds bytes of an answer that are passed on.
    pub(crate) fn add_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> InProgressCounts {
        InProgressCounts {
            wait: self.wait.times(),
            header: self.header.times(),
            body: self.body.times(),
            body_wait: self.body_wait.total(),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }

    fn clock(&self, phase: Phase) -> &WaitClock {
        match phase {
            Phase::Wait => &self.wait,
            Phase::Header => &self.header,
            Phase::Body => &self.body,
        }
    }
}
