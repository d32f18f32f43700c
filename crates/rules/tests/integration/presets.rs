//! Limits of other software, against direct versions of its code.

use proptest::prelude::*;
use weir_rules::{Decision, EventHead, Events, Family, RuleFiles, Verdict, parse_rules};

use crate::have_milliseconds;

/// Replays requests of one client at times in milliseconds.
fn replay(text: &str, family: Family, times_ms: &[i64]) -> Vec<(Verdict, Option<u64>)> {
    let rules = parse_rules(text, "test", Some(family), &RuleFiles::default()).expect(text);
    let mut replay = rules[0].replay();
    let mut events = Events::default();
    for (line, time_ms) in times_ms.iter().enumerate() {
        let time_ns = Some(time_ms * 1_000_000);
        let head = EventHead { line: line as u64, time_ns, ..EventHead::default() };
        assert!(events.put(head, [&b"a"[..]]));
    }
    for event in events.iter() {
        replay.take(0, event.line + 1, &event);
    }
    let mut verdicts = Vec::new();
    replay.finish(Some(&mut |decision: &Decision<'_>| {
        verdicts.push((decision.verdict, decision.delay_ms));
    }));
    verdicts
}

/// `Reserve` of golang.org/x/time/rate with the waits and the map of Traefik (`New` of
/// rate_limiter.go), in floating point.
fn traefik(average: i64, period_s: i64, burst: i64, times_ms: &[i64]) -> Vec<Verdict> {
    let rate = average as f64 / period_s as f64;
    let (delay_max_ns, forget_s) = if rate < 1.0 {
        (500_000_000, 1 + (1.0 / rate) as i64)
    } else {
        (1_000_000_000 / (rate as i64 * 2), 2)
    };
    let (mut tokens, mut last_ms) = (burst as f64, None::<i64>);
    let mut decide = |now_ms: &i64| {
        if let Some(last_ms) = last_ms {
            let elapsed_s = (now_ms - last_ms) as f64 / 1_000.0;
            tokens = (tokens + elapsed_s * rate).min(burst as f64);
            if now_ms.div_euclid(1_000) >= last_ms.div_euclid(1_000) + forget_s {
                tokens = burst as f64;
            }
        }
        last_ms = Some(*now_ms);
        let after = tokens - 1.0;
        let wait_s = if after < -1e-9 { -after / rate } else { 0.0 };
        // A wait is cut to nanoseconds.
        if (wait_s * 1e9 + 1e-3) as i64 > delay_max_ns {
            return Verdict::Rejected;
        }
        tokens = after;
        if wait_s > 0.0 { Verdict::Delayed } else { Verdict::Passed }
    };
    times_ms.iter().map(&mut decide).collect()
}

/// A line of iptables with `recent`.
#[derive(Debug, Clone, Copy)]
enum RecentLine {
    Set,
    Check,
    Update,
}

/// `recent_mt` of xt_recent.c for the packets of an address, through lines of which those that check
/// the list drop the packets that they match.
fn recent(lines: [RecentLine; 2], seconds: i64, hits: usize, times_ms: &[i64]) -> Vec<Verdict> {
    let mut stamps: Option<Vec<i64>> = None;
    let mut decide = |now: &i64| {
        for line in lines {
            match (line, &mut stamps) {
                (RecentLine::Set, Some(stamps)) => stamps.push(*now),
                (RecentLine::Set, None) => stamps = Some(vec![*now]),
                (_, None) => {}
                (_, Some(stamps)) => {
                    let is_recent = |stamp: &&i64| *now - **stamp <= seconds * 1_000;
                    if stamps.iter().filter(is_recent).count() < hits {
                        continue;
                    }
                    if matches!(line, RecentLine::Update) {
                        stamps.push(*now);
                    }
                    return Verdict::Rejected;
                }
            }
        }
        Verdict::Passed
    };
    times_ms.iter().map(&mut decide).collect()
}

fn recent_text(lines: [RecentLine; 2], seconds: i64, hits: usize) -> String {
    let line = |line: RecentLine| match line {
        RecentLine::Set => "-A INPUT -m recent --set\n".to_owned(),
        RecentLine::Check => {
            format!("-A INPUT -m recent --rcheck --seconds {seconds} --hitcount {hits} -j DROP\n")
        }
        RecentLine::Update => {
            format!("-A INPUT -m recent --update --seconds {seconds} --hitcount {hits} -j DROP\n")
        }
    };
    lines.map(line).concat()
}

