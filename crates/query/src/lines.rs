//! Finds the lines of the records that a query selects.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{
    CompiledFilter, Field, FieldAccessor, Record, RowBits, RowReader, Segment, SnapshotSegment,
    Snapshots, TimeBounds,
};
use weir_view::{LineField, LineOrder, LineStart, LinesAnswer, SelectedLine, main_kind};

use crate::extents::Extents;
use crate::line_order::{SegmentGroup, in_line_order, rows_in_line_order};
use crate::question::{ParsedQuery, QueryError};
use crate::snapshot_work::{Interruption, SnapshotWork, Unanswered, over_snapshot};
use crate::time_order::{TimeKey, TimeOrder};

/// The maximum number of listed sources: no command names more.
const SOURCES_MAX: usize = 1_000;

/// The lines that are wanted of a selection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WantedLines {
    /// The number of lines before the first one.
    pub from: u64,
    /// The most lines.
    pub count: usize,
    /// The order in which they are numbered.
    pub order: LineOrder,
    /// A line around which the lines are wanted, instead of `from`: in [`LineOrder::Source`] those of
    /// its source alone. If it is not selected, those around its place.
    pub around: Option<LineStart>,
    /// Whether the lines have all fields of their records.
    pub has_fields: bool,
}

/// Finds the lines of the records that a query selects, part by part.
///
/// A part is found by the number of its first line, without reading the lines before it.
///
/// # Memory
/// Between two parts, one bit for each record of the kind, kept for the next part of the same
/// query, and 32 KiB if they are ordered by time. It does not keep segments: those that expire are
/// freed. During a call, blocks with lines of several formats take another 16 bytes for each of their
/// selected lines, and lines in the order of their times 24 bytes for each of 65,536 lines.
#[derive(Debug, Default)]
pub struct LineFinder {
    /// The query of `passing`.
    query: Option<ParsedQuery>,
    epoch: u64,
    /// The rows that the query selects, by segment number.
    passing: HashMap<u64, (TimeBounds, Arc<RowBits>)>,
    is_estimated: bool,
    /// The order of these rows by time; `None` until it is needed.
    by_time: Option<TimeOrder>,
}

/// The segments and rows of lines.
type Places<'a> = Vec<(&'a Segment, usize)>;

/// Segments of one source whose lines interleave; usually only one.
#[derive(Clone)]
struct Run<'a> {
    segments: Vec<(&'a Segment, Arc<RowBits>)>,
    /// The number of selected lines.
    len: u64,
}

impl LineFinder {
    /// Finds the wanted lines, on up to `jobs` threads. If `from` is past the end, the answer has no
    /// lines, but still the total. Returns `None` if `abandoned` became true.
    ///
    /// The caller adds the texts of the lines and their sources.
    ///
    /// # Errors
    /// Fails if the query is not valid for this data.
    pub fn find<D: Snapshots>(
        &mut self,
        data: &Arc<D>,
        query: &ParsedQuery,
        wanted: WantedLines,
        jobs: usize,
        abandoned: &AtomicBool,
    ) -> Result<Option<LinesAnswer>, QueryError> {
        over_snapshot(data, jobs, abandoned, |work| self.find_at(&work, query, wanted))
    }

    fn find_at<D: Snapshots>(
        &mut self,
        work: &SnapshotWork<'_, D>,
        query: &ParsedQuery,
        wanted: WantedLines,
    ) -> Result<LinesAnswer, Unanswered<QueryError>> {
        let snapshot = &work.snapshot;
        let mut extents = Extents::default();
        extents.update(snapshot);
        let kind = query.kind.unwrap_or_else(|| main_kind(&extents.kinds(snapshot)));
        // Without the parts that do not select records, so that changes to them keep the rows.
        let query = query.selection(kind);
        let of_kind = |segment: &&SnapshotSegment| segment.segment.kind() == kind.into();
        let segments: Vec<&SnapshotSegment> = snapshot.segments.iter().filter(of_kind).collect();
        self.select(work, query, &segments)?;
        let runs = self.runs(&segments);
        let total = runs.iter().map(|run| run.len).sum();
        let (from, places) = self.places(work, (&segments, &runs), wanted)?;
        let lines = work.with_values(|values| {
            let all = RowReader::new(&snapshot.formats, values, kind.into());
            let names = SelectedLine::FIELDS.map(|field: Field| field.name().to_owned());
            let reader = if wanted.has_fields { all } else { all.only(&names) };
            let mut record = Record::new();
            let line = |(segment, row): (&Segment, usize)| {
                reader.read(segment, row, values, &mut record);
                let mut line =
                    SelectedLine::new(segment.source(), segment.line_offset(row), &record);
                if wanted.has_fields {
                    line.fields = fields_of(&reader, &record);
                }
                line
            };
            places.into_iter().map(line).collect()
        })?;
        let sources = Vec::new();
        let source_numbers = source_numbers(&runs);
        let estimated = self.is_estimated;
        Ok(LinesAnswer { kind, total, from, lines, sources, source_numbers, estimated })
    }

