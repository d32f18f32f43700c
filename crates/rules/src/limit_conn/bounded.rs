//! The replay over times to the second.
//!
//! The duration of each request is known, so its end is as precise as its arrival. A request is
//! sure to find those that have surely passed, begun and not ended, and may find those that may
//! have.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::LimitConn;
use super::replay::Outcome;
use super::requests::{Doubt, NO_KEY, Request, Requests, Span};
use super::summary::{Peak, Summary};
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
    passed: Surely,
    all_surely: Surely,
    /// The requests that are not surely rejected.
    possibly: Possibly,
    all_possibly: Possibly,
    /// The ends of the requests that are present at the latest arrival of one.
    present: BinaryHeap<Reverse<i64>>,
    /// The ends according to the stamps.
    stamped: BinaryHeap<Reverse<i64>>,
}

/// Requests that are surely in progress.
#[derive(Debug, Default)]
struct Surely {
    /// Requests that may not have begun: the latest begin, and the earliest end.
    waiting: VecDeque<(i64, i64)>,
    ends: BinaryHeap<Reverse<i64>>,
}

/// Requests that may be in progress.
#[derive(Debug, Default)]
struct Possibly {
    /// The latest ends, with positions.
    ends: BinaryHeap<Reverse<(i64, u32)>>,
    /// The number of the key's positions that were processed.
    seen: usize,
    count: u64,
}

/// Replays the requests, and stores their outcomes in the order of the log.
pub(super) fn replay(
    rule: &LimitConn,
    requests: &Requests,
    doubt: Doubt,
    summary: &mut Summary<'_>,
    outcomes: &mut Vec<Outcome>,
) {
    outcomes.resize(requests.list.len(), Outcome::UNDECIDED);
    let order = requests.by_arrival();
    let mut zones = key_states(rule, requests, &order);
    let mut found = Vec::new();
    for position in order {
        let request = &requests.list[position as usize];
        let span = doubt.span(request);
        let limits = &rule.limit_sets()[request.set as usize].limits;
        let keys = requests.keys_of(request, limits.len());
        found.clear();
        for (limit, key) in limits.iter().zip(keys) {
            if *key == NO_KEY {
                found.push(None);
                continue;
            }
            let state = &mut zones[limit.zone][*key as usize];
            summary.peak(limit, *key, state.peak(request, span, requests, doubt));
            let is_rejected =
                |position: u32| outcomes[position as usize].verdict == Verdict::Rejected;
            let least = state.passed.count(span);
            let most = state.possibly.count(span, &state.positions, requests, doubt, is_rejected);
            found.push(Some((least, most, limit.connections)));
        }
        let outcome = outcome(&found);
        summary.count(limits, keys, outcome, request);
        outcomes[position as usize] = outcome;
        for (limit, key) in limits.iter().zip(keys).filter(|(_, key)| **key != NO_KEY) {
            let state = &mut zones[limit.zone][*key as usize];
            match outcome.verdict {
                Verdict::Rejected => state.possibly.count -= 1,
                Verdict::Passed => state.passed.push(span),
                _ => {}
            }
        }
    }
}

/// The states of the keys of each zone, with the positions of their requests in `order`.
fn key_states(rule: &LimitConn, requests: &Requests, order: &[u32]) -> Vec<Vec<KeyState>> {
    let mut zones: Vec<Vec<KeyState>> = rule.zones().iter().map(|_| Vec::new()).collect();
    for position in order {
        let request = &requests.list[*position as usize];
        let limits = &rule.limit_sets()[request.set as usize].limits;
        let keys = requests.keys_of(request, limits.len());
        for (limit, key) in limits.iter().zip(keys).filter(|(_, key)| **key != NO_KEY) {
            let zone = &mut zones[limit.zone];
            zone.resize_with(zone.len().max(*key as usize + 1), KeyState::default);
            zone[*key as usize].positions.push(*position);
        }
    }
    zones
}

/// The outcome of a request. For each limit, `found` has the least number of requests that it
/// finds, the most including itself, and the limit.
fn outcome(found: &[Option<(u64, u64, u64)>]) -> Outcome {
    let applying = || found.iter().zip(0..).filter_map(|(found, number)| Some((number, (*found)?)));
    let is_over = |(_, (least, _, limit)): &(u32, (u64, u64, u64))| least >= limit;
    let may_be_over = |(_, (_, most, limit)): &(u32, (u64, u64, u64))| most > limit;
    let (rejecting, doubtful) = (applying().find(is_over), applying().find(may_be_over));
    match (rejecting, doubtful) {
        (Some((limit, _)), doubtful) => Outcome {
            verdict: Verdict::Rejected,
            limit,
            limit_is_sure: doubtful.is_none_or(|(first, _)| first >= limit),
            connections: None,
        },
        (None, Some((limit, _))) => Outcome { limit, ..Outcome::UNDECIDED },
        (None, None) => Outcome {
            verdict: Verdict::Passed,
            limit: applying().next().map_or(0, |(limit, _)| limit),
            limit_is_sure: true,
            connections: None,
        },
    }
}

impl KeyState {
    /// The connections of the key, including this request, if none had been rejected.
    fn peak(&mut self, request: &Request, span: Span, requests: &Requests, doubt: Doubt) -> Peak {
        let others = self.all_surely.count(span);
        self.all_surely.push(span);
        let most = self.all_possibly.count(span, &self.positions, requests, doubt, |_| false);
        let present = present(&mut self.present, span.begin_ms.1, span.end_ms.0);
        let lowest = present.max(others + 1);
        let stamped = present_and_itself(&mut self.stamped, request);
        let count = stamped.clamp(lowest, most.max(lowest));
        Peak::new(count, lowest, most, request)
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
fn present_and_itself(ends: &mut BinaryHeap<Reverse<i64>>, request: &Request) -> u64 {
    present(ends, request.begin_ms, request.end_ms.max(request.begin_ms.saturating_add(1)))
}

impl Surely {
    /// The number for a request.
    fn count(&mut self, span: Span) -> u64 {
        let (earliest_ms, latest_ms) = span.begin_ms;
        while let Some((_, end_ms)) = self.waiting.pop_front_if(|(begin, _)| *begin < earliest_ms) {
            self.ends.push(Reverse(end_ms));
        }
        while self.ends.peek().is_some_and(|Reverse(end_ms)| *end_ms <= latest_ms) {
            self.ends.pop();
        }
        self.ends.len() as u64
    }

    fn push(&mut self, span: Span) {
        self.waiting.push_back((span.begin_ms.1, span.end_ms.0));
    }
}

impl Possibly {
    /// The most requests that a request may find, including itself. Rejected requests were already
    /// removed from the count.
    fn count(
        &mut self,
        span: Span,
        positions: &[u32],
        requests: &Requests,
        doubt: Doubt,
        is_rejected: impl Fn(u32) -> bool,
    ) -> u64 {
        let (earliest_ms, latest_ms) = span.begin_ms;
        while let Some(position) = positions.get(self.seen) {
            let next = doubt.span(&requests.list[*position as usize]);
            if next.begin_ms.0 > latest_ms {
                break;
            }
            self.ends.push(Reverse((next.end_ms.1, *position)));
            self.seen += 1;
            self.count += 1;
        }
        while let Some(Reverse((end_ms, position))) = self.ends.peek().copied() {
            if end_ms >= earliest_ms {
                break;
            }
            self.ends.pop();
            self.count -= u64::from(!is_rejected(position));
        }
        self.count
    }
}
