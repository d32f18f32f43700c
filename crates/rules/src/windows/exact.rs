//! Decisions about the requests of one key whose times are known.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::limit::{Algorithm, Limit};
use super::replay::{Outcome, Peak, Request};
use crate::report::Verdict;

/// Decides about the requests of a key, which are in the order of their arrival. Puts an outcome
/// for each, and returns the peak.
pub(super) fn evaluate(limit: &Limit, requests: &[Request], outcomes: &mut Vec<Outcome>) -> Peak {
    let time = |at: usize| requests[at].arrival_ns;
    // A limit is at most a year.
    let window_ns = limit.window_ns as i64;
    let is_in_window = |from: usize, to: usize| time(to).saturating_sub(time(from)) <= window_ns;
    let all = requests.len();
    match limit.algorithm {
        Algorithm::SlidingRing => ring(limit, requests, outcomes),
        Algorithm::SlidingLog => count(limit, all, is_in_window, outcomes),
        Algorithm::FixedWindow => {
            let window = |at: usize| time(at).div_euclid(window_ns);
            count(limit, all, |from, to| window(from) == window(to), outcomes)
        }
        Algorithm::FirstWindow => first_window(limit, requests, outcomes),
        Algorithm::TwoPeriods => two_periods(limit, requests, outcomes),
        Algorithm::TokenBucket { .. } | Algorithm::LeakyBucket => bucket(limit, requests, outcomes),
        Algorithm::Concurrency => concurrency(limit, requests, outcomes),
        Algorithm::Unpublished { hold_ns, .. } => {
            let peak = count(limit, all, is_in_window, outcomes);
            make_unknown(requests, outcomes, hold_ns);
            // A counter of windows that are aligned in any way counts at least half of them.
            Peak { lowest: (peak.count / 2.0).ceil(), ..peak }
        }
    }
}

/// Makes the verdicts over the limit unknown, and those of the requests that a block may have lasted
/// for.
pub(super) fn make_unknown(requests: &[Request], outcomes: &mut [Outcome], hold_ns: u64) {
    let mut over_ns = None;
    for (request, outcome) in requests.iter().zip(outcomes) {
        let now_ns = request.arrival_ns;
        if outcome.verdict != Verdict::Passed {
            over_ns = Some(now_ns);
        }
        let is_held = |over: i64| now_ns.saturating_sub(over).unsigned_abs() <= hold_ns;
        if over_ns.is_some_and(is_held) {
            *outcome = Outcome { verdict: Verdict::Unknown, delay_ms: None, ..*outcome };
        }
    }
}

/// Calls `each` with a position and the number of positions up to it that are in its window.
/// `is_in_window` is true of positions from some on.
pub(super) fn for_each_count(
    positions: usize,
    is_in_window: impl Fn(usize, usize) -> bool,
    mut each: impl FnMut(usize, u64),
) {
    let mut first = 0;
    for at in 0..positions {
        while first < at && !is_in_window(first, at) {
            first += 1;
        }
        each(at, (at - first + 1) as u64);
    }
}

/// Rejected requests count as the others do.
fn count(
    limit: &Limit,
    positions: usize,
    is_in_window: impl Fn(usize, usize) -> bool,
    outcomes: &mut Vec<Outcome>,
) -> Peak {
    let mut peak = Peak::default();
    for_each_count(positions, is_in_window, |at, count| {
        peak.take(at, count as f64);
        outcomes.push(Outcome::of(count > limit.count, count as f64));
    });
    peak
}

/// `allowed` of caddy-ratelimit: a request passes if the `count` last ones that passed are not all
/// within the window.
fn ring(limit: &Limit, requests: &[Request], outcomes: &mut Vec<Outcome>) -> Peak {
    let window_ns = limit.window_ns as i64;
    let mut passed: VecDeque<i64> = VecDeque::new();
    let mut peak = Peak::default();
    let is_in_window = |from: usize, to: usize| {
        requests[to].arrival_ns.saturating_sub(requests[from].arrival_ns) <= window_ns
    };
    for_each_count(requests.len(), is_in_window, |at, count| peak.take(at, count as f64));
    for request in requests {
        let now_ns = request.arrival_ns;
        while passed.front().is_some_and(|first| now_ns.saturating_sub(*first) > window_ns) {
            passed.pop_front();
        }
        let is_rejected = passed.len() as u64 >= limit.count;
        outcomes.push(Outcome::of(is_rejected, (passed.len() + 1) as f64));
        if !is_rejected {
            passed.push_back(now_ns);
        }
    }
    peak
}

