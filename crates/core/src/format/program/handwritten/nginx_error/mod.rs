//! nginx's error log.
//!
//! ```text
//! 2025/12/17 09:03:01 [error] 12#34: *56 open() failed (2: No such file), client: 192.0.2.1, ...
//! local time          level   pid#tid    message                        values of the request
//!                                    connection
//! ```
//!
//! No notation can describe it: the connection and the values are optional, and a message may
//! contain any text, also one that looks like the values after it.
//!
//! A message of a FastCGI server may go on over several lines, which are joined before they get here
//! ([`joiner`]).
//!
//! Source: `ngx_log_error_core` in ngx_log.c, and `ngx_http_log_error` and
//! `ngx_http_log_error_handler` in nginx's source: `time [level] pid#tid: *connection message`,
//! then `, client: `, `, server: ` and others if the message is about a request.
//!
//! Times are local and have no zone, so they are taken as UTC. The connection and process numbers
//! are checked and dropped.

mod head;
mod joiner;

use memchr::{memchr, memchr_iter, memmem};

use self::head::{LEVELS, TIME_LENGTH};
use self::joiner::has_doubtful_end;
pub use self::joiner::{JoinerWait, RecordJoiner, original_lines, record_length};

use super::cursor::{Cursor, mismatch};
use super::definition::Definition;
use crate::field::Field;
use crate::format::program::mismatch::Mismatch;
use crate::format::program::sink::LineState;
use crate::record::Record;
use crate::schema::RecordKind;
use crate::value::{Client, TimeKind, parse_digits};

pub(super) const NGINXERROR: Definition = Definition {
    name: "NGINXERROR",
    kind: RecordKind::ErrorLogLine,
    fields: &[
        Field::Client,
        Field::Host,
        Field::Method,
        Field::Path,
        Field::Query,
        Field::Protocol,
        Field::Referer,
        Field::Request,
        Field::Time,
    ],
    extra_fields: &["level", "message", "server", "upstream", "zone", "excess"],
    parse,
    needed_bytes: b"[]/#:",
    lacks_year: false,
};

/// The text after the message, before the client.
const CLIENT: &[u8] = b", client: ";

fn parse<'a>(
    line: &'a [u8],
    record: &mut Record<'a>,
    state: &mut LineState,
) -> Result<(), Mismatch> {
    let mut cursor = Cursor::new(line);
    let time = line.get(..TIME_LENGTH).filter(|time| time[4] == b'/');
    let time = time.ok_or(mismatch(0, "expected a time such as 2025/12/17 09:03:01"))?;
    state
        .time
        .add(TimeKind::Any, time)
        .ok_or(mismatch(0, "expected a time such as 2025/12/17 09:03:01"))?;
    record.time = state.time.finish();
    cursor.at = TIME_LENGTH;
    cursor.expect(b" [", "expected ` [` and the level")?;
    let level_at = cursor.at;
    let level = cursor.before(b']', "expected `]` after the level")?;
    if !LEVELS.contains(&level) {
        return Err(mismatch(level_at, "expected a level of nginx, such as error"));
    }
    record.set_extra(0, level);
    cursor.expect(b" ", "expected a space after the level")?;
    number(&mut cursor, b'#')?;
    number(&mut cursor, b':')?;
    cursor.expect(b" ", "expected a space after the thread")?;
    if cursor.rest().first() == Some(&b'*') {
        cursor.at += 1;
        number(&mut cursor, b' ')?;
    }
    let message = cursor.rest();
    match has_doubtful_end(line) {
        true => record.set_extra(1, message),
        false => set_message(message, record, state),
    }
    Ok(())
}

/// Skips a number up to the byte `end`.
fn number(cursor: &mut Cursor<'_>, end: u8) -> Result<(), Mismatch> {
    const REASON: &str = "expected the numbers of process, thread and connection";
    let at = cursor.at;
    let digits = cursor.before(end, REASON)?;
    parse_digits(digits).map(|_| ()).ok_or(mismatch(at, REASON))
}

