//! Encodes rows in an export format.

use weir_core::{Segment, Selection, Values};
use weir_export::{
    ArrowWriter, EncodeError, ParquetWriter, RowBatch, RowSource, TableSchema, TextFormat,
};

use super::ExportFormat;

/// The encoder of a format.
pub(super) enum Encoder {
    /// Writes rows one by one.
    Text(TextFormat),
    Table(Box<TableEncoder>),
}

/// An encoder that collects rows in batches.
pub(super) struct TableEncoder {
    batch: RowBatch,
    writer: Option<TableWriter>,
}

/// The writer of a table's batches.
enum TableWriter {
    Parquet(Box<ParquetWriter>),
    Arrow(ArrowWriter),
}

/// The rows of one segment, with the values of its ids.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) source: RowSource<'a>,
    pub(super) segment: &'a Segment,
    pub(super) values: &'a Values,
}

impl Encoder {
    /// Creates the encoder of a format, and returns the first bytes of its output.
    pub(super) fn new(
        format: ExportFormat,
        schema: &TableSchema,
    ) -> Result<(Self, Vec<u8>), EncodeError> {
        let text = |format: TextFormat| (Self::Text(format), format.header(schema).into_bytes());
        Ok(match format {
            ExportFormat::Csv => text(TextFormat::Csv),
            ExportFormat::JsonLines => text(TextFormat::JsonLines),
            ExportFormat::Parquet => {
                Self::table(schema, TableWriter::Parquet(Box::new(ParquetWriter::new(schema)?)))?
            }
            ExportFormat::Arrow => {
                Self::table(schema, TableWriter::Arrow(ArrowWriter::new(schema)))?
            }
        })
    }

    /// Creates a table encoder, and returns the first bytes of its output.
    fn table(
        schema: &TableSchema,
        mut writer: TableWriter,
    ) -> Result<(Self, Vec<u8>), EncodeError> {
        let begin = writer.take_output()?;
        let batch = RowBatch::new(schema.clone());
        Ok((Self::Table(Box::new(TableEncoder { batch, writer: Some(writer) })), begin))
    }

    /// Sets the number of threads. The output does not depend on it.
    pub(super) fn set_jobs(&mut self, jobs: usize) {
        if let Self::Table(table) = self
            && let Some(TableWriter::Parquet(writer)) = &mut table.writer
        {
            writer.set_threads(jobs);
        }
    }

    /// Sets the number of rows after which a batch of a table is full.
    pub(super) fn set_batch_rows_max(&mut self, rows: usize) {
        if let Self::Table(table) = self {
            table.batch.set_rows_max(rows);
        }
    }

    /// Returns whether the pending rows should be encoded before more are added.
    pub(super) fn is_full(&self) -> bool {
        matches!(self, Self::Table(table) if table.batch.is_full())
    }

    /// Encodes the pending rows.
    pub(super) fn encode(&mut self) -> Result<Vec<u8>, EncodeError> {
        let Self::Table(table) = self else { return Ok(Vec::new()) };
        let TableEncoder { batch, writer: Some(writer) } = &mut **table else {
            return Ok(Vec::new());
        };
        writer.write(batch)?;
        writer.take_output()
    }

    /// Encodes the pending rows and the end of the output.
    pub(super) fn finish(&mut self) -> Result<Vec<u8>, EncodeError> {
        let mut output = self.encode()?;
        if let Self::Table(table) = self
            && let Some(writer) = table.writer.take()
        {
            output.extend(writer.finish()?);
        }
        Ok(output)
    }
}

impl TableWriter {
    /// Writes the rows of a batch and removes them from it.
    fn write(&mut self, batch: &mut RowBatch) -> Result<(), EncodeError> {
        match self {
            Self::Parquet(writer) => writer.write(batch),
            Self::Arrow(writer) => writer.write(batch),
        }
    }

    /// Returns the bytes written since the last call.
    fn take_output(&mut self) -> Result<Vec<u8>, EncodeError> {
        match self {
            Self::Parquet(writer) => writer.take_output(),
            Self::Arrow(writer) => Ok(writer.take_output()),
        }
    }

    /// Writes the end of the output. Returns the bytes since the last call.
    fn finish(self) -> Result<Vec<u8>, EncodeError> {
        match self {
            Self::Parquet(writer) => writer.finish(),
            Self::Arrow(writer) => Ok(writer.finish()),
        }
    }
}

impl TableEncoder {
    /// Adds rows.
    pub(super) fn push(&mut self, rows: Rows<'_>, selection: &Selection) {
        self.batch.push(rows.source, rows.segment, selection, rows.values);
    }

    /// Returns the pending rows.
    pub(super) fn batch(&self) -> &RowBatch {
        &self.batch
    }
}
