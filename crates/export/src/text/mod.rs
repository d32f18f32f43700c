//! Writes rows of segments as text: CSV and JSON lines.
//!
//! A row is written directly from the columns of its segment. In outline, without the
//! optimisations:
//!
//! ```text
//! for each column of the text
//!     value = the value of the row in that column
//!     write the separator and the name, and the value quoted
//! ```
//!
//! 1. The columns are looked up once for each segment.
//! 2. The values of some rows are looked up before these are written ([`SegmentRows`]).
//! 3. The date of a time is written once for each minute ([`time_text`]).
//!
//! Encoded cells are not cached for later rows with the same value: quoting one again is faster
//! than finding it.

mod columns;
mod format;
mod time_text;

use weir_core::{RowReader, Segment, Values, Zone, push_decimal, push_seconds};

pub use columns::SegmentRows;
pub use format::TextFormat;

use columns::{RowValues, TextColumn, TextValue};
use time_text::TimeText;

/// Writes rows as text.
///
/// The first cell of a row is the name of the source. CSV has a column for each of
/// [`weir_view::csv_fields`], which is empty if the record lacks the field. JSON has the fields
/// that the record has, with the keys of [`weir_view::field_key`]. Sizes are in bytes, durations in
/// seconds, and times in RFC 3339. Bytes that are not UTF-8 become U+FFFD.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use weir_core::{Block, BlockLimits, BlockReader, Format, RowReader, Values};
/// use weir_export::{TextFormat, TextWriter};
///
/// let format = Arc::new(Format::parse("$remote_addr [$time_local] $status")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format.clone(), BlockLimits::default(), &mut values);
/// let block = Block::new(b"192.0.2.7 [17/Dec/2025:09:03:01 +0000] 404\n".to_vec());
/// let segment = reader.read_segment(&block, 0, &mut values);
///
/// let rows = RowReader::new(&[format.clone()], &values, format.kind());
/// let mut writer = TextWriter::new(TextFormat::JsonLines, &rows, None);
/// let mut text = Vec::new();
/// let mut rows = writer.rows("access.log", &segment, &values);
/// rows.look_up(0..segment.rows());
/// assert!(writer.push(&rows, 0, &mut text), "all values are known");
/// assert_eq!(
///     String::from_utf8(text)?,
///     "{\"file\":\"access.log\",\"time\":\"2025-12-17T09:03:01Z\",\"client\":\"192.0.2.7\",\
///      \"status\":\"404\"}\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TextWriter {
    format: TextFormat,
    columns: Vec<TextColumn>,
    times: TimeText,
}

/// The outcome of writing a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CellOutcome {
    Written,
    Absent,
    /// The value was not kept, so it is absent.
    Unknown,
}

impl TextWriter {
    /// Creates a writer for the rows of a reader. Times are in `zone`, or as logged if it is
    /// `None`.
    pub fn new(format: TextFormat, rows: &RowReader, zone: Option<Zone>) -> Self {
        Self { format, columns: format.columns(rows), times: TimeText::new(zone) }
    }

    /// Returns the rows of a segment, none of which is looked up yet. `file` is the name of its
    /// source.
    pub fn rows<'a>(
        &self,
        file: &str,
        segment: &'a Segment,
        values: &'a Values,
    ) -> SegmentRows<'a> {
        let mut first = Vec::new();
        self.format.push_first(file, &mut first);
        let columns = self.columns.iter().map(|column| column.source.values(segment, values));
        SegmentRows { file: first, columns: columns.collect(), rows: Vec::new() }
    }

    /// Adds a row to a text, by its index among the looked-up rows. Returns whether all of its
    /// values are known. Values that were not kept, because the data set's memory ran out, are
    /// absent.
    ///
    /// # Panics
    /// Panics if fewer rows were looked up.
    pub fn push(&mut self, rows: &SegmentRows<'_>, index: usize, output: &mut Vec<u8>) -> bool {
        output.extend_from_slice(&rows.file);
        let mut is_known = true;
        let row = rows.rows[index];
        for (column, values) in self.columns.iter().zip(&rows.columns) {
            let (start, times) = (column.start.as_slice(), &mut self.times);
            let outcome = push_cell(self.format, times, start, values, row, index, output);
            if outcome != CellOutcome::Written {
                output.extend_from_slice(self.format.absent());
            }
            is_known &= outcome != CellOutcome::Unknown;
        }
        output.extend_from_slice(self.format.row_end());
        is_known
    }
}

/// Adds the cell of a row after `start`, unless the record lacks the field.
fn push_cell(
    format: TextFormat,
    times: &mut TimeText,
    start: &[u8],
    values: &RowValues<'_>,
    row: usize,
    index: usize,
    output: &mut Vec<u8>,
) -> CellOutcome {
    match values {
        RowValues::Absent => return CellOutcome::Absent,
        RowValues::Text(texts) => match texts.values[index] {
            TextValue::Absent => return CellOutcome::Absent,
            TextValue::Unknown => return CellOutcome::Unknown,
            TextValue::Known(value) => {
                output.extend_from_slice(start);
                format.push_text(value, output);
            }
        },
        RowValues::Numbers(numbers) => {
            let Some(number) = numbers.get(row) else { return CellOutcome::Absent };
            output.extend_from_slice(start);
            push_decimal(output, number);
        }
        RowValues::Durations(numbers) => {
            let Some(nanoseconds) = numbers.get(row) else { return CellOutcome::Absent };
            output.extend_from_slice(start);
            push_seconds(output, nanoseconds);
        }
        RowValues::Times(all) => {
            let Some(time) = all.get(row) else { return CellOutcome::Absent };
            output.extend_from_slice(start);
            output.extend_from_slice(format.time_quote());
            times.push(time, output);
            output.extend_from_slice(format.time_quote());
        }
    }
    CellOutcome::Written
}
