//! Sinks: where the values of a line are stored.
//!
//! A program finds the bytes of a value; its sink checks their form and stores them in the record.
//! All notations share the sinks, so `$status`, `%>s` and `sc-status` accept the same texts. A
//! value of the wrong form makes the line unparsed: a wrong field is worse than a missing record.
//!
//! # Absent values
//!
//! A dash is a number or a status that is absent, and stays a dash in a text. A duration may be -1
//! for a phase that was not reached. A size that no number of 64 bits can hold is absent. Any other text
//! that is not of the form is a mismatch.
//!
//! # Parts
//!
//! Two kinds of values are collected from several sinks of a line: the time ([`TimeParts`]), and a
//! request time that is logged in phases, which are added up.

use std::sync::Arc;

use super::keyed::FoundValues;
use crate::field::Field;
use crate::record::Record;
use crate::value::{
    ClfTimeCache, Client, Strftime, TimeContent, TimeKind, TimeParts, is_host, parse_clf_variant,
    parse_decimal_ns, parse_digits, parse_go_duration_ns, parse_upstream_time_ns,
};

/// Where a value is stored and which form it must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::format) enum Sink {
    /// Nowhere.
    Skip,
    /// A text field, unchanged.
    Text(Field),
    /// A text field without the quotes around its value, if it has some.
    Quoted(Field),
    /// The client: an address or a host name, with or without a port, which is dropped; the
    /// leftmost of a list of them; or `-` for none.
    Client,
    /// A client after a virtual host: as `Client`, but not `-`.
    ClientAfterHost,
    /// As `Client`, with the port in the extra field `port`.
    ClientAndPort { port: usize },
    /// The client as the header `X-Forwarded-For` names it: the leftmost of its list, if that is
    /// one. The header, which a client can send, is stored as it is in the extra field `extra`.
    ForwardedFor { extra: usize },
    /// The user: a text. One with spaces may not hold what stands beside it in a line.
    User,
    /// The identity of identd, which is not stored. It is not an address.
    Identity,
    /// A virtual host, with or without a port, which is stored in the extra field `port`.
    HostAndPort { port: usize },
    /// A virtual host whose name has several labels, or an address: no word of another kind.
    FullHost,
    /// A whole request line.
    RequestLine,
    /// A request target: a path, and a query after `?`.
    PathAndQuery,
    /// A whole request line whose target may be a URL, which also fills the host.
    UrlRequestLine,
    /// A request target that may be a URL, which also fills the host.
    Url,
    /// The query, or `-` for none.
    QueryOrDash,
    /// The query with its `?`, or nothing (Apache `%q`).
    QueryWithMark,
    /// Three digits, or `-` or 0 for none.
    Status,
    /// Digits, or `-` for none.
    Bytes,
    /// A duration in units of `unit_ns` nanoseconds, or `-` for none.
    RequestTime { unit_ns: u64 },
    /// nginx's list of times in seconds, one for each upstream that was tried.
    UpstreamTimes(Field),
    /// A duration in units of `unit_ns` nanoseconds, a text with a unit such as `1.5ms`, or `-`. If
    /// `unit_ns` is 0, only the text.
    Duration { field: Field, unit_ns: u64 },
    /// A time of upstreams in the form of `Duration`, or nginx's list.
    UpstreamDuration { field: Field, unit_ns: u64 },
    /// A part of the request time, in units of `unit_ns` nanoseconds. The parts are added up.
    /// `-1` stands for a part that was not reached.
    RequestTimePart { unit_ns: u64 },
    /// A part of the request time that is also the upstream time.
    UpstreamTimePart { unit_ns: u64 },
    /// Whole milliseconds, as in the `time-taken` of IIS, or seconds with a decimal point, as in
    /// the draft of the W3C.
    TimeTaken,
    /// A date such as `2025-12-17`.
    Date,
    /// A time of day such as `09:03:01`, with or without a fraction.
    TimeOfDay,
    /// A time, or a part of one.
    Time(TimeKind),
    /// A time, or a part of one, in a strftime pattern.
    Strftime(Arc<Strftime>),
    /// The extra field of this index.
    Extra(usize),
    /// The extra field of this index, which is a decimal number or `-`.
    Number(usize),
    /// The extra field of this index, which has no spaces.
    Word(usize),
    /// An extra field by its index: eight hexadecimal digits or more, as identifiers of requests are.
    Hexadecimal(usize),
}

