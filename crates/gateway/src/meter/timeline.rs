//! When a request reached each of its phases.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::{BackendMeter, InProgress, Phase, RequestTimes};

/// When a request reached each of its phases. Its record, the counts of requests in progress and
/// its spans read their times here.
#[derive(Debug)]
pub(crate) struct Timeline {
    /// The system time of [`Self::started_at`].
    pub(crate) arrived_at: SystemTime,
    /// When the request arrived.
    pub(crate) started_at: Instant,
    /// When a server was contacted first.
    pub(crate) upstream_started_at: Option<Instant>,
    /// How long connecting took; `None` if all connections were reused.
    pub(crate) connect_time: Option<Duration>,
    /// When the head of the last answer arrived.
    pub(crate) head_received_at: Option<Instant>,
    /// Its place in the counts; `None` if it does not count.
    counted: Option<CountedPhase>,
}

/// The phase in which a request counts as one in progress, until this is dropped.
#[derive(Debug)]
struct CountedPhase {
    backend: Arc<BackendMeter>,
    phase: Phase,
    begun_at: Instant,
    /// When the present wait for more bytes of the answer began.
    body_wait: Option<Instant>,
}

impl Timeline {
    pub(crate) fn begin() -> Self {
        Self {
            arrived_at: SystemTime::now(),
            started_at: Instant::now(),
            upstream_started_at: None,
            connect_time: None,
            head_received_at: None,
            counted: None,
        }
    }

    /// Counts the request as one in progress of a backend.
    pub(crate) fn begin_count(&mut self, backend: &Arc<BackendMeter>) {
        let (phase, begun_at) = (Phase::Wait, self.started_at);
        backend.durations.in_progress.begin(phase, begun_at);
        self.counted =
            Some(CountedPhase { backend: backend.clone(), phase, begun_at, body_wait: None });
    }

    /// Ends the count of the request as one in progress.
    pub(crate) fn end_count(&mut self) {
        self.counted = None;
    }

    /// Notes when a server was contacted. Only the first call counts: the time before it is the
    /// waiting time.
    pub(crate) fn note_upstream_start(&mut self, started_at: Instant) {
        if self.upstream_started_at.is_none() {
            self.upstream_started_at = Some(started_at);
            self.enter(Phase::Header, started_at);
        }
    }

    /// Notes the arrival of the answer's head. The last call counts, because the last answer is
    /// forwarded.
    pub(crate) fn note_head(&mut self) {
        let now = Instant::now();
        self.head_received_at = Some(now);
        self.enter(Phase::Body, now);
    }

    /// Notes that the client has taken everything that the backend has sent so far.
    pub(crate) fn begin_body_wait(&mut self) {
        if let Some(counted) = &mut self.counted
            && counted.body_wait.is_none()
        {
            let now = Instant::now();
            counted.in_progress().body_wait().begin(now.into_std());
            counted.body_wait = Some(now);
        }
    }

    /// Notes that the backend has sent more of the answer.
    #[inline]
    pub(crate) fn note_bytes(&mut self, bytes: usize) {
        if let Some(counted) = &mut self.counted {
            counted.end_body_wait();
            counted.in_progress().add_bytes(bytes);
        }
    }

    fn enter(&mut self, phase: Phase, begun_at: Instant) {
        if let Some(counted) = &mut self.counted {
            counted.end();
            counted.in_progress().begin(phase, begun_at);
            (counted.phase, counted.begun_at) = (phase, begun_at);
        }
    }

    /// Returns the durations of the phases, whose sum is the whole duration. Without the head of an
    /// answer, the time since the first server was contacted counts as waiting for the head.
    pub(crate) fn times(&self, end: Instant) -> RequestTimes {
        let upstream_started_at = self.upstream_started_at.unwrap_or(end);
        let head_received_at = self.head_received_at.unwrap_or(end);
        RequestTimes {
            wait: upstream_started_at - self.started_at,
            header: head_received_at - upstream_started_at,
            body: end - head_received_at,
        }
    }
}

impl CountedPhase {
    fn in_progress(&self) -> &InProgress {
        &self.backend.durations.in_progress
    }

    fn end(&mut self) {
        self.end_body_wait();
        self.in_progress().end(self.phase, self.begun_at);
    }

    fn end_body_wait(&mut self) {
        if let Some(begun_at) = self.body_wait.take() {
            let ended_at = Instant::now();
            self.in_progress().body_wait().end(begun_at.into_std(), ended_at.into_std());
        }
    }
}

impl Drop for CountedPhase {
    fn drop(&mut self) {
        self.end();
    }
}
