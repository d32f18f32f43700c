//! nginx's `limit_req`: replays compared with a naive one, also for less exact times.

use std::collections::BTreeMap;

use proptest::prelude::*;
use weir_rules::{Decision, EventHead, Events, Rule, RuleFiles, RuleReport, Verdict, parse_rules};
use weir_testkit::fixtures;
use weir_testkit::numbers::Numbers;

use crate::have_milliseconds;

/// A request: its time in milliseconds, and the texts of the keys.
type Request = (i64, Vec<String>);

/// The highest percentages of undecided verdicts about a real log with whole seconds, by request
/// and by client; docs/rules.md has the measured ones.
const REQUESTS_SHARE_MAX: f64 = 19.0;
const CLIENTS_SHARE_MAX: f64 = 3.5;

/// The decisions of a replay: the verdict, the delay and the excess of each request, and its
/// report.
struct Replayed {
    decisions: Vec<(u64, Verdict, Option<u64>, Option<f64>)>,
    report: RuleReport,
}

/// An event of a request without a duration.
fn event_at(line: u64, time_ns: i64) -> EventHead {
    EventHead { line, time_ns: Some(time_ns), ..EventHead::default() }
}

fn replay(rule: &dyn Rule, requests: &[Request]) -> Replayed {
    let mut replay = rule.replay();
    let mut events = Events::default();
    for (line, (time_ms, keys)) in requests.iter().enumerate() {
        let texts = keys.iter().map(|key| key.as_bytes());
        assert!(events.put(event_at(line as u64, time_ms * 1_000_000), texts));
    }
    for event in events.iter() {
        replay.take(0, event.line + 1, &event);
    }
    let mut decisions = Vec::new();
    let report = replay.finish(Some(&mut |decision: &Decision<'_>| {
        decisions.push((decision.line, decision.verdict, decision.delay_ms, decision.excess));
    }));
    Replayed { decisions, report }
}

fn rule(text: &str) -> Box<dyn Rule> {
    parse_rules(text, "test", None, &RuleFiles::default()).expect(text).remove(0)
}

/// A limit of the naive replay, in requests.
#[derive(Debug, Clone, Copy)]
struct Limit {
    rate: i64,
    is_per_minute: bool,
    burst: i64,
    /// `None` with `nodelay`.
    delay: Option<i64>,
}

/// Zones of one limit each, and the limits, as nginx has them.
fn configuration(limits: &[Limit]) -> String {
    let mut text = String::new();
    for (number, Limit { rate, is_per_minute, .. }) in limits.iter().enumerate() {
        let unit = if *is_per_minute { "r/m" } else { "r/s" };
        text += &format!("limit_req_zone $k{number} zone=z{number}:1m rate={rate}{unit};\n");
    }
    for (number, Limit { burst, delay, .. }) in limits.iter().enumerate() {
        let burst = if *burst > 0 { format!(" burst={burst}") } else { String::new() };
        let delay = match delay {
            None => " nodelay".to_owned(),
            Some(0) => String::new(),
            Some(delay) => format!(" delay={delay}"),
        };
        text += &format!("limit_req zone=z{number}{burst}{delay};\n");
    }
    text
}

