//! Exports records while they are read, segment by segment.

use std::collections::BTreeSet;
use std::sync::Arc;

use weir_core::{
    CompiledFilter, Filter, Format, RecordFields, Segment, Selection, Snapshots, Values, Zone,
};
use weir_export::{RowSource, TableSchema, TextFormat, TextWriter};
use weir_view::RecordKind;

use super::columns::{ExportColumns, LateFields};
use super::encoder::{Encoder, Rows};
use super::segment_text::WaitingTexts;
use super::text_writers::TextWriters;
use super::threads::on_threads;
use super::{ExportError, ExportFormat};
use crate::question::ParsedQuery;

/// Exports the records that a query selects while they are read, so that they need not be kept. The
/// caller pushes the segments of a log in order. Their values are needed only during the push.
///
/// The records and their order are those of [`RowExport`](super::RowExport) over the same log.
///
/// # Memory
/// One [batch](weir_export::RowBatch) of rows and its encoded form, or twice the text of one block
/// and of one segment for each thread.
pub struct SegmentExport {
    query: ParsedQuery,
    kind: RecordKind,
    zone: Option<Zone>,
    columns: ExportColumns,
    encoder: Encoder,
    name_of: Box<dyn Fn(u32) -> String + Send>,
    lacks_lines: Box<dyn Fn(u32) -> bool + Send>,
    filter: Option<SelectedRows>,
    /// The number of segments that are written at the same time.
    jobs: usize,
    writers: TextWriters,
    waiting: WaitingTexts,
    /// The bytes before the first record, until they are returned.
    begin: Vec<u8>,
    /// The output of the last call.
    output: Vec<u8>,
    counts: ExportCounts,
    late_fields: BTreeSet<String>,
}

/// A segment with the name of its source, and whether its records were lines.
struct NamedSegment<'a> {
    file: String,
    has_lines: bool,
    segment: &'a Segment,
}

impl NamedSegment<'_> {
    fn source(&self) -> RowSource<'_> {
        RowSource { name: &self.file, has_lines: self.has_lines }
    }
}

/// The record counts of an export.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExportCounts {
    /// The number of exported records.
    pub records: u64,
    /// The number of records of other kinds.
    pub other_kinds: u64,
    /// For a table, the number of missing values: the memory for distinct values ran out before
    /// they were read. For text, the number of records with such a value.
    pub unknown_values: u64,
}

impl SegmentExport {
    /// Creates an export of the records of this kind that the query selects. `name_of` returns the
    /// name of the source with a number.
    ///
    /// Times in text are in `zone`, or as logged if it is `None`.
    ///
    /// # Errors
    /// Encoding errors do not happen.
    pub fn new(
        (query, kind): (ParsedQuery, RecordKind),
        zone: Option<Zone>,
        format: ExportFormat,
        columns: ExportColumns,
        name_of: impl Fn(u32) -> String + Send + 'static,
    ) -> Result<Self, ExportError> {
        let (encoder, begin) = Encoder::new(format, &columns.schema)?;
        Ok(Self {
            query,
            kind,
            zone,
            columns,
            encoder,
            name_of: Box::new(name_of),
            lacks_lines: Box::new(|_| false),
            filter: None,
            jobs: 1,
            writers: TextWriters::default(),
            waiting: WaitingTexts::default(),
            begin,
            output: Vec::new(),
            counts: ExportCounts::default(),
            late_fields: BTreeSet::new(),
        })
    }

    /// Sets which sources have records that were no lines, and so have no offsets.
    #[must_use]
    pub fn without_lines(mut self, lacks_lines: impl Fn(u32) -> bool + Send + 'static) -> Self {
        self.lacks_lines = Box::new(lacks_lines);
        self
    }

    /// Sets the number of threads. The bytes do not depend on it.
    #[must_use]
    pub fn with_jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs.max(1);
        self.encoder.set_jobs(self.jobs);
        self
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> ExportCounts {
        let unknown_in_batches = match &self.encoder {
            Encoder::Table(table) => table.batch().unknown_values(),
            Encoder::Text(_) => 0,
        };
        let unknown_values = self.counts.unknown_values + unknown_in_batches;
        ExportCounts { unknown_values, ..self.counts }
    }

    /// Returns the names of fields that exported segments have and the export lacks, because they
    /// appeared after it had begun.
    pub fn late_fields(&self) -> &BTreeSet<String> {
        &self.late_fields
    }

