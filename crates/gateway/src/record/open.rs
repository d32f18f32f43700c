//! The record of a request in progress.

mod measure;
mod trace;

use std::borrow::Cow;
use std::fmt::Display;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyper::header::{HOST, HeaderMap, HeaderName, HeaderValue, REFERER, USER_AGENT};
use hyper::{Method, Request, StatusCode, Uri, Version};
use tokio::time::Instant;
use weir_core::{Field, Record, Timestamp};
use weir_net::redaction::shown_target;
use weir_observe::capture::{Capturable, OpenCapture, StepDetail};

use self::measure::MeasuredProgress;
use super::EXTRA_FIELDS;
use super::recorder::Recorder;
use crate::address_text::{ADDRESS_BYTES, push_address};
use crate::capture::RequestCondition;
use crate::http_version::version_name;
use crate::identifiers::RecordedIdentifiers;
use crate::limits::{Admission, QuotaSnapshot};
use crate::meter::{BackendMeter, Phase};
use crate::notices::{Notice, Notices};
use crate::traces::RequestTrace;

/// The record of a request in progress. It is written on drop, so that no request is lost.
#[derive(Debug)]
pub(crate) struct OpenRecord {
    recorder: Arc<Recorder>,
    arrived_at: SystemTime,
    started_at: Instant,
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
    upstream_started_at: Option<Instant>,
    connect_time: Option<Duration>,
    head_received_at: Option<Instant>,
    outcome: Outcome,
    progress: MeasuredProgress,
    /// The capture of the request, if a capture is pending.
    pub(crate) capture: Option<OpenCapture>,
}

