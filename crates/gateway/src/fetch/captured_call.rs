//! The capture of the gateway's own requests: for keys, lookups, tokens, sessions and trace exports.

use std::sync::{Arc, LazyLock};

use hyper::{Request, Response};
use weir_net::redaction::{request_head, response_head};
use weir_observe::capture::{CaptureError, Captures, OpenCapture, PendingCapture};

/// The labels of the request head and the response head.
const TO_SERVER: &str = "gateway to server";
const FROM_SERVER: &str = "server to gateway";

/// The pending captures of the gateway's own requests. They are global because fetch clients belong
/// to configurations, which are replaced while captures wait.
static CALLS: LazyLock<Arc<Captures<CallCondition>>> = LazyLock::new(Arc::default);

/// A text that the name of one of the gateway's own requests must contain.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CallCondition(String);

/// Starts a capture of the next request of the gateway itself whose name contains `text`, such as
/// `key set`. Without a text, any request matches.
///
/// # Errors
/// If too many captures are pending.
pub(crate) fn capture_call(text: Option<&str>) -> Result<PendingCapture, CaptureError> {
    CALLS.arm(text.map(|text| CallCondition(text.to_owned())))
}

/// One of the gateway's own requests. It is captured only if a capture was pending at its start.
#[derive(Debug)]
pub(crate) struct CapturedCall(Option<OpenCall>);

#[derive(Debug)]
struct OpenCall {
    name: String,
    capture: OpenCapture,
    is_complete: bool,
}

impl CapturedCall {
    /// Starts a request. `name` states its purpose and destination, without secrets.
    pub(crate) fn begin(name: impl FnOnce() -> String) -> Self {
        if !CALLS.is_armed() {
            return Self(None);
        }
        let name = name();
        let capture = CALLS.open(|| name.clone());
        Self(capture.map(|capture| OpenCall { name, capture, is_complete: false }))
    }

    /// The capture of the request, if it is captured.
    pub(crate) fn capture(&self) -> Option<&OpenCapture> {
        self.0.as_ref().map(|call| &call.capture)
    }

    /// Notes that a connection is open.
    pub(crate) fn note_connection(&self, detail: impl FnOnce() -> String) {
        if let Some(capture) = self.capture() {
            capture.lap("server connection", detail());
        }
    }

    /// Notes the request as sent, with the size of its body.
    pub(crate) fn note_request<B>(&self, request: &Request<B>, body_bytes: usize) {
        let Some(capture) = self.capture() else { return };
        capture.text(TO_SERVER, &request_head(request));
        if body_bytes > 0 {
            capture.lap("request body", body_bytes);
        }
    }

    /// Notes the head of the answer.
    pub(crate) fn note_answer<B>(&self, answer: &Response<B>) {
        let Some(capture) = self.capture() else { return };
        capture.lap("answer head", answer.status().to_string());
        capture.text(FROM_SERVER, &response_head(answer));
    }

    /// Notes a part of the answer's body.
    pub(crate) fn note_part(&self, bytes: usize) {
        if let Some(capture) = self.capture() {
            capture.lap("answer body", bytes);
        }
    }

    /// Ends the request after a complete answer.
    pub(crate) fn complete(mut self) {
        if let Some(call) = &mut self.0 {
            call.is_complete = true;
        }
    }

    /// Ends the request after a failure.
    pub(crate) fn fail(mut self, reason: impl FnOnce() -> String) {
        if let Some(call) = &mut self.0 {
            call.is_complete = true;
            call.capture.lap("failed", reason());
        }
    }
}

impl Drop for CapturedCall {
    fn drop(&mut self) {
        let Some(OpenCall { name, capture, is_complete }) = self.0.take() else { return };
        if !is_complete {
            capture.lap("aborted", "the task that needed the answer was cancelled");
        }
        CALLS.end(capture, &|CallCondition(text)| name.contains(text));
    }
}
