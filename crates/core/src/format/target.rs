//! What a value of a line means.

use std::sync::Arc;

use super::json::Span;
use crate::field::Field;
use crate::record::Record;
use crate::value::{
    ClfTimeCache, Strftime, TimeContent, TimeKind, TimeParts, parse_digits, parse_duration_ns,
    parse_go_duration_ns, parse_upstream_time_ns,
};

/// Where a value goes and what it has to look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// Read and not kept.
    Skip,
    /// A text field, as it stands.
    Text(Field),
    /// The client: anything but nothing.
    Client,
    /// A client that stands behind a virtual host: anything but nothing and `-`.
    ClientBehindHost,
    /// A client with or without a port, which is dropped.
    ClientWithPort,
    /// A virtual host, with a port behind a colon that goes to an extra field.
    HostAndPort { port: usize },
    /// A whole request line.
    RequestLine,
    /// A request target: path, and query behind `?`.
    PathAndQuery,
    /// The query with its `?`, or nothing (Apache `%q`).
    QueryWithMark,
    /// Three digits, or `-` or 0 for none.
    Status,
    /// Digits, or `-` for none.
    Bytes,
    /// A duration in units of so many nanoseconds, or `-` for none.
    RequestTime { unit_ns: u64 },
    /// nginx's list of upstream times in seconds.
    UpstreamTimes,
    /// As `RequestTime`, or a text with a unit such as `1.5ms`.
    RequestDuration { unit_ns: u64 },
    /// nginx's list, one upstream time in units of so many nanoseconds, or a text with a
    /// unit.
    UpstreamDuration { unit_ns: u64 },
    /// A time stamp, or a part of one.
    Time(TimeKind),
    /// A time stamp, or a part of one, in a pattern of its own.
    Strftime(Arc<Strftime>),
    /// The format's own text field of this index.
    Extra(usize),
}

/// What is kept between the values of one line, and the cache between lines.
#[derive(Debug, Clone, Default)]
pub(super) struct LineState {
    pub(super) clf_times: ClfTimeCache,
    pub(super) time: TimeParts,
    /// Whether a request's target is kept whole, to be split later.
    pub(super) keeps_target: bool,
    /// Where the values of a JSON line stand, by the format's entries.
    pub(super) json_values: Vec<Span>,
}

impl Target {
    /// Puts `value` into the record. `None` where it is not of the target's kind.
    #[inline]
    pub(super) fn set<'a>(
        &self,
        value: &'a [u8],
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Option<()> {
        match self {
            Self::Skip => {}
            Self::Text(field) => record.set_text(*field, value),
            Self::Client => {
                if value.is_empty() {
                    return None;
                }
                record.set_text(Field::Client, value);
            }
            Self::RequestLine => record.set_request_line(value, state.keeps_target),
            Self::PathAndQuery => record.set_target(value, state.keeps_target),
            Self::Status => {
                if !is_status(value) {
                    return None;
                }
                record.set_text(Field::Status, value);
            }
            Self::Bytes => record.bytes = optional(value, parse_bytes)?,
            Self::Time(TimeKind::Clf) => {
                let time = state.clf_times.parse(value.try_into().ok()?)?;
                state.time.set_clf(time);
            }
            Self::Time(kind) => state.time.add(*kind, value)?,
            Self::Strftime(pattern) => pattern.read(value, &mut state.time)?,
            Self::ClientBehindHost => {
                if matches!(value, b"" | b"-") {
                    return None;
                }
                record.set_text(Field::Client, value);
            }
            Self::Extra(index) => record.set_extra(*index, value),
            Self::HostAndPort { port } => set_host_and_port(value, *port, record)?,
            Self::QueryWithMark => {
                if let [b'?', query @ ..] = value {
                    record.set_text(Field::Query, query);
                }
            }
            Self::RequestTime { unit_ns } => {
                record.request_time_ns = optional(value, |text| parse_duration_ns(text, *unit_ns))?;
            }
            Self::UpstreamTimes => record.upstream_time_ns = parse_upstream_time_ns(value)?,
            Self::ClientWithPort => record.set_text(Field::Client, without_port(value)),
            Self::RequestDuration { unit_ns } => {
                record.request_time_ns = optional(value, |text| duration_ns(text, *unit_ns))?;
            }
            Self::UpstreamDuration { unit_ns } => {
                record.upstream_time_ns = match optional(value, |text| duration_ns(text, *unit_ns))
                {
                    Some(time_ns) => time_ns,
                    None => parse_upstream_time_ns(value)?,
                };
            }
        }
        Some(())
    }

