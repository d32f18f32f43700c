//! The replay over times to the millisecond.
//!
//! Requests that arrive and end in the same millisecond may have done so in any order, so all
//! arrivals of a millisecond are decided together. A verdict holds for every order.
//!
//! The number of counted requests among those with an undecided verdict is bounded: one that was
//! rejected found as many as its limit, and one that passed did not exceed it. So a doubt does not
//! spread to all later requests.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::LimitConn;
use super::doubt::end_ms;
use super::limit::ConnectionLimit;
use super::replay::ConnectionOutcome;
use crate::arrivals::{Arrivals, NO_KEY, ZoneLimit, applying};
use crate::engine::Outcome;
use crate::keys::{Peak, ZoneSummary};
use crate::report::Verdict;

/// The memory of a key, in bytes.
pub(super) const KEY_BYTES: usize = size_of::<KeyState>();

/// The memory of a request in a zone, in bytes: its ends in two heaps that have doubled their size,
/// and the state of its key in its millisecond.
pub(super) const REQUEST_BYTES: usize = 4 * size_of::<i64>() + size_of::<KeyGroup>();

/// The ends of requests, the earliest first.
type Ends = BinaryHeap<Reverse<i64>>;

/// The requests of a key that have arrived and not ended.
#[derive(Debug, Default)]
struct KeyState {
    /// The ends of the requests that surely passed.
    passed: Ends,
    /// The ends of the requests that may have passed.
    undecided: Ends,
    /// The least and the most of the undecided requests that passed.
    undecided_passed: (u64, u64),
    /// The ends of all requests, including rejected ones.
    all: Ends,
    /// The number of the last millisecond with an arrival of the key, from 1.
    group: u64,
    /// The index of its arrivals in that millisecond.
    place: usize,
}

/// The requests of a key that arrive in the same millisecond.
#[derive(Debug, Default)]
struct KeyGroup {
    zone: usize,
    key: u32,
    /// The least and the most requests that an arrival finds, without those of this millisecond.
    found: (u64, u64),
    /// Of all requests, rejected ones included: those that an arrival surely finds, and those that
    /// end in this millisecond.
    found_of_all: (u64, u64),
    /// Requests that surely passed and do not end in this millisecond.
    staying: u64,
    /// The least and the most passed requests among the undecided ones that do not end in this
    /// millisecond.
    undecided_passed: (u64, u64),
    count: u64,
    /// New arrivals that do not end in this millisecond.
    lasting: u64,
    rejected: u64,
    /// The lowest and the highest limit of the arrivals that are not surely rejected.
    limits: Option<(u64, u64)>,
    /// Requests that end in this millisecond and may have been counted.
    ending: u64,
    /// Of the arrivals that do not end in this millisecond: those that passed, and those that are
    /// undecided.
    new_passed: u64,
    new_undecided: u64,
    /// The lowest limit of the undecided arrivals that do not end in this millisecond.
    lowest_undecided_limit: u64,
    /// The position of the last request that was counted.
    last: Option<u32>,
}

/// Replays the requests. Stores their outcomes in the order of the log, unless `outcomes` is empty.
pub(super) fn replay(
    rule: &LimitConn,
    arrivals: &Arrivals,
    summary: &mut ZoneSummary,
    outcomes: &mut [Outcome],
) {
    let mut milliseconds = Milliseconds {
        rule,
        arrivals,
        zones: rule.zones().iter().map(|_| Vec::new()).collect(),
        groups: 0,
        arriving: Vec::new(),
        limits_are_alone: rule.limits_are_alone(),
    };
    let mut decided = Vec::new();
    let time_ns = |position: &u32| arrivals.list[*position as usize].time_ns;
    for positions in arrivals.by_arrival().chunk_by(|one, other| time_ns(one) == time_ns(other)) {
        milliseconds.begin(positions);
        decided.clear();
        decided.extend(positions.iter().map(|position| milliseconds.rejection(*position)));
        for (position, decided) in positions.iter().zip(&mut decided) {
            let outcome = *decided.get_or_insert_with(|| milliseconds.others_outcome(*position));
            milliseconds.count(*position, outcome, summary);
            if let Some(kept) = outcomes.get_mut(*position as usize) {
                *kept = outcome.into();
            }
        }
        milliseconds.end(summary);
    }
}

/// The replay of one millisecond after another.
struct Milliseconds<'r> {
    rule: &'r LimitConn,
    arrivals: &'r Arrivals,
    /// The states by zone and key.
    zones: Vec<Vec<KeyState>>,
    /// The number of milliseconds processed.
    groups: u64,
    /// The keys with an arrival in the present millisecond.
    arriving: Vec<KeyGroup>,
    limits_are_alone: bool,
}

