//! An HTTP client for the gateway's own requests.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONNECTION, HOST, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio_rustls::rustls::ClientConfig;
use weir_net::redaction::shown_target;

use super::captured_call::CapturedCall;
use super::connect::connect;
use super::error::{FetchError, FetchProblem};
use super::limits::{FetchLimits, HEAD_BYTES_MAX, HEADER_FIELDS_MAX};
use super::trust::{Authorities, TrustError, client_config};
use super::url::FetchUrl;

/// The default purpose of requests.
const PURPOSE: &str = "fetch";

/// Fetches resources. Clones share the certificate authorities.
#[derive(Debug, Clone)]
pub struct FetchClient {
    /// `None` if only URLs without TLS are fetched.
    tls: Option<Arc<ClientConfig>>,
    limits: FetchLimits,
    /// The purpose of its requests, shown when they are inspected.
    purpose: &'static str,
}

/// The answer of a server with any status except a redirect.
#[derive(Debug, Clone)]
pub struct FetchAnswer {
    /// The status.
    pub status: StatusCode,
    /// The header fields.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

impl FetchClient {
    /// Creates a client that trusts these certificate authorities, by default those of the system.
    ///
    /// # Errors
    /// If those of the system cannot be read.
    pub fn new(authorities: Option<&Authorities>, limits: FetchLimits) -> Result<Self, TrustError> {
        Ok(Self { tls: Some(client_config(authorities, None)?), limits, purpose: PURPOSE })
    }

    /// Like [`new`](Self::new), but needs authorities only if this URL is https. Otherwise the
    /// client cannot fetch https URLs.
    ///
    /// # Errors
    /// If the URL is https and those of the system cannot be read.
    pub fn for_url(
        url: &FetchUrl,
        authorities: Option<&Authorities>,
        limits: FetchLimits,
    ) -> Result<Self, TrustError> {
        match url.is_https() {
            true => Self::new(authorities, limits),
            false => Ok(Self { tls: None, limits, purpose: PURPOSE }),
        }
    }

    /// Sets the purpose of its requests, which is shown when they are inspected.
    #[must_use]
    pub fn for_purpose(self, purpose: &'static str) -> Self {
        Self { purpose, ..self }
    }

    /// Sends a GET request.
    ///
    /// # Errors
    /// If there is no complete answer within the limits, or it is a redirect.
    pub async fn get(&self, url: &FetchUrl) -> Result<FetchAnswer, FetchError> {
        self.send(url, Method::GET, HeaderMap::new(), Bytes::new()).await
    }

    /// Sends a request. Sets `Host`, `Connection` and the length itself.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn send(
        &self,
        url: &FetchUrl,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<FetchAnswer, FetchError> {
        let fail = |problem| FetchError::new(url, problem);
        let body_bytes = body.len();
        let request = request(url, method, headers, body).map_err(fail)?;
        let call = CapturedCall::begin(|| {
            format!("{}: {} {}", self.purpose, request.method(), shown_target(&url.to_string()))
        });
        let exchange = self.exchange(url, request, body_bytes, &call);
        let outcome = tokio::time::timeout(self.limits.timeout, exchange).await;
        let outcome = outcome.unwrap_or(Err(FetchProblem::Timeout));
        match &outcome {
            Ok(_) => call.complete(),
            Err(problem) => call.fail(|| problem.to_string()),
        }
        outcome.map_err(fail)
    }

    async fn exchange(
        &self,
        url: &FetchUrl,
        request: Request<Full<Bytes>>,
        body_bytes: usize,
        call: &CapturedCall,
    ) -> Result<FetchAnswer, FetchProblem> {
        let stream =
            connect(&url.server, self.tls.as_ref()).await.map_err(FetchProblem::Connect)?;
        call.note_connection(|| format!("{}: new", url.host));
        call.note_request(&request, body_bytes);
        let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
            .max_buf_size(HEAD_BYTES_MAX)
            .max_header_size(HEAD_BYTES_MAX)
            .max_headers(HEADER_FIELDS_MAX)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(FetchProblem::Protocol)?;
        let answer = async {
            let response = sender.send_request(request).await.map_err(FetchProblem::Protocol)?;
            call.note_answer(&response);
            read_answer(response, self.limits.body_bytes_max, call).await
        };
        // The connection progresses only while it is polled. If it ends first, the answer returns
        // its error.
        tokio::pin!(answer);
        tokio::select! {
            answer = &mut answer => answer,
            _ended = connection => answer.await,
        }
    }
}

fn request(
    url: &FetchUrl,
    method: Method,
    mut headers: HeaderMap,
    body: Bytes,
) -> Result<Request<Full<Bytes>>, FetchProblem> {
    let host = HeaderValue::from_str(&url.host).map_err(|_| FetchProblem::InvalidRequest)?;
    headers.insert(HOST, host);
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    headers.entry(ACCEPT).or_insert(HeaderValue::from_static("application/json"));
    headers.entry(USER_AGENT).or_insert(HeaderValue::from_static("weir"));
    let uri = url.target.parse().map_err(|_| FetchProblem::InvalidRequest)?;
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(request)
}

async fn read_answer(
    response: Response<Incoming>,
    bytes_max: usize,
    call: &CapturedCall,
) -> Result<FetchAnswer, FetchProblem> {
    let (head, mut incoming) = response.into_parts();
    if head.status.is_redirection() {
        return Err(FetchProblem::Redirect(head.status));
    }
    let mut body = BytesMut::new();
    while let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(FetchProblem::Protocol)?;
        let Ok(data) = frame.into_data() else { continue };
        call.note_part(data.len());
        if body.len() + data.len() > bytes_max {
            return Err(FetchProblem::TooLarge(bytes_max));
        }
        body.extend_from_slice(&data);
    }
    Ok(FetchAnswer { status: head.status, headers: head.headers, body: body.freeze() })
}
