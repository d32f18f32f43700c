//! The replay over arrival times to the millisecond: every verdict is nginx's.

use super::LimitReq;
use super::bounded::UNDECIDED;
use super::bucket::{Bucket, Rate, delay_ms};
use super::configuration::Limit;
use super::idle_queue::IdleQueue;
use super::replay::{NO_KEY, Outcome, Requests};
use super::summary::{Peak, Summary};
use super::unlimited::{self, UnlimitedBuckets};
use crate::report::Verdict;

/// The nodes of a zone.
#[derive(Debug)]
pub(super) struct ZoneState {
    rate: Rate,
    /// The buckets by key.
    buckets: Vec<Option<Bucket>>,
    unlimited: UnlimitedBuckets,
    idle: Option<IdleQueue>,
}

/// Access to the nodes of a zone by keys of type `K`.
pub(super) trait Nodes<K> {
    /// The rate of the zone.
    fn rate(&self) -> Rate;

    /// The excess that a request would make, as `ngx_http_limit_req_lookup` finds it; `None` for
    /// the first request of a key.
    fn excess(&mut self, key: K, now_ms: i64) -> Option<i64>;

    /// Counts a request that caused this excess, as `ngx_http_limit_req_account` does.
    fn count(&mut self, key: K, now_ms: i64, excess: Option<i64>);
}

/// The memory of the state of a key, in bytes.
pub(super) const KEY_BYTES: usize = size_of::<Option<Bucket>>() + unlimited::KEY_BYTES;

impl ZoneState {
    /// Makes the nodes of a zone whose limits have a burst of at most `burst`.
    fn new(rate: Rate, burst: i64) -> Self {
        let idle = IdleQueue::is_needed(rate, burst).then(IdleQueue::new);
        Self { rate, buckets: Vec::new(), unlimited: UnlimitedBuckets::new(rate), idle }
    }

    /// Makes the nodes of a zone that forgets every drained and idle key, whether or not that has
    /// an effect.
    pub(super) fn with_idle_queue(rate: Rate) -> Self {
        Self { idle: Some(IdleQueue::new()), ..Self::new(rate, 0) }
    }

    /// Adds a node, so that [`Nodes::excess`] does not need to make room for it.
    pub(super) fn add(&mut self, key: u32) {
        if let Some(idle) = &mut self.idle {
            idle.touch(key);
        }
    }

    /// Frees nodes as nginx does before it adds one. If `must_free`, frees the oldest node in any
    /// case. Calls `freed` with their keys.
    pub(super) fn free(&mut self, now_ms: i64, must_free: bool, freed: impl FnMut(u32)) {
        if let Some(idle) = &mut self.idle {
            idle.expire(now_ms, self.rate, must_free, &mut self.buckets, freed);
        }
    }

    /// The memory taken by the nodes, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.buckets.capacity() * size_of::<Option<Bucket>>()
            + self.idle.as_ref().map_or(0, IdleQueue::memory_bytes)
    }
}

impl Nodes<u32> for ZoneState {
    fn rate(&self) -> Rate {
        self.rate
    }

    fn excess(&mut self, key: u32, now_ms: i64) -> Option<i64> {
        let index = key as usize;
        self.buckets.resize(self.buckets.len().max(index + 1), None);
        let excess = self.buckets[index].map(|bucket| bucket.excess_at(now_ms, self.rate));
        if let Some(idle) = &mut self.idle {
            // If another limit rejects the request, the node has no count.
            if !idle.contains(key) {
                let unlimited = &mut self.unlimited;
                idle.expire(now_ms, self.rate, false, &mut self.buckets, |key| {
                    unlimited.forget(key, now_ms);
                });
            }
            idle.touch(key);
        }
        excess
    }

    fn count(&mut self, key: u32, now_ms: i64, excess: Option<i64>) {
        let bucket = &mut self.buckets[key as usize];
        match (bucket, excess) {
            (Some(bucket), Some(excess)) => bucket.count(now_ms, excess),
            (bucket, _) => *bucket = Some(Bucket::first(now_ms)),
        }
    }
}

/// Replays the requests. Stores their outcomes in the order of the log, if the caller asks for
/// them.
pub(super) fn replay(
    rule: &LimitReq,
    requests: &Requests,
    summary: &mut Summary<'_>,
    mut outcomes: Option<&mut Vec<Outcome>>,
) {
    let mut zones: Vec<ZoneState> =
        rule.zones_with_bursts().map(|(zone, burst)| ZoneState::new(zone.rate, burst)).collect();
    if let Some(outcomes) = &mut outcomes {
        outcomes.resize(requests.list.len(), UNDECIDED);
    }
    requests.each(rule, &requests.replay_order(rule), |position, request, keys| {
        let limits = &rule.limit_sets()[request.set as usize].limits;
        let key = |number: usize| (keys[number] != NO_KEY).then_some(keys[number]);
        let outcome = decide(&mut zones, limits, key, request.arrival_ms());
        summary.count(limits, keys, outcome.verdict);
        for (limit, key) in limits.iter().zip(keys).filter(|(_, key)| **key != NO_KEY) {
            let excess = zones[limit.zone].unlimited.count(*key, request.arrival_ms());
            summary.peak(limit, *key, Peak::new(excess, position as u32));
        }
        if outcome.verdict == Verdict::Rejected {
            let limit = outcome.limit as usize;
            summary.trip(&limits[limit], keys[limit], position as u32);
        }
        if let Some(outcomes) = &mut outcomes {
            outcomes[position] = outcome;
        }
    });
}

