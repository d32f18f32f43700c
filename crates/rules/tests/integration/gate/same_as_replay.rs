//! The same requests have the same decisions in a gate and in a replay over their log.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use weir_rules::{GateOptions, Verdict};

use super::traffic::{Decided, Request, decide, gate_with, replay, requests, rule};

/// Asserts that a gate and a replay decide the same, except where the log is not decisive.
fn assert_same(text: &str, requests: &[Request]) -> Result<(), TestCaseError> {
    for (at, (decided, replayed)) in both(text, requests)?.into_iter().enumerate() {
        if replayed.0 != Verdict::Undecided {
            prop_assert_eq!(decided, replayed, "request {} of {}", at, text);
        }
    }
    Ok(())
}

/// The decisions of a gate and of a replay over the log of the same requests.
fn both(text: &str, requests: &[Request]) -> Result<Vec<(Decided, Decided)>, TestCaseError> {
    let rule = rule(text);
    let mut gate = gate_with(&*rule, GateOptions::default());
    let decided = decide(&mut *gate, requests);
    let arrivals_ns: Vec<i64> = decided.iter().map(|(_, arrival_ns)| *arrival_ns).collect();
    prop_assert!(arrivals_ns.is_sorted_by(|one, next| one < next), "no two have the same time");
    let replayed = replay(&*rule, requests, &arrivals_ns);
    Ok(decided.into_iter().map(|(decided, _)| decided).zip(replayed).collect())
}

/// One to three limits of nginx, with keys of all kinds: of the client, of a header that may be
/// missing, and with an allow list.
fn limit_req() -> impl Strategy<Value = String> {
    let rate = prop_oneof![
        (1..20u32).prop_map(|rate| format!("{rate}r/s")),
        (1..120u32).prop_map(|rate| format!("{rate}r/m")),
    ];
    let burst = prop_oneof![Just(String::new()), (1..8u32).prop_map(|it| format!(" burst={it}"))];
    let delay = prop::sample::select(&["", " nodelay", " delay=2"][..]);
    let key = prop::sample::select(
        &["$binary_remote_addr", "$http_x_key", "$limited", "$uri$http_x_key", "$host_key"][..],
    );
    let is_in_location = any::<bool>();
    prop::collection::vec((rate, burst, delay, key, is_in_location), 1..4).prop_map(|limits| {
        let mut text = "geo $limited { default $remote_addr; 198.51.100.0/24 \"\"; }\n\
                        map $http_x_key $host_key { default all; b \"\"; }\n"
            .to_owned();
        let (mut everywhere, mut within) = (String::new(), String::new());
        for (number, (rate, burst, delay, key, is_in_location)) in limits.iter().enumerate() {
            text += &format!("limit_req_zone {key} zone=z{number}:1m rate={rate};\n");
            let limit = format!("limit_req zone=z{number}{burst}{delay};\n");
            if *is_in_location { within += &limit } else { everywhere += &limit }
        }
        text + "server {\n"
            + &everywhere
            + "location /api/ {\n"
            + &within
            + "}\nlocation /gone { return 410; }\n}"
    })
}

/// A limit in a window, with every algorithm that decides when a request arrives.
fn window() -> impl Strategy<Value = String> {
    let algorithm = prop::sample::select(
        &[
            "sliding",
            "sliding-log",
            "fixed",
            "first",
            "two-periods",
            "token-bucket burst 3",
            "token-bucket",
            "leaky-bucket burst 4",
        ][..],
    );
    let window_ms = prop_oneof![Just(1_000), 100..8_000u32, Just(60_000)];
    let key = prop::sample::select(
        &["by client", "by client/24/64", "by hash(http_x_key), path", "by http_x_key", ""][..],
    );
    let condition =
        prop::sample::select(&["", "where path^=/api and not client=2001:db8::/32"][..]);
    (algorithm, 1..9u32, window_ms, key, condition).prop_map(
        |(algorithm, count, window_ms, key, condition)| {
            format!("limit {count} in {window_ms}ms {key} {condition} as {algorithm}")
        },
    )
}

