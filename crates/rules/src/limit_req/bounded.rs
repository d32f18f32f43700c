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
use super::configuration::Limit;
use super::level::{Arrival, Excess, Level, THOUSANDTH, UnlimitedLevel, rate_times};
use super::replay::{NO_KEY, Outcome, Request, Requests};
use super::summary::{Peak, Summary};
use super::unlimited::BoundedExcess;
use crate::report::Verdict;

/// By limit: the excess that a request would make. The outer option is `None` if the limit does not
/// apply, the inner one if the key is new.
type Excesses = Vec<Option<Option<Excess>>>;

/// The keys of a zone.
struct ZoneState {
    rate: Rate,
    levels: Vec<Option<Level<i128>>>,
    unlimited: Vec<Option<UnlimitedLevel<i128>>>,
}

/// The memory of the state of a key, in bytes.
pub(super) const KEY_BYTES: usize =
    size_of::<Option<Level<i128>>>() + size_of::<Option<UnlimitedLevel<i128>>>();

/// The outcome of a request that cannot be decided.
pub(super) const UNDECIDED: Outcome =
    Outcome { verdict: Verdict::Undecided, limit: 0, delay_ms: None, excess: None };

/// Replays the requests. Stores their outcomes in the order of the log, if the caller asks for
/// them.
pub(super) fn replay(
    rule: &LimitReq,
    requests: &Requests,
    summary: &mut Summary<'_>,
    outcomes: Option<&mut Vec<Outcome>>,
) {
    let mut zones: Vec<ZoneState> =
        rule.zones().iter().map(|zone| ZoneState::new(zone.rate)).collect();
    let order = requests.replay_order(rule);
    let (start_ms, _) = requests.range_ms();
    let mut decided = outcomes.as_ref().map(|_| vec![UNDECIDED; requests.list.len()]);
    let mut excesses = Excesses::new();
    let spread_ms = requests.spread_ms();
    requests.each(rule, &order, |position, request, keys| {
        let limits = &rule.limit_sets()[request.set as usize].limits;
        let arrival = Arrival::within(request.arrival_ms() - start_ms, spread_ms);
        let outcome = decide(&mut zones, limits, keys, arrival, &mut excesses);
        summary.count(limits, keys, outcome.verdict);
        for (limit, key) in limits.iter().zip(keys).filter(|(_, key)| **key != NO_KEY) {
            let excess = zones[limit.zone].unlimited_excess(*key, arrival);
            summary.peak(limit, *key, Peak::new(excess, position as u32));
        }
        if outcome.verdict == Verdict::Rejected {
            let limit = outcome.limit as usize;
            summary.trip(&limits[limit], keys[limit], position as u32);
        }
        if let Some(decided) = &mut decided {
            decided[position] = outcome;
        }
    });
    if let (Some(outcomes), Some(mut decided)) = (outcomes, decided) {
        let verdicts: Vec<Verdict> = decided.iter().map(|outcome| outcome.verdict).collect();
        for sequence in sequences(rule, requests, &order) {
            agree(requests, &sequence, &verdicts, &mut decided);
        }
        *outcomes = decided;
    }
}

impl ZoneState {
    fn new(rate: Rate) -> Self {
        Self { rate, levels: Vec::new(), unlimited: Vec::new() }
    }

    /// The excess that a request would make; `None` for the first request of a key.
    fn excess(&mut self, key: u32, arrival: Arrival) -> Option<Excess> {
        let index = key as usize;
        self.levels.resize(self.levels.len().max(index + 1), None);
        self.levels[index].map(|level| level.excess_at(arrival, self.rate))
    }

    /// The excess of a request if none had been rejected; the replayed one takes the stamps as
    /// times.
    fn unlimited_excess(&mut self, key: u32, arrival: Arrival) -> BoundedExcess {
        let index = key as usize;
        self.unlimited.resize(self.unlimited.len().max(index + 1), None);
        UnlimitedLevel::count(&mut self.unlimited[index], arrival, self.rate)
    }
}

/// Decides about the request at a position, and updates the levels.
fn decide(
    zones: &mut [ZoneState],
    limits: &[Limit],
    keys: &[u32],
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
        // A new key has no level if another limit rejected the request.
        zone.levels[key as usize] = match (has_passed, is_first) {
            (true, _) => Some(passed),
            (false, true) => Some(Level::new_or_nothing(passed)),
            (false, false) => {
                // Another limit may have rejected it.
                let over = i128::from(limit.burst - REQUEST) * i128::from(THOUSANDTH);
                let over = over + rate_times::<i128>(zone.rate, arrival.earliest_ms);
                let rejected = (limits.len() == 1).then_some(over);
                Level::either(before, passed, rejected)
            }
        };
    }
    let verdict = match (has_passed, is_delayed, may_be_delayed) {
        (true, true, _) => Verdict::Delayed,
        (true, _, false) => Verdict::Passed,
        _ => Verdict::Undecided,
    };
    Outcome { verdict, limit: first.unwrap_or(0), delay_ms: None, excess: None }
}

/// Makes the verdicts of requests undecided whose possible positions disagree. The requests of a
/// key are in the order of their arrival; `verdicts` are those of their positions.
pub(super) fn agree(
    requests: &Requests,
    sequence: &[u32],
    verdicts: &[Verdict],
    decided: &mut [Outcome],
) {
    let request = |at: usize| &requests.list[sequence[at] as usize];
    let spread_ms = requests.spread_ms();
    // For each position, the end of the run with the same verdict.
    let mut run_ends = vec![sequence.len(); sequence.len()];
    let verdict = |at: usize| verdicts[sequence[at] as usize];
    for at in (0..sequence.len().saturating_sub(1)).rev() {
        let is_same = verdict(at) == verdict(at + 1);
        run_ends[at] = if is_same { run_ends[at + 1] } else { at + 1 };
    }
    let (mut first, mut end) = (0, 0);
    for at in 0..sequence.len() {
        let arrival_ms = request(at).arrival_ms();
        while request(first).arrival_ms() + spread_ms < arrival_ms {
            first += 1;
        }
        while end < sequence.len() && request(end).arrival_ms() <= arrival_ms + spread_ms {
            end += 1;
        }
        if run_ends[first] < end {
            decided[sequence[at] as usize].verdict = Verdict::Undecided;
        }
    }
}

/// The requests of each key of each zone, in the order of their arrival.
fn sequences(rule: &LimitReq, requests: &Requests, order: &[u32]) -> Vec<Vec<u32>> {
    let mut zones: Vec<Vec<Vec<u32>>> = rule.zones().iter().map(|_| Vec::new()).collect();
    for position in order {
        let request: &Request = &requests.list[*position as usize];
        let limits = &rule.limit_sets()[request.set as usize].limits;
        let keys = requests.keys_of(request, limits.len());
        for (limit, key) in limits.iter().zip(keys).filter(|(_, key)| **key != NO_KEY) {
            let lists = &mut zones[limit.zone];
            lists.resize_with(lists.len().max(*key as usize + 1), Vec::new);
            lists[*key as usize].push(*position);
        }
    }
    zones.into_iter().flatten().collect()
}
