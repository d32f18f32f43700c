//! The replay over times to the second: verdicts that hold whichever the real times were.
//!
//! A request with the stamp *s* arrived at some time from *s* to *s* + 0.999 s. Instead of the
//! excess, whose bounds would grow apart with every step, the replay bounds the *level* of a key:
//! the excess plus all that the rate has drained until then. A request that passes at time *t*
//! raises the level to `max(rate * t, level + 1)`, and one that is rejected leaves it; so the bounds
//! stay within what drains in a second of each other while nothing is undecided.
//!
//! Bounds belong to positions: the *k*-th request of a key by its real time has a stamp that is the
//! *k*-th. Which of the requests of a second it was, the log does not tell. Counts are by position,
//! and the verdict of a request is known if all positions that it can have agree.
//!
//! In a second with many requests, no position may be known to be rejected, because the requests may
//! have been anywhere in it. But only so many can have passed ([`Second`]); the others count as
//! rejected.
//!
//! Levels are in millionths of a request, and times are relative to the first of the log.

use super::LimitReq;
use super::bucket::{REQUEST, Rate, delay_ms, drained};
use super::configuration::Limit;
use super::idle_queue::IDLE_MS;
use super::replay::{NO_KEY, Outcome, Request, Requests};
use super::summary::{Peak, Summary};
use crate::report::Verdict;

/// Of levels, a thousandth of a request.
const THOUSANDTH: i128 = 1_000;

/// The least and the most that a level can be, in millionths of a request.
#[derive(Debug, Clone, Copy)]
struct Level {
    lowest: i128,
    highest: i128,
    /// The most that the excess was after the last request, in thousandths of a request.
    excess: i64,
    /// The earliest arrival of the last request, in milliseconds.
    last_ms: i64,
}

/// The least and most that an excess can be, in thousandths of a request.
#[derive(Debug, Clone, Copy, Default)]
struct Excess {
    lowest: i64,
    highest: i64,
}

/// By limit: the excess that a request would make; `None` if the limit does not apply, and in it if the
/// key is new.
type Excesses = Vec<Option<Option<Excess>>>;

/// When a request arrived, in milliseconds since the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Arrival {
    earliest_ms: i64,
    latest_ms: i64,
}

/// The keys of a zone.
struct ZoneState {
    rate: Rate,
    levels: Vec<Option<Level>>,
    /// Levels if no request were rejected.
    unlimited: Vec<Option<Level>>,
    /// Excesses if no request were rejected and each arrived at its stamp.
    stamped: Vec<Option<(i64, i64)>>,
    /// The requests of each key in the last second, if it has only one limit.
    seconds: Vec<Option<Second>>,
}

/// The memory that the state of a key takes.
pub(super) const KEY_BYTES: usize =
    2 * size_of::<Option<Level>>() + size_of::<Option<(i64, i64)>>() + size_of::<Option<Second>>();

/// The requests of a key that may have arrived at the same time.
#[derive(Debug, Clone, Copy)]
struct Second {
    arrival: Arrival,
    /// The least that the level was before them.
    lowest: i128,
    requests: u64,
    /// Those known to be rejected.
    rejected: u64,
    undecided: u64,
}

impl Second {
    /// How many of the undecided requests were rejected at least: those that pass raise the level
    /// by one each, up to the burst.
    fn rejected_at_least(&self, burst: i64, rate: Rate) -> u64 {
        let most = i128::from(burst) * THOUSANDTH + rate_times(rate, self.arrival.latest_ms);
        let passed = (most - self.lowest).div_euclid(i128::from(REQUEST) * THOUSANDTH);
        let passed = u64::try_from(passed).unwrap_or(0);
        let rejected = self.requests.saturating_sub(passed);
        rejected.saturating_sub(self.rejected).min(self.undecided)
    }
}

/// What drains in a time, in millionths of a request.
fn rate_times(rate: Rate, time_ms: i64) -> i128 {
    i128::from(rate.0) * i128::from(time_ms)
}

