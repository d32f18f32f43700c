//! Lines as rows of CSV.

use std::io::{self, Write};

use weir_core::{Field, FieldAccessor};

use super::printer::Fields;
use crate::csv::row;

/// The columns between the line's number and the line itself: the fields that every format may
/// have. The columns have to be known before the first format is.
fn fields() -> impl Iterator<Item = Field> {
    [Field::Time].into_iter().chain(Field::TEXT).chain(Field::NUMBERS)
}

/// Writes the names of the columns.
pub(super) fn write_header(output: &mut impl Write) -> io::Result<()> {
    let names = ["file", "line"].into_iter().chain(fields().map(Field::name)).chain(["raw"]);
    output.write_all(row(names.map(str::as_bytes)).as_bytes())
}

/// Makes a row of a line; what the record lacks is empty.
pub(super) fn row_of(name: &str, number: u64, line: &[u8], record: Fields<'_>) -> String {
    let number = number.to_string();
    let value = |field| record.and_then(|(_, record)| FieldAccessor::Field(field).value(record));
    let values: Vec<_> = fields().map(|field| value(field).unwrap_or_default()).collect();
    let first = [name.as_bytes(), number.as_bytes()].into_iter();
    let values = first.chain(values.iter().map(|value| &value[..])).chain([line]);
    row(values)
}