/// The state between the values of one line, and the caches between lines.
#[derive(Debug, Clone, Default)]
pub(in crate::format) struct LineState {
    pub(in crate::format) clf_times: ClfTimeCache,
    pub(in crate::format) time: TimeParts,
    /// Whether the request target is kept whole, to be split later.
    pub(in crate::format) keeps_target: bool,
    /// See [`super::Format::with_year_reference`].
    pub(in crate::format) year_reference_s: Option<i64>,
    /// The values of a JSON line.
    pub(in crate::format) json_values: FoundValues,
}

impl Sink {
    /// The sink of a duration in units of `unit_ns` nanoseconds. Times of upstreams may be lists.
    pub(in crate::format) fn duration(field: Field, unit_ns: u64) -> Self {
        match field {
            Field::UpstreamTime | Field::UpstreamConnectTime | Field::UpstreamHeaderTime => {
                Self::UpstreamDuration { field, unit_ns }
            }
            field => Self::Duration { field, unit_ns },
        }
    }

    /// Stores `value` in the record. Returns `None` if it does not have the form of the sink.
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
            Self::Quoted(field) => {
                let inside = value.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""));
                record.set_text(*field, inside.unwrap_or(value));
            }
            Self::Client => {
                if value != b"-" {
                    record.set_text(Field::Client, Client::parse(value)?.host);
                }
            }
            Self::User => {
                if !is_user(value) {
                    return None;
                }
                record.set_text(Field::User, value);
            }
            Self::RequestLine => record.set_request_line(value, state.keeps_target),
            Self::PathAndQuery => record.set_target(value, state.keeps_target),
            Self::Status => {
                if !is_status(value) {
                    return None;
                }
                record.set_text(Field::Status, value);
            }
            Self::Bytes => record.set_number(Field::Bytes, parse_bytes(value)?),
            Self::Time(TimeKind::Clf) => {
                let usual = value.try_into().ok().and_then(|text| state.clf_times.parse(text));
                let time = usual.or_else(|| parse_clf_variant(value))?;
                state.time.set_clf(time);
            }
            Self::Time(kind) => state.time.add(*kind, value)?,
            Self::Strftime(pattern) => pattern.read(value, &mut state.time)?,
            Self::ClientAfterHost => {
                record.set_text(Field::Client, Client::parse(value)?.host);
            }
            Self::ForwardedFor { extra } => {
                record.put_text(Field::Client, Client::of_header(value).map(|client| client.host));
                record.set_extra(*extra, value);
            }
            Self::Identity => {
                if is_address(value) {
                    return None;
                }
            }
            Self::Extra(index) => record.set_extra(*index, value),
            Self::Number(index) => {
                optional(value, |text| parse_decimal_ns(text, 1))?;
                record.set_extra(*index, value);
            }
            Self::Word(index) => {
                if memchr::memchr(b' ', value).is_some() {
                    return None;
                }
                record.set_extra(*index, value);
            }
            Self::Hexadecimal(index) => {
                let is_identifier = value.len() >= 8 && value.iter().all(u8::is_ascii_hexdigit);
                if !is_identifier {
                    return None;
                }
                record.set_extra(*index, value);
            }
            Self::ClientAndPort { port } => {
                if value != b"-" {
                    let client = Client::parse(value)?;
                    record.set_text(Field::Client, client.host);
                    if let Some(digits) = client.port {
                        record.set_extra(*port, digits);
                    }
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
                let part_ns = optional_duration(value, |text| parse_decimal_ns(text, *unit_ns))?;
                add_request_time(record, part_ns);
            }
            Self::UpstreamTimePart { unit_ns } => {
                let part_ns = optional_duration(value, |text| parse_decimal_ns(text, *unit_ns))?;
                record.set_number(Field::UpstreamTime, part_ns);
                add_request_time(record, part_ns);
            }
            Self::TimeTaken => {
                let unit_ns = if value.contains(&b'.') { 1_000_000_000 } else { 1_000_000 };
                record.set_number(
                    Field::RequestTime,
                    optional_duration(value, |text| parse_decimal_ns(text, unit_ns))?,
                );
            }
            Self::Date => state.time.add_date(value)?,
            Self::TimeOfDay => state.time.add_time_of_day(value)?,
            Self::HostAndPort { port } => set_host_and_port(value, *port, record)?,
            Self::FullHost => {
                if !is_full_host(value) {
                    return None;
                }
                record.set_text(Field::Host, value);
            }
            Self::QueryWithMark => {
                if let [b'?', query @ ..] = value {
                    record.set_text(Field::Query, query);
                }
            }
            Self::RequestTime { unit_ns } => {
                record.set_number(
                    Field::RequestTime,
                    optional(value, |text| parse_decimal_ns(text, *unit_ns))?,
                );
            }
            Self::UpstreamTimes(field) => {
                record.set_number(*field, parse_upstream_time_ns(value)?);
            }
            Self::Duration { field, unit_ns } => {
                record.set_number(*field, optional(value, |text| duration_ns(text, *unit_ns))?);
            }
            Self::UpstreamDuration { field, unit_ns } => {
                let read = optional(value, |text| duration_ns(text, *unit_ns));
                let time_ns = match read {
                    Some(time_ns) => time_ns,
                    None => parse_upstream_time_ns(value)?,
                };
                record.set_number(*field, time_ns);
            }
        }
        Some(())
    }

    /// The fields that the sink fills.
    pub(in crate::format) fn fields(&self) -> &'static [Field] {
        match self {
            Self::Skip
            | Self::Extra(_)
            | Self::Number(_)
            | Self::Word(_)
            | Self::Hexadecimal(_)
            | Self::Identity => &[],
            Self::User => &[Field::User],
            Self::Text(field) | Self::Quoted(field) => Field::TEXT
                .iter()
                .position(|candidate| candidate == field)
                .map_or(&[], |index| &Field::TEXT[index..=index]),
            Self::Client
            | Self::ClientAfterHost
            | Self::ClientAndPort { .. }
            | Self::ForwardedFor { .. } => &[Field::Client],
            Self::HostAndPort { .. } | Self::FullHost => &[Field::Host],
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
            Self::RequestTime { .. } | Self::RequestTimePart { .. } | Self::TimeTaken => {
                &[Field::RequestTime]
            }
            Self::UpstreamTimePart { .. } => &[Field::UpstreamTime],
            Self::UpstreamTimes(field)
            | Self::Duration { field, .. }
            | Self::UpstreamDuration { field, .. } => {
                field.number_index().map_or(&[], |index| &Field::NUMBERS[index..=index])
            }
            Self::Time(_) | Self::Strftime(_) | Self::Date | Self::TimeOfDay => &[Field::Time],
        }
    }

    /// Whether several values fill the field together.
    pub(in crate::format) fn is_part(&self) -> bool {
        matches!(self, Self::RequestTimePart { .. }) || self.fields() == [Field::Time]
    }

    /// Whether path and query come from this one value.
    pub(in crate::format) fn is_request_target(&self) -> bool {
        matches!(self, Self::RequestLine | Self::PathAndQuery | Self::UrlRequestLine | Self::Url)
    }

    /// Whether any text is accepted, the empty one included.
    pub(in crate::format) fn is_text(&self) -> bool {
        matches!(
            self,
            Self::Skip
                | Self::Text(_)
                | Self::Quoted(_)
                | Self::User
                | Self::Identity
                | Self::ForwardedFor { .. }
                | Self::RequestLine
                | Self::PathAndQuery
                | Self::QueryWithMark
                | Self::UrlRequestLine
                | Self::Url
                | Self::QueryOrDash
                | Self::Extra(_)
                | Self::Word(_)
        )
    }

    /// Whether a number has no meaning without a unit in the value itself.
    pub(in crate::format) fn needs_unit(&self) -> bool {
        matches!(self, Self::Duration { unit_ns: 0, .. })
    }

    /// Whether the value has a form that few texts have. A client may be a host name, which a word
    /// can be.
    pub(in crate::format) fn has_form(&self) -> bool {
        !self.is_text() && !self.is_client() && self.fields() != [Field::Host]
    }

    /// Whether the value is the client.
    pub(in crate::format) fn is_client(&self) -> bool {
        self.fields() == [Field::Client]
    }

    /// Whether the value has no spaces.
    pub(in crate::format) fn is_word(&self) -> bool {
        matches!(
            self,
            Self::HostAndPort { .. }
                | Self::FullHost
                | Self::Status
                | Self::Bytes
                | Self::RequestTime { .. }
        )
    }

    /// The parts of a time that the value has.
    pub(in crate::format) fn time_content(&self) -> TimeContent {
        match self {
            Self::Time(kind) => kind.content(),
            Self::Strftime(pattern) => pattern.content(),
            Self::Date => TimeContent { day: true, second: false },
            Self::TimeOfDay => TimeContent { day: false, second: true },
            _ => TimeContent::default(),
        }
    }

    /// The kind of the value in words, for messages.
    pub(in crate::format) fn kind(&self) -> &'static str {
        match self {
            Self::Client | Self::ClientAfterHost | Self::ClientAndPort { .. } => {
                "a client address or host name"
            }
            Self::User => "a user: it holds an address, a host, a date or a dash of another value",
            Self::Identity => "an identity: it is an address",
            Self::HostAndPort { .. } => "a host, with or without a port",
            Self::FullHost => "a host name of several labels or an address",
            Self::Status => "a status of three digits",
            Self::Bytes => "a number of bytes",
            Self::Number(_) => "a number",
            Self::Word(_) => "a word without spaces",
            Self::Hexadecimal(_) => "an identifier of hexadecimal digits",
            Self::RequestTime { .. }
            | Self::Duration { .. }
            | Self::UpstreamTimes(_)
            | Self::UpstreamDuration { .. }
            | Self::RequestTimePart { .. }
            | Self::UpstreamTimePart { .. }
            | Self::TimeTaken => "a duration",
            Self::Date => "a date such as 2025-12-17",
            Self::TimeOfDay => "a time of day such as 09:03:01",
            Self::Time(_) | Self::Strftime(_) => "a time in the format's notation",
            _ => "a text",
        }
    }
}

