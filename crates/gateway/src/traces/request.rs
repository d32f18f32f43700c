//! The spans of one request, by OpenTelemetry's semantic conventions for HTTP.
//!
//! The query is left out, because it may hold secrets, and so are all header fields but `Host` and `User-Agent`.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hyper::{Method, Version};
use tokio::time::Instant;

use super::otlp::{Attribute, Event, Nanoseconds, Span, SpanKind, Status};
use super::queue::SpanQueue;
use crate::identifiers::{SpanId, TraceId};

/// The names of the spans of a request that is traced.
#[derive(Debug)]
pub(crate) struct RequestTrace {
    pub(super) trace_id: TraceId,
    /// The span of the sender, if the trace is the sender's.
    pub(super) parent: Option<SpanId>,
    /// The span of the request.
    pub(super) span: SpanId,
    /// The span of the backend's call, which the backend knows.
    pub(super) call_span: SpanId,
    /// Whether the client has come over TLS.
    pub(super) is_tls: bool,
    pub(super) queue: Arc<SpanQueue>,
}

/// What is known of a request at its end.
#[derive(Debug)]
pub(crate) struct FinishedRequest<'a> {
    pub(crate) arrived: SystemTime,
    /// The same moment as `arrived`.
    pub(crate) begun: Instant,
    pub(crate) end: Instant,
    pub(crate) method: &'a Method,
    /// The path without the query.
    pub(crate) path: &'a str,
    pub(crate) version: Version,
    pub(crate) host: Option<&'a [u8]>,
    pub(crate) user_agent: Option<&'a [u8]>,
    pub(crate) client: Option<IpAddr>,
    pub(crate) route: Option<&'a str>,
    pub(crate) backend: Option<&'a str>,
    /// The status that the client got.
    pub(crate) status: Option<u16>,
    /// The bytes of the answer's body.
    pub(crate) response_bytes: u64,
    /// How it ended, as in records.
    pub(crate) outcome: &'static str,
    /// Whether the answer ended early, and not because the client has gone.
    pub(crate) is_broken_off: bool,
    /// The limit that decided, and how.
    pub(crate) limit: Option<(&'a str, &'static str)>,
    /// What was asked of a backend, if anything was.
    pub(crate) call: Option<BackendCall<'a>>,
}

/// What is known of the call of a backend.
#[derive(Debug)]
pub(crate) struct BackendCall<'a> {
    /// The host and the port.
    pub(crate) address: Option<&'a str>,
    pub(crate) begun: Instant,
    /// How long it took to connect; `None` if the connection was there.
    pub(crate) connect_time: Option<Duration>,
    pub(crate) head_came: Option<Instant>,
    /// The status of the backend's answer, if that was passed on.
    pub(crate) status: Option<u16>,
    /// Whether the backend did what was asked of it.
    pub(crate) is_complete: bool,
}

impl RequestTrace {
    /// Puts the spans of a request into the queue.
    pub(crate) fn finish(&self, request: &FinishedRequest<'_>) {
        let call = request.call.as_ref();
        let spans =
            [Some(self.server_span(request)), call.map(|call| self.call_span(request, call))];
        let (mut json, mut count) = (Vec::with_capacity(2 << 10), 0);
        for span in spans.iter().flatten() {
            if count > 0 {
                json.push(b',');
            }
            // Texts and numbers cannot fail to be written.
            if serde_json::to_writer(&mut json, span).is_err() {
                return;
            }
            count += 1;
        }
        self.queue.put(&json, count);
    }

