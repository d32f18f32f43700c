//! Exports the records of a data set that a query selects, in parts.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{ColumnId, RecordFields, Segment, Selection, Snapshot, Snapshots, Values, Zone};
use weir_export::{RowSource, SegmentRows, TableSchema, TextFormat, TextWriter};

use super::columns::{ExportColumns, LateFields};
use super::encoder::{Encoder, Rows, TableEncoder};
use super::row_cursor::{GroupRow, RowCursor};
use super::text_writers::TextWriters;
use super::threads::on_threads;
use super::{ExportError, ExportFormat};
use crate::question::ParsedQuery;

/// The size at which a part is complete, in bytes.
const PART_BYTES: usize = 64 << 10;

/// The maximum number of threads that write a part, so that parts do not grow with the machine.
const JOBS_MAX: usize = 4;

/// The number of rows that a thread takes at once, enough to make a thread worthwhile.
const TEXT_ROWS_MAX: usize = 1_024;

/// A thread stops after it has written this many bytes. Few rows are so long.
const TEXT_BYTES_MAX: usize = 512 << 10;

/// A part ends after this many groups of segments even if it is short, so that its reader can stop.
const PART_GROUPS_MAX: usize = 16;

/// The maximum number of rows that are added to a batch at once.
const RUN_ROWS_MAX: usize = 4_096;

/// Writes the rows of a data set that a query selects, part by part.
///
/// It exports the rows of a snapshot, ordered by source and by line. Two exports of the same rows
/// of one snapshot have the same bytes. [`weir_export::TextWriter`] describes text, and
/// [`weir_export::TableSchema`] the columns of a table. Rows that expire before they are written
/// are left out. A value that was not kept, because memory ran out, is absent.
///
/// # Locks
/// The values are locked for reading while a part is written, and not between parts.
///
/// # Memory
/// A part of 64 KiB, and for text 512 KiB and one row for each of up to 4 threads, for a table a
/// [batch](weir_export::RowBatch) and its encoded form. Also 16 bytes for each row of a few
/// segments, and a snapshot: segments that expire during an export are freed after it.
///
/// # Examples
/// ```
/// use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};
/// use weir_query::{ExportFormat, ParsedQuery, RowExport};
/// use weir_view::Query;
///
/// let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
/// let pipeline = Pipeline::start(&PipelineOptions::new(1, Retention::Segments), data.clone());
/// let mut log = pipeline.source("access.log", None, FormatChoice::Detect);
/// log.write_all(b"192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 404 17\n");
/// log.finish(SourceEnd::Done);
/// pipeline.finish();
///
/// let name = |_| "access.log".to_owned();
/// let (snapshot, query) = (data.snapshot(), ParsedQuery::parse(&Query::default())?);
/// let mut export = RowExport::new(data, &snapshot, query, ExportFormat::JsonLines, name)?;
/// let text = export.next_part()?.unwrap_or_default();
/// assert!(text.starts_with(b"{\"file\":\"access.log\",\"time\":\"2025-12-17T09:03:01Z\","));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RowExport<D> {
    data: Arc<D>,
    cursor: RowCursor,
    format: ExportFormat,
    columns: ExportColumns,
    encoder: Encoder,
    /// The bytes before the first row, until they are returned.
    begin: Vec<u8>,
    /// The number of threads that write a part.
    jobs: usize,
    /// The limit of the rows of a table's batch.
    batch_rows_max: usize,
    writers: TextWriters,
    zone: Option<Zone>,
    name_of: Box<dyn Fn(u32) -> String + Send>,
    lacks_lines: Box<dyn Fn(u32) -> bool + Send>,
    /// The name of the source of the rows that are being written.
    file: String,
    /// Whether its records were lines.
    has_lines: bool,
}

impl<D: Snapshots> RowExport<D> {
    /// Creates an export of the rows of a snapshot. If the snapshot's ids are stale, it exports the
    /// rows that the data set holds now, except those added after the snapshot. `name_of` returns
    /// the name of the source with a number.
    ///
    /// # Errors
    /// Fails if the query is not valid for this data.
    pub fn new(
        data: Arc<D>,
        snapshot: &Snapshot<D::Source>,
        query: ParsedQuery,
        format: ExportFormat,
        name_of: impl Fn(u32) -> String + Send + 'static,
    ) -> Result<Self, ExportError> {
        Self::new_until(data, snapshot, query, format, name_of, Arc::default())
    }

