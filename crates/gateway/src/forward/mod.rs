//! Forwards a request to a backend, and its answer to the client.

mod answer_body;
mod error;
mod tunnel;
mod tunnel_capture;

use std::pin::pin;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, HOST, HeaderValue, SET_COOKIE, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::http::uri::PathAndQuery;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use tokio::time::{Instant, timeout_at};
use weir_net::{Body, IncomingBody};
use weir_observe::task::TaskKind;

use self::answer_body::{AnswerBody, AnswerEnd, AnswerLimits};
pub(crate) use self::error::ForwardError;
use crate::backend::{Backend, ConnectError, Instance, InstanceGuard, Lease, UpstreamRequest};
use crate::capture;
use crate::header_fields::{self, RequestOrigin};
use crate::record::OpenRecord;
use crate::session::Session;
use crate::upload_body::{UploadBody, UploadProgress};

/// The maximum number of retries after a request could not be delivered.
const RETRIES_MAX: usize = 2;

/// The arguments of [`forward`] besides the head of a request.
pub(crate) struct ForwardContext<'a> {
    pub(crate) body: IncomingBody,
    pub(crate) from: RequestOrigin<'a>,
    pub(crate) session: Option<Session>,
    pub(crate) record: Box<OpenRecord>,
}

/// Sends a request to a server of a backend, and returns its answer. On failure, returns the record
/// and the error.
pub(crate) async fn forward(
    backend: &Arc<Backend>,
    parts: &mut Parts,
    context: ForwardContext<'_>,
) -> Result<Response<Body>, (Box<OpenRecord>, ForwardError)> {
    let ForwardContext { body, from, session, mut record } = context;
    let is_websocket = header_fields::is_websocket_upgrade(&parts.headers);
    let client_upgrade = if is_websocket { parts.extensions.remove::<OnUpgrade>() } else { None };
    header_fields::clean_request(&mut parts.headers);
    header_fields::add_forwarded(&mut parts.headers, &from);
    if is_websocket {
        header_fields::add_websocket(&mut parts.headers);
    }
    let (body, progress) = UploadBody::new(body, backend.timeouts().idle, &record.capture);
    let end = backend.timeouts().whole.map(|whole| record.started_at() + whole);
    let has_session = session.is_some();
    let delivered = {
        let mut delivered = pin!(async {
            match session {
                None => deliver(backend, parts, (body, &progress), &mut record).await,
                Some(session) => {
                    let body = (body, &progress);
                    Box::pin(deliver_in_session(session, backend, parts, body, &mut record)).await
                }
            }
        });
        match end {
            None => delivered.as_mut().await,
            Some(end) => timeout_at(end, delivered).await.unwrap_or(Err(ForwardError::Timeout)),
        }
    };
    let delivered = match delivered {
        Ok(delivered) => delivered,
        Err(error) => return Err((record, error)),
    };
    let BackendAnswer { mut response, mut lease, instance } = delivered;
    if response.version() == Version::HTTP_10 {
        // Hyper would send the next request on this connection as HTTP/1.0, and a body without a
        // length would be lost.
        lease.retire();
    }
    record.set_status(response.status());
    let done = AnswerEnd { lease: Some(lease), backend: backend.clone(), instance, record };
    header_fields::clean_response(response.headers_mut());
    if has_session {
        // Cookies of the gateway's session are not for the client.
        response.headers_mut().remove(SET_COOKIE);
    }
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return open_tunnel(client_upgrade, response, done, backend);
    }
    *response.version_mut() = Version::default();
    let limits = AnswerLimits { idle: backend.timeouts().idle, end };
    Ok(response.map(|body| Body::forwarded(AnswerBody::new(body, limits, done))))
}

/// The kind of the tasks that copy bytes between a client and a backend after an upgrade, such as
/// to WebSocket.
static TUNNEL: TaskKind = TaskKind::new("tunnel");

