//! The arrival of a request, as a part of its observation.

use std::time::Instant;

use hyper::Request;
use weir_observe::glass::Journal;

use super::head::request_head;
use crate::client::Client;
use crate::scheme::Scheme;

/// Notes in a journal the connection of a request, when its head was read, and the head under a
/// title.
pub fn note_arrival<B>(
    journal: &Journal,
    title: &'static str,
    request: &Request<B>,
    client: &Client,
) {
    note_connection(journal, client);
    let line = (request.method(), request.uri(), request.version());
    journal.text(title, &request_head(line, request.headers()));
}

fn note_connection(journal: &Journal, client: &Client) {
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
    if let Some(started_at) = history.head_begun {
        journal.step("request head", (started_at, now), "read from the client");
    }
}
