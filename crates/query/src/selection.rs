//! The number of records that a query selects, without any other aggregate.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::Snapshots;
use weir_view::{SelectionCount, main_kind};

use crate::counter::{CountedAggregates, Counter};
use crate::extents::Extents;
use crate::question::{ParsedQuery, QueryError};
use crate::snapshot_work::{SnapshotWork, Unanswered, over_snapshot};

/// Counts the current records of a data set that a query selects, on up to `jobs` threads. Returns `None` if `abandoned` became
/// true.
///
/// # Errors
/// Fails if the query is not valid for this data.
pub fn count_selection<D: Snapshots>(
    data: &Arc<D>,
    query: &ParsedQuery,
    jobs: usize,
    abandoned: &AtomicBool,
) -> Result<Option<SelectionCount>, QueryError> {
    over_snapshot(data, jobs, abandoned, |work| count_at(&work, query))
}

fn count_at<D: Snapshots>(
    work: &SnapshotWork<'_, D>,
    query: &ParsedQuery,
) -> Result<SelectionCount, Unanswered<QueryError>> {
    let snapshot = &work.snapshot;
    let mut extents = Extents::default();
    extents.update(snapshot);
    let kinds = extents.kinds(snapshot);
    let kind = query.kind.unwrap_or_else(|| main_kind(&kinds));
    let query = query.selection(kind);
    let aggregates = CountedAggregates::Totals;
    let counter = Counter::with_aggregates(work.data.clone(), query, aggregates, work.jobs);
    let mut counter = counter.map_err(Unanswered::Refused)?;
    counter.count(snapshot, work.abandoned)?;
    let evaluation = counter.evaluation();
    let of_kind = kinds.iter().filter(|count| count.kind == kind);
    Ok(SelectionCount {
        kind,
        matching: evaluation.totals().records,
        records: of_kind.map(|count| count.records).sum(),
        estimated: work.with_values(|values| evaluation.is_filter_estimated(values))?,
    })
}