    /// Determines the selected rows of new segments, and drops the rows of segments that have left.
    fn select<D: Snapshots>(
        &mut self,
        work: &SnapshotWork<'_, D>,
        query: ParsedQuery,
        segments: &[&SnapshotSegment],
    ) -> Result<(), Unanswered<QueryError>> {
        let epoch = work.snapshot.epoch;
        let mut known = std::mem::take(&mut self.passing);
        if self.query.as_ref() != Some(&query) || self.epoch != epoch {
            known.clear();
        }
        let mut unknown = Vec::new();
        for segment in segments {
            match known.remove(&segment.number) {
                Some((bounds, rows)) if bounds == segment.bounds => {
                    self.passing.insert(segment.number, (bounds, rows));
                }
                _ => unknown.push(*segment),
            }
        }
        // Rows that have left or come change the order.
        if !unknown.is_empty() || !known.is_empty() || self.query.as_ref() != Some(&query) {
            self.by_time = None;
        }
        let query = self.query.insert(query);
        self.epoch = epoch;
        if unknown.is_empty() {
            return Ok(());
        }
        let filter = work.with_values(|values| {
            let filter = query.filter(values).map_err(Unanswered::Refused)?;
            let mut filter = CompiledFilter::new(&filter);
            work.refresh(&mut filter, values)?;
            Ok::<_, Unanswered<QueryError>>((filter.is_estimated(values), filter))
        })?;
        let (is_estimated, filter) = filter?;
        self.is_estimated = is_estimated;
        let pass = |segment: &&SnapshotSegment| {
            Arc::new(filter.pass_within(&segment.segment, &segment.bounds))
        };
        let rows = work.spread(unknown.iter(), pass)?;
        let of_segments = unknown.iter().zip(rows);
        self.passing
            .extend(of_segments.map(|(segment, rows)| (segment.number, (segment.bounds, rows))));
        Ok(())
    }

    /// Returns the wanted lines, and the number of the lines before the first of them.
    fn places<'a, D: Snapshots>(
        &mut self,
        work: &SnapshotWork<'_, D>,
        (segments, runs): (&[&SnapshotSegment], &[Run<'a>]),
        wanted: WantedLines,
    ) -> Result<(u64, Places<'a>), Interruption> {
        let WantedLines { from, count, order, around, .. } = wanted;
        if order == LineOrder::Source {
            return Ok(match around {
                Some(start) => around_line(runs, start, count),
                None => (from, places(runs, from, count)),
            });
        }
        let is_newest = order == LineOrder::Newest;
        let rows: Vec<_> = runs.iter().flat_map(|run| run.segments.iter().cloned()).collect();
        let total: u64 = runs.iter().map(|run| run.len).sum();
        let by_time = match self.by_time.take() {
            Some(by_time) => by_time,
            None => TimeOrder::new(work, &rows)?,
        };
        let by_time = self.by_time.insert(by_time);
        let from = match around.map(|start| key_of(segments, start)) {
            None => from,
            Some(None) => 0,
            Some(Some(key)) => {
                let rank = by_time.rank(work, &rows, key)?;
                let number = if is_newest { total.saturating_sub(rank + 1) } else { rank };
                number.saturating_sub(count as u64 / 2)
            }
        };
        let count = total.saturating_sub(from).min(count as u64);
        let first = if is_newest { total.saturating_sub(from.saturating_add(count)) } else { from };
        let mut found = by_time.rows(work, &rows, first, count as usize)?;
        if is_newest {
            found.reverse();
        }
        let row = |(index, row): (usize, usize)| (rows[index].0, row);
        Ok((from, found.into_iter().map(row).collect()))
    }

    /// Returns the segments with selected rows, in line order.
    fn runs<'a>(&self, segments: &[&'a SnapshotSegment]) -> Vec<Run<'a>> {
        let rows = |segment: &SnapshotSegment| {
            let (_, rows) = self.passing.get(&segment.number)?;
            (!rows.is_empty()).then(|| rows.clone())
        };
        let selected = segments.iter().copied().filter(|segment| rows(segment).is_some());
        let groups = in_line_order(selected).into_iter();
        let run = |group: SegmentGroup<'a>| {
            let with_rows = |it: &'a SnapshotSegment| Some((&*it.segment, rows(it)?));
            let segments: Vec<_> = group.into_iter().filter_map(with_rows).collect();
            let len = segments.iter().map(|(_, rows)| rows.len() as u64).sum();
            Run { segments, len }
        };
        groups.map(run).collect()
    }
}

