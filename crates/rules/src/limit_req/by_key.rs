//! The requests of a single limit, grouped by key.
//!
//! The keys of a zone are independent as long as nginx forgets none of them, so they can be
//! replayed one after another. The requests of a key are then adjacent in memory, and its state
//! stays in registers.

use super::replay::{NO_KEY, NS_IN_MS, Requests};

/// The requests of each key by arrival; requests at the same time are in the order of the log.
///
/// # Memory
///
/// 12 bytes for each request, and 4 for each key.
#[derive(Debug, Default)]
pub(super) struct ByKey {
    /// By key: the start of its requests; followed by the end of the last key's.
    starts: Vec<u32>,
    arrivals_ms: Vec<i64>,
    /// The positions of the requests in the log.
    positions: Vec<u32>,
}

impl ByKey {
    /// The memory of a request, in bytes.
    pub(super) const REQUEST_BYTES: usize = size_of::<i64>() + size_of::<u32>();

    /// Groups requests that have one limit each by their `keys` keys. Requests without a key are
    /// skipped.
    pub(super) fn new(requests: &Requests, keys: usize) -> Self {
        let mut starts = vec![0u32; keys + 1];
        for key in requests.keys.iter().filter(|key| **key != NO_KEY) {
            starts[*key as usize + 1] += 1;
        }
        for key in 0..keys {
            starts[key + 1] += starts[key];
        }
        let count = starts[keys] as usize;
        let (mut arrivals_ms, mut positions) = (vec![0; count], vec![0; count]);
        let mut next = starts.clone();
        for (position, (request, key)) in requests.list.iter().zip(&requests.keys).enumerate() {
            if *key == NO_KEY {
                continue;
            }
            let place = &mut next[*key as usize];
            arrivals_ms[*place as usize] = request.arrival_ns;
            positions[*place as usize] = position as u32;
            *place += 1;
        }
        let mut by_key = Self { starts, arrivals_ms, positions };
        // Sort by nanoseconds before rounding to milliseconds.
        by_key.sort();
        for arrival in &mut by_key.arrivals_ms {
            *arrival = arrival.div_euclid(NS_IN_MS);
        }
        by_key
    }

    /// Sorts the requests of the keys that did not arrive in the order of the log.
    fn sort(&mut self) {
        let mut sorted = Vec::new();
        for key in 0..self.keys() {
            let range = self.starts[key] as usize..self.starts[key + 1] as usize;
            let arrivals = &mut self.arrivals_ms[range.clone()];
            if arrivals.is_sorted() {
                continue;
            }
            let positions = &mut self.positions[range];
            sorted.clear();
            sorted.extend(arrivals.iter().copied().zip(positions.iter().copied()));
            sorted.sort_unstable();
            for (index, (arrival, position)) in sorted.iter().enumerate() {
                arrivals[index] = *arrival;
                positions[index] = *position;
            }
        }
    }

    /// The number of keys.
    pub(super) fn keys(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The number of requests.
    pub(super) fn requests(&self) -> usize {
        self.positions.len()
    }

    /// The arrivals of a key in milliseconds, and the positions of its requests.
    pub(super) fn of(&self, key: usize) -> (&[i64], &[u32]) {
        let range = self.starts[key] as usize..self.starts[key + 1] as usize;
        (&self.arrivals_ms[range.clone()], &self.positions[range])
    }

    /// The keys with their requests.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, (&[i64], &[u32]))> {
        (0..self.keys()).map(|key| (key as u32, self.of(key)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::replay::{LimitReplay, Outcome};
    use super::super::summary::Summary;
    use super::super::{LimitReq, bounded, bounded_by_key, exact, level};
    use crate::event::{EventHead, Events};
    use crate::report::{RuleReport, Verdict};
    use crate::rule::Replay;

    /// A rule with one limit.
    fn rule() -> impl Strategy<Value = LimitReq> {
        let delay = prop_oneof![Just("nodelay"), Just(""), Just("delay=2")];
        (1..40i64, prop_oneof!["r/s", "r/m"], 0..8i64, delay).prop_map(
            |(rate, unit, burst, delay)| {
                let text = format!(
                    "limit_req_zone $a zone=one:1m rate={rate}{unit};
                     limit_req zone=one burst={} {delay};",
                    burst.max(1)
                );
                LimitReq::parse(&text, "one").expect(&text)
            },
        )
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
            let head =
                EventHead { line: line as u64, time_ns: Some(time_ns), ..EventHead::default() };
            assert!(events.put(head, [key.as_bytes()]));
        }
        let mut replay = LimitReplay::new(rule);
        events.iter().for_each(|event| replay.take(0, event.line, &event));
        replay
    }

    /// The report of a replay, in which rejected and undecided requests are added up.
    fn run(
        rule: &LimitReq,
        replay: &LimitReplay<'_>,
        run: impl FnOnce(&mut Summary<'_>, &mut Vec<Outcome>),
    ) -> (RuleReport, Vec<Outcome>) {
        let (zones, requests, is_exact) = replay.parts();
        let (mut summary, mut outcomes) = (Summary::new(rule, zones, is_exact), Vec::new());
        run(&mut summary, &mut outcomes);
        (summary.finish(zones, &requests.list), outcomes)
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
            let found = run(&rule, &replay, |summary, outcomes| {
                replay.replay(summary, Some(outcomes));
            });
            let expected = run(&rule, &replay, |summary, outcomes| {
                exact::replay(&rule, replay.parts().1, summary, Some(outcomes));
            });
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn keys_with_whole_seconds_are_bounded_as_in_the_order_of_arrivals(
            rule in rule(), requests in requests(),
        ) {
            let replay = begin(&rule, &requests, 1_000);
            let (report, outcomes) = run(&rule, &replay, |summary, outcomes| {
                replay.replay(summary, Some(outcomes));
            });
            let (expected, expected_outcomes) = run(&rule, &replay, |summary, outcomes| {
                bounded::replay(&rule, replay.parts().1, summary, Some(outcomes));
            });
            prop_assert_eq!(outcomes, expected_outcomes);
            prop_assert!(report.requests.undecided <= expected.requests.undecided);
            prop_assert_eq!(without_doubt(report), without_doubt(expected));
        }

        #[test]
        fn levels_of_64_bits_are_those_of_128(rule in rule(), requests in requests()) {
            let replay = begin(&rule, &requests, 1_000);
            let limit = rule.single_limit().expect("it has one");
            let rate = rule.zones()[limit.zone].rate;
            let (requests, by_key) = (replay.parts().1, replay.by_key(limit));
            let work = |wide: bool| run(&rule, &replay, |summary, outcomes| {
                outcomes.resize(requests.list.len(), bounded::UNDECIDED);
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
        let rule = LimitReq::parse(text, "one").expect(text);
        for unit_ms in [1, 1_000] {
            let replay = begin(&rule, &[(1_001, 0), (1_001, 0), (1_001, 1)], unit_ms);
            let (report, outcomes) = run(&rule, &replay, |summary, outcomes| {
                replay.replay(summary, Some(outcomes));
            });
            assert_eq!((report.requests.passed, report.keys.seen), (3, 1));
            assert!(outcomes.iter().all(|outcome| outcome.verdict == Verdict::Passed));
        }
    }
}
