//! Puts the value of a column into a record.

use std::io::{Read, Seek, Write};

use weir_core::{Record, Timestamp};

use crate::column::Column;
use crate::error::TableError;
use crate::footer::{ColumnType, Meaning, TimeUnit};
use crate::page::PageFile;
use crate::role::Role;
use crate::values::Value;

/// The most bytes of a record's texts. Longer ones are left out, as long lines are.
pub(crate) const RECORD_BYTES_MAX: usize = 1 << 20;

const SECOND_NS: i64 = 1_000_000_000;

/// A day, which no offset from UTC reaches.
const DAY_S: i64 = 86_400;

/// The Julian day of 1970-01-01, from which old timestamps are counted.
const JULIAN_DAY_1970: i64 = 2_440_588;

/// A column, with what its values become.
#[derive(Debug)]
pub(crate) struct RowColumn<'f> {
    kind: &'f ColumnType,
    role: Role,
    column: Column<'f>,
    /// A text that is not in the page as it stands.
    text: Vec<u8>,
    /// The memory that is counted for it.
    text_memory: usize,
}

impl<'f> RowColumn<'f> {
    pub(crate) fn new(kind: &'f ColumnType, role: Role, column: Column<'f>) -> Self {
        Self { kind, role, column, text: Vec::new(), text_memory: 0 }
    }

    pub(crate) fn role(&self) -> Role {
        self.role
    }

    /// Puts the value of the next row into the record. `escaped` has the names of the columns whose
    /// text has escapes.
    #[inline]
    pub(crate) fn put<'a, R: Read + Seek>(
        &'a mut self,
        file: &PageFile<R>,
        escaped: Option<&str>,
        record: &mut Record<'a>,
    ) -> Result<(), TableError> {
        let value = self.column.next(file).map_err(|error| error.of_column(&self.kind.name))?;
        let Some(value) = value else { return Ok(()) };
        match self.role {
            Role::Text(_) | Role::Extra(_) => {
                let is_escaped =
                    escaped.is_some_and(|it| it.split(',').any(|name| name == self.kind.name));
                if is_escaped && let Value::Bytes(text) = value {
                    let size = text.len().min(RECORD_BYTES_MAX + 1);
                    if size > self.text_memory {
                        file.set_memory(self.text_memory, size)?;
                        self.text_memory = size;
                        self.text = Vec::with_capacity(size);
                    }
                    file.add_work(size as u64);
                }
                let text = text_of(value, self.kind, is_escaped, &mut self.text);
                match self.role {
                    Role::Text(field) => record.put_text(field, Some(text)),
                    Role::Extra(index) => record.set_extra(index, text),
                    _ => {}
                }
            }
            Role::Number(field) => record.set_number(field, number_of(value, 1.0, self.kind)),
            Role::Seconds(field) => {
                record.set_number(field, number_of(value, SECOND_NS as f64, self.kind));
            }
            Role::Time(unit) => record.time = instant_of(value, unit).and_then(timestamp),
            Role::OldTime => record.time = old_instant(value).and_then(timestamp),
            Role::ZoneOffset => {
                if let (Value::Integer(offset), Some(time)) = (value, &mut record.time)
                    && (1 - DAY_S..DAY_S).contains(&offset)
                {
                    time.offset_s = offset as i32;
                }
            }
            Role::EscapedColumns => {}
        }
        Ok(())
    }

    /// The text of the next row, which names columns in so many bytes at most.
    pub(crate) fn next_text<R: Read + Seek>(
        &mut self,
        file: &PageFile<R>,
        bytes_max: usize,
    ) -> Result<Option<&str>, TableError> {
        let of_column = |error: TableError| error.of_column(&self.kind.name);
        match self.column.next(file).map_err(of_column)? {
            Some(Value::Bytes(text)) if text.len() > bytes_max => {
                Err(of_column(TableError::damaged("it names more columns than there are")))
            }
            Some(Value::Bytes(text)) => Ok(std::str::from_utf8(text).ok()),
            _ => Ok(None),
        }
    }
}

/// The two extremes of instants are no times.
fn timestamp(unix_ns: i64) -> Option<Timestamp> {
    let is_inside = unix_ns > i64::MIN && unix_ns < i64::MAX;
    is_inside.then_some(Timestamp { unix_ns, offset_s: 0 })
}

