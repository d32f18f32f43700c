//! The way of a request through the gateway.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use weir_net::{Body, Client, Peer, Scheme};
use weir_observe::mark;

use crate::authorize::{authorize, claim_text};
use crate::backend::Backend;
use crate::config::Target;
use crate::forward::{Forwarded, forward};
use crate::glass;
use crate::header_fields::Origination;
use crate::identifiers::X_REQUEST_ID;
use crate::limits::{Admission, Arrival, OwnQuota};
use crate::record::{OpenRecord, Recorder};
use crate::refusal::Refusal;
use crate::request_target::RequestTarget;
use crate::routing::{ChosenBackend, Route, Routing};
use crate::sender::Sender;
use crate::session::{Session, SessionUser, Sessions};
use crate::token::{TokenVerifier, VerifiedBy, VerifiedToken, bearer_token};
use crate::traces::TraceSender;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Answers a request from a backend, or refuses it. What the answer needs is taken out of the request before
/// its future begins, so that this is small: it is moved several times.
pub(crate) fn answer(
    routing: Arc<Routing>,
    recorder: &Arc<Recorder>,
    request: Request<Incoming>,
    client: &Client,
) -> impl Future<Output = Response<Body>> + Send + use<> {
    let sender = Sender::of(client.peer().ip(), request.headers(), &routing.trusted);
    let is_tls = sender.is_tls.unwrap_or(client.scheme() == Scheme::Https);
    let mut record = OpenRecord::new(recorder, &request, sender.address);
    if let Some(journal) = &record.journal {
        glass::note_arrival(journal, &request, client);
    }
    let journal = record.journal.clone();
    let (mut parts, body) = request.into_parts();
    let request_id = identify(&routing, client.peer(), is_tls, &mut parts, &mut record);
    async move {
        let admitting = admit(&routing, &mut parts, sender.address, &mut record);
        let admitted = mark!("admit").poll_with(admitting).await;
        let quota = record.take_quota();
        let mut response = match admitted {
            Ok(Admitted { backend, session }) => {
                let forwarded_for = sender.forwarded_for.as_ref();
                let from = Origination { client: sender.address, is_tls, forwarded_for };
                let forwarded = Forwarded { body, from, session, record };
                let forwarding = forward(&backend, &mut parts, forwarded);
                match mark!("forward").poll_with(forwarding).await {
                    Ok(response) => response,
                    Err((record, error)) => refuse(&routing, record, error.into()),
                }
            }
            Err(refusal) => refuse(&routing, record, refusal),
        };
        if let Some(quota) = quota {
            add_quota(response.headers_mut(), &quota);
        }
        if let Some(id) = request_id {
            response.headers_mut().insert(X_REQUEST_ID, id);
        }
        match journal {
            None => response,
            Some(journal) => glass::note_passed_on(&journal, response),
        }
    }
}

/// Sets the names of a request, and notes those that are recorded. Returns its id, if it gets one.
fn identify(
    routing: &Routing,
    peer: Peer,
    is_tls: bool,
    request: &mut Parts,
    record: &mut OpenRecord,
) -> Option<HeaderValue> {
    if routing.identifiers.is_off() {
        return None;
    }
    let is_trusted = routing.trusted.trusts(peer.ip());
    let mut names = routing.identifiers.settle(&mut request.headers, is_trusted);
    if let Some(traces) = &routing.traces {
        let sender = TraceSender { is_trusted, is_tls };
        record.trace = traces.begin(&mut names.trace, &mut request.headers, sender);
    }
    record.identifiers = routing.identifiers.recorded(&names);
    names.request_id
}

/// Where a request may go.
struct Admitted {
    backend: Arc<Backend>,
    session: Option<Session>,
}

/// Who a request comes from, and by which route.
struct Known<'a> {
    route: &'a Route,
    token: Option<Arc<VerifiedToken>>,
}

/// Finds the backend of a request that may pass, and the session with it.
async fn admit(
    routing: &Routing,
    request: &mut Parts,
    client: Option<IpAddr>,
    record: &mut OpenRecord,
) -> Result<Admitted, Refusal> {
    let known = recognise(routing, request, record).await;
    // Before anything that the gateway does for the client, and whether or not the request is refused for
    // another reason: a replay over the records sees it too.
    limit(routing, request, client, record).await?;
    let Known { route, token } = known?;
    let backend = choose(routing, route, token.as_deref(), record).await?;
    let session = match (&route.sessions, &token) {
        (Some(sessions), Some(token)) => {
            // Most routes have none, and its future is large.
            Some(Box::pin(begin_session(sessions, &backend, token, request, record)).await?)
        }
        _ => None,
    };
    Ok(Admitted { backend, session })
}

/// Finds the route of a request, and verifies its token if the route needs one.
async fn recognise<'a>(
    routing: &'a Routing,
    request: &mut Parts,
    record: &mut OpenRecord,
) -> Result<Known<'a>, Refusal> {
    let target = RequestTarget::read(request)?;
    let route = routing.route(&target).ok_or(Refusal::NO_ROUTE)?;
    record.route = Some(route.name.clone());
    record.lap("route", || &*route.name);
    let token = match routing.verifier(route)? {
        None => None,
        Some(verifier) => Some(verify(verifier, request, record).await?),
    };
    Ok(Known { route, token })
}

