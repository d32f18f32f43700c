//! Exports the records of a data set that a query selects, in parts.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use weir_core::{
    CompiledFilter, RowReader, Segment, Selection, Snapshot, SnapshotSegment, Snapshots, Values,
    Zone,
};
use weir_export::{SegmentRows, TextFormat, TextWriter};
use weir_view::{RecordKind, main_kind};

use super::encoder::{Encoder, Rows, TableEncoder};
use super::threads::on_threads;
use super::{ExportError, ExportFormat};
use crate::extents::Extents;
use crate::line_order::{in_line_order, rows_in_line_order};
use crate::question::{ParsedQuery, QueryError};

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
    query: ParsedQuery,
    encoder: Encoder,
    /// The bytes before the first row, until they are returned.
    begin: Vec<u8>,
    /// The number of threads that write a part.
    jobs: usize,
    /// A writer for each thread that has been needed so far.
    writers: Vec<TextWriter>,
    zone: Option<Zone>,
    name_of: Box<dyn Fn(u32) -> String + Send>,
    /// The offset of the last line of each source in the first snapshot.
    last_lines: HashMap<u32, u64>,
    /// The source and the line offset of the last row that was written or skipped.
    passed: Option<(u32, u64)>,
    cursor: SnapshotCursor,
}

/// The progress through one snapshot.
pub(super) struct SnapshotCursor {
    pub(super) epoch: u64,
    filter: CompiledFilter,
    pub(super) reader: RowReader,
    /// The segments that were not read yet.
    groups: VecDeque<Vec<SnapshotSegment>>,
    /// The group that is being read: its segments, its rows that were not written yet, and the name
    /// of its source.
    pub(super) segments: Vec<Arc<Segment>>,
    pub(super) rows: std::vec::IntoIter<(usize, usize)>,
    file: String,
    /// The offset of the source's last line in the first snapshot; `None` if the source is newer.
    last_line: Option<u64>,
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
        mut query: ParsedQuery,
        format: ExportFormat,
        name_of: impl Fn(u32) -> String + Send + 'static,
    ) -> Result<Self, ExportError> {
        let kind = *query.kind.get_or_insert_with(|| kind_of(snapshot));
        let zone = query.zone.clone();
        let cursor = match SnapshotCursor::new(&*data, snapshot, &query, kind)? {
            Some(cursor) => cursor,
            None => SnapshotCursor::of_current(&*data, &query, kind)?,
        };
        let (encoder, begin) =
            Encoder::new(format, kind.into(), cursor.reader.fields().extra_fields())?;
        Ok(Self {
            query,
            encoder,
            begin,
            jobs: 1,
            writers: Vec::new(),
            zone,
            name_of: Box::new(name_of),
            last_lines: last_lines(snapshot),
            passed: None,
            cursor,
            data,
        })
    }

    /// Sets the number of threads, at most 4. The bytes do not depend on it.
    #[must_use]
    pub fn with_jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs.clamp(1, JOBS_MAX);
        self.encoder.set_jobs(self.jobs);
        self
    }

    /// Returns the next part of the file, which may be empty, or `None` at the end. A part of text
    /// takes about a millisecond, or longer if few rows are selected. A batch of a table takes a
    /// few hundred milliseconds.
    ///
    /// # Errors
    /// Fails if the query is no longer valid. Encoding errors do not happen.
    pub fn next_part(&mut self) -> Result<Option<Vec<u8>>, ExportError> {
        let mut part = std::mem::take(&mut self.begin);
        let mut groups = 0;
        loop {
            let data = self.data.clone();
            let values = data.values();
            if values.reuses() != self.cursor.epoch {
                drop(values);
                self.begin_again()?;
                continue;
            }
            self.write_rows(&values, &mut part);
            drop(values);
            let is_full = self.encoder.is_full();
            if is_full {
                part.extend(self.encoder.encode()?);
            }
            if is_full || part.len() >= PART_BYTES || groups == PART_GROUPS_MAX {
                return Ok(Some(part));
            }
            if !self.enter_next_group() {
                part.extend(self.encoder.finish()?);
                return Ok((!part.is_empty()).then_some(part));
            }
            groups += 1;
        }
    }

    /// Continues with a new snapshot, because ids of the old one may have been reused.
    fn begin_again(&mut self) -> Result<(), QueryError> {
        let kind = self.query.kind.unwrap_or_default();
        self.cursor = SnapshotCursor::of_current(&*self.data, &self.query, kind)?;
        // The old writers may lack new fields.
        self.writers.clear();
        Ok(())
    }

    /// Writes rows of the group until the part or the batch is complete.
    fn write_rows(&mut self, values: &Values, part: &mut Vec<u8>) {
        match &mut self.encoder {
            Encoder::Text(format) => {
                let format = *format;
                self.write_text(format, values, part);
            }
            Encoder::Table(table) => {
                let mut rows = RowCursor { cursor: &mut self.cursor, passed: &mut self.passed };
                rows.write_table(table, values);
            }
        }
    }

    /// Writes the next rows of the group, on several threads if there are many.
    fn write_text(&mut self, format: TextFormat, values: &Values, part: &mut Vec<u8>) {
        let (reader, zone) = (&self.cursor.reader, &self.zone);
        let writer = || TextWriter::new(format, reader, zone.clone());
        self.writers.resize_with(self.jobs, writer);
        while part.len() < PART_BYTES && !self.cursor.rows.as_slice().is_empty() {
            let this = TextRows { cursor: &self.cursor, passed: self.passed, values };
            let rows = self.cursor.rows.as_slice();
            let runs: Vec<_> = rows.chunks(TEXT_ROWS_MAX).take(self.jobs).collect();
            let work = self.writers.iter_mut().zip(&runs);
            let texts = on_threads(work, |(writer, run)| this.write(writer, run));
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
            let last = rows[..written].last().map(|(index, row)| self.cursor.place(*index, *row));
            // A new snapshot repeats rows up to the last one that was passed.
            self.passed = self.passed.max(last);
            // The iterator continues at the first row that was not written.
            self.cursor.rows.nth(written - 1);
        }
    }

    /// Selects the rows of the next group of segments. Returns false if there are none.
    fn enter_next_group(&mut self) -> bool {
        let Some(source) = self.cursor.enter_next_group(&self.last_lines) else { return false };
        self.cursor.file = (self.name_of)(source);
        true
    }
}

