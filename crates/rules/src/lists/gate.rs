//! A list enforced.

use weir_core::Record;

use super::EntryFinder;
use crate::gate::{Gate, GateClock, GateDecision, GateLimit, GateUsage, GateVerdict};

/// The gate of a list. Its decisions do not depend on earlier requests.
pub(super) struct ListGate {
    name: String,
    finder: EntryFinder<'static>,
    clock: GateClock,
    client: Vec<u8>,
}

impl ListGate {
    pub(super) fn new(name: &str, finder: EntryFinder<'static>) -> Self {
        Self { name: name.to_owned(), finder, clock: GateClock::default(), client: Vec::new() }
    }
}

impl Gate for ListGate {
    fn decide(&mut self, record: &Record<'_>, now_ns: i64) -> GateDecision<'_> {
        let (arrival_ns, _) = self.clock.advance(now_ns);
        let (entry, client) = self.finder.entry(record);
        self.client.clear();
        self.client.extend_from_slice(client);
        let is_denied = entry.is_some_and(|entry| self.finder.denies(entry));
        GateDecision {
            verdict: if is_denied {
                GateVerdict::Rejected { retry_after_s: None }
            } else {
                GateVerdict::Passed
            },
            limit: &self.name,
            key: &self.client,
            ..GateDecision::unlimited(arrival_ns)
        }
    }

    fn limits(&self) -> Vec<GateLimit<'_>> {
        GateLimit::only(&self.name)
    }

    fn usage(&self) -> GateUsage {
        GateUsage::default()
    }
}
