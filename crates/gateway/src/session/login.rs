//! Log-ins: how a session begins.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response};
use serde_json::json;
use weir_net::glass::shown_target;

use super::grant::Grant;
use super::{SessionSettings, SessionUser};
use crate::backend::{Backend, Lease};
use crate::config::{Login, Origin};
use crate::fetch::{FetchClient, FetchUrl, ObservedCall};
use crate::percent_encoding::percent_encoded;
use crate::upload_body::UploadBody;

/// An answer to a log-in that is larger is refused.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Begins a session; `None` if that is refused, or cannot be done.
pub(super) async fn begin(
    settings: &SessionSettings,
    backend: &Arc<Backend>,
    (user, token): (&SessionUser, &str),
    is_renewal: bool,
) -> Option<Grant> {
    let grant = match &settings.config.login {
        Login::Path(path) => log_in(settings, backend, user, path).await,
        Login::Exchange(_) => exchange(settings, backend, token).await,
    };
    grant.map(|mut grant| {
        grant.is_renewal = is_renewal;
        grant
    })
}

/// Posts the credential to a path of the backend, with the user in whose name the gateway comes.
async fn log_in(
    settings: &SessionSettings,
    backend: &Arc<Backend>,
    user: &SessionUser,
    path: &str,
) -> Option<Grant> {
    let guard = backend.choose(None)?;
    let observed = ObservedCall::begin(|| {
        let server = guard.instance().name();
        format!("log-in: POST {} at {server} of {}", shown_target(path), backend.name())
    });
    // Of a connection that was idle it would not be known whether the log-in was lost or refused.
    let mut lease = match Lease::open(guard.instance()).await {
        Ok(lease) => lease,
        Err(error) => {
            observed.fail(|| error.to_string());
            return None;
        }
    };
    observed.note_connection(|| lease.description());
    let origin = guard.instance().origin();
    let target = if lease.is_http2() { format!("{origin}{path}") } else { path.to_owned() };
    let body = json!({ "issuer": &*user.issuer, "subject": &*user.subject }).to_string();
    let body_bytes = body.len();
    let Some(request) = log_in_request(&target, origin, body, settings.config.credential.bytes())
    else {
        observed.fail(|| "no request can be made of its path and its credential".to_owned());
        return None;
    };
    observed.note_request(&request, body_bytes);
    let exchange = async {
        let response = lease.send(request, observed.journal()).await.ok()?;
        observed.note_answer(&response);
        read(response, &observed).await
    };
    let exchange = tokio::time::timeout(backend.timeouts().first_byte, exchange);
    let Some((headers, body)) = exchange.await.ok().flatten() else {
        observed.fail(|| "there is no complete and good answer in time".to_owned());
        return None;
    };
    observed.complete();
    Grant::read(&headers, &body, settings.config.lifetime)
}

/// The request of a log-in; `None` if its target or a field is not valid.
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

/// Exchanges the client's token for one of the backend (RFC 8693 section 2.1). The credential is that of the
/// gateway as a client of the token service, `ID:SECRET`.
async fn exchange(
    settings: &SessionSettings,
    backend: &Arc<Backend>,
    token: &str,
) -> Option<Grant> {
    let (client, url) = settings.exchange.as_ref()?;
    let form = format!(
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token={token}\
         &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt&audience={}",
        percent_encoded(backend.name())
    );
    let mut headers = HeaderMap::new();
    let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
    headers.insert(CONTENT_TYPE, form_type);
    let basic = STANDARD.encode(settings.config.credential.bytes());
    headers.insert(AUTHORIZATION, credential("Basic ", basic.as_bytes())?);
    let answer = client.send(url, Method::POST, headers, form.into()).await.ok()?;
    if !answer.status.is_success() {
        return None;
    }
    Grant::read(&HeaderMap::new(), &answer.body, settings.config.lifetime)
}

/// A client of a token service with its address.
pub(super) type Exchange = (FetchClient, FetchUrl);

fn credential(scheme: &str, bytes: &[u8]) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_bytes(&[scheme.as_bytes(), bytes].concat()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The header fields and the body of a good answer.
async fn read(response: Response<Incoming>, observed: &ObservedCall) -> Option<(HeaderMap, Bytes)> {
    let (head, mut incoming) = response.into_parts();
    let mut body = BytesMut::new();
    while let Some(frame) = incoming.frame().await {
        if let Ok(data) = frame.ok()?.into_data() {
            observed.note_part(data.len());
            body.extend_from_slice(&data);
        }
        if body.len() > ANSWER_BYTES_MAX {
            return None;
        }
    }
    head.status.is_success().then(|| (head.headers, body.freeze()))
}
