//! The error log of Apache 2.4 and 2.2.
//!
//! ```text
//! [Wed Dec 17 09:03:01.250531 2025] [core:error] [pid 12:tid 34] (13)Permission denied:
//! local time                        module:level process         error of the system, optional
//! [client 192.0.2.1:52814] AH00035: access to /a denied, referer: https://example.com/
//! optional                 message                       optional
//! ```
//!
//! The time may also be compact, `2025-12-17 09:03:01.250531` (`%{cu}t`). Through syslog a line has
//! no time of its own. A module may write `[remote 192.0.2.1:52814]` for the connection, alone or
//! before the client.
//!
//! No notation can describe it: most parts are optional, and 2.2 has neither module nor process.
//!
//! Source: the documentation of `ErrorLogFormat` in Apache's core features, with the default
//! format `[%{u}t] [%-m:%l] [pid %P:tid %T] %7F: %E: [client\ %a] %M% ,\ referer\ %{Referer}i`,
//! and `do_errorlog_default` in server/log.c, which leaves the time out if it logs to syslog.

use memchr::{memmem, memrchr};

use super::cursor::{Cursor, mismatch};
use super::definition::Definition;
use crate::field::Field;
use crate::format::program::mismatch::Mismatch;
use crate::format::program::sink::LineState;
use crate::record::Record;
use crate::schema::RecordKind;
use crate::value::{TimeParts, is_host, month_by_name, parse_digits, split_port};

pub(super) const APACHEERROR: Definition = Definition {
    name: "APACHEERROR",
    kind: RecordKind::ErrorLogLine,
    fields: &[Field::Client, Field::Referer, Field::Time],
    extra_fields: &["level", "module", "error", "client_port", "message"],
    parse,
    needed_bytes: b"[]",
    lacks_year: false,
};

/// The same lines without a time, as Apache writes them to syslog.
pub(super) const APACHESYSLOG: Definition = Definition {
    name: "APACHESYSLOG",
    kind: RecordKind::ErrorLogLine,
    fields: &[Field::Client, Field::Referer],
    extra_fields: APACHEERROR.extra_fields,
    parse: parse_without_time,
    needed_bytes: b"[]",
    lacks_year: false,
};

fn parse<'a>(line: &'a [u8], record: &mut Record<'a>, _: &mut LineState) -> Result<(), Mismatch> {
    let mut cursor = Cursor::new(line);
    cursor.expect(b"[", "expected `[` and the time")?;
    let time = cursor.before(b']', "expected `]` after the time")?;
    let time = parse_time(time).and_then(|time| time.finish());
    record.time =
        Some(time.ok_or(mismatch(1, "expected a time such as Wed Dec 17 09:03:01 2025"))?);
    cursor.expect(b" ", "expected ` [` and the level")?;
    set_level(&mut cursor, record)?;
    set_rest(&mut cursor, record)
}

fn parse_without_time<'a>(
    line: &'a [u8],
    record: &mut Record<'a>,
    _: &mut LineState,
) -> Result<(), Mismatch> {
    let mut cursor = Cursor::new(line);
    let module = set_level(&mut cursor, record)?;
    // Without a time, a level alone is too little to know the line by, and others begin with a
    // time.
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let has_letters = record.extra(0).is_some_and(|level| level[0].is_ascii_alphabetic());
    match module.filter(|module| has_letters && module.iter().all(is_name)) {
        Some(_) => set_rest(&mut cursor, record),
        None => Err(mismatch(1, "expected a module and `:` before the level")),
    }
}

/// Reads `[core:error] `, with or without the module, which is returned.
fn set_level<'a>(
    cursor: &mut Cursor<'a>,
    record: &mut Record<'a>,
) -> Result<Option<&'a [u8]>, Mismatch> {
    cursor.expect(b"[", "expected `[` and the level")?;
    let at = cursor.at;
    let level = cursor.before(b']', "expected `]` after the level")?;
    let (module, level) = match memrchr(b':', level) {
        Some(colon) => (Some(&level[..colon]), &level[colon + 1..]),
        None => (None, level),
    };
    if level.is_empty() || !level.iter().all(u8::is_ascii_alphanumeric) {
        return Err(mismatch(at, "expected a level of letters and digits"));
    }
    record.set_extra(0, level);
    if let Some(module) = module.filter(|module| !module.is_empty()) {
        record.set_extra(1, module);
    }
    cursor.expect(b" ", "expected a space after the level")?;
    Ok(module)
}

