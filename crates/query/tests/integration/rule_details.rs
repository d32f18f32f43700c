//! The optional parts of a question about rules, compared with naive versions: other settings, good
//! clients, and the comparison of two rules.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::AddressBlock;
use weir_ingest::DataSet;
use weir_query::{NoLines, RuleAnswer, RuleOptions, compare_rules, replay_rules};
use weir_rules::Rule;
use weir_view::{GoodReason, ReplayedKey, Verdict};

use crate::all_records;

use crate::rules::{data_of, rule};

const AGENTS: [&str; 6] = [
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)",
    "curl/8.5.0",
    "-",
    "Mozilla/5.0 (compatible; bingbot/2.0)",
];

/// A request for the naive versions.
#[derive(Debug, Clone)]
struct Request {
    client: String,
    user: &'static str,
    second: u64,
    path: &'static str,
    status: &'static str,
    agent: &'static str,
}

/// Requests of some clients, more of those with low numbers, from a seed.
fn requests(seed: u64) -> Vec<Request> {
    let mut state = seed;
    let mut draw = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut all = Vec::new();
    for second in 0..240 {
        for _ in 0..draw(12) {
            let number = draw(30) * draw(30) / 30;
            let network = if number % 5 == 4 { "198.51.100" } else { "192.0.2" };
            let user = if number % 3 == 0 && draw(9) == 0 { "ann" } else { "-" };
            let paths = ["/", "/login", "/site.css", "/a/b.html", "/feed.xml"];
            let path = match draw(10) as usize {
                9 => "/private/a",
                other => paths[other % paths.len()],
            };
            let status = ["200", "304", "404", "401", "500"][draw(5) as usize];
            all.push(Request {
                client: format!("{network}.{number}"),
                user,
                second,
                path,
                status: if path == "/private/a" && user == "-" { "401" } else { status },
                agent: AGENTS[if draw(90) == 0 { draw(6) } else { number % 6 } as usize],
            });
        }
    }
    all
}

fn log_of(requests: &[Request]) -> Vec<u8> {
    let mut log = String::new();
    for Request { client, user, second, path, status, agent } in requests {
        let (minute, second) = (second / 60, second % 60);
        let _ = writeln!(
            log,
            "{client} - {user} [22/Nov/2026:10:{minute:02}:{second:02} +0000] \
             \"GET {path} HTTP/1.1\" {status} 5 \"-\" \"{agent}\""
        );
    }
    log.into_bytes()
}

/// Whether a user got what somebody else was challenged for, and nobody got without a user.
fn has_signed_in(requests: &[Request], request: &Request) -> bool {
    let is_success = |request: &Request| ["200", "304"].contains(&request.status);
    let others = || requests.iter().filter(|other| other.user == "-" && other.path == request.path);
    request.user == "ann"
        && request.path == "/private/a"
        && is_success(request)
        && !others().any(is_success)
        && others().any(|other| other.status == "401" && other.client != request.client)
}

/// Why each good client is good.
fn naive_reasons(requests: &[Request]) -> BTreeMap<String, BTreeSet<GoodReason>> {
    let mut reasons: BTreeMap<String, BTreeSet<GoodReason>> = BTreeMap::new();
    for request in requests {
        let mut found = BTreeSet::new();
        if has_signed_in(requests, request) {
            found.insert(GoodReason::SignedIn);
        }
        if request.agent.contains("Googlebot") || request.agent.contains("bingbot") {
            found.insert(GoodReason::SearchCrawler);
        }
        if request.agent.contains("UptimeRobot") {
            found.insert(GoodReason::Monitor);
        }
        if request.client.starts_with("198.51.100.") {
            found.insert(GoodReason::NamedNetwork);
        }
        if !found.is_empty() {
            reasons.entry(request.client.clone()).or_default().extend(found);
        }
    }
    // What an attack says about itself does not count, nor what a client that floods claims.
    let floods = naive_floods(requests);
    for (client, found) in &mut reasons {
        if floods.contains(client) {
            found.retain(|it| matches!(it, GoodReason::NamedNetwork | GoodReason::SignedIn));
        }
        let own = || requests.iter().filter(|request| request.client == *client);
        let refused = own().filter(|request| ["404", "401"].contains(&request.status)).count();
        let is_program = own().any(|request| !request.agent.contains("Firefox"));
        if is_program && own().count() >= 10 && 2 * refused > own().count() {
            found.retain(|reason| *reason == GoodReason::NamedNetwork);
        }
    }
    reasons.retain(|_, found| !found.is_empty());
    reasons
}

