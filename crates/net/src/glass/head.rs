//! The heads of requests and answers as text.

use std::fmt::Write;

use hyper::header::HeaderMap;
use hyper::{Method, Response, Uri, Version};

use super::hidden::{shown_target, shown_value};

/// The head of a request, a line for each field, without secrets. Names are in lower case, as they are compared.
pub fn request_head(
    (method, uri, version): (&Method, &Uri, Version),
    headers: &HeaderMap,
) -> String {
    let mut head = format!("{method} {} {version:?}\n", shown_target(&uri.to_string()));
    push_fields(&mut head, headers);
    head
}

/// The head of an answer, a line for each field, without secrets.
pub fn response_head<B>(response: &Response<B>) -> String {
    let mut head = format!("{:?} {}\n", response.version(), response.status());
    push_fields(&mut head, response.headers());
    head
}

fn push_fields(head: &mut String, headers: &HeaderMap) {
    for (name, value) in headers {
        // A string takes all.
        let _ = writeln!(head, "{name}: {}", shown_value(name.as_str(), value.as_bytes()));
    }
}
