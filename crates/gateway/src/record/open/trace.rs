//! Exports the spans of a finished request.

use tokio::time::Instant;

use super::{OpenRecord, Outcome, bytes};
use crate::traces::{BackendCall, FinishedRequest, RequestTrace};

/// The outcome of a request that its client abandoned.
const CLIENT_GONE: &str = "client_gone";

impl OpenRecord {
    /// Exports the spans of the request with the values of its record.
    pub(super) fn report_spans(&self, trace: &RequestTrace, end: Instant) {
        let is_answered = self.outcome == Outcome::Answered;
        let decision = self.admission.decision.as_ref();
        trace.finish(&FinishedRequest {
            arrived_at: self.arrived_at,
            started_at: self.started_at,
            end,
            method: &self.request.method,
            path: self.request.uri.path(),
            version: self.request.version,
            host: bytes(&self.request.host),
            user_agent: bytes(&self.request.user_agent),
            client: self.request.client,
            route: self.route.as_deref(),
            backend: self.backend.as_ref().map(|backend| &*backend.name),
            status: self.status.map(|status| status.as_u16()),
            response_bytes: self.bytes,
            outcome: self.outcome.name(),
            is_broken_off: matches!(self.outcome, Outcome::BrokenOff(reason) if reason != CLIENT_GONE),
            limit: decision.map(|decision| (&*decision.limit, decision.verdict)),
            call: self.upstream_started_at.map(|started_at| BackendCall {
                address: self.backend_address.as_deref(),
                started_at,
                connect_time: self.connect_time,
                head_received_at: self.head_received_at,
                status: match self.outcome {
                    Outcome::Refused(_) => None,
                    _ => self.status.map(|status| status.as_u16()),
                },
                is_complete: is_answered || self.outcome == Outcome::BrokenOff(CLIENT_GONE),
            }),
        });
    }
}
