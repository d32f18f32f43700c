//! The replay of a single limit over arrival times to the millisecond, one key after another.
//!
//! The decisions are those of [`exact`](super::exact), which replays any number of limits.

use super::bucket::{Bucket, Rate, delay_ms};
use super::by_key::ByKey;
use super::configuration::Limit;
use super::replay::Outcome;
use super::summary::{KeySummary, Peak, Summary};
use super::unlimited::{BoundedExcess, UnlimitedBucket};
use crate::report::Verdict;

/// Replays the requests. Updates their outcomes by position in the log, if the caller stores them.
pub(super) fn replay(
    limit: &Limit,
    rate: Rate,
    requests: &ByKey,
    summary: &mut Summary<'_>,
    mut outcomes: Option<&mut [Outcome]>,
) {
    for (key, (arrivals_ms, positions)) in requests.iter() {
        let Some((first_ms, first)) = arrivals_ms.first().zip(positions.first()) else { continue };
        let mut of_key = KeySummary::default();
        let mut keep = |position: u32, outcome| {
            if let Some(outcomes) = &mut outcomes {
                outcomes[position as usize] = outcome;
            }
        };
        of_key.count(Verdict::Passed);
        of_key.peak(limit.burst, Peak::new(BoundedExcess::default(), *first));
        keep(*first, outcome(Verdict::Passed, Some(0), 0));
        let mut bucket = Bucket::first(*first_ms);
        let mut unlimited = UnlimitedBucket::first(*first_ms);
        for (now_ms, position) in arrivals_ms[1..].iter().zip(&positions[1..]) {
            let excess = bucket.excess_at(*now_ms, rate);
            let outcome = decide(limit, rate, excess);
            of_key.count(outcome.verdict);
            if outcome.verdict == Verdict::Rejected {
                of_key.trip(*position);
            } else {
                bucket.count(*now_ms, excess);
            }
            let excess = unlimited.count(*now_ms, rate);
            of_key.peak(limit.burst, Peak::new(excess, *position));
            keep(*position, outcome);
        }
        summary.put(limit, key, of_key);
    }
}

/// Decides about a request that would cause this excess.
#[inline]
fn decide(limit: &Limit, rate: Rate, excess: i64) -> Outcome {
    if excess > limit.burst {
        return outcome(Verdict::Rejected, None, excess);
    }
    match delay_ms(excess, limit.delay, rate) as u64 {
        0 => outcome(Verdict::Passed, Some(0), excess),
        delay => outcome(Verdict::Delayed, Some(delay), excess),
    }
}

fn outcome(verdict: Verdict, delay_ms: Option<u64>, excess: i64) -> Outcome {
    Outcome { verdict, limit: 0, delay_ms, excess: Some(excess) }
}
