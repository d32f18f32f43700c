//! Counts a request for metrics.

use std::sync::Arc;

use tokio::time::Instant;

use super::{OpenRecord, Outcome};
use crate::meter::{BackendMeter, BegunPhase, Meter, Phase, RequestTimes};

/// The progress of a request that is counted before it ends. Nothing is counted if the meter is
/// off, or before a backend is chosen.
#[derive(Debug, Default)]
pub(super) struct MeasuredProgress {
    phase: Option<BegunPhase>,
    /// The wait for more bytes of the answer, with its beginning.
    body_wait: Option<(BegunPhase, Instant)>,
}

impl OpenRecord {
    /// Sets the chosen backend.
    pub(crate) fn set_backend(&mut self, backend: &Arc<BackendMeter>) {
        self.end_progress();
        self.backend = Some(backend.clone());
        if self.recorder.meter().is_on() {
            let begun = backend.durations.in_progress.begin(Phase::Wait, self.started_at);
            self.progress.phase = Some(begun);
        }
    }

    /// Notes that the next phase began at this time.
    pub(super) fn begin_phase(&mut self, phase: Phase, begun_at: Instant) {
        self.end_body_wait();
        if let (Some(backend), Some(before)) = (&self.backend, self.progress.phase) {
            let in_progress = &backend.durations.in_progress;
            in_progress.end(before);
            self.progress.phase = Some(in_progress.begin(phase, begun_at));
        }
    }

    pub(super) fn measure_bytes(&self, bytes: usize) {
        if let (Some(backend), Some(_)) = (&self.backend, self.progress.phase) {
            backend.durations.in_progress.add_bytes(bytes);
        }
    }

    /// Notes that the client has taken everything that the backend has sent so far.
    pub(crate) fn begin_body_wait(&mut self) {
        if let (Some(backend), Some(_), None) =
            (&self.backend, self.progress.phase, self.progress.body_wait)
        {
            let now = Instant::now();
            let begun = backend.durations.in_progress.begin(Phase::BodyWait, now);
            self.progress.body_wait = Some((begun, now));
        }
    }

    /// Notes that the backend has sent more of the answer.
    #[inline]
    pub(crate) fn end_body_wait(&mut self) {
        if let (Some(backend), Some((begun, begun_at))) =
            (&self.backend, self.progress.body_wait.take())
        {
            backend.durations.in_progress.end(begun);
            backend.durations.in_progress.add_body_wait(begun_at.elapsed());
        }
    }

    /// Ends the count of the request as one in progress.
    pub(crate) fn end_progress(&mut self) {
        self.end_body_wait();
        if let (Some(backend), Some(phase)) = (&self.backend, self.progress.phase.take()) {
            backend.durations.in_progress.end(phase);
        }
    }

    /// Counts the request with the values of its record. `end` is the time when the record ended.
    pub(super) fn measure(&self, meter: &Meter, end: Instant) {
        if let Some(backend) = &self.backend {
            let status = self.status.map(|status| status.as_u16());
            let names = self.identifiers.as_deref();
            let trace_id = names.and_then(|names| Some(names.trace_id.as_ref()?.as_bytes()));
            backend.durations.count(status, self.times(end), trace_id);
        }
        if self.outcome != Outcome::Answered {
            meter.events.count_unanswered(self.outcome.name());
        }
        if let Some(decision) = &self.admission.decision {
            meter.events.count_decision(&decision.limit, decision.verdict);
        }
        for (cache, result) in [("lookup", self.lookup_cache), ("session", self.session_cache)] {
            if let Some(result) = result {
                meter.events.count_lookup(cache, result);
            }
        }
    }

    /// Returns the durations of the phases, whose sum is the whole duration. Without the head of an
    /// answer, the time since the first server was contacted counts as waiting for the head.
    fn times(&self, end: Instant) -> RequestTimes {
        let upstream_started_at = self.upstream_started_at.unwrap_or(end);
        let head_received_at = self.head_received_at.unwrap_or(end);
        RequestTimes {
            wait: upstream_started_at - self.started_at,
            header: head_received_at - upstream_started_at,
            body: end - head_received_at,
        }
    }
}
