//! Captures one request to the page's server.

use std::sync::Arc;

use hyper::{Request, Response};
use weir_net::glass::{note_arrival, response_head, shown_target};
use weir_net::{Body, Client};
use weir_observe::glass::Journal;

use crate::captures::{FROM_CLIENT, PageCaptures, TO_CLIENT};

/// A request that is answered while a capture waits. The connection holds a clone of the journal,
/// and records when the system accepts parts of the response.
pub(crate) struct ObservedRequest {
    captures: Arc<PageCaptures>,
    journal: Journal,
    is_answered: bool,
}

impl ObservedRequest {
    /// Starts recording the steps of a request, if a capture waits.
    #[inline]
    pub(crate) fn begin<B>(
        captures: &Arc<PageCaptures>,
        request: &Request<B>,
        client: &Client,
    ) -> Option<Self> {
        if captures.is_armed() { Self::begin_journal(captures, request, client) } else { None }
    }

    #[cold]
    fn begin_journal<B>(
        captures: &Arc<PageCaptures>,
        request: &Request<B>,
        client: &Client,
    ) -> Option<Self> {
        let name = || format!("{} {}", request.method(), shown_target(request.uri().path()));
        let journal = captures.journal(name)?;
        note_arrival(&journal, FROM_CLIENT, request, client);
        client.observe_writes(journal.clone());
        Some(Self { captures: captures.clone(), journal, is_answered: false })
    }

    /// Records the response, whose head is known. `reason` is the name of the refusal, if there is
    /// one.
    pub(crate) fn answer(mut self, answer: &Response<Body>, reason: Option<&'static str>) {
        let reason = reason.map(|reason| format!(", {reason}")).unwrap_or_default();
        self.journal.lap("answer", format!("{}{reason}", answer.status()));
        self.journal.text(TO_CLIENT, &response_head(answer));
        self.is_answered = true;
    }
}

impl Drop for ObservedRequest {
    fn drop(&mut self) {
        if !self.is_answered {
            self.journal.lap("aborted", "the client has gone");
        }
        self.captures.end(self.journal.clone(), &|never| match *never {});
    }
}
