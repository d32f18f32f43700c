//! The replay over times to the second: its verdicts hold for all possible real times.
//!
//! A request with the stamp *s* arrived at some time from *s* to *s* + 0.999 s. Instead of the
//! excess, whose bounds would grow apart with every step, the replay bounds the *level* of a key:
//! the excess plus all that the rate has drained until then. A request that passes at time *t*
//! raises the level to `max(rate * t, level + 1)`, and one that is rejected leaves it; so the
//! bounds stay within what drains in a second of each other while nothing is undecided.
//!
//! Bounds belong to positions: the *k*-th request of a key by its real time has the *k*-th stamp.
//! The log does not tell which of the requests of a second it was. Counts are by position, and the
//! verdict of a request is known if all its possible positions agree.
//!
//! [`bounded_by_key`](super::bounded_by_key) replays a rule with a single limit, with the same
//! arithmetic.

use super::LimitReq;
use super::bucket::{REQUEST, Rate, delay_ms};
use super::level::{Excess, Level, THOUSANDTH, TimeRange, UnlimitedLevel, rate_times};
use super::limit::Limit;
use crate::arrivals::{Arrivals, NO_KEY, SECOND_SPREAD_NS, ZoneLimit, applying};
use crate::engine::{Outcome, for_each_disagreement};
use crate::keys::ZoneSummary;
use crate::report::Verdict;

/// How much later than its stamp a request may have arrived, in milliseconds.
pub(super) const SPREAD_MS: i64 = SECOND_SPREAD_NS / 1_000_000;

/// The memory of the state of a key, in bytes.
pub(super) const KEY_BYTES: usize = size_of::<KeyLevels>();

/// The levels of a key; `None` before its first request.
#[derive(Debug, Clone, Copy, Default)]
struct KeyLevels {
    level: Option<Level<i128>>,
    unlimited: Option<UnlimitedLevel<i128>>,
}

/// The keys of a zone.
struct ZoneLevels {
    rate: Rate,
    keys: Vec<KeyLevels>,
}

impl ZoneLevels {
    fn key(&mut self, key: u32) -> &mut KeyLevels {
        let index = key as usize;
        self.keys.resize(self.keys.len().max(index + 1), KeyLevels::default());
        &mut self.keys[index]
    }
}

/// A limit that applies to a request, and the level and excess of the request's key.
#[derive(Debug, Clone, Copy)]
struct AppliedLimit<'r> {
    /// Its position in the limit set.
    number: u32,
    limit: &'r Limit,
    rate: Rate,
    key: u32,
    before: Option<Level<i128>>,
    excess: Excess,
}

/// Replays the requests in `order`. Stores their outcomes in the order of the log, if the caller
/// asks for them.
pub(super) fn replay(
    rule: &LimitReq,
    arrivals: &Arrivals,
    order: &[u32],
    summary: &mut ZoneSummary,
    mut outcomes: Option<&mut [Outcome]>,
) {
    let zone = |rate: Rate| ZoneLevels { rate, keys: Vec::new() };
    let mut zones: Vec<ZoneLevels> =
        rule.zones().iter().map(|it| zone(it.parameters.rate)).collect();
    let (start_ms, _) = arrivals.range_ms();
    let mut found = Vec::new();
    let limits_of = |set| rule.limits(set).len();
    arrivals.each(order, limits_of, |position, arrival, keys| {
        let limits = rule.limits(arrival.set);
        let time = TimeRange::within(arrival.time_ms() - start_ms, SPREAD_MS);
        found.clear();
        found.extend(limits.iter().zip(keys).zip(0..).filter(|((_, key), _)| **key != NO_KEY).map(
            |((limit, key), number)| {
                let zone = &mut zones[limit.zone];
                let (rate, before) = (zone.rate, zone.key(*key).level);
                let excess = before.map(|level| level.excess_at(time, rate)).unwrap_or_default();
                AppliedLimit { number, limit, rate, key: *key, before, excess }
            },
        ));
        let outcome = decide(&mut zones, &found, limits.len(), time);
        summary.count(limits, keys, outcome.verdict);
        for (limit, key) in applying(limits, keys) {
            let zone = &mut zones[limit.zone];
            let rate = zone.rate;
            let unlimited = &mut zone.key(key).unlimited;
            let peak = UnlimitedLevel::count(unlimited, time, rate, position as u32);
            summary.key(limit.zone, key).peak(limit.burst, peak);
        }
        if outcome.verdict == Verdict::Rejected {
            let number = outcome.limit as usize;
            summary.key(limits[number].zone(), keys[number]).trip(position as u32);
        }
        if let Some(outcomes) = &mut outcomes {
            outcomes[position] = outcome;
        }
    });
    if let Some(outcomes) = outcomes {
        let verdicts: Vec<Verdict> = outcomes.iter().map(|outcome| outcome.verdict).collect();
        for sequence in rule.sequences(arrivals, order).iter().flatten() {
            agree(arrivals, sequence, &verdicts, outcomes);
        }
    }
}

/// Decides about a request with these limits, of which there are `limits` in its set, and updates
/// the levels.
fn decide(
    zones: &mut [ZoneLevels],
    applied: &[AppliedLimit<'_>],
    limits: usize,
    time: TimeRange,
) -> Outcome {
    let rejecting = applied.iter().find(|it| it.excess.lowest > it.limit.burst);
    if let Some(AppliedLimit { number, .. }) = rejecting {
        return Outcome { limit: *number, ..Outcome::verdict(Verdict::Rejected) };
    }
    let has_passed = applied.iter().all(|it| it.excess.highest <= it.limit.burst);
    let (mut is_delayed, mut may_be_delayed) = (false, false);
    for AppliedLimit { limit, rate, key, before, excess, .. } in applied.iter().copied() {
        is_delayed |= delay_ms(excess.lowest, limit.delay, rate) > 0;
        may_be_delayed |= delay_ms(excess.highest, limit.delay, rate) > 0;
        let passed = Level::passed(before, excess, limit.burst, time, rate);
        // A new key has no level if another limit rejected the request.
        zones[limit.zone].key(key).level = match (has_passed, before.is_none()) {
            (true, _) => Some(passed),
            (false, true) => Some(Level::new_or_nothing(passed)),
            (false, false) => {
                // Another limit may have rejected it.
                let over = i128::from(limit.burst - REQUEST) * i128::from(THOUSANDTH);
                let over = over + rate_times::<i128>(rate, time.earliest_ms);
                Level::either(before, passed, (limits == 1).then_some(over))
            }
        };
    }
    let verdict = match (has_passed, is_delayed, may_be_delayed) {
        (true, true, _) => Verdict::Delayed,
        (true, _, false) => Verdict::Passed,
        _ => Verdict::Undecided,
    };
    let limit = applied.first().map_or(0, |first| first.number);
    Outcome { limit, ..Outcome::verdict(verdict) }
}

/// Makes the verdicts of requests undecided whose possible positions disagree. The requests of a
/// key are in the order of their arrival; `verdicts` are those of their positions.
pub(super) fn agree(
    arrivals: &Arrivals,
    sequence: &[u32],
    verdicts: &[Verdict],
    outcomes: &mut [Outcome],
) {
    let position = |at: usize| sequence[at] as usize;
    for_each_disagreement(
        sequence.len(),
        SPREAD_MS,
        |at| arrivals.list[position(at)].time_ms(),
        |at| verdicts[position(at)],
        |at| outcomes[position(at)].verdict = Verdict::Undecided,
    );
}
