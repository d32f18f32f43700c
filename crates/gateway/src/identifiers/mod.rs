//! Identifiers that correlate a request with the logs of other services: request ids and trace
//! contexts.

mod request_id;
mod trace_context;

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

use self::request_id::ensure_request_id;
use self::trace_context::apply_trace_mode;
pub(crate) use self::trace_context::{ParentSpan, SpanId, Trace, TraceId};

pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
pub(crate) const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// The handling of request ids and trace contexts. By default they are forwarded unchanged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IdentifierConfig {
    /// Whether each request gets an id.
    pub has_request_id: bool,
    /// The handling of trace contexts; `None` forwards them unchecked.
    pub trace: Option<TraceMode>,
    /// Whether records contain the request id.
    pub records_request_id: bool,
    /// Whether records contain the trace id.
    pub records_trace_id: bool,
}

/// The handling of incoming trace contexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceMode {
    /// Forwards valid contexts unchanged.
    Forward,
    /// Forwards the contexts of trusted peers, and starts a new trace for others.
    Restart,
}

/// The identifiers of a request.
#[derive(Debug, Default)]
pub(crate) struct Identifiers {
    /// The request id, if the configuration requires one.
    pub(crate) request_id: Option<HeaderValue>,
    /// The trace, if there is one and traces are handled.
    pub(crate) trace: Option<Trace>,
}

/// The identifiers that a record contains.
#[derive(Debug)]
pub(crate) struct RecordedIdentifiers {
    pub(crate) request_id: Option<HeaderValue>,
    pub(crate) trace_id: Option<TraceId>,
}

impl IdentifierConfig {
    /// Whether identifiers are forwarded unchanged.
    pub(crate) fn is_off(&self) -> bool {
        !self.has_request_id && self.trace.is_none()
    }

    /// Checks the identifiers in the header fields of a request, and replaces them as configured.
    pub(crate) fn apply(&self, headers: &mut HeaderMap, is_trusted: bool) -> Identifiers {
        let request_id = self.has_request_id.then(|| ensure_request_id(headers, is_trusted));
        let trace = self.trace.and_then(|mode| apply_trace_mode(headers, mode, is_trusted));
        Identifiers { request_id: request_id.flatten(), trace }
    }

    /// Returns the identifiers that the record contains.
    pub(crate) fn select_recorded(&self, names: &Identifiers) -> Option<Box<RecordedIdentifiers>> {
        if !self.records_request_id && !self.records_trace_id {
            return None;
        }
        let request_id = names.request_id.clone().filter(|_| self.records_request_id);
        let trace_id = names.trace.map(|trace| trace.id).filter(|_| self.records_trace_id);
        Some(Box::new(RecordedIdentifiers { request_id, trace_id }))
    }
}

/// Returns random bytes as lower-case hexadecimal digits; `None` if the system has no random
/// source.
fn random_hex<const BYTES: usize>() -> Option<String> {
    use ring::rand::{SecureRandom, SystemRandom};
    use std::fmt::Write;

    let mut bytes = [0; BYTES];
    SystemRandom::new().fill(&mut bytes).ok()?;
    let mut text = String::with_capacity(2 * BYTES);
    for byte in bytes {
        write!(text, "{byte:02x}").ok()?;
    }
    Some(text)
}