impl<'a> Run<'a> {
    /// Returns the lines of the run with these numbers, counted among its selected lines.
    fn places(&self, numbers: Range<usize>) -> impl Iterator<Item = (&'a Segment, usize)> {
        let rows = rows_in_line_order(&self.segments, numbers).into_iter();
        rows.map(|(index, row)| (self.segments[index].0, row))
    }

    /// Returns the number of its selected lines that begin before an offset of their source.
    fn lines_before(&self, offset: u64) -> u64 {
        let before = |(segment, rows): &(&Segment, Arc<RowBits>)| {
            let mut count = 0;
            let rows = if segment.line_offset(0) < offset { rows.selection() } else { return 0 };
            rows.for_each(|row| count += u64::from(segment.line_offset(row) < offset));
            count
        };
        self.segments.iter().map(before).sum()
    }
}

/// All fields that a record has.
fn fields_of(reader: &RowReader, record: &Record<'_>) -> Vec<LineField> {
    let fields = reader.fields();
    let field = |(name, accessor): (String, FieldAccessor)| {
        let value = accessor.value(record)?;
        let is_derived = fields.is_derived(&name);
        Some(LineField::new(name, &value, is_derived))
    };
    fields.accessors().into_iter().filter_map(field).collect()
}

/// Returns where a line is in the order of all lines by time; `None` if it has expired.
fn key_of(segments: &[&SnapshotSegment], start: LineStart) -> Option<TimeKey> {
    let LineStart { source, offset } = start;
    segments.iter().filter(|it| it.segment.source() == source).find_map(|it| {
        let segment = &it.segment;
        let last = segment.rows().checked_sub(1)?;
        if !(segment.line_offset(0)..=segment.line_offset(last)).contains(&offset) {
            return None;
        }
        let row = (0..=last).find(|row| segment.line_offset(*row) == offset)?;
        Some(TimeKey { time_ns: segment.time(row).map(|time| time.unix_ns), source, offset })
    })
}

/// Returns up to `count` lines around a line, and the number of the lines before the first of them.
fn around_line<'a>(runs: &[Run<'a>], start: LineStart, count: usize) -> (u64, Places<'a>) {
    let is_own = |run: &&Run<'_>| run.segments.iter().any(|it| it.0.source() == start.source);
    let before: u64 = runs.iter().take_while(|run| !is_own(run)).map(|run| run.len).sum();
    let own: Vec<Run<'a>> = runs.iter().filter(is_own).cloned().collect();
    let at = own.iter().map(|run| run.lines_before(start.offset)).sum::<u64>();
    let from = at.saturating_sub(count as u64 / 2);
    (before + from, places(&own, from, count))
}

/// Returns the number of each source once.
fn source_numbers(runs: &[Run<'_>]) -> Vec<u32> {
    let sources = runs.iter().filter_map(|run| run.segments.first());
    let mut numbers: Vec<u32> = sources.map(|(segment, _)| segment.source()).collect();
    numbers.dedup();
    numbers.truncate(SOURCES_MAX);
    numbers
}

/// Returns the segments and rows of up to `count` lines after the first `from` ones.
fn places<'a>(runs: &[Run<'a>], from: u64, count: usize) -> Places<'a> {
    let mut places = Vec::new();
    let mut before = 0;
    let end = from.saturating_add(count as u64);
    for run in runs {
        let first = from.clamp(before, before + run.len) - before;
        let last = end.clamp(before, before + run.len) - before;
        if first < last {
            places.extend(run.places(first as usize..last as usize));
        }
        before += run.len;
    }
    places
}
