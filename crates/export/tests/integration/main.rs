//! Parquet files, read back with the reader of the same crate, and Arrow streams.

mod arrow;
mod batches;
mod round_trip;

use std::sync::Arc;

use bytes::Bytes;
use weir_core::{Block, BlockLimits, BlockReader, Format, Segment, Values};
use weir_export::{ArrowWriter, ParquetWriter, RowBatch};
use weir_testkit::tables::Cell;

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

/// The cell of a row.
fn cell<'a>(row: &'a [(String, Cell)], name: &str) -> &'a Cell {
    row.iter().find(|(own, _)| own == name).map(|(_, cell)| cell).expect("a column")
}