fn first_window(limit: &Limit, requests: &[Request], outcomes: &mut Vec<Outcome>) -> Peak {
    let (mut peak, mut start_ns, mut count) = (Peak::default(), None, 0);
    for (at, request) in requests.iter().enumerate() {
        let now_ns = request.arrival_ns;
        let is_over = |start: i64| now_ns.saturating_sub(start).unsigned_abs() >= limit.window_ns;
        if start_ns.is_none_or(is_over) {
            (start_ns, count) = (Some(now_ns), 0);
        }
        count += 1;
        peak.take(at, count as f64);
        outcomes.push(Outcome::of(count > limit.count, count as f64));
    }
    peak
}

/// The counter of HAProxy, with times in milliseconds.
#[derive(Debug, Clone, Copy)]
struct FrequencyCounter {
    tick: i64,
    current: u64,
    previous: u64,
    /// Whether periods begin at odd milliseconds since 1970.
    is_odd: bool,
}

impl FrequencyCounter {
    fn new(is_odd: bool) -> Self {
        Self { tick: i64::MIN / 4, current: 0, previous: 0, is_odd }
    }

    /// Counts a request and returns the rate with it: `update_freq_ctr_period` and
    /// `read_freq_ctr_period`.
    fn count(&mut self, now: i64, period: i64) -> u64 {
        match now - self.tick {
            age if age < period => self.current += 1,
            age if age < 2 * period => self.begin(self.tick + period, self.current),
            _ => self.begin(now, 0),
        }
        let remain = (self.tick + period - now).max(0) as u128;
        let part = u128::from(self.previous) * remain / period.max(1) as u128;
        self.current + part as u64
    }

    /// Begins a period with a request. `curr_tick & ~1` cuts its beginning to an even millisecond of
    /// HAProxy's clock.
    fn begin(&mut self, tick: i64, previous: u64) {
        self.tick = tick - (tick - i64::from(self.is_odd)).rem_euclid(2);
        (self.previous, self.current) = (previous, 1);
    }
}

/// The rate of HAProxy. Whether its clock is even when that of the log is, is not known, so a verdict
/// holds for both.
fn two_periods(limit: &Limit, requests: &[Request], outcomes: &mut Vec<Outcome>) -> Peak {
    let period = (limit.window_ns / 1_000_000) as i64;
    let mut counters = [false, true].map(FrequencyCounter::new);
    let (mut peak, mut peaks) = (Peak::default(), [0; 2]);
    for (at, request) in requests.iter().enumerate() {
        let now = request.arrival_ns.div_euclid(1_000_000);
        let rates = counters.each_mut().map(|counter| counter.count(now, period));
        peaks = [peaks[0].max(rates[0]), peaks[1].max(rates[1])];
        let highest = rates[0].max(rates[1]);
        peak.take(at, highest as f64);
        let is_over = rates.map(|rate| rate > limit.count);
        let mut outcome = Outcome::of(is_over[0], highest as f64);
        if is_over[0] != is_over[1] {
            outcome = Outcome::verdict(Verdict::Unknown);
        }
        outcomes.push(outcome);
    }
    Peak { lowest: peaks[0].min(peaks[1]) as f64, ..peak }
}

/// The parameters of a bucket. Times are in nanoseconds multiplied by the count of the limit, so
/// that the interval between two requests at the rate is the window.
#[derive(Debug, Clone, Copy)]
pub(super) struct BucketScale {
    pub(super) request: i128,
    count: i128,
    /// The level up to which a request does not wait.
    pub(super) free: i128,
    /// The level over which it is rejected.
    pub(super) highest: i128,
    pub(super) forget_s: Option<u64>,
}

