//! The error log of lighttpd.
//!
//! ```text
//! 2025-12-17 09:03:01: (mod_fastcgi.c.421) FastCGI-stderr: PHP Warning: ...
//! local time            source file and line  message
//! ```
//!
//! A notation could describe it, but its records are not requests.
//!
//! Source: `log_error_append` and `log_buffer_timestamp` in src/log.c of lighttpd.

use super::cursor::{Cursor, mismatch};
use super::definition::Definition;
use crate::field::Field;
use crate::format::program::mismatch::Mismatch;
use crate::format::program::sink::LineState;
use crate::record::Record;
use crate::schema::RecordKind;
use crate::value::TimeParts;

pub(super) const LIGHTTPDERROR: Definition = Definition {
    name: "LIGHTTPDERROR",
    kind: RecordKind::ErrorLogLine,
    fields: &[Field::Time],
    extra_fields: &["source", "message"],
    parse,
    needed_bytes: b"():",
    lacks_year: false,
};

/// Length of `2025-12-17 09:03:01`.
const TIME_LENGTH: usize = 19;

fn parse<'a>(line: &'a [u8], record: &mut Record<'a>, _: &mut LineState) -> Result<(), Mismatch> {
    let time = line.get(..TIME_LENGTH).and_then(TimeParts::of_date_and_time);
    record.time = Some(
        time.and_then(|time| time.finish())
            .ok_or(mismatch(0, "expected a time such as 2025-12-17 09:03:01"))?,
    );
    let mut cursor = Cursor::new(line);
    cursor.at = TIME_LENGTH;
    cursor.expect(b": (", "expected `: (` and the source file")?;
    let at = cursor.at;
    let source = cursor.before(b')', "expected `)` after the source file and its line")?;
    if !is_source(source) {
        return Err(mismatch(at, "expected a source file and its line, such as server.c.1915"));
    }
    cursor.expect(b" ", "expected a space after the source file")?;
    record.set_extra(0, source);
    record.set_extra(1, cursor.rest());
    Ok(())
}

/// Whether the text is the name of a file in C and the number of a line, `server.c.1915`.
fn is_source(text: &[u8]) -> bool {
    let line = text.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    let name = text.get(..text.len() - line.len()).unwrap_or_default();
    !line.is_empty() && line.iter().all(u8::is_ascii_digit) && name.ends_with(b".c.")
}
