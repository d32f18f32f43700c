//! nginx's `limit_conn`: replays compared with a naive one, for times in milliseconds and less
//! exact times.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use weir_core::{Format, LineParser, Record};
use weir_rules::{
    Decision, Events, Exactness, Line, Rule, RuleFiles, RuleReport, Verdict, parse_rules,
};
use weir_testkit::numbers::Numbers;

use crate::have_milliseconds;

const FORMAT: &str = "$msec $request_time $http_k0 $http_k1 \"$request\"";

/// The highest percentages of undecided requests and of undecided keys, for times in milliseconds
/// and in seconds.
const MILLISECONDS_SHARE_MAX: (f64, f64) = (1.0, 0.2);
const SECONDS_SHARE_MAX: (f64, f64) = (54.0, 37.0);

/// A request. No two of their times are the same.
#[derive(Debug, Clone)]
struct Request {
    begin_us: i64,
    end_us: i64,
    /// By zone; an empty key is not limited.
    keys: [String; 2],
    location: usize,
}

/// For each location its limits: a zone and a number.
type Settings = Vec<Vec<(usize, u64)>>;

/// The true outcome of the requests.
#[derive(Debug, Default)]
struct Truth {
    /// By request: the zone that rejected it.
    rejected: Vec<Option<usize>>,
    /// The zones and keys that rejected a request.
    tripped: BTreeSet<(usize, String)>,
}

/// The algorithm of nginx's module, written as directly as possible: a request is counted in its
/// zones from its begin to its end, unless one of them is full.
fn naive(settings: &Settings, requests: &[Request]) -> Truth {
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|at| requests[*at].begin_us);
    let mut truth = Truth { rejected: vec![None; requests.len()], ..Truth::default() };
    let mut counted: Vec<(usize, String, i64)> = Vec::new();
    for at in order {
        let Request { begin_us, end_us, keys, location } = &requests[at];
        counted.retain(|(_, _, end)| end > begin_us);
        let limits = settings[*location].iter().filter(|(zone, _)| !keys[*zone].is_empty());
        let full = limits.clone().find(|(zone, number)| {
            let others = counted.iter().filter(|(of, key, _)| of == zone && *key == keys[*zone]);
            others.count() as u64 >= *number
        });
        match full {
            Some((zone, _)) => {
                truth.rejected[at] = Some(*zone);
                truth.tripped.insert((*zone, keys[*zone].clone()));
            }
            None => counted.extend(limits.map(|(zone, _)| (*zone, keys[*zone].clone(), *end_us))),
        }
    }
    truth
}

/// The most requests of each key of the first zone at the same time, if none is rejected.
fn peaks(settings: &Settings, requests: &[Request]) -> BTreeMap<String, f64> {
    let is_limited = |it: &&Request| {
        !it.keys[0].is_empty() && settings[it.location].iter().any(|(zone, _)| *zone == 0)
    };
    let mut peaks: BTreeMap<String, f64> = BTreeMap::new();
    for request in requests.iter().filter(is_limited) {
        let present = requests.iter().filter(is_limited).filter(|other| {
            other.keys[0] == request.keys[0]
                && other.begin_us <= request.begin_us
                && other.end_us > request.begin_us
        });
        let peak = peaks.entry(request.keys[0].clone()).or_default();
        *peak = peak.max(present.count() as f64);
    }
    peaks
}

fn configuration(settings: &Settings) -> String {
    let mut text = String::from(
        "limit_conn_zone $http_k0 zone=z0:1m; limit_conn_zone $http_k1 zone=z1:1m; server {\n",
    );
    for (location, limits) in settings.iter().enumerate() {
        text += &format!("location /l{location} {{");
        for (zone, number) in limits {
            text += &format!(" limit_conn z{zone} {number};");
        }
        text += " }\n";
    }
    text + "}"
}

/// The precision of the times in a log.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Precision {
    stamp_ms: i64,
    duration_ms: i64,
}

