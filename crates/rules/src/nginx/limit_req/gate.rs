//! The limits enforced: a decision about each request as it arrives.
//!
//! The nodes are those of the replay with exact times, see [`exact`]. In addition, a zone has a
//! size: if there is no room for a node, the oldest one is freed (`ngx_http_limit_req_expire`), and
//! if there is still no room, the request is rejected.

use std::sync::Arc;

use weir_core::{Record, RecordFields};

use super::bucket::{REQUEST, Rate};
use super::exact::{self, ExactOutcome, Nodes};
use super::limit::{Limit, RequestZone};
use super::nodes::ZoneNodes;
use crate::gate::{
    CannotEnforce, Gate, GateClock, GateDecision, GateLimit, GateOptions, GateUsage, GateVerdict,
    Quota, QuotaPolicy,
};
use crate::keys::KeySlots;
use crate::nginx::configuration::{Configuration, LimitSet};
use crate::nginx::key::KEY_BYTES_MAX;
use crate::nginx::observer::LimitObserver;

/// The excess of a request whose key has no room in its zone; it exceeds every burst.
const NO_ROOM: i64 = i64::MAX;

/// The bytes of a node without its key: `ngx_rbtree_node_t` up to its color, and
/// `ngx_http_limit_req_node_t` up to its data, with 64 bits.
const NODE_BYTES: usize = 80;

/// The size of a page of a zone; larger nodes take whole ones (`ngx_slab_max_size`).
const PAGE_BYTES: usize = 4_096;

/// The gate of a configuration.
///
/// # Memory
///
/// About 100 bytes and the text for each key, about as much as in nginx.
pub(super) struct LimitGate {
    configuration: Arc<Configuration<Limit>>,
    observer: LimitObserver<Limit>,
    zones: Vec<GateZone>,
    /// The policies by limit set and position of the limit.
    policies: Vec<Vec<QuotaPolicy>>,
    clock: GateClock,
}

impl LimitGate {
    /// Resolves the keys of a configuration against the fields of requests.
    ///
    /// # Errors
    /// If a key has a variable that requests do not have when they arrive.
    pub(super) fn new(
        configuration: &Arc<Configuration<Limit>>,
        fields: &RecordFields,
        options: GateOptions,
    ) -> Result<Self, CannotEnforce> {
        let observer = LimitObserver::new(configuration, fields)?;
        let zones = &configuration.zones;
        let policies_of = |limits: &Vec<Limit>| {
            limits.iter().map(|limit| policy(&zones[limit.zone], limit)).collect()
        };
        Ok(Self {
            configuration: Arc::clone(configuration),
            observer,
            zones: zones.iter().map(|zone| GateZone::new(zone, options)).collect(),
            policies: configuration.limit_sets.iter().map(|set| policies_of(&set.limits)).collect(),
            clock: GateClock::default(),
        })
    }
}

impl Gate for LimitGate {
    fn decide(&mut self, record: &Record<'_>, now_ns: i64) -> GateDecision<'_> {
        let (arrival_ns, was_set_back) = self.clock.advance(now_ns);
        if was_set_back {
            self.zones.iter_mut().for_each(GateZone::clear);
        }
        let Some((set, keys)) = self.observer.limits(record, KEY_BYTES_MAX) else {
            return GateDecision::unlimited(arrival_ns);
        };
        let LimitSet { limits, is_dry_run } = &self.configuration.limit_sets[set];
        let key = |number: usize| Some(&keys[number][..]).filter(|key| !key.is_empty());
        let now_ms = arrival_ns.div_euclid(1_000_000);
        let outcome = exact::decide(&mut self.zones, limits, key, now_ms);
        let number = outcome.limit as usize;
        let (limit, policy) = (&limits[number], &self.policies[set][number]);
        let zone = &self.configuration.zones[limit.zone];
        let quota = quota(limit, zone.parameters.rate, &outcome, policy);
        GateDecision {
            verdict: GateVerdict::of(outcome.verdict, outcome.delay_ms, quota.reset_s),
            limit: &zone.name,
            key: &keys[number],
            is_dry_run: *is_dry_run,
            quota: Some(quota),
            ..GateDecision::unlimited(arrival_ns)
        }
    }

    fn limits(&self) -> Vec<GateLimit<'_>> {
        let Configuration { limit_sets, zones, .. } = &*self.configuration;
        let limits = limit_sets.iter().flat_map(|set| set.limits.iter().map(move |it| (set, it)));
        let named = |(set, limit): (&LimitSet<Limit>, &Limit)| GateLimit {
            name: &zones[limit.zone].name,
            is_dry_run: set.is_dry_run,
        };
        limits.map(named).collect()
    }

    fn usage(&self) -> GateUsage {
        let mut usage = GateUsage { clock_resets: self.clock.resets(), ..GateUsage::default() };
        self.zones.iter().for_each(|zone| usage.add(zone.usage()));
        usage
    }
}

