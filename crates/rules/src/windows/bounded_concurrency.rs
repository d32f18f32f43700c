//! Concurrent requests over times to the second.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::limit::Limit;
use super::replay::KeyRequests;
use super::summary::Peak;
use crate::arrivals::SECOND_SPREAD_NS;
use crate::engine::{Outcome, PossiblyPresent, Span, SurelyPresent};
use crate::report::Verdict;

impl KeyRequests<'_> {
    /// The possible times of the request at a position.
    fn span(&self, at: usize) -> Option<Span> {
        let (earliest, end) = (*self.times_ns.get(at)?, *self.ends_ns.get(at)?);
        let latest = earliest.saturating_add(SECOND_SPREAD_NS);
        let over = end.saturating_add(SECOND_SPREAD_NS);
        Some(Span { earliest, latest, begun: latest, end, over })
    }
}

/// Decides about requests, and returns the peak.
pub(super) fn evaluate(
    limit: &Limit,
    requests: KeyRequests<'_>,
    outcomes: &mut Vec<Outcome>,
) -> Peak {
    let (mut surely, mut all_surely) = (SurelyPresent::default(), SurelyPresent::default());
    let mut possibly = PossiblyPresent::default();
    let mut stamped: BinaryHeap<Reverse<i64>> = BinaryHeap::new();
    let mut peak = Peak::default();
    let span_of = |at: usize| requests.span(at);
    for (at, span) in (0..).map_while(|at| Some((at, span_of(at)?))) {
        let is_rejected = |at: usize| {
            outcomes.get(at).is_some_and(|outcome| outcome.verdict == Verdict::Rejected)
        };
        possibly.find(span, span_of, is_rejected);
        let (others, most) = (all_surely.count(span), possibly.all());
        all_surely.push(span);
        while stamped.peek().is_some_and(|Reverse(end)| *end <= span.earliest) {
            stamped.pop();
        }
        stamped.push(Reverse(span.end));
        let count = (stamped.len() as u64).clamp(others + 1, most.max(others + 1));
        peak.take_range(at, count as f64, (others + 1) as f64, most as f64);
        let (least, most) = (surely.count(span), possibly.not_rejected());
        let outcome = Outcome::bounded(least >= limit.count, most <= limit.count);
        match outcome.verdict {
            Verdict::Rejected => possibly.reject(),
            Verdict::Passed => surely.push(span),
            _ => {}
        }
        outcomes.push(outcome);
    }
    peak
}
