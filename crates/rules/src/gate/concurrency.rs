//! Limits of concurrent requests, enforced: a decision about each request as it arrives, and a place
//! until it ends.
//!
//! As in `ngx_http_limit_conn_handler`, a request that finds a full zone, or a zone without room for
//! its key, is rejected and counted in no zone.

use weir_core::Record;

use super::served::{HeldPlaces, RequestsInProgress};
use super::{
    Gate, GateClock, GateDecision, GateLimit, GateOptions, GateUsage, GateVerdict, Place, Quota,
    QuotaPolicy, QuotaUnit,
};

/// The time after which a client may try again, in seconds. The actual time is unknown, because it
/// depends on when a request ends.
const RETRY_AFTER_S: u64 = 1;

/// Finds the keys of requests.
pub(crate) trait RequestKeys: Send {
    /// Whether an empty text is a key: that of a limit for all requests together. If not, it means
    /// that the limit does not apply.
    const EMPTY_IS_KEY: bool;

    /// The number of a record's limit set, and the keys of its limits in order; `None` if no limit
    /// applies.
    fn keys(&mut self, record: &Record<'_>) -> Option<(usize, &[Vec<u8>])>;
}

/// A zone, in which requests are counted by key.
pub(crate) struct ConcurrencyZone {
    name: String,
    requests: RequestsInProgress,
}

impl ConcurrencyZone {
    pub(crate) fn new(name: &str, options: GateOptions) -> Self {
        Self { name: name.to_owned(), requests: RequestsInProgress::new(options) }
    }
}

/// The limits that apply to a request together, in order.
pub(crate) struct ConcurrencyLimitSet {
    pub(crate) limits: Vec<ConcurrencyLimit>,
    pub(crate) is_dry_run: bool,
}

/// A limit of concurrent requests.
pub(crate) struct ConcurrencyLimit {
    /// The number of the zone.
    zone: usize,
    count: u64,
    policy: QuotaPolicy,
}

impl ConcurrencyLimit {
    /// Makes the limit of a zone with a name and a number.
    pub(crate) fn new(zone_name: &str, zone: usize, count: u64) -> Self {
        let policy = QuotaPolicy::new(zone_name, count, None, QuotaUnit::ConcurrentRequests);
        Self { zone, count, policy }
    }
}

/// The gate of limits of concurrent requests.
///
/// # Memory
///
/// About 100 bytes for each key that has a request, and its text; 60 for each request.
pub(crate) struct ConcurrencyGate<K> {
    keys: K,
    zones: Vec<ConcurrencyZone>,
    limit_sets: Vec<ConcurrencyLimitSet>,
    /// The bytes that a key of some bytes takes in its zone.
    node_bytes: fn(usize) -> usize,
    places: HeldPlaces,
    clock: GateClock,
}

impl<K: RequestKeys> ConcurrencyGate<K> {
    pub(crate) fn new(
        keys: K,
        zones: Vec<ConcurrencyZone>,
        limit_sets: Vec<ConcurrencyLimitSet>,
        node_bytes: fn(usize) -> usize,
    ) -> Self {
        let (places, clock) = Default::default();
        Self { keys, zones, limit_sets, node_bytes, places, clock }
    }
}

impl<K: RequestKeys> Gate for ConcurrencyGate<K> {
    fn decide(&mut self, record: &Record<'_>, now_ns: i64) -> GateDecision<'_> {
        // The requests in progress do not depend on the time.
        let (arrival_ns, _) = self.clock.advance(now_ns);
        let Self { keys, zones, limit_sets, node_bytes, places, .. } = self;
        let Some((set, keys)) = keys.keys(record) else {
            return GateDecision::unlimited(arrival_ns);
        };
        let ConcurrencyLimitSet { limits, is_dry_run } = &limit_sets[set];
        let applying = || {
            let numbered = limits.iter().zip(keys).enumerate();
            numbered.filter(|(_, (_, key))| K::EMPTY_IS_KEY || !key.is_empty())
        };
        let (mut rejecting, mut first) = (None, None);
        for (number, (limit, key)) in applying() {
            first.get_or_insert(number);
            let requests = &mut zones[limit.zone].requests;
            let is_full = requests.count(key) >= limit.count;
            if is_full || !requests.has_room(key, node_bytes(key.len())) {
                rejecting = Some(number);
                break;
            }
        }
        let number = rejecting.or(first).unwrap_or(0);
        let place = rejecting.is_none().then(|| {
            places.take(applying().map(|(_, (limit, key))| {
                (limit.zone, zones[limit.zone].requests.enter(key, node_bytes(key.len())))
            }))
        });
        let limit = &limits[number];
        let zone = &zones[limit.zone];
        let (verdict, remaining) = match rejecting {
            Some(_) => (GateVerdict::Rejected { retry_after_s: Some(RETRY_AFTER_S) }, 0),
            None => {
                let present = zone.requests.count(&keys[number]);
                (GateVerdict::Passed, limit.count.saturating_sub(present))
            }
        };
        GateDecision {
            verdict,
            limit: &zone.name,
            key: &keys[number],
            is_dry_run: *is_dry_run,
            quota: Some(Quota { policy: &limit.policy, remaining, reset_s: None }),
            place,
            ..GateDecision::unlimited(arrival_ns)
        }
    }

    fn release(&mut self, place: Place) {
        let Self { places, zones, node_bytes, .. } = self;
        places.release(place, |zone, key| {
            if let Some(zone) = zones.get_mut(zone) {
                zone.requests.leave(key, *node_bytes);
            }
        });
    }

    fn limits(&self) -> Vec<GateLimit<'_>> {
        let of_set = |set: &'_ ConcurrencyLimitSet| -> Vec<GateLimit<'_>> {
            let is_dry_run = set.is_dry_run;
            let name = |limit: &ConcurrencyLimit| &*self.zones[limit.zone].name;
            set.limits.iter().map(|it| GateLimit { name: name(it), is_dry_run }).collect()
        };
        self.limit_sets.iter().flat_map(of_set).collect()
    }

    fn usage(&self) -> GateUsage {
        let memory_bytes = self.places.memory_bytes();
        let mut usage = GateUsage { memory_bytes, ..GateUsage::default() };
        self.zones.iter().for_each(|zone| usage.add(zone.requests.usage()));
        usage
    }
}
