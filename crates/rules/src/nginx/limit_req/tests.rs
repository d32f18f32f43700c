//! Replays of a single limit key by key, compared with those in the order of arrivals.

use std::collections::BTreeMap;

use proptest::prelude::*;

use weir_core::PatternBudget;

use super::replay::LimitReplay;
use super::{Limit, LimitReq, bounded, bounded_by_key, exact, level};
use crate::engine::Outcome;
use crate::event::{EventHead, Events};
use crate::keys::ZoneSummary;
use crate::nginx::configuration::{NUMBER_MAX, directives};
use crate::report::{RequestCounts, RuleReport, Trip, Verdict};
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

/// A rule with up to three limits for each request, of which two share a zone.
fn rule_of_several() -> impl Strategy<Value = LimitReq> {
    rule_with_rates(1..60i64)
}

/// The same with rates from these numbers.
fn rule_with_rates(rate: impl Strategy<Value = i64>) -> impl Strategy<Value = LimitReq> {
    let limit = (rate, prop_oneof!["r/s", "r/m"], 1..12i64);
    (prop::collection::vec(limit, 1..4), 0..12i64).prop_map(|(limits, other)| {
        let (mut zones, mut applied) = (String::new(), String::new());
        for (number, (rate, unit, burst)) in limits.iter().enumerate() {
            let key = ["$a", "one$a", "x$a"][number];
            zones += &format!("limit_req_zone {key} zone=z{number}:1m rate={rate}{unit};\n");
            applied += &format!("limit_req zone=z{number} burst={burst} nodelay;\n");
        }
        parse(&format!(
            "{zones}server {{ location / {{ {applied} }}
             location /other {{ limit_req zone=z0 burst={} nodelay; }} }}",
            other.max(1)
        ))
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
        let tag = (line % rule.limit_sets().len()) as u32;
        let head =
            EventHead { line: line as u64, time_ns: Some(time_ns), tag, ..EventHead::default() };
        // The second zone has one key for all requests.
        let of_zone = |limit: &Limit| if limit.zone == 1 { "one" } else { &key };
        assert!(events.put(head, rule.limits(tag).iter().map(|limit| of_zone(limit).as_bytes())));
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

/// The keys of a report, and what is known about each.
fn keys(report: &RuleReport) -> BTreeMap<(Option<String>, Vec<u8>), &Trip> {
    let keys = report.trips.iter().chain(&report.closest);
    keys.map(|key| ((key.limit.clone(), key.key.clone()), key)).collect()
}

/// What is certain, with undecided requests as rejected ones, and without estimates.
fn without_doubt(mut report: RuleReport) -> RuleReport {
    report.estimate = None;
    report.steps.iter_mut().for_each(|step| step.likely = None);
    for keys in [&mut report.trips, &mut report.closest] {
        for key in keys.iter_mut() {
            // The likeliest peak, and its request.
            (key.likely_rejected, key.peak, key.margin, key.time_ns, key.line) = Default::default();
        }
        keys.sort_by(|one, other| one.key.cmp(&other.key));
    }
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
    fn what_whole_seconds_tell_holds_for_the_true_times(
        rule in prop_oneof![rule(), rule_of_several()], requests in requests(),
    ) {
        let report = |unit_ms: i64| {
            let replay = begin(&rule, &requests, unit_ms);
            run(&replay, |summary, outcomes| replay.replay(summary, Some(outcomes))).0
        };
        let (bounds, truth) = (report(1_000), report(1));
        let within = |bounds: &RequestCounts, truth: &RequestCounts| {
            let counts = |it: &RequestCounts| [it.passed, it.delayed, it.rejected];
            let mut counts = counts(bounds).into_iter().zip(counts(truth));
            counts.all(|(least, count)| (least..=least + bounds.undecided).contains(&count))
        };
        prop_assert!(within(&bounds.requests, &truth.requests), "{bounds:?}\n{truth:?}");
        let is_possible = |likely: u64, known: &RequestCounts| {
            (known.rejected..=known.rejected + known.undecided).contains(&likely)
        };
        let estimate = bounds.estimate.map(|estimate| estimate.rejected);
        prop_assert!(estimate.is_none_or(|likely| is_possible(likely, &bounds.requests)), "{bounds:?}");
        for key in bounds.trips.iter().chain(&bounds.closest) {
            prop_assert_eq!(key.likely_rejected.is_some(), key.requests.undecided > 0);
            let likely = key.likely_rejected.unwrap_or(key.requests.rejected);
            prop_assert!(is_possible(likely, &key.requests), "{key:?}");
            let (lowest, highest) = key.peak_range;
            prop_assert!(lowest <= key.peak && key.peak <= highest, "{key:?}");
        }
        let (bounded, truth) = (keys(&bounds), keys(&truth));
        prop_assert!(bounded.keys().eq(truth.keys()));
        for (key, truth) in truth {
            let bounds = bounded[&key];
            prop_assert!(within(&bounds.requests, &truth.requests), "{bounds:?}\n{truth:?}");
            // Of several limits, a peak without rejections depends on when nginx forgets the key.
            let (lowest, highest) = bounds.peak_range;
            let is_inside = lowest <= truth.peak_range.0 && truth.peak_range.1 <= highest;
            prop_assert!(is_inside || rule.single_limit().is_none(), "{bounds:?}\n{truth:?}");
            // Another limit may have been the one that rejected its requests.
            let is_true = match bounds.verdict {
                Verdict::Rejected => truth.requests.rejected > 0,
                Verdict::Undecided => true,
                verdict => verdict == truth.verdict,
            };
            prop_assert!(is_true, "{bounds:?}\n{truth:?}");
        }
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

    #[test]
    fn levels_of_several_limits_are_those_of_128_bits(
        // The largest rates do not fit into 64 bits, and overflow them in a log of an hour.
        rule in prop_oneof![
            rule(),
            rule_of_several(),
            rule_with_rates(NUMBER_MAX / 2..=NUMBER_MAX),
        ],
        requests in requests(),
    ) {
        let replay = begin(&rule, &requests, 1_000);
        let (requests, order) = (replay.parts().1, replay.order());
        let work = |wide: bool| run(&replay, |summary, outcomes| {
            let replay = if wide { bounded::replay_with::<i128> } else { bounded::replay };
            replay(&rule, requests, &order, summary, Some(outcomes));
        });
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
