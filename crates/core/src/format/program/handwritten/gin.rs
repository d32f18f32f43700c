//! The access log of Gin, a framework for Go.
//!
//! ```text
//! [GIN] 2020/11/25 - 21:26:18 | 200 |     131.415µs |       127.0.0.1 | GET      "/ping"
//!       local time            status  duration          client          method   path
//! ```
//!
//! No notation can describe it: the blanks are as many as fill a column, colours may stand around the
//! status and the method, and older versions write the path without quotes.
//!
//! Source: `defaultLogFormatter` in logger.go of Gin.

use super::cursor::{Cursor, mismatch};
use super::definition::Definition;
use crate::field::Field;
use crate::format::program::head::skip_blanks;
use crate::format::program::mismatch::Mismatch;
use crate::format::program::sink::{LineState, Sink};
use crate::record::Record;
use crate::schema::RecordKind;
use crate::value::parse_digits;

pub(super) const GIN: Definition = Definition {
    name: "GIN",
    kind: RecordKind::Request,
    fields: &[
        Field::Client,
        Field::Method,
        Field::Path,
        Field::Query,
        Field::Status,
        Field::RequestTime,
        Field::Time,
    ],
    extra_fields: &[],
    parse,
    needed_bytes: b"[]|",
    lacks_year: false,
};

/// Length of `2020/11/25 - 21:26:18`.
const TIME_LENGTH: usize = 21;
const SECOND_NS: u64 = 1_000_000_000;

fn parse<'a>(
    line: &'a [u8],
    record: &mut Record<'a>,
    state: &mut LineState,
) -> Result<(), Mismatch> {
    const TIME: &str = "expected a time such as 2020/11/25 - 21:26:18";
    const STATUS: &str = "expected ` |` and a status";
    const DURATION: &str = "expected a duration with a unit and ` |`";
    const CLIENT: &str = "expected a client and ` |`";
    const REQUEST: &str = "expected a method and a path";
    let mut cursor = Cursor::new(line);
    cursor.expect(b"[GIN] ", "expected `[GIN] `")?;
    let time = cursor.rest().get(..TIME_LENGTH).ok_or(mismatch(cursor.at, TIME))?;
    set_time(time, state).ok_or(mismatch(cursor.at, TIME))?;
    record.time = state.time.finish();
    cursor.at += TIME_LENGTH;
    cursor.before(b'|', STATUS)?;
    let duration = Sink::Duration { field: Field::RequestTime, unit_ns: SECOND_NS };
    for (sink, reason) in [(Sink::Status, STATUS), (duration, DURATION), (Sink::Client, CLIENT)] {
        let at = cursor.at;
        let (word, _) = first_word(cursor.before(b'|', reason)?);
        sink.store(word, record, state).ok_or(mismatch(at, reason))?;
    }
    let (method, path) = first_word(cursor.rest());
    let path = path.strip_prefix(b"\"").and_then(|path| path.strip_suffix(b"\"")).unwrap_or(path);
    if method.is_empty() || path.is_empty() {
        return Err(mismatch(cursor.at, REQUEST));
    }
    record.set_text(Field::Method, method);
    record.set_target(path, state.keeps_target);
    Ok(())
}

/// Reads `2020/11/25 - 21:26:18`.
fn set_time(text: &[u8], state: &mut LineState) -> Option<()> {
    let (date, second) = (text.get(..10)?, text.get(10..)?.strip_prefix(b" - ")?);
    let number = |from: usize, to: usize| parse_digits(date.get(from..to)?);
    if (date[4], date[7]) != (b'/', b'/') {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    state.time.set_day(year as i32, month as u32, day as u32)?;
    state.time.add_time_of_day(second)
}

/// The first word after blanks and colours, and what follows the blanks and colours after it.
fn first_word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = &text[skip_blanks(text, 0)..];
    let length = text.iter().position(|byte| matches!(byte, b' ' | b'\x1b')).unwrap_or(text.len());
    let (word, rest) = text.split_at(length);
    (word, &rest[skip_blanks(rest, 0)..])
}
