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
//! So if the limits of a zone differ, or others apply to some of its requests too, the limits of the
//! *k*-th request are not known either. Then only what holds for each of these requests counts, and
//! what the requests must have done [together](super::spans).
//!
//! [`bounded_by_key`](super::bounded_by_key) replays a rule with a single limit, with the same
//! arithmetic.

use super::LimitReq;
use super::bucket::{REQUEST, Rate, delay_ms};
use super::level::{
    Level, LevelNumber, THOUSANDTH, TimeRange, UnlimitedLevel, fits_64_bits, rate_times,
};
use super::limit::Limit;
use super::spans::Spans;
use crate::arrivals::{Arrivals, NO_KEY, SECOND_SPREAD_NS};
use crate::engine::{Outcome, for_each_disagreement};
use crate::keys::ZoneSummary;
use crate::report::Verdict;

/// How much later than its stamp a request may have arrived, in milliseconds.
pub(super) const SPREAD_MS: i64 = SECOND_SPREAD_NS / 1_000_000;

/// The memory of the state of a key, in bytes.
pub(super) const KEY_BYTES: usize = size_of::<KeyLevels<i128>>();

/// The levels of a key; `None` before its first request.
#[derive(Debug, Clone, Copy)]
struct KeyLevels<N> {
    level: Option<Level<N>>,
    unlimited: Option<UnlimitedLevel<N>>,
    spans: Spans<N>,
}

/// The keys of a zone.
struct ZoneLevels<N> {
    rate: Rate,
    /// The smallest and the largest burst of its limits, in thousandths of a request.
    bursts: (i64, i64),
    /// Whether no other limit applies to requests with a key in the zone.
    is_alone: bool,
    keys: Vec<KeyLevels<N>>,
}

impl<N: LevelNumber> ZoneLevels<N> {
    fn of_rule(rule: &LimitReq) -> Vec<Self> {
        let zone = |number: usize| {
            let sets = || rule.limit_sets().iter().map(|set| &set.limits[..]);
            let bursts = || sets().flatten().filter(|it| it.zone == number).map(|it| it.burst);
            let is_used = |limits: &&[Limit]| limits.iter().any(|limit| limit.zone == number);
            Self {
                rate: rule.zones()[number].parameters.rate,
                bursts: (bursts().min().unwrap_or(0), bursts().max().unwrap_or(0)),
                is_alone: sets().filter(is_used).all(|limits| limits.len() == 1),
                keys: Vec::new(),
            }
        };
        (0..rule.zones().len()).map(zone).collect()
    }

    /// Whether all requests of a key have the same limit.
    fn is_uniform(&self) -> bool {
        self.is_alone && self.bursts.0 == self.bursts.1
    }

    #[inline]
    fn key(&mut self, key: u32) -> &mut KeyLevels<N> {
        let index = key as usize;
        if index >= self.keys.len() {
            let new = KeyLevels { level: None, unlimited: None, spans: Spans::default() };
            self.keys.resize(index + 1, new);
        }
        &mut self.keys[index]
    }

    /// Decides about the next request of a key as far as this zone goes, and updates its level.
    fn decide(&mut self, key: u32, limit: &Limit, time: TimeRange) -> Outcome {
        let (rate, is_alone, (least, most)) = (self.rate, self.is_alone, self.bursts);
        let state = self.key(key);
        let before = state.level;
        let excess = before.map(|level| level.excess_at(time, rate)).unwrap_or_default();
        state.spans.count(before, time, most, rate);
        if excess.lowest > most {
            return Outcome::verdict(Verdict::Rejected);
        }
        let has_passed = excess.highest <= least;
        let passed = Level::passed(before, excess, most, time, rate);
        state.level = match (is_alone, has_passed, before.is_none()) {
            (true, true, _) => Some(passed),
            // A new key has no level if another limit rejected the request.
            (false, _, true) => Some(Level::new_or_nothing(passed)),
            _ => {
                let over = N::from(least - REQUEST) * N::from(THOUSANDTH);
                let over = over + rate_times::<N>(rate, time.earliest_ms);
                Level::either(before, passed, is_alone.then_some(over))
            }
        };
        let is_delayed = |excess: i64| delay_ms(excess, limit.delay, rate) > 0;
        Outcome::verdict(
            match (has_passed, is_delayed(excess.lowest), is_delayed(excess.highest)) {
                (true, true, _) => Verdict::Delayed,
                (true, _, false) => Verdict::Passed,
                _ => Verdict::Undecided,
            },
        )
    }
}

