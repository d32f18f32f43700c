//! The records of a data set that a query selects, as a file in parts.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use weir_core::{
    CompiledFilter, RowReader, Segment, Selection, Snapshot, SnapshotSegment, Snapshots, Values,
    Zone,
};
use weir_export::{SegmentRows, TextFormat, TextWriter};
use weir_view::{Query, QueryError, RecordKind, main_kind};

use super::encoder::{Encoder, Rows, TableEncoder};
use super::threads::on_threads;
use super::{ExportError, ExportFormat};
use crate::extents::Extents;
use crate::line_order::{in_line_order, rows_in_line_order};

/// A part is complete when it has this many bytes.
const PART_BYTES: usize = 64 << 10;

/// The maximum number of threads that write a part, so that parts do not grow with the machine.
const JOBS_MAX: usize = 4;

/// The number of rows that a thread takes at once, long enough for a thread to be worth it.
const TEXT_ROWS_MAX: usize = 1_024;

/// A thread ends when it has written this many bytes of its rows. Few rows are so long.
const TEXT_BYTES_MAX: usize = 512 << 10;

/// A part ends after this many groups of segments even if it is short, so that its reader may stop.
const PART_GROUPS_MAX: usize = 16;

/// The maximum number of rows that are added to a batch at once.
const RUN_ROWS_MAX: usize = 4_096;

/// Writes the rows of a data set that a query selects, part by part.
///
/// They are the rows of a snapshot, in the order of the sources, and of each source in that of its
/// lines. Two exports of the same rows of one snapshot have the same bytes. Text is described at
/// [`weir_export::TextWriter`], and the columns of a table at [`weir_export::TableSchema`]. Rows that
/// expire before they are written are left out. A value that was not kept, because memory ran out, is
/// absent.
///
/// # Locks
/// The values are read while a part is written, and not between parts.
///
/// # Memory
/// A part of 64 KiB, and 512 KiB and one row of text for each of up to 4 threads, or a
/// [batch](weir_export::RowBatch) and its encoded form; 16 bytes for each row of a few segments, and a
/// snapshot: segments that expire during an export are freed after it.
///
/// # Examples
/// ```
/// use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};
/// use weir_query::{ExportFormat, RowExport};
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
/// let (snapshot, query) = (data.snapshot(), Query::default());
/// let mut export = RowExport::new(data, &snapshot, query, ExportFormat::JsonLines, name)?;
/// let text = export.next_part()?.unwrap_or_default();
/// assert!(text.starts_with(b"{\"file\":\"access.log\",\"time\":\"2025-12-17T09:03:01Z\","));
/// # Ok::<(), weir_query::ExportError>(())
/// ```
pub struct RowExport<D> {
    data: Arc<D>,
    query: Query,
    encoder: Encoder,
    /// The bytes before the first row, until they are returned.
    begin: Vec<u8>,
    /// The number of threads that write a part.
    jobs: usize,
    /// A writer for each thread, once it was needed.
    writers: Vec<TextWriter>,
    zone: Option<Zone>,
    name_of: Box<dyn Fn(u32) -> String + Send>,
    /// The offset of the last line of each source in the first snapshot.
    last_lines: HashMap<u32, u64>,
    /// The source and the offset of the last line that was passed.
    passed: Option<(u32, u64)>,
    walk: Walk,
}

/// The way through one snapshot.
struct Walk {
    epoch: u64,
    filter: CompiledFilter,
    reader: RowReader,
    /// The segments that were not read yet.
    groups: VecDeque<Vec<SnapshotSegment>>,
    /// The group that is read: its segments, its rows that were not written yet, and its source.
    segments: Vec<Arc<Segment>>,
    rows: std::vec::IntoIter<(usize, usize)>,
    file: String,
    /// The offset of the last line of that source in the first snapshot; `None` if it is newer.
    last_line: Option<u64>,
}

