//! The record of a request in progress.

mod measure;
mod phases;
mod trace;

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyper::header::HeaderValue;
use hyper::{Request, StatusCode};
use tokio::time::Instant;
use weir_core::{Field, Record, Timestamp};
use weir_net::percent_decode;
use weir_net::redaction::shown_target;
use weir_net::socket::ClientCertificate;
use weir_observe::capture::{Capturable, OpenCapture, StepDetail};

use super::EXTRA_FIELDS;
use super::recorder::Recorder;
use crate::capture::RequestCondition;
use crate::header_fields::address_text::{ADDRESS_BYTES, push_address};
use crate::identifiers::RecordedIdentifiers;
use crate::limits::{Admission, QuotaSnapshot};
use crate::meter::{BackendMeter, Timeline};
use crate::request::head::RequestHead;
use crate::request::target::normal_host;
use crate::request::version::version_name;
use crate::traces::RequestTrace;

/// The record of a request in progress. It is written on drop, so that no request is lost.
#[derive(Debug)]
pub(crate) struct OpenRecord {
    recorder: Arc<Recorder>,
    timeline: Timeline,
    request: RequestHead,
    pub(crate) subject: Option<Arc<str>>,
    pub(crate) route: Option<Arc<str>>,
    backend: Option<Arc<BackendMeter>>,
    pub(crate) claim: Option<Arc<str>>,
    /// The result of each cache: `hit`, `miss`, or `None` if it was not used.
    pub(crate) token_cache: Option<&'static str>,
    pub(crate) lookup_cache: Option<&'static str>,
    pub(crate) session_cache: Option<&'static str>,
    backend_address: Option<Arc<str>>,
    /// The identifiers that are recorded, if any.
    pub(crate) identifiers: Option<Box<RecordedIdentifiers>>,
    /// The trace of the request, if it is traced.
    pub(crate) trace: Option<Box<RequestTrace>>,
    /// The decision of the limits, with the slots that the request holds until its end.
    admission: Admission,
    status: Option<StatusCode>,
    bytes: u64,
    outcome: Outcome,
    /// The certificate of the client, if it has presented one.
    pub(crate) certificate: Option<Arc<ClientCertificate>>,
    /// The host of the crawler that has signed the request.
    pub(crate) crawler: Option<Arc<str>>,
    /// The capture of the request, if a capture is pending.
    pub(crate) capture: Option<OpenCapture>,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The client disconnected before the head of an answer.
    Abandoned,
    /// The backend's answer was forwarded completely.
    Answered,
    /// The gateway refused the request, for this reason.
    Refused(&'static str),
    /// The answer ended early, for this reason.
    BrokenOff(&'static str),
}

/// The name of the outcome of a request that its client abandoned.
const CLIENT_GONE: &str = "client_gone";

impl Outcome {
    /// The name in records.
    fn name(self) -> &'static str {
        match self {
            Self::Abandoned => CLIENT_GONE,
            Self::Answered => "answered",
            Self::Refused(reason) | Self::BrokenOff(reason) => reason,
        }
    }
}

impl OpenRecord {
    pub(crate) fn new<B>(
        recorder: &Arc<Recorder>,
        request: &Request<B>,
        client: Option<IpAddr>,
    ) -> Box<Self> {
        let name = || format!("{} {}", request.method(), shown_target(request.uri().path()));
        let capture = recorder.captures().open(name);
        Box::new(Self {
            recorder: recorder.clone(),
            timeline: Timeline::begin(),
            request: RequestHead::new(request, client),
            subject: None,
            route: None,
            backend: None,
            claim: None,
            token_cache: None,
            lookup_cache: None,
            session_cache: None,
            backend_address: None,
            identifiers: None,
            trace: None,
            admission: Admission::default(),
            status: None,
            bytes: 0,
            outcome: Outcome::Abandoned,
            certificate: None,
            crawler: None,
            capture,
        })
    }

    /// Sets the decision of the limits.
    pub(crate) fn set_admission(&mut self, admission: Admission) {
        self.admission = admission;
    }

    /// Takes the client's remaining quota, for the fields of the answer.
    pub(crate) fn take_quota(&mut self) -> Option<QuotaSnapshot> {
        self.admission.quota.take()
    }

    pub(crate) fn set_status(&mut self, status: StatusCode) {
        self.status = Some(status);
    }

