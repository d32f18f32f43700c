//! The number of records that a query selects, without any other aggregate.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{Snapshot, Snapshots};
use weir_view::{Query, QueryError, SelectionCount, main_kind};

use crate::counter::{CountedAggregates, Counter, Interruption};
use crate::extents::Extents;

/// Counts the current records of a data set that a query selects, on up to `jobs` threads. Times in
/// the query are RFC 3339, see [`settled`](crate::settled). Returns `None` if `abandoned` became
/// true.
///
/// # Errors
/// Fails if the query is not valid for this data.
pub fn count_selection<D: Snapshots>(
    data: &Arc<D>,
    query: &Query,
    jobs: usize,
    abandoned: &AtomicBool,
) -> Result<Option<SelectionCount>, QueryError> {
    loop {
        let snapshot = data.snapshot();
        match count_at(data, &snapshot, query, jobs, abandoned)? {
            Ok(count) => return Ok(Some(count)),
            Err(Interruption::StaleIds) => {}
            Err(Interruption::Abandoned) => return Ok(None),
        }
    }
}

fn count_at<D: Snapshots>(
    data: &Arc<D>,
    snapshot: &Snapshot<D::Source>,
    query: &Query,
    jobs: usize,
    abandoned: &AtomicBool,
) -> Result<Result<SelectionCount, Interruption>, QueryError> {
    let mut extents = Extents::default();
    extents.update(snapshot);
    let kinds = extents.kinds(snapshot);
    let kind = query.kind.unwrap_or_else(|| main_kind(&kinds));
    let query = Query { kind: Some(kind), compare: None, ..query.clone() };
    let aggregates = CountedAggregates::Totals;
    let mut counter = Counter::with_aggregates(data.clone(), query, aggregates, jobs)?;
    if let Err(interruption) = counter.count(snapshot, abandoned) {
        return Ok(Err(interruption));
    }
    let values = data.values();
    if values.reuses() != snapshot.epoch {
        return Ok(Err(Interruption::StaleIds));
    }
    let evaluation = counter.evaluation();
    let of_kind = kinds.iter().filter(|count| count.kind == kind);
    Ok(Ok(SelectionCount {
        kind,
        matching: evaluation.totals().records,
        records: of_kind.map(|count| count.records).sum(),
        estimated: evaluation.is_filter_estimated(&values),
    }))
}
