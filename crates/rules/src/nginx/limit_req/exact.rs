//! The replay over arrival times to the millisecond: every verdict is nginx's.

use super::LimitReq;
use super::bucket::{Bucket, Rate, delay_ms};
use super::limit::Limit;
use super::nodes::ZoneNodes;
use super::unlimited::UnlimitedBucket;
use crate::arrivals::{Arrivals, NO_KEY, ZoneLimit, applying};
use crate::engine::Outcome;
use crate::keys::ZoneSummary;
use crate::report::Verdict;

/// The memory of the state of a key, in bytes.
pub(super) const KEY_BYTES: usize = size_of::<Option<Bucket>>() + size_of::<UnlimitedBucket>();

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExactOutcome {
    pub(super) verdict: Verdict,
    /// The position of the deciding limit in the limit set.
    pub(super) limit: u32,
    pub(super) delay_ms: Option<u64>,
    /// In thousandths of a request.
    pub(super) excess: i64,
}

impl From<ExactOutcome> for Outcome {
    fn from(outcome: ExactOutcome) -> Self {
        let ExactOutcome { verdict, limit, delay_ms, excess } = outcome;
        Self { verdict, limit, delay_ms, count: Some(excess as f64 / 1_000.0) }
    }
}

/// The nodes of a zone, by keys of type `K`.
pub(super) trait Nodes<K> {
    /// The rate of the zone.
    fn rate(&self) -> Rate;

    /// The excess that a request would make, as `ngx_http_limit_req_lookup` finds it; `None` for
    /// the first request of a key.
    fn excess(&mut self, key: K, now_ms: i64) -> Option<i64>;

    /// Counts a request whose excess was found, as `ngx_http_limit_req_account` does.
    fn count(&mut self, key: K, now_ms: i64);
}

/// A zone of a replay.
#[derive(Debug)]
struct ReplayedZone {
    nodes: ZoneNodes,
    /// The buckets of the keys as if no request were rejected.
    unlimited: Vec<UnlimitedBucket>,
}

impl ReplayedZone {
    /// Makes a zone whose limits have a burst of at most `burst`.
    fn new(rate: Rate, burst: i64) -> Self {
        Self { nodes: ZoneNodes::new(rate, burst), unlimited: Vec::new() }
    }

    /// The bucket of a key as if no request were rejected.
    fn unlimited(&mut self, key: u32) -> &mut UnlimitedBucket {
        let index = key as usize;
        if index >= self.unlimited.len() {
            self.unlimited.resize(index + 1, UnlimitedBucket::default());
        }
        &mut self.unlimited[index]
    }
}

impl Nodes<u32> for ReplayedZone {
    fn rate(&self) -> Rate {
        self.nodes.rate()
    }

    fn excess(&mut self, key: u32, now_ms: i64) -> Option<i64> {
        let Self { nodes, unlimited } = self;
        if nodes.is_new(key) {
            let rate = nodes.rate();
            nodes.free(now_ms, false, |key| {
                if let Some(unlimited) = unlimited.get_mut(key as usize) {
                    unlimited.forget(now_ms, rate);
                }
            });
        }
        nodes.excess(key, now_ms)
    }

    fn count(&mut self, key: u32, now_ms: i64) {
        self.nodes.count(key, now_ms);
    }
}

/// Replays the requests in `order`. Stores their outcomes in the order of the log, if the caller
/// asks for them.
pub(super) fn replay(
    rule: &LimitReq,
    arrivals: &Arrivals,
    order: &[u32],
    summary: &mut ZoneSummary,
    mut outcomes: Option<&mut [Outcome]>,
) {
    let mut zones: Vec<ReplayedZone> = rule
        .zones_with_bursts()
        .map(|(zone, burst)| ReplayedZone::new(zone.parameters.rate, burst))
        .collect();
    arrivals.each(
        order,
        |set| rule.limits(set).len(),
        |position, arrival, keys| {
            let (limits, now_ms) = (rule.limits(arrival.set), arrival.time_ms());
            let outcome = decide(&mut zones, limits, |number| keyed(keys[number]), now_ms);
            summary.count(limits, keys, outcome.verdict);
            for (limit, key) in applying(limits, keys) {
                let rate = zones[limit.zone()].rate();
                let unlimited = zones[limit.zone()].unlimited(key);
                let peak = unlimited.count(now_ms, rate, position as u32);
                summary.key(limit.zone(), key).peak(limit.burst, peak);
            }
            if outcome.verdict == Verdict::Rejected {
                let number = outcome.limit as usize;
                summary.key(limits[number].zone(), keys[number]).trip(position as u32);
            }
            if let Some(outcomes) = &mut outcomes {
                outcomes[position] = outcome.into();
            }
        },
    );
}

/// A key; `None` if it is that of a limit that does not apply.
fn keyed(key: u32) -> Option<u32> {
    (key != NO_KEY).then_some(key)
}

/// Decides about one request and updates the nodes. The first limit that rejects the request ends
/// the search, and nothing is counted; otherwise the longest delay applies. `key` returns the key
/// of the limit at a position; `None` if the limit does not apply.
pub(super) fn decide<K, N: Nodes<K>>(
    zones: &mut [N],
    limits: &[Limit],
    key: impl Fn(usize) -> Option<K>,
    now_ms: i64,
) -> ExactOutcome {
    let applying = || {
        let numbered = limits.iter().enumerate();
        numbered.filter_map(|(number, limit)| Some((number, limit, key(number)?)))
    };
    let mut outcome =
        ExactOutcome { verdict: Verdict::Passed, limit: 0, delay_ms: Some(0), excess: 0 };
    let mut is_first = true;
    for (number, limit, key) in applying() {
        let zone = &mut zones[limit.zone];
        let excess = zone.excess(key, now_ms).unwrap_or(0);
        if excess > limit.burst {
            let limit = number as u32;
            return ExactOutcome { verdict: Verdict::Rejected, limit, delay_ms: None, excess };
        }
        let delay = delay_ms(excess, limit.delay, zone.rate()) as u64;
        if is_first || outcome.delay_ms < Some(delay) {
            is_first = false;
            outcome.limit = number as u32;
            outcome.delay_ms = Some(delay);
            outcome.excess = excess;
        }
    }
    for (_, limit, key) in applying() {
        zones[limit.zone].count(key, now_ms);
    }
    if outcome.delay_ms > Some(0) {
        outcome.verdict = Verdict::Delayed;
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::{Nodes, ReplayedZone, decide};
    use crate::nginx::limit_req::Limit;
    use crate::nginx::limit_req::bucket::Rate;
    use crate::report::Verdict;

    fn limit(zone: usize, burst: i64, delay: i64) -> Limit {
        Limit { zone, burst: burst * 1_000, delay }
    }

    #[test]
    fn a_rejected_request_counts_in_no_zone() {
        let mut zones = [ReplayedZone::new(Rate(1_000), 0), ReplayedZone::new(Rate(1_000), 0)];
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
        let mut zone = ReplayedZone::new(Rate(16), 1_000);
        let (counted, uncounted, new) = (0, 1, 2);
        for _ in 0..2 {
            zone.excess(counted, 0);
            zone.count(counted, 0);
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
        let mut zones = [ReplayedZone::new(Rate(10_000), 0), ReplayedZone::new(Rate(1_000), 0)];
        let limits = [limit(0, 5, 0), limit(1, 5, 1_000)];
        let delays: Vec<_> =
            (0..4).map(|_| decide(&mut zones, &limits, |_| Some(0), 0).delay_ms).collect();
        assert_eq!(delays, [Some(0), Some(100), Some(1_000), Some(2_000)]);
    }
}