/// Replays the requests, and keeps their outcomes in the order of the log if asked to.
pub(super) fn replay(
    rule: &LimitReq,
    requests: &Requests,
    summary: &mut Summary<'_>,
    outcomes: Option<&mut Vec<Outcome>>,
) {
    let mut zones: Vec<ZoneState> =
        rule.zones().iter().map(|zone| ZoneState::new(zone.rate)).collect();
    let order = requests.replay_order(rule);
    let start_ms = requests.list.iter().map(|request| request.arrival_ms).min().unwrap_or(0);
    let unknown = Outcome { verdict: Verdict::Unknown, limit: 0, delay_ms: None, excess: None };
    let only = match rule.limit_sets() {
        [set] if set.limits.len() == 1 => set.limits.first(),
        _ => None,
    };
    let mut decided = outcomes.as_ref().map(|_| vec![unknown; requests.list.len()]);
    let mut excesses = Excesses::new();
    let spread_ms = requests.spread_ms();
    requests.each(rule, &order, |position, request, keys| {
        let limits = &rule.limit_sets()[request.set as usize].limits;
        let earliest_ms = request.arrival_ms - start_ms;
        let arrival = Arrival { earliest_ms, latest_ms: earliest_ms + spread_ms };
        let before = zones_before(&zones, only, keys);
        let outcome = decide(&mut zones, (limits, keys), arrival, &mut excesses);
        summary.count(limits, keys, outcome.verdict);
        if let Some(limit) = only {
            let zone = &mut zones[limit.zone];
            if let Some(ended) = zone.count_in_second(keys[0], before, arrival, outcome.verdict) {
                summary.reject_undecided(
                    limit,
                    keys[0],
                    ended.rejected_at_least(limit.burst, zone.rate),
                );
            }
        }
        for (limit, key) in limits.iter().zip(keys).filter(|(_, key)| **key != NO_KEY) {
            let zone = &mut zones[limit.zone];
            let excess = zone.unlimited_excess(*key, arrival);
            summary.peak(limit, *key, Peak::between(excess, request.arrival_ms, request));
        }
        if outcome.verdict == Verdict::Rejected {
            let limit = outcome.limit as usize;
            summary.trip(&limits[limit], keys[limit], request);
        }
        if let Some(decided) = &mut decided {
            decided[position] = outcome;
        }
    });
    if let Some(limit) = only {
        let zone = &zones[limit.zone];
        for (key, second) in zone.seconds.iter().enumerate() {
            let Some(second) = second else { continue };
            let rejected = second.rejected_at_least(limit.burst, zone.rate);
            summary.reject_undecided(limit, key as u32, rejected);
        }
    }
    if let (Some(outcomes), Some(mut decided)) = (outcomes, decided) {
        agree(rule, requests, &order, &mut decided);
        *outcomes = decided;
    }
}

/// The level of the only key of a request, if there is only one limit.
fn zones_before(zones: &[ZoneState], only: Option<&Limit>, keys: &[u32]) -> Option<Level> {
    let limit = only?;
    zones[limit.zone].levels.get(*keys.first()? as usize).copied().flatten()
}

impl ZoneState {
    fn new(rate: Rate) -> Self {
        let (levels, unlimited, stamped, seconds) = Default::default();
        Self { rate, levels, unlimited, stamped, seconds }
    }

    /// The excess that a request would make; `None` for the first request of a key.
    fn excess(&mut self, key: u32, arrival: Arrival) -> Option<Excess> {
        let index = key as usize;
        self.levels.resize(self.levels.len().max(index + 1), None);
        self.levels[index].map(|level| level.excess_at(arrival, self.rate))
    }

    /// Counts a request in the second of its key, whose level was `before`. Returns the second
    /// before that, if the request begins another one.
    fn count_in_second(
        &mut self,
        key: u32,
        before: Option<Level>,
        arrival: Arrival,
        verdict: Verdict,
    ) -> Option<Second> {
        let index = key as usize;
        self.seconds.resize(self.seconds.len().max(index + 1), None);
        let known = &mut self.seconds[index];
        let ended = known.take_if(|second| second.arrival != arrival);
        let second = known.get_or_insert_with(|| {
            // The level after the first request is at least that at its time.
            let request = i128::from(REQUEST) * THOUSANDTH;
            let new = rate_times(self.rate, arrival.earliest_ms) - request;
            let lowest = match before {
                Some(level) if !level.may_be_forgotten(arrival, self.rate) => level.lowest.max(new),
                _ => new,
            };
            Second { arrival, lowest, requests: 0, rejected: 0, undecided: 0 }
        });
        second.requests += 1;
        second.rejected += u64::from(verdict == Verdict::Rejected);
        second.undecided += u64::from(verdict == Verdict::Unknown);
        ended
    }