/// The algorithm of nginx's module, written as directly as possible. Times do not decrease.
fn naive(limits: &[Limit], requests: &[Request]) -> Vec<(Verdict, Option<u64>)> {
    let mut nodes: Vec<Vec<(String, i64, i64)>> = vec![Vec::new(); limits.len()];
    let rate = |limit: &Limit| limit.rate * 1_000 / if limit.is_per_minute { 60 } else { 1 };
    let mut verdicts = Vec::new();
    for (now, keys) in requests {
        let mut found = Vec::new();
        let mut is_rejected = false;
        for ((limit, key), nodes) in limits.iter().zip(keys).zip(&mut nodes) {
            if key.is_empty() {
                found.push(None);
                continue;
            }
            // The list is in the order of use, the most recent one first.
            let excess = match nodes.iter().position(|node| node.0 == *key) {
                Some(position) => {
                    let node = nodes.remove(position);
                    nodes.insert(0, node.clone());
                    (node.1 - rate(limit) * (now - node.2) / 1_000 + 1_000).max(0)
                }
                None => {
                    for _ in 0..2 {
                        let is_idle = nodes.last().is_some_and(|(_, excess, last)| {
                            now - last >= 60_000 && excess - rate(limit) * (now - last) / 1_000 <= 0
                        });
                        if is_idle {
                            nodes.pop();
                        }
                        if !is_idle {
                            break;
                        }
                    }
                    // The time is set when the request is counted.
                    nodes.insert(0, (key.clone(), 0, 0));
                    0
                }
            };
            if excess > limit.burst * 1_000 {
                is_rejected = true;
                break;
            }
            found.push(Some(excess));
        }
        if is_rejected {
            verdicts.push((Verdict::Rejected, None));
            continue;
        }
        let mut longest = 0;
        for ((limit, excess), nodes) in limits.iter().zip(&found).zip(&mut nodes) {
            let Some(excess) = *excess else { continue };
            let node = nodes.first_mut().expect("the key was used");
            if *now != node.2 {
                node.2 = *now;
            }
            node.1 = excess;
            if let Some(delay) = limit.delay.filter(|delay| excess > delay * 1_000) {
                longest = longest.max((excess - delay * 1_000) * 1_000 / rate(limit));
            }
        }
        let verdict = if longest > 0 { Verdict::Delayed } else { Verdict::Passed };
        verdicts.push((verdict, Some(longest as u64)));
    }
    verdicts
}

fn limit() -> impl Strategy<Value = Limit> {
    let rate = prop_oneof![
        (1..20i64).prop_map(|rate| (rate, false)),
        (1..120i64).prop_map(|rate| (rate, true)),
    ];
    let delay = prop_oneof![Just(None), Just(Some(0)), (1..5i64).prop_map(Some)];
    (rate, 0..8i64, delay).prop_map(|((rate, is_per_minute), burst, delay)| Limit {
        rate,
        is_per_minute,
        burst,
        delay,
    })
}

/// Requests in bursts with pauses between them, with a key for each limit.
fn requests(limits: usize) -> impl Strategy<Value = Vec<Request>> {
    let pause = prop_oneof![6 => 0..300i64, 3 => 0..3_000i64, 1 => 50_000..130_000i64];
    let key = prop_oneof![
        6 => Just("a".to_owned()),
        3 => Just("b".to_owned()),
        1 => Just(String::new()),
    ];
    let keys = prop::collection::vec(key, limits).prop_map(|mut keys| {
        if keys.iter().all(String::is_empty) {
            keys[0] = "a".to_owned();
        }
        keys
    });
    let requests = prop::collection::vec((pause, keys), 1..80).prop_map(|pauses| {
        let mut time_ms = 1_700_000_000_001;
        let at = |(pause, keys): (i64, Vec<String>)| {
            let now_ms = time_ms;
            time_ms += pause;
            (now_ms, keys)
        };
        pauses.into_iter().map(at).collect::<Vec<Request>>()
    });
    requests.prop_filter("milliseconds", |requests| {
        have_milliseconds(requests.iter().map(|(time_ms, _)| *time_ms))
    })
}

fn limits_and_requests(
    limits: std::ops::Range<usize>,
) -> impl Strategy<Value = (Vec<Limit>, Vec<Request>)> {
    prop::collection::vec(limit(), limits).prop_flat_map(|limits| {
        let count = limits.len();
        (Just(limits), requests(count))
    })
}

/// The number of requests with a verdict.
fn count(truth: &[(Verdict, Option<u64>)], verdict: Verdict) -> u64 {
    truth.iter().filter(|(found, _)| *found == verdict).count() as u64
}

