//! The spans of one request, following OpenTelemetry's semantic conventions for HTTP.
//!
//! The query is omitted because it may contain secrets, and so are all header fields but `Host` and
//! `User-Agent`.

use std::borrow::Cow;
use std::sync::Arc;

use hyper::header::HeaderValue;
use hyper::{Method, Version};
use tokio::time::Instant;

use super::otlp::{Attribute, Nanoseconds, Span, SpanEvent, SpanKind, Status};
use super::queue::SpanQueue;
use crate::identifiers::{SpanId, TraceId};
use crate::meter::Timeline;
use crate::request::head::RequestHead;

/// The ids of the spans of a traced request.
#[derive(Debug)]
pub(crate) struct RequestTrace {
    pub(super) trace_id: TraceId,
    /// The span of the sender, if the sender started the trace.
    pub(super) parent: Option<SpanId>,
    /// The span of the request.
    pub(super) span: SpanId,
    /// The span of the backend's call, which is the backend's parent span.
    pub(super) call_span: SpanId,
    /// Whether the client used TLS.
    pub(super) is_tls: bool,
    pub(super) queue: Arc<SpanQueue>,
}

/// The data of a finished request.
#[derive(Debug)]
pub(crate) struct FinishedRequest<'a> {
    pub(crate) head: &'a RequestHead,
    pub(crate) timeline: &'a Timeline,
    pub(crate) end: Instant,
    pub(crate) route: Option<&'a str>,
    pub(crate) backend: Option<&'a str>,
    /// The host and port of the backend's server.
    pub(crate) backend_address: Option<&'a str>,
    /// The status that the client received.
    pub(crate) status: Option<u16>,
    /// The status of the backend's answer, if it was forwarded.
    pub(crate) backend_status: Option<u16>,
    /// The size of the answer's body in bytes.
    pub(crate) response_bytes: u64,
    /// The outcome, as in records.
    pub(crate) outcome: &'static str,
    /// Whether the answer ended early for a reason other than a disconnect of the client.
    pub(crate) is_broken_off: bool,
    /// Whether the backend completed its answer, unless the client disconnected.
    pub(crate) is_complete: bool,
    /// The limit that decided, and its verdict.
    pub(crate) limit: Option<(&'a str, &'static str)>,
}

impl RequestTrace {
    /// Adds the spans of a finished request to the queue.
    pub(crate) fn finish(&self, request: &FinishedRequest<'_>) {
        let called_at = request.timeline.upstream_started_at;
        let spans = [
            Some(self.server_span(request)),
            called_at.map(|called_at| self.call_span(request, called_at)),
        ];
        let (mut json, mut count) = (Vec::with_capacity(2 << 10), 0);
        for span in spans.iter().flatten() {
            if count > 0 {
                json.push(b',');
            }
            // Serializing strings and numbers does not fail.
            if serde_json::to_writer(&mut json, span).is_err() {
                return;
            }
            count += 1;
        }
        self.queue.put(&json, count);
    }

    fn server_span<'a>(&'a self, request: &'a FinishedRequest<'a>) -> Span<'a> {
        let is_error = request.status.is_some_and(|status| status >= 500) || request.is_broken_off;
        let method = method_name(&request.head.method);
        Span {
            trace_id: self.trace_id.as_str(),
            span_id: self.span.as_str(),
            parent_span_id: self.parent.as_ref().map(SpanId::as_str),
            name: match request.route {
                Some(route) => Cow::Owned(format!("{} {route}", span_method(method))),
                None => Cow::Borrowed(span_method(method)),
            },
            kind: SpanKind::Server,
            start_time_unix_nano: request.time(request.timeline.started_at),
            end_time_unix_nano: request.time(request.end),
            attributes: self.server_attributes(request, is_error),
            events: Vec::new(),
            status: is_error.then_some(Status::ERROR),
        }
    }

    fn server_attributes<'a>(
        &self,
        request: &'a FinishedRequest<'a>,
        is_error: bool,
    ) -> Vec<Attribute<'a>> {
        let mut attributes = vec![
            Attribute::text("http.request.method", method_name(&request.head.method)),
            Attribute::client_text("url.path", request.head.uri.path().as_bytes()),
            Attribute::text("url.scheme", if self.is_tls { "https" } else { "http" }),
            Attribute::text("network.protocol.version", version(request.head.version)),
            Attribute::number("http.response.body.size", request.response_bytes),
            Attribute::text("weir.outcome", request.outcome),
        ];
        let head = request.head;
        let host = head.host.as_ref().map(HeaderValue::as_bytes);
        let (host, port) = host.map_or((None, None), host_and_port);
        let limit = request.limit;
        let texts = [
            ("http.route", request.route),
            ("weir.backend", request.backend),
            ("weir.limit", limit.map(|(limit, _)| limit)),
            ("weir.verdict", limit.map(|(_, verdict)| verdict)),
        ];
        attributes
            .extend(texts.into_iter().filter_map(|(key, it)| Some(Attribute::text(key, it?))));
        let user_agent = head.user_agent.as_ref().map(HeaderValue::as_bytes);
        let client_texts = [("server.address", host), ("user_agent.original", user_agent)];
        attributes.extend(
            client_texts.into_iter().filter_map(|(key, it)| Some(Attribute::client_text(key, it?))),
        );
        attributes.extend(port.map(|port| Attribute::number("server.port", port)));
        let client = head.client.map(|client| client.to_canonical().to_string());
        attributes.extend(client.map(|client| Attribute::text("client.address", client)));
        add_status(&mut attributes, request.status);
        if is_error {
            attributes.push(error_type(request.status.filter(|it| *it >= 500), request.outcome));
        }
        attributes
    }

    /// Returns the span of the backend's call, which began at this time.
    fn call_span<'a>(&'a self, request: &'a FinishedRequest<'a>, called_at: Instant) -> Span<'a> {
        let failure = request.backend_status.filter(|status| *status >= 400);
        let is_error = failure.is_some() || !request.is_complete;
        let method = method_name(&request.head.method);
        let mut attributes = vec![Attribute::text("http.request.method", method)];
        if let Some(address) = request.backend_address {
            let (host, port) = host_and_port(address.as_bytes());
            attributes.extend(host.map(|host| Attribute::client_text("server.address", host)));
            attributes.extend(port.map(|port| Attribute::number("server.port", port)));
        }
        add_status(&mut attributes, request.backend_status);
        if is_error {
            attributes.push(error_type(failure, request.outcome));
        }
        Span {
            trace_id: self.trace_id.as_str(),
            span_id: self.call_span.as_str(),
            parent_span_id: Some(self.span.as_str()),
            name: Cow::Borrowed(span_method(method)),
            kind: SpanKind::Client,
            start_time_unix_nano: request.time(called_at),
            end_time_unix_nano: request.time(request.end),
            attributes,
            events: events(request, called_at),
            status: is_error.then_some(Status::ERROR),
        }
    }
}

