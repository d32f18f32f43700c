//! The records of a query in spans of time: all of them, and those of some values of a field.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{
    Aggregates, ColumnId, DerivedValues, Dictionary, DurationCounts, Field, RowBits, Segment,
    Snapshots, TimeSpans,
};
use weir_view::{DurationMap, Series, SpanRow, main_kind};

use crate::count_rows::{Counted, count, jobs_for};
use crate::extents::Extents;
use crate::group_values::GroupValues;
use crate::measures::Measures;
use crate::question::{GroupQuestion, ParsedQuery, QueryError};
use crate::snapshot_work::{SnapshotWork, Unanswered, over_snapshot};
use crate::spread::spread_with;
use crate::tallies::FieldValues;

/// Whose ids the rows have.
#[derive(Clone, Copy)]
pub(crate) enum RowKey<'a> {
    Column(ColumnId),
    Derived(&'a DerivedValues),
}

/// The place of rows that are not counted.
const NOWHERE: u16 = u16::MAX;

/// Counts the rows of some values in each span of time, in the order of the values.
///
/// # Errors
/// Fails if the answer is abandoned.
pub(crate) fn over_time<D: Snapshots>(
    work: &SnapshotWork<'_, D>,
    counted: &Counted,
    key: RowKey<'_>,
    ids: &[u32],
    spans: &TimeSpans,
) -> Result<Vec<Vec<u64>>, Unanswered<QueryError>> {
    let places = places(ids);
    let items = selected(counted);
    let new = || (vec![0; ids.len() * spans.len()], Vec::new());
    let add = |(counts, groups): &mut (Vec<u64>, Vec<u32>),
               (segment, rows): (&Arc<Segment>, &RowBits)| {
        let selection = rows.selection();
        match key {
            RowKey::Derived(derived) => derived.ids_of(segment, &selection, groups),
            RowKey::Column(column) => {
                groups.clear();
                let Some(codes) = segment.text(column) else { return };
                codes.for_each(&selection, |code| groups.push(code as u32));
            }
        }
        let mut groups = groups.iter();
        spans.for_each(segment, &selection, |span| {
            let Some(group) = groups.next() else { return };
            let place = places.get(*group as usize).copied().unwrap_or(NOWHERE);
            if let Some(span) = span.filter(|_| place != NOWHERE) {
                counts[usize::from(place) * spans.len() + span] += 1;
            }
        });
    };
    let jobs = jobs_for(work.jobs, items.len());
    let parts = spread_with(jobs, items.into_iter(), work.abandoned, new, add)?;
    let mut sums = vec![0; ids.len() * spans.len()];
    for (counts, _) in parts {
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    Ok(sums.chunks(spans.len().max(1)).map(<[u64]>::to_vec).collect())
}

/// Returns the segments with a row of the query.
fn selected(counted: &Counted) -> Vec<(&Arc<Segment>, &RowBits)> {
    let segments = counted.segments.iter().zip(&counted.rows);
    segments.filter(|(_, rows)| !rows.is_empty()).collect()
}

/// Returns the place of each id among those that are counted.
fn places(ids: &[u32]) -> Vec<u16> {
    let length = ids.iter().max().map_or(0, |id| *id as usize + 1);
    let mut places = vec![NOWHERE; length];
    for (place, id) in ids.iter().enumerate() {
        places[*id as usize] = u16::try_from(place).unwrap_or(NOWHERE);
    }
    places
}

/// Computes the measures of the records of a query in spans of time, on up to `jobs` threads, and with
/// `mapped` how many of them took how long by that duration. Returns `None` if `abandoned` became true.
///
/// # Errors
/// Fails if the query is not valid for this data.
pub fn series<D: Snapshots>(
    data: &Arc<D>,
    query: &ParsedQuery,
    spans: &TimeSpans,
    mapped: Option<Field>,
    jobs: usize,
    abandoned: &AtomicBool,
) -> Result<Option<Series>, QueryError> {
    over_snapshot(data, jobs, abandoned, |work| series_at(&work, query, spans, mapped))
}

fn series_at<D: Snapshots>(
    work: &SnapshotWork<'_, D>,
    query: &ParsedQuery,
    spans: &TimeSpans,
    mapped: Option<Field>,
) -> Result<Series, Unanswered<QueryError>> {
    let mut extents = Extents::default();
    extents.update(&work.snapshot);
    let kind = query.kind.unwrap_or_else(|| main_kind(&extents.kinds(&work.snapshot)));
    let measures = query.group.as_ref().map(GroupQuestion::shown).unwrap_or_default();
    let query = ParsedQuery { group: None, ..query.clone() }.of_kind(kind);
    let counted = count(work, &query, |values| Aggregates {
        groups: Some(GroupQuestion::span_grouping(&measures, spans.clone(), values)),
        ..Aggregates::none()
    })?;
    let names = Dictionary::new();
    let groups = work.with_values(|values| {
        let field = FieldValues::Derived(&names);
        GroupValues::of_field(field, values, &counted.evaluation, None)
    })?;
    let numbers: Vec<usize> = FieldValues::numbers(spans.len()).collect();
    let own = Measures::of(&counted.evaluation).shown(&measures, &groups.counted(&numbers));
    let row = |(number, measures): (&usize, _)| SpanRow { tally: groups.now[*number], measures };
    let map = mapped.map(|field| duration_map(work, &counted, field, spans)).transpose()?;
    Ok(Series { spans: numbers.iter().zip(own).map(row).collect(), map })
}

/// Counts the rows of each span of time by a duration.
fn duration_map<D: Snapshots>(
    work: &SnapshotWork<'_, D>,
    counted: &Counted,
    field: Field,
    spans: &TimeSpans,
) -> Result<DurationMap, Unanswered<QueryError>> {
    let items = selected(counted);
    let new = || DurationCounts::new(field.column(), spans.clone());
    let add = |counts: &mut DurationCounts, (segment, rows): (&Arc<Segment>, &RowBits)| {
        counts.update(segment, &rows.selection());
    };
    let jobs = jobs_for(work.jobs, items.len());
    let parts = spread_with(jobs, items.into_iter(), work.abandoned, new, add)?;
    let mut sum = new();
    parts.iter().for_each(|part| sum.merge(part));
    let steps = sum.steps();
    let seconds = |bound_ns: &u64| *bound_ns as f64 / 1e9;
    Ok(DurationMap {
        bounds_s: steps.bounds_ns.iter().map(seconds).collect(),
        counts: steps.counts,
    })
}
