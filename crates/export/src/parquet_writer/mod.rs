//! Writes batches of rows as a Parquet file.

mod hybrid;
mod text_column;

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bytes::Bytes;
use parquet::basic::{
    Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as PhysicalType, ZstdLevel,
};
use parquet::column::writer::{ColumnCloseResult, get_column_writer, get_typed_column_writer_mut};
use parquet::data_type::{DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, ColumnPath, Type};

use crate::batch::{Cells, RowBatch};
use crate::cell_values::{microseconds, seconds, signed};
use crate::encode_error::EncodeError;
use crate::schema::{CellKind, TableColumn, TableSchema};
use text_column::encode_texts;

/// Writes a [Parquet](https://parquet.apache.org/docs/file-format/) file, with a row group for each
/// batch.
///
/// Texts and sizes are dictionary encoded, ascending columns delta encoded, and pages compressed
/// with Zstandard. Each column of a row group has its minimum, maximum and number of NULLs.
/// Instants are `TIMESTAMP(MICROS, UTC)`, durations `DOUBLE`, and other numbers signed integers. The
/// file's metadata also has the units of numbers, as `weir.unit.COLUMN`, and what the records are.
///
/// # Memory
/// The encoded row group, and the footer entries of earlier ones: about 100 bytes for each column
/// and row group.
///
/// # Examples
/// ```
/// use weir_core::Format;
/// use weir_export::{ParquetWriter, RowBatch, TableSchema};
///
/// let mut batch = RowBatch::new(TableSchema::of_table(&Format::parse("$status")?.record_fields(), false));
/// let mut writer = ParquetWriter::new(batch.schema())?;
/// let mut file = writer.take_output()?;
/// writer.write(&mut batch)?;
/// file.extend(writer.finish()?);
/// assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ParquetWriter {
    writer: SerializedFileWriter<Vec<u8>>,
    properties: WriterPropertiesPtr,
    kinds: Vec<CellKind>,
    threads: usize,
}

/// The pages of a column in a row group, and its entry in the footer.
type EncodedColumn = (Bytes, ColumnCloseResult);

/// The number of rows passed to the encoder at once.
const CHUNK_ROWS: usize = 4_096;

/// The limit of a column's dictionary in a row group. No batch has as much text, so dictionaries
/// are always complete.
const DICTIONARY_BYTES_MAX: usize = 1 << 30;

/// The Zstandard level, the fastest.
const ZSTD_LEVEL: i32 = 1;

/// The minimum and maximum of a text are cut to this length, so that long values do not fill the
/// footer.
const STATISTICS_BYTES_MAX: usize = 64;

