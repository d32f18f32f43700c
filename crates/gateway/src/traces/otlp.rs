//! The JSON encoding of OTLP
//! ([opentelemetry-proto](https://github.com/open-telemetry/opentelemetry-proto),
//! `trace/v1/trace.proto`): names in lowerCamelCase, ids in hexadecimal, and 64-bit numbers as
//! strings.

use std::borrow::Cow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Serialize, Serializer};

/// Texts from clients are truncated to this many bytes.
const TEXT_BYTES_MAX: usize = 1_024;

/// A span of a request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Span<'a> {
    pub(super) trace_id: &'a str,
    pub(super) span_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent_span_id: Option<&'a str>,
    pub(super) name: Cow<'a, str>,
    pub(super) kind: SpanKind,
    pub(super) start_time_unix_nano: Nanoseconds,
    pub(super) end_time_unix_nano: Nanoseconds,
    pub(super) attributes: Vec<Attribute<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) events: Vec<SpanEvent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<Status>,
}

/// The side of a call that a span describes.
#[derive(Debug, Clone, Copy)]
pub(super) enum SpanKind {
    /// The side that answers.
    Server,
    /// The side that sends the request.
    Client,
}

impl Serialize for SpanKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(match self {
            Self::Server => 2,
            Self::Client => 3,
        })
    }
}

/// An event at a point in time within a span.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SpanEvent {
    pub(super) time_unix_nano: Nanoseconds,
    pub(super) name: &'static str,
}

/// The status of a failed span; successful spans have none.
#[derive(Debug, Serialize)]
pub(super) struct Status {
    code: u8,
}

impl Status {
    /// `STATUS_CODE_ERROR`.
    pub(super) const ERROR: Self = Self { code: 2 };
}

/// A time in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Nanoseconds(u128);

impl Nanoseconds {
    pub(super) fn of(time: SystemTime) -> Self {
        Self(time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos()))
    }

    pub(super) fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.as_nanos()))
    }
}

impl Serialize for Nanoseconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// An attribute of a span.
#[derive(Debug, Serialize)]
pub(super) struct Attribute<'a> {
    key: &'static str,
    value: Value<'a>,
}

#[derive(Debug, Serialize)]
enum Value<'a> {
    #[serde(rename = "stringValue")]
    Text(Cow<'a, str>),
    #[serde(rename = "intValue")]
    Number(String),
}

impl<'a> Attribute<'a> {
    /// Creates an attribute from a text of the gateway itself.
    pub(super) fn text(key: &'static str, text: impl Into<Cow<'a, str>>) -> Self {
        Self { key, value: Value::Text(text.into()) }
    }

    /// Creates an attribute from a text of a client. Invalid UTF-8 is replaced, and a long text is
    /// truncated.
    pub(super) fn client_text(key: &'static str, bytes: &'a [u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let cut = text.floor_char_boundary(TEXT_BYTES_MAX);
        let is_long = cut < text.len();
        Self::text(key, if is_long { Cow::Owned(text[..cut].to_owned()) } else { text })
    }

    pub(super) fn number(key: &'static str, number: u64) -> Self {
        Self { key, value: Value::Number(number.to_string()) }
    }
}

/// The start and end of the body of a request to the collector, which enclose the spans.
#[derive(Debug)]
pub(super) struct Envelope {
    start: Vec<u8>,
}

/// Closes the brackets of [`Envelope::start`].
const END: &[u8] = b"]}]}]}";

impl Envelope {
    /// Creates an envelope for the spans of a service.
    pub(super) fn new(service_name: &str) -> Self {
        let resource = [
            Attribute::text("service.name", service_name),
            Attribute::text("service.version", env!("CARGO_PKG_VERSION")),
        ];
        // Serializing strings does not fail.
        let resource = serde_json::to_string(&resource).unwrap_or_else(|_| "[]".to_owned());
        let start = format!(
            "{{\"resourceSpans\":[{{\"resource\":{{\"attributes\":{resource}}},\
             \"scopeSpans\":[{{\"scope\":{{\"name\":\"weir\"}},\"spans\":["
        );
        Self { start: start.into_bytes() }
    }

    /// Returns a complete body with spans, which are separated by commas.
    pub(super) fn wrap(&self, spans: &[u8]) -> Vec<u8> {
        [&self.start, spans, END].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::{Attribute, TEXT_BYTES_MAX};

    #[test]
    fn texts_of_clients_are_cut_and_made_valid() {
        let long = "ä".repeat(TEXT_BYTES_MAX);
        for (bytes, expected) in [
            (&b"a\"b\n\x1b[31m\xff"[..], "a\"b\n\x1b[31m\u{fffd}"),
            (long.as_bytes(), &long[..TEXT_BYTES_MAX]),
        ] {
            let json = serde_json::to_value(Attribute::client_text("key", bytes)).expect("JSON");
            assert_eq!(json["value"]["stringValue"], expected);
        }
    }
}
