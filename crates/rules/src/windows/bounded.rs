//! Decisions about the requests of one key whose times are known to the second: those that hold
//! for every possible time.
//!
//! A request with the stamp *s* arrived at some time from *s* to *s* + 1 s. The *k*-th request by
//! its real time has the *k*-th stamp, so decisions are made by position. Which of the requests of
//! a second had which position, the log does not tell: the verdict of a request is known if all
//! positions that it can have agree.

use super::counter::{BucketScale, Counter, FirstWindow, SincePause, is_forgotten};
use super::exact::{for_each_count, make_undecided};
use super::limit::{Algorithm, Limit};
use super::replay::KeyRequests;
use super::summary::Peak;
use super::whole_tokens::{self, TokenScale, WholeTokens};
use super::{bounded_bucket, bounded_concurrency, bounded_periods, bounded_ring};
use crate::arrivals::SECOND_SPREAD_NS;
use crate::engine::{Outcome, for_each_disagreement};
use crate::report::Verdict;

/// Decides about the requests of a key, which are in the order of their earliest arrival. Puts an
/// outcome for each, and returns the peak, and how many of the undecided requests were rejected.
pub(super) fn evaluate(
    limit: &Limit,
    requests: KeyRequests<'_>,
    outcomes: &mut Vec<Outcome>,
) -> (Peak, u64) {
    let times_ns = requests.times_ns;
    let window_ns = limit.window_ns as i64;
    let peak = match limit.algorithm {
        // Which request it is decides how long it takes, so this one is not by position.
        Algorithm::Concurrency => {
            return (bounded_concurrency::evaluate(limit, requests, outcomes), 0);
        }
        Algorithm::SlidingRing => {
            bounded_ring::decide(limit, times_ns, outcomes);
            Windows::Sliding(window_ns).peak(times_ns, |_, _| {})
        }
        Algorithm::SlidingLog => count(limit, times_ns, Windows::Sliding(window_ns), outcomes),
        Algorithm::RecentHits => recent_hits(limit, times_ns, outcomes),
        Algorithm::FixedWindow => count(limit, times_ns, Windows::Fixed(window_ns), outcomes),
        Algorithm::FirstWindow => first_window::<FirstWindow>(limit, times_ns, outcomes),
        Algorithm::SincePause => first_window::<SincePause>(limit, times_ns, outcomes),
        Algorithm::TwoPeriods => bounded_periods::evaluate(limit, times_ns, outcomes),
        Algorithm::WholeTokens { .. } => {
            let (mut bucket, scale) = (WholeTokens::default(), TokenScale::new(limit));
            outcomes.extend(times_ns.iter().map(|first_ns| {
                let last_ns = first_ns.saturating_add(SECOND_SPREAD_NS);
                bucket.decide_within(scale, (*first_ns, last_ns))
            }));
            whole_tokens::peak(limit, times_ns, SECOND_SPREAD_NS)
        }
        Algorithm::TokenBucket { .. } | Algorithm::LeakyBucket => {
            bounded_bucket::evaluate(limit, times_ns, outcomes)
        }
        Algorithm::Unpublished { hold_ns, .. } => {
            let peak = count(limit, times_ns, Windows::Sliding(window_ns), outcomes);
            make_undecided(times_ns, outcomes, hold_ns.saturating_add(SECOND_SPREAD_NS as u64));
            Peak { lowest: (peak.lowest / 2.0).ceil(), ..peak }
        }
    };
    let more_rejected = agree(limit, times_ns, outcomes);
    (peak, more_rejected)
}