/// Decides about one request and updates the nodes. The first limit that rejects the request ends
/// the search, and nothing is counted; otherwise the longest delay applies. `key` returns the key
/// of the limit at a position; `None` if the limit does not apply.
pub(super) fn decide<K, N: Nodes<K>>(
    zones: &mut [N],
    limits: &[Limit],
    key: impl Fn(usize) -> Option<K>,
    now_ms: i64,
) -> Outcome {
    let mut excesses = [None; 8];
    let mut more = Vec::new();
    let excesses: &mut [Option<i64>] = if limits.len() <= excesses.len() {
        &mut excesses[..limits.len()]
    } else {
        more.resize(limits.len(), None);
        &mut more
    };
    let applying = || {
        let numbered = limits.iter().enumerate();
        numbered.filter_map(|(number, limit)| Some((number, limit, key(number)?)))
    };
    let mut outcome =
        Outcome { verdict: Verdict::Passed, limit: 0, delay_ms: Some(0), excess: Some(0) };
    let mut is_first = true;
    for (number, limit, key) in applying() {
        let zone = &mut zones[limit.zone];
        let excess = zone.excess(key, now_ms);
        excesses[number] = excess;
        let excess = excess.unwrap_or(0);
        if excess > limit.burst {
            let (limit, excess) = (number as u32, Some(excess));
            return Outcome { verdict: Verdict::Rejected, limit, delay_ms: None, excess };
        }
        let delay = delay_ms(excess, limit.delay, zone.rate()) as u64;
        if is_first || outcome.delay_ms < Some(delay) {
            is_first = false;
            outcome.limit = number as u32;
            outcome.delay_ms = Some(delay);
            outcome.excess = Some(excess);
        }
    }
    for (number, limit, key) in applying() {
        zones[limit.zone].count(key, now_ms, excesses[number]);
    }
    if outcome.delay_ms > Some(0) {
        outcome.verdict = Verdict::Delayed;
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::{Nodes, ZoneState, decide};
    use crate::limit_req::bucket::Rate;
    use crate::limit_req::configuration::Limit;
    use crate::report::Verdict;

    fn limit(zone: usize, burst: i64, delay: i64) -> Limit {
        Limit { zone, burst: burst * 1_000, delay }
    }

    #[test]
    fn a_rejected_request_counts_in_no_zone() {
        let mut zones = [ZoneState::new(Rate(1_000), 0), ZoneState::new(Rate(1_000), 0)];
        let limits = [limit(0, 5, i64::MAX), limit(1, 1, i64::MAX)];
        let mut verdicts = Vec::new();
        for _ in 0..4 {
            verdicts.push(decide(&mut zones, &limits, |_| Some(0), 0));
        }
        let decided: Vec<_> = verdicts.iter().map(|it| (it.verdict, it.limit)).collect();
        assert_eq!(decided[..2], [(Verdict::Passed, 0), (Verdict::Passed, 0)]);
        assert_eq!(decided[2..], [(Verdict::Rejected, 1), (Verdict::Rejected, 1)]);
        assert_eq!(zones[0].excess(0, 0), Some(2_000), "two have passed");
    }

    #[test]
    fn a_node_without_a_count_is_not_made_anew() {
        let mut zone = ZoneState::new(Rate(16), 1_000);
        let (counted, uncounted, new) = (0, 1, 2);
        for _ in 0..2 {
            let excess = zone.excess(counted, 0);
            zone.count(counted, 0, excess);
        }
        zone.excess(uncounted, 0);
        zone.excess(uncounted, 62_500);
        assert_eq!(zone.excess(counted, 62_500), Some(1_000), "no node was made, so none is freed");
        zone.excess(uncounted, 62_500);
        zone.excess(new, 62_500);
        assert_eq!(zone.excess(counted, 62_500), None, "it was idle for a minute and has drained");
    }

    #[test]
    fn the_longest_delay_holds() {
        let mut zones = [ZoneState::new(Rate(10_000), 0), ZoneState::new(Rate(1_000), 0)];
        let limits = [limit(0, 5, 0), limit(1, 5, 1_000)];
        let delays: Vec<_> =
            (0..4).map(|_| decide(&mut zones, &limits, |_| Some(0), 0).delay_ms).collect();
        assert_eq!(delays, [Some(0), Some(100), Some(1_000), Some(2_000)]);
    }
}
