//! The records of segments, one after another, as a file.

use std::ops::Range;
use std::sync::Arc;

use weir_core::{CompiledFilter, Filter, Format, RowReader, Segment, Selection, Values, Zone};
use weir_view::{Query, RecordKind};

use super::encoder::{Encoder, RowText, Rows, TextFormat};
use super::{ExportError, ExportFormat};

/// Exports the records that a query selects while they are read, so that they need not be kept: the
/// segments of a log are pushed in its order, and their values are needed only meanwhile.
///
/// The records are those of [`RowExport`](super::RowExport) over the same log, in the same order.
///
/// # Memory
/// One [batch](weir_export::RowBatch) of rows and its encoded form, or the text of one block.
pub struct SegmentExport {
    query: Query,
    kind: RecordKind,
    zone: Option<Zone>,
    encoder: Encoder,
    filter: Option<SelectedRows>,
    text: Option<Current<RowText>>,
    waiting: TextRows,
    output: Vec<u8>,
    counts: ExportCounts,
}

/// Something that holds for a data set as long as this number of it is the same.
struct Current<T> {
    version: u64,
    value: T,
}

/// What an export has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExportCounts {
    /// The records that were exported.
    pub records: u64,
    /// The records of other kinds.
    pub other_kinds: u64,
    /// The values that are missing in the output, because the memory for distinct values was used
    /// up when they were read; of a text, the records with such a value.
    pub unknown_values: u64,
}

/// The text of rows that wait for others of the same block whose lines may be before theirs.
#[derive(Debug, Default)]
struct TextRows {
    text: Vec<u8>,
    /// The offset of each line, and its text.
    rows: Vec<(u64, Range<usize>)>,
    /// The source of the rows, and the offset of its last line.
    last: Option<(u32, u64)>,
}

impl SegmentExport {
    /// An export of the records of this kind that the query selects. Times in the query are RFC 3339,
    /// see [`settled`](crate::settled). `extra_fields` are the fields that have a column in addition to
    /// those that every format may have.
    ///
    /// Times in text are in `zone`, or else as the log has them.
    ///
    /// # Errors
    /// Fails if the columns cannot be encoded, which does not happen.
    pub fn new(
        (query, kind): (Query, RecordKind),
        zone: Option<Zone>,
        format: ExportFormat,
        extra_fields: &[String],
    ) -> Result<Self, ExportError> {
        let (encoder, output) = Encoder::new(format, kind.into(), extra_fields)?;
        Ok(Self {
            query,
            kind,
            zone,
            encoder,
            filter: None,
            text: None,
            waiting: TextRows::default(),
            output,
            counts: ExportCounts::default(),
        })
    }

    /// What was seen so far.
    pub fn counts(&self) -> ExportCounts {
        let unknown_in_batches = match &self.encoder {
            Encoder::Table(table) => table.batch().unknown_values(),
            Encoder::Text(_) => 0,
        };
        let unknown_values = self.counts.unknown_values + unknown_in_batches;
        ExportCounts { unknown_values, ..self.counts }
    }

    /// Encodes rows that wait, if there are enough and none of the next segment belongs between them.
    /// Returns the output so far. Call it before [`Self::push`], without the values.
    ///
    /// # Errors
    /// Fails if the rows cannot be encoded, which does not happen.
    pub fn make_room(&mut self, next: &Segment) -> Result<Vec<u8>, ExportError> {
        match &self.encoder {
            Encoder::Table(table) if table.batch().overlaps(next) => {}
            Encoder::Text(_) if self.waiting.overlaps(next) => {}
            Encoder::Table(_) if !self.encoder.is_full() => {}
            Encoder::Table(_) => self.output.extend(self.encoder.encode()?),
            Encoder::Text(_) => self.waiting.flush(&mut self.output),
        }
        Ok(std::mem::take(&mut self.output))
    }