/// The clients that look like people.
fn naive_humans(requests: &[Request]) -> BTreeSet<String> {
    let clients: BTreeSet<&String> = requests.iter().map(|request| &request.client).collect();
    let is_human = |client: &&String| {
        let own = || requests.iter().filter(|request| &request.client == *client);
        let answered = || own().filter(|request| ["200", "304"].contains(&request.status));
        let loads = |paths: &[&str]| answered().any(|request| paths.contains(&request.path));
        own().all(|request| request.agent.contains("Firefox"))
            && (loads(&["/", "/login", "/a/b.html"]) && loads(&["/site.css"])
                || own().any(|request| has_signed_in(requests, request)))
    };
    clients.into_iter().filter(is_human).cloned().collect()
}

/// The clients that send 60 requests in some minute, of which a file that pages embed is a fifth.
fn naive_floods(requests: &[Request]) -> BTreeSet<String> {
    let mut weights: BTreeMap<(&String, u64), u32> = BTreeMap::new();
    for request in requests {
        let weight = if request.path == "/site.css" { 1 } else { 5 };
        *weights.entry((&request.client, request.second / 60)).or_default() += weight;
    }
    let floods = weights.into_iter().filter(|(_, weight)| *weight >= 300);
    floods.map(|((client, _), _)| client.clone()).collect()
}

fn options() -> RuleOptions {
    RuleOptions {
        has_grid: true,
        has_collateral: true,
        good_networks: vec![AddressBlock::parse("198.51.100.0/24").expect("a network")],
        has_caught: true,
    }
}

fn limit(rate: &str, burst: u32) -> String {
    let burst = if burst == 0 { String::new() } else { format!(" burst={burst} nodelay") };
    format!(
        "limit_req_zone $binary_remote_addr zone=one:10m rate={rate};\nlimit_req zone=one{burst};"
    )
}

fn answers(data: &Arc<DataSet>, texts: &[&str], jobs: usize) -> Vec<RuleAnswer> {
    let rules: Vec<Box<dyn Rule>> = texts.iter().map(|text| rule(text)).collect();
    let rules: Vec<&dyn Rule> = rules.iter().map(|rule| &**rule).collect();
    let go_on = AtomicBool::new(false);
    replay_rules(data, &all_records(), (&rules, &NoLines), &options(), jobs, &go_on)
        .expect("valid rules")
        .expect("it is not abandoned")
}

/// Returns the names of the keys that an answer lists as rejected, certainly or likely.
fn tripped(answer: &RuleAnswer) -> BTreeSet<String> {
    let is_caught =
        |key: &&ReplayedKey| key.verdict == Verdict::Rejected || key.likely_rejected > Some(0);
    answer.rule.trips.iter().filter(is_caught).map(|key| key.key.clone()).collect()
}

fn rejected(key: &ReplayedKey) -> u64 {
    key.likely_rejected.unwrap_or(key.requests.rejected)
}

#[tokio::test]
async fn the_good_clients_that_a_rule_catches_are_those_of_a_naive_count() {
    let (mut judged, mut goods) = (0, 0);
    for seed in 0..4 {
        let mut requests = requests(seed);
        // Two that claim to be crawlers, of which the first floods.
        for (client, count) in [("192.0.2.77", 60), ("192.0.2.78", 59)] {
            let request = Request {
                client: client.to_owned(),
                path: "/",
                agent: AGENTS[1],
                ..requests[0].clone()
            };
            let request = Request { user: "-", status: "200", ..request };
            let times =
                (0..count).map(|number| Request { second: 240 + number / 2, ..request.clone() });
            requests.extend(times);
        }
        let data = data_of(&log_of(&requests)).await;
        let reasons = naive_reasons(&requests);
        assert!(!reasons.contains_key("192.0.2.77") && reasons.contains_key("192.0.2.78"));
        for (text, jobs) in [
            (limit("6r/m", 2), 1),
            (limit("10r/m", 3), 3),
            ("limit 12 requests in 1m by client".to_owned(), 2),
            ("deny 192.0.2.0/25;".to_owned(), 2),
        ] {
            let answer = &answers(&data, &[&text], jobs)[0];
            let found = answer.collateral.as_ref().expect("the keys are clients");
            let caught = tripped(answer);
            assert_eq!(found.judged, caught.len() as u64, "{text}");
            let good: Vec<&String> = caught.iter().filter(|it| reasons.contains_key(*it)).collect();
            assert_eq!(found.good, good.len() as u64, "{text}");
            (judged, goods) = (judged + found.judged, goods + found.good);
            for count in &found.reasons {
                let has = |client: &&&String| reasons[**client].contains(&count.reason);
                assert_eq!(count.keys, good.iter().filter(has).count() as u64, "{count:?}");
            }
            let rejected = answer.rule.trips.iter().filter(|key| reasons.contains_key(&key.key));
            assert_eq!(found.requests, rejected.map(self::rejected).sum::<u64>());
            let listed = answer.rule.trips.iter().chain(&answer.rule.closest);
            let marked: BTreeMap<_, BTreeSet<_>> = found
                .clients
                .iter()
                .map(|client| (client.key.clone(), client.reasons.iter().copied().collect()))
                .collect();
            for key in listed {
                assert_eq!(marked.get(&key.key), reasons.get(&key.key), "{}", key.key);
            }
            assert!(!found.is_incomplete);
        }
        let by_path = "limit 3 requests in 1m by path";
        assert_eq!(answers(&data, &[by_path], 1)[0].collateral, None, "its keys are no clients");
    }
    assert!(goods > 20 && judged > goods + 20, "{goods} of {judged}");
}

