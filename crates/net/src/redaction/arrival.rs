//! The arrival of a request, as a part of its capture.

use std::time::Instant;

use hyper::Request;
use weir_observe::capture::OpenCapture;

use super::head::request_head;
use crate::client::Client;
use crate::scheme::Scheme;

/// Notes in a capture the connection of a request, when its head was read, and the head under a
/// title.
pub fn note_arrival<B>(
    capture: &OpenCapture,
    title: &'static str,
    request: &Request<B>,
    client: &Client,
) {
    note_connection(capture, client);
    capture.text(title, &request_head(request));
}

fn note_connection(capture: &OpenCapture, client: &Client) {
    let now = Instant::now();
    let history = client.history();
    if history.earlier_requests == 0 {
        let open = history.opened.unwrap_or(history.accepted);
        let detail = match client.scheme() {
            Scheme::Https => "accepted, and the TLS handshake",
            Scheme::Http => "accepted",
        };
        capture.step("client connection", history.accepted..open, detail);
    } else {
        let age = now.saturating_duration_since(history.accepted);
        let detail = format!(
            "accepted {:.3} s before, {} earlier requests",
            age.as_secs_f64(),
            history.earlier_requests
        );
        capture.step("client connection", now..now, detail);
    }
    if let Some(started_at) = history.head_begun {
        capture.step("request head", started_at..now, "read from the client");
    }
}