/// The data that a thread needs to write rows of a group.
struct TextRows<'a> {
    cursor: &'a SnapshotCursor,
    passed: Option<(u32, u64)>,
    values: &'a Values,
}

impl TextRows<'_> {
    /// Writes rows until the text is long enough. Returns the text, and the number of rows, at
    /// least one.
    fn write(&self, writer: &mut TextWriter, rows: &[(usize, usize)]) -> (Vec<u8>, usize) {
        let segments = self.cursor.segments.iter();
        let mut segments: Vec<_> =
            segments.map(|it| writer.rows(&self.cursor.file, it, self.values)).collect();
        let mut text = Vec::with_capacity(PART_BYTES);
        let mut written = 0;
        // Nearly always, all rows belong to one segment.
        for run in rows.chunk_by(|one, next| one.0 == next.0) {
            for run in run.chunks(SegmentRows::LOOK_UP_ROWS) {
                let segment = &mut segments[run[0].0];
                segment.look_up(run.iter().map(|(_, row)| *row));
                for (number, (index, row)) in run.iter().enumerate() {
                    if text.len() >= TEXT_BYTES_MAX {
                        return (text, written);
                    }
                    if self.cursor.is_exported(self.cursor.place(*index, *row), self.passed) {
                        writer.push(segment, number, &mut text);
                    }
                    written += 1;
                }
            }
        }
        (text, written)
    }
}

/// The exported rows of a group.
struct RowCursor<'a> {
    cursor: &'a mut SnapshotCursor,
    passed: &'a mut Option<(u32, u64)>,
}

impl RowCursor<'_> {
    /// Returns whether a row is to be exported, and marks it as passed.
    fn admits(&mut self, index: usize, row: usize) -> bool {
        let place = self.cursor.place(index, row);
        let is_exported = self.cursor.is_exported(place, *self.passed);
        if is_exported {
            *self.passed = Some(place);
        }
        is_exported
    }

    /// Adds rows until the batch is full. Consecutive rows of one segment are added together.
    fn write_table(&mut self, table: &mut TableEncoder, values: &Values) {
        while !table.batch().is_full()
            && let Some((index, _)) = self.cursor.rows.as_slice().first().copied()
        {
            let mut rows = Vec::new();
            while rows.len() < RUN_ROWS_MAX
                && let Some((same, row)) = self.cursor.rows.as_slice().first().copied()
                && same == index
            {
                self.cursor.rows.next();
                if self.admits(same, row) {
                    rows.push(row as u32);
                }
            }
            let (file, segment) = (self.cursor.file.as_str(), &*self.cursor.segments[index]);
            table.push(Rows { file, segment, values }, &Selection::Rows(rows));
        }
    }
}