    /// When the request arrived.
    pub(crate) fn started_at(&self) -> Instant {
        self.timeline.started_at
    }

    pub(crate) fn set_backend_address(&mut self, address: &Arc<str>) {
        self.backend_address = Some(address.clone());
    }

    /// Notes a step that lasted since the previous one, if the request is captured.
    #[inline]
    pub(crate) fn lap<D: Into<StepDetail>>(&self, name: &'static str, detail: impl FnOnce() -> D) {
        if let Some(capture) = &self.capture {
            capture.lap(name, detail());
        }
    }

    /// Starts following the tunnel that the request has opened, for captures of tunnels.
    pub(crate) fn follow_tunnel(&self) -> Capturable {
        let name = format!("{} {}", self.request.method, shown_target(self.request.uri.path()));
        Capturable::new(self.recorder.tunnels(), name)
    }

    /// Ends the record after a complete answer.
    pub(crate) fn complete(mut self) {
        self.outcome = Outcome::Answered;
    }

    /// Ends the record after an answer that ended early.
    pub(crate) fn break_off(mut self, reason: &'static str) {
        self.outcome = Outcome::BrokenOff(reason);
    }

    /// Ends the record of a request that the gateway refuses.
    pub(crate) fn refuse(mut self, status: StatusCode, reason: &'static str, bytes: usize) {
        let path = || shown_target(self.request.uri.path());
        tracing::debug!(status = status.as_u16(), reason, path = path(), "a request is refused");
        self.status = Some(status);
        self.bytes = bytes as u64;
        self.outcome = Outcome::Refused(reason);
    }

    fn write(&mut self) {
        self.timeline.end_count();
        let end = Instant::now();
        let ns = |duration: Duration| u64::try_from(duration.as_nanos()).ok();
        let took_ns = |started_at: Instant| ns(end - started_at);
        let mut client = Vec::with_capacity(ADDRESS_BYTES);
        if let Some(address) = self.request.client {
            push_address(&mut client, address.to_canonical());
        }
        let host = self.request.host.as_ref().map(normal_host);
        let referer = self.request.referer.as_ref().map(referer_without_token);
        let mut record = Record::with_extra_fields(EXTRA_FIELDS.len());
        let (head, timeline) = (&self.request, &self.timeline);
        let arrival = self.admission.arrival_ns;
        record.time = arrival.map(at).or_else(|| timestamp(timeline.arrived_at));
        record.put_text(Field::Client, head.client.map(|_| &client[..]));
        record.put_text(Field::User, self.subject.as_ref().map(|subject| subject.as_bytes()));
        record.put_text(Field::Host, host.as_deref());
        record.put_text(Field::Method, Some(head.method.as_str().as_bytes()));
        record.put_text(Field::Path, Some(head.uri.path().as_bytes()));
        let query = head.uri.query().map(without_token);
        record.put_text(Field::Query, query.as_ref().map(|query| query.as_bytes()));
        record.put_text(Field::Protocol, Some(version_name(head.version)));
        record.put_text(Field::Status, self.status.as_ref().map(|it| it.as_str().as_bytes()));
        record.put_text(Field::Referer, referer.as_deref());
        record.put_text(Field::UserAgent, bytes(&head.user_agent));
        record.set_number(Field::Bytes, Some(self.bytes));
        record.set_number(Field::RequestTime, took_ns(timeline.started_at));
        record.set_number(Field::UpstreamTime, timeline.upstream_started_at.and_then(took_ns));
        record.set_number(Field::UpstreamConnectTime, timeline.connect_time.and_then(ns));
        let times = timeline.times(end);
        let has_head = timeline.head_received_at.is_some();
        record.set_number(Field::UpstreamHeaderTime, ns(times.header).filter(|_| has_head));
        record.set_number(Field::WaitTime, ns(times.wait));
        record.set_number(Field::BodyTime, ns(times.body).filter(|_| has_head));
        let decision = self.admission.decision.as_ref();
        let extra = [
            self.route.as_deref(),
            self.backend.as_ref().map(|backend| &*backend.name),
            self.backend_address.as_deref(),
            self.claim.as_deref(),
            self.token_cache,
            self.lookup_cache,
            self.session_cache,
            decision.map(|decision| &*decision.limit),
            decision.map(|decision| decision.verdict),
            Some(self.outcome.name()),
        ];
        let subject = self.certificate.as_ref().map(|it| it.subject().as_bytes());
        let names = self.identifiers.as_deref();
        let names = [
            names.and_then(|names| Some(names.request_id.as_ref()?.as_bytes())),
            names.and_then(|names| Some(names.trace_id.as_ref()?.as_bytes())),
            subject.filter(|subject| !subject.is_empty()),
            self.crawler.as_ref().map(|crawler| crawler.as_bytes()),
        ];
        let extra = extra.into_iter().map(|value| value.map(str::as_bytes)).chain(names);
        for (index, value) in extra.enumerate() {
            if let Some(value) = value {
                record.set_extra(index, value);
            }
        }
        self.recorder.put(&record);
        if let Some(capture) = &self.capture {
            self.end_capture(capture, &record);
        }
        if self.recorder.meter().is_on() {
            self.measure(self.recorder.meter(), end);
        }
        if let Some(trace) = &self.trace {
            self.report_spans(trace, end);
        }
    }
}

impl OpenRecord {
    /// Ends the capture, and passes it to the first wait whose condition the record meets.
    #[cold]
    fn end_capture(&self, capture: &OpenCapture, record: &Record<'_>) {
        match self.outcome {
            Outcome::Answered => {}
            Outcome::Refused(reason) => capture.lap("refused", reason),
            Outcome::Abandoned | Outcome::BrokenOff(_) => {
                capture.lap("aborted", self.outcome.name());
            }
        }
        let meets = |condition: &RequestCondition| condition.accepts(record);
        self.recorder.captures().end(capture.clone(), &meets);
    }
}

impl Drop for OpenRecord {
    fn drop(&mut self) {
        self.write();
    }
}

/// Removes the value of a token from a query (RFC 6750 section 2.3). A client may send one even if
/// the route accepts none there.
fn without_token(query: &str) -> Cow<'_, str> {
    const NAME: &str = "access_token";
    // A letter of the name may be percent-encoded.
    if !query.contains(NAME) && !query.contains('%') {
        return Cow::Borrowed(query);
    }
    let hidden = |part: &str| match part.split_once('=') {
        Some((name, _)) if *percent_decode(name.as_bytes()) == *NAME.as_bytes() => {
            format!("{NAME}=(not shown)")
        }
        _ => part.to_owned(),
    };
    Cow::Owned(query.split('&').map(hidden).collect::<Vec<_>>().join("&"))
}

