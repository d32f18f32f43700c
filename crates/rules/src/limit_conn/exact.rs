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
use super::limit::ConnectionLimit;
use super::replay::Outcome;
use super::requests::{NO_KEY, Request, Requests};
use super::summary::{Peak, Summary};
use crate::report::Verdict;

/// The memory of a key, in bytes.
pub(super) const KEY_BYTES: usize = size_of::<KeyState>();

/// The memory of a request in a zone, in bytes: its ends in two heaps that have doubled their size,
/// and the state of its key in its millisecond.
pub(super) const REQUEST_BYTES: usize = 4 * size_of::<i64>() + size_of::<Arrivals>();

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
struct Arrivals {
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
    last: Option<Request>,
}

/// Replays the requests. Stores their outcomes in the order of the log, if the caller asks for
/// them.
pub(super) fn replay(
    rule: &LimitConn,
    requests: &Requests,
    summary: &mut Summary<'_>,
    mut outcomes: Option<&mut Vec<Outcome>>,
) {
    if let Some(outcomes) = &mut outcomes {
        outcomes.resize(requests.list.len(), Outcome::UNDECIDED);
    }
    let order = requests.by_arrival();
    let mut state = State {
        rule,
        requests,
        zones: rule.zones().iter().map(|_| Vec::new()).collect(),
        groups: 0,
        arrivals: Vec::new(),
        limits_are_alone: rule.limits_are_alone(),
    };
    let mut decided = Vec::new();
    let begin_ms = |position: &u32| requests.list[*position as usize].begin_ms;
    for positions in order.chunk_by(|one, other| begin_ms(one) == begin_ms(other)) {
        state.find(positions);
        decided.clear();
        decided.extend(positions.iter().map(|position| state.rejection(*position)));
        for (position, decided) in positions.iter().zip(&mut decided) {
            let outcome = decided.get_or_insert_with(|| state.undecided_outcome(*position));
            state.count(*position, *outcome, summary);
            if let Some(outcomes) = &mut outcomes {
                outcomes[*position as usize] = *outcome;
            }
        }
        state.end_group(summary);
    }
}

struct State<'r> {
    rule: &'r LimitConn,
    requests: &'r Requests,
    /// The states by zone and key.
    zones: Vec<Vec<KeyState>>,
    /// The number of milliseconds processed.
    groups: u64,
    /// The arrivals of each key in the present millisecond.
    arrivals: Vec<Arrivals>,
    limits_are_alone: bool,
}

impl<'r> State<'r> {
    fn request(&self, position: u32) -> (&'r Request, &'r [ConnectionLimit], &'r [u32]) {
        let request = &self.requests.list[position as usize];
        let limits = &self.rule.limit_sets()[request.set as usize].limits;
        (request, limits, self.requests.keys_of(request, limits.len()))
    }

    /// The positions of the limits that apply to a request, with the arrivals of their keys.
    fn applying(
        &self,
        position: u32,
    ) -> impl Iterator<Item = (u32, &'r ConnectionLimit, &Arrivals)> {
        let (_, limits, keys) = self.request(position);
        limits.iter().zip(keys).zip(0..).filter(|((_, key), _)| **key != NO_KEY).map(
            |((limit, key), number)| {
                let place = self.zones[limit.zone][*key as usize].place;
                (number, limit, &self.arrivals[place])
            },
        )
    }

    /// Prepares the arrivals of a millisecond.
    fn find(&mut self, positions: &[u32]) {
        self.groups += 1;
        self.arrivals.clear();
        for position in positions {
            let (request, limits, keys) = self.request(*position);
            for (limit, key) in limits.iter().zip(keys).filter(|(_, key)| **key != NO_KEY) {
                let zone = &mut self.zones[limit.zone];
                zone.resize_with(zone.len().max(*key as usize + 1), KeyState::default);
                let state = &mut zone[*key as usize];
                if state.group != self.groups {
                    (state.group, state.place) = (self.groups, self.arrivals.len());
                    self.arrivals.push(state.arrivals(limit.zone, *key, request.begin_ms));
                }
                let arrivals = &mut self.arrivals[state.place];
                arrivals.count += 1;
                arrivals.lasting += u64::from(request.end_ms > request.begin_ms);
            }
        }
    }