    /// The excess of a request if none had been rejected: with the stamps as times, the least, and
    /// the most.
    fn unlimited_excess(&mut self, key: u32, arrival: Arrival) -> (i64, i64, i64) {
        let index = key as usize;
        self.unlimited.resize(self.unlimited.len().max(index + 1), None);
        self.stamped.resize(self.stamped.len().max(index + 1), None);
        let found = self.unlimited[index].map(|level| level.excess_at(arrival, self.rate));
        let excess = found.unwrap_or_default();
        let level = &mut self.unlimited[index];
        *level = Some(Level::passed(*level, excess, i64::MAX, arrival, self.rate));
        let now_ms = arrival.earliest_ms;
        let stamped = match self.stamped[index] {
            Some((last, last_ms)) => (last - drained(now_ms - last_ms, self.rate) + REQUEST).max(0),
            None => 0,
        };
        self.stamped[index] = Some((stamped, now_ms));
        (stamped.clamp(excess.lowest, excess.highest), excess.lowest, excess.highest)
    }
}

impl Level {
    fn excess_at(&self, arrival: Arrival, rate: Rate) -> Excess {
        let drained = |time_ms: i64| rate_times(rate, time_ms);
        // Nearly all levels fit into 64 bits, whose division is much faster.
        let thousandths = |level: i128| match i64::try_from(level) {
            Ok(level) => level.div_euclid(THOUSANDTH as i64),
            Err(_) => i64::try_from(level.div_euclid(THOUSANDTH)).unwrap_or(i64::MAX / 4),
        };
        let lowest = thousandths(self.lowest - drained(arrival.latest_ms)) + REQUEST;
        let highest = thousandths(self.highest - drained(arrival.earliest_ms) + THOUSANDTH - 1);
        // Nothing drains faster than time goes, so the excess cannot grow by more than the request.
        let highest = (highest + REQUEST).min(self.excess + REQUEST).max(0);
        let is_new = self.may_be_forgotten(arrival, rate);
        Excess { lowest: if is_new { 0 } else { lowest.clamp(0, highest) }, highest }
    }

    /// Whether nginx may have forgotten the key.
    fn may_be_forgotten(&self, arrival: Arrival, rate: Rate) -> bool {
        let is_idle = arrival.latest_ms - self.last_ms >= IDLE_MS;
        is_idle && self.lowest <= rate_times(rate, arrival.latest_ms)
    }

    /// The level after a request that has passed with this excess, of at most `burst`.
    fn passed(
        before: Option<Self>,
        excess: Excess,
        burst: i64,
        arrival: Arrival,
        rate: Rate,
    ) -> Self {
        let drained = |time_ms: i64| rate_times(rate, time_ms);
        let Arrival { earliest_ms, latest_ms } = arrival;
        let (mut lowest, mut highest) = (drained(earliest_ms), drained(latest_ms));
        if let Some(level) = before {
            let request = i128::from(REQUEST) * THOUSANDTH;
            if excess.lowest > 0 {
                lowest = lowest.max(level.lowest + request);
            }
            // What drains between two requests is rounded down to a thousandth, which is exact for
            // whole requests in a second.
            let rounding = if rate.0 % REQUEST == 0 { 0 } else { THOUSANDTH };
            highest = highest.max(level.highest + request + rounding);
        }
        let excess = excess.highest.min(burst);
        let most = drained(latest_ms) + i128::from(excess) * THOUSANDTH;
        Self { lowest: lowest.min(most), highest: highest.min(most), excess, last_ms: earliest_ms }
    }

    /// The level after a request of which it is not known whether it passed. If it was rejected,
    /// the level was at least `rejected`.
    fn either(before: Option<Self>, passed: Self, rejected: i128) -> Option<Self> {
        let before = before?;
        Some(Self {
            lowest: before.lowest.max(rejected).min(passed.lowest),
            highest: before.highest.max(passed.highest),
            excess: before.excess.max(passed.excess),
            last_ms: before.last_ms,
        })
    }
}

