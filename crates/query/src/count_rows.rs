//! Counts rows on several threads.

use std::sync::atomic::{AtomicBool, Ordering};

use weir_core::{Evaluation, Fold, PartialAggregates, Recount, TopList, Values};

use crate::snapshot_work::Interruption;
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
