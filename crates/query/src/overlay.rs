//! Counts the records that a chart overlays on those of a report.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{ConditionOperator, FieldCondition, STATUS_CLASS, Snapshot, Snapshots};
use weir_view::{Layer, RecordKind};

use crate::blocks::BLOCK_MESSAGES;
use crate::counter::{CountedAggregates, Counter};
use crate::evaluator::{filter_of, retarget};
use crate::periods::Periods;
use crate::question::{ParsedQuery, QueryError};
use crate::snapshot_work::Interruption;

/// Counts the overlaid records over time. An overlay of firewall events also counts the blocks in
/// error logs, by what was done to the request.
#[derive(Debug)]
pub(crate) struct Overlay<D> {
    events: Counter<D>,
    /// The blocks in error logs: the label and the condition from [`block_conditions`], and their
    /// counter.
    blocks: Vec<(&'static str, FieldCondition, Counter<D>)>,
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
        query: &ParsedQuery,
    ) -> Result<Option<Self>, QueryError> {
        let Some(events_query) = overlay_of(query) else { return Ok(None) };
        let has_messages = data.values().schema().text_column_by_name(MESSAGE).is_some();
        let mut blocks = Vec::new();
        if query.overlay == Some(RecordKind::FirewallEvent) && has_messages {
            for (label, condition) in block_conditions() {
                // Separate caches: answers about requests are useless here, and would count as
                // memory of each.
                let query = blocks_query(&events_query, &condition);
                let counter = own.change_without_cache(query, CountedAggregates::Histogram)?;
                blocks.push((label, condition, counter));
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
    pub(crate) fn change(&self, query: &ParsedQuery) -> Result<Option<Self>, QueryError> {
        let Some(events) = overlay_of(query) else { return Ok(None) };
        let mut blocks = Vec::new();
        if query.overlay == Some(RecordKind::FirewallEvent) {
            for (label, condition, counter) in &self.blocks {
                let counter = counter.change(blocks_query(&events, condition))?;
                blocks.push((*label, condition.clone(), counter));
            }
        }
        Ok(Some(Self {
            events: self.events.change(events)?,
            blocks,
            ahead_s: query.overlay_ahead_s,
        }))
    }

    /// Returns whether the data now has error messages that this overlay does not count.
    pub(crate) fn lacks_blocks(&self, data: &D, query: &ParsedQuery) -> bool {
        let is_of_events = query.overlay == Some(RecordKind::FirewallEvent);
        let has_messages = || data.values().schema().text_column_by_name(MESSAGE).is_some();
        is_of_events && self.blocks.is_empty() && has_messages()
    }

    /// Sets the counters to the period of a report.
    pub(crate) fn retarget(
        &mut self,
        query: &ParsedQuery,
        periods: Option<Periods>,
    ) -> Result<(), Interruption> {
        let period = periods.map(|periods| periods.now.into()).unwrap_or_default();
        let events = overlay_of(&query.clone().within(period)).ok_or(Interruption::Abandoned)?;
        for (_, condition, counter) in &mut self.blocks {
            retarget(counter, blocks_query(&events, condition))?;
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
fn overlay_of(query: &ParsedQuery) -> Option<ParsedQuery> {
    let overlay = ParsedQuery { stack: STATUS_CLASS.to_owned(), group: None, ..query.clone() };
    Some(filter_of(&overlay, query.overlay?).later(query.overlay_ahead_s))
}

/// Returns the query for the error-log lines that a condition selects, under the same conditions as
/// `events`.
fn blocks_query(events: &ParsedQuery, condition: &FieldCondition) -> ParsedQuery {
    let mut query = filter_of(events, RecordKind::ErrorLogLine);
    query.conditions.push(condition.clone().into());
    query
}

/// Returns the conditions that select blocks in error logs, by what was done to the request.
fn block_conditions() -> Vec<(&'static str, FieldCondition)> {
    let mut conditions: Vec<(&'static str, FieldCondition)> = Vec::new();
    for message in &BLOCK_MESSAGES {
        let whole = ConditionOperator::Equal;
        let operator = if message.is_whole { whole } else { ConditionOperator::Prefix };
        let label = message.cause.participle();
        let text = message.text.as_bytes().to_vec();
        let one = FieldCondition::of_bytes(MESSAGE, operator, [text]);
        let is_same = |(known, condition): &&mut (&str, FieldCondition)| {
            *known == label && condition.operator == operator
        };
        match conditions.iter_mut().find(is_same) {
            Some((_, condition)) => condition.values.extend(one.values),
            None => conditions.push((label, one)),
        }
    }
    conditions
}