impl FinishedRequest<'_> {
    /// Converts an instant to nanoseconds since 1970.
    fn time(&self, moment: Instant) -> Nanoseconds {
        let since = moment.saturating_duration_since(self.timeline.started_at);
        Nanoseconds::of(self.timeline.arrived_at).after(since)
    }
}

/// Returns the events of a call: connected, and head received. Records have the same times.
fn events(request: &FinishedRequest<'_>, called_at: Instant) -> Vec<SpanEvent> {
    let timeline = request.timeline;
    let connected = timeline.connect_time.map(|took| (called_at + took, "connected"));
    let head = timeline.head_received_at.map(|came| (came, "response head received"));
    let steps = [connected, head].into_iter().flatten();
    steps.map(|(at, name)| SpanEvent { time_unix_nano: request.time(at), name }).collect()
}

fn add_status(attributes: &mut Vec<Attribute<'_>>, status: Option<u16>) {
    let status = status.map(u64::from);
    attributes.extend(status.map(|it| Attribute::number("http.response.status_code", it)));
}

/// Returns the attribute `error.type`: the status if that is the failure, otherwise the outcome.
fn error_type(failure: Option<u16>, outcome: &'static str) -> Attribute<'static> {
    match failure {
        Some(status) => Attribute::text("error.type", status.to_string()),
        None => Attribute::text("error.type", outcome),
    }
}

/// Returns the method, or `_OTHER` for one that is not standard. Clients choose methods, and
/// collectors index them, so their number must be bounded.
fn method_name(method: &Method) -> &'static str {
    const KNOWN: [&str; 9] =
        ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("_OTHER")
}

/// Returns the method as part of a span's name.
fn span_method(method: &'static str) -> &'static str {
    if method == "_OTHER" { "HTTP" } else { method }
}

fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "1.0",
        Version::HTTP_2 => "2",
        _ => "1.1",
    }
}

/// Splits a `Host` field into host and port. An IPv6 address loses its brackets.
fn host_and_port(field: &[u8]) -> (Option<&[u8]>, Option<u64>) {
    let colon = field.iter().rposition(|byte| *byte == b':');
    let port = colon.and_then(|colon| {
        let digits = std::str::from_utf8(field.get(colon + 1..)?).ok()?;
        Some((colon, u64::from(digits.parse::<u16>().ok()?)))
    });
    let host = match port {
        Some((colon, _)) => field.get(..colon),
        None => Some(field),
    };
    let host = host.map(|host| {
        host.strip_prefix(b"[").and_then(|host| host.strip_suffix(b"]")).unwrap_or(host)
    });
    (host.filter(|host| !host.is_empty()), port.map(|(_, port)| port))
}

#[cfg(test)]
mod tests {
    use hyper::Method;

    use super::{host_and_port, method_name};

    #[test]
    fn hosts_have_a_name_and_perhaps_a_port() {
        for (field, host, port) in [
            ("shop.example", Some("shop.example"), None),
            ("shop.example:8080", Some("shop.example"), Some(8080)),
            ("[2001:db8::1]", Some("2001:db8::1"), None),
            ("[2001:db8::1]:443", Some("2001:db8::1"), Some(443)),
            ("shop.example:", Some("shop.example:"), None),
            ("shop.example:99999", Some("shop.example:99999"), None),
            (":80", None, Some(80)),
            ("", None, None),
        ] {
            assert_eq!(host_and_port(field.as_bytes()), (host.map(str::as_bytes), port), "{field}");
        }
    }

    #[test]
    fn methods_of_clients_are_not_names() {
        assert_eq!(method_name(&Method::PATCH), "PATCH");
        assert_eq!(method_name(&Method::from_bytes(b"X1").expect("a method")), "_OTHER");
    }
}
