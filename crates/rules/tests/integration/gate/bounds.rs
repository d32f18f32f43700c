//! The remaining quota that a gate reports, and the keys and memory that it holds.

use proptest::prelude::*;
use weir_core::{Format, Record};
use weir_rules::{Gate, GateOptions, GateUsage, GateVerdict, RuleFiles, Verdict, parse_rules};

use super::traffic::{Parser, Request, START_NS, arriving_line, decide, gate_with, requests, rule};

const SECOND_NS: i64 = 1_000_000_000;

const HERE: Request =
    Request { now_ns: START_NS, duration_ns: 0, client: "192.0.2.7", path: "/", key: "-" };

/// A rule of each family that limits, with one limit.
const SINGLE: [&str; 11] = [
    "limit_req_zone $remote_addr zone=one:1m rate=3r/s; limit_req zone=one burst=4 nodelay;",
    "limit_req_zone $remote_addr zone=one:1m rate=50r/m; limit_req zone=one burst=2;",
    "limit 3 in 2s by client",
    "limit 3 in 2s by client as sliding-log",
    "limit 3 in 2s by client as fixed",
    "limit 3 in 2s by client as first",
    "limit 3 in 2s by client as two-periods",
    "limit 3 in 2s by client as token-bucket burst 5",
    "limit 3 in 2s by client as leaky-bucket burst 2",
    "rateLimit:\n  average: 3\n  burst: 2",
    "frontend f\nstick-table type ip size 1m store http_req_rate(3s)\nhttp-request track-sc0 src\n\
     http-request deny if { sc_http_req_rate(0) gt 2 }",
];

/// The verdict about one request after others.
fn verdict_after(text: &str, requests: &[Request], last: Request) -> Verdict {
    let mut requests = requests.to_vec();
    requests.push(last);
    let mut gate = gate_with(&*rule(text), GateOptions::default());
    decide(&mut *gate, &requests).pop().expect("a decision").0.0
}

/// The verdict about the next request, the remaining quota, and the seconds until it grows.
fn next(gate: &mut dyn Gate, request: &Request) -> (GateVerdict, u64, Option<u64>) {
    let line = arriving_line(request);
    let mut record = Record::new();
    Parser::of_arrivals().parse(&line, &mut record);
    let decision = gate.decide(&record, request.now_ns);
    let quota = decision.quota.expect("a limit applies");
    (decision.verdict, quota.remaining, quota.reset_s)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn a_client_that_waits_as_long_as_it_is_told_passes(
        text in prop::sample::select(&SINGLE[..]),
        requests in requests(),
    ) {
        let mut gate = gate_with(&*rule(text), GateOptions::default());
        let (_, arrival_ns) = decide(&mut *gate, &requests).pop().expect("a decision");
        let again = Request { now_ns: arrival_ns, ..requests.last().expect("a request").clone() };
        if let (GateVerdict::Rejected { retry_after_s }, remaining, reset_s) = next(&mut *gate, &again) {
            prop_assert_eq!((remaining, reset_s), (0, retry_after_s));
            let wait_s = retry_after_s.expect("waiting helps") as i64;
            let after = |wait_s| {
                let now_ns = arrival_ns + 1 + wait_s * SECOND_NS;
                let mut requests = requests.clone();
                requests.push(again.clone());
                verdict_after(text, &requests, Request { now_ns, ..again.clone() })
            };
            prop_assert_ne!(after(wait_s), Verdict::Rejected);
            prop_assert!(wait_s == 1 || after(wait_s - 1) == Verdict::Rejected, "{}", wait_s);
        }
    }

    #[test]
    fn as_many_requests_pass_as_remain(
        text in prop::sample::select(&SINGLE[..]),
        requests in requests(),
    ) {
        let mut gate = gate_with(&*rule(text), GateOptions::default());
        let (_, arrival_ns) = decide(&mut *gate, &requests).pop().expect("a decision");
        let again = Request { now_ns: arrival_ns, ..requests.last().expect("a request").clone() };
        let (_, remaining, _) = next(&mut *gate, &again);
        for _ in 0..remaining {
            let (verdict, ..) = next(&mut *gate, &again);
            prop_assert!(!matches!(verdict, GateVerdict::Rejected { .. }), "{:?}", verdict);
        }
        let (verdict, ..) = next(&mut *gate, &again);
        prop_assert!(matches!(verdict, GateVerdict::Rejected { .. }), "{:?}", verdict);
    }
}