impl<D: Snapshots> RowExport<D> {
    /// An export of the rows of a snapshot of the data set. If its ids are stale, the rows are those
    /// that the data set holds now and that are no newer. Times in the query are RFC 3339, see
    /// [`settled`](crate::settled). `name_of` returns the name of the source with a number.
    ///
    /// # Errors
    /// Fails if the query is not valid for this data.
    pub fn new(
        data: Arc<D>,
        snapshot: &Snapshot<D::Source>,
        mut query: Query,
        format: ExportFormat,
        name_of: impl Fn(u32) -> String + Send + 'static,
    ) -> Result<Self, ExportError> {
        let kind = *query.kind.get_or_insert_with(|| kind_of(snapshot));
        let zone = query.question(&data.values())?.zone;
        let walk = match Walk::new(&*data, snapshot, &query, kind)? {
            Some(walk) => walk,
            None => Walk::of_now(&*data, &query, kind)?,
        };
        let (encoder, begin) =
            Encoder::new(format, kind.into(), walk.reader.fields().extra_fields())?;
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
            walk,
            data,
        })
    }

    /// The same export on up to this number of threads, and at most 4. Its bytes are the same.
    #[must_use]
    pub fn with_jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs.clamp(1, JOBS_MAX);
        self.encoder.set_jobs(self.jobs);
        self
    }

    /// The next part of the file, which may be empty; `None` at the end. Text takes about a
    /// millisecond, or longer if few rows are selected; a batch of a table some hundred.
    ///
    /// # Errors
    /// Fails if the query is not valid any more, or the rows cannot be encoded, which does not
    /// happen.
    pub fn next_part(&mut self) -> Result<Option<Vec<u8>>, ExportError> {
        let mut part = std::mem::take(&mut self.begin);
        let mut groups = 0;
        loop {
            let data = self.data.clone();
            let values = data.values();
            if values.reuses() != self.walk.epoch {
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

    /// Continues over another snapshot. The ids in the old one may stand for other values now.
    fn begin_again(&mut self) -> Result<(), QueryError> {
        let kind = self.query.kind.unwrap_or_default();
        self.walk = Walk::of_now(&*self.data, &self.query, kind)?;
        // They may lack fields that records have now.
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
                let mut walked = WalkedRows { walk: &mut self.walk, passed: &mut self.passed };
                walked.write_table(table, values);
            }
        }
    }

    /// Writes the next rows of the group, on several threads if there are many.
    fn write_text(&mut self, format: TextFormat, values: &Values, part: &mut Vec<u8>) {
        let (reader, zone) = (&self.walk.reader, &self.zone);
        let writer = || TextWriter::new(format, reader, zone.clone());
        self.writers.resize_with(self.jobs, writer);
        while part.len() < PART_BYTES && !self.walk.rows.as_slice().is_empty() {
            let this = TextRows { walk: &self.walk, passed: self.passed, values };
            let rows = self.walk.rows.as_slice();
            let runs: Vec<_> = rows.chunks(TEXT_ROWS_MAX).take(self.jobs).collect();
            let work = self.writers.iter_mut().zip(&runs);
            let texts = on_threads(work, |(writer, run)| this.write(writer, run));
            let mut written = 0;
            for ((text, rows), run) in texts.into_iter().zip(&runs) {
                // Most texts need not be copied.
                match part.is_empty() {
                    true => *part = text,
                    false => part.extend(text),
                }
                written += rows;
                if rows < run.len() {
                    // The rows after it are written again, in their order.
                    break;
                }
            }
            let last = rows[..written].last().map(|(index, row)| self.walk.place(*index, *row));
            // After another snapshot, rows come again that are before the last one that was passed.
            self.passed = self.passed.max(last);
            // The iterator is at the first row that was not written.
            self.walk.rows.nth(written - 1);
        }
    }

    /// Selects the rows of the next segments. Returns false if there are none.
    fn enter_next_group(&mut self) -> bool {
        let Some(group) = self.walk.groups.pop_front() else { return false };
        let filter = &self.walk.filter;
        let pass = |it: &SnapshotSegment| Arc::new(filter.pass_within(&it.segment, &it.bounds));
        let rows: Vec<_> = group.iter().map(|it| (&*it.segment, pass(it))).collect();
        let selected = rows.iter().map(|(_, rows)| rows.len()).sum();
        self.walk.rows = rows_in_line_order(&rows, 0..selected).into_iter();
        self.walk.segments = group.iter().map(|it| it.segment.clone()).collect();
        let source = group.first().map(|it| it.segment.source());
        self.walk.file = source.map_or_else(String::new, &self.name_of);
        self.walk.last_line = source.and_then(|source| self.last_lines.get(&source).copied());
        true
    }
}

/// What the text of the rows of a group depends on.
struct TextRows<'a> {
    walk: &'a Walk,
    passed: Option<(u32, u64)>,
    values: &'a Values,
}

