//! The count of two periods over times to the second, in milliseconds.
//!
//! The state is when the period began, and the counts of it and of the one before it, each with the
//! least and most that it can be. A request may be in the same period, begin the next one, or begin
//! one after a pause; the state after it covers all of these that are possible.

use super::limit::Limit;
use super::replay::{Outcome, Peak, Request, SECOND_SPREAD_NS};

/// The least and most that a number can be.
type Range<T> = (T, T);

#[derive(Debug, Clone, Copy)]
struct State {
    tick: Range<i64>,
    current: Range<u64>,
    previous: Range<u64>,
}

impl State {
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
pub(super) fn evaluate(limit: &Limit, requests: &[Request], outcomes: &mut Vec<Outcome>) -> Peak {
    let period = (limit.window_ns / 1_000_000) as i64;
    let distant = i64::MIN / 4;
    let mut state = State { tick: (distant, distant), current: (0, 0), previous: (0, 0) };
    let mut peak = Peak::default();
    for (at, request) in requests.iter().enumerate() {
        let latest_ns = request.arrival_ns.saturating_add(SECOND_SPREAD_NS);
        let millisecond = |time_ns: i64| time_ns.div_euclid(1_000_000);
        let now = (millisecond(request.arrival_ns), millisecond(latest_ns));
        let possible: Vec<State> = after(state, now, period).into_iter().flatten().collect();
        let rates = possible.iter().map(|state| state.rate(now, period));
        let rate = rates.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
        let (lowest, highest) = rate.unwrap_or((0, u64::MAX));
        let joined = possible.into_iter().reduce(State::join);
        state = joined.unwrap_or(state);
        let middle = lowest.midpoint(highest);
        peak.take_range(at, middle as f64, (lowest as f64, highest as f64));
        outcomes.push(Outcome::bounded(lowest > limit.count, highest <= limit.count));
    }
    peak
}

/// The states that are possible after a request: of the same period, of the next, and of one after
/// a pause.
fn after(state: State, now: Range<i64>, period: i64) -> [Option<State>; 3] {
    let age = (now.0.saturating_sub(state.tick.1), now.1.saturating_sub(state.tick.0));
    let one_more = (state.current.0 + 1, state.current.1 + 1);
    let same = State {
        tick: (state.tick.0.max(now.0.saturating_sub(period - 1)), state.tick.1),
        current: one_more,
        ..state
    };
    let next = State {
        tick: (
            state.tick.0.saturating_add(period).max(now.0.saturating_sub(period - 1)),
            state.tick.1.saturating_add(period).min(now.1),
        ),
        current: (1, 1),
        previous: state.current,
    };
    let new = State { tick: now, current: (1, 1), previous: (0, 0) };
    [
        (age.0 < period).then_some(same),
        (age.0 < 2 * period && age.1 >= period).then_some(next),
        (age.1 >= 2 * period).then_some(new),
    ]
}