/// Opens a tunnel after `101 Switching Protocols`. Fails if the client requested no upgrade.
fn open_tunnel(
    client_upgrade: Option<OnUpgrade>,
    mut response: Response<Incoming>,
    mut end: AnswerEnd,
    backend: &Backend,
) -> Result<Response<Body>, (Box<OpenRecord>, ForwardError)> {
    let Some(client_upgrade) = client_upgrade else {
        return Err((end.record, ForwardError::Broken));
    };
    let backend_upgrade = hyper::upgrade::on(&mut response);
    end.instance.instance().note_success();
    if let Some(mut lease) = end.lease.take() {
        // The connection belongs to the tunnel now.
        lease.detach();
    }
    let tunnel = tunnel::run((client_upgrade, backend_upgrade), backend.timeouts().idle, end);
    tokio::spawn(TUNNEL.observe(backend.name().clone(), tunnel));
    header_fields::add_websocket(response.headers_mut());
    Ok(response.map(|_| Body::empty()))
}

/// Delivers a request in a session. If the backend no longer knows the session (401), logs in again
/// and repeats the request, unless the request had a body, which cannot be sent twice.
async fn deliver_in_session(
    session: Session,
    backend: &Arc<Backend>,
    parts: &mut Parts,
    (body, progress): (UploadBody, &UploadProgress),
    record: &mut OpenRecord,
) -> Result<BackendAnswer, ForwardError> {
    let has_body = !hyper::body::Body::is_end_stream(&body);
    session.apply(&mut parts.headers);
    let delivered = deliver(backend, parts, (body, progress), record).await?;
    let is_unknown = delivered.response.status() == StatusCode::UNAUTHORIZED;
    if !is_unknown || has_body || !session.may_be_renewed() {
        return Ok(delivered);
    }
    // The log-in may need its connection.
    drop(delivered);
    let renewed = session.renew(record.notices()).await;
    record.lap("session", || match &renewed {
        Some(_) => "the server has forgotten it: another log-in",
        None => "the server has forgotten it: the log-in failed",
    });
    let renewed = renewed.ok_or(ForwardError::Session)?;
    renewed.apply(&mut parts.headers);
    record.session_cache = Some("renewed");
    deliver(backend, parts, (UploadBody::empty(), progress), record).await
}

/// A backend's answer after its head, with the connection that its body uses.
struct BackendAnswer {
    response: Response<Incoming>,
    lease: Lease,
    instance: InstanceGuard,
}

