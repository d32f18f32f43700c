//! The path of a request through the gateway.

mod fields;
mod verification;

use std::sync::Arc;

use hyper::header::HeaderValue;
use hyper::http::request::Parts;
use hyper::{Request, Response};
use weir_net::{Body, Client, IncomingBody, Peer, Scheme};
use weir_observe::mark;

use self::fields::AnswerFields;
use self::verification::verify_within_limits;
use crate::access::authorize::{claim_text, now_unix_s};
use crate::access::client_certificate::CertificateFault;
use crate::access::forwarded_claims::{UnusableClaim, UserFields};
use crate::access::token_place::move_token;
use crate::backend::Backend;
use crate::capture;
use crate::config::{RouteConfig, RouteTarget};
use crate::crawlers::CrawlerSignature;
use crate::forward::{ForwardContext, forward};
use crate::header_fields::RequestOrigin;
use crate::header_fields::sender::Sender;
use crate::record::{OpenRecord, Recorder};
use crate::refusal::Refusal;
use crate::request::target::{RequestTarget, TargetError};
use crate::route::route_match::PathMatch;
use crate::routing::{BackendChoice, Route, Routing};
use crate::session::{Session, SessionUser, Sessions};
use crate::token::{VerifiedToken, bearer_token};
use crate::traces::TraceSender;

/// Answers a request from a backend, or refuses it. The request is taken apart before the future
/// begins, to keep the future small: it is allocated for each request.
pub(crate) fn answer(
    routing: Arc<Routing>,
    recorder: &Arc<Recorder>,
    request: Request<IncomingBody>,
    client: &Client,
) -> impl Future<Output = Response<Body>> + Send + use<> {
    let sender = Sender::resolve(client.peer().ip(), request.headers(), &routing.trusted);
    let is_tls = sender.is_tls.unwrap_or(client.scheme() == Scheme::Https);
    let mut record = OpenRecord::new(recorder, &request, sender.address);
    if let Some(capture) = &record.capture {
        capture::note_arrival(capture, &request, client);
    }
    let certificate = client.certificate().cloned();
    let has_expired = client.certificate_has_expired();
    record.certificate.clone_from(&certificate);
    let capture = record.capture.clone();
    let interim = client.interim_sender(request.version());
    let (mut parts, body) = request.into_parts();
    // Before anything of the request is changed.
    let signature = read_signature(&routing, &parts, is_tls, &record);
    let request_id = identify(&routing, client.peer(), is_tls, &mut parts, &mut record);
    let mut fields = AnswerFields { request_id, ..AnswerFields::default() };
    async move {
        let forwarded_for = sender.forwarded_for.as_ref();
        let certificate = certificate.as_deref();
        let from = RequestOrigin { client: sender.address, is_tls, forwarded_for, certificate };
        // A connection that had to have a certificate must not go on without.
        let admitted = if has_expired {
            Err(CertificateFault::Expired.into())
        } else {
            let admitting = admit(&routing, &mut parts, from, signature, &mut record, &mut fields);
            mark!("admit").poll_with(admitting).await
        };
        fields.quota = record.take_quota();
        let mut response = match admitted {
            Ok(Destination { backend, session, user }) => {
                let client_fields = &routing.client_fields;
                let context =
                    ForwardContext { body, interim, from, session, user, client_fields, record };
                let forwarding = forward(&backend, &mut parts, context);
                match mark!("forward").poll_with(forwarding).await {
                    Ok(response) => response,
                    Err((record, error)) => refuse(&routing, &fields, record, error.into()),
                }
            }
            Err(refusal) => refuse(&routing, &fields, record, refusal),
        };
        fields.apply(&mut response);
        match capture {
            None => response,
            Some(capture) => capture::note_passed_on(&capture, response),
        }
    }
}

/// Sets the request id and trace context of a request, and notes those that are recorded. Returns
/// the id if the request gets one.
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
    let mut names = routing.identifiers.apply(&mut request.headers, is_trusted);
    if let Some(traces) = &routing.traces {
        let sender = TraceSender { is_trusted, is_tls };
        record.trace = traces.begin(&mut names.trace, &mut request.headers, sender);
    }
    record.identifiers = routing.identifiers.select_recorded(&names);
    names.request_id
}

/// The backend of an admitted request, and its session there.
struct Destination {
    backend: Arc<Backend>,
    session: Option<Session>,
    user: UserFields,
}

/// The route of a request, and its verified token if the route needs one and it has been verified.
struct RouteMatch<'a> {
    route: &'a Route,
    token: Option<Arc<VerifiedToken>>,
    /// Whether the token was in another place than `Authorization`.
    was_moved: bool,
    /// The signature of a crawler, if there is one.
    signature: Option<Box<CrawlerSignature>>,
}

/// Checks a request, and returns its backend and its session there.
async fn admit(
    routing: &Routing,
    request: &mut Parts,
    from: RequestOrigin<'_>,
    signature: Option<Box<CrawlerSignature>>,
    record: &mut OpenRecord,
    fields: &mut AnswerFields,
) -> Result<Destination, Refusal> {
    let matched = match_route(routing, request, from.is_tls, record, fields);
    let matched = matched.map(|matched| RouteMatch { signature, ..matched });
    let RouteMatch { route, was_moved, token, .. } =
        verify_within_limits(routing, request, from, matched, record, fields).await?;
    let mut user = match &token {
        Some(token) => check_claims(&route.config, token, was_moved)?,
        None => UserFields::default(),
    };
    route.config.certificate.tell(from.certificate, &mut user)?;
    let field = routing.crawlers.as_ref().and_then(|crawlers| crawlers.config().field.as_ref());
    if let (Some(field), Some(crawler)) = (field, &record.crawler) {
        user.fields.extend(HeaderValue::from_str(crawler).map(|host| (field.clone(), host)));
    }
    user.changes.clone_from(&route.changes);
    let backend = choose(routing, route, token.as_deref(), record).await?;
    let session = match (&route.sessions, &token) {
        (Some(sessions), Some(token)) => {
            // Boxed because the future is large and most routes have no session.
            Some(Box::pin(begin_session(sessions, &backend, token, request, record)).await?)
        }
        _ => None,
    };
    if let Some(path) = route.changes.as_ref().and_then(|changes| changes.path.as_ref()) {
        path.change(&mut request.uri).ok_or(TargetError::Path)?;
    }
    Ok(Destination { backend, session, user })
}

