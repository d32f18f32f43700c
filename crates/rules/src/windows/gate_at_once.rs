//! A limit of requests at once, enforced: a decision about each request as it arrives, and a place
//! until it ends.

use weir_core::Record;

use super::exact::has_place;
use super::gate::GateParts;
use super::observer::KeyFinder;
use crate::gate::{
    Gate, GateClock, GateDecision, GateUsage, GateVerdict, HeldPlaces, Place, Quota, QuotaPolicy,
    QuotaUnit, RequestsInProgress,
};

/// The memory of a key besides its text, in bytes.
const KEY_BYTES: usize = 64;

/// After how long a client may try again, in seconds. When a request ends is not known before.
const RETRY_AFTER_S: u64 = 1;

/// The gate of a limit of requests at once.
///
/// # Memory
///
/// About 100 bytes for each key that has a request, and its text; 60 for each request.
pub(super) struct AtOnceGate {
    name: String,
    finder: KeyFinder<'static>,
    count: u64,
    policy: QuotaPolicy,
    served: RequestsInProgress,
    places: HeldPlaces,
    clock: GateClock,
}

impl AtOnceGate {
    pub(super) fn new(parts: GateParts<'_>) -> Self {
        let GateParts { name, limit, finder, options } = parts;
        Self {
            name: name.to_owned(),
            finder,
            count: limit.count,
            policy: QuotaPolicy::new(name, limit.count, None, QuotaUnit::ConcurrentRequests),
            served: RequestsInProgress::new(options),
            places: HeldPlaces::default(),
            clock: GateClock::default(),
        }
    }
}

impl Gate for AtOnceGate {
    fn decide(&mut self, record: &Record<'_>, now_ns: i64) -> GateDecision<'_> {
        // The requests in progress do not depend on the time.
        let (arrival_ns, _) = self.clock.advance(now_ns);
        let Self { finder, served, places, .. } = self;
        let Some(key) = finder.key(record) else { return GateDecision::unlimited(arrival_ns) };
        let (found, node_bytes) = (served.count(key), node_bytes(key.len()));
        let passes = has_place(found, self.count) && served.has_room(key, node_bytes);
        let place = passes.then(|| {
            let number = served.enter(key, node_bytes);
            places.take(std::iter::once((0, number)))
        });
        let remaining = if passes { self.count.saturating_sub(found + 1) } else { 0 };
        GateDecision {
            verdict: if passes {
                GateVerdict::Passed
            } else {
                GateVerdict::Rejected { retry_after_s: Some(RETRY_AFTER_S) }
            },
            limit: &self.name,
            key,
            quota: Some(Quota { policy: &self.policy, remaining, reset_s: None }),
            place,
            ..GateDecision::unlimited(arrival_ns)
        }
    }

    fn release(&mut self, place: Place) {
        let Self { places, served, .. } = self;
        places.release(place, |_, key| served.leave(key, node_bytes));
    }

    fn usage(&self) -> GateUsage {
        let memory_bytes = self.places.memory_bytes();
        let mut usage = GateUsage { memory_bytes, ..GateUsage::default() };
        usage.add(self.served.usage());
        usage
    }
}

fn node_bytes(key_bytes: usize) -> usize {
    KEY_BYTES + key_bytes
}
