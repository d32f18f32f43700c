//! Forwards a request to a backend, and its answer to the client.

mod answer_body;
mod delivery;
mod error;
mod interim;
mod tunnel;
mod tunnel_capture;

use std::pin::pin;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::SET_COOKIE;
use hyper::http::request::Parts;
use hyper::upgrade::OnUpgrade;
use hyper::{Response, StatusCode, Version};
use tokio::time::timeout_at;
use weir_net::{Body, IncomingBody, InterimSender};
use weir_observe::task::TaskKind;

use self::answer_body::{AnswerBody, AnswerEnd, AnswerLimits};
use self::delivery::{BackendAnswer, deliver};
pub(crate) use self::error::ForwardError;
use self::interim::InterimAnswers;
use crate::access::forwarded_claims::UserFields;
use crate::backend::Backend;
use crate::header_fields::{self, ClientFields, RequestOrigin};
use crate::record::OpenRecord;
use crate::request::continue_gate::Expectation;
use crate::request::upload_body::{UploadBody, UploadProgress};
use crate::session::Session;

/// The arguments of [`forward`] besides the head of a request.
pub(crate) struct ForwardContext<'a> {
    pub(crate) body: IncomingBody,
    /// Sends interim answers to the client; `None` if it cannot get them.
    pub(crate) interim: Option<InterimSender>,
    pub(crate) from: RequestOrigin<'a>,
    pub(crate) session: Option<Session>,
    pub(crate) user: UserFields,
    /// The fields of clients that are removed, and those that are not.
    pub(crate) client_fields: &'a Arc<ClientFields>,
    pub(crate) record: Box<OpenRecord>,
}

/// Sends a request to a server of a backend, and returns its answer. On failure, returns the record
/// and the error.
pub(crate) async fn forward(
    backend: &Arc<Backend>,
    parts: &mut Parts,
    context: ForwardContext<'_>,
) -> Result<Response<Body>, (Box<OpenRecord>, ForwardError)> {
    let ForwardContext { body, interim, from, session, user, client_fields, mut record } = context;
    let is_websocket = header_fields::is_websocket_upgrade(&parts.headers);
    let client_upgrade = if is_websocket { parts.extensions.remove::<OnUpgrade>() } else { None };
    let is_awaited = interim.is_some() && header_fields::expects_continue(&parts.headers);
    let expectation = is_awaited.then(|| Expectation::new(backend.timeouts().first_byte));
    header_fields::clean_request(&mut parts.headers, client_fields);
    let changes = user.changes.clone();
    user.apply(&mut parts.headers);
    header_fields::add_forwarded(&mut parts.headers, &from);
    if is_websocket {
        header_fields::add_websocket(&mut parts.headers);
    }
    let client_fields = match &changes {
        // The fields of the head are changed already; those of trailers come later.
        Some(changes) if !hyper::body::Body::is_end_stream(&body) => {
            &Arc::new(client_fields.with_removed(changes.request.replaced()))
        }
        _ => client_fields,
    };
    let (body, progress) =
        UploadBody::new(body, backend.timeouts().idle, expectation, &record.capture, client_fields);
    let end = backend.timeouts().whole.map(|whole| record.started_at() + whole);
    let has_session = session.is_some();
    let interim = interim.map(|sender| {
        let (progress, changes) = (progress.clone(), changes.clone());
        InterimAnswers { sender, progress, changes, has_session }
    });
    let interim = interim.as_ref();
    let delivered = {
        let mut delivered = pin!(async {
            match session {
                None => deliver(backend, parts, body, &progress, interim, &mut record).await,
                Some(session) => {
                    let record = &mut record;
                    let delivering = deliver_in_session(
                        session, backend, parts, body, &progress, interim, record,
                    );
                    Box::pin(delivering).await
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
    if header_fields::clean_response(response.headers_mut()).is_err() {
        return Err((record, ForwardError::Broken));
    }
    let lease = Some(lease);
    let done = AnswerEnd { lease, backend: backend.clone(), instance, record, changes };
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
    let tunnel = tunnel::run(client_upgrade, backend_upgrade, backend.timeouts().idle, end);
    tokio::spawn(TUNNEL.observe(backend.name().clone(), tunnel));
    header_fields::add_websocket(response.headers_mut());
    Ok(response.map(|_| Body::empty()))
}

/// The kind of the tasks that log in again for the next request of a user.
static RENEWAL: TaskKind = TaskKind::new("session renewal");

/// Delivers a request in a session. If the backend no longer knows the session (401), logs in again
/// and repeats the request. A body cannot be sent twice, so a request with a body only makes the
/// gateway log in for the next one.
async fn deliver_in_session(
    session: Session,
    backend: &Arc<Backend>,
    parts: &mut Parts,
    body: UploadBody,
    progress: &UploadProgress,
    interim: Option<&InterimAnswers>,
    record: &mut OpenRecord,
) -> Result<BackendAnswer, ForwardError> {
    let has_body = !hyper::body::Body::is_end_stream(&body);
    session.apply(&mut parts.headers);
    let delivered = deliver(backend, parts, body, progress, interim, record).await?;
    let is_unknown = delivered.response.status() == StatusCode::UNAUTHORIZED;
    if !is_unknown || !session.may_be_renewed() {
        return Ok(delivered);
    }
    if has_body {
        // The log-in may need the connection of the answer, which is not over yet.
        let renewal = async { _ = session.renew().await };
        tokio::spawn(RENEWAL.observe(backend.name().clone(), renewal));
        return Ok(delivered);
    }
    // The log-in may need its connection.
    drop(delivered);
    let renewed = session.renew().await;
    record.lap("session", || match &renewed {
        Some(_) => "the server has forgotten it: another log-in",
        None => "the server has forgotten it: the log-in failed",
    });
    let renewed = renewed.ok_or(ForwardError::Session)?;
    renewed.apply(&mut parts.headers);
    record.session_cache = Some("renewed");
    deliver(backend, parts, UploadBody::empty(), progress, interim, record).await
}