/// Whether the value can be a user. A server writes a dash for none, so a dash with more text after
/// it, an address, a text in brackets, a date, a clock, a tag, a bar and colours belong to other
/// values: those of a line with a value more, or what stands around a line. So do words before the two
/// dashes of another line, and words that are all host names or dashes, if something says so: a dash,
/// a name twice, or a name with two dots. Without it, as in `jo.doe ann.lee`, they are a user.
fn is_user(value: &[u8]) -> bool {
    let Some(length) = memchr::memchr(b' ', value) else { return value != b"|" };
    let is_date = |word: &[u8]| {
        let word = word.strip_prefix(b"[").unwrap_or(word);
        word.len() >= 10
            && word[0].is_ascii_digit()
            && (matches!((word[2], word[6]), (b'/', b'/'))
                || matches!((word[4], word[7]), (b'-', b'-')))
    };
    let mut words = value.split(|byte| *byte == b' ');
    let is_other = |word: &[u8]| {
        let is_bracket = word.starts_with(b"[") && word.ends_with(b"]");
        let is_clock = word.len() >= 8 && word[0].is_ascii_digit() && word[2] == b':';
        let is_mark = is_clock || word == b"|" || word.ends_with(b":");
        is_bracket || is_mark || is_address(word) || is_date(word)
    };
    let is_host = |word: &[u8]| word == b"-" || word.contains(&b'.') && is_host(word);
    let is_surely_host =
        |word: &[u8]| word == b"-" || word.iter().filter(|byte| **byte == b'.').count() > 1;
    let has_twins = words.clone().zip(words.clone().skip(1)).any(|(one, next)| one == next);
    let are_hosts = words.clone().all(is_host) && (has_twins || words.clone().any(is_surely_host));
    let has_controls = value.iter().any(u8::is_ascii_control);
    &value[..length] != b"-"
        && !value.ends_with(b" - -")
        && !are_hosts
        && !has_controls
        && !words.any(is_other)
}