    /// Adds the records of the next segments of the log. `formats` are those of the data set.
    /// Returns the output since the last call, which may lack the records of the last block.
    ///
    /// # Locks
    /// The values are locked for reading while segments are written, but not while a batch of a
    /// table is encoded.
    ///
    /// # Errors
    /// Fails if the query is not valid for this data. Encoding errors do not happen.
    pub fn push<D: Snapshots>(
        &mut self,
        segments: &[Arc<Segment>],
        formats: &[Arc<Format>],
        data: &D,
    ) -> Result<&[u8], ExportError> {
        self.output.clear();
        self.output.append(&mut self.begin);
        let (of_kind, others): (Vec<&Segment>, Vec<&Segment>) =
            segments.iter().map(Arc::as_ref).partition(|it| it.kind() == self.kind.into());
        self.counts.other_kinds += others.iter().map(|it| it.rows() as u64).sum::<u64>();
        // The names are read before the values are locked.
        let named = of_kind.into_iter().map(|segment| NamedSegment {
            file: (self.name_of)(segment.source()),
            has_lines: !(self.lacks_lines)(segment.source()),
            segment,
        });
        let named: Vec<NamedSegment<'_>> = named.collect();
        for some in named.chunks(self.jobs) {
            match self.encoder {
                Encoder::Text(format) => self.push_text(some, format, formats, &data.values())?,
                Encoder::Table(_) => some.iter().try_for_each(|it| self.push_rows(it, data))?,
            }
        }
        Ok(&self.output)
    }

    /// Writes segments, each on its own thread.
    fn push_text(
        &mut self,
        segments: &[NamedSegment<'_>],
        format: TextFormat,
        formats: &[Arc<Format>],
        values: &Values,
    ) -> Result<(), ExportError> {
        let filter = SelectedRows::refresh(&mut self.filter, &self.query, values)?;
        if self.columns.late_fields == LateFields::Missing {
            for NamedSegment { segment, .. } in segments {
                let late = self.columns.schema.late_fields(segment, values);
                self.late_fields.extend(late.map(|(_, name)| name.to_owned()));
            }
        }
        let schema = || match self.columns.late_fields {
            LateFields::Added => {
                let formats = formats.iter().map(Arc::as_ref);
                TableSchema::of_text(&RecordFields::of(formats, self.kind.into(), |_| true))
            }
            LateFields::Placed | LateFields::Missing => self.columns.schema.clone(),
        };
        let writer = || TextWriter::new(format, schema(), values, self.zone.clone());
        let writers = self.writers.get(formats.len() as u64, segments.len(), writer);
        let spare = self.waiting.spare(segments.len());
        let work = writers.iter_mut().zip(spare).zip(segments);
        let texts = on_threads(work, |((writer, spare), named)| {
            let rows = filter.select(named.segment);
            spare.refill(writer, (named.source(), named.segment), &rows, values)
        });
        for (text, NamedSegment { segment, .. }) in texts.into_iter().zip(segments) {
            self.counts.records += text.rows();
            self.counts.unknown_values += text.unknown_rows;
            self.waiting.push(text, segment, &mut self.output);
        }
        Ok(())
    }

    /// Adds the rows of a segment to the batch of a table. A full batch is encoded first, unless
    /// lines of the segment lie between lines of the batch.
    fn push_rows<D: Snapshots>(
        &mut self,
        named: &NamedSegment<'_>,
        data: &D,
    ) -> Result<(), ExportError> {
        let (source, segment) = (named.source(), named.segment);
        let overlaps = |encoder: &Encoder| matches!(encoder, Encoder::Table(it) if it.batch().overlaps(segment));
        if self.encoder.is_full() && !overlaps(&self.encoder) {
            self.output.extend(self.encoder.encode()?);
        }
        let values = data.values();
        let filter = SelectedRows::refresh(&mut self.filter, &self.query, &values)?;
        let selection = filter.select(segment);
        self.counts.records += selection.len() as u64;
        if let Encoder::Table(table) = &mut self.encoder {
            table.push(Rows { source, segment, values: &values }, &selection);
        }
        Ok(())
    }

    /// Ends the file. Returns the rest of the output.
    ///
    /// # Errors
    /// Encoding errors do not happen.
    pub fn finish(&mut self) -> Result<&[u8], ExportError> {
        self.output.clear();
        self.output.append(&mut self.begin);
        self.waiting.flush(&mut self.output);
        self.output.extend(self.encoder.finish()?);
        Ok(&self.output)
    }
}

/// Selects the rows that a filter accepts.
struct SelectedRows {
    filter: Filter,
    /// The filter, with decisions about the values that are known so far.
    compiled: CompiledFilter,
    /// The number of id reuses when the decisions were made.
    reuses: u64,
}

impl SelectedRows {
    /// Returns the selection of a query, with decisions about all values.
    fn refresh<'a>(
        this: &'a mut Option<Self>,
        query: &ParsedQuery,
        values: &Values,
    ) -> Result<&'a Self, ExportError> {
        let this = match this {
            Some(this) => this,
            None => this.insert(Self::new(query.filter(values)?)),
        };
        if this.compiled.is_unconditional() {
            return Ok(this);
        }
        if this.reuses != values.reuses() {
            this.compiled = CompiledFilter::new(&this.filter);
            this.reuses = values.reuses();
        }
        this.compiled.refresh(values);
        Ok(this)
    }

    fn new(filter: Filter) -> Self {
        Self { compiled: CompiledFilter::new(&filter), filter, reuses: 0 }
    }

    fn select(&self, segment: &Segment) -> Selection {
        match self.compiled.is_unconditional() {
            true => Selection::All(segment.rows()),
            false => self.compiled.select(segment),
        }
    }
}
