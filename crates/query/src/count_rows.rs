//! Counts rows on several threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_core::{
    Aggregates, Evaluation, Fold, PartialAggregates, Recount, RowBits, Segment, SnapshotSegment,
    Snapshots, TopList, Values,
};

use crate::question::{ParsedQuery, QueryError};
use crate::snapshot_work::{Interruption, SnapshotWork, Unanswered};
use crate::spread::{spread, spread_with};

/// The minimum number of segments for each thread.
const SEGMENTS_PER_JOB_MIN: usize = 8;

/// Returns the number of threads for some segments, of `jobs` that there may be.
pub(crate) fn jobs_for(jobs: usize, segments: usize) -> usize {
    jobs.min(segments / SEGMENTS_PER_JOB_MIN).max(1)
}

/// Lets an evaluation and its filter learn all values.
///
/// # Errors
/// Fails if the answer is abandoned.
pub(crate) fn refresh(
    evaluation: &mut Evaluation,
    values: &Values,
    jobs: usize,
    abandoned: &AtomicBool,
) -> Result<(), Interruption> {
    let filter = evaluation.filter();
    let batches = filter.undecided_batches(values);
    let is_abandoned = || abandoned.load(Ordering::Relaxed);
    let decide = |batch| filter.decide_unless(values, batch, &is_abandoned);
    let decisions = spread(jobs, batches.iter(), abandoned, decide)?;
    for (batch, decisions) in batches.iter().zip(decisions) {
        let decisions = decisions.ok_or(Interruption::Abandoned)?;
        evaluation.filter_mut().accept(batch, &decisions);
    }
    evaluation.refresh(values);
    Ok(())
}

/// Counts the rows of some segments.
///
/// # Errors
/// Fails if the answer is abandoned.
pub(crate) fn run(
    mut recount: Recount<'_>,
    segments: usize,
    jobs: usize,
    abandoned: &AtomicBool,
) -> Result<Evaluation, Interruption> {
    let read = |part: &mut PartialAggregates, number| recount.read(number, part);
    let mut parts = spread_with(jobs, 0..segments, abandoned, || recount.new_part(), read)?;
    spread(jobs, parts.iter_mut(), abandoned, PartialAggregates::arrange_groups)?;
    let mut lists = recount.take_lists();
    let mut columns: Vec<_> = lists.iter_mut().enumerate().collect();
    // The largest first, so that no thread works alone on a large column at the end.
    columns.sort_by_key(|(column, _)| std::cmp::Reverse(recount.weight(*column)));
    let count = |(column, list): (usize, &mut TopList)| recount.count(column, list, &parts);
    spread(jobs, columns.into_iter(), abandoned, count)?;
    Ok(recount.finish(lists, &parts))
}

/// The records of a query, counted once.
pub(crate) struct Counted {
    pub(crate) evaluation: Evaluation,
    pub(crate) segments: Vec<Arc<Segment>>,
    /// For each segment the rows that pass the filter.
    pub(crate) rows: Vec<RowBits>,
}

/// Counts some aggregates of the records of a query over a snapshot.
///
/// # Errors
/// Fails if the query is not valid for the data, or the answer is abandoned.
pub(crate) fn count<D: Snapshots>(
    work: &SnapshotWork<'_, D>,
    query: &ParsedQuery,
    aggregates: impl FnOnce(&Values) -> Aggregates,
) -> Result<Counted, Unanswered<QueryError>> {
    let blank = work.with_values(|values| {
        let mut question = query.question(values).map_err(Unanswered::Refused)?;
        question.aggregates = aggregates(values);
        let mut blank = Evaluation::new(&question);
        refresh(&mut blank, values, work.jobs, work.abandoned)?;
        Ok::<_, Unanswered<QueryError>>(blank)
    })??;
    let segments: Vec<&SnapshotSegment> = work.snapshot.segments.iter().collect();
    let jobs = jobs_for(work.jobs, segments.len());
    let pass = |segment: &&SnapshotSegment| blank.pass_within(&segment.segment, &segment.bounds);
    let rows: Vec<RowBits> = spread(jobs, segments.iter(), work.abandoned, pass)?;
    let segments: Vec<Arc<Segment>> =
        segments.into_iter().map(|segment| segment.segment.clone()).collect();
    let recount = Recount::more(blank, &segments, &rows);
    let evaluation = run(recount, segments.len(), jobs, work.abandoned)?;
    Ok(Counted { evaluation, segments, rows })
}