/// Stores the message and the values after it.
///
/// A client chooses the path, which may be in the message, and the referrer. It must not be able
/// to forge the address of the client that way. So if `, client: ` occurs more than once, the
/// values after the first one are used only if they extend to the end of the line and none
/// contains a quote, which is impossible after a forged client. Otherwise the line is ambiguous,
/// and all of it is the message.
fn set_message<'a>(text: &'a [u8], record: &mut Record<'a>, state: &LineState) {
    record.set_extra(1, text);
    let Some(first) = memmem::find(text, CLIENT) else { return };
    let tail = &text[first + CLIENT.len()..];
    let is_only_client = memmem::find(tail, CLIENT).is_none();
    let Some(tail) = Tail::read(tail).filter(|tail| is_only_client || tail.is_certain) else {
        return;
    };
    record.set_extra(1, &text[..first]);
    set_limit(&text[..first], record);
    record.set_text(Field::Client, tail.client);
    if let Some(server) = tail.server {
        record.set_extra(2, server);
    }
    if let Some(request) = tail.request {
        record.set_request_line(request, state.keeps_target);
    }
    if let Some(upstream) = tail.upstream {
        record.set_extra(3, upstream);
    }
    record.put_text(Field::Host, tail.host);
    record.put_text(Field::Referer, tail.referrer);
}

/// Stores the zone and the excess of a message of ngx_http_limit_req_module.c or
/// ngx_http_limit_conn_module.c:
///
/// ```text
/// limiting requests, excess: 20.520 by zone "one"
/// delaying request, dry run, excess: 0.960, by zone "one"
/// limiting connections by zone "one"
/// ```
fn set_limit<'a>(message: &'a [u8], record: &mut Record<'a>) {
    const STARTS: [&[u8]; 3] = [b"limiting requests", b"delaying request", b"limiting connections"];
    let Some(rest) = STARTS.iter().find_map(|start| message.strip_prefix(*start)) else { return };
    let rest = rest.strip_prefix(b", dry run").unwrap_or(rest);
    let (excess, rest) = match rest.strip_prefix(b", excess: ") {
        Some(text) => {
            let is_number = |byte: &&u8| byte.is_ascii_digit() || **byte == b'.';
            let (excess, rest) = text.split_at(text.iter().take_while(is_number).count());
            (Some(excess), rest.strip_prefix(b",").unwrap_or(rest))
        }
        None => (None, rest),
    };
    let zone = rest.strip_prefix(b" by zone \"").and_then(|zone| zone.strip_suffix(b"\""));
    let Some(zone) = zone else { return };
    record.set_extra(4, zone);
    if let Some(excess) = excess {
        record.set_extra(5, excess);
    }
}

/// The values after `, client: `.
#[derive(Debug, Default)]
struct Tail<'a> {
    client: &'a [u8],
    server: Option<&'a [u8]>,
    request: Option<&'a [u8]>,
    upstream: Option<&'a [u8]>,
    host: Option<&'a [u8]>,
    referrer: Option<&'a [u8]>,
    /// Whether the values extend to the end of the line, and none contains a quote.
    is_certain: bool,
}

impl<'a> Tail<'a> {
    /// Reads the values in nginx's order. Returns `None` if there is no client.
    fn read(text: &'a [u8]) -> Option<Self> {
        let (client, mut rest) = unquoted(text);
        let client = Client::parse(client)?.host;
        let mut tail = Self { client, ..Self::default() };
        if let Some(server) = rest.strip_prefix(b", server: ") {
            let (server, after) = unquoted(server);
            tail.server = Some(server);
            rest = after;
        }
        let mut has_quotes = false;
        let mut take = |name: &[u8]| -> Option<&'a [u8]> {
            let (value, after) = quoted(rest.strip_prefix(name)?)?;
            has_quotes |= memchr(b'"', value).is_some();
            rest = after;
            Some(value)
        };
        tail.request = take(b", request: \"");
        take(b", subrequest: \"");
        tail.upstream = take(b", upstream: \"");
        tail.host = take(b", host: \"");
        tail.referrer = take(b", referrer: \"");
        tail.is_certain = rest.is_empty() && !has_quotes;
        Some(tail)
    }
}

/// The value up to the next comma and space, and the rest from there on.
fn unquoted(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(memmem::find(text, b", ").unwrap_or(text.len()))
}

/// The value up to the quote before another value or the end of the line, and the rest after
/// that quote.
fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let ends = |at: &usize| {
        let rest = &text[at + 1..];
        rest.is_empty()
            || [&b", subrequest: \""[..], b", upstream: \"", b", host: \"", b", referrer: \""]
                .iter()
                .any(|next| rest.starts_with(next))
    };
    // If there is no such quote, unknown text follows the values: use the first quote.
    let end = memchr_iter(b'"', text).find(ends).or_else(|| memchr(b'"', text))?;
    Some((&text[..end], &text[end + 1..]))
}
