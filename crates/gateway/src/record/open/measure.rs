//! Counts a request for metrics.

use hyper::StatusCode;
use tokio::time::Instant;

use super::{CLIENT_GONE, OpenRecord, Outcome};
use crate::meter::Meter;

impl OpenRecord {
    /// Counts the request with the values of its record. `end` is the time when the record ended.
    pub(super) fn measure(&self, meter: &Meter, end: Instant) {
        if let Some(backend) = &self.backend {
            let status = self.status.map(|status| status.as_u16());
            let names = self.identifiers.as_deref();
            let trace_id = names.and_then(|names| Some(names.trace_id.as_ref()?.as_bytes()));
            backend.durations.count(status, self.timeline.times(end), trace_id);
            match self.has_failed() {
                Some(true) => backend.durations.failures.count_failure(),
                Some(false) => backend.durations.failures.note_success(),
                None => {}
            }
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

    /// Whether the backend did not do its part; `None` if the request tells nothing about it.
    fn has_failed(&self) -> Option<bool> {
        let is_error = self.status.is_some_and(|status| status.is_server_error());
        match self.outcome {
            Outcome::Answered | Outcome::Refused(_) if is_error => Some(true),
            // A tunnel may end for reasons of its client.
            _ if self.status == Some(StatusCode::SWITCHING_PROTOCOLS) => Some(false),
            Outcome::BrokenOff(reason) if reason != CLIENT_GONE => Some(true),
            Outcome::Answered => Some(false),
            _ => None,
        }
    }
}
