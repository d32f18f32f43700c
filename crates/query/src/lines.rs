//! Finds the lines of the records that a query selects.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{
    CompiledFilter, Field, Record, RowBits, RowReader, Segment, SnapshotSegment, Snapshots,
    TimeBounds,
};
use weir_view::{LinesAnswer, SelectedLine, main_kind};

use crate::extents::Extents;
use crate::line_order::{SegmentGroup, in_line_order, rows_in_line_order};
use crate::question::{ParsedQuery, QueryError};
use crate::snapshot_work::{SnapshotWork, Unanswered, over_snapshot};

/// The maximum number of listed sources: no command names more.
const SOURCES_MAX: usize = 1_000;

/// Finds the lines of the records that a query selects, part by part.
///
/// Lines are ordered by source and by offset. A part is found by the number of its first line,
/// without reading the lines before it.
///
/// # Memory
/// Between two parts, one bit for each record of the kind, kept for the next part of the same
/// query. It does not keep segments: those that expire are freed. During a call, blocks with lines
/// of several formats take another 16 bytes for each of their selected lines.
#[derive(Debug, Default)]
pub struct LineFinder {
    /// The query of `passing`.
    query: Option<ParsedQuery>,
    epoch: u64,
    /// The rows that the query selects, by segment number.
    passing: HashMap<u64, (TimeBounds, Arc<RowBits>)>,
    is_estimated: bool,
}

/// Segments of one source whose lines interleave; usually only one.
struct Run<'a> {
    segments: Vec<(&'a Segment, Arc<RowBits>)>,
    /// The number of selected lines.
    len: u64,
}

impl LineFinder {
    /// Finds up to `count` lines after the first `from` ones, on up to `jobs` threads. If `from` is
    /// past the end, the answer has no lines, but still the total. Returns `None` if `abandoned` became true.
    ///
    /// The caller adds the texts of the lines and their sources.
    ///
    /// # Errors
    /// Fails if the query is not valid for this data.
    pub fn find<D: Snapshots>(
        &mut self,
        data: &Arc<D>,
        query: &ParsedQuery,
        (from, count): (u64, usize),
        jobs: usize,
        abandoned: &AtomicBool,
    ) -> Result<Option<LinesAnswer>, QueryError> {
        over_snapshot(data, jobs, abandoned, |work| self.find_at(&work, query, (from, count)))
    }

    fn find_at<D: Snapshots>(
        &mut self,
        work: &SnapshotWork<'_, D>,
        query: &ParsedQuery,
        (from, count): (u64, usize),
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
        let names = SelectedLine::FIELDS.map(|field: Field| field.name().to_owned());
        let lines = work.with_values(|values| {
            let reader = RowReader::new(&snapshot.formats, values, kind.into()).only(&names);
            let mut record = Record::new();
            let line = |(segment, row): (&Segment, usize)| {
                reader.read(segment, row, values, &mut record);
                SelectedLine::new(segment.source(), segment.line_offset(row), &record)
            };
            places(&runs, from, count).into_iter().map(line).collect()
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
fn places<'a>(runs: &[Run<'a>], from: u64, count: usize) -> Vec<(&'a Segment, usize)> {
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
