//! Counts the records that a chart overlays on those of a report.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{STATUS_CLASS, Snapshot, Snapshots};
use weir_view::{Clause, Layer, Operator, Query, QueryError, RecordKind};

use crate::blocks::BLOCK_MESSAGES;
use crate::counter::{CountedAggregates, Counter};
use crate::evaluator::{filter_of, retarget};
use crate::periods::Periods;
use crate::snapshot_work::Interruption;

/// Counts the overlaid records over time. An overlay of firewall events also counts the blocks in
/// error logs, by what was done to the request.
#[derive(Debug)]
pub(crate) struct Overlay<D> {
    events: Counter<D>,
    /// The blocks in error logs: the label and the clause from [`block_clauses`], and their
    /// counter.
    blocks: Vec<(&'static str, Clause, Counter<D>)>,
    ahead_s: i64,
}

impl<D: Snapshots> Overlay<D> {
    /// Creates the overlay of a query, if the query has one. `own` counts the records of the
    /// report.
    ///
    /// # Errors
    /// Fails if the query is not valid for this data.
    pub(crate) fn new(
        data: &Arc<D>,
        own: &Counter<D>,
        query: &Query,
    ) -> Result<Option<Self>, QueryError> {
        let Some(events_query) = overlay_of(query)? else { return Ok(None) };
        let has_messages = data.values().schema().text_column_by_name(MESSAGE).is_some();
        let mut blocks = Vec::new();
        if query.overlay == Some(RecordKind::FirewallEvent) && has_messages {
            for (label, clause) in block_clauses() {
                // Separate caches: answers about requests are useless here, and would count as
                // memory of each.
                let query = blocks_query(&events_query, &clause);
                let counter = own.change_without_cache(query, CountedAggregates::Histogram)?;
                blocks.push((label, clause, counter));
            }
        }
        let ahead_s = query.overlay_ahead_s;
        let events = own.change_to(events_query, CountedAggregates::Histogram)?;
        Ok(Some(Self { events, blocks, ahead_s }))
    }

    /// Creates the overlay of another query about the same data set, if that query has one.
    ///
    /// # Errors
    /// Fails if the query is not valid for this data.
    pub(crate) fn change(&self, query: &Query) -> Result<Option<Self>, QueryError> {
        let Some(events) = overlay_of(query)? else { return Ok(None) };
        let mut blocks = Vec::new();
        if query.overlay == Some(RecordKind::FirewallEvent) {
            for (label, clause, counter) in &self.blocks {
                let counter = counter.change(blocks_query(&events, clause))?;
                blocks.push((*label, clause.clone(), counter));
            }
        }
        Ok(Some(Self {
            events: self.events.change(events)?,
            blocks,
            ahead_s: query.overlay_ahead_s,
        }))
    }

    /// Returns whether the data now has error messages that this overlay does not count.
    pub(crate) fn lacks_blocks(&self, data: &D, query: &Query) -> bool {
        let is_of_events = query.overlay == Some(RecordKind::FirewallEvent);
        let has_messages = || data.values().schema().text_column_by_name(MESSAGE).is_some();
        is_of_events && self.blocks.is_empty() && has_messages()
    }

    /// Sets the counters to the period of a report.
    pub(crate) fn retarget(
        &mut self,
        query: &Query,
        periods: Option<Periods>,
    ) -> Result<(), Interruption> {
        let mut query = query.clone();
        query.clauses.extend(periods.into_iter().flat_map(|periods| periods.now.clauses()));
        // The query was valid when it was asked.
        let events = overlay_of(&query).ok().flatten().ok_or(Interruption::Abandoned)?;
        for (_, clause, counter) in &mut self.blocks {
            retarget(counter, blocks_query(&events, clause))?;
        }
        retarget(&mut self.events, events)
    }