impl<'r> Milliseconds<'r> {
    /// The limits of the request at a position, and its keys.
    fn limits(&self, position: u32) -> (&'r [ConnectionLimit], &'r [u32]) {
        let arrival = &self.arrivals.list[position as usize];
        let limits = self.rule.limits(arrival.set);
        (limits, self.arrivals.keys_of(arrival, limits.len()))
    }

    /// Whether the request at a position ends in a later millisecond.
    fn is_lasting(&self, position: u32) -> bool {
        end_ms(self.arrivals, position) > self.arrivals.list[position as usize].time_ms()
    }

    /// The positions of the limits that apply to a request, with the arrivals of their keys.
    fn applying(
        &self,
        position: u32,
    ) -> impl Iterator<Item = (u32, &'r ConnectionLimit, &KeyGroup)> {
        let (limits, keys) = self.limits(position);
        limits.iter().zip(keys).zip(0..).filter(|((_, key), _)| **key != NO_KEY).map(
            |((limit, key), number)| {
                let place = self.zones[limit.zone][*key as usize].place;
                (number, limit, &self.arriving[place])
            },
        )
    }

    /// Begins a millisecond: finds what its requests find.
    fn begin(&mut self, positions: &[u32]) {
        self.groups += 1;
        self.arriving.clear();
        for position in positions {
            let (limits, keys) = self.limits(*position);
            let now_ms = self.arrivals.list[*position as usize].time_ms();
            let is_lasting = self.is_lasting(*position);
            for (limit, key) in applying(limits, keys) {
                let zone = &mut self.zones[limit.zone];
                zone.resize_with(zone.len().max(key as usize + 1), KeyState::default);
                let state = &mut zone[key as usize];
                if state.group != self.groups {
                    (state.group, state.place) = (self.groups, self.arriving.len());
                    self.arriving.push(state.begin(limit.zone, key, now_ms));
                }
                let group = &mut self.arriving[state.place];
                group.count += 1;
                group.lasting += u64::from(is_lasting);
            }
        }
    }

    /// The outcome of a request that is surely rejected. It is not counted in any zone.
    fn rejection(&mut self, position: u32) -> Option<ConnectionOutcome> {
        let mut earlier_pass = true;
        let mut rejecting = None;
        for (number, limit, group) in self.applying(position) {
            if group.found.0 >= limit.connections {
                let (least, most) = (group.found.0 + 1, group.found.1 + group.count);
                rejecting = Some(ConnectionOutcome {
                    verdict: Verdict::Rejected,
                    limit: number,
                    limit_is_sure: earlier_pass,
                    connections: (least == most).then_some(least),
                });
                break;
            }
            earlier_pass &= group.found.1 + group.count <= limit.connections;
        }
        rejecting?;
        let (limits, keys) = self.limits(position);
        for (limit, key) in applying(limits, keys) {
            let place = self.zones[limit.zone][key as usize].place;
            self.arriving[place].rejected += 1;
        }
        rejecting
    }

    /// The outcome of a request that is not surely rejected.
    fn others_outcome(&self, position: u32) -> ConnectionOutcome {
        let mut first = None;
        for (number, limit, group) in self.applying(position) {
            let least = group.found.0 + 1;
            let most = group.found.1 + group.count - group.rejected;
            if most > limit.connections {
                return ConnectionOutcome { limit: number, ..ConnectionOutcome::UNDECIDED };
            }
            first.get_or_insert(ConnectionOutcome {
                verdict: Verdict::Passed,
                limit: number,
                limit_is_sure: true,
                connections: (least == most).then_some(least),
            });
        }
        first.unwrap_or(ConnectionOutcome::UNDECIDED)
    }

    /// Counts the request at a position with its outcome.
    fn count(&mut self, position: u32, outcome: ConnectionOutcome, summary: &mut ZoneSummary) {
        let (limits, keys) = self.limits(position);
        outcome.count(summary, limits, keys, position);
        let (is_lasting, end_ms) = (self.is_lasting(position), end_ms(self.arrivals, position));
        for (limit, key) in applying(limits, keys) {
            let state = &mut self.zones[limit.zone][key as usize];
            let group = &mut self.arriving[state.place];
            group.count_limit(limit, outcome.verdict, is_lasting);
            group.last = Some(position);
            if is_lasting {
                state.all.push(Reverse(end_ms));
                match outcome.verdict {
                    Verdict::Passed => state.passed.push(Reverse(end_ms)),
                    Verdict::Undecided => state.undecided.push(Reverse(end_ms)),
                    _ => {}
                }
            }
            let peak = group.peak(position);
            summary.key(limit.zone(), key).peak(limit.connections as i64, peak);
        }
    }