impl BucketScale {
    pub(super) fn new(limit: &Limit) -> Self {
        let (request, count) = (i128::from(limit.window_ns), i128::from(limit.count));
        let size = (i128::from(limit.burst) - 1) * request;
        let (free, delay_ns, forget_s) = match limit.algorithm {
            Algorithm::TokenBucket { delay_ns, forget_s } => (size, delay_ns, forget_s),
            _ => (0, 0, None),
        };
        // A wait is cut to nanoseconds before it is compared.
        let wait = if delay_ns > 0 { (i128::from(delay_ns) + 1) * count - 1 } else { 0 };
        Self { request, count, free, highest: size + wait, forget_s }
    }

    pub(super) fn time(&self, time_ns: i64) -> i128 {
        i128::from(time_ns) * self.count
    }

    /// A level with one more request, in requests.
    pub(super) fn requests(&self, level: i128) -> f64 {
        (level + self.request) as f64 / self.request as f64
    }

    fn delay_ms(&self, level: i128) -> u64 {
        let delay_ns = (level - self.free).max(0) / self.count;
        u64::try_from(delay_ns / 1_000_000).unwrap_or(u64::MAX)
    }
}

/// Whether a bucket that was last used at a time is forgotten at another one, which a map with
/// times to the second decides.
pub(super) fn is_forgotten(last_ns: i64, now_ns: i64, forget_s: Option<u64>) -> bool {
    let second = |time_ns: i64| time_ns.div_euclid(1_000_000_000);
    let elapsed_s = second(now_ns).saturating_sub(second(last_ns));
    forget_s.is_some_and(|forget_s| u64::try_from(elapsed_s).is_ok_and(|it| it >= forget_s))
}

fn bucket(limit: &Limit, requests: &[Request], outcomes: &mut Vec<Outcome>) -> Peak {
    let scale = BucketScale::new(limit);
    // The times at which the bucket is full of tokens again: as replayed, and without a limit.
    let (mut full, mut full_unlimited) = (i128::MIN / 4, i128::MIN / 4);
    let (mut peak, mut last_ns) = (Peak::default(), None);
    for (at, request) in requests.iter().enumerate() {
        let now = scale.time(request.arrival_ns);
        let forgets = |last_ns| is_forgotten(last_ns, request.arrival_ns, scale.forget_s);
        if last_ns.is_some_and(forgets) {
            (full, full_unlimited) = (now, now);
        }
        last_ns = Some(request.arrival_ns);
        peak.take(at, scale.requests((full_unlimited - now).max(0)));
        full_unlimited = full_unlimited.max(now) + scale.request;
        let level = (full - now).max(0);
        let mut outcome = Outcome::of(level > scale.highest, scale.requests(level));
        if level <= scale.highest {
            full = full.max(now) + scale.request;
            if level > scale.free {
                outcome.verdict = Verdict::Delayed;
                outcome.delay_ms = Some(scale.delay_ms(level));
            }
        }
        outcomes.push(outcome);
    }
    peak
}

fn concurrency(limit: &Limit, requests: &[Request], outcomes: &mut Vec<Outcome>) -> Peak {
    let mut served: BinaryHeap<Reverse<i64>> = BinaryHeap::new();
    let mut all: BinaryHeap<Reverse<i64>> = BinaryHeap::new();
    let mut peak = Peak::default();
    for (at, request) in requests.iter().enumerate() {
        for heap in [&mut served, &mut all] {
            while heap.peek().is_some_and(|Reverse(end_ns)| *end_ns <= request.arrival_ns) {
                heap.pop();
            }
        }
        let end_ns = request.arrival_ns.saturating_add(request.duration_ns);
        all.push(Reverse(end_ns));
        peak.take(at, all.len() as f64);
        let is_rejected = served.len() as u64 >= limit.count;
        outcomes.push(Outcome::of(is_rejected, (served.len() + 1) as f64));
        if !is_rejected {
            served.push(Reverse(end_ns));
        }
    }
    peak
}