/// The most of some requests in succession that pass, if the algorithm bounds that.
fn most_passed(limit: &Limit, times_ns: &[i64]) -> Option<u64> {
    let (first_ns, last_ns) = (times_ns.first()?, times_ns.last()?);
    let elapsed_ns = last_ns.saturating_sub(*first_ns);
    let elapsed_ns = elapsed_ns.saturating_add(SECOND_SPREAD_NS);
    match limit.algorithm {
        Algorithm::SlidingRing => {
            let windows = elapsed_ns.unsigned_abs() / limit.window_ns.max(1) + 1;
            Some(limit.count.saturating_mul(windows))
        }
        Algorithm::TokenBucket { .. } | Algorithm::LeakyBucket => {
            let scale = BucketScale::new(limit);
            let may_forget = |pair: &[i64]| {
                let latest_ns = pair[1].saturating_add(SECOND_SPREAD_NS);
                is_forgotten(pair[0], latest_ns, scale.forget_s)
            };
            if times_ns.windows(2).any(may_forget) {
                return None;
            }
            let passed = (scale.time(elapsed_ns) + scale.highest + scale.request) / scale.request;
            u64::try_from(passed).ok()
        }
        Algorithm::WholeTokens { .. } => {
            let elapsed_ns = u128::from(elapsed_ns.unsigned_abs());
            let came = elapsed_ns * u128::from(limit.count) / u128::from(limit.window_ns.max(1));
            Some(limit.count.saturating_add(u64::try_from(came).unwrap_or(u64::MAX)))
        }
        _ => None,
    }
}

/// The windows of an algorithm that counts all requests.
#[derive(Debug, Clone, Copy)]
enum Windows {
    Sliding(i64),
    Fixed(i64),
}

/// The certainty required to count two requests in one window.
#[derive(Debug, Clone, Copy)]
enum Certainty {
    /// If the stamps are the times.
    Stamped,
    Surely,
    Possibly,
}

impl Windows {
    /// Whether an earlier stamp is in the window of a later one.
    fn have(self, from_ns: i64, to_ns: i64, certainty: Certainty) -> bool {
        let elapsed_ns = to_ns.saturating_sub(from_ns);
        let later = |time_ns: i64| time_ns.saturating_add(SECOND_SPREAD_NS);
        match self {
            Self::Sliding(window_ns) => match certainty {
                Certainty::Stamped => elapsed_ns <= window_ns,
                Certainty::Surely => later(elapsed_ns) <= window_ns,
                Certainty::Possibly => elapsed_ns.saturating_sub(SECOND_SPREAD_NS) <= window_ns,
            },
            Self::Fixed(window_ns) => {
                let window = |time_ns: i64| time_ns.div_euclid(window_ns);
                match certainty {
                    Certainty::Stamped => window(from_ns) == window(to_ns),
                    Certainty::Surely => window(from_ns) == window(later(to_ns)),
                    Certainty::Possibly => window(later(from_ns)) >= window(to_ns),
                }
            }
        }
    }

    /// The peak of some requests, of which `each` takes the least and most count.
    fn peak(self, times_ns: &[i64], mut each: impl FnMut(u64, u64)) -> Peak {
        let counts = |certainty| {
            let mut counts = Vec::with_capacity(times_ns.len());
            let is_inside =
                |from: usize, to: usize| self.have(times_ns[from], times_ns[to], certainty);
            for_each_count(times_ns.len(), is_inside, |_, count| counts.push(count));
            counts
        };
        let [stamped, surely, possibly] =
            [Certainty::Stamped, Certainty::Surely, Certainty::Possibly].map(counts);
        let mut peak = Peak::default();
        for (at, ((stamped, surely), possibly)) in
            stamped.into_iter().zip(surely).zip(possibly).enumerate()
        {
            peak.take_range(at, stamped as f64, surely as f64, possibly as f64);
            each(surely, possibly);
        }
        peak
    }
}

fn count(limit: &Limit, times_ns: &[i64], windows: Windows, outcomes: &mut Vec<Outcome>) -> Peak {
    windows.peak(times_ns, |surely, possibly| {
        outcomes.push(Outcome::bounded(surely > limit.count, possibly <= limit.count));
    })
}

/// Counts each request once, and again if it was rejected.
fn recent_hits(limit: &Limit, times_ns: &[i64], outcomes: &mut Vec<Outcome>) -> Peak {
    // The least and the most hits up to each position.
    let mut sums = vec![(0, 0)];
    Windows::Sliding(limit.window_ns as i64).peak(times_ns, |surely, possibly| {
        let at = sums.len() - 1;
        let (least, most) = sums[at];
        let since = |count: u64| sums[at + 1 - usize::try_from(count).unwrap_or(1)];
        let hits = (least - since(surely).0 + 1, most - since(possibly).1 + 1);
        let (is_rejected, has_passed) = (hits.0 > limit.count, hits.1 <= limit.count);
        outcomes.push(Outcome::bounded(is_rejected, has_passed));
        sums.push((least + 1 + u64::from(is_rejected), most + 2 - u64::from(has_passed)));
    })
}