async fn choose(
    routing: &Routing,
    route: &Route,
    token: Option<&VerifiedToken>,
    record: &mut OpenRecord,
) -> Result<Arc<Backend>, Refusal> {
    let claim = match (&route.config.target, token) {
        (Target::Claim { claim, .. }, Some(token)) => claim_text(token, claim),
        _ => None,
    };
    record.claim = claim.as_deref().map(Arc::from);
    let choosing = routing.backend(route, claim.as_deref());
    let chosen = mark!("Routing::backend").poll_with(choosing).await;
    record.lap("backend", || chosen_text(&chosen));
    // A question that found no backend was one to the cache nonetheless.
    record.lookup_cache = chosen.is_remembered.map(hit_or_miss);
    let backend = chosen.backend?;
    record.backend = Some(backend.meter().clone());
    Ok(backend)
}

/// The session of the token's subject with a backend.
async fn begin_session(
    sessions: &Arc<Sessions>,
    backend: &Arc<Backend>,
    token: &VerifiedToken,
    request: &Parts,
    record: &mut OpenRecord,
) -> Result<Session, Refusal> {
    let subject = record.subject.clone().filter(|subject| !subject.is_empty());
    let subject = subject.ok_or(Refusal::NO_SUBJECT)?;
    let bearer = bearer_token(&request.headers, request.uri.query())?;
    let user = SessionUser { issuer: token.issuer().into(), subject };
    let getting = sessions.get(backend, user, bearer);
    let session = mark!("Sessions::get").poll_with(getting).await;
    record.session_cache = Some(hit_or_miss(session.as_ref().is_some_and(|it| it.is_reused)));
    record.lap("session", || match &session {
        Some(session) if session.is_reused => "remembered",
        Some(_) => "log-in",
        None => "the log-in failed",
    });
    session.ok_or(Refusal::NO_SESSION)
}

/// What records say of a cache.
fn hit_or_miss(is_hit: bool) -> &'static str {
    if is_hit { "hit" } else { "miss" }
}

/// Verifies the token of a request, and notes whose it is.
async fn verify(
    verifier: &TokenVerifier,
    request: &Parts,
    record: &mut OpenRecord,
) -> Result<Arc<VerifiedToken>, Refusal> {
    let authorized = authorize(verifier, request).await;
    record.lap("token", || match &authorized {
        Ok((_, VerifiedBy::Cache)) => "remembered",
        Ok(_) => "verified",
        Err(refusal) => refusal.name(),
    });
    let (token, by) = authorized?;
    record.token_cache = Some(hit_or_miss(by == VerifiedBy::Cache));
    record.subject = token.subject().cloned();
    Ok(token)
}

/// Counts a request in all limits. Its time is that of the decision, so that a slow check before it is no
/// jump of the clock.
async fn limit(
    routing: &Routing,
    request: &Parts,
    client: Option<IpAddr>,
    record: &mut OpenRecord,
) -> Result<(), Refusal> {
    if routing.limits.is_empty() {
        return Ok(());
    }
    let arrival = Arrival::new(request, client, record.subject.as_deref());
    let admission = routing.limits.admit(&arrival, now_ns());
    let Admission { delay, rejected, .. } = admission;
    record.lap("limits", || limits_text(&admission));
    record.set_admission(admission);
    if let Some(rejection) = rejected {
        return Err(rejection.into());
    }
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
        record.lap("delay", || "by the limits");
    }
    Ok(())
}

/// What the limits decided, for one who looks.
fn limits_text(admission: &Admission) -> String {
    match &admission.decision {
        Some(decision) => format!("{}: {}", decision.limit, decision.verdict),
        None => "passed".to_owned(),
    }
}

/// Which backend was chosen, for one who looks.
fn chosen_text(chosen: &ChosenBackend) -> String {
    match (&chosen.backend, chosen.is_remembered) {
        (Ok(backend), None) => backend.name().to_string(),
        (Ok(backend), Some(true)) => format!("{}, remembered", backend.name()),
        (Ok(backend), Some(false)) => format!("{}, looked up", backend.name()),
        (Err(refusal), _) => refusal.reason().to_owned(),
    }
}

/// The time in nanoseconds since 1970.
fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

fn refuse(routing: &Routing, record: Box<OpenRecord>, refusal: Refusal) -> Response<Body> {
    record.refuse(refusal.status(), refusal.reason(), refusal.bytes());
    refusal.response(&routing.challenges)
}

/// Tells the client what it may still do.
fn add_quota(headers: &mut HeaderMap, quota: &OwnQuota) {
    let (policy, quota) = quota.header_values();
    for (name, value) in [
        (RATE_LIMIT_POLICY, HeaderValue::from_str(policy)),
        (RATE_LIMIT, HeaderValue::try_from(quota)),
    ] {
        if let Ok(value) = value {
            headers.insert(name, value);
        }
    }
}
