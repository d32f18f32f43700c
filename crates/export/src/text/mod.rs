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

use weir_core::{Segment, Times, Values, Zone, push_decimal, push_seconds};

pub use columns::SegmentRows;
pub use format::TextFormat;

use columns::{RowValues, TextColumn, TextValue};
use time_text::TimeText;

use crate::RowSource;
use crate::cell_values::{NO_VALUE, status_code};
use crate::schema::TableSchema;

/// Writes rows as text.
///
/// A row has the columns of a [`TableSchema`]. In CSV a cell is empty if the record lacks the field, and
/// in JSON the member is left out. Sizes are in bytes, durations in seconds, and times in RFC 3339.
/// Bytes that are not UTF-8 become U+FFFD.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use weir_core::{Block, BlockLimits, BlockReader, Format, Values};
/// use weir_export::{TableSchema, TextFormat, TextWriter};
///
/// let format = Arc::new(Format::parse("$remote_addr [$time_local] $status")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format.clone(), BlockLimits::default(), &mut values);
/// let block = Block::new(b"192.0.2.7 [17/Dec/2025:09:03:01 +0000] 404\n".to_vec());
/// let segment = reader.read_segment(&block, 0, &mut values);
///
/// let schema = TableSchema::of_text(&format.record_fields());
/// let mut writer = TextWriter::new(TextFormat::JsonLines, schema, &values, None);
/// let mut text = Vec::new();
/// let mut rows = writer.rows("access.log", &segment, &values);
/// rows.look_up(0..segment.rows());
/// assert!(writer.push(&rows, 0, &mut text), "all values are known");
/// assert_eq!(
///     String::from_utf8(text)?,
///     "{\"file\":\"access.log\",\"time\":\"2025-12-17T09:03:01Z\",\"client\":\"192.0.2.7\",\
///      \"status\":\"404\",\"status_code\":404}\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TextWriter {
    format: TextFormat,
    schema: TableSchema,
    columns: Vec<TextColumn>,
    times: TimeText,
}

/// The outcome of writing a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CellOutcome {
    Written,
    /// It was written without values that were not kept.
    WrittenInPart,
    Absent,
    /// The value was not kept, so it is absent.
    Unknown,
}

impl TextWriter {
    /// Creates a writer of rows with these columns. Times are in `zone`, or as logged if it is
    /// `None`. The writer knows the columns that the data set has now.
    pub fn new(
        format: TextFormat,
        schema: TableSchema,
        values: &Values,
        zone: Option<Zone>,
    ) -> Self {
        let column = |column| TextColumn::new(column, format, values);
        let columns = schema.columns().iter().map(column).collect();
        Self { format, schema, columns, times: TimeText::new(zone) }
    }

    /// Returns the rows of a segment, none of which is looked up yet.
    pub fn rows<'a, 's>(
        &self,
        source: impl Into<RowSource<'s>>,
        segment: &'a Segment,
        values: &'a Values,
    ) -> SegmentRows<'a> {
        let source = source.into();
        let mut cell = Vec::new();
        self.format.push_text(source.name.as_bytes(), &mut cell);
        let with_lines = source.has_lines.then_some(segment);
        let of_column = |column: &TextColumn| match column.is_line_offset() {
            true => with_lines.map_or(RowValues::Absent, RowValues::LineOffsets),
            false => column.values(&self.schema, &cell, segment, values),
        };
        SegmentRows { columns: self.columns.iter().map(of_column).collect(), rows: Vec::new() }
    }

    /// Adds a row to a text, by its index among the looked-up rows. Returns whether all of its
    /// values are known. Values that were not kept, because the data set's memory ran out, are
    /// absent.
    ///
    /// # Panics
    /// Panics if fewer rows were looked up.
    pub fn push(&mut self, rows: &SegmentRows<'_>, index: usize, output: &mut Vec<u8>) -> bool {
        output.extend_from_slice(self.format.row_start());
        let mut is_known = true;
        // The comma before the first cell is removed.
        let mut skipped = 1;
        let mut row = CellWriter {
            format: self.format,
            times: &mut self.times,
            row: rows.rows[index],
            index,
        };
        let start = output.len();
        for (column, values) in self.columns.iter().zip(&rows.columns) {
            let outcome = row.push(&column.start[skipped..], values, output);
            is_known &= matches!(outcome, CellOutcome::Written | CellOutcome::Absent);
            match outcome {
                CellOutcome::Written | CellOutcome::WrittenInPart => skipped = 0,
                CellOutcome::Absent | CellOutcome::Unknown => {
                    let absent = self.format.absent();
                    output.extend_from_slice(absent.get(skipped..).unwrap_or_default());
                    skipped = skipped.saturating_sub(absent.len());
                }
            }
        }
        if output.len() == start && self.format == TextFormat::Csv {
            // Programs take an empty line for none.
            output.extend_from_slice(b"\"\"");
        }
        output.extend_from_slice(self.format.row_end());
        is_known
    }
}

