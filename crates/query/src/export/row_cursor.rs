//! The rows of a data set that a query selects, in the order of their lines.

use std::collections::{HashMap, VecDeque};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_core::{
    CompiledFilter, Format, RowReader, Segment, Snapshot, SnapshotSegment, Snapshots, Values,
};
use weir_view::{RecordKind, main_kind};

use crate::export::ExportError;
use crate::extents::Extents;
use crate::line_order::{in_line_order, rows_in_line_order};
use crate::question::ParsedQuery;

/// A row of a group: the index of its segment in the group, and its number in the segment.
pub(super) type GroupRow = (usize, usize);

/// The source and the line offset of a row.
pub(super) type Place = (u32, u64);

/// The progress through the rows of a data set that a query selects: by source, and within a source
/// by line.
///
/// It begins with a snapshot, and goes on with a newer one if ids of the older may have been reused.
/// Rows that came after the first snapshot are left out.
pub(super) struct RowCursor {
    query: ParsedQuery,
    kind: RecordKind,
    /// The offset of the last line of each source in the first snapshot.
    last_lines: HashMap<u32, u64>,
    /// The last row that was passed.
    passed: Option<Place>,
    snapshot: UnreadSnapshot,
    /// The group that is being read: its segments, and its rows that were not passed yet.
    segments: Vec<Arc<Segment>>,
    rows: std::vec::IntoIter<GroupRow>,
    /// The last line of its source in the first snapshot; `None` if the source is newer.
    last_line: Option<u64>,
    should_stop: Arc<AtomicBool>,
}

/// The segments of a snapshot that were not read yet.
struct UnreadSnapshot {
    epoch: u64,
    filter: CompiledFilter,
    formats: Vec<Arc<Format>>,
    reader: RowReader,
    groups: VecDeque<Vec<SnapshotSegment>>,
}

impl RowCursor {
    /// Begins with the rows of a snapshot. If the query names no kind of records, they are of the
    /// snapshot's main kind. The work of its filter ends when `should_stop` becomes true.
    ///
    /// # Errors
    /// Fails if the query is not valid for this data, or the work was stopped.
    pub(super) fn new<D: Snapshots>(
        data: &D,
        snapshot: &Snapshot<D::Source>,
        mut query: ParsedQuery,
        should_stop: Arc<AtomicBool>,
    ) -> Result<Self, ExportError> {
        let kind = *query.kind.get_or_insert_with(|| kind_of(snapshot));
        Ok(Self {
            snapshot: UnreadSnapshot::new(data, snapshot, &query, kind, &should_stop)?,
            query,
            kind,
            last_lines: last_lines(snapshot),
            passed: None,
            segments: Vec::new(),
            rows: Vec::new().into_iter(),
            last_line: None,
            should_stop,
        })
    }