/// What is known about a window that begins with a request, or that ends some time after one.
#[derive(Debug, Clone, Copy)]
struct WindowBounds {
    /// The earliest and the latest time of that request.
    first_ns: i64,
    last_ns: i64,
    /// The least and the most requests in it.
    least: u64,
    most: u64,
}

impl WindowBounds {
    /// The window after a request between these times.
    fn after(self, earliest_ns: i64, latest_ns: i64, window_ns: i64) -> Self {
        let Self { first_ns, last_ns, least, most } = self;
        if latest_ns.saturating_sub(first_ns) < window_ns {
            Self { first_ns, last_ns, least: least + 1, most: most + 1 }
        } else if earliest_ns.saturating_sub(last_ns) >= window_ns {
            Self { first_ns: earliest_ns, last_ns: latest_ns, least: 1, most: 1 }
        } else {
            let first_ns = first_ns.max(earliest_ns.saturating_sub(window_ns)).min(earliest_ns);
            Self { first_ns, last_ns: latest_ns, least: 1, most: most + 1 }
        }
    }
}

fn first_window<C: Counter>(limit: &Limit, times_ns: &[i64], outcomes: &mut Vec<Outcome>) -> Peak {
    let window_ns = limit.window_ns as i64;
    let is_renewed = limit.algorithm == Algorithm::SincePause;
    let (mut stamped, settings) = (C::default(), C::settings(limit));
    let mut window: Option<WindowBounds> = None;
    let mut peak = Peak::default();
    for (at, first_ns) in times_ns.iter().copied().enumerate() {
        let last_ns = first_ns.saturating_add(SECOND_SPREAD_NS);
        let new = WindowBounds { first_ns, last_ns, least: 1, most: 1 };
        let next = window.map_or(new, |window| window.after(first_ns, last_ns, window_ns));
        window = Some(if is_renewed { WindowBounds { first_ns, last_ns, ..next } } else { next });
        let (least, most) = (next.least as f64, next.most as f64);
        let count = stamped.decide(settings, first_ns).count.unwrap_or(0.0);
        peak.take_range(at, count.clamp(least, most), least, most);
        outcomes.push(Outcome::bounded(next.least > limit.count, next.most <= limit.count));
    }
    peak
}

/// Makes the verdicts of requests undecided whose possible positions do not agree. Returns how many
/// of the undecided ones were rejected at least: of those in succession that did not surely pass,
/// only so many can have passed.
fn agree(limit: &Limit, times_ns: &[i64], outcomes: &mut [Outcome]) -> u64 {
    let verdicts: Vec<Verdict> = outcomes.iter().map(|outcome| outcome.verdict).collect();
    for_each_disagreement(
        times_ns.len(),
        SECOND_SPREAD_NS,
        |at| times_ns[at],
        |at| verdicts[at],
        |at| outcomes[at] = Outcome::UNDECIDED,
    );
    let count = |verdict| verdicts.iter().filter(|it| **it == verdict).count() as u64;
    let shown = outcomes.iter().filter(|it| it.verdict == Verdict::Rejected).count() as u64;
    let mut rejected = count(Verdict::Rejected);
    let is_let_through = |verdict: &Verdict| matches!(verdict, Verdict::Passed | Verdict::Delayed);
    let mut start = 0;
    while start < verdicts.len() {
        let length = verdicts[start..].iter().take_while(|it| !is_let_through(it)).count();
        let run = start..start + length;
        start = run.end + 1;
        if run.is_empty() {
            continue;
        }
        let Some(most) = most_passed(limit, &times_ns[run.clone()]) else { continue };
        let known = verdicts[run].iter().filter(|it| **it == Verdict::Rejected).count() as u64;
        rejected += (length as u64).saturating_sub(most).saturating_sub(known);
    }
    rejected - shown
}
