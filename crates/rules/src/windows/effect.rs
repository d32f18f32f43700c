//! What a limit does to the requests of a key, once it is known which of them are over it.

use super::limit::{Effect, Hold};
use crate::arrivals::SECOND_SPREAD_NS;
use crate::engine::Outcome;
use crate::report::Verdict;

/// Applies an effect to the outcomes of the requests of a key in the order of their arrival.
/// `is_spared` tells of a position whether its request is not rejected whatever the count is, and
/// `is_exact` whether times are known to more than the second. Returns how many of the undecided
/// requests were rejected, of which there were `more_rejected` without the effect.
pub(super) fn apply(
    effect: &Effect,
    times_ns: &[i64],
    is_exact: bool,
    is_spared: impl Fn(usize) -> bool,
    outcomes: &mut [Outcome],
    more_rejected: u64,
) -> u64 {
    let mut of_hold = 0;
    if let Some(hold) = effect.hold {
        of_hold = apply_hold(hold, times_ns, is_exact, outcomes);
    }
    let mut spared = false;
    for (at, outcome) in outcomes.iter_mut().enumerate() {
        if is_spared(at) {
            spared |= outcome.verdict != Verdict::Passed;
            *outcome = Outcome { count: outcome.count, ..Outcome::verdict(Verdict::Passed) };
        }
    }
    // Of undecided requests, those that were rejected may be the spared ones.
    if spared || effect.hold.is_some_and(|hold| hold.spares_first) {
        return 0;
    }
    more_rejected.saturating_sub(of_hold)
}

/// Rejects the requests after one over the limit, until the hold ends. Returns how many undecided
/// ones it rejects.
fn apply_hold(hold: Hold, times_ns: &[i64], is_exact: bool, outcomes: &mut [Outcome]) -> u64 {
    let mut rejected = 0;
    let spread_ns = if is_exact { 0 } else { SECOND_SPREAD_NS };
    let length_ns = i64::try_from(hold.length_ns).unwrap_or(i64::MAX);
    let mut held = Verdict::Passed;
    // The times from which it surely, and possibly, lasts.
    let (mut surely_ns, mut possibly_ns) = (0_i64, 0_i64);
    for (now_ns, outcome) in times_ns.iter().zip(outcomes) {
        if now_ns.saturating_sub(possibly_ns) >= length_ns.saturating_add(spread_ns) {
            held = Verdict::Passed;
        } else if now_ns.saturating_sub(surely_ns).saturating_add(spread_ns) >= length_ns
            && held != Verdict::Passed
        {
            held = Verdict::Undecided;
        }
        let over = outcome.verdict;
        let before = held;
        held = match (held, over) {
            (Verdict::Rejected, _) | (_, Verdict::Rejected) => Verdict::Rejected,
            (Verdict::Undecided, _) | (_, Verdict::Undecided) => Verdict::Undecided,
            _ => Verdict::Passed,
        };
        // A request that may begin a hold may be in one that began before.
        let may_begin = before != Verdict::Rejected && over != Verdict::Passed;
        if hold.is_renewed || may_begin {
            possibly_ns = *now_ns;
        }
        if hold.is_renewed || (may_begin && before == Verdict::Passed) {
            surely_ns = *now_ns;
        }
        let shown = if hold.spares_first { before } else { held };
        rejected += u64::from(over == Verdict::Undecided && shown == Verdict::Rejected);
        if shown != over {
            *outcome = Outcome { count: outcome.count, ..Outcome::verdict(shown) };
        }
    }
    rejected
}

#[cfg(test)]
mod tests {
    use super::super::limit::{Effect, Hold};
    use super::apply;
    use crate::engine::Outcome;
    use crate::report::Verdict::{self, Passed, Rejected, Undecided};

