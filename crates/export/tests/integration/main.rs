//! Parquet files, read back with the reader of the same crate, and Arrow streams.

mod arrow;
mod batches;
mod round_trip;

use std::sync::Arc;

use bytes::Bytes;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field as Cell;
use weir_core::{Block, BlockLimits, BlockReader, Format, Segment, Values};
use weir_export::{ArrowWriter, ParquetWriter, RowBatch};
use weir_testkit::arrow::{ArrowCell, ArrowStream, ArrowType};

/// The columns of each row by name.
type Rows = Vec<Vec<(String, Cell)>>;

/// A log as a segment, whose lines begin at this offset of the source.
fn segment(format: &Arc<Format>, log: &[u8], offset: u64, values: &mut Values) -> Segment {
    let mut reader = BlockReader::new(format.clone(), BlockLimits::default(), values);
    let mut block = Block::new(log.to_vec());
    block.offset = offset;
    reader.read_segment(&block, 0, values)
}

/// The file of these batches.
fn file(batches: &mut [RowBatch]) -> Bytes {
    let mut writer = ParquetWriter::new(batches[0].schema()).expect("columns");
    let mut file = Vec::new();
    for batch in batches {
        writer.write(batch).expect("rows");
        file.extend(writer.take_output().expect("memory"));
    }
    file.extend(writer.finish().expect("a footer"));
    file.into()
}

/// The stream of these batches.
fn stream(batches: &mut [RowBatch]) -> Vec<u8> {
    let mut writer = ArrowWriter::new(batches[0].schema());
    let mut stream = Vec::new();
    for batch in batches {
        writer.write(batch).expect("rows");
        stream.extend(writer.take_output());
    }
    stream.extend(writer.finish());
    stream
}

/// Reads a stream. The cells are as Parquet has them.
fn stream_rows(stream: &[u8]) -> Rows {
    let ArrowStream { columns, rows, .. } = ArrowStream::read(stream);
    let cell = |cell, kind| match cell {
        ArrowCell::Null => Cell::Null,
        ArrowCell::Text(text) => Cell::Str(text),
        ArrowCell::Unsigned(number) => Cell::ULong(number),
        ArrowCell::Signed(number) if kind == ArrowType::Instant => Cell::Long(number),
        ArrowCell::Signed(number) => Cell::Int(i32::try_from(number).expect("32 bits")),
    };
    let named = |row: Vec<ArrowCell>| {
        let cells = row.into_iter().zip(&columns);
        cells.map(|(own, column)| (column.name.clone(), cell(own, column.kind))).collect()
    };
    rows.into_iter().map(named).collect()
}

/// Reads a file.
fn rows(file: Bytes) -> Rows {
    let reader = SerializedFileReader::new(file).expect("a file");
    let rows = reader.get_row_iter(None).expect("rows");
    let cells = |row: parquet::record::Row| {
        row.get_column_iter().map(|(name, cell)| (name.clone(), cell.clone())).collect()
    };
    rows.map(|row| cells(row.expect("a row"))).collect()
}

/// The cell of a row.
fn cell<'a>(row: &'a [(String, Cell)], name: &str) -> &'a Cell {
    row.iter().find(|(own, _)| own == name).map(|(_, cell)| cell).expect("a column")
}
