//! Replays of a single limit key by key, compared with those in the order of arrivals.

use proptest::prelude::*;

use weir_core::PatternBudget;

use super::replay::LimitReplay;
use super::{LimitReq, bounded, bounded_by_key, exact, level};
use crate::engine::Outcome;
use crate::event::{EventHead, Events};
use crate::keys::ZoneSummary;
use crate::nginx::configuration::directives;
use crate::report::{RuleReport, Verdict};
use crate::rule::Replay;

/// Reads a rule.
fn parse(text: &str) -> LimitReq {
    LimitReq::read(&directives(text).expect(text), "one", &PatternBudget::default()).expect(text)
}

/// A rule with one limit.
fn rule() -> impl Strategy<Value = LimitReq> {
    let delay = prop_oneof![Just("nodelay"), Just(""), Just("delay=2")];
    (1..40i64, prop_oneof!["r/s", "r/m"], 0..8i64, delay).prop_map(|(rate, unit, burst, delay)| {
        let text = format!(
            "limit_req_zone $a zone=one:1m rate={rate}{unit};
                 limit_req zone=one burst={} {delay};",
            burst.max(1)
        );
        parse(&text)
    })
}

/// Requests: their time and key number. Times go back and pause for minutes.
fn requests() -> impl Strategy<Value = Vec<(i64, u8)>> {
    let step_ms = prop_oneof![8 => 0..40i64, 2 => -500..2_000i64, 1 => 50_000..150_000i64];
    prop::collection::vec((step_ms, 0..4u8), 1..120).prop_map(|steps| {
        let mut now_ms = 1_700_000_000_001;
        let requests = steps.into_iter().map(|(step_ms, key)| {
            now_ms += step_ms;
            (now_ms, key)
        });
        requests.collect()
    })
}

/// The replay before its end, with times rounded down to `unit_ms`. Key 0 means no key.
fn begin<'r>(rule: &'r LimitReq, requests: &[(i64, u8)], unit_ms: i64) -> LimitReplay<'r> {
    let mut events = Events::default();
    for (line, (time_ms, key)) in requests.iter().enumerate() {
        let time_ns = (time_ms - time_ms % unit_ms) * 1_000_000;
        let key = if *key == 0 { String::new() } else { key.to_string() };
        let head = EventHead { line: line as u64, time_ns: Some(time_ns), ..EventHead::default() };
        assert!(events.put(head, [key.as_bytes()]));
    }
    let mut replay = LimitReplay::new(rule);
    events.iter().for_each(|event| replay.take(0, event.line, &event));
    replay
}

/// The report of a replay, in which rejected and undecided requests are added up.
fn run(
    replay: &LimitReplay<'_>,
    run: impl FnOnce(&mut ZoneSummary, &mut [Outcome]),
) -> (RuleReport, Vec<Outcome>) {
    let (zones, arrivals) = replay.parts();
    let mut summary = ZoneSummary::new(zones);
    let mut outcomes = vec![Outcome::UNDECIDED; arrivals.list.len()];
    run(&mut summary, &mut outcomes);
    (replay.report(&summary), outcomes)
}

fn without_doubt(mut report: RuleReport) -> RuleReport {
    let keys = report.trips.iter_mut().chain(&mut report.closest);
    for counts in keys.map(|key| &mut key.requests).chain([&mut report.requests]) {
        counts.rejected += std::mem::take(&mut counts.undecided);
    }
    report
}

proptest! {
    #[test]
    fn keys_one_after_another_are_decided_as_in_the_order_of_arrivals(
        rule in rule(), requests in requests(),
    ) {
        let replay = begin(&rule, &requests, 1);
        let found = run(&replay, |summary, outcomes| {
            replay.replay(summary, Some(outcomes));
        });
        let expected = run(&replay, |summary, outcomes| {
            exact::replay(&rule, replay.parts().1, &replay.order(), summary, Some(outcomes));
        });
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn keys_with_whole_seconds_are_bounded_as_in_the_order_of_arrivals(
        rule in rule(), requests in requests(),
    ) {
        let replay = begin(&rule, &requests, 1_000);
        let (report, outcomes) = run(&replay, |summary, outcomes| {
            replay.replay(summary, Some(outcomes));
        });
        let (expected, expected_outcomes) = run(&replay, |summary, outcomes| {
            bounded::replay(&rule, replay.parts().1, &replay.order(), summary, Some(outcomes));
        });
        prop_assert_eq!(outcomes, expected_outcomes);
        prop_assert!(report.requests.undecided <= expected.requests.undecided);
        prop_assert_eq!(without_doubt(report), without_doubt(expected));
    }

    #[test]
    fn levels_of_64_bits_are_those_of_128(rule in rule(), requests in requests()) {
        let replay = begin(&rule, &requests, 1_000);
        let limit = rule.single_limit().expect("it has one");
        let rate = rule.zones()[limit.zone].parameters.rate;
        let (requests, by_key) = (replay.parts().1, replay.by_key(limit));
        let work = |wide: bool| run(&replay, |summary, outcomes| {
            let replay = if wide {
                bounded_by_key::replay_with::<i128>
            } else {
                bounded_by_key::replay_with::<i64>
            };
            replay(limit, rate, requests, by_key, summary, Some(outcomes));
        });
        prop_assert!(level::fits_64_bits(rate, limit.burst, 1 << 40));
        prop_assert_eq!(work(true), work(false));
    }
}

#[test]
fn a_request_without_a_key_passes() {
    let text = "limit_req_zone $a zone=one:1m rate=1r/m; limit_req zone=one;";
    let rule = parse(text);
    for unit_ms in [1, 1_000] {
        let replay = begin(&rule, &[(1_001, 0), (1_001, 0), (1_001, 1)], unit_ms);
        let (report, outcomes) = run(&replay, |summary, outcomes| {
            replay.replay(summary, Some(outcomes));
        });
        assert_eq!((report.requests.passed, report.keys.seen), (3, 1));
        assert!(outcomes.iter().all(|outcome| outcome.verdict == Verdict::Passed));
    }
}
