//! The token bucket and the leaky bucket over times to the second.
//!
//! As for `limit_req`, the state is not the level of the bucket, whose bounds would grow apart with
//! every request, but the time at which it is full of tokens again: a request that passes at time
//! *t* moves it to `max(full, t)` plus the interval of the rate, and one that is rejected leaves
//! it.

use super::counter::{BucketScale, is_forgotten};
use super::limit::Limit;
use super::summary::Peak;
use crate::arrivals::SECOND_SPREAD_NS;
use crate::engine::Outcome;
use crate::report::Verdict;

/// The bounds of the time at which the bucket is full, in the unit of [`BucketScale`].
#[derive(Debug, Clone, Copy)]
struct Full {
    earliest: i128,
    latest: i128,
    /// The highest possible level after the last request.
    level: i128,
}

/// The possible times of a request.
#[derive(Debug, Clone, Copy)]
struct TimeRange {
    earliest: i128,
    latest: i128,
}

/// The least and most level that a request finds.
#[derive(Debug, Clone, Copy)]
struct Level {
    lowest: i128,
    highest: i128,
}

/// Decides about requests by position, and returns the peak.
pub(super) fn evaluate(limit: &Limit, times_ns: &[i64], outcomes: &mut Vec<Outcome>) -> Peak {
    let scale = BucketScale::new(limit);
    let distant = Full { earliest: i128::MIN / 4, latest: i128::MIN / 4, level: 0 };
    let (mut full, mut unlimited, mut stamped) = (distant, distant, i128::MIN / 4);
    let (mut peak, mut last_ns) = (Peak::default(), None);
    for (at, earliest_ns) in times_ns.iter().copied().enumerate() {
        let latest_ns = earliest_ns.saturating_add(SECOND_SPREAD_NS);
        let arrival =
            TimeRange { earliest: scale.time(earliest_ns), latest: scale.time(latest_ns) };
        if let Some(last_ns) = last_ns.replace(earliest_ns) {
            let last_latest_ns = i64::saturating_add(last_ns, SECOND_SPREAD_NS);
            if is_forgotten(last_latest_ns, earliest_ns, scale.forget_s) {
                (full, unlimited) = (distant, distant);
            } else if is_forgotten(last_ns, latest_ns, scale.forget_s) {
                full.earliest = distant.earliest;
                unlimited.earliest = distant.earliest;
            }
            if is_forgotten(last_ns, earliest_ns, scale.forget_s) {
                stamped = distant.latest;
            }
        }
        let level = unlimited.level_at(arrival);
        let of_stamps = (stamped - arrival.earliest).max(0).clamp(level.lowest, level.highest);
        stamped = stamped.max(arrival.earliest) + scale.request;
        let (lowest, highest) = (scale.requests(level.lowest), scale.requests(level.highest));
        peak.take_range(at, scale.requests(of_stamps), lowest, highest);
        unlimited.pass(arrival, level, &scale);
        let level = full.level_at(arrival);
        outcomes.push(Outcome::verdict(verdict(level, &scale)));
        if level.highest <= scale.highest {
            full.pass(arrival, level, &scale);
        } else if level.lowest > scale.highest {
            full.earliest = full.earliest.max(arrival.earliest + scale.highest);
        } else {
            full.pass_or_not(arrival, level, &scale);
        }
    }
    peak
}

fn verdict(level: Level, scale: &BucketScale) -> Verdict {
    match level {
        _ if level.lowest > scale.highest => Verdict::Rejected,
        _ if level.highest <= scale.free => Verdict::Passed,
        _ if level.lowest > scale.free && level.highest <= scale.highest => Verdict::Delayed,
        _ => Verdict::Undecided,
    }
}

impl Full {
    fn level_at(&self, arrival: TimeRange) -> Level {
        // The level does not grow between two requests.
        let highest = (self.latest - arrival.earliest).clamp(0, self.level);
        let lowest = (self.earliest - arrival.latest).clamp(0, highest);
        Level { lowest, highest }
    }

    fn pass(&mut self, arrival: TimeRange, level: Level, scale: &BucketScale) {
        self.earliest = self.earliest.max(arrival.earliest) + scale.request;
        self.latest = self.latest.max(arrival.latest) + scale.request;
        self.level = level.highest + scale.request;
    }

    fn pass_or_not(&mut self, arrival: TimeRange, level: Level, scale: &BucketScale) {
        let mut passed = *self;
        let highest = level.highest.min(scale.highest);
        passed.pass(arrival, Level { highest, ..level }, scale);
        let most = arrival.latest + scale.highest + scale.request;
        let rejected = self.earliest.max(arrival.earliest + scale.highest);
        self.earliest = passed.earliest.min(rejected);
        self.latest = self.latest.max(passed.latest.min(most));
        self.level = self.level.max(passed.level);
    }
}
