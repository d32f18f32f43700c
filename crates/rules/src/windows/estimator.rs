//! The replay at the likeliest times, for logs of which only the seconds are known.

use super::exact;
use super::limit::{Algorithm, Limit};
use super::replay::KeyRequests;
use super::summary::Peak;
use crate::arrivals::{SECOND_SPREAD_NS, likely_arrivals};
use crate::engine::Outcome;
use crate::report::Verdict;

/// The likeliest outcome of the requests of a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Likely {
    pub(super) rejected: u64,
    pub(super) peak: Peak,
    /// The position of the first rejected request.
    pub(super) trip: Option<usize>,
}

/// Replays keys at their likeliest times.
#[derive(Debug, Default)]
pub(super) struct Estimator {
    likely_ns: Vec<i64>,
    outcomes: Vec<Outcome>,
}

impl Estimator {
    /// The likeliest outcome of the requests of a key; `None` if it does not follow from their
    /// arrivals alone.
    pub(super) fn estimate(&mut self, limit: &Limit, earliest_ns: &[i64]) -> Option<Likely> {
        if !limit.is_published() || limit.algorithm == Algorithm::Concurrency {
            return None;
        }
        likely_arrivals(earliest_ns, SECOND_SPREAD_NS + 1, &mut self.likely_ns);
        self.outcomes.clear();
        let requests = KeyRequests { times_ns: &self.likely_ns, ends_ns: &[] };
        let peak = exact::evaluate(limit, requests, &mut self.outcomes);
        let is_rejected = |outcome: &Outcome| outcome.verdict == Verdict::Rejected;
        let rejected = self.outcomes.iter().filter(|outcome| is_rejected(outcome)).count() as u64;
        Some(Likely { rejected, peak, trip: self.outcomes.iter().position(is_rejected) })
    }
}
