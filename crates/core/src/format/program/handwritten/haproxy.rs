//! HAProxy's HTTP log (`option httplog`) and its TCP log (`option tcplog`).
//!
//! ```text
//! 192.0.2.1:52814 [17/Dec/2025:09:03:01.250] front back/s1 0/0/1/2/3 200 512 - - ---- 1/1/0/0/0
//! 0/0 {a.example} {} "GET /a?b HTTP/1.1"
//!
//! client:port [time of accept] frontend backend/server TR/Tw/Tc/Tr/Ta status bytes
//! two captured cookies, termination state, connections
//! queues {captured headers of the request} {of the response} "request line"
//!
//! 192.0.2.1:52814 [17/Dec/2025:09:03:01.250] front back/s1 0/0/4 512 -- 1/1/0/0/0 0/0
//!
//! client:port [time of accept] frontend backend/server Tw/Tc/Tt bytes termination state
//! connections queues
//! ```
//!
//! No notation can describe them: the lists of headers are optional, the request line may lack its
//! closing quote, and the timers may be -1 or begin with a `+`.
//!
//! Source: HAProxy 3.2's configuration manual, section 8.2.2, "TCP log format", and
//! section 8.2.3, "HTTP log format".

use memchr::{memchr, memmem, memrchr};

use super::cursor::{Cursor, mismatch};
use super::definition::Definition;
use crate::field::Field;
use crate::format::program::mismatch::Mismatch;
use crate::format::program::sink::LineState;
use crate::record::Record;
use crate::schema::RecordKind;
use crate::value::{CLF_LENGTH, is_host, parse_decimal_ns, parse_digits};

pub(super) const HAPROXY: Definition = Definition {
    name: "HAPROXY",
    kind: RecordKind::Request,
    fields: &[
        Field::Client,
        Field::Method,
        Field::Path,
        Field::Query,
        Field::Protocol,
        Field::Status,
        Field::Request,
        Field::Bytes,
        Field::RequestTime,
        Field::UpstreamTime,
        Field::Time,
    ],
    extra_fields: &[
        "client_port",
        "frontend",
        "backend",
        "server",
        "termination_state",
        "captured_headers",
    ],
    parse,
    needed_bytes: b"[]:/",
    lacks_year: false,
};

/// The TCP log. Its records are connections, which count as requests without a request line.
pub(super) const HAPROXYTCP: Definition = Definition {
    name: "HAPROXYTCP",
    kind: RecordKind::Request,
    fields: &[Field::Client, Field::Bytes, Field::RequestTime, Field::Time],
    extra_fields: &["client_port", "frontend", "backend", "server", "termination_state"],
    parse: parse_tcp,
    needed_bytes: b"[]:/",
    lacks_year: false,
};

const MILLISECOND_NS: u64 = 1_000_000;
const HTTP_TIMERS: &str = "expected five timers in milliseconds, with `/` between them";
const TCP_TIMERS: &str = "expected three timers in milliseconds, with `/` between them";
/// Length of `17/Dec/2025:09:03:01.250`.
const TIME_LENGTH: usize = 24;

fn parse<'a>(
    line: &'a [u8],
    record: &mut Record<'a>,
    state: &mut LineState,
) -> Result<(), Mismatch> {
    let mut cursor = Cursor::new(line);
    set_connection(&mut cursor, record, state)?;
    set_timers(&mut cursor, record)?;
    set_status(&mut cursor, record)?;
    set_bytes(&mut cursor, record)?;
    cursor.before(b' ', "expected the request's captured cookie")?;
    cursor.before(b' ', "expected the response's captured cookie")?;
    record.set_extra(4, cursor.before(b' ', "expected the termination state")?);
    cursor.before(b' ', "expected the numbers of connections")?;
    cursor.before(b' ', "expected the queues")?;
    set_captures(&mut cursor, record)?;
    set_request(&mut cursor, record, state)
}

fn parse_tcp<'a>(
    line: &'a [u8],
    record: &mut Record<'a>,
    state: &mut LineState,
) -> Result<(), Mismatch> {
    let mut cursor = Cursor::new(line);
    set_connection(&mut cursor, record, state)?;
    timer(&mut cursor, b'/', TCP_TIMERS)?;
    timer(&mut cursor, b'/', TCP_TIMERS)?;
    let time_ns = timer(&mut cursor, b' ', TCP_TIMERS)?;
    record.set_number(Field::RequestTime, time_ns);
    set_bytes(&mut cursor, record)?;
    let state_at = cursor.at;
    let termination = cursor.before(b' ', "expected the termination state")?;
    if termination.len() != 2 {
        return Err(mismatch(state_at, "expected a termination state of two letters"));
    }
    record.set_extra(4, termination);
    cursor.before(b' ', "expected the numbers of connections")?;
    match cursor.rest().iter().position(|byte| !byte.is_ascii_digit() && *byte != b'/') {
        None if !cursor.rest().is_empty() => Ok(()),
        at => Err(mismatch(
            cursor.at + at.unwrap_or(0),
            "expected the queues and the end of the line",
        )),
    }
}