    /// The outcome of a request that is surely rejected. It is not counted in any zone.
    fn rejection(&mut self, position: u32) -> Option<Outcome> {
        let mut earlier_pass = true;
        let mut rejecting = None;
        for (number, limit, arrivals) in self.applying(position) {
            if arrivals.found.0 >= limit.connections {
                let (least, most) = (arrivals.found.0 + 1, arrivals.found.1 + arrivals.count);
                rejecting = Some(Outcome {
                    verdict: Verdict::Rejected,
                    limit: number,
                    limit_is_sure: earlier_pass,
                    connections: (least == most).then_some(least),
                });
                break;
            }
            earlier_pass &= arrivals.found.1 + arrivals.count <= limit.connections;
        }
        rejecting?;
        let (_, limits, keys) = self.request(position);
        for (limit, key) in limits.iter().zip(keys).filter(|(_, key)| **key != NO_KEY) {
            let place = self.zones[limit.zone][*key as usize].place;
            self.arrivals[place].rejected += 1;
        }
        rejecting
    }

    /// The outcome of a request that is not surely rejected.
    fn undecided_outcome(&self, position: u32) -> Outcome {
        let mut first = None;
        for (number, limit, arrivals) in self.applying(position) {
            let least = arrivals.found.0 + 1;
            let most = arrivals.found.1 + arrivals.count - arrivals.rejected;
            if most > limit.connections {
                return Outcome { limit: number, ..Outcome::UNDECIDED };
            }
            first.get_or_insert(Outcome {
                verdict: Verdict::Passed,
                limit: number,
                limit_is_sure: true,
                connections: (least == most).then_some(least),
            });
        }
        first.unwrap_or(Outcome::UNDECIDED)
    }

    /// Counts a request with its outcome.
    fn count(&mut self, position: u32, outcome: Outcome, summary: &mut Summary<'_>) {
        let (request, limits, keys) = self.request(position);
        summary.count(limits, keys, outcome, request);
        let is_lasting = request.end_ms > request.begin_ms;
        for (limit, key) in limits.iter().zip(keys).filter(|(_, key)| **key != NO_KEY) {
            let state = &mut self.zones[limit.zone][*key as usize];
            let arrivals = &mut self.arrivals[state.place];
            arrivals.count_limit(limit, outcome.verdict, is_lasting);
            arrivals.last = Some(*request);
            if is_lasting {
                state.all.push(Reverse(request.end_ms));
                match outcome.verdict {
                    Verdict::Passed => state.passed.push(Reverse(request.end_ms)),
                    Verdict::Undecided => state.undecided.push(Reverse(request.end_ms)),
                    _ => {}
                }
            }
            summary.peak(limit, *key, arrivals.peak(request));
        }
    }

    /// Ends a millisecond: bounds how many of its undecided requests passed.
    fn end_group(&mut self, summary: &mut Summary<'_>) {
        for arrivals in &self.arrivals {
            let state = &mut self.zones[arrivals.zone][arrivals.key as usize];
            state.undecided_passed = arrivals.undecided_passed_after(self.limits_are_alone);
            if self.limits_are_alone
                && let Some(last) = &arrivals.last
            {
                let rejected = arrivals.rejected_at_least();
                summary.reject_undecided(arrivals.zone, arrivals.key, rejected, last);
            }
        }
    }
}

impl KeyState {
    /// The requests that an arrival finds now. Removes all that end before the end of the
    /// millisecond.
    fn arrivals(&mut self, zone: usize, key: u32, now_ms: i64) -> Arrivals {
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
        Arrivals {
            zone,
            key,
            found: (staying + least, staying + ending_passed + most_before),
            found_of_all: (self.all.len() as u64, ending_of_all),
            staying,
            undecided_passed: (least, most_before.min(self.undecided.len() as u64)),
            ending: ending_passed + ending_undecided,
            lowest_undecided_limit: u64::MAX,
            ..Arrivals::default()
        }
    }
}

impl Arrivals {
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
    fn peak(&self, request: &Request) -> Peak {
        let (staying, ending) = self.found_of_all;
        let lowest = staying + self.lasting.max(1);
        Peak::new(lowest, lowest, staying + ending + self.count, request)
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