/// Asserts that no definite verdict of a replay over whole seconds differs from the truth.
fn assert_bounded(
    limits: &[Limit],
    requests: &[Request],
    spoken: &mut [u64; 2],
) -> Result<(), TestCaseError> {
    let truth = naive(limits, requests);
    let mut stamped = requests.to_vec();
    for (time_ms, _) in &mut stamped {
        *time_ms -= time_ms.rem_euclid(1_000);
    }
    let replayed = replay(&*rule(&configuration(limits)), &stamped);
    prop_assert_eq!(replayed.decisions.len(), requests.len());
    for ((line, verdict, ..), (true_verdict, _)) in replayed.decisions.iter().zip(&truth) {
        let is_definite = *verdict != Verdict::Undecided;
        spoken[usize::from(is_definite)] += 1;
        prop_assert!(!is_definite || verdict == true_verdict, "line {}: {:?}", line, verdict);
    }
    let counts = replayed.report.requests;
    prop_assert!(counts.passed <= count(&truth, Verdict::Passed));
    prop_assert!(counts.delayed <= count(&truth, Verdict::Delayed));
    prop_assert!(counts.rejected <= count(&truth, Verdict::Rejected));
    let all = counts.passed + counts.delayed + counts.rejected + counts.undecided;
    prop_assert_eq!(all, requests.len() as u64);
    if let [_] = limits {
        let mut tripped = BTreeMap::new();
        for ((_, keys), (verdict, _)) in requests.iter().zip(&truth) {
            *tripped.entry(keys[0].as_bytes()).or_insert(false) |= *verdict == Verdict::Rejected;
        }
        for trip in &replayed.report.trips {
            let is_right = trip.verdict == Verdict::Undecided || tripped[&trip.key[..]];
            prop_assert!(is_right, "{:?}", trip);
        }
        for trip in &replayed.report.closest {
            prop_assert!(!tripped[&trip.key[..]], "{:?}", trip);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn decisions_are_those_of_the_module((limits, requests) in limits_and_requests(1..4)) {
        let truth = naive(&limits, &requests);
        let replayed = replay(&*rule(&configuration(&limits)), &requests);
        let decided: Vec<_> = replayed.decisions.iter().map(|it| (it.1, it.2)).collect();
        prop_assert_eq!(decided, truth.clone());
        let counts = replayed.report.requests;
        prop_assert_eq!(counts.rejected, count(&truth, Verdict::Rejected));
        prop_assert_eq!(counts.delayed, count(&truth, Verdict::Delayed));
        prop_assert_eq!(counts.undecided, 0);
    }

    #[test]
    fn no_definite_verdict_from_whole_seconds_is_wrong((limits, requests) in limits_and_requests(1..4)) {
        assert_bounded(&limits, &requests, &mut [0; 2])?;
    }

    #[test]
    fn the_peak_answers_every_burst((limits, requests) in limits_and_requests(1..2)) {
        let peaks = replay(&*rule(&configuration(&limits)), &requests).report;
        for burst in 0..12 {
            let other_limits = [Limit { burst, ..limits[0] }];
            let tripped: Vec<_> =
                naive(&other_limits, &requests).iter().zip(&requests)
                    .filter(|((verdict, _), _)| *verdict == Verdict::Rejected)
                    .map(|(_, (_, keys))| keys[0].clone().into_bytes())
                    .collect();
            // A key is forgotten after a minute, which changes its excess by a request at most.
            let minutes = (requests[requests.len() - 1].0 - requests[0].0) / 60_000;
            for key in peaks.trips.iter().chain(&peaks.closest) {
                let (lowest, highest) = key.peak_range;
                let has_tripped = tripped.contains(&key.key);
                prop_assert!(has_tripped || lowest <= burst as f64, "{}", burst);
                prop_assert!(!has_tripped || highest > burst as f64, "{}", burst);
                prop_assert!(highest - lowest <= minutes as f64, "{:?}", key);
                if burst == limits[0].burst {
                    prop_assert_eq!(key.peak > burst as f64, has_tripped, "{:?}", key);
                }
            }
        }
    }
}

/// One log with whole seconds and one with milliseconds: an arrival is in doubt by up to a second.
#[test]
fn a_source_with_whole_seconds_puts_all_of_them_in_doubt() {
    let rule = rule("limit_req_zone $a zone=one:1m rate=10r/s; limit_req zone=one burst=1;");
    let second_ns = 1_000_000_000;
    let start_ns = 1_700_000_000 * second_ns;
    let mut events = Events::default();
    for (source, after_ns) in [(0, 0), (1, second_ns / 2), (1, second_ns), (1, second_ns)] {
        assert!(
            events.put(EventHead { tag: source, ..event_at(0, start_ns + after_ns) }, [&b"a"[..]])
        );
    }
    let mut replay = rule.replay();
    for event in events.iter() {
        let source = event.tag;
        replay.take(source, 1, &weir_rules::Event { tag: 0, ..event });
    }
    // If the first arrived at the end of its second, the last is one too many.
    let report = replay.finish(None);
    assert_eq!((report.keys.seen, report.keys.undecided), (1, 1), "{:?}", report.requests);
}

#[test]
fn most_verdicts_from_whole_seconds_are_definite_if_bursts_are_apart() {
    let limits = [Limit { rate: 2, is_per_minute: false, burst: 4, delay: None }];
    let mut requests = Vec::new();
    for burst in 0..100i64 {
        for request in 0..1 + burst % 12 {
            let time_ms = 1_700_000_000_001 + burst * 60_000 + request * 20;
            requests.push((time_ms, vec!["a".to_owned()]));
        }
    }
    let mut spoken = [0; 2];
    assert_bounded(&limits, &requests, &mut spoken).expect("no definite verdict is wrong");
    let counts = {
        let stamped: Vec<Request> = requests
            .iter()
            .map(|(time_ms, keys)| (time_ms - time_ms % 1_000, keys.clone()))
            .collect();
        replay(&*rule(&configuration(&limits)), &stamped).report.requests
    };
    // Five of a burst pass. The verdicts on as many as drain in one second are undecided.
    assert!(counts.rejected >= 80, "{counts:?}");
    assert!(counts.passed >= 400, "{counts:?}");
    assert!(spoken[1] > 100, "{spoken:?}");
}

/// Clients and times of a real log with whole seconds, with a random moment in each second.
fn real_requests(numbers: &mut Numbers) -> Vec<Request> {
    let log = std::fs::read(fixtures::hackers_first_1000()).expect("a log");
    let log = String::from_utf8_lossy(&log);
    let request = |line: &str| {
        let client = line.split(' ').next()?.to_owned();
        // `[25/Oct/2015:04:11:25 +0100]`, and the next day
        let stamp = line.split_once('[')?.1;
        let number = |from: usize| stamp.get(from..from + 2)?.parse::<i64>().ok();
        let (day, hour, minute, second) = (number(0)?, number(12)?, number(15)?, number(18)?);
        let seconds = ((day * 24 + hour) * 60 + minute) * 60 + second;
        Some((1_400_000_000_000 + seconds * 1_000, vec![client]))
    };
    let mut requests: Vec<Request> = log.lines().map(|line| request(line).expect(line)).collect();
    for (time_ms, _) in &mut requests {
        *time_ms += numbers.below(1_000) as i64;
    }
    requests.sort_by_key(|(time_ms, _)| *time_ms);
    requests
}

/// A thousand settings over a real log: no definite verdict is wrong, and few are not definite.
#[test]
fn few_verdicts_about_a_real_log_cannot_be_told() {
    let mut numbers = Numbers::new(20_261_122);
    let requests = real_requests(&mut numbers);
    let mut spoken = [0; 2];
    let (mut seen, mut undecided) = (0, 0);
    for _ in 0..1_000 {
        let limit = Limit {
            rate: 1 + numbers.below(10) as i64,
            is_per_minute: numbers.below(4) == 0,
            burst: numbers.below(20) as i64,
            delay: [None, Some(0)][numbers.below(2) as usize],
        };
        assert_bounded(&[limit], &requests, &mut spoken).expect("no definite verdict is wrong");
        let stamped: Vec<Request> = requests
            .iter()
            .map(|(time_ms, keys)| (time_ms - time_ms % 1_000, keys.clone()))
            .collect();
        let keys = replay(&*rule(&configuration(&[limit])), &stamped).report.keys;
        (seen, undecided) = (seen + keys.seen, undecided + keys.undecided);
    }
    let share = |part: u64, all: u64| part as f64 * 100.0 / all as f64;
    let requests_share = share(spoken[0], spoken[0] + spoken[1]);
    let clients_share = share(undecided, seen);
    println!("undecided: {requests_share:.2} % of requests, {clients_share:.2} % of clients");
    assert!(requests_share < REQUESTS_SHARE_MAX, "{requests_share}");
    assert!(clients_share < CLIENTS_SHARE_MAX, "{clients_share}");
}

/// The highest rate, and the longest time between two requests.
#[test]
fn a_sweep_over_extreme_settings_does_not_overflow() {
    let rule =
        rule("limit_req_zone $a zone=one:1m rate=2147483647r/s; limit_req zone=one burst=1;");
    let mut replay = rule.replay();
    let mut events = Events::default();
    let start_ns = 1_700_000_000_000_000_001;
    for time_ns in [0, start_ns, start_ns, start_ns + 36_000_000_000_000] {
        events.put(event_at(0, time_ns), [&b"a"[..]]);
    }
    events.iter().for_each(|event| replay.take(0, event.line, &event));
    let sweep = replay.sweep().expect("one limit");
    let settings = sweep.settings(0..sweep.keys(), sweep.rate(), &[0, 1]);
    assert_eq!(
        settings.iter().map(|it| (it.keys, it.requests)).collect::<Vec<_>>(),
        [(1, 1), (0, 0)]
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn a_sweep_counts_what_each_setting_rejects(
        (limits, requests) in limits_and_requests(1..2),
        bursts in prop::collection::vec(0..40u32, 1..30),
        parts in 1..5usize,
    ) {
        let mut limit = limits[0];
        let text = configuration(&limits);
        let rule = rule(&text);
        let mut replay = rule.replay();
        let mut events = Events::default();
        for (line, (time_ms, keys)) in requests.iter().enumerate() {
            events.put(event_at(line as u64, time_ms * 1_000_000), [keys[0].as_bytes()]);
        }
        events.iter().for_each(|event| replay.take(0, event.line, &event));
        let sweep = replay.sweep().expect("one limit");
        prop_assert_eq!(sweep.requests(), requests.len());
        // A sweep leaves out that nodes are forgotten after a minute.
        for (rate, is_per_minute) in [(limit.rate, limit.is_per_minute), (3, false), (90, true)] {
            (limit.rate, limit.is_per_minute) = (rate, is_per_minute);
            let per_second = rate * 1_000 / if is_per_minute { 60 } else { 1 };
            if per_second * 60 < 41_000 {
                continue;
            }
            let mut sums = vec![(0, 0); bursts.len()];
            for keys in sweep.parts(parts) {
                for (sum, swept) in sums.iter_mut().zip(sweep.settings(keys, per_second, &bursts)) {
                    *sum = (sum.0 + swept.keys, sum.1 + swept.requests);
                }
            }
            for (burst, sum) in bursts.iter().zip(sums) {
                let limits = [Limit { burst: i64::from(*burst), ..limit }];
                let truth = naive(&limits, &requests);
                let rejected = requests.iter().zip(&truth).filter(|(_, (verdict, _))| *verdict == Verdict::Rejected);
                let keys: std::collections::BTreeSet<_> = rejected.clone().map(|((_, keys), _)| &keys[0]).collect();
                prop_assert_eq!(sum, (keys.len() as u64, rejected.count() as u64), "{} {}", per_second, burst);
            }
        }
    }
}