const MILLISECONDS: Precision = Precision { stamp_ms: 1, duration_ms: 1 };
const SECONDS: Precision = Precision { stamp_ms: 1_000, duration_ms: 1 };

/// The positions of requests in their log, and its lines.
fn log(requests: &[Request], precision: Precision) -> (Vec<usize>, Vec<String>) {
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|at| requests[*at].end_us);
    let line = |at: &usize| {
        let Request { begin_us, end_us, keys, location } = &requests[*at];
        let (begin_ms, end_ms) = (begin_us / 1_000, end_us / 1_000);
        let stamp_ms = end_ms / precision.stamp_ms * precision.stamp_ms;
        let duration_ms = match precision.duration_ms {
            1 => end_ms - begin_ms,
            coarse => (end_us - begin_us) / 1_000 / coarse * coarse,
        };
        let seconds = |ms: i64| format!("{}.{:03}", ms / 1_000, ms % 1_000);
        let key = |key: &str| if key.is_empty() { "-".to_owned() } else { key.to_owned() };
        format!(
            "{} {} {} {} \"GET /l{location} HTTP/1.1\"",
            seconds(stamp_ms),
            seconds(duration_ms),
            key(&keys[0]),
            key(&keys[1])
        )
    };
    let lines = order.iter().map(line).collect();
    (order, lines)
}

/// The decisions of a replay about lines, by their numbers from 0, and its report.
fn replay(rule: &dyn Rule, lines: &[String]) -> (BTreeMap<usize, Verdict>, RuleReport) {
    let format = Format::parse(FORMAT).expect("a format");
    let mut observer = rule.bind(&format.record_fields()).expect("it has the fields");
    let mut parser = LineParser::new(Arc::new(format));
    let mut record = Record::new();
    let mut events = Events::default();
    for (number, line) in lines.iter().enumerate() {
        parser.parse(line.as_bytes(), &mut record).expect("it fits");
        let line = Line { number: number as u64, bytes: line.as_bytes(), record: Some(&record) };
        observer.observe(&line, &mut events);
    }
    let mut replay = rule.replay();
    for event in events.iter() {
        replay.take(0, event.line + 1, &event);
    }
    let mut verdicts = BTreeMap::new();
    let report = replay.finish(Some(&mut |decision: &Decision<'_>| {
        verdicts.insert(decision.line as usize - 1, decision.verdict);
    }));
    (verdicts, report)
}

fn rule(text: &str) -> Box<dyn Rule> {
    let mut rules = parse_rules(text, "test", None, &RuleFiles::default()).expect(text);
    assert_eq!(rules.len(), 1, "{text}");
    rules.remove(0)
}

