//! What a value of a line means.

use std::sync::Arc;

use crate::field::Field;
use crate::record::Record;
use crate::value::{
    ClfTimeCache, RequestLine, Strftime, TimeContent, TimeKind, TimeParts, parse_digits,
    parse_duration_ns, parse_upstream_time_ns, split_target,
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
    /// A virtual host, with a port behind a colon that goes to an extra field.
    HostAndPort { port: usize },
    /// A whole request line.
    RequestLine,
    /// A request target: path, and query behind `?`.
    RequestTarget,
    /// The query with its `?`, or nothing (Apache `%q`).
    QueryWithMark,
    /// Three digits, or `-`.
    Status,
    /// Digits, or `-` for none.
    Bytes,
    /// A duration in units of so many nanoseconds, or `-` for none.
    RequestTime { unit_ns: u64 },
    /// nginx's list of upstream times in seconds.
    UpstreamTimes,
    /// One upstream time in units of so many nanoseconds.
    UpstreamTime { unit_ns: u64 },
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
            Self::RequestLine => set_request_line(value, record),
            Self::Status => {
                if !is_status(value) {
                    return None;
                }
                record.set_text(Field::Status, value);
            }
            Self::Bytes => record.bytes = optional(value, parse_digits)?,
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
            Self::RequestTarget => set_target(value, record),
            Self::QueryWithMark => {
                if let [b'?', query @ ..] = value {
                    record.set_text(Field::Query, query);
                }
            }
            Self::RequestTime { unit_ns } => {
                record.request_time_ns = optional(value, |text| parse_duration_ns(text, *unit_ns))?;
            }
            Self::UpstreamTimes => record.upstream_time_ns = parse_upstream_time_ns(value)?,
            Self::UpstreamTime { unit_ns } => {
                record.upstream_time_ns =
                    optional(value, |text| parse_duration_ns(text, *unit_ns))?;
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
            Self::Client | Self::ClientBehindHost => &[Field::Client],
            Self::HostAndPort { .. } => &[Field::Host],
            Self::RequestLine => {
                &[Field::Method, Field::Path, Field::Query, Field::Protocol, Field::Request]
            }
            Self::RequestTarget => &[Field::Path, Field::Query],
            Self::QueryWithMark => &[Field::Query],
            Self::Status => &[Field::Status],
            Self::Bytes => &[Field::Bytes],
            Self::RequestTime { .. } => &[Field::RequestTime],
            Self::UpstreamTimes | Self::UpstreamTime { .. } => &[Field::UpstreamTime],
            Self::Time(_) | Self::Strftime(_) => &[Field::Time],
        }
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
            Self::Client | Self::ClientBehindHost => "a client address or host name",
            Self::HostAndPort { .. } => "a host, with or without a port",
            Self::Status => "a status of three digits",
            Self::Bytes => "a number of bytes",
            Self::RequestTime { .. } | Self::UpstreamTime { .. } | Self::UpstreamTimes => {
                "a duration"
            }
            Self::Time(_) | Self::Strftime(_) => "a time of the format's form",
            _ => "a text",
        }
    }
}

/// `Some(None)` for `-`.
fn optional<T>(value: &[u8], parse: impl Fn(&[u8]) -> Option<T>) -> Option<Option<T>> {
    if value == b"-" { Some(None) } else { parse(value).map(Some) }
}

fn is_status(value: &[u8]) -> bool {
    match value {
        [a, b, c] => a.is_ascii_digit() && b.is_ascii_digit() && c.is_ascii_digit(),
        _ => value == b"-",
    }
}

#[inline]
fn set_request_line<'a>(value: &'a [u8], record: &mut Record<'a>) {
    let Some(line) = RequestLine::parse(value) else {
        record.set_text(Field::Request, value);
        return;
    };
    record.set_text(Field::Method, line.method);
    record.set_text(Field::Protocol, line.protocol);
    set_target(line.target, record);
}

#[inline]
fn set_target<'a>(value: &'a [u8], record: &mut Record<'a>) {
    let (path, query) = split_target(value);
    record.set_text(Field::Path, path);
    if let Some(query) = query {
        record.set_text(Field::Query, query);
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
