//! The records that a query selects, as text in parts.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;

use weir_core::{
    CompiledFilter, FieldAccessor, Record, RowReader, Segment, Snapshot, SnapshotSegment,
    Snapshots, Values, Zone,
};
use weir_view::{
    FieldValues, LogLine, Query, QueryError, RecordKind, line_csv_header, line_csv_row, main_kind,
};

use crate::extents::Extents;
use crate::line_order::{in_line_order, rows_in_line_order};

/// A part is complete when it has this many bytes.
const PART_BYTES: usize = 64 << 10;

/// A part ends after this many groups of segments even if it is short, so that its reader may stop.
const PART_GROUPS_MAX: usize = 16;

/// The text of exported rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// A header and a record for each row (RFC 4180).
    Csv,
    /// A JSON object on a line of its own for each row.
    JsonLines,
}

/// Writes the rows of a data set that a query selects, part by part.
///
/// They are the rows that the data set holds when the export begins, in the order of the sources,
/// and of each source in that of its lines. The text of a row is that of
/// [`LogLine`] or [`line_csv_row`], without the text of the line. Rows that expire before they are
/// written are left out. A value that was not kept, because memory ran out, is absent.
///
/// # Locks
/// The values are read while a part is written, and not between parts.
///
/// # Memory
/// A part of 64 KiB and one row, 16 bytes for each row of a few segments, and a snapshot: segments
/// that expire during an export are freed after it.
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
/// let mut export = RowExport::new(data, Query::default(), ExportFormat::JsonLines, name)?;
/// let text = export.next_part()?.unwrap_or_default();
/// assert!(text.starts_with(b"{\"file\":\"access.log\",\"time\":\"2025-12-17T09:03:01Z\","));
/// # Ok::<(), weir_view::QueryError>(())
/// ```
pub struct RowExport<D> {
    data: Arc<D>,
    query: Query,
    format: ExportFormat,
    zone: Option<Zone>,
    name_of: Box<dyn Fn(u32) -> String + Send>,
    /// The offset of the last line of each source when the export began.
    last_lines: HashMap<u32, u64>,
    /// The source and the offset of the last line that was passed.
    passed: Option<(u32, u64)>,
    walk: Walk,
    has_begun: bool,
}

/// The way through one snapshot.
struct Walk {
    epoch: u64,
    filter: CompiledFilter,
    reader: RowReader,
    columns: Vec<(String, FieldAccessor)>,
    /// The segments that were not read yet.
    groups: VecDeque<Vec<SnapshotSegment>>,
    /// The group that is read: its segments, its rows that were not written yet, and its source.
    segments: Vec<Arc<Segment>>,
    rows: std::vec::IntoIter<(usize, usize)>,
    file: String,
}

impl<D: Snapshots> RowExport<D> {
    /// An export of the rows that the data set holds now. Times in the query are RFC 3339, see
    /// [`settled`](crate::settled). `name_of` returns the name of the source with a number.
    ///
    /// # Errors
    /// Fails if the query is not valid for this data.
    pub fn new(
        data: Arc<D>,
        mut query: Query,
        format: ExportFormat,
        name_of: impl Fn(u32) -> String + Send + 'static,
    ) -> Result<Self, QueryError> {
        loop {
            let snapshot = data.snapshot();
            let kind = *query.kind.get_or_insert_with(|| kind_of(&snapshot));
            let zone = query.question(&data.values())?.zone;
            let Some(walk) = Walk::new(&*data, &snapshot, &query, kind)? else { continue };
            let last_lines = last_lines(&snapshot);
            let name_of = Box::new(name_of);
            let (passed, has_begun) = (None, false);
            return Ok(Self {
                data,
                query,
                format,
                zone,
                name_of,
                last_lines,
                passed,
                walk,
                has_begun,
            });
        }
    }

    /// The next part of the text, which may be empty; `None` at the end. It takes about a
    /// millisecond, or longer if few rows are selected.
    ///
    /// # Errors
    /// Fails if the query is not valid any more, which does not happen.
    pub fn next_part(&mut self) -> Result<Option<Vec<u8>>, QueryError> {
        let mut part = Vec::with_capacity(PART_BYTES + (PART_BYTES >> 4));
        if !self.has_begun && self.format == ExportFormat::Csv {
            part.extend(line_csv_header(false).into_bytes());
        }
        self.has_begun = true;
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
            let is_full = part.len() >= PART_BYTES || groups == PART_GROUPS_MAX;
            if is_full {
                return Ok(Some(part));
            }
            if !self.enter_next_group() {
                return Ok((!part.is_empty()).then_some(part));
            }
            groups += 1;
        }
    }

    /// Continues over another snapshot. The ids in the old one may stand for other values now.
    fn begin_again(&mut self) -> Result<(), QueryError> {
        loop {
            let snapshot = self.data.snapshot();
            let kind = self.query.kind.unwrap_or_default();
            if let Some(walk) = Walk::new(&*self.data, &snapshot, &self.query, kind)? {
                self.walk = walk;
                return Ok(());
            }
        }
    }

    /// Writes rows of the group until the part is complete.
    fn write_rows(&mut self, values: &Values, part: &mut Vec<u8>) {
        let mut record = Record::new();
        let walk = &mut self.walk;
        while part.len() < PART_BYTES
            && let Some((index, row)) = walk.rows.next()
        {
            let segment = &walk.segments[index];
            let place = (segment.source(), segment.line_offset(row));
            let is_newer = self.last_lines.get(&place.0).is_none_or(|last| place.1 > *last);
            if is_newer || self.passed.is_some_and(|passed| place <= passed) {
                continue;
            }
            self.passed = Some(place);
            walk.reader.read(segment, row, values, &mut record);
            let fields =
                FieldValues { columns: &walk.columns, record: &record, zone: self.zone.as_ref() };
            write_row(self.format, &walk.file, fields, part);
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
        self.walk.file =
            group.first().map_or_else(String::new, |it| (self.name_of)(it.segment.source()));
        true
    }
}

impl Walk {
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
            columns: reader.fields().accessors(),
            reader,
            groups: groups.map(|group| group.into_iter().cloned().collect()).collect(),
            segments: Vec::new(),
            rows: Vec::new().into_iter(),
            file: String::new(),
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

fn write_row(format: ExportFormat, file: &str, fields: FieldValues<'_>, part: &mut Vec<u8>) {
    match format {
        ExportFormat::Csv => part.extend(line_csv_row(file, None, Some(fields)).into_bytes()),
        ExportFormat::JsonLines => {
            let line = LogLine { file, text: None, fields: fields.named() };
            // Memory takes all, and every value of a field is JSON.
            let _: io::Result<()> = line.write_json(part);
        }
    }
}
