//! Log-ins, which start sessions.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response};
use serde_json::json;
use weir_net::percent_encode;
use weir_net::redaction::shown_target;

use super::fault::{ANSWER_BYTES_MAX, LoginFault};
use super::grant::Grant;
use super::{SessionSettings, SessionUser};
use crate::backend::{Backend, InstanceGuard, Lease};
use crate::config::{Login, Origin};
use crate::fetch::{CapturedCall, FetchClient, FetchUrl};
use crate::request::upload_body::UploadBody;

/// Logs in. If the log-in fails or is refused, reports the reason, and returns `None`.
pub(super) async fn begin(
    settings: &SessionSettings,
    backend: &Arc<Backend>,
    user: &SessionUser,
    token: &str,
    renewals: u32,
) -> Option<Grant> {
    let grant = match &settings.config.login {
        Login::Path(path) => log_in(settings, backend, user, path).await,
        Login::Exchange(url) => {
            let grant = exchange(settings, backend, token).await;
            grant.map_err(|fault| LoginError::at(url, fault))
        }
    };
    match grant {
        Ok(mut grant) => {
            grant.renewals = renewals;
            Some(grant)
        }
        Err(error) => {
            error.report(backend.name());
            None
        }
    }
}

/// Why a log-in failed. It contains no credential, and nothing of the answer but its status.
struct LoginError {
    /// The server of the backend; `None` for an exchange.
    server: Option<Arc<str>>,
    /// The kind of the log-in, and its address.
    place: String,
    fault: LoginFault,
}

impl LoginError {
    fn at(url: &FetchUrl, fault: LoginFault) -> Self {
        let place = format!("the token exchange at {}", shown_target(&url.to_string()));
        Self { server: None, place, fault }
    }

    fn report(&self, backend: &str) {
        let Self { server, place, fault } = self;
        tracing::warn!(
            target: "weir_gateway",
            backend,
            server = server.as_deref(),
            "{place} for the backend {backend} fails: {fault}"
        );
    }
}

/// Posts the gateway's credential to a path of the backend, with the user of the session.
async fn log_in(
    settings: &SessionSettings,
    backend: &Arc<Backend>,
    user: &SessionUser,
    path: &str,
) -> Result<Grant, LoginError> {
    let place = |server: &str| format!("the log-in at {server}{}", shown_target(path));
    let Some(guard) = backend.choose(None) else {
        let fault = LoginFault::NoServer;
        return Err(LoginError { server: None, place: place(""), fault });
    };
    let server = guard.instance().name().clone();
    let logged_in = log_in_at(&guard, settings, backend, user, path).await;
    logged_in.map_err(|fault| LoginError { place: place(&server), server: Some(server), fault })
}

/// Posts the credential to one server of the backend.
async fn log_in_at(
    guard: &InstanceGuard,
    settings: &SessionSettings,
    backend: &Arc<Backend>,
    user: &SessionUser,
    path: &str,
) -> Result<Grant, LoginFault> {
    let call = CapturedCall::begin(|| {
        let server = guard.instance().name();
        format!("log-in: POST {} at {server} of {}", shown_target(path), backend.name())
    });
    let logged_in = request_grant(guard, settings, backend, user, path, &call).await;
    match &logged_in {
        // The answer was complete.
        Ok(_) | Err(LoginFault::NoGrant) => call.complete(),
        Err(fault) => call.fail(|| fault.to_string()),
    }
    logged_in
}

async fn request_grant(
    guard: &InstanceGuard,
    settings: &SessionSettings,
    backend: &Backend,
    user: &SessionUser,
    path: &str,
    call: &CapturedCall,
) -> Result<Grant, LoginFault> {
    // A new connection, because on an idle one the server may already have closed it, and the
    // log-in would fail for no reason of its own.
    let mut lease = Lease::open(guard.instance()).await.map_err(LoginFault::Connect)?;
    call.note_connection(|| lease.description());
    let origin = guard.instance().origin();
    let target = if lease.is_http2() { format!("{origin}{path}") } else { path.to_owned() };
    let body = json!({ "issuer": &*user.issuer, "subject": &*user.subject }).to_string();
    let body_bytes = body.len();
    let credential = settings.config.credential.bytes();
    let request = log_in_request(&target, origin, body, credential);
    let request = request.ok_or(LoginFault::InvalidRequest)?;
    call.note_request(&request, body_bytes);
    let exchange = async {
        let sent = lease.send(request, call.capture()).await;
        let response = sent.map_err(|error| LoginFault::NoAnswer(error.into_error()))?;
        call.note_answer(&response);
        read(response, call).await
    };
    let timeout = backend.timeouts().first_byte;
    let answer = tokio::time::timeout(timeout, exchange).await;
    let (headers, body) = answer.unwrap_or(Err(LoginFault::Timeout(timeout)))?;
    let grant = Grant::read(&headers, &body, settings.config.lifetime);
    grant.ok_or(LoginFault::NoGrant)
}

/// Builds the request of a log-in. Returns `None` if its target or a field is not valid.
fn log_in_request(
    target: &str,
    origin: &Origin,
    body: String,
    bearer: &[u8],
) -> Option<Request<UploadBody>> {
    let mut request = Request::new(UploadBody::whole(body.into()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = target.parse().ok()?;
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::from_str(origin.authority().as_str()).ok()?);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(AUTHORIZATION, credential("Bearer ", bearer)?);
    Some(request)
}

/// Exchanges the client's token for a token of the backend (RFC 8693 section 2.1). The credential
/// `ID:SECRET` identifies the gateway as a client of the token service.
async fn exchange(
    settings: &SessionSettings,
    backend: &Arc<Backend>,
    token: &str,
) -> Result<Grant, LoginFault> {
    let exchange = settings.exchange.as_ref();
    let (client, url) = exchange.ok_or(LoginFault::NoAuthorities)?;
    let form = format!(
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token={}\
         &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt&audience={}",
        percent_encode(token),
        percent_encode(backend.name())
    );
    let mut headers = HeaderMap::new();
    let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
    headers.insert(CONTENT_TYPE, form_type);
    let basic = STANDARD.encode(settings.config.credential.bytes());
    let basic = credential("Basic ", basic.as_bytes());
    headers.insert(AUTHORIZATION, basic.ok_or(LoginFault::InvalidCredential)?);
    let answer = client.send(url, Method::POST, headers, form.into()).await;
    let answer = answer.map_err(LoginFault::Fetch)?;
    if !answer.status.is_success() {
        return Err(LoginFault::Status(answer.status));
    }
    let grant = Grant::read(&HeaderMap::new(), &answer.body, settings.config.lifetime);
    grant.ok_or(LoginFault::NoToken)
}

/// A client for a token service, with the service's URL.
pub(super) type Exchange = (FetchClient, FetchUrl);

fn credential(scheme: &str, bytes: &[u8]) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_bytes(&[scheme.as_bytes(), bytes].concat()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Reads an answer. Returns its header fields and body, or why it is not a success.
async fn read(
    response: Response<Incoming>,
    call: &CapturedCall,
) -> Result<(HeaderMap, Bytes), LoginFault> {
    let (head, mut incoming) = response.into_parts();
    let mut body = BytesMut::new();
    while let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(LoginFault::BrokenOff)?;
        if let Ok(data) = frame.into_data() {
            call.note_part(data.len());
            body.extend_from_slice(&data);
        }
        if body.len() > ANSWER_BYTES_MAX {
            return Err(LoginFault::AnswerTooLarge);
        }
    }
    match head.status.is_success() {
        true => Ok((head.headers, body.freeze())),
        false => Err(LoginFault::Status(head.status)),
    }
}
