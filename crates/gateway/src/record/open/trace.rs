//! Exports the spans of a finished request.

use tokio::time::Instant;

use super::{CLIENT_GONE, OpenRecord, Outcome};
use crate::traces::{FinishedRequest, RequestTrace};

impl OpenRecord {
    /// Exports the spans of the request with the values of its record.
    pub(super) fn report_spans(&self, trace: &RequestTrace, end: Instant) {
        let is_answered = self.outcome == Outcome::Answered;
        let decision = self.admission.decision.as_ref();
        let status = self.status.map(|status| status.as_u16());
        trace.finish(&FinishedRequest {
            head: &self.request,
            timeline: &self.timeline,
            end,
            route: self.route.as_deref(),
            backend: self.backend.as_ref().map(|backend| &*backend.name),
            backend_address: self.backend_address.as_deref(),
            status,
            backend_status: match self.outcome {
                Outcome::Refused(_) => None,
                _ => status,
            },
            response_bytes: self.bytes,
            outcome: self.outcome.name(),
            is_broken_off: matches!(self.outcome, Outcome::BrokenOff(reason) if reason != CLIENT_GONE),
            is_complete: is_answered || self.outcome == Outcome::BrokenOff(CLIENT_GONE),
            limit: decision.map(|decision| (&*decision.limit, decision.verdict)),
        });
    }
}
