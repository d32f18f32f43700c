//! Requests in progress, so that their time and bytes count before they end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// The bits of a [`PhaseSum`] for the number of requests. A million at a time is more than a
/// gateway can hold.
const COUNT_BITS: u32 = 20;

/// The phases of requests in progress. A request that begins or ends a phase changes one atomic
/// number.
#[derive(Debug)]
pub(crate) struct InProgress {
    origin: Instant,
    phases: [PhaseSum; 4],
    /// The time of finished [`Phase::BodyWait`]s, which is a part of the duration of the bodies.
    body_wait_ns: AtomicU64,
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
    /// The parts of [`Self::Body`] in which the backend has sent nothing more.
    BodyWait,
}

/// A phase that a request is in, with its beginning in milliseconds since the origin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BegunPhase {
    phase: Phase,
    begun_ms: u64,
}

/// Requests in one phase: their number in the low bits, and above it the sum of the times at which
/// they began, in milliseconds. The sum wraps. One number, because a reader between two updates
/// would be wrong by years.
#[derive(Debug, Default)]
struct PhaseSum(AtomicU64);

/// The requests in one phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PhaseCount {
    /// How many there are.
    pub requests: u64,
    /// How long they have been in it, all together.
    pub time: Duration,
}

/// The requests of a backend that are in progress, and the bytes of all its answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InProgressCounts {
    /// Those that have not been sent to a server.
    pub wait: PhaseCount,
    /// Those that wait for the head of an answer.
    pub header: PhaseCount,
    /// Those whose answer is being passed on, without tunnels.
    pub body: PhaseCount,
    /// The total time in which answers waited for more bytes from the backend, of all requests
    /// since the start.
    pub body_wait: Duration,
    /// The bytes of answers that were passed on since the start, without tunnels.
    pub bytes: u64,
}

impl Default for InProgress {
    fn default() -> Self {
        let (body_wait_ns, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { origin: Instant::now(), phases: Default::default(), body_wait_ns, bytes }
    }
}

impl InProgress {
    /// Counts a request in a phase that began at this time, until [`Self::end`].
    pub(crate) fn begin(&self, phase: Phase, begun_at: Instant) -> BegunPhase {
        let begun = BegunPhase { phase, begun_ms: self.ms(begun_at) };
        self.sum(phase).0.fetch_add(begun.entry(), Ordering::Relaxed);
        begun
    }

    pub(crate) fn end(&self, begun: BegunPhase) {
        self.sum(begun.phase).0.fetch_sub(begun.entry(), Ordering::Relaxed);
    }

    /// Adds a finished wait for more bytes of an answer.
    pub(crate) fn add_body_wait(&self, time: Duration) {
        self.body_wait_ns.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Adds bytes of an answer that are passed on.
    pub(crate) fn add_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> InProgressCounts {
        let count = |phase| {
            let value = self.sum(phase).0.load(Ordering::Relaxed);
            // Taken after it, so that no request began later.
            PhaseSum::count(value, self.ms(Instant::now()))
        };
        let body_wait = Duration::from_nanos(self.body_wait_ns.load(Ordering::Relaxed));
        InProgressCounts {
            wait: count(Phase::Wait),
            header: count(Phase::Header),
            body: count(Phase::Body),
            body_wait: body_wait + count(Phase::BodyWait).time,
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }

    fn sum(&self, phase: Phase) -> &PhaseSum {
        let [wait, header, body, body_wait] = &self.phases;
        match phase {
            Phase::Wait => wait,
            Phase::Header => header,
            Phase::Body => body,
            Phase::BodyWait => body_wait,
        }
    }

    fn ms(&self, time: Instant) -> u64 {
        time.saturating_duration_since(self.origin).as_millis() as u64
    }
}

impl BegunPhase {
    /// The request's share in the sum of its phase.
    fn entry(self) -> u64 {
        (self.begun_ms << COUNT_BITS) | 1
    }
}

impl PhaseSum {
    fn count(value: u64, now_ms: u64) -> PhaseCount {
        let requests = value & ((1 << COUNT_BITS) - 1);
        let begun_ms = value >> COUNT_BITS;
        let time_ms =
            requests.wrapping_mul(now_ms).wrapping_sub(begun_ms) & (u64::MAX >> COUNT_BITS);
        PhaseCount { requests, time: Duration::from_millis(time_ms) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, advance};

    use super::{InProgress, Phase, PhaseCount};

    #[tokio::test(start_paused = true)]
    async fn time_counts_while_a_request_runs() {
        let progress = InProgress::default();
        let second = Duration::from_secs(1);
        let first = progress.begin(Phase::Body, Instant::now());
        advance(2 * second).await;
        let other = progress.begin(Phase::Body, Instant::now());
        let waiting = progress.begin(Phase::BodyWait, Instant::now());
        advance(second).await;
        let read = progress.read();
        assert_eq!(read.body, PhaseCount { requests: 2, time: 4 * second });
        assert_eq!((read.wait, read.body_wait), (PhaseCount::default(), second));
        progress.end(first);
        progress.end(waiting);
        progress.add_body_wait(second);
        advance(second).await;
        let read = progress.read();
        assert_eq!(read.body, PhaseCount { requests: 1, time: 2 * second });
        assert_eq!(read.body_wait, second, "none waits any more");
        progress.end(other);
        assert_eq!(progress.read().body, PhaseCount::default());
    }

    #[tokio::test(start_paused = true)]
    async fn many_requests_for_days_do_not_overflow() {
        let progress = InProgress::default();
        advance(Duration::from_secs(100 * 86_400)).await;
        let begun: Vec<_> =
            (0..100_000).map(|_| progress.begin(Phase::Header, Instant::now())).collect();
        advance(Duration::from_secs(86_400)).await;
        let header = progress.read().header;
        assert_eq!((header.requests, header.time.as_secs()), (100_000, 100_000 * 86_400));
        begun.into_iter().for_each(|it| progress.end(it));
        assert_eq!(progress.read().header, PhaseCount::default());
    }
}
