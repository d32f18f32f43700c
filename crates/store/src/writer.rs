//! Writes data sets.

use std::io::{self, Write};
use std::sync::Arc;

use weir_core::{ColumnId, Format, Segment, TimeBounds, Values};

use crate::code::Encoder;
use crate::format_table::FormatTable;
use crate::reader::StoredData;
use crate::record::{RecordKind, write_header, write_record};
use crate::section::Tag;
use crate::source::{StoredSource, Summary};
use crate::{segment, values};

/// The bytes of a part after which it is written.
const PART_BYTES: usize = 4 << 20;

/// Writes a data set, or changes of one.
///
/// The sections of a record are collected in memory. [`Self::write_part`] and [`Self::commit`] write
/// them. Columns come before the values and segments that have them, and values before the segments
/// that refer to them.
#[derive(Debug, Default)]
pub struct Writer {
    record: Encoder,
    formats: FormatTable,
    columns: usize,
}

impl Writer {
    /// Begins a data set with its header.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(output: &mut impl Write) -> io::Result<Self> {
        write_header(output)?;
        Ok(Self::default())
    }

    /// Goes on after the data set that was read.
    pub fn after(data: &StoredData) -> Self {
        let mut formats = FormatTable::default();
        formats.continue_after(&data.format_table);
        Self { record: Encoder::default(), formats, columns: data.columns() }
    }

    /// The number of columns that were written.
    pub fn written_columns(&self) -> usize {
        self.columns
    }

    /// Adds columns: those that follow the written ones in the schema.
    pub fn columns<'a>(&mut self, names: impl ExactSizeIterator<Item = &'a str>) {
        if names.len() > 0 {
            self.columns += names.len();
            self.record.section(Tag::Columns, |encoder| {
                encoder.list(names, |encoder, name| encoder.text(name.as_bytes()));
            });
        }
    }

    /// Adds the values of a column with ids from `first` up to `end`, or fewer. Returns the id after
    /// the last one.
    pub fn values(&mut self, values: &Values, column: ColumnId, first: usize, end: usize) -> usize {
        self.record
            .section(Tag::Values, |encoder| values::encode(encoder, values, column, first, end))
    }

    /// Adds a segment, with its number and the rows that count.
    pub fn segment(&mut self, number: u64, segment: &Segment, bounds: TimeBounds) {
        self.record.section(Tag::Segment, |encoder| {
            segment::encode(encoder, number, segment, bounds);
        });
    }

    /// Adds that segments have left the data set.
    pub fn remove(&mut self, numbers: &[u64]) {
        if !numbers.is_empty() {
            self.record.section(Tag::Removed, |encoder| {
                encoder.list(numbers.iter(), |encoder, number| encoder.u64(*number));
            });
        }
    }

    /// Adds what is known of the columns beside their values.
    pub fn column_states(&mut self, values: &Values) {
        for (column, _) in values.schema().text_columns() {
            let state = values.column_state(column);
            if state.is_estimated {
                self.record.section(Tag::ColumnState, |encoder| {
                    values::encode_state(encoder, column, &state);
                });
            }
        }
    }

    /// Adds sources with their numbers, in place of those with the same numbers, and the formats of
    /// the data set and its summary, in place of those before.
    pub fn summary(
        &mut self,
        sources: &[(u32, StoredSource)],
        formats: &[Arc<Format>],
        summary: &Summary,
    ) {
        let (mut tail, table) = (Encoder::default(), &mut self.formats);
        tail.section(Tag::Sources, |encoder| {
            encoder.list(sources.iter(), |encoder, (number, source)| {
                encoder.u32(*number);
                source.encode(encoder, table);
            });
        });
        tail.section(Tag::Summary, |encoder| {
            encoder.list(formats.iter(), |encoder, format| encoder.u32(table.number(format)));
            summary.encode(encoder);
        });
        // The formats that they refer to come first.
        if let Some(formats) = self.formats.encode_new() {
            self.record
                .section(Tag::Formats, |encoder| encoder.bytes.extend_from_slice(&formats.bytes));
        }
        self.record.bytes.extend_from_slice(&tail.bytes);
    }

    /// The bytes that are collected.
    pub fn pending_bytes(&self) -> usize {
        self.record.bytes.len()
    }

    /// Writes what was added as a part if it is large enough. Returns the bytes written.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_part(&mut self, output: &mut impl Write) -> io::Result<u64> {
        if self.pending_bytes() < PART_BYTES {
            return Ok(0);
        }
        self.write(output, RecordKind::Part)
    }

    /// Writes what was added. With it, the data set is complete. Returns the bytes written.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn commit(&mut self, output: &mut impl Write) -> io::Result<u64> {
        self.write(output, RecordKind::Commit)
    }

    fn write(&mut self, output: &mut impl Write, kind: RecordKind) -> io::Result<u64> {
        let written = write_record(output, kind, &self.record.bytes);
        self.record.bytes.clear();
        written
    }
}