/// Reads what follows the level.
fn set_rest<'a>(cursor: &mut Cursor<'a>, record: &mut Record<'a>) -> Result<(), Mismatch> {
    let has_process = cursor.rest().starts_with(b"[pid ");
    if has_process {
        cursor.before(b']', "expected `]` after the process")?;
        cursor.expect(b" ", "expected a space after the process")?;
    }
    set_error(cursor, record);
    let remote = client(cursor, b"[remote ", has_process)?;
    let client = client(cursor, b"[client ", has_process)?;
    if let Some((host, port)) = client.or(remote) {
        record.set_text(Field::Client, host);
        if let Some(port) = port {
            record.set_extra(3, port);
        }
    }
    set_message(cursor.rest(), record);
    Ok(())
}

/// Parses `Wed Dec 17 09:03:01 2025` or `2025-12-17 09:03:01`, with or without a fraction of the
/// second.
fn parse_time(text: &[u8]) -> Option<TimeParts> {
    if text.get(4) == Some(&b'-') {
        return TimeParts::of_date_and_time(text);
    }
    let mut words = text.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let (weekday, month, day) = (words.next()?, words.next()?, words.next()?);
    let (second, year) = (words.next()?, words.next()?);
    if weekday.len() != 3 || words.next().is_some() || year.len() != 4 {
        return None;
    }
    let mut time = TimeParts::default();
    let day = parse_digits(day).filter(|day| *day <= 31)? as u32;
    let year = parse_digits(year)? as i32;
    time.set_day(year, month_by_name(month)?, day)?;
    time.add_time_of_day(second)?;
    Some(time)
}

/// Reads the error of the operating system before the client, `(13)Permission denied: `.
fn set_error<'a>(cursor: &mut Cursor<'a>, record: &mut Record<'a>) {
    let rest = cursor.rest();
    if rest.first() != Some(&b'(') {
        return;
    }
    let end = memmem::find(rest, b": [client ").or_else(|| memmem::find(rest, b": [remote "));
    if let Some(end) = end {
        record.set_extra(2, &rest[..end]);
        cursor.at += end + 2;
    }
}

/// A client and its port.
type ClientAndPort<'a> = (&'a [u8], Option<&'a [u8]>);

/// Reads `[client 192.0.2.1:52814] ` if the line goes on with `name`. In 2.2 there is usually no port,
/// and no process before it: what follows a colon in an IPv6 address without brackets is a port only
/// after a process.
fn client<'a>(
    cursor: &mut Cursor<'a>,
    name: &[u8],
    has_port: bool,
) -> Result<Option<ClientAndPort<'a>>, Mismatch> {
    if !cursor.rest().starts_with(name) {
        return Ok(None);
    }
    cursor.at += name.len();
    let at = cursor.at;
    let mut text = cursor.before(b']', "expected `]` after the client")?;
    if let Some(address) = text.strip_prefix(b"[") {
        // `[client [2001:db8::1]:52814]`
        let port = cursor.before(b']', "expected `]` after the client")?;
        text = &cursor.line[at..at + 1 + address.len() + 1 + port.len()];
    }
    let port = memrchr(b':', text)
        .filter(|colon| has_port && *colon > 0 && parse_digits(&text[colon + 1..]).is_some());
    let (host, port) = match port {
        Some(colon) if is_host(&text[..colon]) => (&text[..colon], Some(&text[colon + 1..])),
        _ => split_port(text),
    };
    if !is_host(host) {
        return Err(mismatch(at, "expected a client address or host name"));
    }
    if cursor.rest().first() == Some(&b' ') {
        cursor.at += 1;
    }
    Ok(Some((host, port)))
}

/// Stores the message, and the referer that Apache appends to it.
fn set_message<'a>(text: &'a [u8], record: &mut Record<'a>) {
    const REFERER: &[u8] = b", referer: ";
    let end = memmem::rfind(text, REFERER);
    record.set_extra(4, &text[..end.unwrap_or(text.len())]);
    if let Some(end) = end {
        record.set_text(Field::Referer, &text[end + REFERER.len()..]);
    }
}
