//! Blocks in error logs and firewall logs, compared with the requests of the same addresses.
//!
//! This takes two passes over the log. A [`BlockCensus`] finds the blocked addresses, and
//! [`BlockHistories`] collects what the listed ones had requested. Both are folds, so a program
//! that keeps no records can run them over files that it reads twice. [`blocks`] runs them over a
//! data set.

mod addresses;
mod answer;
mod census;
mod clocks;
mod events;
mod histories;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{
    AddressBlock, CompiledFilter, Filter, Fold, Segment, SnapshotSegment, Snapshots, TimeBounds,
    Values, Zone,
};
use weir_view::{BlocksQuestion, BlocksReport};

pub use answer::blocks_report;
pub use census::{BlockCensus, BlockedAddresses};
pub(crate) use events::BLOCK_MESSAGES;
pub use histories::BlockHistories;

use crate::question::{ParsedQuery, QueryError, log_zone};
use crate::snapshot_work::{Interruption, SnapshotWork, Unanswered, over_snapshot};
use crate::spread::spread_with;

/// The maximum number of addresses that a report lists. All are counted.
pub const BLOCKED_ADDRESSES_MAX: usize = 1_000;

/// Reports the blocks among the current records of a data set that a query selects. Uses up to
/// `jobs` threads, and ignores the kind in the query.
///
/// The outer `None` means that `abandoned` became true, the inner one that the log has no blocks,
/// or no requests beside them.
///
/// # Errors
/// Fails if the query is not valid for this data.
pub fn blocks<D: Snapshots>(
    data: &Arc<D>,
    query: &ParsedQuery,
    question: &BlocksQuestion,
    jobs: usize,
    abandoned: &AtomicBool,
) -> Result<Option<Option<BlocksReport>>, QueryError> {
    over_snapshot(data, jobs, abandoned, |work| {
        let filter = filter_and_zone(query, &data.values());
        let (mut filter, zone) = filter.map_err(Unanswered::Refused)?;
        work.with_values(|values| work.refresh(&mut filter, values))??;
        Ok(report(&work, &filter, &zone, question)?)
    })
}

/// Returns the filter of a query for records of all kinds, and the zone of its times.
///
/// # Errors
/// Fails if the query is not valid for this data.
pub fn filter_and_zone(
    query: &ParsedQuery,
    values: &Values,
) -> Result<(CompiledFilter, Zone), QueryError> {
    let filter = Filter { kind: None, ..query.filter(values)? };
    let zone = query.zone.clone().unwrap_or_else(|| log_zone(values));
    Ok((CompiledFilter::new(&filter), zone))
}

fn report<D: Snapshots>(
    work: &SnapshotWork<'_, D>,
    filter: &CompiledFilter,
    zone: &Zone,
    question: &BlocksQuestion,
) -> Result<Option<BlocksReport>, Interruption> {
    let census = fold(work, BlockCensus::new(filter.clone()), BlockCensus::update_within)?;
    let addresses = work.with_values(|values| census.addresses(values, BLOCKED_ADDRESSES_MAX))?;
    let Some(addresses) = addresses else { return Ok(None) };
    let window_s = question.window_s.min(BlocksQuestion::WINDOW_S_MAX);
    let histories = |offset_s: i64| {
        let blank = BlockHistories::new(filter.clone(), &addresses, (window_s, offset_s));
        fold(work, blank, BlockHistories::update_within)
    };
    let mut offset_s = question.clock_offset_s.unwrap_or(0);
    let mut found = histories(offset_s)?;
    let estimate = found.clock_estimate();
    let estimated_s = estimate.map_or(0, |estimate| estimate.offset_s);
    if question.clock_offset_s.is_none() && estimated_s != 0 {
        offset_s = estimated_s;
        found = histories(offset_s)?;
    }
    let settings = (window_s, offset_s, estimate);
    let networks =
        question.good_networks.iter().filter_map(|text| AddressBlock::parse_or_address(text));
    let networks: Vec<AddressBlock> = networks.collect();
    let report =
        |values: &Values| blocks_report(&addresses, &found, values, zone, settings, &networks);
    Ok(Some(work.with_values(report)?))
}

/// Runs a fold over all segments.
fn fold<D: Snapshots, F: Fold + Clone + Send + Sync>(
    work: &SnapshotWork<'_, D>,
    mut fold: F,
    update: impl Fn(&mut F, &Segment, &TimeBounds) + Sync,
) -> Result<F, Interruption> {
    work.with_values(|values| fold.refresh(values))?;
    let update = |part: &mut F, segment: &SnapshotSegment| {
        update(part, &segment.segment, &segment.bounds);
    };
    let segments: Vec<&SnapshotSegment> = work.snapshot.segments.iter().collect();
    let begin = || fold.clone();
    let parts = spread_with(work.jobs, segments.into_iter(), work.abandoned, begin, update)?;
    let merged = parts.into_iter().reduce(|mut all, part| {
        all.merge(&part);
        all
    });
    Ok(merged.unwrap_or(fold))
}