#[tokio::test]
async fn the_peaks_of_good_clients_are_those_that_each_burst_catches() {
    let requests = requests(9);
    let data = data_of(&log_of(&requests)).await;
    let peaks =
        answers(&data, &[&limit("6r/m", 4)], 2).remove(0).collateral.expect("clients").peaks;
    assert!(peaks.len() > 5 && peaks.is_sorted_by(|one, other| one >= other));
    for burst in [0, 1, 3, 8, 20] {
        let answer = answers(&data, &[&limit("6r/m", burst)], 1).remove(0);
        let curve = answer.curve.expect("a single limit");
        let swept = curve.points.iter().find(|point| point.burst == burst).expect("a low burst");
        let over = peaks.iter().filter(|peak| **peak > f64::from(burst)).count() as u64;
        let certain = answer.collateral.expect("clients").good;
        // Whole seconds leave some requests undecided; the curve counts them in log order.
        assert!(certain <= over && over <= swept.keys, "{burst}: {certain} {over} {swept:?}");
    }
}

#[tokio::test]
async fn a_grid_has_what_each_setting_catches_and_names_who_is_next_to_the_knee() {
    for seed in [2, 5] {
        let mut requests = requests(seed);
        // One client that floods, far above the others.
        for number in 0..400 {
            requests.push(Request {
                client: "203.0.113.9".to_owned(),
                second: 240 + number / 100,
                path: "/login",
                ..requests[0].clone()
            });
            requests.last_mut().expect("a request").agent = "curl/8.5.0";
            requests.last_mut().expect("a request").user = "-";
        }
        let data = data_of(&log_of(&requests)).await;
        let answer = answers(&data, &[&limit("1r/s", 9)], 3).remove(0);
        let grid = answer.grid.expect("a single limit");
        assert_eq!((&*grid.rates[grid.own[0]].setting, grid.bursts[grid.own[1]]), ("1r/s", 9));
        for (row, rate) in grid.rates.iter().enumerate().step_by(4) {
            for (column, burst) in grid.bursts.iter().enumerate().step_by(5) {
                let single = answers(&data, &[&limit(&rate.setting, *burst)], 1).remove(0);
                let sweep = single.sweep.expect("a single limit");
                let own = sweep.settings(0..sweep.keys(), sweep.rate(), &[*burst])[0];
                let cell = (grid.keys[row][column], grid.requests[row][column]);
                assert_eq!(cell, (own.keys, own.requests), "{rate:?} {burst}");
                // The sentence, the list and the curve have the same numbers.
                let estimate = single.rule.estimate.expect("whole seconds");
                assert_eq!(cell, (estimate.keys, estimate.rejected), "{rate:?} {burst}");
                assert_eq!(single.rule.trips.iter().map(rejected).sum::<u64>(), estimate.rejected);
            }
        }
        let advice = grid.advice.expect("requests");
        let suggestion = &advice.suggestion;
        let [row, column] = advice.at;
        assert_eq!(Some(&grid.rates[row].setting), suggestion.rate.as_ref());
        assert_eq!(grid.bursts[column], suggestion.burst);
        assert_eq!(
            (grid.keys[row][column], grid.requests[row][column]),
            (suggestion.keys, suggestion.requests)
        );
        assert_eq!(advice.slowest_rejected.expect("the flood").client, "203.0.113.9");
        // No client that looks like a person or is good is over it, and the busiest of them is told.
        let (humans, sweep) = (naive_humans(&requests), answer.sweep.expect("a single limit"));
        let reasons = naive_reasons(&requests);
        let rate = (grid.rates[row].per_second * 1_000.0).round() as i64;
        let peaks = sweep.peaks(0..sweep.keys(), rate);
        // Keys are numbered in order of appearance.
        let mut clients: Vec<&String> = Vec::new();
        for request in &requests {
            if !clients.contains(&&request.client) {
                clients.push(&request.client);
            }
        }
        let floods = naive_floods(&requests);
        let is_certain =
            |reason: &GoodReason| [GoodReason::SignedIn, GoodReason::NamedNetwork].contains(reason);
        let is_spared = |client: &str| match reasons.get(client) {
            Some(reasons) if reasons.iter().any(is_certain) => true,
            reasons => (humans.contains(client) || reasons.is_some()) && !floods.contains(client),
        };
        let of_spared = clients.iter().zip(peaks).filter(|(client, _)| is_spared(client));
        let highest = of_spared.map(|(_, peak)| peak).max_by(f64::total_cmp).expect("people");
        let busiest = suggestion.busiest_spared.as_ref().expect("people");
        assert!(is_spared(&busiest.client), "{busiest:?}");
        assert_eq!(busiest.peak, highest);
        assert!(highest <= f64::from(suggestion.burst));
        // Every listed key is described.
        let described: BTreeSet<&String> =
            answer.rule.clients.iter().map(|profile| &profile.client).collect();
        let listed = answer.rule.trips.iter().chain(&answer.rule.closest);
        assert!(listed.clone().count() > 0);
        listed.for_each(|key| assert!(described.contains(&key.key), "{}", key.key));
    }
}

