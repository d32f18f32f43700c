//! Captures of single requests: writes their heads into a capture.
//!
//! [`OpenRecord::lap`](crate::record::OpenRecord::lap) notes each step. Heads are shown as text,
//! without their secrets ([`weir_net::redaction`]); bodies only as sizes and times.

mod condition;

use std::convert::Infallible;

use hyper::{Request, Response};
use weir_net::Client;
use weir_net::redaction::{self, request_head, response_head};
use weir_observe::capture::{Captures, OpenCapture};

pub(crate) use self::condition::RequestCondition;
use crate::backend::UpstreamRequest;

/// The pending captures of requests.
pub(crate) type RequestCaptures = Captures<RequestCondition>;

/// The pending captures of tunnels, which have no conditions.
pub type TunnelCaptures = Captures<Infallible>;

/// The labels of the heads, in the order of their transfer.
const FROM_CLIENT: &str = "client to gateway";
const TO_SERVER: &str = "gateway to server";
const FROM_SERVER: &str = "server to gateway";
const TO_CLIENT: &str = "gateway to client";

/// Notes the connection of a request, and its head.
pub(crate) fn note_arrival<B>(capture: &OpenCapture, request: &Request<B>, client: &Client) {
    redaction::note_arrival(capture, FROM_CLIENT, request, client);
    client.observe(capture.clone());
}

/// Notes the head of a request as the server receives it.
pub(crate) fn note_sent(capture: &OpenCapture, request: &UpstreamRequest) {
    capture.text(TO_SERVER, &request_head(request));
}

/// Notes the head of an answer as the server sent it.
pub(crate) fn note_answer<B>(capture: &OpenCapture, answer: &Response<B>) {
    capture.lap("answer head", answer.status().to_string());
    capture.text(FROM_SERVER, &response_head(answer));
}

/// Notes the head of an answer as the client receives it, except for fields that hyper adds, such
/// as `Transfer-Encoding` and `Date`.
#[cold]
pub(crate) fn note_passed_on<B>(capture: &OpenCapture, answer: Response<B>) -> Response<B> {
    capture.text(TO_CLIENT, &response_head(&answer));
    answer
}
