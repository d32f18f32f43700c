//! What a value of a line means.

use std::sync::Arc;

use super::span::Span;
use crate::field::Field;
use crate::record::Record;
use crate::value::{
    ClfTimeCache, Strftime, TimeContent, TimeKind, TimeParts, parse_digits, parse_duration_ns,
    parse_go_duration_ns, parse_upstream_time_ns, split_port, without_port,
};

/// Where a value goes and what it has to look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::format) enum Sink {
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
    /// A client, with a port behind a colon that goes to an extra field.
    ClientAndPort { port: usize },
    /// A virtual host, with a port behind a colon that goes to an extra field.
    HostAndPort { port: usize },
    /// A whole request line.
    RequestLine,
    /// A request target: path, and query behind `?`.
    PathAndQuery,
    /// A whole request line whose target may be a URL: its host goes to the host.
    UrlRequestLine,
    /// A request target that may be a URL: its host goes to the host.
    Url,
    /// The query, or `-` for none.
    QueryOrDash,
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
    /// A part of the time to serve the request, in such units; the parts are added up. `-1`
    /// stands for a part that was never reached.
    RequestTimePart { unit_ns: u64 },
    /// The part of it that the upstream took.
    UpstreamTimePart { unit_ns: u64 },
    /// Whole milliseconds, as IIS writes `time-taken`, or seconds with a point, as the W3C's
    /// draft has it.
    TimeTaken,
    /// A date alone, `2025-12-17`.
    Date,
    /// A time of day alone, `09:03:01` with or without a fraction.
    TimeOfDay,
    /// A time stamp, or a part of one.
    Time(TimeKind),
    /// A time stamp, or a part of one, in a pattern of its own.
    Strftime(Arc<Strftime>),
    /// The format's own text field of this index.
    Extra(usize),
}

/// What is kept between the values of one line, and the cache between lines.
#[derive(Debug, Clone, Default)]
pub(in crate::format) struct LineState {
    pub(in crate::format) clf_times: ClfTimeCache,
    pub(in crate::format) time: TimeParts,
    /// Whether a request's target is kept whole, to be split later.
    pub(in crate::format) keeps_target: bool,
    /// See [`super::Format::with_year_reference`].
    pub(in crate::format) year_reference_s: Option<i64>,
    /// Where the values of a JSON line stand, by the format's entries.
    pub(in crate::format) json_values: Vec<Span>,
}

