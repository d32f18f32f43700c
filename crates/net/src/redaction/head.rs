//! The heads of requests and responses as text.

use std::fmt::Write;

use hyper::header::HeaderMap;
use hyper::{Request, Response};

use super::target::shown_target;
use super::value::redact_value;

/// Returns the head of a request as text without secrets, one line for each field. Names are in
/// lower case.
pub fn request_head<B>(request: &Request<B>) -> String {
    let target = shown_target(&request.uri().to_string());
    let mut head = format!("{} {target} {:?}\n", request.method(), request.version());
    push_fields(&mut head, request.headers());
    head
}

/// Returns the head of a response as text without secrets, one line for each field.
pub fn response_head<B>(response: &Response<B>) -> String {
    let mut head = format!("{:?} {}\n", response.version(), response.status());
    push_fields(&mut head, response.headers());
    head
}

fn push_fields(head: &mut String, headers: &HeaderMap) {
    for (name, value) in headers {
        // Writing to a string cannot fail.
        let _ = writeln!(head, "{name}: {}", redact_value(name.as_str(), value.as_bytes()));
    }
}
