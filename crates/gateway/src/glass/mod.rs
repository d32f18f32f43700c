//! One request under the glass: what a request of the gateway notes while somebody waits for one.
//!
//! The steps are noted where they are made, by [`OpenRecord::lap`](crate::record::OpenRecord::lap). Heads are shown
//! as text, without their secrets ([`weir_net::glass`]). Bodies are shown as sizes and times.

mod condition;

use std::convert::Infallible;

use hyper::{Request, Response};
use weir_net::Client;
use weir_net::glass::{self, request_head, response_head};
use weir_observe::glass::{Captures, Journal};

pub use self::condition::{CaptureError, RequestCondition};
use crate::backend::UpstreamRequest;

/// Those who wait for a request.
pub(crate) type RequestCaptures = Captures<RequestCondition>;

/// Those who wait to look at a tunnel. There are no conditions on tunnels.
pub type TunnelCaptures = Captures<Infallible>;

/// The names of the heads, in the order in which they pass.
const FROM_CLIENT: &str = "client to gateway";
const TO_SERVER: &str = "gateway to server";
const FROM_SERVER: &str = "server to gateway";
const TO_CLIENT: &str = "gateway to client";

/// Notes how a request came, and its head.
pub(crate) fn note_arrival<B>(journal: &Journal, request: &Request<B>, client: &Client) {
    glass::note_arrival(journal, FROM_CLIENT, request, client);
    client.observe(journal.clone());
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