#[tokio::test]
async fn two_rules_catch_what_naive_sets_say() {
    let requests = requests(3);
    let data = data_of(&log_of(&requests)).await;
    let by_minute = "limit 20 requests in 1m by client";
    for (first, second) in [
        (limit("6r/m", 2), limit("6r/m", 6)),
        (limit("1r/s", 2), by_minute.to_owned()),
        (by_minute.to_owned(), "deny 198.51.100.0/24;".to_owned()),
        (limit("1r/s", 2), limit("1r/s", 2)),
    ] {
        let found = answers(&data, &[&first, &second], 2);
        let compared = compare_rules(&found[..1], &found[1..]);
        let sets = [tripped(&found[0]), tripped(&found[1])];
        let listed = |set: &weir_view::KeySet| {
            let names: BTreeSet<String> = set.list.iter().cloned().collect();
            assert_eq!((set.keys, names.len()), (set.list.len() as u64, set.list.len()));
            names
        };
        assert_eq!(listed(&compared.both), &sets[0] & &sets[1], "{first} {second}");
        assert_eq!(listed(&compared.first_only), &sets[0] - &sets[1]);
        assert_eq!(listed(&compared.second_only), &sets[1] - &sets[0]);
        for (side, answer) in [(compared.first, &found[0]), (compared.second, &found[1])] {
            let likely = answer.rule.estimate.map(|estimate| estimate.rejected);
            assert_eq!(side.rejected, likely.unwrap_or(answer.rule.requests.rejected));
            assert_eq!(side.undecided_keys, answer.rule.keys.undecided);
        }
    }
    // Several rules of a text together catch what any of them catches.
    let found = answers(&data, &[&limit("6r/m", 6), by_minute, "deny 192.0.2.1;"], 1);
    let compared = compare_rules(&found[..2], &found[2..]);
    let either = &tripped(&found[0]) | &tripped(&found[1]);
    assert_eq!(compared.both.keys + compared.first_only.keys, either.len() as u64);
}

#[tokio::test]
async fn lists_of_a_comparison_are_cut_and_its_counts_are_not() {
    let mut log = String::new();
    for number in 0..1_300 {
        let (high, low) = (number / 250, number % 250);
        let _ = writeln!(
            log,
            "10.0.{high}.{low} - - [22/Nov/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\""
        );
    }
    let data = data_of(log.as_bytes()).await;
    let found = answers(&data, &["deny 10.0.0.0/8;", "deny 10.0.0.0/24;"], 1);
    let compared = compare_rules(&found[..1], &found[1..]);
    let sizes = [compared.both, compared.first_only, compared.second_only]
        .map(|set| (set.keys, set.list.len()));
    assert_eq!(sizes, [(250, 250), (1_050, 500), (0, 0)]);
}
