//! Limits in windows: replays compared with naive ones, also for less exact times.

use std::collections::BTreeMap;

use proptest::prelude::*;
use weir_rules::{
    Decision, EventHead, Events, Exactness, RuleFiles, RuleReport, Verdict, parse_rules,
};

use crate::have_milliseconds;

/// A request: its arrival and duration in milliseconds, and its key.
type Request = (i64, i64, &'static str);

/// A limit of the naive replay.
#[derive(Debug, Clone, Copy)]
struct Limit {
    algorithm: &'static str,
    count: i64,
    window_ms: i64,
    burst: i64,
}

impl Limit {
    fn text(&self) -> String {
        let Self { algorithm, count, window_ms, burst } = self;
        match *algorithm {
            "concurrency" => format!("limit {count} at once by client"),
            "token-bucket" | "leaky-bucket" => {
                format!("limit {count} in {window_ms}ms by client as {algorithm} burst {burst}")
            }
            _ => format!("limit {count} in {window_ms}ms by client as {algorithm}"),
        }
    }

    /// The limit with another threshold.
    fn with(self, threshold: i64) -> Self {
        match self.algorithm {
            "token-bucket" | "leaky-bucket" => Self { burst: threshold, ..self },
            _ => Self { count: threshold, ..self },
        }
    }

    fn threshold(&self) -> i64 {
        match self.algorithm {
            "token-bucket" | "leaky-bucket" => self.burst,
            _ => self.count,
        }
    }
}

struct Replayed {
    verdicts: Vec<Verdict>,
    report: RuleReport,
}

/// Replays requests in the order of their ends, as a server logs them; verdicts are in that order.
fn replay(text: &str, requests: &[Request], stamp: impl Fn(i64) -> i64) -> Replayed {
    let rules = parse_rules(text, "test", None, &RuleFiles::default()).expect(text);
    let mut replay = rules[0].replay();
    let mut events = Events::default();
    for (line, (arrival_ms, duration_ms, key)) in requests.iter().enumerate() {
        let time_ns = Some(stamp(arrival_ms + duration_ms) * 1_000_000);
        let duration_ns = *duration_ms as u64 * 1_000_000;
        let head = EventHead { line: line as u64, time_ns, duration_ns, tag: 0 };
        assert!(events.put(head, [key.as_bytes()]));
    }
    for event in events.iter() {
        replay.take(0, event.line + 1, &event);
    }
    let mut verdicts = Vec::new();
    let report = replay.finish(Some(&mut |decision: &Decision<'_>| {
        assert_eq!(decision.line, verdicts.len() as u64 + 1);
        verdicts.push(decision.verdict);
    }));
    Replayed { verdicts, report }
}

/// `update_freq_ctr_period_slow` and `freq_ctr_total` of HAProxy, whose clock is that of the log or
/// a millisecond before it: whether each request is rejected.
fn two_periods(limit: &Limit, times: &[i64], odd: i64) -> Vec<bool> {
    let period = limit.window_ms;
    let (mut tick, mut current, mut previous) = (i64::MIN / 4, 0, 0);
    let mut decide = |time: &i64| {
        let now = time - odd;
        if now - tick < period {
            current += 1;
        } else {
            (previous, current) = (current, 1);
            tick += period;
            if now - tick >= period {
                previous = 0;
                tick = now;
            }
            tick &= !1;
        }
        let remain = tick + period - now;
        (previous * remain + current * period) / period > limit.count
    };
    times.iter().map(&mut decide).collect()
}

