//! Writes batches of rows as an Arrow stream.

mod body;
mod dictionary;
mod flat_buffer;
mod message;

use body::Body;
use dictionary::Dictionary;

use crate::batch::{Cells, RowBatch};
use crate::cell_values::{microseconds, seconds, signed};
use crate::encode_error::EncodeError;
use crate::schema::{CellKind, TableSchema};

/// Writes an [Arrow
/// stream](https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format), with a record
/// batch for each batch.
///
/// Texts are dictionaries of large UTF-8 with 32-bit indices. Each batch replaces the dictionaries
/// by those of its own rows. Instants are `Timestamp(MICROSECOND, "UTC")`, durations 64-bit
/// floating-point numbers, other numbers signed integers. The schema's metadata has the units of numbers as `weir.unit.COLUMN`. The stream is
/// not compressed.
///
/// # Memory
/// The encoded batch.
///
/// # Examples
/// ```
/// use weir_core::Format;
/// use weir_export::{ArrowWriter, RowBatch, TableSchema};
///
/// let mut batch = RowBatch::new(TableSchema::of_table(&Format::parse("$status")?.record_fields(), false));
/// let mut writer = ArrowWriter::new(batch.schema());
/// writer.write(&mut batch)?;
/// let stream = writer.finish();
/// assert!(stream.starts_with(&[0xFF; 4]) && stream.ends_with(&[0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ArrowWriter {
    output: Vec<u8>,
    /// Whether each column has a dictionary. If so, a batch without texts in a column need not
    /// write another.
    has_dictionaries: bool,
}

impl ArrowWriter {
    /// Creates a stream with these columns.
    pub fn new(schema: &TableSchema) -> Self {
        Self { output: message::schema(schema), has_dictionaries: false }
    }

    /// Writes the rows of a batch and removes them from it. An empty batch writes nothing.
    ///
    /// # Errors
    /// Fails if a column has more than 2^31 distinct texts, which does not happen.
    pub fn write(&mut self, batch: &mut RowBatch) -> Result<(), EncodeError> {
        if batch.rows() == 0 {
            return Ok(());
        }
        batch.put_in_order();
        let mut rows = Body::default();
        let kinds: Vec<CellKind> = batch.schema().columns().iter().map(|it| it.kind).collect();
        for (column, (cells, kind)) in batch.cells().iter().zip(kinds).enumerate() {
            match (cells, kind) {
                (Cells::Text(cells), _) => {
                    let dictionary = Dictionary::new(cells)?;
                    if !self.has_dictionaries || dictionary.len() > 0 {
                        message::push_dictionary(&mut self.output, column, &dictionary);
                    }
                    rows.push_column(&dictionary.indices(cells), i32::to_le_bytes);
                }
                (Cells::Numbers(cells), CellKind::Seconds) => {
                    rows.push_column(cells, |number| seconds(number).to_le_bytes());
                }
                (Cells::Numbers(cells), _) => {
                    rows.push_column(cells, |number| signed(number).to_le_bytes());
                }
                (Cells::Instants(cells), CellKind::Instant) => {
                    rows.push_column(cells, |instant| microseconds(instant).to_le_bytes());
                }
                (Cells::Instants(cells), _) => rows.push_column(cells, i64::to_le_bytes),
                (Cells::Integers(cells), _) => rows.push_column(cells, i32::to_le_bytes),
            }
        }
        message::push_rows(&mut self.output, batch.rows(), &rows);
        self.has_dictionaries = true;
        batch.clear();
        Ok(())
    }

    /// Returns the bytes written since the last call.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// Ends the stream. Returns the bytes since [`Self::take_output`].
    pub fn finish(mut self) -> Vec<u8> {
        message::push_end(&mut self.output);
        self.output
    }
}
