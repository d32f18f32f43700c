//! One request under the glass: what a request of the gateway notes while somebody waits for one.
//!
//! The steps are noted where they are made, by [`OpenRecord::lap`](crate::record::OpenRecord::lap). Heads are shown
//! as text, with their secrets [hidden](hidden). Bodies are shown as sizes and times.

mod condition;
mod head;
mod hidden;

use std::time::Instant;

use hyper::{Request, Response, Version};
use weir_net::{Client, Scheme};
use weir_observe::glass::{Captures, Journal};

pub use self::condition::{CaptureError, RequestCondition};
use self::head::{request_head, response_head};
pub(crate) use self::hidden::shown_target;
use crate::backend::UpstreamRequest;

/// Those who wait for a request.
pub(crate) type RequestCaptures = Captures<RequestCondition>;

/// The names of the heads, in the order in which they pass.
const FROM_CLIENT: &str = "client to gateway";
const TO_SERVER: &str = "gateway to server";
const FROM_SERVER: &str = "server to gateway";
const TO_CLIENT: &str = "gateway to client";

/// Notes how a request came, and its head.
pub(crate) fn note_arrival<B>(journal: &Journal, request: &Request<B>, client: &Client) {
    let now = Instant::now();
    let history = client.history();
    if history.earlier_requests == 0 {
        let open = history.opened.unwrap_or(history.accepted);
        let detail = match client.scheme() {
            Scheme::Https => "accepted, and the TLS handshake",
            Scheme::Http => "accepted",
        };
        journal.step("client connection", (history.accepted, open), detail);
    } else {
        let age = now.saturating_duration_since(history.accepted);
        let detail = format!(
            "accepted {:.3} s before, {} earlier requests",
            age.as_secs_f64(),
            history.earlier_requests
        );
        journal.step("client connection", (now, now), detail);
    }
    if let Some(begun) = history.head_begun {
        journal.step("request head", (begun, now), "read from the client");
    }
    let head =
        request_head((request.method(), request.uri(), request.version()), request.headers());
    journal.text(FROM_CLIENT, &head);
    // Over HTTP/2 the connection is that of other requests, too, and might never be without one.
    if request.version() < Version::HTTP_2 {
        client.observe(journal.clone());
    }
}

/// Notes the head of a request as the server gets it.
pub(crate) fn note_sent(journal: &Journal, request: &UpstreamRequest) {
    let line = (request.method(), request.uri(), request.version());
    journal.text(TO_SERVER, &request_head(line, request.headers()));
}

/// Notes the head of an answer as it came from the server.
pub(crate) fn note_answer<B>(journal: &Journal, answer: &Response<B>) {
    journal.lap("answer head", answer.status().to_string());
    journal.text(FROM_SERVER, &response_head(answer));
}

/// Notes the head of an answer as the client gets it. What belongs to its connection, such as
/// `Transfer-Encoding`, and `Date` are added on the way.
#[cold]
pub(crate) fn note_passed_on<B>(journal: &Journal, answer: Response<B>) -> Response<B> {
    journal.text(TO_CLIENT, &response_head(&answer));
    answer
}