/// Each algorithm as directly as it can be written, over the requests of one key by arrival.
fn naive_of_key(limit: &Limit, requests: &[(i64, i64)], odd: i64) -> Vec<Verdict> {
    let Limit { algorithm, count, window_ms, burst } = *limit;
    let of = |is_rejected| if is_rejected { Verdict::Rejected } else { Verdict::Passed };
    let times: Vec<i64> = requests.iter().map(|(arrival, _)| *arrival).collect();
    let inside = |from: i64, to: i64| to - from <= window_ms;
    match algorithm {
        "sliding" => {
            // A ring whose cursor points to the oldest time.
            let mut ring = vec![i64::MIN / 2; count as usize];
            let mut cursor = 0;
            let mut decide = |now: &i64| {
                let is_rejected = inside(ring[cursor], *now);
                if !is_rejected {
                    ring[cursor] = *now;
                    cursor = (cursor + 1) % ring.len();
                }
                of(is_rejected)
            };
            times.iter().map(&mut decide).collect()
        }
        "sliding-log" => {
            let counted = |at: usize| {
                times[..=at].iter().filter(|time| inside(**time, times[at])).count() as i64
            };
            (0..times.len()).map(|at| of(counted(at) > count)).collect()
        }
        "fixed" => {
            let window = |time: i64| time.div_euclid(window_ms);
            let counted = |at: usize| {
                let is_same = |time: &&i64| window(**time) == window(times[at]);
                times[..=at].iter().filter(is_same).count() as i64
            };
            (0..times.len()).map(|at| of(counted(at) > count)).collect()
        }
        "first" => {
            let (mut start, mut counted) = (i64::MIN / 2, 0);
            let mut decide = |now: &i64| {
                if now - start >= window_ms {
                    (start, counted) = (*now, 0);
                }
                counted += 1;
                of(counted > count)
            };
            times.iter().map(&mut decide).collect()
        }
        "two-periods" => two_periods(limit, &times, odd).into_iter().map(of).collect(),
        "token-bucket" | "leaky-bucket" => {
            // Tokens in parts of 1 / window_ms.
            let full = burst * window_ms;
            let (mut tokens, mut last) = (full, i64::MIN);
            let mut decide = |now: &i64| {
                if last != i64::MIN {
                    tokens = (tokens + (now - last) * count).min(full);
                }
                last = *now;
                if tokens < window_ms {
                    return Verdict::Rejected;
                }
                let is_delayed = algorithm == "leaky-bucket" && tokens < full;
                tokens -= window_ms;
                if is_delayed { Verdict::Delayed } else { Verdict::Passed }
            };
            times.iter().map(&mut decide).collect()
        }
        _ => {
            let mut served: Vec<i64> = Vec::new();
            let mut decide = |(now, duration): &(i64, i64)| {
                let active = served.iter().filter(|end| **end > *now).count() as i64;
                if active < count {
                    served.push(now + duration);
                }
                of(active >= count)
            };
            requests.iter().map(&mut decide).collect()
        }
    }
}

/// The verdicts in the order of the log, with each of the clocks that [`two_periods`] may have.
fn naive(limit: &Limit, requests: &[Request]) -> [Vec<Verdict>; 2] {
    [0, 1].map(|odd| naive_by_clock(limit, requests, odd))
}

fn naive_by_clock(limit: &Limit, requests: &[Request], odd: i64) -> Vec<Verdict> {
    let mut verdicts = vec![Verdict::Undecided; requests.len()];
    for key in ["a", "b"] {
        let mut lines: Vec<usize> =
            (0..requests.len()).filter(|line| requests[*line].2 == key).collect();
        lines.sort_by_key(|line| requests[*line].0);
        let of_key: Vec<(i64, i64)> =
            lines.iter().map(|line| (requests[*line].0, requests[*line].1)).collect();
        for (line, verdict) in lines.iter().zip(naive_of_key(limit, &of_key, odd)) {
            verdicts[*line] = verdict;
        }
    }
    verdicts
}

const ALGORITHMS: [&str; 8] = [
    "sliding",
    "sliding-log",
    "fixed",
    "first",
    "two-periods",
    "token-bucket",
    "leaky-bucket",
    "concurrency",
];

fn limit() -> impl Strategy<Value = Limit> {
    let window_ms =
        prop_oneof![Just(1_000), Just(10_000), 100..1_000i64, 1_000..8_000i64, Just(60_000)];
    (prop::sample::select(&ALGORITHMS[..]), 1..9i64, window_ms, 1..9i64).prop_map(
        |(algorithm, count, window_ms, burst)| Limit { algorithm, count, window_ms, burst },
    )
}