    /// Ends a millisecond: bounds how many of its undecided requests passed.
    fn end(&mut self, summary: &mut ZoneSummary) {
        for group in &self.arriving {
            let state = &mut self.zones[group.zone][group.key as usize];
            state.undecided_passed = group.undecided_passed_after(self.limits_are_alone);
            let rejected = if self.limits_are_alone { group.rejected_at_least() } else { 0 };
            if let Some(last) = group.last.filter(|_| rejected > 0) {
                summary.reject_undecided(group.zone, group.key, rejected);
                summary.key(group.zone, group.key).trip(last);
            }
        }
    }
}

impl KeyState {
    /// The requests that an arrival finds now. Removes all that end before the end of the
    /// millisecond.
    fn begin(&mut self, zone: usize, key: u32, now_ms: i64) -> KeyGroup {
        take_before(&mut self.passed, now_ms);
        take_before(&mut self.all, now_ms);
        let ended = take_before(&mut self.undecided, now_ms);
        let (least, most) = self.undecided_passed;
        let least = least.saturating_sub(ended);
        let most_before = most.min(self.undecided.len() as u64);
        let next_ms = now_ms.saturating_add(1);
        let ending_passed = take_before(&mut self.passed, next_ms);
        let ending_undecided = take_before(&mut self.undecided, next_ms);
        let ending_of_all = take_before(&mut self.all, next_ms);
        let least = least.saturating_sub(ending_undecided);
        let staying = self.passed.len() as u64;
        KeyGroup {
            zone,
            key,
            found: (staying + least, staying + ending_passed + most_before),
            found_of_all: (self.all.len() as u64, ending_of_all),
            staying,
            undecided_passed: (least, most_before.min(self.undecided.len() as u64)),
            ending: ending_passed + ending_undecided,
            lowest_undecided_limit: u64::MAX,
            ..KeyGroup::default()
        }
    }
}

impl KeyGroup {
    fn count_limit(&mut self, limit: &ConnectionLimit, verdict: Verdict, is_lasting: bool) {
        if verdict == Verdict::Rejected {
            return;
        }
        let (lowest, highest) = self.limits.unwrap_or((u64::MAX, 0));
        self.limits = Some((lowest.min(limit.connections), highest.max(limit.connections)));
        match (is_lasting, verdict) {
            (false, _) => self.ending += 1,
            (true, Verdict::Passed) => self.new_passed += 1,
            (true, _) => {
                self.new_undecided += 1;
                self.lowest_undecided_limit = self.lowest_undecided_limit.min(limit.connections);
            }
        }
    }

    /// The connections of the key, including this request, if none had been rejected. Of the
    /// requests that arrive together and do not end in this millisecond, the last finds all others.
    fn peak(&self, position: u32) -> Peak {
        let (staying, ending) = self.found_of_all;
        let lowest = (staying + self.lasting.max(1)) as i64;
        let highest = (staying + ending + self.count) as i64;
        Peak { count: lowest, lowest, highest, position }
    }

    /// The least and the most of the undecided requests that passed, after this millisecond.
    fn undecided_passed_after(&self, limits_are_alone: bool) -> (u64, u64) {
        let (least, most) = self.undecided_passed;
        let Some((_, highest_limit)) = self.limits.filter(|_| self.new_undecided > 0) else {
            return (least, most);
        };
        let passed = self.staying + self.new_passed;
        // Either all passed, or one found as many as its limit, of which some have ended since. If
        // it has another limit, that one may have rejected it.
        let after_rejection = self.lowest_undecided_limit.saturating_sub(self.ending + passed);
        let new_least = if limits_are_alone {
            (least + self.new_undecided).min(after_rejection).max(least)
        } else {
            least
        };
        // The last one that passed did not exceed its limit.
        let after_pass = highest_limit.saturating_sub(passed).max(most);
        (new_least, (most + self.new_undecided).min(after_pass).max(new_least))
    }

    /// The least number of the undecided requests that were rejected: those that pass and do not
    /// end in this millisecond are counted together.
    fn rejected_at_least(&self) -> u64 {
        let Some((_, highest_limit)) = self.limits else { return 0 };
        let places = highest_limit.saturating_sub(self.staying + self.undecided_passed.0);
        (self.new_passed + self.new_undecided).saturating_sub(places).min(self.new_undecided)
    }
}

/// Removes the ends before a time, and returns their number.
fn take_before(ends: &mut Ends, time_ms: i64) -> u64 {
    let mut taken = 0;
    while ends.peek().is_some_and(|Reverse(end_ms)| *end_ms < time_ms) {
        ends.pop();
        taken += 1;
    }
    taken
}
