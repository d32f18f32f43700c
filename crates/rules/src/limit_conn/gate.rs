//! The limits enforced: a decision about each request as it arrives, and a place until it ends.
//!
//! Follows `ngx_http_limit_conn_handler`: a request that finds a full zone, or a zone without room
//! for its key, is rejected and counted in no zone.

use std::sync::Arc;

use weir_core::{Record, RecordFields};

use super::limit::{ConnectionLimit, ConnectionZone};
use super::observer::KEY_BYTES_MAX;
use crate::gate::{
    CannotEnforce, Gate, GateClock, GateDecision, GateOptions, GateUsage, GateVerdict, HeldPlaces,
    Place, Quota, QuotaPolicy, QuotaUnit, RequestsInProgress,
};
use crate::limit_req::configuration::{Configuration, LimitSet};
use crate::limit_req::observer::LimitObserver;

/// The bytes of a node without its key: `ngx_rbtree_node_t` up to its color, and
/// `ngx_http_limit_conn_node_t` up to its data, with 64 bits.
const NODE_BYTES: usize = 36;

/// The time after which a client may try again, in seconds. The actual time is unknown, because it
/// depends on when a request ends.
const RETRY_AFTER_S: u64 = 1;

/// The gate of a configuration.
///
/// # Memory
///
/// About 100 bytes for each key that has a request, and its text; 60 for each request.
pub(super) struct ConnectionGate {
    configuration: Arc<Configuration<ConnectionLimit>>,
    observer: LimitObserver<ConnectionLimit>,
    zones: Vec<RequestsInProgress>,
    places: HeldPlaces,
    /// The policies by limit set and position of the limit.
    policies: Vec<Vec<QuotaPolicy>>,
    clock: GateClock,
}

impl ConnectionGate {
    /// Resolves the keys of a configuration against the fields of requests.
    ///
    /// # Errors
    /// If a key has a variable that requests do not have when they arrive.
    pub(super) fn new(
        configuration: &Arc<Configuration<ConnectionLimit>>,
        fields: &RecordFields,
        options: GateOptions,
    ) -> Result<Self, CannotEnforce> {
        let observer = LimitObserver::new(configuration, fields)?;
        let policies_of = |limits: &Vec<ConnectionLimit>| {
            let policy = |limit: &ConnectionLimit| {
                let name = &configuration.zones[limit.zone].name;
                QuotaPolicy::new(name, limit.connections, None, QuotaUnit::ConcurrentRequests)
            };
            limits.iter().map(policy).collect()
        };
        let zone = |zone: &ConnectionZone| {
            let bytes_max = zone.bytes.unwrap_or(usize::MAX).min(options.bytes_max);
            RequestsInProgress::new(GateOptions { bytes_max, ..options })
        };
        Ok(Self {
            configuration: Arc::clone(configuration),
            observer,
            zones: configuration.zones.iter().map(zone).collect(),
            places: HeldPlaces::default(),
            policies: configuration.limit_sets.iter().map(|set| policies_of(&set.limits)).collect(),
            clock: GateClock::default(),
        })
    }
}

impl Gate for ConnectionGate {
    fn decide(&mut self, record: &Record<'_>, now_ns: i64) -> GateDecision<'_> {
        // The requests in progress do not depend on the time.
        let (arrival_ns, _) = self.clock.advance(now_ns);
        let Some((set, keys)) = self.observer.limits(record, KEY_BYTES_MAX) else {
            return GateDecision::unlimited(arrival_ns);
        };
        let LimitSet { limits, is_dry_run } = &self.configuration.limit_sets[set];
        let zones = &mut self.zones;
        let applying = || {
            let numbered = limits.iter().zip(keys).enumerate();
            numbered.filter(|(_, (_, key))| !key.is_empty())
        };
        let (mut rejecting, mut first) = (None, None);
        for (number, (limit, key)) in applying() {
            first.get_or_insert(number);
            let zone = &mut zones[limit.zone];
            let is_full = zone.count(key) >= limit.connections;
            if is_full || !zone.has_room(key, node_bytes(key.len())) {
                rejecting = Some(number);
                break;
            }
        }
        let number = rejecting.or(first).unwrap_or(0);
        let place = rejecting.is_none().then(|| {
            self.places.take(applying().map(|(_, (limit, key))| {
                (limit.zone, zones[limit.zone].enter(key, node_bytes(key.len())))
            }))
        });
        let limit = &limits[number];
        let remaining = match rejecting {
            Some(_) => 0,
            None => limit.connections.saturating_sub(zones[limit.zone].count(&keys[number])),
        };
        GateDecision {
            verdict: match rejecting {
                Some(_) => GateVerdict::Rejected { retry_after_s: Some(RETRY_AFTER_S) },
                None => GateVerdict::Passed,
            },
            limit: &self.configuration.zones[limit.zone].name,
            key: &keys[number],
            is_dry_run: *is_dry_run,
            quota: Some(Quota { policy: &self.policies[set][number], remaining, reset_s: None }),
            place,
            ..GateDecision::unlimited(arrival_ns)
        }
    }

    fn release(&mut self, place: Place) {
        let Self { places, zones, .. } = self;
        places.release(place, |zone, key| {
            if let Some(zone) = zones.get_mut(zone) {
                zone.leave(key, node_bytes);
            }
        });
    }

    fn usage(&self) -> GateUsage {
        let memory_bytes = self.places.memory_bytes();
        let mut usage = GateUsage { memory_bytes, ..GateUsage::default() };
        self.zones.iter().for_each(|zone| usage.add(zone.usage()));
        usage
    }
}

/// The bytes that a node takes in a zone of nginx: a power of two (`ngx_slab_alloc_locked`). A key
/// has 255 bytes at most.
fn node_bytes(key_bytes: usize) -> usize {
    (NODE_BYTES + key_bytes).next_power_of_two()
}