impl TextRows<'_> {
    /// The text of the first of some rows, and their number, which is at least one.
    fn write(&self, writer: &mut TextWriter, rows: &[(usize, usize)]) -> (Vec<u8>, usize) {
        let segments = self.walk.segments.iter();
        let mut segments: Vec<_> =
            segments.map(|it| writer.rows(&self.walk.file, it, self.values)).collect();
        let mut text = Vec::with_capacity(PART_BYTES);
        let mut written = 0;
        // Nearly always, all rows are of one segment.
        for run in rows.chunk_by(|one, next| one.0 == next.0) {
            for run in run.chunks(SegmentRows::LOOK_UP_ROWS) {
                let segment = &mut segments[run[0].0];
                segment.look_up(run.iter().map(|(_, row)| *row));
                for (number, (index, row)) in run.iter().enumerate() {
                    if text.len() >= TEXT_BYTES_MAX {
                        return (text, written);
                    }
                    if self.walk.is_exported(self.walk.place(*index, *row), self.passed) {
                        writer.push(segment, number, &mut text);
                    }
                    written += 1;
                }
            }
        }
        (text, written)
    }
}

/// The rows of a group that are exported.
struct WalkedRows<'a> {
    walk: &'a mut Walk,
    passed: &'a mut Option<(u32, u64)>,
}

impl WalkedRows<'_> {
    /// Whether a row was there when the export began and was not passed. It is passed now.
    fn admits(&mut self, index: usize, row: usize) -> bool {
        let place = self.walk.place(index, row);
        let is_exported = self.walk.is_exported(place, *self.passed);
        if is_exported {
            *self.passed = Some(place);
        }
        is_exported
    }

    /// Adds rows until the batch is full. Rows of one segment that follow each other are added
    /// together.
    fn write_table(&mut self, table: &mut TableEncoder, values: &Values) {
        while !table.batch().is_full()
            && let Some((index, _)) = self.walk.rows.as_slice().first().copied()
        {
            let mut rows = Vec::new();
            while rows.len() < RUN_ROWS_MAX
                && let Some((same, row)) = self.walk.rows.as_slice().first().copied()
                && same == index
            {
                self.walk.rows.next();
                if self.admits(same, row) {
                    rows.push(row as u32);
                }
            }
            let (file, segment) = (self.walk.file.as_str(), &*self.walk.segments[index]);
            table.push(Rows { file, segment, values }, &Selection::Rows(rows));
        }
    }
}

impl Walk {
    /// The source and the line offset of a row of the group.
    fn place(&self, index: usize, row: usize) -> (u32, u64) {
        let segment = &self.segments[index];
        (segment.source(), segment.line_offset(row))
    }

    /// Whether the row at a place was there when the export began and was not passed.
    fn is_exported(&self, place: (u32, u64), passed: Option<(u32, u64)>) -> bool {
        let was_there = self.last_line.is_some_and(|last| place.1 <= last);
        was_there && passed.is_none_or(|passed| place > passed)
    }

    /// The way through the segments of a kind that the data set holds now.
    fn of_now<D: Snapshots>(data: &D, query: &Query, kind: RecordKind) -> Result<Self, QueryError> {
        loop {
            if let Some(walk) = Self::new(data, &data.snapshot(), query, kind)? {
                return Ok(walk);
            }
        }
    }

    /// The way through the segments of a kind; `None` if the ids of the snapshot are stale.
    fn new<D: Snapshots>(
        data: &D,
        snapshot: &Snapshot<D::Source>,
        query: &Query,
        kind: RecordKind,
    ) -> Result<Option<Self>, QueryError> {
        let values = data.values();
        if values.reuses() != snapshot.epoch {
            return Ok(None);
        }
        let mut filter = CompiledFilter::new(&query.question(&values)?.filter);
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

/// The kind that a report is about by default.
fn kind_of<S>(snapshot: &Snapshot<S>) -> RecordKind {
    let mut extents = Extents::default();
    extents.update(snapshot);
    main_kind(&extents.kinds(snapshot))
}

/// The offset of the last line of each source.
fn last_lines<S>(snapshot: &Snapshot<S>) -> HashMap<u32, u64> {
    let mut last_lines = HashMap::new();
    for SnapshotSegment { segment, .. } in snapshot.segments.iter() {
        let Some(last) = segment.rows().checked_sub(1) else { continue };
        let offset: &mut u64 = last_lines.entry(segment.source()).or_default();
        *offset = segment.line_offset(last).max(*offset);
    }
    last_lines
}