/// One or two limits of nginx on the requests that are served at the same time.
fn limit_conn() -> impl Strategy<Value = String> {
    let key = prop::sample::select(&["$binary_remote_addr", "$http_x_key", "$limited", "$uri"][..]);
    prop::collection::vec((key, 1..5u32), 1..3).prop_map(|limits| {
        let mut text = "geo $limited { default $remote_addr; 198.51.100.0/24 \"\"; }\n".to_owned();
        for (number, (key, connections)) in limits.iter().enumerate() {
            text += &format!(
                "limit_conn_zone {key} zone=z{number}:1m;\nlimit_conn z{number} {connections};\n"
            );
        }
        text
    })
}

/// A limit on the requests of a key that are served at the same time.
fn at_once() -> impl Strategy<Value = String> {
    let key = prop::sample::select(&["by client", "by http_x_key where path^=/api", ""][..]);
    (1..5u32, key).prop_map(|(count, key)| format!("limit {count} at once {key}"))
}

/// Lists, with networks and conditions.
const LISTS: [&str; 3] = [
    "192.0.2.7\n2001:db8::/32",
    "allow 192.0.2.8;\ndeny 192.0.2.0/24;\ndeny where path^=/api and http_x_key=b\nallow all;",
    "allow where http_x_key=a\ndeny all;",
];

/// Limits of other software.
const PRESETS: [&str; 7] = [
    "DOSPageCount 2\nDOSPageInterval 1\nDOSSiteCount 5\nDOSSiteInterval 3\nDOSBlockingPeriod 4",
    "DOSPageCount 1\nDOSPageInterval 5\nDOSSiteCount 9\nDOSBlockingPeriod 2",
    "rate_limit {\nzone a {\nkey {remote_host}\nevents 3\nwindow 2s\n}\n}",
    "frontend f\nstick-table type ip size 1m store http_req_rate(3s)\nhttp-request track-sc0 src\n\
     http-request deny if { sc_http_req_rate(0) gt 2 }",
    "rateLimit:\n  average: 3\n  burst: 2",
    "rateLimit:\n  average: 30\n  period: 1m\n  burst: 1",
    "rateLimit:\n  average: 2\n  burst: 4\n  sourceCriterion:\n    requestHeaderName: X-Key",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn limits_of_nginx(text in limit_req(), requests in requests()) {
        assert_same(&text, &requests)?;
    }

    #[test]
    fn limits_in_windows(text in window(), requests in requests()) {
        assert_same(&text, &requests)?;
    }

    #[test]
    fn limits_of_what_nginx_serves_at_once(text in limit_conn(), requests in requests()) {
        for (at, (decided, replayed)) in both(&text, &requests)?.into_iter().enumerate() {
            // If two limits reject a request, the log does not show which was first if others
            // arrived in the same millisecond.
            if replayed.0 != Verdict::Undecided {
                prop_assert_eq!(decided.0, replayed.0, "request {} of {}", at, text);
            }
        }
    }

    #[test]
    fn limits_of_requests_at_once(text in at_once(), requests in requests()) {
        assert_same(&text, &requests)?;
    }

    #[test]
    fn lists(text in prop::sample::select(&LISTS[..]), requests in requests()) {
        assert_same(text, &requests)?;
    }

    #[test]
    fn limits_of_other_software(
        text in prop::sample::select(&PRESETS[..]),
        requests in requests(),
    ) {
        assert_same(text, &requests)?;
    }
}

/// Otherwise the properties above would hold for a replay that decides nothing.
#[test]
fn a_log_decides_most_of_its_requests() {
    let mut runner = TestRunner::deterministic();
    for text in [limit_req().boxed(), window().boxed(), limit_conn().boxed(), at_once().boxed()] {
        let (mut undecided, mut rejected, mut all) = (0, 0, 0);
        for _ in 0..100 {
            let case = (text.clone(), requests()).new_tree(&mut runner).expect("a case");
            let (text, requests) = case.current();
            for (_, (verdict, ..)) in both(&text, &requests).expect(&text) {
                all += 1;
                undecided += u32::from(verdict == Verdict::Undecided);
                rejected += u32::from(verdict == Verdict::Rejected);
            }
        }
        assert!(
            undecided < all / 2 && rejected > all / 20,
            "{undecided} undecided and {rejected} rejected of {all} by {text:?}"
        );
    }
}
