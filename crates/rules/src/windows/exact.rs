//! Decisions about the requests of one key whose times are known.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::counter::{
    Bucket, BucketScale, Counter, FirstWindow, FixedWindow, RecentHits, SincePause, SlidingLog,
    SlidingRing,
};
use super::frequency::FrequencyCounter;
use super::limit::{Algorithm, Limit};
use super::replay::KeyRequests;
use super::summary::Peak;
use super::whole_tokens::{self, WholeTokens};
use crate::engine::{Outcome, for_each_disagreement};
use crate::report::Verdict;

/// Decides about the requests of a key, which are in the order of their arrival. Puts an outcome
/// for each, and returns the peak.
pub(super) fn evaluate(
    limit: &Limit,
    requests: KeyRequests<'_>,
    outcomes: &mut Vec<Outcome>,
) -> Peak {
    let times_ns = requests.times_ns;
    match limit.algorithm {
        Algorithm::SlidingRing => {
            decide::<SlidingRing>(limit, times_ns, outcomes);
            let mut peak = Peak::default();
            for_each_in_window(limit, times_ns, |at, count| peak.take(at, count as f64));
            peak
        }
        Algorithm::SlidingLog => sliding_log::<SlidingLog>(limit, times_ns, outcomes),
        Algorithm::RecentHits => sliding_log::<RecentHits>(limit, times_ns, outcomes),
        Algorithm::FixedWindow => decide_by_count::<FixedWindow>(limit, times_ns, outcomes),
        Algorithm::FirstWindow => decide_by_count::<FirstWindow>(limit, times_ns, outcomes),
        Algorithm::SincePause => decide_by_count::<SincePause>(limit, times_ns, outcomes),
        Algorithm::TwoPeriods => two_periods(limit, times_ns, outcomes),
        Algorithm::WholeTokens { .. } => {
            decide::<WholeTokens>(limit, times_ns, outcomes);
            whole_tokens::peak(limit, times_ns, 0)
        }
        Algorithm::TokenBucket { .. } | Algorithm::LeakyBucket => bucket(limit, times_ns, outcomes),
        Algorithm::Concurrency => concurrency(limit, requests, outcomes),
        Algorithm::Unpublished { hold_ns, .. } => {
            let peak = sliding_log::<SlidingLog>(limit, times_ns, outcomes);
            make_undecided(times_ns, outcomes, hold_ns);
            // A counter of windows that are aligned in any way counts at least half of them.
            Peak { lowest: (peak.count / 2.0).ceil(), ..peak }
        }
    }
}

/// Makes the verdicts of counters of HAProxy undecided that differ among requests at one time: HAProxy may have met
/// them in another order than it logged them. Returns how many of them were rejected.
pub(super) fn undecide_order(limit: &Limit, times_ns: &[i64], outcomes: &mut [Outcome]) -> u64 {
    if !limit.algorithm.is_of_haproxy() {
        return 0;
    }
    let verdicts: Vec<Verdict> = outcomes.iter().map(|outcome| outcome.verdict).collect();
    let mut rejected = 0;
    for_each_disagreement(
        times_ns.len(),
        0,
        |at| times_ns[at],
        |at| verdicts[at],
        |at| {
            rejected += u64::from(verdicts[at] == Verdict::Rejected);
            outcomes[at] = Outcome::UNDECIDED;
        },
    );
    rejected
}

