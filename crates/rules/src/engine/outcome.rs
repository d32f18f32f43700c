//! The outcome of a request in a replay.

use crate::report::Verdict;

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) verdict: Verdict,
    /// The position of the deciding limit in the limit set.
    pub(crate) limit: u32,
    pub(crate) delay_ms: Option<u64>,
    /// The count that was compared with the limit, in requests, if it is known.
    pub(crate) count: Option<f64>,
}

impl Outcome {
    /// The outcome of a request that cannot be decided.
    pub(crate) const UNDECIDED: Self = Self::verdict(Verdict::Undecided);

    /// A verdict alone.
    pub(crate) const fn verdict(verdict: Verdict) -> Self {
        Self { verdict, limit: 0, delay_ms: None, count: None }
    }

    /// A request that passes immediately, or is rejected.
    pub(crate) fn of(is_rejected: bool, count: f64) -> Self {
        let verdict = if is_rejected { Verdict::Rejected } else { Verdict::Passed };
        let delay_ms = (!is_rejected).then_some(0);
        Self { verdict, limit: 0, delay_ms, count: Some(count) }
    }

    /// Rejected or passed if that is sure, otherwise undecided.
    pub(crate) fn bounded(is_surely_rejected: bool, has_surely_passed: bool) -> Self {
        Self::verdict(match (is_surely_rejected, has_surely_passed) {
            (true, _) => Verdict::Rejected,
            (_, true) => Verdict::Passed,
            _ => Verdict::Undecided,
        })
    }
}

/// Calls `undecide` with the requests of a key whose possible positions are of different kinds, such
/// as verdicts.
///
/// Verdicts belong to positions: the *k*-th request of a key by its real time has the *k*-th stamp.
/// The log does not tell which of the requests within `spread` of each other it was, so the verdict
/// of a request is known if those of all its possible positions agree. `time` and `kind` are
/// those of the positions, of which there are `count`.
pub(crate) fn for_each_disagreement<K: PartialEq>(
    count: usize,
    spread: i64,
    time: impl Fn(usize) -> i64,
    kind: impl Fn(usize) -> K,
    mut undecide: impl FnMut(usize),
) {
    // From each position, the end of the run of the same kind.
    let mut run_ends = vec![count; count];
    for at in (0..count.saturating_sub(1)).rev() {
        let is_same = kind(at) == kind(at + 1);
        run_ends[at] = if is_same { run_ends[at + 1] } else { at + 1 };
    }
    let (mut first, mut end) = (0, 0);
    for at in 0..count {
        while time(first).saturating_add(spread) < time(at) {
            first += 1;
        }
        while end < count && time(end) <= time(at).saturating_add(spread) {
            end += 1;
        }
        if run_ends[first] < end {
            undecide(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::for_each_disagreement;
    use crate::report::Verdict;

    proptest! {
        #[test]
        fn a_verdict_holds_if_all_possible_positions_have_it(
            steps in prop::collection::vec((0..3i64, any::<bool>()), 0..40), spread in 0..4i64,
        ) {
            let mut time = 0;
            let positions: Vec<(i64, Verdict)> = steps
                .into_iter()
                .map(|(step, is_rejected)| {
                    time += step;
                    (time, if is_rejected { Verdict::Rejected } else { Verdict::Passed })
                })
                .collect();
            let mut found = Vec::new();
            for_each_disagreement(
                positions.len(),
                spread,
                |at| positions[at].0,
                |at| positions[at].1,
                |at| found.push(at),
            );
            let disagrees = |at: &usize| {
                let (time, verdict) = positions[*at];
                positions.iter().any(|(other, it)| time.abs_diff(*other) <= spread as u64 && *it != verdict)
            };
            prop_assert_eq!(found, (0..positions.len()).filter(disagrees).collect::<Vec<_>>());
        }
    }
}