fn times() -> impl Strategy<Value = Vec<i64>> {
    let pause =
        prop_oneof![6 => 0..80i64, 3 => 0..700i64, 1 => 1_000..4_000i64, 1 => 5_000..90_000i64];
    let times = prop::collection::vec(pause, 1..80).prop_map(|pauses| {
        let mut time_ms = 1_700_000_000_001;
        let at = |pause: i64| {
            time_ms += pause;
            time_ms
        };
        pauses.into_iter().map(at).collect::<Vec<i64>>()
    });
    times.prop_filter("milliseconds", |times| have_milliseconds(times.iter().copied()))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn traefik_lets_requests_wait(
        average in 1..40i64,
        period_s in prop_oneof![2 => Just(1), 1 => 2..10i64, 1 => Just(60), 1 => Just(3_600)],
        burst in 1..20i64,
        times in times(),
    ) {
        let text = format!(
            "rateLimit:\n  average: {average}\n  period: {period_s}s\n  burst: {burst}\n"
        );
        let verdicts: Vec<Verdict> =
            replay(&text, Family::Traefik, &times).into_iter().map(|it| it.0).collect();
        prop_assert_eq!(verdicts, traefik(average, period_s, burst, &times));
    }

    #[test]
    fn a_list_of_recent_addresses_counts_rejected_packets_as_the_kernel_does(
        lines in prop::sample::select(&[
            [RecentLine::Set, RecentLine::Update],
            [RecentLine::Set, RecentLine::Check],
            [RecentLine::Update, RecentLine::Set],
            [RecentLine::Check, RecentLine::Set],
        ][..]),
        seconds in 1..8i64,
        hits in 2..8usize,
        times in times(),
    ) {
        let text = recent_text(lines, seconds, hits);
        let truth = recent(lines, seconds, hits, &times);
        let of = |times: &[i64]| -> Vec<Verdict> {
            replay(&text, Family::Iptables, times).into_iter().map(|it| it.0).collect()
        };
        prop_assert_eq!(&of(&times), &truth);
        // In whole seconds, what is certain is true of each second as a whole.
        let whole: Vec<i64> = times.iter().map(|time| time - time.rem_euclid(1_000)).collect();
        for (decided, truth) in of(&whole).iter().zip(&truth) {
            prop_assert!(decided == truth || *decided == Verdict::Undecided, "{:?}", of(&whole));
        }
    }
}

/// The verdicts of `vmod_is_denied`, with times in milliseconds.
fn vsthrottle(limit: i64, period_ms: i64, block_ms: i64, times: &[i64]) -> Vec<Verdict> {
    let (mut tokens, mut last, mut blocked_until) = (limit, times[0], i64::MIN);
    let decide = |now: &i64| {
        tokens = (tokens + (now - last) * limit / period_ms).min(limit);
        let is_blocked = block_ms > 0 && *now < blocked_until;
        let mut verdict = Verdict::Rejected;
        if is_blocked {
            last = *now;
        }
        if tokens > 0 {
            tokens -= 1;
            last = *now;
            if !is_blocked {
                verdict = Verdict::Passed;
            }
        } else if block_ms > 0 && !is_blocked {
            blocked_until = now + block_ms;
        }
        verdict
    };
    times.iter().map(decide).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn varnish_takes_whole_tokens(
        limit in 1..12i64,
        period_s in 1..20i64,
        block_s in prop_oneof![2 => Just(0), 1 => 1..8i64],
        times in times(),
    ) {
        let block = if block_s > 0 { format!(", {block_s}s") } else { String::new() };
        let text = format!(
            "if (vsthrottle.is_denied(client.identity, {limit}, {period_s}s{block})) {{"
        );
        let of = |times: &[i64]| -> Vec<Verdict> {
            replay(&text, Family::Varnish, times).into_iter().map(|it| it.0).collect()
        };
        let truth = vsthrottle(limit, period_s * 1_000, block_s * 1_000, &times);
        prop_assert_eq!(of(&times), truth.clone());
        let whole: Vec<i64> = times.iter().map(|time| time - time.rem_euclid(1_000)).collect();
        for (decided, truth) in of(&whole).iter().zip(&truth) {
            prop_assert!(decided == truth || *decided == Verdict::Undecided, "{:?}", of(&whole));
        }
    }
}

#[test]
fn a_block_of_varnish_is_not_made_longer_by_requests_in_it() {
    let text = "if (vsthrottle.is_denied(client.identity, 2, 1s, 3s)) {";
    let start = 1_700_000_000_001;
    // The third is over the limit, and the block ends 3 s after it.
    let times = [0, 10, 20, 1_020, 3_000, 3_019, 3_020, 3_030].map(|time| start + time);
    let verdicts: Vec<Verdict> =
        replay(text, Family::Varnish, &times).into_iter().map(|it| it.0).collect();
    use Verdict::{Passed, Rejected};
    // The blocked ones take tokens, so the last one finds none.
    let expected = [Passed, Passed, Rejected, Rejected, Rejected, Rejected, Rejected, Rejected];
    assert_eq!(verdicts, expected);
    let times = [0, 10, 20, 1_020, 3_020, 3_030].map(|time| start + time);
    let verdicts: Vec<Verdict> =
        replay(text, Family::Varnish, &times).into_iter().map(|it| it.0).collect();
    assert_eq!(verdicts, [Passed, Passed, Rejected, Rejected, Passed, Passed]);
}

#[test]
fn a_service_that_does_not_publish_is_never_sure_of_a_rejection() {
    let text = r#"{"period": 10, "requests_per_period": 3, "mitigation_timeout": 30}"#;
    let start = 1_700_000_000_001;
    let times = [0, 1, 2, 3, 20_000, 40_000, 80_000].map(|time| start + time);
    let verdicts: Vec<Verdict> =
        replay(text, Family::Cloud, &times).into_iter().map(|it| it.0).collect();
    use Verdict::{Passed, Undecided};
    assert_eq!(verdicts, [Passed, Passed, Passed, Undecided, Undecided, Passed, Passed]);
}
