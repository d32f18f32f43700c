//! The record of a request that is not answered yet.

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
use weir_net::glass::shown_target;
use weir_observe::glass::{Followed, Journal};

use super::EXTRA_FIELDS;
use super::recorder::Recorder;
use crate::address_text::{ADDRESS_BYTES, push_address};
use crate::glass::RequestCondition;
use crate::http_version::version_name;
use crate::identifiers::RecordedIdentifiers;
use crate::limits::{Admission, OwnQuota};
use crate::meter::BackendMeter;
use crate::notices::Notice;
use crate::traces::RequestTrace;

/// What is known so far of a request. It is written when it is dropped, so that none is lost.
#[derive(Debug)]
pub(crate) struct OpenRecord {
    recorder: Arc<Recorder>,
    arrived: SystemTime,
    begun: Instant,
    request: RequestHead,
    pub(crate) subject: Option<Arc<str>>,
    pub(crate) route: Option<Arc<str>>,
    pub(crate) backend: Option<Arc<BackendMeter>>,
    pub(crate) claim: Option<Arc<str>>,
    /// What each cache said: `hit`, `miss`, or nothing if it was not asked.
    pub(crate) token_cache: Option<&'static str>,
    pub(crate) lookup_cache: Option<&'static str>,
    pub(crate) session_cache: Option<&'static str>,
    backend_address: Option<Arc<str>>,
    /// The names of the request that are recorded, if any are.
    pub(crate) identifiers: Option<Box<RecordedIdentifiers>>,
    /// The spans of the request, if it is one of those that are traced.
    pub(crate) trace: Option<Box<RequestTrace>>,
    /// What the limits decided, and the places that the request holds until its end.
    admission: Admission,
    status: Option<StatusCode>,
    bytes: u64,
    upstream_begun: Option<Instant>,
    connect_time: Option<Duration>,
    head_came: Option<Instant>,
    outcome: Outcome,
    /// The steps of the request, if somebody looks at it.
    pub(crate) journal: Option<Journal>,
}

/// What of a request's head is recorded.
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
    /// The client went away before the head of an answer.
    Abandoned,
    /// The backend's answer was passed on as a whole.
    Answered,
    /// The gateway answered itself, for this reason.
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
        let journal = recorder.captures().journal(name);
        Box::new(Self {
            recorder: recorder.clone(),
            arrived: SystemTime::now(),
            begun: Instant::now(),
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
            upstream_begun: None,
            connect_time: None,
            head_came: None,
            outcome: Outcome::Abandoned,
            journal,
        })
    }

    /// Notes what the limits decided.
    pub(crate) fn set_admission(&mut self, admission: Admission) {
        self.admission = admission;
    }

    /// What the client may still do, for the fields of the answer.
    pub(crate) fn take_quota(&mut self) -> Option<OwnQuota> {
        self.admission.quota.take()
    }

    pub(crate) fn set_status(&mut self, status: StatusCode) {
        self.status = Some(status);
    }

    /// When the request arrived.
    pub(crate) fn begun(&self) -> Instant {
        self.begun
    }

    pub(crate) fn set_backend_address(&mut self, address: &Arc<str>) {
        self.backend_address = Some(address.clone());
    }

    /// A server was turned to at `begun`. Of several, the first counts: what came before it was waiting.
    pub(crate) fn set_upstream_begun(&mut self, begun: Instant) {
        self.upstream_begun.get_or_insert(begun);
    }

    /// How long it took to connect; nothing if the connection was there.
    pub(crate) fn set_connect_time(&mut self, connect_time: Option<Duration>) {
        self.connect_time = connect_time.or(self.connect_time);
    }

    /// The head of the answer has come. Of several answers, the last counts: it is the one that is passed on.
    pub(crate) fn set_head_came(&mut self) {
        self.head_came = Some(Instant::now());
    }

    /// Says why no connection to a server can be had.
    pub(crate) fn say_unreachable(&self, server: &str, reason: &dyn Display) {
        let backend = self.backend.as_ref().map(|backend| &backend.name);
        self.recorder.notices().say(server, || Notice {
            backend: backend.map(ToString::to_string),
            server: Some(server.to_owned()),
            ..Notice::new(match backend {
                Some(backend) => format!("{server} of the backend {backend}: {reason}"),
                None => format!("{server}: {reason}"),
            })
        });
    }

    pub(crate) fn add_bytes(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    /// Notes a step that has lasted since the one before, if somebody looks.
    #[inline]
    pub(crate) fn lap<D: Into<String>>(&self, name: &'static str, detail: impl FnOnce() -> D) {
        if let Some(journal) = &self.journal {
            journal.lap(name, detail());
        }
    }

    /// The tunnel that the request has opened, for those who look at one.
    pub(crate) fn follow_tunnel(&self) -> Followed {
        let name = format!("{} {}", self.request.method, shown_target(self.request.uri.path()));
        Followed::new(self.recorder.tunnels(), name)
    }

    /// The answer was passed on as a whole.
    pub(crate) fn complete(mut self) {
        self.outcome = Outcome::Answered;
    }

    /// The answer ended early.
    pub(crate) fn break_off(mut self, reason: &'static str) {
        self.outcome = Outcome::BrokenOff(reason);
    }

    /// The gateway answers itself.
    pub(crate) fn refuse(mut self, status: StatusCode, reason: &'static str, bytes: usize) {
        let path = || shown_target(self.request.uri.path());
        tracing::debug!(status = status.as_u16(), reason, path = path(), "a request is refused");
        self.status = Some(status);
        self.bytes = bytes as u64;
        self.outcome = Outcome::Refused(reason);
    }

    fn write(&self) {
        let end = Instant::now();
        let ns = |duration: Duration| u64::try_from(duration.as_nanos()).ok();
        let took_ns = |begun: Instant| ns(end - begun);
        let mut client = Vec::with_capacity(ADDRESS_BYTES);
        if let Some(address) = self.request.client {
            push_address(&mut client, address.to_canonical());
        }
        let mut record = Record::with_extra_fields(EXTRA_FIELDS.len());
        let arrival = self.admission.arrival_ns;
        record.time = arrival.map(at).or_else(|| timestamp(self.arrived));
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
        record.set_number(Field::RequestTime, took_ns(self.begun));
        record.set_number(Field::UpstreamTime, self.upstream_begun.and_then(took_ns));
        record.set_number(Field::UpstreamConnectTime, self.connect_time.and_then(ns));
        let header_time = self.head_came.zip(self.upstream_begun).map(|(head, begun)| head - begun);
        record.set_number(Field::UpstreamHeaderTime, header_time.and_then(ns));
        let waited = self.upstream_begun.unwrap_or(end) - self.begun;
        record.set_number(Field::WaitTime, ns(waited));
        record.set_number(Field::BodyTime, self.head_came.and_then(took_ns));
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
        if let Some(journal) = &self.journal {
            self.end_journal(journal, &record);
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
    /// Hands the journal to the one who waits for such a request.
    #[cold]
    fn end_journal(&self, journal: &Journal, record: &Record<'_>) {
        match self.outcome {
            Outcome::Answered => {}
            Outcome::Refused(reason) => journal.lap("refused", reason),
            Outcome::Abandoned | Outcome::BrokenOff(_) => {
                journal.lap("broken off", self.outcome.name());
            }
        }
        let meets = |condition: &RequestCondition| condition.accepts(record);
        self.recorder.captures().end(journal.clone(), &meets);
    }
}

impl Drop for OpenRecord {
    fn drop(&mut self) {
        self.write();
    }
}

/// A query without the token that a client may have put there (RFC 6750 section 2.3), where none is accepted.
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
