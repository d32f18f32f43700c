//! The error log of Apache 2.4 and 2.2.
//!
//! ```text
//! [Wed Dec 17 09:03:01.250531 2025] [core:error] [pid 12:tid 34] (13)Permission denied:
//! local time                        module:level process         error of the system, optional
//! [client 192.0.2.1:52814] AH00035: access to /a denied, referer: https://example.com/
//! optional                 message                       optional
//! ```
//!
//! No notation can describe it: most parts are optional, and 2.2 has neither module nor process.
//!
//! Source: the documentation of `ErrorLogFormat` in Apache's core features, with the default
//! format `[%{u}t] [%-m:%l] [pid %P:tid %T] %7F: %E: [client\ %a] %M% ,\ referer\ %{Referer}i`,
//! and `do_errorlog_default` in server/log.c.

use memchr::{memmem, memrchr};

use super::cursor::{Cursor, mismatch};
use super::definition::Definition;
use crate::field::Field;
use crate::format::program::mismatch::Mismatch;
use crate::format::program::sink::LineState;
use crate::record::Record;
use crate::schema::RecordKind;
use crate::value::{TimeParts, month_by_name, parse_digits};

pub(super) const APACHEERROR: Definition = Definition {
    name: "APACHEERROR",
    kind: RecordKind::ErrorLogLine,
    fields: &[Field::Client, Field::Referer, Field::Time],
    extra_fields: &["level", "module", "error", "client_port", "message"],
    parse,
    lacks_year: false,
};

fn parse<'a>(line: &'a [u8], record: &mut Record<'a>, _: &mut LineState) -> Result<(), Mismatch> {
    let mut cursor = Cursor::new(line);
    cursor.expect(b"[", "expected `[` and the time")?;
    let time = cursor.before(b']', "expected `]` after the time")?;
    let time = parse_time(time).and_then(|time| time.finish());
    record.time =
        Some(time.ok_or(mismatch(1, "expected a time such as Wed Dec 17 09:03:01 2025"))?);
    cursor.expect(b" [", "expected ` [` and the level")?;
    let level_at = cursor.at;
    let level = cursor.before(b']', "expected `]` after the level")?;
    let (module, level) = match memrchr(b':', level) {
        Some(colon) => (Some(&level[..colon]), &level[colon + 1..]),
        None => (None, level),
    };
    if level.is_empty() || !level.iter().all(u8::is_ascii_alphanumeric) {
        return Err(mismatch(level_at, "expected a level of letters and digits"));
    }
    record.set_extra(0, level);
    if let Some(module) = module.filter(|module| !module.is_empty()) {
        record.set_extra(1, module);
    }
    cursor.expect(b" ", "expected a space after the level")?;
    let has_process = cursor.rest().starts_with(b"[pid ");
    if has_process {
        cursor.before(b']', "expected `]` after the process")?;
        cursor.expect(b" ", "expected a space after the process")?;
    }
    set_error(&mut cursor, record);
    set_client(&mut cursor, record, has_process)?;
    set_message(cursor.rest(), record);
    Ok(())
}

/// Parses `Wed Dec 17 09:03:01 2025`, with or without a fraction of the second.
fn parse_time(text: &[u8]) -> Option<TimeParts> {
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
    if let Some(end) = memmem::find(rest, b": [client ") {
        record.set_extra(2, &rest[..end]);
        cursor.at += end + 2;
    }
}

/// Reads `[client 192.0.2.1:52814] `. In 2.2 there is no port, and no process before it.
fn set_client<'a>(
    cursor: &mut Cursor<'a>,
    record: &mut Record<'a>,
    has_port: bool,
) -> Result<(), Mismatch> {
    if !cursor.rest().starts_with(b"[client ") {
        return Ok(());
    }
    cursor.at += b"[client ".len();
    let at = cursor.at;
    let client = cursor.before(b']', "expected `]` after the client")?;
    let port = memrchr(b':', client)
        .filter(|colon| has_port && *colon > 0 && parse_digits(&client[colon + 1..]).is_some());
    if client.is_empty() {
        return Err(mismatch(at, "expected a client address or host name"));
    }
    record.set_text(Field::Client, &client[..port.unwrap_or(client.len())]);
    if let Some(colon) = port {
        record.set_extra(3, &client[colon + 1..]);
    }
    if cursor.rest().first() == Some(&b' ') {
        cursor.at += 1;
    }
    Ok(())
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