    fn server_span<'a>(&'a self, request: &'a FinishedRequest<'a>) -> Span<'a> {
        let is_error = request.status.is_some_and(|status| status >= 500) || request.is_broken_off;
        let method = method_name(request.method);
        Span {
            trace_id: self.trace_id.as_str(),
            span_id: self.span.as_str(),
            parent_span_id: self.parent.as_ref().map(SpanId::as_str),
            name: match request.route {
                Some(route) => Cow::Owned(format!("{} {route}", span_method(method))),
                None => Cow::Borrowed(span_method(method)),
            },
            kind: SpanKind::Server,
            start_time_unix_nano: request.time(request.begun),
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
            Attribute::text("http.request.method", method_name(request.method)),
            Attribute::foreign("url.path", request.path.as_bytes()),
            Attribute::text("url.scheme", if self.is_tls { "https" } else { "http" }),
            Attribute::text("network.protocol.version", version(request.version)),
            Attribute::number("http.response.body.size", request.response_bytes),
            Attribute::text("weir.outcome", request.outcome),
        ];
        let (host, port) = request.host.map_or((None, None), |host| host_and_port(host));
        let limit = request.limit;
        let texts = [
            ("http.route", request.route),
            ("weir.backend", request.backend),
            ("weir.limit", limit.map(|(limit, _)| limit)),
            ("weir.verdict", limit.map(|(_, verdict)| verdict)),
        ];
        attributes
            .extend(texts.into_iter().filter_map(|(key, it)| Some(Attribute::text(key, it?))));
        let foreign = [("server.address", host), ("user_agent.original", request.user_agent)];
        attributes
            .extend(foreign.into_iter().filter_map(|(key, it)| Some(Attribute::foreign(key, it?))));
        attributes.extend(port.map(|port| Attribute::number("server.port", port)));
        let client = request.client.map(|client| client.to_canonical().to_string());
        attributes.extend(client.map(|client| Attribute::text("client.address", client)));
        add_status(&mut attributes, request.status);
        if is_error {
            attributes.push(error_type(request.status.filter(|it| *it >= 500), request.outcome));
        }
        attributes
    }

    fn call_span<'a>(
        &'a self,
        request: &'a FinishedRequest<'a>,
        call: &BackendCall<'a>,
    ) -> Span<'a> {
        let failure = call.status.filter(|status| *status >= 400);
        let is_error = failure.is_some() || !call.is_complete;
        let method = method_name(request.method);
        let mut attributes = vec![Attribute::text("http.request.method", method)];
        if let Some(address) = call.address {
            let (host, port) = host_and_port(address.as_bytes());
            attributes.extend(host.map(|host| Attribute::foreign("server.address", host)));
            attributes.extend(port.map(|port| Attribute::number("server.port", port)));
        }
        add_status(&mut attributes, call.status);
        if is_error {
            attributes.push(error_type(failure, request.outcome));
        }
        Span {
            trace_id: self.trace_id.as_str(),
            span_id: self.call_span.as_str(),
            parent_span_id: Some(self.span.as_str()),
            name: Cow::Borrowed(span_method(method)),
            kind: SpanKind::Client,
            start_time_unix_nano: request.time(call.begun),
            end_time_unix_nano: request.time(request.end),
            attributes,
            events: events(request, call),
            status: is_error.then_some(Status::ERROR),
        }
    }
}

impl FinishedRequest<'_> {
    /// The time of day of a moment.
    fn time(&self, moment: Instant) -> Nanoseconds {
        let since = moment.saturating_duration_since(self.begun);
        Nanoseconds::of(self.arrived).after(since)
    }
}

/// The steps of a call that records time too.
fn events(request: &FinishedRequest<'_>, call: &BackendCall<'_>) -> Vec<Event> {
    let connected = call.connect_time.map(|took| (call.begun + took, "connected"));
    let head = call.head_came.map(|came| (came, "response head received"));
    let steps = [connected, head].into_iter().flatten();
    steps.map(|(at, name)| Event { time_unix_nano: request.time(at), name }).collect()
}

fn add_status(attributes: &mut Vec<Attribute<'_>>, status: Option<u16>) {
    let status = status.map(u64::from);
    attributes.extend(status.map(|it| Attribute::number("http.response.status_code", it)));
}

/// The status if that is the failure, or the outcome.
fn error_type(failure: Option<u16>, outcome: &'static str) -> Attribute<'static> {
    match failure {
        Some(status) => Attribute::text("error.type", status.to_string()),
        None => Attribute::text("error.type", outcome),
    }
}

/// The method, or `_OTHER` for one that no standard knows: clients choose it, and those who collect sort by it.
fn method_name(method: &Method) -> &'static str {
    const KNOWN: [&str; 9] =
        ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("_OTHER")
}

/// The method in the name of a span.
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

/// The parts of a `Host` field: an IPv6 address has no brackets then.
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
