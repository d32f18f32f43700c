//! What happens to some requests, by its name in records.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts of what does not happen to most requests.
#[derive(Debug, Default)]
pub(crate) struct Events(Mutex<EventCounts>);

/// Counts of what does not happen to most requests, by the names in records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// Requests that were not answered from a backend as a whole, by their outcome.
    pub unanswered: BTreeMap<&'static str, u64>,
    /// What limits have decided: by their name, and the verdict.
    pub decisions: BTreeMap<(Arc<str>, &'static str), u64>,
    /// What the caches of look-ups and sessions said: by the cache, and the answer.
    pub cache_lookups: BTreeMap<(&'static str, &'static str), u64>,
    /// How often the system's clock was set while the gateway ran, `forward` and `back`.
    pub clock_jumps: BTreeMap<&'static str, u64>,
}

impl Events {
    pub(crate) fn count_unanswered(&self, outcome: &'static str) {
        *self.lock().unanswered.entry(outcome).or_default() += 1;
    }

    pub(crate) fn count_decision(&self, limit: &Arc<str>, verdict: &'static str) {
        *self.lock().decisions.entry((limit.clone(), verdict)).or_default() += 1;
    }

    pub(crate) fn count_lookup(&self, cache: &'static str, result: &'static str) {
        *self.lock().cache_lookups.entry((cache, result)).or_default() += 1;
    }

    pub(crate) fn count_clock_jump(&self, direction: &'static str) {
        *self.lock().clock_jumps.entry(direction).or_default() += 1;
    }

    pub(crate) fn read(&self) -> EventCounts {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, EventCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