    /// Locks the values for reading. If ids of the snapshot may have been reused, continues with a
    /// new one, whose rows up to the last one that was passed are not new.
    ///
    /// # Errors
    /// Fails if the query is no longer valid, or the work was stopped.
    pub(super) fn values<'d, D: Snapshots>(
        &mut self,
        data: &'d D,
    ) -> Result<impl Deref<Target = Values> + use<'d, D>, ExportError> {
        loop {
            let values = data.values();
            if values.reuses() == self.snapshot.epoch {
                return Ok(values);
            }
            drop(values);
            let snapshot = data.snapshot();
            let (query, kind, should_stop) = (&self.query, self.kind, &self.should_stop);
            self.snapshot = UnreadSnapshot::new(data, &snapshot, query, kind, should_stop)?;
            self.segments.clear();
            self.rows = Vec::new().into_iter();
        }
    }

    /// The kind of the records.
    pub(super) fn kind(&self) -> RecordKind {
        self.kind
    }

    /// The number of the snapshot's ids. It changes with the snapshot.
    pub(super) fn epoch(&self) -> u64 {
        self.snapshot.epoch
    }

    /// The reader of the snapshot's rows.
    pub(super) fn reader(&self) -> &RowReader {
        &self.snapshot.reader
    }

    /// The formats of the snapshot's rows.
    pub(super) fn formats(&self) -> &[Arc<Format>] {
        &self.snapshot.formats
    }

    /// The segments of the group.
    pub(super) fn segments(&self) -> &[Arc<Segment>] {
        &self.segments
    }

    /// The rows of the group that were not passed yet.
    pub(super) fn rows(&self) -> &[GroupRow] {
        self.rows.as_slice()
    }

    /// Selects the rows of the next group of segments, and returns its source. Returns `None` if
    /// there are no more.
    pub(super) fn enter_next_group(&mut self) -> Option<u32> {
        let group = self.snapshot.groups.pop_front()?;
        let filter = &mut self.snapshot.filter;
        let pass = |it: &SnapshotSegment| Arc::new(filter.pass_within(&it.segment, &it.bounds));
        let rows: Vec<_> = group.iter().map(|it| (&*it.segment, pass(it))).collect();
        let selected = rows.iter().map(|(_, rows)| rows.len()).sum();
        self.rows = rows_in_line_order(&rows, 0..selected).into_iter();
        self.segments = group.iter().map(|it| it.segment.clone()).collect();
        let source = self.segments.first()?.source();
        self.last_line = self.last_lines.get(&source).copied();
        Some(source)
    }

    /// Returns the place of a row of the group.
    pub(super) fn place(&self, (index, row): GroupRow) -> Place {
        let segment = &self.segments[index];
        (segment.source(), segment.line_offset(row))
    }

    /// Returns whether a row of the group was in the first snapshot, and was not passed yet.
    pub(super) fn is_new(&self, row: GroupRow) -> bool {
        let place = self.place(row);
        let was_there = self.last_line.is_some_and(|last| place.1 <= last);
        was_there && self.passed.is_none_or(|passed| place > passed)
    }

    /// Passes the next rows of the group.
    pub(super) fn pass(&mut self, rows: usize) {
        if let Some(last) = rows.checked_sub(1).and_then(|last| self.rows.nth(last)) {
            self.passed = self.passed.max(Some(self.place(last)));
        }
    }
}

impl UnreadSnapshot {
    fn new<D: Snapshots>(
        data: &D,
        snapshot: &Snapshot<D::Source>,
        query: &ParsedQuery,
        kind: RecordKind,
        should_stop: &AtomicBool,
    ) -> Result<Self, ExportError> {
        let values = data.values();
        let mut filter = CompiledFilter::new(&query.filter(&values)?);
        if !filter.refresh_unless(&values, &|| should_stop.load(Ordering::Relaxed)) {
            return Err(ExportError::Stopped);
        }
        let reader = RowReader::new(&snapshot.formats, &values, kind.into());
        drop(values);
        let of_kind = |it: &&SnapshotSegment| it.segment.kind() == kind.into();
        let groups = in_line_order(snapshot.segments.iter().filter(of_kind)).into_iter();
        let groups = groups.map(|group| group.into_iter().cloned().collect()).collect();
        let formats = snapshot.formats.clone();
        Ok(Self { epoch: snapshot.epoch, filter, formats, reader, groups })
    }
}

/// Returns the kind that a report is about by default.
fn kind_of<S>(snapshot: &Snapshot<S>) -> RecordKind {
    let mut extents = Extents::default();
    extents.update(snapshot);
    main_kind(&extents.kinds(snapshot))
}

/// Returns the offset of the last line of each source.
fn last_lines<S>(snapshot: &Snapshot<S>) -> HashMap<u32, u64> {
    let mut last_lines = HashMap::new();
    for SnapshotSegment { segment, .. } in snapshot.segments.iter() {
        let Some(last) = segment.rows().checked_sub(1) else { continue };
        let offset: &mut u64 = last_lines.entry(segment.source()).or_default();
        *offset = segment.line_offset(last).max(*offset);
    }
    last_lines
}
