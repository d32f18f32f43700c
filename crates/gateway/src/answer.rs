//! The way of a request through the gateway.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use weir_net::{Body, Client, Scheme};

use crate::authorize::{authorize, claim_text};
use crate::backend::Backend;
use crate::config::Target;
use crate::forward::{Forwarded, Origination, forward};
use crate::limits::{Admission, Arrival};
use crate::record::{OpenRecord, Recorder};
use crate::refusal::Refusal;
use crate::routing::{Route, Routing};
use crate::session::{Session, SessionKey, Sessions};
use crate::token::{TokenVerifier, VerifiedBy, VerifiedToken, bearer_token};

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Answers a request from a backend, or refuses it.
pub(crate) async fn answer(
    routing: Arc<Routing>,
    recorder: Arc<Recorder>,
    request: Request<Incoming>,
    client: Client,
) -> Response<Body> {
    let address = client.peer().ip();
    let mut record = OpenRecord::new(&recorder, &request, address);
    let (parts, body) = request.into_parts();
    let admitted = admit(&routing, &parts, &mut record).await;
    let limited = limit(&routing, &parts, address, &mut record).await;
    let quota = record.take_quota();
    let mut response = match limited.and(admitted) {
        Ok(Admitted { backend, session }) => {
            let request = Request::from_parts(parts, body);
            let is_tls = Scheme::of(&request) == Scheme::Https;
            let from = Origination { client: address, is_tls, forwarded_for: None };
            match forward(&backend, Forwarded { request, from, session, record }).await {
                Ok(response) => response,
                Err((record, error)) => refuse(record, error.into()),
            }
        }
        Err(refusal) => refuse(record, refusal),
    };
    if let Some(quota) = quota {
        add_quota(response.headers_mut(), &quota);
    }
    response
}

/// Where a request may go.
struct Admitted {
    backend: Arc<Backend>,
    session: Option<Session>,
}

/// Finds the backend of a request, if its token allows one, and the session with it.
async fn admit(
    routing: &Routing,
    request: &Parts,
    record: &mut OpenRecord,
) -> Result<Admitted, Refusal> {
    let host = request.headers.get(HOST).and_then(|host| host.to_str().ok());
    let route = routing.route(&request.uri, host).ok_or(Refusal::NO_ROUTE)?;
    record.route = Some(route.name.clone());
    let token = match routing.verifier(route) {
        None => None,
        Some(verifier) => Some(verify(verifier, request, record).await?),
    };
    let backend = choose(routing, route, token.as_deref(), record).await?;
    let session = match (&route.sessions, &token) {
        (Some(sessions), Some(token)) => {
            Some(begin_session(sessions, &backend, token, request, record).await?)
        }
        _ => None,
    };
    Ok(Admitted { backend, session })
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
    let chosen = routing.backend(route, claim.as_deref()).await?;
    record.lookup_cache = chosen.is_remembered.map(hit_or_miss);
    record.backend = Some(chosen.backend.name().clone());
    Ok(chosen.backend)
}

/// The session of the token's subject with a backend.
async fn begin_session(
    sessions: &Arc<Sessions>,
    backend: &Arc<Backend>,
    token: &VerifiedToken,
    request: &Parts,
    record: &mut OpenRecord,
) -> Result<Session, Refusal> {
    let subject = record.subject.clone().ok_or(Refusal::NO_SUBJECT)?;
    let key =
        SessionKey { issuer: token.issuer().into(), subject, backend: backend.name().clone() };
    let bearer = bearer_token(&request.headers, request.uri.query())?;
    let session = sessions.get(backend, key, bearer).await;
    record.session_cache = Some(hit_or_miss(session.as_ref().is_some_and(|it| it.is_reused)));
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
    let (token, by) = authorize(verifier, request).await?;
    record.token_cache = Some(hit_or_miss(by == VerifiedBy::Cache));
    record.subject = token.subject().map(Arc::from);
    Ok(token)
}

/// Counts a request in all limits, whether or not it is refused for another reason: a replay over the
/// records sees it too.
async fn limit(
    routing: &Routing,
    request: &Parts,
    client: Option<std::net::IpAddr>,
    record: &mut OpenRecord,
) -> Result<(), Refusal> {
    if routing.limits.is_empty() {
        return Ok(());
    }
    let arrival = Arrival::new(request, client, record.subject.as_deref());
    let admission = routing.limits.admit(&arrival, record.arrived_ns());
    let Admission { delay, rejected, .. } = admission;
    record.set_admission(admission);
    if let Some(rejection) = rejected {
        return Err(rejection.into());
    }
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    Ok(())
}

fn refuse(record: Box<OpenRecord>, refusal: Refusal) -> Response<Body> {
    record.refuse(refusal.status(), refusal.reason(), refusal.bytes());
    refusal.response()
}

/// Tells the client what it may still do.
fn add_quota(headers: &mut HeaderMap, (policy, quota): &(String, String)) {
    for (name, value) in [(RATE_LIMIT_POLICY, policy), (RATE_LIMIT, quota)] {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
}