/// Writes the cells of a row.
struct CellWriter<'a> {
    format: TextFormat,
    times: &'a mut TimeText,
    row: usize,
    /// The index of the row among the looked-up rows.
    index: usize,
}

impl CellWriter<'_> {
    /// Adds the cell of a column after `start`, unless the record lacks the field.
    #[inline]
    fn push(&mut self, start: &[u8], values: &RowValues<'_>, output: &mut Vec<u8>) -> CellOutcome {
        match values {
            RowValues::Text(texts) => match texts.values[self.index] {
                TextValue::Known(NO_VALUE) if !texts.has_literal_dash => CellOutcome::Absent,
                TextValue::Known(value) => {
                    output.extend_from_slice(start);
                    self.format.push_text(value, output);
                    CellOutcome::Written
                }
                TextValue::Absent => CellOutcome::Absent,
                TextValue::Unknown => CellOutcome::Unknown,
            },
            RowValues::Object(members) => self.push_object(start, members, output),
            values => match self.push_number(start, values, output) {
                Some(()) => CellOutcome::Written,
                None => CellOutcome::Absent,
            },
        }
    }

    /// Adds the cell of a column of numbers or times. Returns `None` if the record lacks the field.
    #[inline]
    fn push_number(
        &mut self,
        start: &[u8],
        values: &RowValues<'_>,
        output: &mut Vec<u8>,
    ) -> Option<()> {
        let row = self.row;
        let begin = |output: &mut Vec<u8>| output.extend_from_slice(start);
        match values {
            RowValues::Cell(cell) => {
                begin(output);
                output.extend_from_slice(cell);
            }
            RowValues::Numbers(numbers) => {
                let number = numbers.get(row)?;
                begin(output);
                push_decimal(output, number);
            }
            RowValues::Durations(numbers) => {
                let nanoseconds = numbers.get(row)?;
                begin(output);
                push_seconds(output, nanoseconds);
            }
            RowValues::Times(all) => {
                let time = all.get(row)?;
                begin(output);
                output.extend_from_slice(self.format.time_quote());
                self.times.push(time, output);
                output.extend_from_slice(self.format.time_quote());
            }
            RowValues::StatusCodes(texts) => {
                let TextValue::Known(status) = texts.values[self.index] else { return None };
                match status {
                    // A number is written as almost every status is.
                    [b'1'..=b'9', b'0'..=b'9', b'0'..=b'9'] => {
                        begin(output);
                        output.extend_from_slice(status);
                    }
                    _ => {
                        let code = status_code(status)?;
                        begin(output);
                        push_signed(output, code.into());
                    }
                }
            }
            RowValues::LineOffsets(segment) => {
                begin(output);
                push_decimal(output, segment.line_offset(row));
            }
            RowValues::Nanoseconds(times) => {
                let instant = Times::decode_instant(times.instants().get(row)?);
                begin(output);
                push_signed(output, instant);
            }
            RowValues::ZoneOffsets(times) => {
                let offset = Times::decode_offset(times.offsets().get(row)?);
                begin(output);
                push_signed(output, offset.into());
            }
            RowValues::Absent | RowValues::Text(_) | RowValues::Object(_) => return None,
        }
        Some(())
    }

    /// Adds an object with the members that the record has, if there are some.
    fn push_object(
        &mut self,
        start: &[u8],
        members: &[(Vec<u8>, RowValues<'_>)],
        output: &mut Vec<u8>,
    ) -> CellOutcome {
        let (mut object, mut is_known) = (Vec::new(), true);
        let format = std::mem::replace(&mut self.format, TextFormat::JsonLines);
        for (key, values) in members {
            is_known &= self.push(key, values, &mut object) != CellOutcome::Unknown;
        }
        self.format = format;
        let Some(first) = object.first_mut() else {
            return if is_known { CellOutcome::Absent } else { CellOutcome::Unknown };
        };
        *first = b'{';
        object.push(b'}');
        output.extend_from_slice(start);
        format.push_object(&object, output);
        if is_known { CellOutcome::Written } else { CellOutcome::WrittenInPart }
    }
}

fn push_signed(output: &mut Vec<u8>, number: i64) {
    if number < 0 {
        output.push(b'-');
    }
    push_decimal(output, number.unsigned_abs());
}
