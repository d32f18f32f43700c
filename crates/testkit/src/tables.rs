//! The rows of exported tables, in one form for all of their formats.

use bytes::Bytes;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use crate::arrow::{ArrowCell, ArrowStream, ArrowType};

/// A cell, as Parquet has it.
pub type Cell = Field;

/// The columns of each row by name, in their order.
pub type Rows = Vec<Vec<(String, Cell)>>;

/// Reads a Parquet file with the reader of the crate `parquet`.
///
/// # Panics
/// If it is not a Parquet file.
pub fn parquet_rows(file: impl Into<Bytes>) -> Rows {
    let reader = SerializedFileReader::new(file.into()).expect("a file");
    let rows = reader.get_row_iter(None).expect("rows");
    let cells = |row: parquet::record::Row| {
        row.get_column_iter().map(|(name, cell)| (name.clone(), cell.clone())).collect()
    };
    rows.map(|row| cells(row.expect("a row"))).collect()
}

/// Reads an Arrow stream.
///
/// # Panics
/// If it is not a stream of the types that Weir writes.
pub fn arrow_rows(stream: &[u8]) -> Rows {
    let ArrowStream { columns, rows, .. } = ArrowStream::read(stream);
    let cell = |cell, kind| match cell {
        ArrowCell::Null => Cell::Null,
        ArrowCell::Text(text) => Cell::Str(text),
        ArrowCell::Double(number) => Cell::Double(number),
        ArrowCell::Integer(number) if kind == ArrowType::Instant => Cell::TimestampMicros(number),
        ArrowCell::Integer(number) if kind == ArrowType::Long => Cell::Long(number),
        ArrowCell::Integer(number) => Cell::Int(i32::try_from(number).expect("32 bits")),
    };
    let named = |row: Vec<ArrowCell>| {
        let cells = row.into_iter().zip(&columns);
        cells.map(|(own, column)| (column.name.clone(), cell(own, column.kind))).collect()
    };
    rows.into_iter().map(named).collect()
}
