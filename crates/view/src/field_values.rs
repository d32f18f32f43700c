//! The fields of a record as text.

use std::borrow::Cow;

use weir_core::{Field, FieldAccessor, Record, Timestamp, Zone, format_rfc3339};

use crate::csv::csv_row;
use crate::log_line::{FieldValue, LineText};

/// Returns the value of a field. Times are in `zone`, or as logged if it is `None`.
pub fn value_in<'a>(
    zone: Option<&Zone>,
    field: FieldAccessor,
    record: &Record<'a>,
) -> Option<Cow<'a, [u8]>> {
    match (zone, field, record.time) {
        (Some(zone), FieldAccessor::Field(Field::Time), Some(time)) => {
            let offset_s = zone.offset_s(time.unix_ns.div_euclid(1_000_000_000));
            Some(Cow::Owned(format_rfc3339(Timestamp { offset_s, ..time }).into_bytes()))
        }
        _ => field.value(record),
    }
}

/// A record, and the fields of its format by name.
#[derive(Debug, Clone, Copy)]
pub struct FieldValues<'a> {
    /// The fields, as [`weir_core::Format::accessors`] returns them.
    pub columns: &'a [(String, FieldAccessor)],
    /// The record.
    pub record: &'a Record<'a>,
    /// The zone of times; `None` keeps the offset of the log.
    pub zone: Option<&'a Zone>,
}

impl<'a> FieldValues<'a> {
    /// Returns the fields that the record has, with their names, as [`LogLine`](crate::LogLine)
    /// writes them.
    pub fn named(&self) -> Vec<(&'a str, FieldValue<'a>)> {
        let named = |(name, field): &'a (String, FieldAccessor)| {
            let value = self.value(*field)?;
            let value = match field.is_number() {
                true => FieldValue::Number(value),
                false => FieldValue::Text(value),
            };
            Some((name.as_str(), value))
        };
        self.columns.iter().filter_map(named).collect()
    }

    fn value(&self, field: FieldAccessor) -> Option<Cow<'a, [u8]>> {
        value_in(self.zone, field, self.record)
    }
}

/// Returns the fields with a column in the CSV of lines: those that every format may have, because
/// the header is written before all formats are known. The text of the line has the others.
fn csv_fields() -> impl Iterator<Item = Field> {
    [Field::Time].into_iter().chain(Field::TEXT).chain(Field::NUMBERS)
}

/// Returns the header of [`line_csv_row`] as a row of CSV.
pub fn line_csv_header() -> String {
    let names = ["file", "line"].into_iter().chain(csv_fields().map(Field::name)).chain(["raw"]);
    csv_row(names.map(str::as_bytes))
}

/// Returns a line of a file as a row of CSV. Fields that the record lacks are empty.
pub fn line_csv_row(file: &str, text: LineText<'_>, fields: Option<FieldValues<'_>>) -> String {
    let value = |field| fields?.value(FieldAccessor::Field(field));
    let values: Vec<Option<Cow<'_, [u8]>>> = csv_fields().map(value).collect();
    let values = values.iter().map(|value| value.as_deref().unwrap_or_default());
    let number = text.number.to_string();
    let first = [file.as_bytes(), number.as_bytes()].into_iter();
    csv_row(first.chain(values).chain([text.bytes]))
}