/// Makes the verdicts over the limit undecided, and those of the requests that a block may have
/// lasted for.
pub(super) fn make_undecided(times_ns: &[i64], outcomes: &mut [Outcome], hold_ns: u64) {
    let mut over_ns = None;
    for (now_ns, outcome) in times_ns.iter().copied().zip(outcomes) {
        if outcome.verdict != Verdict::Passed {
            over_ns = Some(now_ns);
        }
        let is_held = |over: i64| now_ns.saturating_sub(over).unsigned_abs() <= hold_ns;
        if over_ns.is_some_and(is_held) {
            *outcome = Outcome { verdict: Verdict::Undecided, delay_ms: None, ..*outcome };
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

/// A log in which rejected requests count. Until the first of them, all requests count once.
fn sliding_log<C: Counter>(limit: &Limit, times_ns: &[i64], outcomes: &mut Vec<Outcome>) -> Peak {
    decide::<C>(limit, times_ns, outcomes);
    let mut peak = Peak::default();
    for_each_in_window(limit, times_ns, |at, count| {
        peak.take(at, count as f64);
        // The counter keeps no more times than it needs to decide.
        outcomes[at].count = Some(count as f64);
    });
    peak
}

/// Calls `each` with a position and the number of requests up to it that are in the window.
fn for_each_in_window(limit: &Limit, times_ns: &[i64], each: impl FnMut(usize, u64)) {
    // A limit is at most a year.
    let window_ns = limit.window_ns as i64;
    let is_in_window =
        |from: usize, to: usize| times_ns[to].saturating_sub(times_ns[from]) <= window_ns;
    for_each_count(times_ns.len(), is_in_window, each);
}

/// Decides about the requests of a key with its counter.
fn decide<C: Counter>(limit: &Limit, times_ns: &[i64], outcomes: &mut Vec<Outcome>) {
    let (mut counter, settings) = (C::default(), C::settings(limit));
    outcomes.extend(times_ns.iter().map(|now_ns| counter.decide(settings, *now_ns)));
}

/// The same, for an algorithm whose counts do not depend on what was rejected.
fn decide_by_count<C: Counter>(
    limit: &Limit,
    times_ns: &[i64],
    outcomes: &mut Vec<Outcome>,
) -> Peak {
    decide::<C>(limit, times_ns, outcomes);
    let mut peak = Peak::default();
    for (at, outcome) in outcomes.iter().enumerate() {
        peak.take(at, outcome.count.unwrap_or(0.0));
    }
    peak
}

/// The rate of HAProxy. Whether its clock is even when that of the log is, is not known, so a
/// verdict holds for both.
fn two_periods(limit: &Limit, times_ns: &[i64], outcomes: &mut Vec<Outcome>) -> Peak {
    let period = FrequencyCounter::period_ms(limit);
    let mut counters = [false, true].map(FrequencyCounter::new);
    let (mut peak, mut peaks) = (Peak::default(), [0; 2]);
    for (at, now_ns) in times_ns.iter().enumerate() {
        let now = now_ns.div_euclid(1_000_000);
        let rates = counters.each_mut().map(|counter| counter.count(now, period));
        peaks = [peaks[0].max(rates[0]), peaks[1].max(rates[1])];
        let highest = rates[0].max(rates[1]);
        peak.take(at, highest as f64);
        let is_over = rates.map(|rate| rate > limit.count);
        let mut outcome = Outcome::of(is_over[0], highest as f64);
        if is_over[0] != is_over[1] {
            outcome = Outcome::verdict(Verdict::Undecided);
        }
        outcomes.push(outcome);
    }
    Peak { lowest: peaks[0].min(peaks[1]) as f64, ..peak }
}

fn bucket(limit: &Limit, times_ns: &[i64], outcomes: &mut Vec<Outcome>) -> Peak {
    decide::<Bucket>(limit, times_ns, outcomes);
    let (scale, mut unlimited, mut peak) =
        (BucketScale::new(limit), Bucket::default(), Peak::default());
    for (at, now_ns) in times_ns.iter().enumerate() {
        let level = unlimited.count_unlimited(scale, *now_ns);
        peak.take(at, scale.requests(level));
    }
    peak
}

fn concurrency(limit: &Limit, requests: KeyRequests<'_>, outcomes: &mut Vec<Outcome>) -> Peak {
    let mut served: BinaryHeap<Reverse<i64>> = BinaryHeap::new();
    let mut all: BinaryHeap<Reverse<i64>> = BinaryHeap::new();
    let mut peak = Peak::default();
    for (at, (now_ns, end_ns)) in requests.times_ns.iter().zip(requests.ends_ns).enumerate() {
        for heap in [&mut served, &mut all] {
            while heap.peek().is_some_and(|Reverse(end_ns)| end_ns <= now_ns) {
                heap.pop();
            }
        }
        all.push(Reverse(*end_ns));
        peak.take(at, all.len() as f64);
        let found = served.len() as u64;
        let is_rejected = found >= limit.count;
        outcomes.push(Outcome::of(is_rejected, (found + 1) as f64));
        if !is_rejected {
            served.push(Reverse(*end_ns));
        }
    }
    peak
}
