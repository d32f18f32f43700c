//! Counts a request that has ended for those who watch the gateway.

use tokio::time::Instant;

use super::{OpenRecord, Outcome};
use crate::meter::{Meter, RequestTimes};

impl OpenRecord {
    /// Counts what its record says. Its time is that of the record.
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

    /// The parts of its time, whose sum is all of it. Without the head of an answer, all that followed the
    /// turn to a server was waiting for one.
    fn times(&self, end: Instant) -> RequestTimes {
        let upstream_begun = self.upstream_begun.unwrap_or(end);
        let head_came = self.head_came.unwrap_or(end);
        RequestTimes {
            wait: upstream_begun - self.begun,
            header: head_came - upstream_begun,
            body: end - head_came,
        }
    }
}