    /// As [`Self::new`]. The work of the filter, which may take long, ends when `should_stop`
    /// becomes true.
    ///
    /// # Errors
    /// As for [`Self::new`], and if the work was stopped.
    pub fn new_until(
        data: Arc<D>,
        snapshot: &Snapshot<D::Source>,
        query: ParsedQuery,
        format: ExportFormat,
        name_of: impl Fn(u32) -> String + Send + 'static,
        should_stop: Arc<AtomicBool>,
    ) -> Result<Self, ExportError> {
        let zone = query.zone.clone();
        let cursor = RowCursor::new(&*data, snapshot, query, should_stop)?;
        let columns = columns_of(&*data, snapshot, &cursor, format);
        let (encoder, begin) = Encoder::new(format, &columns.schema)?;
        Ok(Self {
            data,
            cursor,
            format,
            columns,
            encoder,
            begin,
            jobs: 1,
            batch_rows_max: usize::MAX,
            writers: TextWriters::default(),
            zone,
            name_of: Box::new(name_of),
            lacks_lines: Box::new(|_| false),
            file: String::new(),
            has_lines: true,
        })
    }

    /// Selects the named columns, in the order of the names; see [`TableSchema::select`].
    ///
    /// # Errors
    /// If there is no such column.
    pub fn with_columns(mut self, names: &[String]) -> Result<Self, ExportError> {
        self.columns = self.columns.select(names)?;
        (self.encoder, self.begin) = Encoder::new(self.format, &self.columns.schema)?;
        self.encoder.set_jobs(self.jobs);
        self.encoder.set_batch_rows_max(self.batch_rows_max);
        Ok(self)
    }

    /// Sets which sources have records that were no lines, and so have no offsets.
    #[must_use]
    pub fn without_lines(mut self, lacks_lines: impl Fn(u32) -> bool + Send + 'static) -> Self {
        self.lacks_lines = Box::new(lacks_lines);
        self
    }

    /// Sets the number of threads, at most 4. The bytes do not depend on it.
    #[must_use]
    pub fn with_jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs.clamp(1, JOBS_MAX);
        self.encoder.set_jobs(self.jobs);
        self
    }

    /// Sets the rows of a table's batch, from 1,024 to 65,536, which is the default. The bytes of the
    /// table depend on it.
    #[must_use]
    pub fn with_batch_rows_max(mut self, rows: usize) -> Self {
        self.batch_rows_max = rows;
        self.encoder.set_batch_rows_max(rows);
        self
    }

    /// Returns the next part of the file, which may be empty, or `None` at the end. A part of text
    /// takes about a millisecond, or longer if few rows are selected. A batch of a table takes a
    /// few hundred milliseconds.
    ///
    /// # Errors
    /// Fails if the query is no longer valid, or the work was stopped. Encoding errors do not happen.
    pub fn next_part(&mut self) -> Result<Option<Vec<u8>>, ExportError> {
        let mut part = std::mem::take(&mut self.begin);
        let data = self.data.clone();
        for group in 0.. {
            let values = self.cursor.values(&*data)?;
            match &mut self.encoder {
                Encoder::Text(format) => {
                    let format = *format;
                    self.write_text(format, &values, &mut part);
                }
                Encoder::Table(table) => {
                    let source = RowSource { name: &self.file, has_lines: self.has_lines };
                    write_table(table, &mut self.cursor, source, &values);
                }
            }
            drop(values);
            let is_full = self.encoder.is_full();
            if is_full {
                part.extend(self.encoder.encode()?);
            }
            if is_full || part.len() >= PART_BYTES || group == PART_GROUPS_MAX {
                break;
            }
            let Some(source) = self.cursor.enter_next_group() else {
                part.extend(self.encoder.finish()?);
                return Ok((!part.is_empty()).then_some(part));
            };
            self.file = (self.name_of)(source);
            self.has_lines = !(self.lacks_lines)(source);
        }
        Ok(Some(part))
    }

    /// Writes the next rows of the group until the part is complete, on several threads if there
    /// are many.
    fn write_text(&mut self, format: TextFormat, values: &Values, part: &mut Vec<u8>) {
        let (formats, zone) = (self.cursor.formats(), &self.zone);
        let schema = || match self.columns.late_fields {
            LateFields::Added => {
                let (formats, kind) = (formats.iter().map(Arc::as_ref), self.cursor.kind());
                TableSchema::of_text(&RecordFields::of(formats, kind.into(), |_| true))
            }
            LateFields::Placed | LateFields::Missing => self.columns.schema.clone(),
        };
        let writer = || TextWriter::new(format, schema(), values, zone.clone());
        let writers = self.writers.get(self.cursor.epoch(), self.jobs, writer);
        while part.len() < PART_BYTES && !self.cursor.rows().is_empty() {
            let source = RowSource { name: &self.file, has_lines: self.has_lines };
            let group = GroupText { cursor: &self.cursor, source, values };
            let runs: Vec<_> = group.cursor.rows().chunks(TEXT_ROWS_MAX).take(self.jobs).collect();
            let work = writers.iter_mut().zip(&runs);
            let texts = on_threads(work, |(writer, run)| group.write(writer, run));
            let mut written = 0;
            for ((text, rows), run) in texts.into_iter().zip(&runs) {
                // Most parts have one text, which need not be copied.
                match part.is_empty() {
                    true => *part = text,
                    false => part.extend(text),
                }
                written += rows;
                if rows < run.len() {
                    // The remaining rows are written again, in their order.
                    break;
                }
            }
            self.cursor.pass(written);
        }
    }
}

