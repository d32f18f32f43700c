//! Formats a record as a line of the access log.
//!
//! Weir reads both formats back with the same fields, values and counts:
//!
//! ```text
//! 192.0.2.7 - user [17/Dec/2025:09:03:01 +0000] "GET /a?b HTTP/1.1" 200 512 "referer" "agent"
//! {"time":"2025-12-17T09:03:01.250000001Z","remote_addr":"192.0.2.7","request_uri":"/a?b",...}
//! ```
//!
//! In the combined format `-` stands for an absent value, so a value that is a dash is written as
//! `\x2D`.

use weir_core::{Field, Record, push_decimal, push_seconds};

use super::clock::Clock;
use super::escape::{push_escaped, push_json, push_word};

/// The string members of a JSON line after the time, by their names in nginx. [`Field::Path`] is
/// written with its query.
const TEXTS: [(&str, Field); 9] = [
    ("remote_addr", Field::Client),
    ("remote_user", Field::User),
    ("host", Field::Host),
    ("request_method", Field::Method),
    ("request_uri", Field::Path),
    ("server_protocol", Field::Protocol),
    ("status", Field::Status),
    ("http_referer", Field::Referer),
    ("http_user_agent", Field::UserAgent),
];

/// The durations of a JSON line in seconds, by their names in nginx if nginx has them.
const DURATIONS: [(&str, Field); 6] = [
    ("request_time", Field::RequestTime),
    ("upstream_response_time", Field::UpstreamTime),
    ("upstream_connect_time", Field::UpstreamConnectTime),
    ("upstream_header_time", Field::UpstreamHeaderTime),
    ("wait_time", Field::WaitTime),
    ("body_time", Field::BodyTime),
];

/// Appends a line in the combined log format.
pub(super) fn push_combined(line: &mut Vec<u8>, record: &Record<'_>, clock: &mut Clock) {
    push_value(line, record.text(Field::Client), push_word);
    line.extend_from_slice(b" - ");
    // An empty value would be invisible between two spaces.
    let user = record.text(Field::User).filter(|user| !user.is_empty());
    push_value(line, user, push_word);
    line.extend_from_slice(b" [");
    if let Some(time) = record.time {
        clock.push_common(line, time);
    }
    line.extend_from_slice(b"] \"");
    match record.text(Field::Method) {
        // The head of the request could not be read.
        None => line.push(b'-'),
        Some(method) => {
            line.extend_from_slice(method);
            line.push(b' ');
            push_target(line, record, push_escaped);
            line.push(b' ');
            line.extend_from_slice(record.text(Field::Protocol).unwrap_or(b"-"));
        }
    }
    line.extend_from_slice(b"\" ");
    line.extend_from_slice(record.text(Field::Status).unwrap_or(b"-"));
    line.push(b' ');
    push_decimal(line, record.number(Field::Bytes).unwrap_or(0));
    for field in [Field::Referer, Field::UserAgent] {
        line.extend_from_slice(b" \"");
        push_value(line, record.text(field), push_escaped);
        line.push(b'"');
    }
    line.push(b'\n');
}

/// Appends a JSON object with all fields of the record. `extra_fields` names the record's extra
/// fields, in their order.
pub(super) fn push_object(
    line: &mut Vec<u8>,
    record: &Record<'_>,
    extra_fields: &[&str],
    clock: &mut Clock,
) {
    line.extend_from_slice(b"{\"time\":\"");
    if let Some(time) = record.time {
        clock.push_rfc3339(line, time);
    }
    line.push(b'"');
    for (name, field) in TEXTS {
        let Some(value) = record.text(field) else { continue };
        push_key(line, name);
        line.push(b'"');
        match field {
            Field::Path => push_target(line, record, push_json),
            _ => push_json(line, value),
        }
        line.push(b'"');
    }
    push_key(line, "body_bytes_sent");
    push_decimal(line, record.number(Field::Bytes).unwrap_or(0));
    for (name, field) in DURATIONS {
        if let Some(duration_ns) = record.number(field) {
            push_key(line, name);
            push_seconds(line, duration_ns);
        }
    }
    for (index, name) in extra_fields.iter().enumerate() {
        if let Some(value) = record.extra(index) {
            push_key(line, name);
            line.push(b'"');
            push_json(line, value);
            line.push(b'"');
        }
    }
    line.extend_from_slice(b"}\n");
}

fn push_key(line: &mut Vec<u8>, name: &str) {
    line.extend_from_slice(b",\"");
    line.extend_from_slice(name.as_bytes());
    line.extend_from_slice(b"\":");
}

/// Appends the path, and the query after `?`.
fn push_target(line: &mut Vec<u8>, record: &Record<'_>, push: fn(&mut Vec<u8>, &[u8])) {
    push(line, record.text(Field::Path).unwrap_or_default());
    if let Some(query) = record.text(Field::Query) {
        line.push(b'?');
        push(line, query);
    }
}

/// Appends a value, or a dash if there is none.
fn push_value(line: &mut Vec<u8>, value: Option<&[u8]>, push: fn(&mut Vec<u8>, &[u8])) {
    match value {
        None => line.push(b'-'),
        Some(b"-") => line.extend_from_slice(b"\\x2D"),
        Some(value) => push(line, value),
    }
}