    /// The verdicts after an effect on requests at some seconds.
    fn applied(effect: &Effect, requests: &[(i64, Verdict)], is_exact: bool) -> Vec<Verdict> {
        let times: Vec<i64> = requests.iter().map(|(time, _)| time * 1_000_000_000).collect();
        let mut outcomes: Vec<Outcome> =
            requests.iter().map(|(_, verdict)| Outcome::verdict(*verdict)).collect();
        apply(effect, &times, is_exact, |at| at == 3, &mut outcomes, 0);
        outcomes.iter().map(|outcome| outcome.verdict).collect()
    }

    #[test]
    fn what_a_hold_rejects_is_not_rejected_twice() {
        let hold = Some(Hold { length_ns: 10_000_000_000, is_renewed: true, spares_first: false });
        let requests = [(0, Rejected), (1, Undecided), (2, Undecided)];
        let times: Vec<i64> = requests.iter().map(|(time, _)| time * 1_000_000_000).collect();
        let mut outcomes: Vec<Outcome> =
            requests.iter().map(|(_, verdict)| Outcome::verdict(*verdict)).collect();
        let effect = Effect { rejects: None, hold };
        assert_eq!(apply(&effect, &times, false, |_| false, &mut outcomes, 2), 0);
        assert!(outcomes.iter().all(|outcome| outcome.verdict == Rejected));
    }

    #[test]
    fn a_key_is_held_until_it_pauses() {
        let requests =
            [(0, Passed), (1, Rejected), (2, Passed), (3, Rejected), (12, Passed), (23, Passed)];
        let effect = |spares_first| {
            let hold = Some(Hold { length_ns: 10_000_000_000, is_renewed: true, spares_first });
            Effect { rejects: None, hold }
        };
        let held = [Passed, Rejected, Rejected, Passed, Rejected, Passed];
        assert_eq!(applied(&effect(false), &requests, true), held);
        let spared = [Passed, Passed, Rejected, Passed, Rejected, Passed];
        assert_eq!(applied(&effect(true), &requests, true), spared);
        // In whole seconds, 11 s may be less than 10 s only with a pause of 9 s or 10 s.
        let at_the_end = [(0, Rejected), (10, Passed), (11, Passed), (12, Passed), (22, Passed)];
        let expected = [Rejected, Undecided, Undecided, Passed, Undecided];
        assert_eq!(applied(&effect(false), &at_the_end, false), expected);
    }

    #[test]
    fn a_hold_that_is_not_renewed_ends_by_itself() {
        let hold = Some(Hold { length_ns: 10_000_000_000, is_renewed: false, spares_first: false });
        let effect = Effect { rejects: None, hold };
        // Neither the requests in it nor those over the limit make it longer.
        let requests =
            [(0, Rejected), (4, Passed), (9, Rejected), (10, Passed), (10, Rejected), (19, Passed)];
        let held = [Rejected, Rejected, Rejected, Passed, Rejected, Rejected];
        assert_eq!(applied(&effect, &requests, true), held);
        assert_eq!(applied(&effect, &[(0, Rejected), (5, Passed), (20, Passed)], true)[2], Passed);
        // In whole seconds, 10 s may be in it or after it.
        let requests = [(0, Rejected), (9, Passed), (10, Passed), (11, Passed), (12, Passed)];
        let held = [Rejected, Rejected, Undecided, Passed, Passed];
        assert_eq!(applied(&effect, &requests, false), held);
        // It is not known whether the second one over the limit began another hold.
        let requests = [(0, Rejected), (10, Rejected), (20, Passed), (20, Passed), (21, Passed)];
        let held = [Rejected, Rejected, Undecided, Passed, Passed];
        assert_eq!(applied(&effect, &requests, false), held);
    }

    #[test]
    fn requests_that_are_not_rejected_pass() {
        let requests = [(0, Passed), (1, Rejected), (2, Undecided), (3, Rejected), (4, Rejected)];
        let expected = [Passed, Rejected, Undecided, Passed, Rejected];
        assert_eq!(applied(&Effect::default(), &requests, true), expected);
    }
}