/// Checks that a token has what a route requires, and returns what the backend learns of it.
fn check_claims(
    route: &RouteConfig,
    token: &VerifiedToken,
    was_moved: bool,
) -> Result<UserFields, Refusal> {
    if !route.requirements.iter().all(|requirement| requirement.is_met(token)) {
        return Err(Refusal::INSUFFICIENT_SCOPE);
    }
    route.forwarded_claims.of(token, was_moved).map_err(|UnusableClaim| Refusal::UNUSABLE_CLAIM)
}

/// Finds the route of a request, and moves its token to `Authorization`.
fn match_route<'a>(
    routing: &'a Routing,
    request: &mut Parts,
    is_tls: bool,
    record: &mut OpenRecord,
    fields: &mut AnswerFields,
) -> Result<RouteMatch<'a>, Refusal> {
    let target = RequestTarget::read(request)?;
    let found = routing.route(&target);
    if matches!(found, Err(TargetError::Method)) {
        let methods = routing.other_methods(&target);
        fields.allowed_methods = methods.filter(|methods| !methods.is_empty());
    }
    let route = match found? {
        PathMatch::Route(route) => route,
        PathMatch::None => return Err(Refusal::NO_ROUTE),
        PathMatch::Untaken => {
            fields.allowed_methods = routing.other_methods(&target);
            let is_other = fields.allowed_methods.is_some();
            return Err(if is_other { TargetError::Method.into() } else { Refusal::NO_ROUTE });
        }
    };
    record.route = Some(route.name.clone());
    fields.changes.clone_from(&route.changes);
    record.lap("route", || &*route.name);
    if let Some(cors) = &route.config.cors {
        let cors = cors.answer(request);
        let preflight = cors.preflight;
        fields.cors = Some(Box::new(cors));
        match preflight {
            Some(true) => return Err(Refusal::PREFLIGHT),
            Some(false) => return Err(Refusal::OTHER_ORIGIN),
            None => {}
        }
    }
    let RouteConfig { token_places, cors, .. } = &route.config;
    let moved = move_token(token_places, cors.as_ref(), request, is_tls)?;
    let was_moved = moved.is_some();
    fields.subprotocol = moved.and_then(|moved| moved.subprotocol);
    Ok(RouteMatch { route, token: None, was_moved, signature: None })
}

/// Reads the signature of a crawler.
fn read_signature(
    routing: &Routing,
    request: &Parts,
    is_tls: bool,
    record: &OpenRecord,
) -> Option<Box<CrawlerSignature>> {
    let read = routing.crawlers.as_ref()?.read(request, is_tls, now_unix_s())?;
    read.map(Box::new).map_err(|fault| record.lap("crawler", || fault.text())).ok()
}

/// Verifies the signature of a crawler, and records its agent.
fn note_crawler(routing: &Routing, signature: Option<&CrawlerSignature>, record: &mut OpenRecord) {
    let Some((crawlers, signature)) = routing.crawlers.as_ref().zip(signature) else { return };
    let verified = crawlers.verify(signature, now_unix_s());
    record.lap("crawler", || verified.as_ref().map_or_else(|fault| fault.text(), |_| "verified"));
    record.crawler = verified.ok().cloned();
}

async fn choose(
    routing: &Routing,
    route: &Route,
    token: Option<&VerifiedToken>,
    record: &mut OpenRecord,
) -> Result<Arc<Backend>, Refusal> {
    let claim = match (&route.config.target, token) {
        (RouteTarget::Claim { claim, .. }, Some(token)) => claim_text(token, claim),
        _ => None,
    };
    record.claim = claim.as_deref().map(Arc::from);
    let subject = token.and_then(VerifiedToken::subject);
    let choosing = routing.backend(route, claim.as_deref(), subject.map(|it| &**it));
    let chosen = mark!("Routing::backend").poll_with(choosing).await;
    record.lap("backend", || describe_choice(&chosen));
    // A lookup that found no backend used the cache too.
    record.lookup_cache = chosen.is_cached.map(hit_or_miss);
    let backend = chosen.backend?;
    record.set_backend(backend.meter());
    Ok(backend)
}

/// Gets the session of the token's subject with a backend.
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

/// The text for a cache lookup in records.
fn hit_or_miss(is_hit: bool) -> &'static str {
    if is_hit { "hit" } else { "miss" }
}

/// The chosen backend, for the request's capture.
fn describe_choice(chosen: &BackendChoice) -> String {
    match (&chosen.backend, chosen.is_cached) {
        (Ok(backend), None) => backend.name().to_string(),
        (Ok(backend), Some(true)) => format!("{}, remembered", backend.name()),
        (Ok(backend), Some(false)) => format!("{}, looked up", backend.name()),
        (Err(refusal), _) => refusal.reason().to_owned(),
    }
}

fn refuse(
    routing: &Routing,
    fields: &AnswerFields,
    record: Box<OpenRecord>,
    refusal: Refusal,
) -> Response<Body> {
    record.refuse(refusal.status(), refusal.reason(), refusal.bytes());
    refusal.response(fields.challenges.as_deref().unwrap_or(&routing.challenges))
}