/// Replays the requests in `order`. Stores their outcomes in the order of the log, if the caller
/// asks for them.
pub(super) fn replay(
    rule: &LimitReq,
    arrivals: &Arrivals,
    order: &[u32],
    summary: &mut ZoneSummary,
    outcomes: Option<&mut [Outcome]>,
) {
    let (start_ms, end_ms) = arrivals.range_ms();
    let length_ms = end_ms.saturating_sub(start_ms);
    let mut zones = rule.zones_with_bursts();
    let replay =
        match zones.all(|(zone, burst)| fits_64_bits(zone.parameters.rate, burst, length_ms)) {
            true => replay_with::<i64>,
            false => replay_with::<i128>,
        };
    replay(rule, arrivals, order, summary, outcomes);
}

pub(super) fn replay_with<N: LevelNumber>(
    rule: &LimitReq,
    arrivals: &Arrivals,
    order: &[u32],
    summary: &mut ZoneSummary,
    outcomes: Option<&mut [Outcome]>,
) {
    let mut zones = ZoneLevels::<N>::of_rule(rule);
    let is_uniform = zones.iter().all(ZoneLevels::is_uniform);
    let mut own = Vec::new();
    let mut outcomes = outcomes.or_else(|| {
        own.resize(if is_uniform { 0 } else { arrivals.list.len() }, Outcome::UNDECIDED);
        (!is_uniform).then_some(&mut own[..])
    });
    let (start_ms, _) = arrivals.range_ms();
    let limits_of = |set| rule.limits(set).len();
    arrivals.each(order, limits_of, |position, arrival, keys| {
        let limits = rule.limits(arrival.set);
        let time = TimeRange::within(arrival.time_ms() - start_ms, SPREAD_MS);
        let mut outcome = Outcome::verdict(Verdict::Passed);
        for ((limit, key), number) in limits.iter().zip(keys).zip(0..) {
            if *key == NO_KEY {
                continue;
            }
            let zone = &mut zones[limit.zone];
            let decided = Outcome { limit: number, ..zone.decide(*key, limit, time) };
            if decided.verdict == Verdict::Rejected && zone.is_alone {
                summary.key(limit.zone, *key).trip(position as u32);
            }
            outcome = both(outcome, decided, limits.len());
            let (rate, bursts) = (zone.rate, zone.bursts);
            let unlimited = &mut zone.key(*key).unlimited;
            let peak = UnlimitedLevel::count(unlimited, time, rate, position as u32);
            summary.key(limit.zone, *key).peak_within(limit.burst, bursts, peak);
        }
        if is_uniform {
            summary.count(limits, keys, outcome.verdict);
        }
        if let Some(outcomes) = &mut outcomes {
            outcomes[position] = outcome;
        }
    });
    if let Some(outcomes) = outcomes {
        let verdicts: Vec<Verdict> = outcomes.iter().map(|outcome| outcome.verdict).collect();
        let sequences = rule.sequences(arrivals, order);
        for sequence in sequences.iter().flatten() {
            agree(arrivals, sequence, &verdicts, outcomes);
        }
        if !is_uniform {
            let mixed = mixed_positions(rule, arrivals, &sequences);
            arrivals.each(order, limits_of, |position, arrival, keys| {
                let verdict = match mixed[position] {
                    true => outcomes[position].verdict,
                    false => verdicts[position],
                };
                summary.count(rule.limits(arrival.set), keys, verdict);
            });
        }
    }
    let rejected = zones.iter().map(|zone| zone.keys.iter().map(|key| key.spans.rejected()));
    summary.reject_at_least(rejected);
}

/// Whether the requests that may have had a position differ in their limits or keys: then even the
/// number of those that have passed does not follow from the verdicts of the positions.
fn mixed_positions(rule: &LimitReq, arrivals: &Arrivals, sequences: &[Vec<Vec<u32>>]) -> Vec<bool> {
    let mut mixed = vec![false; arrivals.list.len()];
    for sequence in sequences.iter().flatten() {
        let arrival = |at: usize| &arrivals.list[sequence[at] as usize];
        let kind = |at: usize| {
            let set = arrival(at).set;
            (set, arrivals.keys_of(arrival(at), rule.limits(set).len()))
        };
        let time_ms = |at: usize| arrival(at).time_ms();
        for_each_disagreement(sequence.len(), SPREAD_MS, time_ms, kind, |at| {
            mixed[sequence[at] as usize] = true;
        });
    }
    mixed
}

/// The outcome of a request by its limits so far and the next one of `limits`.
fn both(outcome: Outcome, next: Outcome, limits: usize) -> Outcome {
    let verdict = match (outcome.verdict, next.verdict) {
        // Of several limits, it is not known which of the requests of a second it rejected.
        (_, Verdict::Rejected) if limits > 1 => Verdict::Undecided,
        (Verdict::Undecided, _) | (_, Verdict::Passed) => return outcome,
        (_, verdict) => verdict,
    };
    Outcome { verdict, ..next }
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
