//! Delivers a request to a server of a backend: one attempt after the other.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::header::{CONTENT_LENGTH, EXPECT, HOST, HeaderValue, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::http::uri::PathAndQuery;
use hyper::{Method, Request, Response, Uri, Version};
use tokio::time::Instant;

use super::error::ForwardError;
use super::interim::InterimAnswers;
use crate::backend::{Backend, ConnectError, Instance, InstanceGuard, Lease, UpstreamRequest};
use crate::record::OpenRecord;
use crate::request::upload_body::{UploadBody, UploadProgress};

/// The maximum number of retries after a request could not be delivered.
const RETRIES_MAX: usize = 2;

/// A backend's answer after its head, with the connection that its body uses.
pub(super) struct BackendAnswer {
    pub(super) response: Response<Incoming>,
    pub(super) lease: Lease,
    pub(super) instance: InstanceGuard,
}

/// A request that is being delivered.
struct Delivery<'a> {
    backend: &'a Backend,
    parts: &'a Parts,
    progress: &'a UploadProgress,
    /// What becomes of interim answers; `None` if the client cannot get them.
    interim: Option<&'a InterimAnswers>,
    record: &'a mut OpenRecord,
    /// The body for the next attempt.
    body: Option<UploadBody>,
    /// Whether it may be sent again after a server may have seen it: it is idempotent and has no
    /// body (RFC 9110 section 9.2.2).
    is_repeatable: bool,
    /// The server that the next attempt avoids, if possible.
    tried: Option<Arc<Instance>>,
    retries: usize,
}

/// Sends a request to servers until one answers, or a retry is not permitted. If nothing of a
/// request was sent, it may always be retried.
pub(super) async fn deliver(
    backend: &Backend,
    parts: &Parts,
    body: UploadBody,
    progress: &UploadProgress,
    interim: Option<&InterimAnswers>,
    record: &mut OpenRecord,
) -> Result<BackendAnswer, ForwardError> {
    backend.note_request();
    let is_idempotent =
        parts.method.is_safe() || matches!(parts.method, Method::PUT | Method::DELETE);
    let is_repeatable = is_idempotent && hyper::body::Body::is_end_stream(&body);
    let (body, tried, retries) = (Some(body), None, 0);
    let mut delivery =
        Delivery { backend, parts, progress, interim, record, body, is_repeatable, tried, retries };
    loop {
        if let Some(answer) = delivery.attempt().await? {
            return Ok(answer);
        }
    }
}

impl Delivery<'_> {
    /// Tries one server. Returns `None` if the request is to be sent again.
    async fn attempt(&mut self) -> Result<Option<BackendAnswer>, ForwardError> {
        let guard = self.backend.choose(self.tried.as_ref()).ok_or(ForwardError::Connect)?;
        let instance = guard.instance().clone();
        self.record.set_backend_address(instance.name());
        let tried_at = Instant::now();
        let mut lease = match Lease::take(&instance).await {
            Ok(lease) => lease,
            Err(error) => {
                self.record.note_unreachable(&instance, tried_at, &error);
                return self.end_unconnected(instance, &error).map(|()| None);
            }
        };
        self.record.note_connection(&lease, tried_at);
        let body = self.body.take().unwrap_or(UploadBody::empty());
        let mut request = build_request(&instance, self.parts, body, &lease)?;
        self.prepare_interim(&mut request, &lease);
        self.record.note_request(&request);
        self.progress.note_part();
        let sent = tokio::select! {
            biased;
            sent = lease.send(request, self.record.capture.as_ref()) => sent,
            () = self.progress.wait_stalled(self.backend.timeouts().first_byte) => {
                return Err(self.end_stalled(&instance));
            }
        };
        match sent {
            Ok(response) => {
                self.record.note_head(&response);
                if let Some(refused) = self.progress.refuse() {
                    lease.retire_after(refused);
                } else if !self.progress.is_complete() {
                    // The body of the request must be sent even if the client does not read the
                    // answer.
                    lease.detach();
                }
                Ok(Some(BackendAnswer { response, lease, instance: guard }))
            }
            Err(error) => self.end_broken(instance, lease.is_reused, error).map(|()| None),
        }
    }

    /// Passes on interim answers, and what the client expects. Over HTTP/2 there are none, because hyper
    /// drops them.
    fn prepare_interim(&self, request: &mut UpstreamRequest, lease: &Lease) {
        if lease.is_http2() {
            return self.progress.let_continue();
        }
        if self.progress.is_awaited() {
            request.headers_mut().insert(EXPECT, HeaderValue::from_static("100-continue"));
        }
        if let Some(interim) = self.interim {
            interim.observe(request);
        }
    }

    /// Ends an attempt without a connection. Fails if there is to be no other one.
    fn end_unconnected(
        &mut self,
        instance: Arc<Instance>,
        error: &ConnectError,
    ) -> Result<(), ForwardError> {
        self.backend.report_unreachable(&instance, error);
        let is_busy = matches!(error, ConnectError::Busy(_));
        if !is_busy {
            self.backend.note_failure(&instance, error);
        }
        self.retries += 1;
        if self.retries > RETRIES_MAX || self.backend.instances().len() == 1 {
            return Err(if is_busy { ForwardError::Busy } else { ForwardError::Connect });
        }
        self.tried = Some(instance);
        Ok(())
    }

    /// Ends an attempt after the head of the answer did not come in time. A server may still be
    /// working on the request, so there is no other attempt.
    fn end_stalled(&self, instance: &Instance) -> ForwardError {
        self.record.note_no_head(|| "none came in time".to_owned());
        let timeout = self.backend.timeouts().first_byte;
        let reason = format_args!("no head of an answer within {timeout:?}");
        self.backend.note_failure(instance, &reason);
        ForwardError::Timeout
    }

    /// Ends an attempt whose connection broke before the head of the answer. Fails if there is to
    /// be no other one.
    fn end_broken(
        &mut self,
        instance: Arc<Instance>,
        is_reused: bool,
        mut error: TrySendError<UpstreamRequest>,
    ) -> Result<(), ForwardError> {
        self.record.note_no_head(|| format!("none: {}", error.error()));
        if self.progress.is_broken() {
            return Err(ForwardError::ClientGone);
        }
        let unsent = error.take_message();
        // A server may close an idle connection just as it is reused; that is not a failure of the
        // server. Neither is an answer that cannot be read: the server is alive, and a client could
        // take it out by asking for such answers.
        if !is_reused && !error.error().is_parse() {
            self.backend.note_failure(&instance, &format_args!("no answer: {}", error.error()));
        }
        self.retries += 1;
        let may_repeat = unsent.is_some() || self.is_repeatable;
        if self.retries > RETRIES_MAX || !may_repeat || !self.backend.may_retry() {
            return Err(ForwardError::Broken);
        }
        self.body = Some(unsent.map_or_else(UploadBody::empty, Request::into_body));
        if !is_reused {
            self.tried = Some(instance);
        }
        Ok(())
    }
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
