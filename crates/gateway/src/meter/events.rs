//! Counts of rare events, by their names in records.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_sync::Lock;

/// The counters of events that most requests do not have.
#[derive(Debug, Default)]
pub(crate) struct Events(Lock<EventCounts>);

/// The counts of events that most requests do not have, by their names in records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// Requests without a complete answer from a backend, by outcome.
    pub unanswered: BTreeMap<&'static str, u64>,
    /// Decisions of limits, by the limit's name and the verdict.
    pub decisions: BTreeMap<(Arc<str>, &'static str), u64>,
    /// Uses of the caches of lookups and sessions, by cache and result.
    pub cache_lookups: BTreeMap<(&'static str, &'static str), u64>,
    /// Jumps of the system clock while the gateway ran, by direction: `forward` or `back`.
    pub clock_jumps: BTreeMap<&'static str, u64>,
}

impl Events {
    pub(crate) fn count_unanswered(&self, outcome: &'static str) {
        *self.0.lock().unanswered.entry(outcome).or_default() += 1;
    }

    pub(crate) fn count_decision(&self, limit: &Arc<str>, verdict: &'static str) {
        *self.0.lock().decisions.entry((limit.clone(), verdict)).or_default() += 1;
    }

    pub(crate) fn count_lookup(&self, cache: &'static str, result: &'static str) {
        *self.0.lock().cache_lookups.entry((cache, result)).or_default() += 1;
    }

    pub(crate) fn count_clock_jump(&self, direction: &'static str) {
        *self.0.lock().clock_jumps.entry(direction).or_default() += 1;
    }

    pub(crate) fn read(&self) -> EventCounts {
        self.0.lock().clone()
    }
}