/// The policy of a limit: the number of requests that pass at once, within the time in which they
/// drain.
fn policy(zone: &RequestZone, limit: &Limit) -> QuotaPolicy {
    let requests = (limit.burst / REQUEST).unsigned_abs() + 1;
    let rate = u128::from(zone.parameters.rate.0.max(1).unsigned_abs());
    let window_ns =
        u128::from(requests) * u128::from(REQUEST.unsigned_abs()) * 1_000_000_000 / rate;
    QuotaPolicy::within(&zone.name, requests, window_ns)
}

/// The quota left after a decision: the number of requests that would pass at once, and the time
/// until one more would.
fn quota<'p>(
    limit: &Limit,
    rate: Rate,
    outcome: &ExactOutcome,
    policy: &'p QuotaPolicy,
) -> Quota<'p> {
    let excess = outcome.excess;
    if excess == NO_ROOM {
        return Quota { policy, remaining: 0, reset_s: Some(1) };
    }
    let remaining = ((limit.burst - excess) / REQUEST).max(0);
    // The next request adds one request to the excess, of which this much has to drain first.
    let next = if excess > limit.burst { excess } else { excess + REQUEST };
    let over = next + remaining * REQUEST - limit.burst;
    let wait_ms = (over * 1_000).unsigned_abs().div_ceil(rate.0.max(1).unsigned_abs());
    let reset_s = Some(wait_ms.div_ceil(1_000).max(1));
    Quota { policy, remaining: remaining.unsigned_abs(), reset_s }
}

/// A zone with the texts of its keys.
struct GateZone {
    nodes: ZoneNodes,
    keys: KeySlots,
    /// The bytes that its nodes would take in nginx.
    bytes: usize,
    bytes_max: usize,
    keys_max: usize,
    /// The key of the present request.
    current: u32,
    evicted: u64,
    no_room: u64,
}

impl GateZone {
    fn new(zone: &RequestZone, options: GateOptions) -> Self {
        Self {
            nodes: ZoneNodes::that_forget(zone.parameters.rate),
            keys: KeySlots::default(),
            bytes: 0,
            bytes_max: zone.bytes.unwrap_or(usize::MAX).min(options.bytes_max),
            keys_max: options.keys_max as usize,
            current: 0,
            evicted: 0,
            no_room: 0,
        }
    }

    fn clear(&mut self) {
        self.nodes = ZoneNodes::that_forget(self.nodes.rate());
        self.keys = KeySlots::default();
        self.bytes = 0;
    }

    /// Makes room for a node, and returns whether there is enough.
    fn make_room(&mut self, node_bytes: usize, now_ms: i64) -> bool {
        self.free(now_ms, false);
        if !self.has_room(node_bytes) {
            self.evicted += u64::from(self.keys.len() > 0);
            self.free(now_ms, true);
        }
        self.has_room(node_bytes)
    }

    fn has_room(&self, node_bytes: usize) -> bool {
        self.keys.len() < self.keys_max && self.bytes + node_bytes <= self.bytes_max
    }

    fn free(&mut self, now_ms: i64, must_free: bool) {
        let Self { nodes, keys, bytes, .. } = self;
        nodes.free(now_ms, must_free, |key| *bytes -= node_bytes(keys.remove(key)));
    }

    fn usage(&self) -> GateUsage {
        GateUsage {
            keys: self.keys.len(),
            memory_bytes: self.keys.memory_bytes() + self.nodes.memory_bytes(),
            evicted: self.evicted,
            no_room: self.no_room,
            clock_resets: 0,
        }
    }
}

impl Nodes<&[u8]> for GateZone {
    fn rate(&self) -> Rate {
        self.nodes.rate()
    }

    fn excess(&mut self, key: &[u8], now_ms: i64) -> Option<i64> {
        let number = match self.keys.find(key) {
            Some(number) => number,
            None => {
                let node_bytes = node_bytes(key.len());
                if !self.make_room(node_bytes, now_ms) {
                    self.no_room += 1;
                    return Some(NO_ROOM);
                }
                self.bytes += node_bytes;
                self.keys.insert(key)
            }
        };
        self.current = number;
        self.nodes.excess(number, now_ms)
    }

    /// The key is that of the last call of [`Self::excess`], because a request uses each zone once.
    fn count(&mut self, _: &[u8], now_ms: i64) {
        self.nodes.count(self.current, now_ms);
    }
}

/// The bytes that a node takes in a zone of nginx: a power of two, or whole pages
/// (`ngx_slab_alloc_locked`).
fn node_bytes(key_bytes: usize) -> usize {
    match NODE_BYTES + key_bytes {
        bytes if bytes > PAGE_BYTES / 2 => bytes.next_multiple_of(PAGE_BYTES),
        bytes => bytes.next_power_of_two(),
    }
}
