//! The replay of a single limit over arrival times to the millisecond, one key after another.
//!
//! The decisions are those of [`exact`](super::exact), which replays any number of limits.

use super::bucket::{Bucket, Rate, delay_ms};
use super::exact::ExactOutcome;
use super::limit::Limit;
use super::unlimited::UnlimitedBucket;
use crate::arrivals::ByKey;
use crate::engine::Outcome;
use crate::keys::{KeySummary, ZoneSummary};
use crate::report::Verdict;

/// Replays the requests. Updates their outcomes by position in the log, if the caller stores them.
pub(super) fn replay(
    limit: &Limit,
    rate: Rate,
    by_key: &ByKey,
    summary: &mut ZoneSummary,
    mut outcomes: Option<&mut [Outcome]>,
) {
    for (key, times_ms, positions) in by_key.iter().filter(|(_, times, _)| !times.is_empty()) {
        let of_key = replay_key(limit, rate, times_ms, positions, |position, outcome| {
            if let Some(outcomes) = &mut outcomes {
                outcomes[position as usize] = outcome.into();
            }
        });
        summary.put(limit.zone, key, of_key);
    }
}

/// Replays the requests of a key, of which there is at least one, and calls `each` with the
/// positions and outcomes.
#[inline]
pub(super) fn replay_key(
    limit: &Limit,
    rate: Rate,
    times_ms: &[i64],
    positions: &[u32],
    mut each: impl FnMut(u32, ExactOutcome),
) -> KeySummary {
    let (mut of_key, mut unlimited) = (KeySummary::default(), UnlimitedBucket::default());
    // The excess of the first request is 0, whatever the bucket drains before it.
    let mut bucket = Bucket::first(times_ms.first().copied().unwrap_or(0));
    let mut is_first = true;
    for (now_ms, position) in times_ms.iter().zip(positions) {
        let excess = if is_first { 0 } else { bucket.excess_at(*now_ms, rate) };
        is_first = false;
        let outcome = decide(limit, rate, excess);
        of_key.count(outcome.verdict);
        if outcome.verdict == Verdict::Rejected {
            of_key.trip(*position);
        } else {
            bucket.count(*now_ms, excess);
        }
        of_key.peak(limit.burst, unlimited.count(*now_ms, rate, *position));
        each(*position, outcome);
    }
    of_key
}

/// Decides about a request that would cause this excess.
#[inline]
fn decide(limit: &Limit, rate: Rate, excess: i64) -> ExactOutcome {
    let (verdict, delay_ms) = if excess > limit.burst {
        (Verdict::Rejected, None)
    } else {
        match delay_ms(excess, limit.delay, rate) as u64 {
            0 => (Verdict::Passed, Some(0)),
            delay => (Verdict::Delayed, Some(delay)),
        }
    };
    ExactOutcome { verdict, limit: 0, delay_ms, excess }
}