/// Whether the value is a host name of several labels or an address.
fn is_full_host(value: &[u8]) -> bool {
    value.iter().any(|byte| matches!(byte, b'.' | b':')) && is_host(value)
}

/// Whether the value is an address, as opposed to a host name.
pub(in crate::format) fn is_address(value: &[u8]) -> bool {
    let is_number = !value.iter().any(|byte| byte.is_ascii_alphabetic());
    (is_number || memchr::memchr(b':', value).is_some()) && is_host(value)
}

/// Parses a number of bytes, or `-`. The largest number and those above it are absent: in columns it
/// stands for an absent number, and no response is that long, but its request is one.
fn parse_bytes(value: &[u8]) -> Option<Option<u64>> {
    match parse_digits(value) {
        Some(bytes) => Some(Some(bytes).filter(|bytes| *bytes < u64::MAX)),
        None if value == b"-" => Some(None),
        None => {
            let is_too_large = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
            is_too_large.then_some(None)
        }
    }
}

/// Parses a number in units of `unit_ns` nanoseconds, or a text with units.
fn duration_ns(text: &[u8], unit_ns: u64) -> Option<u64> {
    match text.last() {
        Some(byte) if byte.is_ascii_alphabetic() => parse_go_duration_ns(text),
        _ if unit_ns == 0 => None,
        _ => parse_decimal_ns(text, unit_ns),
    }
}