/// Returns the columns of an export of a snapshot. A text has those of the fields that the records of
/// the kind have.
fn columns_of<D: Snapshots>(
    data: &D,
    snapshot: &Snapshot<D::Source>,
    cursor: &RowCursor,
    format: ExportFormat,
) -> ExportColumns {
    let kind = cursor.kind().into();
    let of_kind = |segment: &&Segment| segment.kind() == kind;
    let segments = || snapshot.segments.iter().map(|it| &*it.segment).filter(of_kind);
    let values = data.values();
    let seen: HashSet<ColumnId> = match format {
        ExportFormat::Csv => segments().flat_map(|it| it.columns().map(|(id, _)| id)).collect(),
        _ => HashSet::new(),
    };
    let columns = values.schema().columns().filter(|(id, _)| seen.contains(id));
    let seen: HashSet<&str> = columns.map(|(_, column)| column.name.as_str()).collect();
    let is_seen = |name: &str| format != ExportFormat::Csv || seen.contains(name);
    let formats = snapshot.formats.iter().map(Arc::as_ref);
    let fields = RecordFields::of(formats, kind, is_seen);
    let has_nanoseconds = |it: &Segment| it.times().is_some_and(|times| times.has_nanoseconds());
    let has_nanoseconds = !format.is_text() && segments().any(has_nanoseconds);
    ExportColumns::new(format, &fields, has_nanoseconds)
}

/// The data that a thread needs to write rows of a group.
struct GroupText<'a> {
    cursor: &'a RowCursor,
    source: RowSource<'a>,
    values: &'a Values,
}

impl GroupText<'_> {
    /// Writes rows until the text is long enough. Returns the text, and the number of rows, at
    /// least one.
    fn write(&self, writer: &mut TextWriter, rows: &[GroupRow]) -> (Vec<u8>, usize) {
        let segments = self.cursor.segments().iter();
        let mut segments: Vec<_> =
            segments.map(|it| writer.rows(self.source, it, self.values)).collect();
        let mut text = Vec::with_capacity(PART_BYTES);
        let mut written = 0;
        // Nearly always, all rows belong to one segment.
        for run in rows.chunk_by(|one, next| one.0 == next.0) {
            for run in run.chunks(SegmentRows::LOOK_UP_ROWS) {
                let segment = &mut segments[run[0].0];
                segment.look_up(run.iter().map(|(_, row)| *row));
                for (number, row) in run.iter().enumerate() {
                    if text.len() >= TEXT_BYTES_MAX {
                        return (text, written);
                    }
                    if self.cursor.is_new(*row) {
                        writer.push(segment, number, &mut text);
                    }
                    written += 1;
                }
            }
        }
        (text, written)
    }
}

/// Adds rows of the group until the batch is full. Consecutive rows of one segment are added
/// together.
fn write_table(
    table: &mut TableEncoder,
    cursor: &mut RowCursor,
    source: RowSource<'_>,
    values: &Values,
) {
    while !table.batch().is_full()
        && let Some((index, _)) = cursor.rows().first()
    {
        let segment = &*cursor.segments()[*index];
        let of_segment = cursor.rows().iter().take_while(|(other, _)| other == index);
        let rows_max = table.batch().rows_left().clamp(1, RUN_ROWS_MAX);
        let run: Vec<&GroupRow> = of_segment.take(rows_max).collect();
        let new = run.iter().filter(|row| cursor.is_new(***row));
        let rows = new.map(|(_, row)| *row as u32).collect();
        table.push(Rows { source, segment, values }, &Selection::Rows(rows));
        let passed = run.len();
        cursor.pass(passed);
    }
}
