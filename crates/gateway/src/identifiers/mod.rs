//! The names by which a request is found again in the logs of others: request ids and traces.

mod request_id;
mod trace_context;

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

use self::request_id::settle_request_id;
use self::trace_context::settle_trace;
pub(crate) use self::trace_context::{ParentSpan, SpanId, Trace, TraceId};

pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
pub(crate) const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// What the gateway does about the names of requests. By default it passes them on as they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IdentifierConfig {
    /// Whether each request gets an id.
    pub has_request_id: bool,
    /// What becomes of traces.
    pub trace: Option<TraceMode>,
    /// Whether records have the request id.
    pub records_request_id: bool,
    /// Whether records have the id of the trace.
    pub records_trace_id: bool,
}

/// What becomes of a trace context that a request brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceMode {
    /// It is passed on unchanged if it is valid.
    Forward,
    /// That of trusted peers is passed on; for others a new trace begins.
    Restart,
}

/// The names of one request.
#[derive(Debug, Default)]
pub(crate) struct Identifiers {
    /// The id of a request, if it has to have one.
    pub(crate) request_id: Option<HeaderValue>,
    /// The trace, if there is one and somebody asked for it.
    pub(crate) trace: Option<Trace>,
}

/// The names that a record has.
#[derive(Debug)]
pub(crate) struct RecordedIdentifiers {
    pub(crate) request_id: Option<HeaderValue>,
    pub(crate) trace_id: Option<TraceId>,
}

impl IdentifierConfig {
    /// Whether there is nothing to do.
    pub(crate) fn is_off(&self) -> bool {
        !self.has_request_id && self.trace.is_none()
    }

    /// Sets the names of a request in its header fields.
    pub(crate) fn settle(&self, headers: &mut HeaderMap, is_trusted: bool) -> Identifiers {
        let request_id = self.has_request_id.then(|| settle_request_id(headers, is_trusted));
        let trace = self.trace.and_then(|mode| settle_trace(headers, mode, is_trusted));
        Identifiers { request_id: request_id.flatten(), trace }
    }

    /// What records have of the names.
    pub(crate) fn recorded(&self, names: &Identifiers) -> Option<Box<RecordedIdentifiers>> {
        if !self.records_request_id && !self.records_trace_id {
            return None;
        }
        let request_id = names.request_id.clone().filter(|_| self.records_request_id);
        let trace_id = names.trace.map(|trace| trace.id).filter(|_| self.records_trace_id);
        Some(Box::new(RecordedIdentifiers { request_id, trace_id }))
    }
}

/// Random bytes as lower-case hexadecimal digits; `None` if the system has none, which it says at start.
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