fn instant_of(value: Value<'_>, unit: TimeUnit) -> Option<i64> {
    let Value::Integer(number) = value else { return None };
    number.checked_mul(match unit {
        TimeUnit::Milliseconds => 1_000_000,
        TimeUnit::Microseconds => 1_000,
        TimeUnit::Nanoseconds => 1,
    })
}

/// The instant of the nanoseconds of a day, and the day.
fn old_instant(value: Value<'_>) -> Option<i64> {
    let Value::Bytes(bytes) = value else { return None };
    let nanoseconds = i64::from_le_bytes(*bytes.first_chunk()?);
    let day = u32::from_le_bytes(*bytes.get(8..)?.first_chunk()?);
    let day_ns = (i64::from(day) - JULIAN_DAY_1970).checked_mul(DAY_S * SECOND_NS)?;
    day_ns.checked_add(nanoseconds)
}

/// A number of a field, which is not negative; `None` if it does not fit.
fn number_of(value: Value<'_>, factor: f64, kind: &ColumnType) -> Option<u64> {
    match value {
        Value::Integer(number) if kind.meaning == Meaning::Unsigned => {
            (unsigned(number, kind)).checked_mul(factor as u64)
        }
        Value::Integer(number) => u64::try_from(number).ok()?.checked_mul(factor as u64),
        Value::Double(number) => {
            let number = (number * factor).round();
            // What is not a number is in no range.
            (0.0..u64::MAX as f64).contains(&number).then_some(number as u64)
        }
        _ => None,
    }
    // The packed form has this number for none.
    .filter(|number| *number != u64::MAX)
}

fn unsigned(number: i64, kind: &ColumnType) -> u64 {
    match kind.physical {
        crate::footer::Physical::Int32 => u64::from(number as u32),
        _ => number as u64,
    }
}

/// A value as text, which is built in `buffer` if it is not there as it stands.
fn text_of<'a>(
    value: Value<'a>,
    kind: &ColumnType,
    is_escaped: bool,
    buffer: &'a mut Vec<u8>,
) -> &'a [u8] {
    buffer.clear();
    // Writing to a vector cannot fail.
    let _ = match value {
        Value::Bytes(text) if !is_escaped => return text,
        Value::Bytes(text) => {
            unescape(text, buffer);
            Ok(())
        }
        Value::Integer(number) if kind.meaning == Meaning::Unsigned => {
            write!(buffer, "{}", unsigned(number, kind))
        }
        Value::Integer(number) => write!(buffer, "{number}"),
        Value::Double(number) => write!(buffer, "{number}"),
        Value::Boolean(is_true) => write!(buffer, "{is_true}"),
    };
    buffer
}

/// Restores the bytes of a text in which `\xHH` stands for a byte, until they are too many for a
/// record.
fn unescape(text: &[u8], bytes: &mut Vec<u8>) {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut rest = text;
    while let Some((first, behind)) = rest.split_first()
        && bytes.len() <= RECORD_BYTES_MAX
    {
        let escape = match rest {
            [b'\\', b'x', high, low, ..] => digit(*high).zip(digit(*low)),
            _ => None,
        };
        match escape {
            Some((high, low)) => {
                bytes.push((high << 4 | low) as u8);
                rest = &rest[4..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{old_instant, unescape};
    use crate::values::Value;

    #[test]
    fn escapes_are_restored() {
        let mut bytes = Vec::new();
        unescape(br"/a\x5C\xFF\x5Cx41\x4\xG0\", &mut bytes);
        assert_eq!(bytes, b"/a\\\xFF\\x41\\x4\\xG0\\");
    }

    #[test]
    fn old_timestamps_have_a_day_and_nanoseconds() {
        // The example of the documentation of Impala: 2000-01-01 12:34:56.
        let nanoseconds = 45_296_000_000_000i64.to_le_bytes();
        let day = 2_451_545u32.to_le_bytes();
        let bytes = [&nanoseconds[..], &day].concat();
        assert_eq!(old_instant(Value::Bytes(&bytes)), Some(946_730_096_000_000_000));
        assert_eq!(old_instant(Value::Bytes(&[0xFF; 12])), None);
        assert_eq!(old_instant(Value::Bytes(&[0; 11])), None);
    }
}