/// Asserts that no definite verdict of a replay from a log differs from the truth, and returns its
/// report.
fn assert_bounded(settings: &Settings, requests: &[Request], precision: Precision) -> RuleReport {
    let truth = naive(settings, requests);
    let (order, lines) = log(requests, precision);
    let text = configuration(settings);
    let (verdicts, report) = replay(&*rule(&text), &lines);
    let context = || format!("{text}\n{}", lines.join("\n"));
    for (number, verdict) in &verdicts {
        let expected = match truth.rejected[order[*number]] {
            Some(_) => Verdict::Rejected,
            None => Verdict::Passed,
        };
        assert!(
            *verdict == Verdict::Undecided || *verdict == expected,
            "line {} is {verdict:?}, not {expected:?}\n{}",
            number + 1,
            context()
        );
    }
    let rejected = truth.rejected.iter().flatten().count() as u64;
    let counts = &report.requests;
    assert!(counts.rejected <= rejected, "{counts:?}, {rejected} rejected\n{}", context());
    assert!(rejected <= counts.rejected + counts.undecided, "{counts:?}\n{}", context());
    assert_eq!(counts.passed + counts.rejected + counts.undecided, verdicts.len() as u64);
    let (tripped, keys) = (truth.tripped.len() as u64, &report.keys);
    assert!(keys.tripped <= tripped, "{keys:?}, {tripped} tripped\n{}", context());
    assert!(tripped <= keys.tripped + keys.undecided, "{keys:?}, {tripped}\n{}", context());
    for trip in report.trips.iter().chain(&report.closest) {
        let key = String::from_utf8_lossy(&trip.key).into_owned();
        let zone = usize::from(trip.limit.as_deref() == Some("z1"));
        let has_tripped = truth.tripped.contains(&(zone, key.clone()));
        match trip.verdict {
            Verdict::Rejected => assert!(has_tripped, "{key}\n{}", context()),
            Verdict::Passed => assert!(!has_tripped, "{key}\n{}", context()),
            _ => {}
        }
    }
    if settings.len() == 1 {
        let peaks = peaks(settings, requests);
        for trip in report.trips.iter().chain(&report.closest) {
            if trip.limit.as_deref() == Some("z0") {
                let peak = peaks[&*String::from_utf8_lossy(&trip.key)];
                let (lowest, highest) = trip.peak_range;
                assert!(lowest <= peak && peak <= highest, "{peak}: {trip:?}\n{}", context());
            }
        }
    }
    for step in &report.steps {
        let number = step.setting.rsplit(' ').next().and_then(|number| number.parse().ok());
        let limit = vec![(settings[0][0].0, number.expect("a number"))];
        let other = vec![limit; settings.len()];
        let tripped = naive(&other, requests).tripped.len() as u64;
        assert!(step.tripped <= tripped, "{step:?}, {tripped}\n{}", context());
        assert!(tripped <= step.tripped + step.undecided, "{step:?}, {tripped}\n{}", context());
    }
    report
}

/// Whether no two requests arrive or end in the same millisecond.
fn are_apart(requests: &[Request]) -> bool {
    let times = requests.iter().flat_map(|it| [it.begin_us / 1_000, it.end_us / 1_000]);
    times.collect::<BTreeSet<i64>>().len() == requests.len() * 2
}

fn settings() -> impl Strategy<Value = Settings> {
    let limits = prop_oneof![
        4 => (1..6u64).prop_map(|number| vec![(0, number)]),
        2 => (1..6u64, 1..9u64).prop_map(|(one, other)| vec![(0, one), (1, other)]),
        1 => (1..6u64, 1..9u64).prop_map(|(one, other)| vec![(1, one), (0, other)]),
    ];
    prop::collection::vec(limits, 1..4)
}

/// Requests with times in microseconds, some of them at nearly the same time.
fn requests(locations: usize) -> impl Strategy<Value = Vec<Request>> {
    let pause = prop_oneof![4 => 0..900i64, 4 => 0..200_000i64, 1 => 0..3_000_000i64];
    let duration = prop_oneof![2 => 0..2_000i64, 4 => 0..900_000i64, 3 => 0..9_000_000i64];
    let key = || prop_oneof![8 => Just("a"), 3 => Just("b"), 1 => Just("")];
    let request = (pause, duration, key(), key(), 0..locations);
    prop::collection::vec(request, 1..60).prop_map(|list| {
        let mut now_us = 1_700_000_000_001_000;
        let mut times = BTreeSet::new();
        let mut apart = |mut time_us: i64| {
            while !times.insert(time_us) {
                time_us += 1;
            }
            time_us
        };
        let request = |(pause, duration, one, other, location): (i64, i64, &str, &str, usize)| {
            now_us += pause;
            let begin_us = apart(now_us);
            let end_us = apart(begin_us + duration + 1);
            Request { begin_us, end_us, keys: [one.to_owned(), other.to_owned()], location }
        };
        list.into_iter().map(request).collect()
    })
}

