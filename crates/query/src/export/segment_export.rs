//! The records of segments, one after another, as a file.

use std::sync::Arc;

use weir_core::{
    CompiledFilter, Filter, Format, RowReader, Segment, Selection, Snapshots, Values, Zone,
};
use weir_export::{TextFormat, TextWriter};
use weir_view::{Query, RecordKind};

use super::encoder::{Encoder, Rows};
use super::segment_text::WaitingTexts;
use super::threads::on_threads;
use super::{ExportError, ExportFormat};

/// Exports the records that a query selects while they are read, so that they need not be kept: the
/// segments of a log are pushed in its order, and their values are needed only meanwhile.
///
/// The records are those of [`RowExport`](super::RowExport) over the same log, in the same order.
///
/// # Memory
/// One [batch](weir_export::RowBatch) of rows and its encoded form, or twice the text of one block and of
/// one segment for each thread.
pub struct SegmentExport {
    query: Query,
    kind: RecordKind,
    zone: Option<Zone>,
    encoder: Encoder,
    name_of: Box<dyn Fn(u32) -> String + Send>,
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
}

/// A segment after the name of its source.
type NamedSegment<'a> = (String, &'a Segment);

/// A writer for each thread.
#[derive(Default)]
struct TextWriters {
    /// The number of formats whose fields they write.
    formats: usize,
    writers: Vec<TextWriter>,
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

impl SegmentExport {
    /// An export of the records of this kind that the query selects. Times in the query are RFC 3339,
    /// see [`settled`](crate::settled). `extra_fields` are the fields that have a column in addition to
    /// those that every format may have. `name_of` returns the name of the source with a number.
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
        name_of: impl Fn(u32) -> String + Send + 'static,
    ) -> Result<Self, ExportError> {
        let (encoder, begin) = Encoder::new(format, kind.into(), extra_fields)?;
        Ok(Self {
            query,
            kind,
            zone,
            encoder,
            name_of: Box::new(name_of),
            filter: None,
            jobs: 1,
            writers: TextWriters::default(),
            waiting: WaitingTexts::default(),
            begin,
            output: Vec::new(),
            counts: ExportCounts::default(),
        })
    }

    /// The same export on up to this number of threads. Its bytes are the same.
    #[must_use]
    pub fn with_jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs.max(1);
        self.encoder.set_jobs(self.jobs);
        self
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

    /// Adds the records of the next segments of the log. `formats` are those of the data set. Returns the
    /// output since the last call, which may lack the records of the last block.
    ///
    /// # Locks
    /// The values are read while segments are written, and not while a batch of a table is encoded.
    ///
    /// # Errors
    /// Fails if the query is not valid for this data, or the rows cannot be encoded, which does not
    /// happen.
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
        // Before the values are locked.
        let named = of_kind.into_iter().map(|it| ((self.name_of)(it.source()), it));
        let named: Vec<NamedSegment> = named.collect();
        for some in named.chunks(self.jobs) {
            match self.encoder {
                Encoder::Text(format) => self.push_text(some, format, formats, &data.values())?,
                Encoder::Table(_) => some.iter().try_for_each(|it| self.push_rows(it, data))?,
            }
        }
        Ok(&self.output)
    }

    /// Writes segments, each on a thread.
    fn push_text(
        &mut self,
        segments: &[NamedSegment<'_>],
        format: TextFormat,
        formats: &[Arc<Format>],
        values: &Values,
    ) -> Result<(), ExportError> {
        let filter = SelectedRows::refreshed(&mut self.filter, &self.query, values)?;
        let writer = || {
            let reader = RowReader::new(formats, values, self.kind.into());
            TextWriter::new(format, &reader, self.zone.clone())
        };
        let writers = self.writers.get(formats.len(), segments.len(), writer);
        let spare = self.waiting.spare(segments.len());
        let work = writers.iter_mut().zip(spare).zip(segments);
        let texts = on_threads(work, |((writer, spare), (file, segment))| {
            spare.replaced(writer, (file, segment), &filter.select(segment), values)
        });
        for (text, (_, segment)) in texts.into_iter().zip(segments) {
            self.counts.records += text.rows();
            self.counts.unknown_values += text.unknown_rows;
            self.waiting.push(text, segment, &mut self.output);
        }
        Ok(())
    }

    /// Adds the rows of a segment to the batch of a table. A batch that is full is encoded before, if
    /// none of the lines of the segment is between its own.
    fn push_rows<D: Snapshots>(
        &mut self,
        (file, segment): &NamedSegment<'_>,
        data: &D,
    ) -> Result<(), ExportError> {
        let overlaps = |encoder: &Encoder| matches!(encoder, Encoder::Table(it) if it.batch().overlaps(segment));
        if self.encoder.is_full() && !overlaps(&self.encoder) {
            self.output.extend(self.encoder.encode()?);
        }
        let values = data.values();
        let filter = SelectedRows::refreshed(&mut self.filter, &self.query, &values)?;
        let selection = filter.select(segment);
        self.counts.records += selection.len() as u64;
        if let Encoder::Table(table) = &mut self.encoder {
            table.push(Rows { file, segment, values: &values }, &selection);
        }
        Ok(())
    }

    /// Ends the file. Returns the rest of the output.
    ///
    /// # Errors
    /// Fails if the rows cannot be encoded, which does not happen.
    pub fn finish(&mut self) -> Result<&[u8], ExportError> {
        self.output.clear();
        self.output.append(&mut self.begin);
        self.waiting.flush(&mut self.output);
        self.output.extend(self.encoder.finish()?);
        Ok(&self.output)
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
    /// The rows that a query selects, with decisions about all values.
    fn refreshed<'a>(
        this: &'a mut Option<Self>,
        query: &Query,
        values: &Values,
    ) -> Result<&'a Self, ExportError> {
        let this = match this {
            Some(this) => this,
            None => this.insert(Self::new(query.question(values)?.filter)),
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

impl TextWriters {
    /// Some writers for this number of formats. Those for fewer may lack fields that records have now.
    fn get(
        &mut self,
        formats: usize,
        writers: usize,
        new: impl FnMut() -> TextWriter,
    ) -> &mut [TextWriter] {
        if self.formats != formats {
            self.formats = formats;
            self.writers.clear();
        }
        if self.writers.len() < writers {
            self.writers.resize_with(writers, new);
        }
        &mut self.writers
    }
}
