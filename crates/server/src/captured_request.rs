//! Captures one request to the page's server.

use std::sync::Arc;

use hyper::{Request, Response};
use weir_net::redaction::{note_arrival, response_head, shown_target};
use weir_net::{Body, Client};
use weir_observe::capture::OpenCapture;

use crate::captures::{FROM_CLIENT, PageCaptures, TO_CLIENT};

/// A request that is answered while a capture waits. The connection holds a clone of the capture,
/// and records when the system accepts parts of the response.
pub(crate) struct CapturedRequest {
    captures: Arc<PageCaptures>,
    capture: OpenCapture,
    is_answered: bool,
}

impl CapturedRequest {
    /// Starts recording the steps of a request, if a capture waits.
    #[inline]
    pub(crate) fn begin<B>(
        captures: &Arc<PageCaptures>,
        request: &Request<B>,
        client: &Client,
    ) -> Option<Self> {
        if captures.is_armed() { Self::begin_capture(captures, request, client) } else { None }
    }

    #[cold]
    fn begin_capture<B>(
        captures: &Arc<PageCaptures>,
        request: &Request<B>,
        client: &Client,
    ) -> Option<Self> {
        let name = || format!("{} {}", request.method(), shown_target(request.uri().path()));
        let capture = captures.open(name)?;
        note_arrival(&capture, FROM_CLIENT, request, client);
        client.observe_writes(capture.clone());
        Some(Self { captures: captures.clone(), capture, is_answered: false })
    }

    /// Records the response, whose head is known. `reason` is the name of the refusal, if there is
    /// one.
    pub(crate) fn answer(mut self, answer: &Response<Body>, reason: Option<&'static str>) {
        let reason = reason.map(|reason| format!(", {reason}")).unwrap_or_default();
        self.capture.lap("answer", format!("{}{reason}", answer.status()));
        self.capture.text(TO_CLIENT, &response_head(answer));
        self.is_answered = true;
    }
}

impl Drop for CapturedRequest {
    fn drop(&mut self) {
        if !self.is_answered {
            self.capture.lap("aborted", "the client has gone");
        }
        self.captures.end(self.capture.clone(), &|never| match *never {});
    }
}
