//! Compares the keys that two rules catch.

use std::collections::HashSet;

use weir_view::{KeySet, RuleComparison, RuleSide};

use crate::rules::RuleAnswer;

/// The maximum number of keys in a list.
const LISTED_MAX: usize = 500;

/// Compares the keys that the rules of two texts catch. Both must have been replayed over the same
/// records, with [`RuleOptions::has_caught`](crate::RuleOptions::has_caught).
///
/// The counts are exact if each rule catches at most a million keys, the limit of a report.
pub fn compare_rules(first: &[RuleAnswer], second: &[RuleAnswer]) -> RuleComparison {
    let keys = |answers: &'_ [RuleAnswer]| -> HashSet<Box<[u8]>> {
        answers.iter().flat_map(|answer| answer.caught.iter().cloned()).collect()
    };
    let (of_first, of_second) = (keys(first), keys(second));
    RuleComparison {
        first: side(first),
        second: side(second),
        both: key_set(first, |key| of_second.contains(key)),
        first_only: key_set(first, |key| !of_second.contains(key)),
        second_only: key_set(second, |key| !of_first.contains(key)),
    }
}

fn side(answers: &[RuleAnswer]) -> RuleSide {
    let mut sum = RuleSide::default();
    for RuleAnswer { rule, .. } in answers {
        sum.rejected += rule.estimate.map_or(rule.requests.rejected, |likely| likely.rejected);
        sum.undecided += rule.requests.undecided;
        sum.undecided_keys += rule.keys.undecided;
    }
    sum
}

fn key_set(answers: &[RuleAnswer], belongs: impl Fn(&[u8]) -> bool) -> KeySet {
    let (mut seen, mut set) = (HashSet::new(), KeySet::default());
    for key in answers.iter().flat_map(|answer| &answer.caught) {
        if !belongs(key) || !seen.insert(key) {
            continue;
        }
        set.keys += 1;
        if set.list.len() < LISTED_MAX {
            set.list.push(String::from_utf8_lossy(key).into_owned());
        }
    }
    set
}