    /// Counts the records of a snapshot.
    ///
    /// # Errors
    /// As [`Counter::count`].
    pub(crate) fn count(
        &mut self,
        snapshot: &Snapshot<D::Source>,
        abandoned: &AtomicBool,
    ) -> Result<(), Interruption> {
        self.events.count(snapshot, abandoned)?;
        self.blocks.iter_mut().try_for_each(|(_, _, counter)| counter.count(snapshot, abandoned))
    }

    /// Returns the counts: the events first, without a label, then the blocks.
    pub(crate) fn layers(&self) -> Vec<Layer<'_>> {
        let ahead_s = self.ahead_s;
        let events = Layer { label: None, evaluation: self.events.evaluation(), ahead_s };
        let blocks = self.blocks.iter().map(|(label, _, counter)| Layer {
            label: Some(*label),
            evaluation: counter.evaluation(),
            ahead_s,
        });
        std::iter::once(events).chain(blocks).collect()
    }

    /// Returns the first and the last time of the blocks in error logs, by the report's clock.
    pub(crate) fn blocks_ns(&self) -> Option<(i64, i64)> {
        let range =
            |(_, _, counter): &(_, _, Counter<D>)| counter.evaluation().totals().time_range_ns;
        let ranges = self.blocks.iter().filter_map(range);
        let all = ranges.reduce(|(first, last), (from, until)| (first.min(from), last.max(until)));
        all.map(|range_ns| self.by_own_clock(range_ns))
    }

    /// Converts a range of times of the overlaid records to the report's clock.
    pub(crate) fn by_own_clock(&self, (first_ns, last_ns): (i64, i64)) -> (i64, i64) {
        let ahead_ns = self.ahead_s.saturating_mul(SECOND_NS);
        (first_ns.saturating_sub(ahead_ns), last_ns.saturating_sub(ahead_ns))
    }

    /// Returns the memory of the answers kept as a base for others, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.counters().map(Counter::memory_bytes).sum()
    }

    /// Returns the memory of all answers, in bytes.
    pub(crate) fn total_memory_bytes(&self) -> usize {
        self.counters().map(Counter::total_memory_bytes).sum()
    }

    fn counters(&self) -> impl Iterator<Item = &Counter<D>> {
        std::iter::once(&self.events).chain(self.blocks.iter().map(|(_, _, counter)| counter))
    }
}

const SECOND_NS: i64 = 1_000_000_000;

/// The field with the messages of error logs.
const MESSAGE: &str = "message";

/// Returns the query for the overlaid records, stacked by the leading field of their kind.
fn overlay_of(query: &Query) -> Result<Option<Query>, QueryError> {
    let Some(kind) = query.overlay else { return Ok(None) };
    let overlay = Query { stack: STATUS_CLASS.to_owned(), group: None, ..query.clone() };
    let overlay = overlay.with_times_later(query.overlay_ahead_s)?;
    Ok(Some(filter_of(&overlay, kind)))
}

/// Returns the query for the error-log lines that a clause selects, under the same conditions as
/// `events`.
fn blocks_query(events: &Query, clause: &Clause) -> Query {
    let mut query = filter_of(events, RecordKind::ErrorLogLine);
    query.clauses.push(clause.clone());
    query
}

/// Returns the clauses that select blocks in error logs, by what was done to the request.
fn block_clauses() -> Vec<(&'static str, Clause)> {
    let mut clauses: Vec<(&'static str, Clause)> = Vec::new();
    for message in &BLOCK_MESSAGES {
        let op = if message.is_whole { Operator::Equal } else { Operator::Prefix };
        let label = message.cause.participle();
        let known = clauses.iter_mut().find(|(known, clause)| *known == label && clause.op == op);
        match known {
            Some((_, clause)) => clause.values.push(message.text.to_owned()),
            None => {
                let (field, values) = (MESSAGE.to_owned(), vec![message.text.to_owned()]);
                clauses.push((label, Clause { field, op, values }));
            }
        }
    }
    clauses
}