    /// The fields that the target fills.
    pub(super) fn fields(&self) -> &'static [Field] {
        match self {
            Self::Skip | Self::Extra(_) => &[],
            Self::Text(field) => Field::TEXT
                .iter()
                .position(|candidate| candidate == field)
                .map_or(&[], |index| &Field::TEXT[index..=index]),
            Self::Client | Self::ClientBehindHost | Self::ClientWithPort => &[Field::Client],
            Self::HostAndPort { .. } => &[Field::Host],
            Self::RequestLine => {
                &[Field::Method, Field::Path, Field::Query, Field::Protocol, Field::Request]
            }
            Self::PathAndQuery => &[Field::Path, Field::Query],
            Self::QueryWithMark => &[Field::Query],
            Self::Status => &[Field::Status],
            Self::Bytes => &[Field::Bytes],
            Self::RequestTime { .. } | Self::RequestDuration { .. } => &[Field::RequestTime],
            Self::UpstreamTimes | Self::UpstreamDuration { .. } => &[Field::UpstreamTime],
            Self::Time(_) | Self::Strftime(_) => &[Field::Time],
        }
    }

    /// True where the target takes any text, the empty one included.
    pub(super) fn is_text(&self) -> bool {
        matches!(
            self,
            Self::Skip
                | Self::Text(_)
                | Self::RequestLine
                | Self::PathAndQuery
                | Self::QueryWithMark
                | Self::Extra(_)
        )
    }

    /// True where the value has no space in it.
    pub(super) fn is_word(&self) -> bool {
        matches!(
            self,
            Self::Client
                | Self::ClientBehindHost
                | Self::HostAndPort { .. }
                | Self::Status
                | Self::Bytes
                | Self::RequestTime { .. }
        )
    }

    /// How much of a time the target tells.
    pub(super) fn time_content(&self) -> TimeContent {
        match self {
            Self::Time(kind) => kind.content(),
            Self::Strftime(pattern) => pattern.content(),
            _ => TimeContent::default(),
        }
    }

    /// What the value has to be, in words.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Client | Self::ClientBehindHost | Self::ClientWithPort => {
                "a client address or host name"
            }
            Self::HostAndPort { .. } => "a host, with or without a port",
            Self::Status => "a status of three digits",
            Self::Bytes => "a number of bytes",
            Self::RequestTime { .. }
            | Self::RequestDuration { .. }
            | Self::UpstreamTimes
            | Self::UpstreamDuration { .. } => "a duration",
            Self::Time(_) | Self::Strftime(_) => "a time of the format's form",
            _ => "a text",
        }
    }
}

/// The largest number stands for an absent one in columns, and no response is that long.
fn parse_bytes(text: &[u8]) -> Option<u64> {
    parse_digits(text).filter(|bytes| *bytes < u64::MAX)
}

/// A number of `unit_ns` units, or a text that names its units.
fn duration_ns(text: &[u8], unit_ns: u64) -> Option<u64> {
    match text.last() {
        Some(byte) if byte.is_ascii_alphabetic() => parse_go_duration_ns(text),
        _ => parse_duration_ns(text, unit_ns),
    }
}

/// `192.0.2.1:80`, `[::1]:80` and `host:80` without the port; an IPv6 address without
/// brackets has none.
fn without_port(value: &[u8]) -> &[u8] {
    let Some(colon) = memchr::memrchr(b':', value) else { return value };
    let (host, port) = (&value[..colon], &value[colon + 1..]);
    if port.is_empty() || !port.iter().all(u8::is_ascii_digit) {
        return value;
    }
    match host {
        [b'[', inside @ .., b']'] => inside,
        [_, ..] if !host.contains(&b':') => host,
        _ => value,
    }
}

/// `Some(None)` for `-`.
fn optional<T>(value: &[u8], parse: impl Fn(&[u8]) -> Option<T>) -> Option<Option<T>> {
    if value == b"-" { Some(None) } else { parse(value).map(Some) }
}

fn is_status(value: &[u8]) -> bool {
    match value {
        [a, b, c] => a.is_ascii_digit() && b.is_ascii_digit() && c.is_ascii_digit(),
        // Caddy logs 0 where it sent no answer.
        _ => matches!(value, b"-" | b"0"),
    }
}

fn set_host_and_port<'a>(value: &'a [u8], port: usize, record: &mut Record<'a>) -> Option<()> {
    let (host, digits) = match memchr::memrchr(b':', value) {
        _ if value.ends_with(b"]") => (value, None),
        Some(colon) => (&value[..colon], Some(&value[colon + 1..])),
        None => (value, None),
    };
    if host.is_empty() {
        return None;
    }
    if let Some(digits) = digits {
        parse_digits(digits)?;
        record.set_extra(port, digits);
    }
    record.set_text(Field::Host, host);
    Some(())
}
