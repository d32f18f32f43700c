//! Requests and their answers.

use std::path::Path;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio_rustls::rustls::ClientConfig;
use weir_net::glass::shown_target;

use super::connect::connect;
use super::error::{FetchError, FetchProblem};
use super::limits::{FetchLimits, HEAD_BYTES_MAX, HEADER_FIELDS_MAX};
use super::observed::ObservedCall;
use super::trust::{TrustError, client_config};
use super::url::FetchUrl;

/// What requests are for if nothing is said.
const PURPOSE: &str = "fetch";

/// Fetches resources. Copies share the authorities.
#[derive(Debug, Clone)]
pub struct FetchClient {
    /// `None` if only addresses without TLS are asked.
    tls: Option<Arc<ClientConfig>>,
    limits: FetchLimits,
    /// What its requests are for, for a person.
    purpose: &'static str,
}

/// The answer of a server, whatever its status is, except a redirect.
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
    /// A client that trusts the authorities of a PEM file, or without one those of the system.
    ///
    /// # Errors
    /// If there are none.
    pub fn new(ca_file: Option<&Path>, limits: FetchLimits) -> Result<Self, TrustError> {
        Ok(Self { tls: Some(client_config(ca_file)?), limits, purpose: PURPOSE })
    }

    /// As [`new`](Self::new), but authorities are needed only if this URL is one of https. The client is then
    /// for such URLs only.
    ///
    /// # Errors
    /// If they are needed, and there are none.
    pub fn for_url(
        url: &FetchUrl,
        ca_file: Option<&Path>,
        limits: FetchLimits,
    ) -> Result<Self, TrustError> {
        match url.is_https() {
            true => Self::new(ca_file, limits),
            false => Ok(Self { tls: None, limits, purpose: PURPOSE }),
        }
    }

    /// Says what its requests are for, to those who look at one of them.
    #[must_use]
    pub fn for_purpose(self, purpose: &'static str) -> Self {
        Self { purpose, ..self }
    }

    /// Asks for a resource.
    ///
    /// # Errors
    /// If there is no complete answer within the limits, or it is a redirect.
    pub async fn get(&self, url: &FetchUrl) -> Result<FetchAnswer, FetchError> {
        self.send(url, Method::GET, HeaderMap::new(), Bytes::new()).await
    }

    /// Sends a body of this type.
    ///
    /// # Errors
    /// As [`get`](Self::get), and if the type is not a valid field.
    pub async fn post(
        &self,
        url: &FetchUrl,
        content_type: &str,
        body: Bytes,
    ) -> Result<FetchAnswer, FetchError> {
        let content_type = HeaderValue::from_str(content_type)
            .map_err(|_| FetchError::new(url, FetchProblem::InvalidRequest))?;
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, content_type)]);
        self.send(url, Method::POST, headers, body).await
    }

    /// Sends a request with these fields. `Host`, `Connection` and the length are set here.
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
        let observed = ObservedCall::begin(|| {
            format!("{}: {} {}", self.purpose, request.method(), shown_target(&url.to_string()))
        });
        let exchange = self.exchange(url, (request, body_bytes), &observed);
        let outcome = tokio::time::timeout(self.limits.timeout, exchange).await;
        let outcome = outcome.unwrap_or(Err(FetchProblem::Timeout));
        match &outcome {
            Ok(_) => observed.complete(),
            Err(problem) => observed.fail(|| problem.to_string()),
        }
        outcome.map_err(fail)
    }

    async fn exchange(
        &self,
        url: &FetchUrl,
        (request, body_bytes): (Request<Full<Bytes>>, usize),
        observed: &ObservedCall,
    ) -> Result<FetchAnswer, FetchProblem> {
        let stream =
            connect(&url.server, self.tls.as_ref()).await.map_err(FetchProblem::Connect)?;
        observed.note_connection(|| format!("{}: new", url.host));
        observed.note_request(&request, body_bytes);
        let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
            .max_buf_size(HEAD_BYTES_MAX)
            .max_header_size(HEAD_BYTES_MAX)
            .max_headers(HEADER_FIELDS_MAX)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(FetchProblem::Protocol)?;
        let answer = async {
            let response = sender.send_request(request).await.map_err(FetchProblem::Protocol)?;
            observed.note_answer(&response);
            read_answer(response, self.limits.body_bytes_max, observed).await
        };
        // The connection moves while it is polled. If it fails first, the answer has the error too.
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
    observed: &ObservedCall,
) -> Result<FetchAnswer, FetchProblem> {
    let (head, mut incoming) = response.into_parts();
    if head.status.is_redirection() {
        return Err(FetchProblem::Redirect(head.status));
    }
    let mut body = BytesMut::new();
    while let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(FetchProblem::Protocol)?;
        let Ok(data) = frame.into_data() else { continue };
        observed.note_part(data.len());
        if body.len() + data.len() > bytes_max {
            return Err(FetchProblem::TooLarge(bytes_max));
        }
        body.extend_from_slice(&data);
    }
    Ok(FetchAnswer { status: head.status, headers: head.headers, body: body.freeze() })
}