#[test]
fn answers_have_the_fields_of_the_draft() {
    for (text, policy, first, last) in [
        (SINGLE[0], r#""one";q=5;w=2"#, r#""one";r=4;t=1"#, r#""one";r=0;t=1"#),
        (SINGLE[1], r#""one";q=3;w=4"#, r#""one";r=2;t=2"#, r#""one";r=0;t=2"#),
        (SINGLE[2], r#""test";q=3;w=2"#, r#""test";r=2;t=2"#, r#""test";r=0;t=2"#),
        (SINGLE[7], r#""test";q=5;w=4"#, r#""test";r=4;t=1"#, r#""test";r=0;t=1"#),
        (
            "limit 1 in 1d named daily",
            r#""daily";q=1;w=86400"#,
            r#""daily";r=0;t=86400"#,
            r#""daily";r=0;t=86400"#,
        ),
    ] {
        let mut gate = gate_with(&*rule(text), GateOptions::default());
        let line = arriving_line(&HERE);
        let mut record = Record::new();
        Parser::of_arrivals().parse(&line, &mut record);
        let quota = gate.decide(&record, START_NS).quota.expect(text);
        assert_eq!((quota.policy.to_string(), quota.to_string()), (policy.into(), first.into()));
        let mut rejected = None;
        for _ in 0..9 {
            let decision = gate.decide(&record, START_NS);
            if let GateVerdict::Rejected { .. } = decision.verdict {
                rejected = decision.quota.map(|quota| quota.to_string());
            }
        }
        assert_eq!(rejected.as_deref(), Some(last), "{text}");
    }
}

/// Sends a request with each key, a tenth of a millisecond apart.
fn send_keys(gate: &mut dyn Gate, keys: std::ops::Range<u32>) -> Vec<GateVerdict> {
    let mut parser = Parser::of_arrivals();
    let verdict = |key: u32| {
        let line = format!(r#"192.0.2.7 "GET /{key:08} HTTP/1.1" key-{key:08}"#);
        let mut record = Record::new();
        parser.parse(&line, &mut record);
        gate.decide(&record, START_NS + i64::from(key) * 100_000).verdict
    };
    keys.map(verdict).collect()
}

#[test]
fn ten_thousand_new_keys_a_second_take_no_more_memory() {
    let options = GateOptions { keys_max: 5_000, bytes_max: 1 << 20 };
    for text in [
        "limit_req_zone $http_x_key zone=one:10m rate=1r/m; limit_req zone=one;",
        "limit_req_zone $http_x_key zone=one:100k rate=1r/m; limit_req zone=one;",
        "limit 5 in 1h by http_x_key",
        "limit 5 in 1h by http_x_key as sliding-log",
        "limit 5 in 100ms by http_x_key as two-periods",
        "limit 5 in 1h by http_x_key as token-bucket",
        "DOSPageCount 2",
    ] {
        let mut gate = gate_with(&*rule(text), options);
        send_keys(&mut *gate, 0..60_000);
        let GateUsage { keys, memory_bytes, evicted, .. } = gate.usage();
        send_keys(&mut *gate, 60_000..200_000);
        let usage = gate.usage();
        assert_eq!((usage.keys, usage.memory_bytes), (keys, memory_bytes), "{text}");
        assert!(keys <= 5_001 && memory_bytes <= 2 << 20, "{text}: {usage:?}");
        let forgets_by_itself = text.contains("100ms");
        assert_eq!(usage.evicted == 0, forgets_by_itself, "{text}: {evicted} {usage:?}");
    }
}

#[test]
fn a_full_zone_of_nginx_frees_the_oldest_node() {
    // 32 KiB are 256 nodes of 128 bytes.
    let text = "limit_req_zone $http_x_key zone=one:32k rate=1r/m; limit_req zone=one;";
    let mut gate = gate_with(&*rule(text), GateOptions::default());
    send_keys(&mut *gate, 0..257);
    assert_eq!((gate.usage().keys, gate.usage().evicted), (256, 1));
    let again = |key: u32, gate: &mut dyn Gate| send_keys(gate, key..key + 1).remove(0);
    assert!(matches!(again(1, &mut *gate), GateVerdict::Rejected { .. }), "it is remembered");
    assert_eq!(again(0, &mut *gate), GateVerdict::Passed, "it was freed");
    assert!(matches!(again(1, &mut *gate), GateVerdict::Rejected { .. }), "it was used again");
    assert_eq!(again(2, &mut *gate), GateVerdict::Passed, "it was the oldest");
}

#[test]
fn a_key_that_is_larger_than_its_zone_is_rejected() {
    let text = "limit_req_zone $request_uri zone=one:32k rate=1r/s; limit_req zone=one;";
    let mut gate = gate_with(&*rule(text), GateOptions::default());
    let mut parser = Parser::of_arrivals();
    let mut verdict = |bytes: usize| {
        let line = format!(r#"192.0.2.7 "GET /{} HTTP/1.1" -"#, "a".repeat(bytes));
        let mut record = Record::new();
        parser.parse(&line, &mut record);
        gate.decide(&record, START_NS).verdict
    };
    assert_eq!(verdict(20_000), GateVerdict::Passed);
    assert_eq!(verdict(40_000), GateVerdict::Rejected { retry_after_s: Some(1) });
    assert_eq!(verdict(20_000), GateVerdict::Passed, "its node made no room for the larger one");
    assert_eq!((gate.usage().keys, gate.usage().no_room), (1, 1));
}

#[test]
fn a_clock_that_is_set_back_begins_anew() {
    for text in SINGLE {
        let mut gate = gate_with(&*rule(text), GateOptions::default());
        let mut at = |now_ns| next(&mut *gate, &Request { now_ns, ..HERE }).0;
        let is_rejected = |verdict| matches!(verdict, GateVerdict::Rejected { .. });
        assert!((0..9).any(|_| is_rejected(at(START_NS))), "{text}");
        assert!(is_rejected(at(START_NS - 59 * SECOND_NS)), "{text}");
        assert_eq!(at(START_NS - 61 * SECOND_NS), GateVerdict::Passed, "{text}");
        assert!((0..9).any(|_| is_rejected(at(START_NS - 61 * SECOND_NS))), "{text}");
        assert_eq!(at(START_NS + 86_400 * SECOND_NS), GateVerdict::Passed, "{text}");
        for now_ns in [i64::MAX, i64::MAX, i64::MIN, i64::MIN, 0, i64::MAX] {
            at(now_ns);
        }
        assert_eq!(gate.usage().clock_resets, 2, "{text}");
    }
}

#[test]
fn a_dry_run_is_that_of_the_level_or_of_the_one_around_it() {
    let text = "limit_req_zone $remote_addr zone=one:1m rate=1r/s;
        server { limit_req zone=one; limit_req_dry_run on;
            location /api { limit_req zone=one burst=1; }
            location /api/a { limit_req_dry_run off; } }";
    let connections = text.replace("limit_req_zone", "limit_conn_zone").replace("rate=1r/s", "");
    let connections = connections
        .replace("limit_req zone=one burst=1", "limit_conn one 1")
        .replace("limit_req zone=one", "limit_conn one 2")
        .replace("limit_req_dry_run", "limit_conn_dry_run");
    for text in [text, &connections] {
        let mut gate = gate_with(&*rule(text), GateOptions::default());
        for (path, expected) in [("/", true), ("/api/b", true), ("/api/a", false), ("/gone", true)]
        {
            let line = arriving_line(&Request { path, ..HERE });
            let mut record = Record::new();
            Parser::of_arrivals().parse(&line, &mut record);
            assert_eq!(gate.decide(&record, START_NS).is_dry_run, expected, "{path} of {text}");
        }
    }
}

#[test]
fn a_place_is_free_when_its_request_has_ended() {
    for text in [
        "limit 2 at once by client",
        "limit_conn_zone $remote_addr zone=test:1m; limit_conn test 2;",
    ] {
        let mut gate = gate_with(&*rule(text), GateOptions::default());
        let line = arriving_line(&HERE);
        let mut record = Record::new();
        Parser::of_arrivals().parse(&line, &mut record);
        let mut places = Vec::new();
        for remaining in [1, 0] {
            let decision = gate.decide(&record, START_NS);
            let quota = decision.quota.expect("a limit");
            assert_eq!(quota.policy.to_string(), r#""test";q=2;qu="concurrent-requests""#);
            assert_eq!(quota.to_string(), format!(r#""test";r={remaining}"#));
            places.extend(decision.place);
        }
        let is_rejected = |gate: &mut dyn Gate| {
            let decision = gate.decide(&record, START_NS);
            assert_eq!(decision.place.is_some(), decision.verdict == GateVerdict::Passed);
            let is_rejected = decision.verdict == GateVerdict::Rejected { retry_after_s: Some(1) };
            (is_rejected, decision.place)
        };
        assert_eq!(is_rejected(&mut *gate), (true, None));
        assert_eq!(gate.usage().keys, 1);
        gate.release(places.pop().expect("two have places"));
        let (is_full, place) = is_rejected(&mut *gate);
        assert!(!is_full && is_rejected(&mut *gate).0, "{text}");
        places.into_iter().chain(place).for_each(|place| gate.release(place));
        assert_eq!(gate.usage().keys, 0);
    }
}

#[test]
fn a_key_without_room_has_no_place() {
    for text in [
        "limit 9 at once by http_x_key",
        "limit_conn_zone $http_x_key zone=one:1m; limit_conn one 9;",
    ] {
        for options in [
            GateOptions { keys_max: 3, ..GateOptions::default() },
            GateOptions { bytes_max: 256, ..GateOptions::default() },
        ] {
            let mut gate = gate_with(&*rule(text), options);
            let verdicts = send_keys(&mut *gate, 0..5);
            let passed = verdicts.iter().filter(|it| **it == GateVerdict::Passed).count();
            let usage = gate.usage();
            assert_eq!((usage.keys as u64, usage.no_room), (passed as u64, 5 - passed as u64));
            assert!((3..5).contains(&passed), "{text}: {verdicts:?}");
        }
    }
}

#[test]
fn a_client_on_hold_passes_after_it() {
    let text = "DOSPageCount 2\nDOSPageInterval 9\nDOSSiteCount 50\nDOSBlockingPeriod 7";
    let mut gate = gate_with(&*rule(text), GateOptions::default());
    let line = arriving_line(&HERE);
    let mut record = Record::new();
    Parser::of_arrivals().parse(&line, &mut record);
    let mut verdict = |second: i64| gate.decide(&record, START_NS + second * SECOND_NS).verdict;
    let rejected = GateVerdict::Rejected { retry_after_s: Some(9) };
    let verdicts = [0, 0, 0, 0, 6, 12, 18, 27].map(&mut verdict);
    assert_eq!(verdicts[..3], [GateVerdict::Passed; 3]);
    assert_eq!(verdicts[3..7], [rejected; 4], "each begins the hold again");
    assert_eq!(verdicts[7], GateVerdict::Passed);
}

#[test]
fn a_rule_names_the_headers_that_it_needs() {
    for text in [
        "limit_req_zone $http_x_key zone=a:1m rate=1r/s; limit_req zone=a;",
        "limit_conn_zone $http_x_key zone=a:1m; limit_conn a 1;",
        "limit 5 in 1m by http_x_key",
        "limit 5 in 1m by client where http_x_key=a",
        "deny where http_x_key=a",
        "rateLimit:\n  average: 2\n  sourceCriterion:\n    requestHeaderName: X-Key",
    ] {
        assert!(rule(text).named_fields().contains(&"http_x_key".to_owned()), "{text}");
    }
}

#[test]
fn what_cannot_be_enforced_is_named() {
    let format = Format::parse(r#"$remote_addr "$request" $http_x_key $status"#).expect("a format");
    for (text, reason) in [
        ("limit 5 in 1m by client where status=404", "`status` is only known when"),
        ("limit 5 in 1m by status_class", "`status_class` is only known when"),
        ("limit 5 in 1m where googlebot", "the condition `googlebot` searches all fields"),
        ("deny where not (curl or path=/)", "the condition `not (curl or path=/)` searches all"),
        ("deny where bytes>1000", "`bytes` is only known when"),
        ("SecRule ARGS a deny", "rules of ModSecurity are read for what a log has"),
        ("limit 5 in 1m by http_x_other", "`http_x_other` is not a field of a request when it"),
        ("limit 900000000 in 1d by client", "the times of 900000000 requests of a client are more"),
        (
            "limit_req_zone $upstream_addr zone=a:1m rate=1r/s; limit_req zone=a;",
            "`upstream_addr` is only known when",
        ),
        (
            "limit_req_zone $geoip_city zone=a:1m rate=1r/s; limit_req zone=a;",
            "`geoip_city` is not a field of a request when it arrives",
        ),
        (r#"{"RateBasedStatement": {"Limit": 2000}}"#, "how this service counts is not published"),
        (
            "[web]\nfailregex = ^<HOST> x",
            "the family `fail2ban` looks at requests that were answered",
        ),
    ] {
        let rules = parse_rules(text, "test", None, &RuleFiles::default()).expect(text);
        let gate = rules[0].gate(&format.record_fields(), GateOptions::default());
        let error = gate.err().expect(text);
        assert!(error.message.starts_with(reason), "{text}: {error}");
    }
}