/// Sends a request to servers until one answers, or a retry is not permitted.
///
/// If nothing of a request was sent, it may always be retried. If a server may have seen it, it is
/// retried only if it is idempotent and has no body (RFC 9110 section 9.2.2).
async fn deliver(
    backend: &Arc<Backend>,
    parts: &Parts,
    (body, progress): (UploadBody, &UploadProgress),
    record: &mut OpenRecord,
) -> Result<BackendAnswer, ForwardError> {
    backend.note_request();
    let is_repeatable = is_idempotent(&parts.method) && hyper::body::Body::is_end_stream(&body);
    let mut body = Some(body);
    let mut tried: Option<Arc<Instance>> = None;
    let mut retries = 0;
    loop {
        let guard = backend.choose(tried.as_ref()).ok_or(ForwardError::Connect)?;
        let instance = guard.instance().clone();
        record.set_backend_address(instance.name());
        let started_at = Instant::now();
        let mut lease = match Lease::take(&instance).await {
            Ok(lease) => lease,
            Err(error) => {
                record.report_unreachable(instance.name(), &error);
                record.lap("server connection", || format!("{}: {error}", instance.name()));
                if !matches!(error, ConnectError::Busy(_)) {
                    record.note_upstream_start(started_at);
                    backend.note_failure(&instance, &error, record.notices());
                }
                retries += 1;
                if retries > RETRIES_MAX || backend.instances().len() == 1 {
                    return Err(match error {
                        ConnectError::Busy(_) => ForwardError::Busy,
                        _ => ForwardError::Connect,
                    });
                }
                tried = Some(instance);
                continue;
            }
        };
        record.note_upstream_start(started_at + lease.waited);
        record.set_connect_time(lease.connect_time);
        record.lap("server connection", || lease.description());
        let request =
            build_request(&instance, parts, body.take().unwrap_or(UploadBody::empty()), &lease)?;
        if let Some(capture) = &record.capture {
            capture::note_sent(capture, &request);
        }
        progress.note_part();
        let sent = tokio::select! {
            biased;
            sent = lease.send(request, record.capture.as_ref()) => sent,
            () = progress.wait_stalled(backend.timeouts().first_byte) => {
                record.lap("answer head", || "none came in time");
                let timeout = backend.timeouts().first_byte;
                let reason = format!("no head of an answer within {timeout:?}");
                backend.note_failure(&instance, &reason, record.notices());
                return Err(ForwardError::Timeout);
            }
        };
        let mut error = match sent {
            Ok(response) => {
                record.note_head();
                if let Some(capture) = &record.capture {
                    capture::note_answer(capture, &response);
                }
                if !progress.is_complete() {
                    // The body of the request must be sent even if the client does not read the
                    // answer.
                    lease.detach();
                }
                return Ok(BackendAnswer { response, lease, instance: guard });
            }
            Err(error) => error,
        };
        record.lap("answer head", || format!("none: {}", error.error()));
        if progress.is_broken() {
            return Err(ForwardError::ClientGone);
        }
        let unsent = error.take_message();
        // A server may close an idle connection just as it is reused; that is not a failure of the
        // server.
        if !lease.is_reused {
            let reason = format!("no answer: {}", error.error());
            backend.note_failure(&instance, &reason, record.notices());
        }
        retries += 1;
        let may_repeat = unsent.is_some() || is_repeatable;
        if retries > RETRIES_MAX || !may_repeat || !backend.may_retry() {
            return Err(ForwardError::Broken);
        }
        body = Some(unsent.map_or_else(UploadBody::empty, Request::into_body));
        if !lease.is_reused {
            tried = Some(instance);
        }
    }
}

fn is_idempotent(method: &Method) -> bool {
    method.is_safe() || matches!(*method, Method::PUT | Method::DELETE)
}

/// Builds the request for a server. Keeps the client's `Host`.
fn build_request(
    instance: &Instance,
    parts: &Parts,
    body: UploadBody,
    lease: &Lease,
) -> Result<UpstreamRequest, ForwardError> {
    let mut request = Request::new(body);
    *request.method_mut() = parts.method.clone();
    *request.headers_mut() = parts.headers.clone();
    let has_length = request.headers().contains_key(CONTENT_LENGTH);
    if !lease.is_http2() && !has_length && !hyper::body::Body::is_end_stream(request.body()) {
        // Otherwise hyper would drop the body of a GET.
        request.headers_mut().insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    let target = parts.uri.path_and_query().cloned();
    let target = target.unwrap_or_else(|| PathAndQuery::from_static("/"));
    let origin = instance.origin();
    if !request.headers().contains_key(HOST) {
        let host = HeaderValue::from_str(origin.authority().as_str());
        request.headers_mut().insert(HOST, host.map_err(|_| ForwardError::Request)?);
    }
    let mut uri = hyper::http::uri::Parts::default();
    uri.path_and_query = Some(target);
    if lease.is_http2() {
        let host = request.headers_mut().remove(HOST);
        let authority = host.and_then(|host| host.to_str().ok()?.parse().ok());
        uri.authority = Some(authority.ok_or(ForwardError::Request)?);
        uri.scheme = Some(origin.scheme());
        *request.version_mut() = Version::HTTP_2;
    }
    *request.uri_mut() = Uri::from_parts(uri).map_err(|_| ForwardError::Request)?;
    Ok(request)
}
