//! A request of the gateway itself under the glass: for keys, a backend's name, a token or a session.

use std::sync::{Arc, LazyLock};

use hyper::{Request, Response};
use weir_net::glass::{request_head, response_head};
use weir_observe::glass::{Capture, Captures, Journal, TooManyCaptures};

/// The names of the heads.
const TO_SERVER: &str = "gateway to server";
const FROM_SERVER: &str = "server to gateway";

/// Those who wait for a request of the gateway itself. They are those of the whole program: the clients that send
/// such requests belong to configurations, which come and go.
static CALLS: LazyLock<Arc<Captures<CallCondition>>> = LazyLock::new(Arc::default);

/// What the name of a request of the gateway itself has to have in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallCondition(String);

/// Begins to wait for the next request that the gateway itself sends, or the next one with this text in its name,
/// such as `key set`.
///
/// # Errors
/// If too many others wait.
pub(crate) fn capture_call(text: Option<&str>) -> Result<Capture<CallCondition>, TooManyCaptures> {
    CALLS.arm(text.map(|text| CallCondition(text.to_owned())))
}

/// A request of the gateway itself. It notes something only while somebody waits for one.
#[derive(Debug)]
pub(crate) struct ObservedCall(Option<Noted>);

#[derive(Debug)]
struct Noted {
    name: String,
    journal: Journal,
    is_complete: bool,
}

impl ObservedCall {
    /// Begins a request. `name` says what it is for and where it goes, without secrets.
    pub(crate) fn begin(name: impl FnOnce() -> String) -> Self {
        if !CALLS.is_armed() {
            return Self(None);
        }
        let name = name();
        let journal = CALLS.journal(|| name.clone());
        Self(journal.map(|journal| Noted { name, journal, is_complete: false }))
    }

    /// Its journal, if somebody waits.
    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.0.as_ref().map(|noted| &noted.journal)
    }

    /// There is a connection.
    pub(crate) fn note_connection(&self, detail: impl FnOnce() -> String) {
        if let Some(journal) = self.journal() {
            journal.lap("server connection", detail());
        }
    }

    /// The request as the server gets it, with the bytes of its body.
    pub(crate) fn note_request<B>(&self, request: &Request<B>, body_bytes: usize) {
        let Some(journal) = self.journal() else { return };
        let line = (request.method(), request.uri(), request.version());
        journal.text(TO_SERVER, &request_head(line, request.headers()));
        if body_bytes > 0 {
            journal.lap_part("request body", body_bytes);
        }
    }

    /// The head of the answer has come.
    pub(crate) fn note_answer<B>(&self, answer: &Response<B>) {
        let Some(journal) = self.journal() else { return };
        journal.lap("answer head", answer.status().to_string());
        journal.text(FROM_SERVER, &response_head(answer));
    }

    /// A part of the body of the answer has come.
    pub(crate) fn note_part(&self, bytes: usize) {
        if let Some(journal) = self.journal() {
            journal.lap_part("answer body", bytes);
        }
    }

    /// All of the answer has come.
    pub(crate) fn complete(mut self) {
        if let Some(noted) = &mut self.0 {
            noted.is_complete = true;
        }
    }

    /// There is no complete answer.
    pub(crate) fn fail(mut self, reason: impl FnOnce() -> String) {
        if let Some(noted) = &mut self.0 {
            noted.is_complete = true;
            noted.journal.lap("failed", reason());
        }
    }
}

impl Drop for ObservedCall {
    fn drop(&mut self) {
        let Some(Noted { name, journal, is_complete }) = self.0.take() else { return };
        if !is_complete {
            journal.lap("broken off", "the one for whom it was sent has gone");
        }
        CALLS.end(journal, &|CallCondition(text)| name.contains(text));
    }
}
