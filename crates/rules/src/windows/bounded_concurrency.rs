//! Concurrent requests over times to the second.
//!
//! The duration of each request is known, so its end is as precise as its arrival. A request is
//! sure to find those that have surely passed, begun and not ended, and may find those that may
//! have.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::limit::Limit;
use super::replay::{Outcome, Peak, Request, SECOND_SPREAD_NS};
use crate::report::Verdict;

/// Requests that are surely in progress, in the order of their arrival.
#[derive(Debug, Default)]
struct Surely {
    /// Requests that may not have begun: the latest begin, and the earliest end.
    waiting: VecDeque<(i64, i64)>,
    ends: BinaryHeap<Reverse<i64>>,
}

impl Surely {
    /// The number for a request that arrives between two times.
    fn count(&mut self, earliest_ns: i64, latest_ns: i64) -> u64 {
        while let Some((_, end_ns)) = self.waiting.pop_front_if(|(begin, _)| *begin <= earliest_ns)
        {
            self.ends.push(Reverse(end_ns));
        }
        while self.ends.peek().is_some_and(|Reverse(end_ns)| *end_ns <= latest_ns) {
            self.ends.pop();
        }
        self.ends.len() as u64
    }
}

/// Requests that may be in progress.
#[derive(Debug, Default)]
struct Possibly {
    /// The latest ends, with positions.
    ends: BinaryHeap<Reverse<(i64, usize)>>,
    next: usize,
    count: u64,
}

/// Decides about requests, and returns the peak.
pub(super) fn evaluate(limit: &Limit, requests: &[Request], outcomes: &mut Vec<Outcome>) -> Peak {
    let (mut surely, mut all_surely) = (Surely::default(), Surely::default());
    let mut possibly = Possibly::default();
    let mut all_possibly = Possibly::default();
    let mut stamped: BinaryHeap<Reverse<i64>> = BinaryHeap::new();
    let mut peak = Peak::default();
    for (at, request) in requests.iter().enumerate() {
        let earliest_ns = request.arrival_ns;
        let latest_ns = earliest_ns.saturating_add(SECOND_SPREAD_NS);
        let end_ns = earliest_ns.saturating_add(request.duration_ns);
        let others = all_surely.count(earliest_ns, latest_ns);
        let most = all_possibly.count(requests, at, |_| false);
        all_surely.waiting.push_back((latest_ns, end_ns));
        while stamped.peek().is_some_and(|Reverse(end)| *end <= earliest_ns) {
            stamped.pop();
        }
        stamped.push(Reverse(end_ns));
        let count = (stamped.len() as u64).clamp(others + 1, most.max(others + 1));
        peak.take_range(at, count as f64, (others + 1) as f64, most as f64);
        let least = surely.count(earliest_ns, latest_ns);
        let is_rejected = |at: usize| {
            outcomes.get(at).is_some_and(|outcome| outcome.verdict == Verdict::Rejected)
        };
        let most = possibly.count(requests, at, is_rejected);
        let outcome = Outcome::bounded(least >= limit.count, most <= limit.count);
        match outcome.verdict {
            Verdict::Rejected => possibly.count -= 1,
            Verdict::Passed => surely.waiting.push_back((latest_ns, end_ns)),
            _ => {}
        }
        outcomes.push(outcome);
    }
    peak
}

impl Possibly {
    /// The number that the request at a position may find, and itself. Those that are rejected were
    /// taken off the count before.
    fn count(
        &mut self,
        requests: &[Request],
        at: usize,
        is_rejected: impl Fn(usize) -> bool,
    ) -> u64 {
        let earliest_ns = requests[at].arrival_ns;
        let latest_ns = earliest_ns.saturating_add(SECOND_SPREAD_NS);
        while let Some(next) = requests.get(self.next).filter(|it| it.arrival_ns <= latest_ns) {
            let end_ns = next.arrival_ns.saturating_add(next.duration_ns);
            let end_ns = end_ns.saturating_add(SECOND_SPREAD_NS);
            self.ends.push(Reverse((end_ns, self.next)));
            self.next += 1;
            self.count += 1;
        }
        while let Some(Reverse((end_ns, position))) = self.ends.peek().copied() {
            if end_ns > earliest_ns {
                break;
            }
            self.ends.pop();
            self.count -= u64::from(!is_rejected(position));
        }
        self.count
    }
}