/// The address of the page that a request came from. Its own query may hold a token too.
fn referer_without_token(referer: &HeaderValue) -> Cow<'_, [u8]> {
    let text = String::from_utf8_lossy(referer.as_bytes());
    match text.split_once('?').map(|(page, query)| (page, without_token(query))) {
        Some((page, Cow::Owned(query))) => Cow::Owned(format!("{page}?{query}").into_bytes()),
        _ => Cow::Borrowed(referer.as_bytes()),
    }
}

fn bytes(value: &Option<HeaderValue>) -> Option<&[u8]> {
    value.as_ref().map(HeaderValue::as_bytes)
}

pub(super) fn timestamp(time: SystemTime) -> Option<Timestamp> {
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_nanos()).ok().map(at)
}

fn at(unix_ns: i64) -> Timestamp {
    Timestamp { unix_ns, offset_s: 0 }
}

#[cfg(test)]
mod tests {
    use super::{HeaderValue, referer_without_token};

    #[test]
    fn no_record_has_a_token_of_an_address() {
        for (referer, expected) in [
            (&b"https://a.example/x?b=1"[..], &b"https://a.example/x?b=1"[..]),
            (b"https://a.example/x", b"https://a.example/x"),
            (b"/x?access_token=T&b=1", b"/x?access_token=(not shown)&b=1"),
            (b"/x?b=1&%61ccess_token=T", b"/x?b=1&access_token=(not shown)"),
            (b"/\xe9?access_token=T", "/\u{fffd}?access_token=(not shown)".as_bytes()),
            (b"/x?b=%41", b"/x?b=%41"),
        ] {
            let referer = HeaderValue::from_bytes(referer).expect("a value");
            assert_eq!(&*referer_without_token(&referer), expected);
        }
    }
}
