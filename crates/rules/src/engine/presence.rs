//! Bounds of the number of requests in progress, if times are only known within bounds.
//!
//! The duration of each request is known, so its end is as precise as its arrival. A request is
//! sure to find those that have surely begun and not ended, and may find those that may have.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The possible times of a request, in the unit of its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// The earliest arrival.
    pub(crate) earliest: i64,
    /// The latest arrival.
    pub(crate) latest: i64,
    /// A request that arrives at this time or later finds that this one has begun.
    pub(crate) begun: i64,
    /// The earliest end.
    pub(crate) end: i64,
    /// A request that arrives at this time or later finds that this one is over. It is after the
    /// earliest arrival.
    pub(crate) over: i64,
}

/// The requests of a key that are surely in progress. Requests come by arrival.
#[derive(Debug, Default)]
pub(crate) struct SurelyPresent {
    /// Requests that may not have begun: when they surely have, and the earliest end.
    waiting: VecDeque<(i64, i64)>,
    ends: BinaryHeap<Reverse<i64>>,
}

impl SurelyPresent {
    /// The least number of these requests that another one finds.
    pub(crate) fn count(&mut self, span: Span) -> u64 {
        while let Some((_, end)) = self.waiting.pop_front_if(|(begun, _)| *begun <= span.earliest) {
            self.ends.push(Reverse(end));
        }
        while self.ends.peek().is_some_and(|Reverse(end)| *end <= span.latest) {
            self.ends.pop();
        }
        self.ends.len() as u64
    }

    /// Adds a request.
    pub(crate) fn push(&mut self, span: Span) {
        self.waiting.push_back((span.begun, span.end));
    }
}

/// The requests of a key that may be in progress. Requests come by arrival, and are numbered in
/// that order.
#[derive(Debug, Default)]
pub(crate) struct PossiblyPresent {
    /// When requests are over, with their numbers.
    ends: BinaryHeap<Reverse<(i64, usize)>>,
    /// The number of the next request.
    next: usize,
    /// The requests in `ends` that were rejected.
    rejected: u64,
}

impl PossiblyPresent {
    /// Finds the requests that a request may find, including itself. `span_of` returns the possible
    /// times of the request with a number.
    pub(crate) fn find(
        &mut self,
        span: Span,
        span_of: impl Fn(usize) -> Option<Span>,
        is_rejected: impl Fn(usize) -> bool,
    ) {
        while let Some(next) = span_of(self.next).filter(|next| next.earliest <= span.latest) {
            self.ends.push(Reverse((next.over, self.next)));
            self.next += 1;
        }
        while let Some(Reverse((over, number))) = self.ends.peek().copied() {
            if over > span.earliest {
                break;
            }
            self.ends.pop();
            self.rejected = self.rejected.saturating_sub(u64::from(is_rejected(number)));
        }
    }

    /// The most requests that the request may find, including itself and rejected ones.
    pub(crate) fn all(&self) -> u64 {
        self.ends.len() as u64
    }

    /// The same, without those that were rejected.
    pub(crate) fn not_rejected(&self) -> u64 {
        self.all().saturating_sub(self.rejected)
    }

    /// Notes that the request was rejected.
    pub(crate) fn reject(&mut self) {
        self.rejected += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{PossiblyPresent, Span, SurelyPresent};

    /// Requests by arrival: their spans, and whether each is rejected.
    fn requests() -> impl Strategy<Value = Vec<(Span, bool)>> {
        let request = (0..4i64, 0..12i64, any::<bool>());
        (1..4i64, 0..2i64, prop::collection::vec(request, 0..40)).prop_map(
            |(spread, tick, requests)| {
                let mut earliest = 0;
                let spans = requests.into_iter().map(|(step, duration, is_rejected)| {
                    earliest += step;
                    let (latest, end) = (earliest + spread, earliest + duration);
                    let over = end + spread + tick;
                    (Span { earliest, latest, begun: latest + tick, end, over }, is_rejected)
                });
                spans.collect()
            },
        )
    }

    proptest! {
        #[test]
        fn the_bounds_are_those_of_a_look_at_all_requests(requests in requests()) {
            let (mut surely, mut possibly) = (SurelyPresent::default(), PossiblyPresent::default());
            for (number, (span, is_rejected)) in requests.iter().enumerate() {
                possibly.find(
                    *span,
                    |number| requests.get(number).map(|(span, _)| *span),
                    |number| requests[number].1,
                );
                let is_present = |(other, _): &&(Span, bool)| {
                    other.earliest <= span.latest && other.over > span.earliest
                };
                let present: Vec<_> = requests.iter().filter(is_present).collect();
                prop_assert_eq!(possibly.all(), present.len() as u64);
                // Of the later requests, none is rejected yet.
                let rejected = requests[..number].iter().filter(is_present).filter(|it| it.1);
                let expected = present.len() - rejected.count();
                prop_assert_eq!(possibly.not_rejected(), expected as u64);
                let is_sure = |(other, _): &&(Span, bool)| {
                    other.begun <= span.earliest && other.end > span.latest
                };
                let expected = requests[..number].iter().filter(is_sure).count();
                prop_assert_eq!(surely.count(*span), expected as u64);
                surely.push(*span);
                if *is_rejected {
                    possibly.reject();
                }
            }
        }
    }
}