/// Reads the start of a line, which all of HAProxy's formats share: up to the server.
fn set_connection<'a>(
    cursor: &mut Cursor<'a>,
    record: &mut Record<'a>,
    state: &mut LineState,
) -> Result<(), Mismatch> {
    let client = cursor.before(b' ', "expected a client with its port")?;
    // IPv6 addresses have no brackets here.
    let colon = memrchr(b':', client).filter(|colon| *colon > 0);
    let colon = colon.ok_or(mismatch(0, "expected a port after the client"))?;
    parse_digits(&client[colon + 1..])
        .ok_or(mismatch(colon + 1, "the client's port is not a number"))?;
    if !is_host(&client[..colon]) {
        return Err(mismatch(0, "expected a client address or host name"));
    }
    record.set_text(Field::Client, &client[..colon]);
    record.set_extra(0, &client[colon + 1..]);
    cursor.expect(b"[", "expected `[` and the time")?;
    let time_at = cursor.at;
    let time = cursor.before(b']', "expected `]` after the time")?;
    set_time(time, record, state)
        .ok_or(mismatch(time_at, "expected a time such as 17/Dec/2025:09:03:01.250"))?;
    cursor.expect(b" ", "expected a space after the time")?;
    record.set_extra(1, cursor.before(b' ', "expected the frontend")?);
    record.set_extra(2, cursor.before(b'/', "expected the backend and `/`")?);
    record.set_extra(3, cursor.before(b' ', "expected the server")?);
    Ok(())
}

/// Parses the time of the common log format with milliseconds and without a zone.
fn set_time(text: &[u8], record: &mut Record<'_>, state: &mut LineState) -> Option<()> {
    let text: &[u8; TIME_LENGTH] = text.try_into().ok()?;
    let (second, fraction) = text.split_at(20);
    let fraction = fraction.strip_prefix(b".").unwrap_or(fraction);
    let millis = match (text[20], fraction.len()) {
        (b'.', 3) => parse_digits(fraction)?,
        _ => return None,
    };
    let mut clf = *b"00/Jan/1970:00:00:00 +0000";
    debug_assert_eq!(clf.len(), CLF_LENGTH);
    clf[..20].copy_from_slice(second);
    let mut time = state.clf_times.parse(&clf)?;
    time.unix_ns += (millis * MILLISECOND_NS) as i64;
    record.time = Some(time);
    Some(())
}

/// Reads `TR/Tw/Tc/Tr/Ta` in milliseconds, with -1 for a phase that was not reached. Tr, the
/// response time of the server, is the upstream time; Ta is the request time.
fn set_timers(cursor: &mut Cursor<'_>, record: &mut Record<'_>) -> Result<(), Mismatch> {
    for _ in 0..3 {
        timer(cursor, b'/', HTTP_TIMERS)?;
    }
    record.set_number(Field::UpstreamTime, timer(cursor, b'/', HTTP_TIMERS)?);
    record.set_number(Field::RequestTime, timer(cursor, b' ', HTTP_TIMERS)?);
    Ok(())
}

/// Reads one timer up to the byte `end`.
fn timer(cursor: &mut Cursor<'_>, end: u8, reason: &'static str) -> Result<Option<u64>, Mismatch> {
    let at = cursor.at;
    match without_plus(cursor.before(end, reason)?) {
        [b'-', digits @ ..] if parse_digits(digits).is_some() => Ok(None),
        digits => parse_decimal_ns(digits, MILLISECOND_NS).map(Some).ok_or(mismatch(at, reason)),
    }
}

/// Removes the `+` before a number that was logged before the end of the request (`option
/// logasap`).
fn without_plus(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"+").unwrap_or(text)
}

/// Reads the number of bytes.
fn set_bytes(cursor: &mut Cursor<'_>, record: &mut Record<'_>) -> Result<(), Mismatch> {
    let at = cursor.at;
    let bytes = cursor.before(b' ', "expected a number of bytes")?;
    let bytes = parse_digits(without_plus(bytes)).filter(|bytes| *bytes < u64::MAX);
    let bytes = bytes.ok_or(mismatch(at, "the number of bytes is not a number"))?;
    record.set_number(Field::Bytes, Some(bytes));
    Ok(())
}

/// Reads the status: three digits, or -1 if there was no response.
fn set_status<'a>(cursor: &mut Cursor<'a>, record: &mut Record<'a>) -> Result<(), Mismatch> {
    let at = cursor.at;
    let status = cursor.before(b' ', "expected a status")?;
    let is_status = status.len() == 3 && status.iter().all(u8::is_ascii_digit);
    if !is_status && status != b"-1" {
        return Err(mismatch(at, "expected a status of three digits, or -1"));
    }
    record.set_text(Field::Status, status);
    Ok(())
}

/// Reads the captured headers of request and response, each list in braces. They are optional.
fn set_captures<'a>(cursor: &mut Cursor<'a>, record: &mut Record<'a>) -> Result<(), Mismatch> {
    let rest = cursor.rest();
    if rest.first() != Some(&b'{') {
        return Ok(());
    }
    // HAProxy writes quotes and braces in headers as hexadecimal codes such as `#22`.
    let length = memmem::find(rest, b"} \"");
    let length = length
        .ok_or(mismatch(cursor.at, "expected `}` and the request after the captured headers"))?
        + 1;
    record.set_extra(5, &rest[..length]);
    cursor.at += length + 1;
    Ok(())
}

/// Reads the request line in quotes. One without a closing quote was cut off, so that it has neither a
/// whole path nor a query.
fn set_request<'a>(
    cursor: &mut Cursor<'a>,
    record: &mut Record<'a>,
    state: &LineState,
) -> Result<(), Mismatch> {
    cursor.expect(b"\"", "expected a quote and the request")?;
    let rest = cursor.rest();
    match memchr(b'"', rest) {
        Some(end) if end + 1 == rest.len() => {
            record.set_request_line(&rest[..end], state.keeps_target);
        }
        None if !rest.is_empty() => record.set_text(Field::Request, rest),
        _ => return Err(mismatch(cursor.at, "expected the end of the line after the request")),
    }
    Ok(())
}
