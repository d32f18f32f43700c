//! Held against the truth: logs in milliseconds, of which a replay sees only the seconds.

use std::collections::BTreeMap;

use super::LimitReq;
use super::replay::LimitReplay;
use crate::event::{EventHead, Events};
use crate::nginx::configuration::directives;
use crate::report::{RuleReport, Verdict};
use crate::rule::Replay;
use weir_core::PatternBudget;

/// Random numbers of a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn choice<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[(self.next() * choices.len() as f64) as usize]
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -(1.0 - self.next()).ln() * mean
    }
}

/// A limit as it is written, its rate in a second, and its burst.
struct Setting {
    text: String,
    per_second: f64,
    burst: f64,
}

const RATES: [(u32, &str); 11] = [
    (1, "r/m"),
    (5, "r/m"),
    (10, "r/m"),
    (30, "r/m"),
    (1, "r/s"),
    (2, "r/s"),
    (5, "r/s"),
    (10, "r/s"),
    (20, "r/s"),
    (50, "r/s"),
    (100, "r/s"),
];

/// One to three limits: of the client, of the client for a part of the site, and of the server.
fn setting(random: &mut Random) -> (Setting, LimitReq) {
    let limits = random.choice(&[1, 1, 1, 2, 3]);
    let (rate, unit) = random.choice(&RATES);
    let burst = random.choice(&[0, 5, 10, 20, 50, 100, 200]);
    let delay = random.choice(&["nodelay", "", "delay=3"]);
    let burst_text = |burst: u32| if burst == 0 { String::new() } else { format!("burst={burst}") };
    let mut zones = format!("limit_req_zone $a zone=z0:10m rate={rate}{unit};\n");
    let mut applied = format!("limit_req zone=z0 {} {delay};", burst_text(burst));
    if limits > 1 {
        let (rate, unit) = random.choice(&RATES);
        zones += &format!("limit_req_zone x$a zone=z1:10m rate={rate}{unit};\n");
        applied +=
            &format!("limit_req zone=z1 {} nodelay;", burst_text(random.choice(&[0, 20, 100])));
    }
    if limits > 2 {
        zones += "limit_req_zone one zone=z2:10m rate=100r/s;\n";
        applied += "limit_req zone=z2 burst=200 nodelay;";
    }
    let per_second = if unit == "r/s" { f64::from(rate) } else { f64::from(rate) / 60.0 };
    let text = format!("{zones}{applied}");
    let rule =
        LimitReq::read(&directives(&text).expect("directives"), "one", &PatternBudget::default());
    (Setting { text, per_second, burst: f64::from(burst) }, rule.expect("a rule"))
}

/// The arrivals of a client that sends bursts, in milliseconds.
fn client(setting: &Setting, random: &mut Random) -> Vec<i64> {
    let (mut now_ms, mut arrivals_ms) = (random.next() * 1_000.0, Vec::new());
    let pause_s = random.choice(&[0.3, 1.0, 3.0, 10.0, 30.0]);
    for _ in 0..1 + (random.next() * 11.0) as usize {
        let mean = 1.0 + setting.burst * random.choice(&[0.2, 0.6, 1.2, 3.0]);
        let requests = 1 + random.exponential(mean) as usize;
        let interval_ms = random.choice(&[1.0, 5.0, 20.0, 60.0, 150.0, 400.0]);
        for _ in 0..requests {
            now_ms += random.exponential(interval_ms);
            arrivals_ms.push(now_ms as i64);
        }
        let drained_s = setting.burst / setting.per_second.max(0.01) / 10.0;
        now_ms += random.exponential(1_000.0 * pause_s * drained_s.max(1.0));
    }
    arrivals_ms
}

/// The report over requests, with times rounded down to `unit_ms`.
fn report(rule: &LimitReq, requests: &[(i64, u32)], unit_ms: i64) -> RuleReport {
    let mut events = Events::default();
    let first_ms = 1_700_000_000_000;
    for (line, (time_ms, client)) in requests.iter().enumerate() {
        let time_ns = (first_ms + time_ms - time_ms % unit_ms) * 1_000_000;
        let head = EventHead { line: line as u64, time_ns: Some(time_ns), ..EventHead::default() };
        let own = client.to_string();
        let keys = rule.limits(0).iter().map(|limit| if limit.zone == 2 { "one" } else { &own });
        assert!(events.put(head, keys.map(str::as_bytes)));
    }
    let mut replay = Box::new(LimitReplay::new(rule));
    events.iter().for_each(|event| replay.take(0, event.line, &event));
    replay.finish(None)
}