impl SnapshotCursor {
    /// Selects the rows of the next group of segments, and returns its source. Returns `None` if
    /// there are no more.
    pub(super) fn enter_next_group(&mut self, last_lines: &HashMap<u32, u64>) -> Option<u32> {
        let group = self.groups.pop_front()?;
        let pass =
            |it: &SnapshotSegment| Arc::new(self.filter.pass_within(&it.segment, &it.bounds));
        let rows: Vec<_> = group.iter().map(|it| (&*it.segment, pass(it))).collect();
        let selected = rows.iter().map(|(_, rows)| rows.len()).sum();
        self.rows = rows_in_line_order(&rows, 0..selected).into_iter();
        self.segments = group.iter().map(|it| it.segment.clone()).collect();
        let source = group.first().map(|it| it.segment.source())?;
        self.last_line = last_lines.get(&source).copied();
        Some(source)
    }

    /// Returns the source and the line offset of a row of the group.
    pub(super) fn place(&self, index: usize, row: usize) -> (u32, u64) {
        let segment = &self.segments[index];
        (segment.source(), segment.line_offset(row))
    }

    /// Returns whether the row at a place existed when the export began, and was not passed yet.
    pub(super) fn is_exported(&self, place: (u32, u64), passed: Option<(u32, u64)>) -> bool {
        let was_there = self.last_line.is_some_and(|last| place.1 <= last);
        was_there && passed.is_none_or(|passed| place > passed)
    }

    /// Starts over the segments of a kind that the data set holds now.
    pub(super) fn of_current<D: Snapshots>(
        data: &D,
        query: &ParsedQuery,
        kind: RecordKind,
    ) -> Result<Self, QueryError> {
        loop {
            if let Some(cursor) = Self::new(data, &data.snapshot(), query, kind)? {
                return Ok(cursor);
            }
        }
    }

    /// Starts over the segments of a kind in a snapshot. Returns `None` if the snapshot's ids are
    /// stale.
    pub(super) fn new<D: Snapshots>(
        data: &D,
        snapshot: &Snapshot<D::Source>,
        query: &ParsedQuery,
        kind: RecordKind,
    ) -> Result<Option<Self>, QueryError> {
        let values = data.values();
        if values.reuses() != snapshot.epoch {
            return Ok(None);
        }
        let mut filter = CompiledFilter::new(&query.filter(&values)?);
        filter.refresh(&values);
        let reader = RowReader::new(&snapshot.formats, &values, kind.into());
        drop(values);
        let of_kind = |it: &&SnapshotSegment| it.segment.kind() == kind.into();
        let groups = in_line_order(snapshot.segments.iter().filter(of_kind)).into_iter();
        Ok(Some(Self {
            epoch: snapshot.epoch,
            filter,
            reader,
            groups: groups.map(|group| group.into_iter().cloned().collect()).collect(),
            segments: Vec::new(),
            rows: Vec::new().into_iter(),
            file: String::new(),
            last_line: None,
        }))
    }
}

/// Returns the kind that a report is about by default.
pub(super) fn kind_of<S>(snapshot: &Snapshot<S>) -> RecordKind {
    let mut extents = Extents::default();
    extents.update(snapshot);
    main_kind(&extents.kinds(snapshot))
}

/// Returns the offset of the last line of each source.
pub(super) fn last_lines<S>(snapshot: &Snapshot<S>) -> HashMap<u32, u64> {
    let mut last_lines = HashMap::new();
    for SnapshotSegment { segment, .. } in snapshot.segments.iter() {
        let Some(last) = segment.rows().checked_sub(1) else { continue };
        let offset: &mut u64 = last_lines.entry(segment.source()).or_default();
        *offset = segment.line_offset(last).max(*offset);
    }
    last_lines
}