impl Sink {
    /// Puts `value` into the record. `None` where it is not of the target's kind.
    #[inline]
    pub(in crate::format) fn store<'a>(
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
            Self::Bytes => record.set_number(Field::Bytes, optional(value, parse_bytes)?),
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
            Self::ClientAndPort { port } => {
                let (client, digits) = split_port(value);
                if client.is_empty() {
                    return None;
                }
                record.set_text(Field::Client, client);
                if let Some(digits) = digits {
                    record.set_extra(*port, digits);
                }
            }
            Self::UrlRequestLine => record.set_url_request_line(value, state.keeps_target),
            Self::Url => record.set_url(value, state.keeps_target),
            Self::QueryOrDash => {
                if value != b"-" {
                    record.set_text(Field::Query, value);
                }
            }
            Self::RequestTimePart { unit_ns } => {
                let part_ns = optional_duration(value, |text| parse_duration_ns(text, *unit_ns))?;
                add_request_time(record, part_ns);
            }
            Self::UpstreamTimePart { unit_ns } => {
                let part_ns = optional_duration(value, |text| parse_duration_ns(text, *unit_ns))?;
                record.set_number(Field::UpstreamTime, part_ns);
                add_request_time(record, part_ns);
            }
            Self::TimeTaken => {
                let unit_ns = if value.contains(&b'.') { 1_000_000_000 } else { 1_000_000 };
                record.set_number(
                    Field::RequestTime,
                    optional_duration(value, |text| parse_duration_ns(text, unit_ns))?,
                );
            }
            Self::Date => state.time.add_date(value)?,
            Self::TimeOfDay => state.time.add_time_of_day(value)?,
            Self::HostAndPort { port } => set_host_and_port(value, *port, record)?,
            Self::QueryWithMark => {
                if let [b'?', query @ ..] = value {
                    record.set_text(Field::Query, query);
                }
            }
            Self::RequestTime { unit_ns } => {
                record.set_number(
                    Field::RequestTime,
                    optional(value, |text| parse_duration_ns(text, *unit_ns))?,
                );
            }
            Self::UpstreamTimes => {
                record.set_number(Field::UpstreamTime, parse_upstream_time_ns(value)?);
            }
            Self::ClientWithPort => record.set_text(Field::Client, without_port(value)),
            Self::RequestDuration { unit_ns } => {
                record.set_number(
                    Field::RequestTime,
                    optional(value, |text| duration_ns(text, *unit_ns))?,
                );
            }
            Self::UpstreamDuration { unit_ns } => {
                let read = optional(value, |text| duration_ns(text, *unit_ns));
                let time_ns = match read {
                    Some(time_ns) => time_ns,
                    None => parse_upstream_time_ns(value)?,
                };
                record.set_number(Field::UpstreamTime, time_ns);
            }
        }
        Some(())
    }

    /// The fields that the target fills.
    pub(in crate::format) fn fields(&self) -> &'static [Field] {
        match self {
            Self::Skip | Self::Extra(_) => &[],
            Self::Text(field) => Field::TEXT
                .iter()
                .position(|candidate| candidate == field)
                .map_or(&[], |index| &Field::TEXT[index..=index]),
            Self::Client
            | Self::ClientBehindHost
            | Self::ClientWithPort
            | Self::ClientAndPort { .. } => &[Field::Client],
            Self::HostAndPort { .. } => &[Field::Host],
            Self::RequestLine => {
                &[Field::Method, Field::Path, Field::Query, Field::Protocol, Field::Request]
            }
            Self::PathAndQuery => &[Field::Path, Field::Query],
            Self::UrlRequestLine => &[
                Field::Method,
                Field::Path,
                Field::Query,
                Field::Protocol,
                Field::Request,
                Field::Host,
            ],
            Self::Url => &[Field::Path, Field::Query, Field::Host],
            Self::QueryWithMark | Self::QueryOrDash => &[Field::Query],
            Self::Status => &[Field::Status],
            Self::Bytes => &[Field::Bytes],
            Self::RequestTime { .. }
            | Self::RequestDuration { .. }
            | Self::RequestTimePart { .. }
            | Self::TimeTaken => &[Field::RequestTime],
            Self::UpstreamTimes | Self::UpstreamDuration { .. } | Self::UpstreamTimePart { .. } => {
                &[Field::UpstreamTime]
            }
            Self::Time(_) | Self::Strftime(_) | Self::Date | Self::TimeOfDay => &[Field::Time],
        }
    }

    /// True where several values fill the field together.
    pub(in crate::format) fn is_part(&self) -> bool {
        matches!(self, Self::RequestTimePart { .. }) || self.fields() == [Field::Time]
    }

    /// True where path and query come of this one value.
    pub(in crate::format) fn is_request_target(&self) -> bool {
        matches!(self, Self::RequestLine | Self::PathAndQuery | Self::UrlRequestLine | Self::Url)
    }

    /// True where the target takes any text, the empty one included.
    pub(in crate::format) fn is_text(&self) -> bool {
        matches!(
            self,
            Self::Skip
                | Self::Text(_)
                | Self::RequestLine
                | Self::PathAndQuery
                | Self::QueryWithMark
                | Self::UrlRequestLine
                | Self::Url
                | Self::QueryOrDash
                | Self::Extra(_)
        )
    }

    /// True where the value has no space in it.
    pub(in crate::format) fn is_word(&self) -> bool {
        matches!(
            self,
            Self::Client
                | Self::ClientBehindHost
                | Self::ClientAndPort { .. }
                | Self::HostAndPort { .. }
                | Self::Status
                | Self::Bytes
                | Self::RequestTime { .. }
        )
    }

    /// How much of a time the target tells.
    pub(in crate::format) fn time_content(&self) -> TimeContent {
        match self {
            Self::Time(kind) => kind.content(),
            Self::Strftime(pattern) => pattern.content(),
            Self::Date => TimeContent { day: true, second: false },
            Self::TimeOfDay => TimeContent { day: false, second: true },
            _ => TimeContent::default(),
        }
    }

    /// What the value has to be, in words.
    pub(in crate::format) fn kind(&self) -> &'static str {
        match self {
            Self::Client
            | Self::ClientBehindHost
            | Self::ClientWithPort
            | Self::ClientAndPort { .. } => "a client address or host name",
            Self::HostAndPort { .. } => "a host, with or without a port",
            Self::Status => "a status of three digits",
            Self::Bytes => "a number of bytes",
            Self::RequestTime { .. }
            | Self::RequestDuration { .. }
            | Self::UpstreamTimes
            | Self::UpstreamDuration { .. }
            | Self::RequestTimePart { .. }
            | Self::UpstreamTimePart { .. }
            | Self::TimeTaken => "a duration",
            Self::Date => "a date such as 2025-12-17",
            Self::TimeOfDay => "a time of day such as 09:03:01",
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

/// `Some(None)` for `-`.
fn optional<T>(value: &[u8], parse: impl Fn(&[u8]) -> Option<T>) -> Option<Option<T>> {
    if value == b"-" { Some(None) } else { parse(value).map(Some) }
}

/// As [`optional`], also for a number below zero, which stands for what did not happen.
fn optional_duration(value: &[u8], parse: impl Fn(&[u8]) -> Option<u64>) -> Option<Option<u64>> {
    match value {
        [b'-', digits @ ..] if !digits.is_empty() => parse(digits).map(|_| None),
        _ => optional(value, parse),
    }
}

fn add_request_time(record: &mut Record<'_>, part_ns: Option<u64>) {
    if let Some(part_ns) = part_ns {
        let sum_ns = record.number(Field::RequestTime).unwrap_or(0).saturating_add(part_ns);
        record.set_number(Field::RequestTime, Some(sum_ns));
    }
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