/// The recorded parts of a request's head.
#[derive(Debug)]
struct RequestHead {
    client: Option<IpAddr>,
    method: Method,
    uri: Uri,
    version: Version,
    host: Option<HeaderValue>,
    referer: Option<HeaderValue>,
    user_agent: Option<HeaderValue>,
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

impl Outcome {
    /// The name in records.
    fn name(self) -> &'static str {
        match self {
            Self::Abandoned => "client_gone",
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
        let field = |name: &HeaderName| first(request.headers(), name);
        let name = || format!("{} {}", request.method(), shown_target(request.uri().path()));
        let capture = recorder.captures().open(name);
        Box::new(Self {
            recorder: recorder.clone(),
            arrived_at: SystemTime::now(),
            started_at: Instant::now(),
            request: RequestHead {
                client,
                method: request.method().clone(),
                uri: request.uri().clone(),
                version: request.version(),
                host: field(&HOST),
                referer: field(&REFERER),
                user_agent: field(&USER_AGENT),
            },
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
            upstream_started_at: None,
            connect_time: None,
            head_received_at: None,
            outcome: Outcome::Abandoned,
            progress: MeasuredProgress::default(),
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
        self.started_at
    }

    pub(crate) fn set_backend_address(&mut self, address: &Arc<str>) {
        self.backend_address = Some(address.clone());
    }

    /// Notes when a server was contacted. Only the first call counts: the time before it is the
    /// waiting time.
    pub(crate) fn note_upstream_start(&mut self, started_at: Instant) {
        if self.upstream_started_at.is_none() {
            self.upstream_started_at = Some(started_at);
            self.begin_phase(Phase::Header, started_at);
        }
    }

    /// Notes how long connecting took; `None` if the connection was reused.
    pub(crate) fn set_connect_time(&mut self, connect_time: Option<Duration>) {
        self.connect_time = connect_time.or(self.connect_time);
    }

    /// Notes the arrival of the answer's head. The last call counts, because the last answer is
    /// forwarded.
    pub(crate) fn note_head(&mut self) {
        let now = Instant::now();
        self.head_received_at = Some(now);
        self.begin_phase(Phase::Body, now);
    }

    /// Reports why no connection to a server could be opened.
    pub(crate) fn report_unreachable(&self, server: &str, reason: &dyn Display) {
        let backend = self.backend.as_ref().map(|backend| &backend.name);
        self.recorder.notices().report(server, || Notice {
            backend: backend.map(ToString::to_string),
            server: Some(server.to_owned()),
            ..Notice::new(match backend {
                Some(backend) => format!("{server} of the backend {backend}: {reason}"),
                None => format!("{server}: {reason}"),
            })
        });
    }

    /// Where the operator is told about failures.
    pub(crate) fn notices(&self) -> &Notices {
        self.recorder.notices()
    }

    pub(crate) fn add_bytes(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.measure_bytes(bytes);
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
        self.end_progress();
        let end = Instant::now();
        let ns = |duration: Duration| u64::try_from(duration.as_nanos()).ok();
        let took_ns = |started_at: Instant| ns(end - started_at);
        let mut client = Vec::with_capacity(ADDRESS_BYTES);
        if let Some(address) = self.request.client {
            push_address(&mut client, address.to_canonical());
        }
        let mut record = Record::with_extra_fields(EXTRA_FIELDS.len());
        let arrival = self.admission.arrival_ns;
        record.time = arrival.map(at).or_else(|| timestamp(self.arrived_at));
        record.put_text(Field::Client, self.request.client.map(|_| &client[..]));
        record.put_text(Field::User, self.subject.as_ref().map(|subject| subject.as_bytes()));
        record.put_text(Field::Host, bytes(&self.request.host));
        record.put_text(Field::Method, Some(self.request.method.as_str().as_bytes()));
        record.put_text(Field::Path, Some(self.request.uri.path().as_bytes()));
        let query = self.request.uri.query().map(without_token);
        record.put_text(Field::Query, query.as_ref().map(|query| query.as_bytes()));
        record.put_text(Field::Protocol, Some(version_name(self.request.version)));
        record.put_text(Field::Status, self.status.as_ref().map(|it| it.as_str().as_bytes()));
        record.put_text(Field::Referer, bytes(&self.request.referer));
        record.put_text(Field::UserAgent, bytes(&self.request.user_agent));
        record.set_number(Field::Bytes, Some(self.bytes));
        record.set_number(Field::RequestTime, took_ns(self.started_at));
        record.set_number(Field::UpstreamTime, self.upstream_started_at.and_then(took_ns));
        record.set_number(Field::UpstreamConnectTime, self.connect_time.and_then(ns));
        let header_time = self
            .head_received_at
            .zip(self.upstream_started_at)
            .map(|(head, started_at)| head - started_at);
        record.set_number(Field::UpstreamHeaderTime, header_time.and_then(ns));
        let waited = self.upstream_started_at.unwrap_or(end) - self.started_at;
        record.set_number(Field::WaitTime, ns(waited));
        record.set_number(Field::BodyTime, self.head_received_at.and_then(took_ns));
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
        let names = self.identifiers.as_deref();
        let names = [
            names.and_then(|names| Some(names.request_id.as_ref()?.as_bytes())),
            names.and_then(|names| Some(names.trace_id.as_ref()?.as_bytes())),
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

/// Removes the value of a token from a query (RFC 6750 section 2.3). The gateway accepts no token
/// there, but a client may send one.
fn without_token(query: &str) -> Cow<'_, str> {
    const NAME: &str = "access_token=";
    if !query.contains(NAME) {
        return Cow::Borrowed(query);
    }
    let hidden = |part: &str| match part.starts_with(NAME) {
        true => format!("{NAME}(not shown)"),
        false => part.to_owned(),
    };
    Cow::Owned(query.split('&').map(hidden).collect::<Vec<_>>().join("&"))
}

fn bytes(value: &Option<HeaderValue>) -> Option<&[u8]> {
    value.as_ref().map(HeaderValue::as_bytes)
}

fn first(headers: &HeaderMap, name: &HeaderName) -> Option<HeaderValue> {
    headers.get(name).cloned()
}

fn timestamp(time: SystemTime) -> Option<Timestamp> {
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_nanos()).ok().map(at)
}

fn at(unix_ns: i64) -> Timestamp {
    Timestamp { unix_ns, offset_s: 0 }
}