/// Requests in bursts with pauses between them, in the order of their ends.
fn requests() -> impl Strategy<Value = Vec<Request>> {
    let pause = prop_oneof![6 => 0..300i64, 3 => 0..3_000i64, 1 => 5_000..130_000i64];
    let duration = prop_oneof![3 => Just(0), 2 => 1..400i64, 1 => 400..9_000i64];
    let key = prop_oneof![4 => Just("a"), 1 => Just("b")];
    let requests = prop::collection::vec((pause, duration, key), 1..80).prop_map(|pauses| {
        let mut time_ms = 1_700_000_000_001;
        let at = |(index, (pause, duration, key)): (usize, (i64, i64, &'static str))| {
            time_ms += pause;
            (time_ms, if index == 0 { 0 } else { duration }, key)
        };
        let mut requests: Vec<Request> = pauses.into_iter().enumerate().map(at).collect();
        requests.sort_by_key(|(arrival, duration, _)| arrival + duration);
        requests
    });
    requests.prop_filter("milliseconds", |requests| {
        have_milliseconds(requests.iter().map(|(arrival, duration, _)| arrival + duration))
    })
}

/// The number of requests with a verdict, by the clock with which there are the fewest.
fn count(truth: &[Vec<Verdict>; 2], verdict: Verdict) -> u64 {
    let counts = truth.each_ref().map(|it| it.iter().filter(|found| **found == verdict).count());
    counts[0].min(counts[1]) as u64
}

/// The verdict of a request if it is the same with both clocks.
fn agreed(truth: &[Vec<Verdict>; 2], at: usize) -> Verdict {
    if truth[0][at] == truth[1][at] { truth[0][at] } else { Verdict::Undecided }
}

/// The verdicts of two periods, of which those of requests at one time are undecided if they differ,
/// because their order is not known.
fn without_order(limit: &Limit, requests: &[Request], verdicts: &[Verdict]) -> Vec<Verdict> {
    let differs = |at: usize| {
        let ((time, _, key), verdict) = (requests[at], verdicts[at]);
        let mut others = requests.iter().zip(verdicts);
        limit.algorithm == "two-periods"
            && others.any(|((other, _, of), it)| *other == time && *of == key && *it != verdict)
    };
    let shown = |at: usize| if differs(at) { Verdict::Undecided } else { verdicts[at] };
    (0..verdicts.len()).map(shown).collect()
}

/// Whether each key has a rejected request, with each clock.
fn tripped(requests: &[Request], truth: &[Vec<Verdict>; 2]) -> BTreeMap<Vec<u8>, [bool; 2]> {
    let mut tripped = BTreeMap::new();
    for (clock, truth) in truth.iter().enumerate() {
        for ((.., key), verdict) in requests.iter().zip(truth) {
            let tripped = tripped.entry(key.as_bytes().to_vec()).or_insert([false; 2]);
            tripped[clock] |= *verdict == Verdict::Rejected;
        }
    }
    tripped
}

/// Asserts that no definite verdict of a replay over whole seconds differs from the truth, and
/// counts the verdicts that are not definite and those that are.
fn assert_bounded(
    limit: &Limit,
    requests: &[Request],
    spoken: &mut [u64; 2],
) -> Result<(), TestCaseError> {
    let truth = naive(limit, requests);
    let replayed = replay(&limit.text(), requests, |time_ms| time_ms - time_ms.rem_euclid(1_000));
    prop_assert_eq!(replayed.verdicts.len(), requests.len());
    for (at, verdict) in replayed.verdicts.iter().enumerate() {
        let is_definite = *verdict != Verdict::Undecided;
        spoken[usize::from(is_definite)] += 1;
        let is_true = *verdict == agreed(&truth, at);
        prop_assert!(!is_definite || is_true, "line {}: {:?}", at + 1, verdict);
    }
    let counts = replayed.report.requests;
    prop_assert!(counts.passed <= count(&truth, Verdict::Passed));
    prop_assert!(counts.delayed <= count(&truth, Verdict::Delayed));
    prop_assert!(counts.rejected <= count(&truth, Verdict::Rejected), "{:?}", counts);
    let all = counts.passed + counts.delayed + counts.rejected + counts.undecided;
    prop_assert_eq!(all, requests.len() as u64);
    let tripped = tripped(requests, &truth);
    for trip in &replayed.report.trips {
        let is_sure = tripped[&trip.key] == [true; 2];
        prop_assert!(trip.verdict == Verdict::Undecided || is_sure, "{:?}", trip);
    }
    for trip in &replayed.report.closest {
        prop_assert!(tripped[&trip.key] == [false; 2], "{:?}", trip);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn decisions_are_those_of_the_algorithm((limit, requests) in (limit(), requests())) {
        let truth = naive(&limit, &requests);
        let replayed = replay(&limit.text(), &requests, |time_ms| time_ms);
        let agreed: Vec<Verdict> = (0..requests.len()).map(|at| agreed(&truth, at)).collect();
        let shown = without_order(&limit, &requests, &agreed);
        prop_assert_eq!(&replayed.verdicts, &shown);
        let counts = replayed.report.requests;
        let count = |verdict| agreed.iter().filter(|found| **found == verdict).count() as u64;
        prop_assert_eq!(counts.rejected, count(Verdict::Rejected));
        prop_assert_eq!(counts.delayed, count(Verdict::Delayed));
        let passed = shown.iter().filter(|verdict| **verdict == Verdict::Passed).count() as u64;
        prop_assert_eq!(counts.passed, passed);
        prop_assert!(counts.undecided == 0 || limit.algorithm == "two-periods");
        let is_exact = replayed.report.exactness == Exactness::Exact;
        prop_assert_eq!(is_exact, counts.undecided == 0);
    }

    #[test]
    fn no_definite_verdict_from_whole_seconds_is_wrong((limit, requests) in (limit(), requests())) {
        assert_bounded(&limit, &requests, &mut [0; 2])?;
    }

    #[test]
    fn the_peak_answers_every_threshold((limit, requests) in (limit(), requests())) {
        let report = replay(&limit.text(), &requests, |time_ms| time_ms).report;
        for threshold in 1..12 {
            let truth = naive(&limit.with(threshold), &requests);
            let tripped = tripped(&requests, &truth);
            for key in report.trips.iter().chain(&report.closest) {
                let (lowest, highest) = key.peak_range;
                let [even, odd] = tripped[&key.key];
                prop_assert_eq!(lowest > threshold as f64, even && odd, "{}", threshold);
                prop_assert_eq!(highest > threshold as f64, even || odd, "{}", threshold);
                prop_assert_eq!(key.peak, highest);
            }
        }
        let setting = limit.threshold();
        let others = if setting == 1 { [2, 5] } else { [setting / 2, setting * 2] };
        for (step, other) in report.steps.iter().zip(others) {
            let truth = naive(&limit.with(other), &requests);
            let tripped = tripped(&requests, &truth);
            let surely = tripped.values().filter(|it| **it == [true; 2]).count() as u64;
            let possibly = tripped.values().filter(|it| **it != [false; 2]).count() as u64;
            let expected = (surely, possibly - surely);
            prop_assert_eq!((step.tripped, step.undecided), expected, "{}", &step.setting);
        }
    }
}

#[test]
fn a_verdict_that_depends_on_the_clock_of_haproxy_cannot_be_told() {
    let limit = Limit { algorithm: "two-periods", count: 5, window_ms: 10_000, burst: 5 };
    let start = 1_795_341_600_001;
    let mut requests: Vec<Request> = (0..10).map(|_| (start, 0, "a")).collect();
    // 4,999 or 5,000 of the 10,000 ms are left: the rate is 1 + 4 or 1 + 5.
    requests.push((start + 15_000, 0, "a"));
    let replayed = replay(&limit.text(), &requests, |time_ms| time_ms);
    // Which five of the ten at one time were rejected is not known either.
    assert_eq!(replayed.verdicts[9], Verdict::Undecided);
    assert_eq!(replayed.verdicts[10], Verdict::Undecided);
    assert_eq!((replayed.report.requests.rejected, replayed.report.keys.tripped), (5, 1));
    assert_eq!(replayed.report.exactness, Exactness::Bounded);
    assert_eq!(replayed.report.notes.len(), 1);
}

#[test]
fn most_verdicts_from_whole_seconds_are_definite_if_bursts_are_apart() {
    for algorithm in ALGORITHMS {
        let limit = Limit { algorithm, count: 4, window_ms: 10_000, burst: 4 };
        let mut requests = Vec::new();
        for burst in 0..100i64 {
            for request in 0..1 + burst % 12 {
                requests.push((1_700_000_000_001 + burst * 60_000 + request * 20, 5_000, "a"));
            }
        }
        let mut spoken = [0; 2];
        assert_bounded(&limit, &requests, &mut spoken).expect("no definite verdict is wrong");
        let report = replay(&limit.text(), &requests, |time_ms| time_ms / 1_000 * 1_000).report;
        let rejected = count(&naive(&limit, &requests), Verdict::Rejected);
        assert!(
            report.requests.rejected * 10 >= rejected * 9 || algorithm == "concurrency",
            "{algorithm}: {:?} of {rejected}",
            report.requests
        );
        // Of a burst, one request is not delayed, and it is not known which.
        let least = if algorithm == "leaky-bucket" { 9 } else { 51 };
        assert!(spoken[1] >= least, "{algorithm}: {spoken:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn times_that_jump_are_taken_in_their_order(
        algorithm in prop::sample::select(&ALGORITHMS[..]),
        times in prop::collection::vec(
            prop_oneof![
                Just(i64::MIN),
                Just(i64::MAX),
                Just(0),
                any::<i64>(),
                -3..3i64,
                (-3..3i64).prop_map(|second| second * 1_000_000_000),
            ],
            1..30,
        ),
        duration_ns in prop_oneof![Just(0), Just(u64::MAX), any::<u64>()],
    ) {
        let limit = Limit { algorithm, count: 2, window_ms: 10_000, burst: 2 };
        let rules = parse_rules(&limit.text(), "test", None, &RuleFiles::default()).expect("valid");
        let mut replay = rules[0].replay();
        let mut events = Events::default();
        for (line, time_ns) in times.iter().enumerate() {
            let key = if line % 2 == 0 { &b"a"[..] } else { &b"b"[..] };
            let time_ns = Some(*time_ns);
            let head = EventHead { line: line as u64, time_ns, duration_ns, tag: 0 };
            prop_assert!(events.put(head, [key]));
        }
        for event in events.iter() {
            replay.take(0, event.line + 1, &event);
        }
        let counts = replay.finish(None).requests;
        let all = counts.passed + counts.delayed + counts.rejected + counts.undecided;
        prop_assert_eq!(all, times.len() as u64);
    }
}
