//! Writes rows of a data set for other programs: as tables (Parquet and Arrow) and as text (CSV and
//! JSON lines).
//!
//! A [`TextWriter`] writes one row at a time. For a table, a [`RowBatch`] collects the rows of
//! segments column by column, and copies the distinct texts. A table writer encodes one batch at a
//! time, so memory does not grow with the number of rows. This crate does no I/O: writers return
//! bytes.
//!
//! ```
//! use std::sync::Arc;
//! use weir_core::{Block, BlockLimits, BlockReader, Format, Selection, Values};
//! use weir_export::{ParquetWriter, RowBatch, TableSchema};
//!
//! let format = Arc::new(Format::parse("$remote_addr [$time_local] $status")?);
//! let mut values = Values::new(1 << 20);
//! let mut reader = BlockReader::new(format.clone(), BlockLimits::default(), &mut values);
//! let block = Block::new(b"192.0.2.7 [17/Dec/2025:09:03:01 +0000] 404\n".to_vec());
//! let segment = reader.read_segment(&block, 0, &mut values);
//!
//! let mut batch = RowBatch::new(TableSchema::of_table(&format.record_fields(), false));
//! batch.push("access.log", &segment, &Selection::All(segment.rows()), &values);
//! let mut writer = ParquetWriter::new(batch.schema())?;
//! writer.write(&mut batch)?;
//! let file = writer.finish()?;
//! assert!(file.len() > 500);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arrow;
mod batch;
mod cell_values;
mod encode_error;
mod escape;
mod parquet_writer;
mod row_source;
mod schema;
mod text;
mod text_cells;

pub use arrow::ArrowWriter;
pub use batch::RowBatch;
pub use encode_error::EncodeError;
pub use escape::escaped;
pub use parquet_writer::ParquetWriter;
pub use row_source::RowSource;
pub use schema::{ALL_COLUMNS, CellKind, TableColumn, TableSchema};
pub use text::{SegmentRows, TextFormat, TextWriter};
