//! The count of two periods over times to the second, in milliseconds.
//!
//! The state is when the period began, and the counts of it and of the one before it, each with the
//! least and most that it can be. A request may be in the same period, begin the next one, or begin
//! one after a pause; the state after it covers all of these that are possible. A period begins at
//! an even millisecond of HAProxy's clock, so up to one before the request or the end of the last
//! period. If the state is not known well, bounds that hold for every beginning of the period are
//! closer ([`AnyPeriod`]).

use super::limit::Limit;
use super::summary::Peak;
use crate::arrivals::SECOND_SPREAD_NS;
use crate::engine::Outcome;

/// The least and most that a number can be.
type Range<T> = (T, T);

/// The beginnings of the period are looked at in this many parts.
const PARTS: usize = 8;

/// What may be known when a request arrives.
#[derive(Debug, Clone, Copy)]
struct PeriodState {
    /// When the period began, in milliseconds.
    tick: Range<i64>,
    /// The requests of this period, and of the one before it.
    current: Range<u64>,
    previous: Range<u64>,
}

impl PeriodState {
    /// A state that covers both.
    fn join(self, other: Self) -> Self {
        fn cover<T: Ord>(one: Range<T>, other: Range<T>) -> Range<T> {
            (one.0.min(other.0), one.1.max(other.1))
        }
        Self {
            tick: cover(self.tick, other.tick),
            current: cover(self.current, other.current),
            previous: cover(self.previous, other.previous),
        }
    }

    /// The rate at a time.
    fn rate(&self, now: Range<i64>, period: i64) -> Range<u64> {
        let remain = |tick: i64, now: i64| (tick + period - now).clamp(0, period) as u64;
        let part = |count: u64, remain: u64| {
            (u128::from(count) * u128::from(remain) / period.max(1) as u128) as u64
        };
        (
            self.current.0 + part(self.previous.0, remain(self.tick.0, now.1)),
            self.current.1 + part(self.previous.1, remain(self.tick.1, now.0)),
        )
    }
}

/// Decides about requests by position, and returns the peak.
pub(super) fn evaluate(limit: &Limit, times_ns: &[i64], outcomes: &mut Vec<Outcome>) -> Peak {
    let period = (limit.window_ns / 1_000_000) as i64;
    let distant = i64::MIN / 4;
    let mut state = PeriodState { tick: (distant, distant), current: (0, 0), previous: (0, 0) };
    let mut any_period = AnyPeriod::default();
    let mut peak = Peak::default();
    for (at, earliest_ns) in times_ns.iter().copied().enumerate() {
        let latest_ns = earliest_ns.saturating_add(SECOND_SPREAD_NS);
        let millisecond = |time_ns: i64| time_ns.div_euclid(1_000_000);
        let now = (millisecond(earliest_ns), millisecond(latest_ns));
        let possible: Vec<PeriodState> = after(state, now, period).into_iter().flatten().collect();
        let rates = possible.iter().map(|state| state.rate(now, period));
        let rate = rates.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
        let (lowest, highest) = rate.unwrap_or((0, u64::MAX));
        let (least, most) = any_period.rate(times_ns, at, period);
        let (lowest, highest) = (lowest.max(least), highest.min(most));
        let joined = possible.into_iter().reduce(PeriodState::join);
        state = joined.unwrap_or(state);
        let middle = lowest.midpoint(highest);
        peak.take_range(at, middle as f64, lowest as f64, highest as f64);
        outcomes.push(Outcome::bounded(lowest > limit.count, highest <= limit.count));
    }
    peak
}

/// The states that are possible after a request: of the same period, of the next, and of one after
/// a pause.
fn after(state: PeriodState, now: Range<i64>, period: i64) -> [Option<PeriodState>; 3] {
    let age = (now.0.saturating_sub(state.tick.1), now.1.saturating_sub(state.tick.0));
    let one_more = (state.current.0 + 1, state.current.1 + 1);
    let same = PeriodState {
        tick: (state.tick.0.max(now.0.saturating_sub(period - 1)), state.tick.1),
        current: one_more,
        ..state
    };
    let next = PeriodState {
        tick: (
            state.tick.0.saturating_add(period - 1).max(now.0.saturating_sub(period - 1)),
            state.tick.1.saturating_add(period).min(now.1),
        ),
        current: (1, 1),
        previous: state.current,
    };
    let tick = (now.0.saturating_sub(1), now.1);
    let new = PeriodState { tick, current: (1, 1), previous: (0, 0) };
    [
        (age.0 < period).then_some(same),
        (age.0 < 2 * period && age.1 >= period).then_some(next),
        (age.1 >= 2 * period).then_some(new),
    ]
}

/// The bounds of the rate for a period that began at any time.
///
/// If it began `x` ago, the rate is the number of requests of the last `x`, and a part of those
/// before them: `1 - x / period` of at least those within the period, and at most those within
/// `x + period`. Both grow with the numbers, and the part falls with `x`, so the ends of an
/// interval of `x` bound the rate in it. No request of the last period is forgotten, because a new
/// beginning needs a pause of a period. That it is at an even millisecond may move one request over
/// its end, so what is surely within a time is within a millisecond less.
#[derive(Debug, Default)]
struct AnyPeriod {
    /// By the end of each part: the first position that is surely within it.
    surely: [usize; PARTS + 1],
    /// As `surely`, for those that may be within it, and within a period more.
    possibly: [[usize; PARTS + 1]; 2],
}

impl AnyPeriod {
    /// The bounds for the request at a position; positions are asked for in their order.
    fn rate(&mut self, times_ns: &[i64], at: usize, period: i64) -> Range<u64> {
        let millisecond = |time_ns: i64| time_ns.div_euclid(1_000_000);
        let earliest = |position: usize| millisecond(times_ns[position]);
        let latest =
            |position: usize| millisecond(times_ns[position].saturating_add(SECOND_SPREAD_NS));
        let part = |index: usize| period * index as i64 / PARTS as i64;
        let count = |first: usize| (at - first + 1) as u64;
        let mut least = [0; PARTS + 1];
        let mut most = [[0; PARTS + 1]; 2];
        for index in 0..=PARTS {
            // A beginning is less than a period ago.
            let age = part(index).min(period - 1);
            let surely = &mut self.surely[index];
            while *surely < at && latest(at).saturating_sub(earliest(*surely)) > age - 1 {
                *surely += 1;
            }
            least[index] = count(*surely);
            for (more, possibly) in self.possibly.iter_mut().enumerate() {
                let age = part(index) + period * more as i64;
                let possibly = &mut possibly[index];
                while *possibly < at && earliest(at).saturating_sub(latest(*possibly)) > age {
                    *possibly += 1;
                }
                most[more][index] = count(*possibly);
            }
        }
        let rate = |current: u64, all: u64, age: i64| {
            let others = u128::from(all.saturating_sub(current));
            let remain = (period - age).max(0) as u128;
            current + (others * remain / period.max(1) as u128) as u64
        };
        let lowest = (0..PARTS).map(|index| rate(least[index], least[PARTS], part(index + 1)));
        let highest =
            (1..=PARTS).map(|index| rate(most[0][index], most[1][index], part(index - 1)));
        (lowest.min().unwrap_or(0), highest.max().unwrap_or(u64::MAX))
    }
}