impl ParquetWriter {
    /// Creates a file with these columns.
    ///
    /// # Errors
    /// Fails if the columns cannot be described, which does not happen.
    pub fn new(schema: &TableSchema) -> Result<Self, EncodeError> {
        let fields: Result<Vec<_>, _> =
            schema.columns().iter().map(|column| parquet_type(column).map(Arc::new)).collect();
        let root = Type::group_type_builder("records").with_fields(fields?).build()?;
        let units = schema.columns().iter().filter_map(|column| column.unit_entry());
        let units = units.map(|(key, unit)| KeyValue::new(key, unit.to_owned()));
        let records = schema.record_entries();
        let records = records.map(|(key, value)| KeyValue::new(key.to_owned(), value.to_owned()));
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("weir version ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_statistics_truncate_length(Some(STATISTICS_BYTES_MAX))
            .set_dictionary_page_size_limit(DICTIONARY_BYTES_MAX)
            .set_key_value_metadata(Some(units.chain(records).collect()));
        for column in schema.columns().iter().filter(|column| column.ascends()) {
            let path = ColumnPath::new(vec![column.name.clone()]);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
        let properties = Arc::new(properties.build());
        let writer = SerializedFileWriter::new(Vec::new(), Arc::new(root), properties.clone())?;
        let kinds = schema.columns().iter().map(|column| column.kind).collect();
        Ok(Self { writer, properties, kinds, threads: 1 })
    }

    /// Sets the number of threads that encode the columns of a row group. The file does not depend
    /// on it.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads;
    }

    /// Writes the rows of a batch as a row group, and removes them from it. An empty batch writes
    /// nothing.
    ///
    /// # Errors
    /// Fails if they cannot be encoded, which does not happen.
    pub fn write(&mut self, batch: &mut RowBatch) -> Result<(), EncodeError> {
        if batch.rows() == 0 {
            return Ok(());
        }
        batch.put_in_order();
        let columns = self.encode(batch.cells())?;
        let mut group = self.writer.next_row_group()?;
        for (pages, close) in columns {
            group.append_column(&pages, close)?;
        }
        group.close()?;
        batch.clear();
        Ok(())
    }

    /// Encodes columns. Each thread takes the next column when it is free.
    fn encode(&self, cells: &[Cells]) -> Result<Vec<EncodedColumn>, EncodeError> {
        let next = AtomicUsize::new(0);
        let schema = self.writer.schema_descr();
        let work = || {
            let mut encoded = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(cells) = cells.get(index) else { return encoded };
                let (properties, kind) = (self.properties.clone(), self.kinds[index]);
                encoded.push((index, encode_column(schema.column(index), properties, cells, kind)));
            }
        };
        let mut encoded = thread::scope(|scope| {
            let threads = self.threads.min(cells.len());
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut encoded = work();
            for other in others {
                encoded.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
            encoded
        });
        encoded.sort_by_key(|(index, _)| *index);
        encoded.into_iter().map(|(_, column)| Ok(column?)).collect()
    }

    /// Returns the bytes written since the last call.
    ///
    /// # Errors
    /// Does not fail, because the output is in memory.
    pub fn take_output(&mut self) -> Result<Vec<u8>, EncodeError> {
        self.writer.flush().map_err(|error| EncodeError(error.to_string()))?;
        Ok(std::mem::take(self.writer.inner_mut()))
    }

    /// Ends the file. Returns the bytes since [`Self::take_output`].
    ///
    /// # Errors
    /// Fails if the footer cannot be encoded, which does not happen.
    pub fn finish(self) -> Result<Vec<u8>, EncodeError> {
        Ok(self.writer.into_inner()?)
    }
}

fn parquet_type(column: &TableColumn) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.kind {
        CellKind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        CellKind::Number(_) | CellKind::InstantNanoseconds => (PhysicalType::INT64, None),
        CellKind::Seconds => (PhysicalType::DOUBLE, None),
        CellKind::Instant => {
            (PhysicalType::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS)))
        }
        CellKind::Status | CellKind::ZoneOffset => (PhysicalType::INT32, None),
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

fn encode_column(
    description: ColumnDescPtr,
    properties: WriterPropertiesPtr,
    cells: &Cells,
    kind: CellKind,
) -> Result<EncodedColumn, ParquetError> {
    match (cells, kind) {
        (Cells::Text(cells), _) => encode_texts(description, properties, cells),
        (Cells::Numbers(cells), CellKind::Seconds) => {
            encode_values::<DoubleType, _>(description, properties, cells, seconds)
        }
        (Cells::Numbers(cells), _) => {
            encode_values::<Int64Type, _>(description, properties, cells, signed)
        }
        (Cells::Instants(cells), CellKind::Instant) => {
            encode_values::<Int64Type, _>(description, properties, cells, microseconds)
        }
        (Cells::Instants(cells), _) => {
            encode_values::<Int64Type, _>(description, properties, cells, |instant| instant)
        }
        (Cells::Integers(cells), _) => {
            encode_values::<Int32Type, _>(description, properties, cells, |number| number)
        }
    }
}

fn encode_values<D: DataType, C: Copy>(
    description: ColumnDescPtr,
    properties: WriterPropertiesPtr,
    cells: &[Option<C>],
    value: impl Fn(C) -> D::T,
) -> Result<EncodedColumn, ParquetError> {
    let mut pages = TrackedWrite::new(Vec::new());
    let page_writer = Box::new(SerializedPageWriter::new(&mut pages));
    let mut column = get_column_writer(description, properties, page_writer);
    for chunk in cells.chunks(CHUNK_ROWS) {
        let levels: Vec<i16> = chunk.iter().map(|cell| i16::from(cell.is_some())).collect();
        let values: Vec<D::T> = chunk.iter().flatten().map(|cell| value(*cell)).collect();
        let typed = get_typed_column_writer_mut::<D>(&mut column);
        typed.write_batch(&values, Some(&levels), None)?;
    }
    let close = column.close()?;
    Ok((pages.into_inner()?.into(), close))
}