    /// Adds the records of the next segment of the log. `formats` are those of the data set.
    ///
    /// # Errors
    /// Fails if the query is not valid for this data.
    pub fn push(
        &mut self,
        segment: &Segment,
        file: &str,
        formats: &[Arc<Format>],
        values: &Values,
    ) -> Result<(), ExportError> {
        if segment.kind() != self.kind.into() {
            self.counts.other_kinds += segment.rows() as u64;
            return Ok(());
        }
        let filter = match &mut self.filter {
            Some(filter) => filter,
            None => self.filter.insert(SelectedRows::new(self.query.question(values)?.filter)),
        };
        let selection = filter.select(segment, values);
        self.counts.records += selection.len() as u64;
        let rows = Rows { file, segment, values };
        match &mut self.encoder {
            Encoder::Table(table) => table.push(rows, &selection),
            Encoder::Text(format) => {
                let version = formats.len() as u64;
                let text = Current::get(&mut self.text, version, || {
                    RowText::new(RowReader::new(formats, values, self.kind.into()))
                });
                let (format, zone, waiting) = (*format, self.zone.as_ref(), &mut self.waiting);
                selection.for_each(|row| {
                    let is_known = waiting.push(text, format, rows, row, zone);
                    self.counts.unknown_values += u64::from(!is_known);
                });
            }
        }
        Ok(())
    }

    /// Ends the file. Returns the rest of the output.
    ///
    /// # Errors
    /// Fails if the rows cannot be encoded, which does not happen.
    pub fn finish(&mut self) -> Result<Vec<u8>, ExportError> {
        self.waiting.flush(&mut self.output);
        self.output.extend(self.encoder.finish()?);
        Ok(std::mem::take(&mut self.output))
    }
}

/// The rows that a filter selects.
struct SelectedRows {
    filter: Filter,
    /// The filter with decisions about the values of the first ids.
    compiled: CompiledFilter,
    /// Ids had this meaning then.
    reuses: u64,
}

impl SelectedRows {
    fn new(filter: Filter) -> Self {
        Self { compiled: CompiledFilter::new(&filter), filter, reuses: 0 }
    }

    fn select(&mut self, segment: &Segment, values: &Values) -> Selection {
        if self.compiled.is_unconditional() {
            return Selection::All(segment.rows());
        }
        if self.reuses != values.reuses() {
            self.compiled = CompiledFilter::new(&self.filter);
            self.reuses = values.reuses();
        }
        self.compiled.refresh(values);
        self.compiled.select(segment)
    }
}

impl<T> Current<T> {
    /// The value for this version, made if there is none.
    fn get(current: &mut Option<Self>, version: u64, make: impl FnOnce() -> T) -> &mut T {
        let known = current.take().filter(|known| known.version == version);
        &mut current.insert(known.unwrap_or_else(|| Self { version, value: make() })).value
    }
}

impl TextRows {
    fn push(
        &mut self,
        text: &RowText,
        format: TextFormat,
        rows: Rows<'_>,
        row: usize,
        zone: Option<&Zone>,
    ) -> bool {
        let (start, offset) = (self.text.len(), rows.segment.line_offset(row));
        let is_known = text.write(format, rows, row, zone, &mut self.text);
        self.rows.push((offset, start..self.text.len()));
        let source = rows.segment.source();
        let last = self.last.filter(|last| last.0 == source).map_or(0, |last| last.1);
        self.last = Some((source, last.max(offset)));
        is_known
    }

    /// Whether the first line of a segment is before the last one here.
    fn overlaps(&self, segment: &Segment) -> bool {
        let is_before = |(source, last)| {
            source == segment.source() && segment.rows() > 0 && segment.line_offset(0) < last
        };
        !self.rows.is_empty() && self.last.is_some_and(is_before)
    }

    /// Moves the text to `output`, in the order of the lines.
    fn flush(&mut self, output: &mut Vec<u8>) {
        if self.rows.is_sorted_by_key(|(offset, _)| *offset) {
            output.append(&mut self.text);
        } else {
            self.rows.sort_by_key(|(offset, _)| *offset);
            self.rows.iter().for_each(|(_, row)| output.extend(&self.text[row.clone()]));
        }
        self.text.clear();
        self.rows.clear();
        self.last = None;
    }
}