/// Parses a value that may be absent: returns `Some(None)` for `-`.
fn optional<T>(value: &[u8], parse: impl Fn(&[u8]) -> Option<T>) -> Option<Option<T>> {
    if value == b"-" { Some(None) } else { parse(value).map(Some) }
}

/// Does what [`optional`] does. A negative number is also absent: servers log it for a phase
/// that was not reached.
fn optional_duration(value: &[u8], parse: impl Fn(&[u8]) -> Option<u64>) -> Option<Option<u64>> {
    match value {
        [b'-', digits @ ..] if !digits.is_empty() => parse(digits).map(|_| None),
        _ => optional(value, parse),
    }
}

/// Adds a part to the request time of the record.
fn add_request_time(record: &mut Record<'_>, part_ns: Option<u64>) {
    if let Some(part_ns) = part_ns {
        let sum_ns = record.number(Field::RequestTime).unwrap_or(0).saturating_add(part_ns);
        record.set_number(Field::RequestTime, Some(sum_ns));
    }
}

/// Whether the value is three digits or stands for no status.
fn is_status(value: &[u8]) -> bool {
    match value {
        [a, b, c] => a.is_ascii_digit() && b.is_ascii_digit() && c.is_ascii_digit(),
        // Caddy logs 0 if it sent no response.
        _ => matches!(value, b"-" | b"0"),
    }
}

/// Whether the value can be the name of a virtual host. Such a name is not checked as that of a
/// client is, since a server may be called anything, but none has a comma: that is a list.
fn is_server_name(value: &[u8]) -> bool {
    !value.is_empty() && memchr::memchr(b',', value).is_none()
}

/// Stores a host, and the port after its last colon in the extra field `port`. Returns `None` if
/// the host is empty or the port is not a number.
fn set_host_and_port<'a>(value: &'a [u8], port: usize, record: &mut Record<'a>) -> Option<()> {
    let (host, digits) = match memchr::memrchr(b':', value) {
        _ if value.ends_with(b"]") => (value, None),
        Some(colon) => (&value[..colon], Some(&value[colon + 1..])),
        None => (value, None),
    };
    if !is_server_name(host) {
        return None;
    }
    if let Some(digits) = digits {
        parse_digits(digits)?;
        record.set_extra(port, digits);
    }
    record.set_text(Field::Host, host);
    Some(())
}
