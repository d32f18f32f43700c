//! Lines as rows of CSV.

use std::io::{self, Write};

use weir_core::{Field, FieldAccessor};

use super::fields::RecordFields;
use crate::csv::row;

/// The columns between the line's number and the line itself. They are the fields that every
/// format may have, because the header is written before any format is known.
fn columns() -> impl Iterator<Item = Field> {
    [Field::Time].into_iter().chain(Field::TEXT).chain(Field::NUMBERS)
}

/// Writes the names of the columns.
pub(super) fn write_header(output: &mut impl Write) -> io::Result<()> {
    let names = ["file", "line"].into_iter().chain(columns().map(Field::name)).chain(["raw"]);
    output.write_all(row(names.map(str::as_bytes)).as_bytes())
}

/// The row of a line. Fields that the record lacks are empty.
pub(super) fn line_row(
    name: &str,
    number: u64,
    line: &[u8],
    fields: Option<RecordFields<'_>>,
) -> String {
    let number = number.to_string();
    let value = |field| fields?.value(FieldAccessor::Field(field));
    let values: Vec<_> = columns().map(|field| value(field).unwrap_or_default()).collect();
    let first = [name.as_bytes(), number.as_bytes()].into_iter();
    let values = first.chain(values.iter().map(|value| &value[..])).chain([line]);
    row(values)
}