/// What is known of a client: the requests that were rejected for certain and likely, by any limit,
/// and whether one certainly was.
#[derive(Debug, Default)]
struct Client {
    rejected: u64,
    likely: u64,
    is_certain: bool,
}

fn clients_of(report: &RuleReport) -> BTreeMap<Vec<u8>, Client> {
    let mut clients = BTreeMap::<_, Client>::new();
    for trip in report.trips.iter().chain(&report.closest).filter(|trip| trip.key != b"one") {
        let client = clients.entry(trip.key.clone()).or_default();
        let rejected = trip.requests.rejected;
        client.rejected = client.rejected.max(rejected);
        client.likely = client.likely.max(trip.likely_rejected.unwrap_or(rejected));
        client.is_certain |= trip.verdict == Verdict::Rejected;
    }
    clients
}

#[derive(Debug, Default)]
struct Tally {
    tripped: usize,
    certain: usize,
    likely: usize,
    others: usize,
    likely_and_wrong: usize,
    errors: Vec<f64>,
    totals: (u64, u64),
}

#[test]
fn estimates_from_whole_seconds_are_near_the_truth() {
    let mut tally = Tally::default();
    let clients = 12;
    for seed in 0..1_000 {
        let mut random = Random(seed);
        let (setting, rule) = setting(&mut random);
        let of_client = |number: u32, random: &mut Random| {
            let arrivals = client(&setting, random);
            arrivals.into_iter().map(move |time_ms| (time_ms + 1, number))
        };
        let mut requests: Vec<(i64, u32)> = (0..clients)
            .flat_map(|number| of_client(number, &mut random).collect::<Vec<_>>())
            .collect();
        requests.sort_unstable();
        let (truth, seen) = (report(&rule, &requests, 1), report(&rule, &requests, 1_000));
        let estimate = seen.estimate.expect("an estimate");
        let bounds = seen.requests.rejected..=seen.requests.rejected + seen.requests.undecided;
        assert!(bounds.contains(&estimate.rejected), "{}", setting.text);
        tally.totals.0 += truth.requests.rejected;
        tally.totals.1 += estimate.rejected;
        let (truth, seen) = (clients_of(&truth), clients_of(&seen));
        for (key, truth) in truth {
            let Some(seen) = seen.get(&key) else { panic!("{}", setting.text) };
            let is_likely = seen.is_certain || seen.likely > 0;
            if truth.rejected > 0 {
                tally.tripped += 1;
                tally.certain += usize::from(seen.is_certain);
                tally.likely += usize::from(is_likely);
                let rejected = truth.rejected as f64;
                tally.errors.push((seen.likely as f64 - rejected).abs() / rejected);
            } else {
                assert!(!seen.is_certain, "{}", setting.text);
                tally.others += 1;
                tally.likely_and_wrong += usize::from(is_likely);
            }
        }
    }
    tally.errors.sort_by(f64::total_cmp);
    let percent = |part: usize, all: usize| 100.0 * part as f64 / all as f64;
    let Tally { tripped, certain, likely, others, likely_and_wrong, errors, totals } = &tally;
    let median = errors[errors.len() / 2];
    println!(
        "{tripped} trip, {:.1} % certain, {:.1} % certain or likely; {others} others, {:.2} % likely and wrong; \
         error of the rejected requests: median {:.2} %, third quartile {:.1} %; all {:+.2} %",
        percent(*certain, *tripped),
        percent(*likely, *tripped),
        percent(*likely_and_wrong, *others),
        100.0 * median,
        100.0 * errors[errors.len() * 3 / 4],
        100.0 * (totals.1 as f64 / totals.0 as f64 - 1.0),
    );
    assert!(percent(*certain, *tripped) >= 85.0);
    assert!(percent(*likely, *tripped) >= 90.0);
    assert!(percent(*likely_and_wrong, *others) < 1.0);
    assert!(median <= 0.01);
}
