//! Counts a request for metrics.

use tokio::time::Instant;

use super::{OpenRecord, Outcome};
use crate::meter::Meter;

impl OpenRecord {
    /// Counts the request with the values of its record. `end` is the time when the record ended.
    pub(super) fn measure(&self, meter: &Meter, end: Instant) {
        if let Some(backend) = &self.backend {
            let status = self.status.map(|status| status.as_u16());
            let names = self.identifiers.as_deref();
            let trace_id = names.and_then(|names| Some(names.trace_id.as_ref()?.as_bytes()));
            backend.durations.count(status, self.timeline.times(end), trace_id);
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
}
