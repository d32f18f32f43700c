//! The replay over times to the second.
//!
//! A request is rejected if it is sure to find as many as its limit, and passes if it cannot.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::LimitConn;
use super::doubt::{Doubt, end_ms};
use super::replay::ConnectionOutcome;
use crate::arrivals::{Arrivals, NO_KEY, ZoneLimit, applying};
use crate::engine::{Outcome, PossiblyPresent, Span, SurelyPresent};
use crate::keys::{Peak, ZoneSummary};
use crate::report::Verdict;

/// The memory of a key, in bytes.
pub(super) const KEY_BYTES: usize = size_of::<KeyState>();

/// The memory of a request in a zone, in bytes: its position, and its places in the queues and
/// heaps.
pub(super) const REQUEST_BYTES: usize = 100;

/// The requests of a key.
#[derive(Debug, Default)]
struct KeyState {
    /// Their positions by arrival.
    positions: Vec<u32>,
    /// The requests that surely passed.
    passed: SurelyPresent,
    all_surely: SurelyPresent,
    /// The requests that are not surely rejected.
    possibly: PossiblyPresent,
    /// The ends of the requests that are present at the latest arrival of one.
    present: BinaryHeap<Reverse<i64>>,
    /// The ends according to the stamps.
    stamped: BinaryHeap<Reverse<i64>>,
}

/// What a request finds under a limit that applies to it.
#[derive(Debug, Clone, Copy)]
struct FoundRequests {
    /// The position of the limit in the limit set.
    number: u32,
    limit: u64,
    /// The least number of other requests.
    least: u64,
    /// The largest number of requests, including itself.
    most: u64,
}

/// Replays the requests, and stores their outcomes in the order of the log.
pub(super) fn replay(
    rule: &LimitConn,
    arrivals: &Arrivals,
    doubt: Doubt,
    summary: &mut ZoneSummary,
    outcomes: &mut [Outcome],
) {
    let order = arrivals.by_arrival();
    let mut zones = key_states(rule, arrivals, &order);
    let mut found = Vec::new();
    for position in order {
        let arrival = &arrivals.list[position as usize];
        let span = doubt.span(arrivals, position);
        let limits = rule.limits(arrival.set);
        let keys = arrivals.keys_of(arrival, limits.len());
        found.clear();
        for ((limit, key), number) in limits.iter().zip(keys).zip(0..) {
            if *key == NO_KEY {
                continue;
            }
            let state = &mut zones[limit.zone][*key as usize];
            let KeyState { positions, possibly, .. } = state;
            let span_of = |number: usize| Some(doubt.span(arrivals, *positions.get(number)?));
            let is_rejected =
                |number: usize| outcomes[positions[number] as usize].verdict == Verdict::Rejected;
            possibly.find(span, span_of, is_rejected);
            let peak = state.peak(position, span, arrivals);
            summary.key(limit.zone(), *key).peak(limit.connections as i64, peak);
            found.push(FoundRequests {
                number,
                limit: limit.connections,
                least: state.passed.count(span),
                most: state.possibly.not_rejected(),
            });
        }
        let outcome = outcome(&found);
        outcome.count(summary, limits, keys, position);
        outcomes[position as usize] = outcome.into();
        for (limit, key) in applying(limits, keys) {
            let state = &mut zones[limit.zone][key as usize];
            match outcome.verdict {
                Verdict::Rejected => state.possibly.reject(),
                Verdict::Passed => state.passed.push(span),
                _ => {}
            }
        }
    }
}

/// The states of the keys of each zone, with the positions of their requests in `order`.
fn key_states(rule: &LimitConn, arrivals: &Arrivals, order: &[u32]) -> Vec<Vec<KeyState>> {
    let state = |positions| KeyState { positions, ..KeyState::default() };
    let zones = rule.sequences(arrivals, order);
    zones.into_iter().map(|keys| keys.into_iter().map(state).collect()).collect()
}

/// The outcome of a request, given what it finds under the limits that apply to it.
fn outcome(found: &[FoundRequests]) -> ConnectionOutcome {
    let rejecting = found.iter().find(|it| it.least >= it.limit);
    let doubtful = found.iter().find(|it| it.most > it.limit);
    match (rejecting, doubtful) {
        (Some(rejecting), doubtful) => ConnectionOutcome {
            verdict: Verdict::Rejected,
            limit: rejecting.number,
            limit_is_sure: doubtful.is_none_or(|first| first.number >= rejecting.number),
            connections: None,
        },
        (None, Some(doubtful)) => {
            ConnectionOutcome { limit: doubtful.number, ..ConnectionOutcome::UNDECIDED }
        }
        (None, None) => ConnectionOutcome {
            verdict: Verdict::Passed,
            limit: found.first().map_or(0, |first| first.number),
            limit_is_sure: true,
            connections: None,
        },
    }
}

impl KeyState {
    /// The connections of the key, including this request, if none had been rejected.
    fn peak(&mut self, position: u32, span: Span, arrivals: &Arrivals) -> Peak {
        let others = self.all_surely.count(span);
        self.all_surely.push(span);
        let most = self.possibly.all();
        let present = present(&mut self.present, span.latest, span.end);
        let lowest = present.max(others + 1);
        let stamped = present_and_itself(&mut self.stamped, arrivals, position);
        let count = stamped.clamp(lowest, most.max(lowest));
        let [count, lowest, highest] = [count, lowest, most].map(|number| number as i64);
        Peak { count, lowest, highest, position }
    }
}

/// Adds a request that begins at `now_ms` at the latest, and returns the number of requests at that
/// time.
fn present(ends: &mut BinaryHeap<Reverse<i64>>, now_ms: i64, end_ms: i64) -> u64 {
    while ends.peek().is_some_and(|Reverse(end_ms)| *end_ms <= now_ms) {
        ends.pop();
    }
    if end_ms > now_ms {
        ends.push(Reverse(end_ms));
    }
    ends.len() as u64
}

/// The number of requests when one arrives, according to the stamps.
fn present_and_itself(
    ends: &mut BinaryHeap<Reverse<i64>>,
    arrivals: &Arrivals,
    position: u32,
) -> u64 {
    let begin_ms = arrivals.list[position as usize].time_ms();
    let end_ms = end_ms(arrivals, position);
    present(ends, begin_ms, end_ms.max(begin_ms.saturating_add(1)))
}