fn cases() -> impl Strategy<Value = (Settings, Vec<Request>)> {
    settings().prop_flat_map(|settings| {
        let locations = settings.len();
        (Just(settings), requests(locations))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn milliseconds_decide_as_the_naive_replay((settings, requests) in cases()) {
        // A replay infers the precision from the times of limited requests and from their durations
        // above zero. Times that are mostly whole seconds by chance look like a log in seconds.
        let is_limited = |it: &&Request| {
            settings[it.location].iter().any(|(zone, _)| !it.keys[*zone].is_empty())
        };
        let limited = || requests.iter().filter(is_limited);
        let ends_ms: Vec<i64> = limited().map(|it| it.end_us / 1_000).collect();
        let durations_ms: Vec<i64> = limited()
            .map(|it| it.end_us / 1_000 - it.begin_us / 1_000)
            .filter(|duration_ms| *duration_ms > 0)
            .collect();
        prop_assume!(have_milliseconds(ends_ms.into_iter()));
        let report = assert_bounded(&settings, &requests, MILLISECONDS);
        if are_apart(&requests) && have_milliseconds(durations_ms.into_iter()) {
            prop_assert_eq!(report.exactness, Exactness::Exact);
            prop_assert_eq!(report.requests.undecided, 0);
            prop_assert_eq!(report.keys.undecided, 0);
        }
    }

    #[test]
    fn no_definite_verdict_of_less_exact_times_is_wrong((settings, requests) in cases()) {
        for stamp_ms in [1, 1_000] {
            for duration_ms in [1, 1_000] {
                let precision = Precision { stamp_ms, duration_ms };
                assert_bounded(&settings, &requests, precision);
            }
        }
    }
}

/// Seeded traffic of 40 clients: pages with bursts of files, and slow downloads.
fn traffic(numbers: &mut Numbers) -> Vec<Request> {
    let mut requests = Vec::new();
    for client in 0..40 {
        let mut now_us = 1_700_000_000_000_000 + numbers.below(60_000_000) as i64;
        for _ in 0..5 + numbers.below(20) {
            now_us += numbers.below(5_000_000) as i64;
            for _ in 0..1 + numbers.below(8) {
                now_us += 1 + numbers.below(30_000) as i64;
                let longest_us = [50_000, 400_000, 20_000_000][numbers.below(3) as usize];
                let end_us = now_us + 1 + numbers.below(longest_us) as i64;
                let keys = [format!("c{client}"), "all".to_owned()];
                requests.push(Request { begin_us: now_us, end_us, keys, location: 0 });
            }
        }
    }
    requests
}

#[test]
fn little_cannot_be_told() {
    let mut numbers = Numbers::new(7);
    for (precision, (requests_max, keys_max)) in
        [(MILLISECONDS, MILLISECONDS_SHARE_MAX), (SECONDS, SECONDS_SHARE_MAX)]
    {
        let (mut requests, mut keys) = ((0, 0), (0, 0));
        for _ in 0..40 {
            let settings = vec![vec![(0, 1 + numbers.below(20))]];
            let traffic = traffic(&mut numbers);
            let report = assert_bounded(&settings, &traffic, precision);
            requests = (requests.0 + report.requests.undecided, requests.1 + traffic.len() as u64);
            keys = (keys.0 + report.keys.undecided, keys.1 + report.keys.seen);
        }
        let percent = |(part, all): (u64, u64)| part as f64 * 100.0 / all as f64;
        let shares = (percent(requests), percent(keys));
        assert!(shares.0 < requests_max && shares.1 < keys_max, "{precision:?}: {shares:?}");
    }
}

#[test]
fn a_doubt_does_not_spread() {
    // Twenty downloads begin in one millisecond, and one more in each second after that.
    let line = |begin_ms: i64| {
        format!("{}.001 {}.001 a - \"GET / HTTP/1.1\"", 1_700_000_100, 100 - begin_ms / 1_000)
    };
    let lines: Vec<String> =
        [0; 20].into_iter().chain((1..31).map(|s| s * 1_000)).map(line).collect();
    let text = "limit_conn_zone $http_k0 zone=one:1m; limit_conn one 10;";
    let (verdicts, report) = replay(&*rule(text), &lines);
    assert!(verdicts.iter().all(|(line, verdict)| match line {
        0..20 => *verdict == Verdict::Undecided,
        _ => *verdict == Verdict::Rejected,
    }));
    assert_eq!((report.requests.rejected, report.requests.undecided), (40, 10));
    assert_eq!((report.keys.tripped, report.trips[0].peak), (1, 50.0));
    assert_eq!(report.exactness, Exactness::Bounded);
}

#[test]
fn mistakes_are_refused_at_their_place() {
    let zone = "limit_conn_zone $http_k0 zone=one:10m;\n";
    for (text, place, message) in [
        ("limit_conn on 5;", "on 5", "did you mean `one`?"),
        ("limit_conn one 0;", "0;", "`0` is not a number of connections"),
        ("limit_conn one 65536;", "65536", "from 1 to 65535"),
        ("limit_conn one;", "limit_conn one", "a number"),
        ("limit_conn one 5; limit_conn one 6;", "limit_conn one 6", "already"),
        ("limit_conn_zone zone=two:1m; limit_conn one 1;", "limit_conn_zone zone=two", "the key"),
        ("limit_conn_zone $a zone=two:1m rate=1r/s; limit_conn one 1;", "rate", "not a parameter"),
    ] {
        let text = format!("{zone}{text}");
        let error = parse_rules(&text, "test", None, &RuleFiles::default()).expect_err(&text);
        assert!(error.message.contains(message), "{text}: {}", error.message);
        assert_eq!(Some(error.range.start), text.rfind(place), "{text}");
    }
}

#[test]
fn a_configuration_has_limits_of_both_kinds() {
    let text = "limit_req_zone $http_k0 zone=a:1m rate=1r/s; limit_conn_zone $http_k0 zone=b:1m;
        server { limit_conn b 5; location /x { limit_req zone=a; limit_conn_dry_run on; } }";
    let rules = parse_rules(text, "test", None, &RuleFiles::default()).expect(text);
    let names: Vec<(&str, &str)> =
        rules.iter().map(|rule| (rule.name(), rule.family().name())).collect();
    assert_eq!(names, [("a", "nginx"), ("b", "limit_conn")]);
    let notes: Vec<&str> = rules[1].notes().iter().map(|note| &*note.message).collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    let several = text
        .replace("server {", "limit_req_zone $a zone=c:1m; limit_conn_zone $a zone=d:1m; server {");
    let rules = parse_rules(&several, "nginx.conf", None, &RuleFiles::default()).expect(text);
    let names: Vec<&str> = rules.iter().map(|rule| rule.name()).collect();
    assert_eq!(names, ["nginx.conf", "nginx.conf-limit_conn"]);
}

#[test]
fn a_log_without_request_times_is_refused() {
    let rule = rule("limit_conn_zone $remote_addr zone=one:1m; limit_conn one 10;");
    let format = Format::parse("$remote_addr $msec \"$request\"").expect("a format");
    let error = rule.bind(&format.record_fields()).err().expect("it is refused");
    assert!(error.message.contains("add $request_time to log_format"), "{error}");
}

#[test]
fn a_long_key_and_a_missing_request_time_are_left_out() {
    let lines = [
        format!("1700000000.001 0.001 {} - \"GET / HTTP/1.1\"", "k".repeat(256)),
        "1700000000.001 - k - \"GET / HTTP/1.1\"".to_owned(),
        format!("1700000000.001 0.001 {} - \"GET / HTTP/1.1\"", "k".repeat(255)),
    ];
    let text = "limit_conn_zone $http_k0 zone=one:1m; limit_conn one 10;";
    let (verdicts, report) = replay(&*rule(text), &lines);
    assert_eq!(verdicts, BTreeMap::from([(2, Verdict::Passed)]));
    assert_eq!(report.requests.undecided, 1);
    assert_eq!(report.exactness, Exactness::Bounded);
}