/// The decision about the request at a position, and its effect.
fn decide(
    zones: &mut [ZoneState],
    (limits, keys): (&[Limit], &[u32]),
    arrival: Arrival,
    excesses: &mut Excesses,
) -> Outcome {
    excesses.clear();
    excesses.extend(
        limits
            .iter()
            .zip(keys)
            .map(|(limit, key)| (*key != NO_KEY).then(|| zones[limit.zone].excess(*key, arrival))),
    );
    let applying = || {
        let numbered = limits.iter().zip(keys).zip(&*excesses).enumerate();
        numbered.filter_map(|(number, ((limit, key), excess))| {
            let excess = (*excess)?;
            Some((number, limit, *key, excess.unwrap_or_default(), excess.is_none()))
        })
    };
    let rejecting = applying().find(|(_, limit, _, excess, _)| excess.lowest > limit.burst);
    if let Some((number, ..)) = rejecting {
        let limit = number as u32;
        return Outcome { verdict: Verdict::Rejected, limit, delay_ms: None, excess: None };
    }
    let has_passed = applying().all(|(_, limit, _, excess, _)| excess.highest <= limit.burst);
    let (mut is_delayed, mut may_be_delayed, mut first) = (false, false, None);
    for (number, limit, key, excess, is_first) in applying() {
        let zone = &mut zones[limit.zone];
        first.get_or_insert(number as u32);
        is_delayed |= delay_ms(excess.lowest, limit.delay, zone.rate) > 0;
        may_be_delayed |= delay_ms(excess.highest, limit.delay, zone.rate) > 0;
        let before = zone.levels[key as usize];
        let passed = Level::passed(before, excess, limit.burst, arrival, zone.rate);
        // A key that is new has no level if the request was rejected by another limit.
        zone.levels[key as usize] = match (has_passed, is_first) {
            (true, _) => Some(passed),
            (false, true) => Some(Level::new_or_nothing(passed)),
            (false, false) => {
                // Another limit may have rejected it.
                let over = i128::from(limit.burst - REQUEST) * THOUSANDTH;
                let over = over + rate_times(zone.rate, arrival.earliest_ms);
                let rejected = if limits.len() == 1 { over } else { i128::MIN };
                Level::either(before, passed, rejected)
            }
        };
    }
    let verdict = match (has_passed, is_delayed, may_be_delayed) {
        (true, true, _) => Verdict::Delayed,
        (true, _, false) => Verdict::Passed,
        _ => Verdict::Unknown,
    };
    Outcome { verdict, limit: first.unwrap_or(0), delay_ms: None, excess: None }
}

impl Level {
    /// The level of a new key that may have been left without one: as low as can be.
    fn new_or_nothing(passed: Self) -> Self {
        let request = i128::from(REQUEST) * THOUSANDTH;
        Self { lowest: passed.lowest - request, ..passed }
    }
}

/// Makes the verdicts of requests unknown whose possible positions do not agree.
fn agree(rule: &LimitReq, requests: &Requests, order: &[u32], decided: &mut [Outcome]) {
    let verdicts: Vec<Verdict> =
        order.iter().map(|position| decided[*position as usize].verdict).collect();
    for sequence in sequences(rule, requests, order) {
        let request = |at: usize| &requests.list[order[sequence[at] as usize] as usize];
        let spread_ms = requests.spread_ms();
        // From each place, the end of the run with the same verdict.
        let mut run_ends = vec![sequence.len(); sequence.len()];
        for at in (0..sequence.len().saturating_sub(1)).rev() {
            let is_same = verdicts[sequence[at] as usize] == verdicts[sequence[at + 1] as usize];
            run_ends[at] = if is_same { run_ends[at + 1] } else { at + 1 };
        }
        let (mut first, mut end) = (0, 0);
        for at in 0..sequence.len() {
            let arrival_ms = request(at).arrival_ms;
            while request(first).arrival_ms + spread_ms < arrival_ms {
                first += 1;
            }
            while end < sequence.len() && request(end).arrival_ms <= arrival_ms + spread_ms {
                end += 1;
            }
            if run_ends[first] < end {
                decided[order[sequence[at] as usize] as usize].verdict = Verdict::Unknown;
            }
        }
    }
}

/// The places in `order` of the requests of each key of each zone.
fn sequences(rule: &LimitReq, requests: &Requests, order: &[u32]) -> Vec<Vec<u32>> {
    let mut zones: Vec<Vec<Vec<u32>>> = rule.zones().iter().map(|_| Vec::new()).collect();
    for (place, position) in order.iter().enumerate() {
        let request: &Request = &requests.list[*position as usize];
        let limits = &rule.limit_sets()[request.set as usize].limits;
        let keys = requests.keys_of(request, limits.len());
        for (limit, key) in limits.iter().zip(keys).filter(|(_, key)| **key != NO_KEY) {
            let lists = &mut zones[limit.zone];
            lists.resize_with(lists.len().max(*key as usize + 1), Vec::new);
            lists[*key as usize].push(place as u32);
        }
    }
    zones.into_iter().flatten().collect()
}
