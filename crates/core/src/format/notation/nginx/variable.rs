//! The variables of a `log_format` and their meanings.
//!
//! A variable is a field of ours, or an extra field under its own name, as nginx writes it and
//! without the `$`. `${name(kind)}` is not nginx's: it names the kind of a value that the
//! variable's name does not tell.

use crate::field::Field;
use crate::format::error::FormatError;
use crate::format::notation::builder::{FormatBuilder, Variable};
use crate::format::notation::item::Item;
use crate::format::notation::positioned::Positioned;
use crate::format::program::sink::Sink;
use crate::value::TimeKind;

/// Adds the literal texts and the variables of `text` to a format.
pub(super) fn add_variables(
    definition: &str,
    text: &[Positioned],
    builder: &mut FormatBuilder<'_>,
) -> Result<(), FormatError> {
    let mut at = 0;
    while at < text.len() {
        if text[at].0 == b'$' {
            at = variable(definition, text, at, builder)?;
        } else {
            builder.text(&[text[at].0]);
            at += 1;
        }
    }
    Ok(())
}

/// Adds the variable at `at` and returns the offset after it.
fn variable(
    definition: &str,
    text: &[Positioned],
    at: usize,
    builder: &mut FormatBuilder<'_>,
) -> Result<usize, FormatError> {
    let position = text[at].1;
    let is_braced = text.get(at + 1).is_some_and(|(byte, _)| *byte == b'{');
    let start = at + 1 + usize::from(is_braced);
    if is_braced && let Some(end) = add_description(definition, text, start, builder)? {
        return Ok(end);
    }
    let is_name = |(byte, _): &&Positioned| byte.is_ascii_alphanumeric() || *byte == b'_';
    let length = text[start..].iter().take_while(is_name).count();
    let end = start + length;
    if length == 0 {
        let message = "a variable's name must follow the `$`";
        return Err(FormatError::new(definition, position, message));
    }
    if is_braced && text.get(end).is_none_or(|(byte, _)| *byte != b'}') {
        return Err(FormatError::new(definition, position, "the `{` has no `}`"));
    }
    let name: String = text[start..end].iter().map(|(byte, _)| char::from(*byte)).collect();
    builder.value(Variable {
        sink: sink(&name),
        rank: rank(&name),
        name: format!("${name}"),
        field_name: name,
        at: position,
    });
    Ok(end + usize::from(is_braced))
}

/// Adds the value in braces if it is more than a name, such as `request_time(ms)`. Returns the
/// offset after it, or `None` if it is a name.
fn add_description(
    definition: &str,
    text: &[Positioned],
    start: usize,
    builder: &mut FormatBuilder<'_>,
) -> Result<Option<usize>, FormatError> {
    let Some(length) = text[start..].iter().position(|(byte, _)| *byte == b'}') else {
        return Ok(None);
    };
    let inside: Vec<u8> = text[start..start + length].iter().map(|(byte, _)| *byte).collect();
    let Ok(inside) = String::from_utf8(inside) else { return Ok(None) };
    if !inside.contains(['(', '=']) {
        return Ok(None);
    }
    let item = Item { definition, text: &inside, at: text[start].1 };
    builder.value(item.variable()?);
    Ok(Some(start + length + 1))
}

/// Whether a variable is an extra field under its own name.
pub(in crate::format) fn is_plain_variable(name: &str) -> bool {
    sink(name) == Sink::Extra(0)
}

/// The one variable that a text is, at an offset of a definition.
///
/// # Errors
/// If it is something else.
pub(in crate::format) fn variable_at(
    definition: &str,
    text: &str,
    at: usize,
) -> Result<Variable, FormatError> {
    let mut builder = FormatBuilder::new(definition, true);
    let positioned: Vec<Positioned> = text.bytes().zip(at..).collect();
    add_variables(definition, &positioned, &mut builder)?;
    let message = "write the name of a value here, such as $extra_1 or ${request_time(ms)}";
    builder.only_variable().ok_or_else(|| FormatError::new(definition, at, message))
}

/// The rank of a variable: of several for one field, the lowest rank fills it, then the first.
/// The request line is preferred to its parts, and the bytes of the body, which `combined` logs,
/// to those with headers. The address of the connection is preferred to a header, which a client
/// can send.
fn rank(name: &str) -> u8 {
    match name {
        "request_uri" | "request_method" | "server_protocol" | "bytes_sent" => 1,
        "uri"
        | "document_uri"
        | "args"
        | "query_string"
        | "http_x_forwarded_for"
        | "proxy_add_x_forwarded_for" => 2,
        _ => 0,
    }
}

/// The sink of a variable. An unknown one is an extra field under its own name.
fn sink(name: &str) -> Sink {
    match name {
        "remote_addr" => Sink::Client,
        "http_x_forwarded_for" | "proxy_add_x_forwarded_for" => Sink::ForwardedFor { extra: 0 },
        "remote_user" => Sink::User,
        "host" | "http_host" | "server_name" => Sink::Text(Field::Host),
        "time_local" => Sink::Time(TimeKind::Clf),
        "time_iso8601" => Sink::Time(TimeKind::Iso8601),
        "msec" => Sink::Time(TimeKind::UnixSeconds),
        "request" => Sink::RequestLine,
        "request_method" => Sink::Text(Field::Method),
        "request_uri" => Sink::PathAndQuery,
        "uri" | "document_uri" => Sink::Text(Field::Path),
        "args" | "query_string" => Sink::Text(Field::Query),
        "is_args" => Sink::Skip,
        "server_protocol" => Sink::Text(Field::Protocol),
        "status" => Sink::Status,
        "body_bytes_sent" | "bytes_sent" => Sink::Bytes,
        "http_referer" => Sink::Text(Field::Referer),
        "http_user_agent" => Sink::Text(Field::UserAgent),
        "request_time" => Sink::RequestTime { unit_ns: 1_000_000_000 },
        "upstream_response_time" => Sink::UpstreamTimes(Field::UpstreamTime),
        "upstream_connect_time" => Sink::UpstreamTimes(Field::UpstreamConnectTime),
        "upstream_header_time" => Sink::UpstreamTimes(Field::UpstreamHeaderTime),
        "wait_time" => Sink::duration(Field::WaitTime, 1_000_000_000),
        "body_time" => Sink::duration(Field::BodyTime, 1_000_000_000),
        _ => Sink::Extra(0),
    }
}
