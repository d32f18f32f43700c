//! CrowdSec's scenarios: the tests of its hub, and a naive replay.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::{any, prop_assert_eq, proptest};
use serde_json::Value;
use weir_core::{Format, LineParser, Lines, Record, detect};
use weir_rules::{Alert, Events, Line, Rule, RuleFiles, RuleReport, parse_rules};
use weir_testkit::fixtures;

/// The format of a few logs that is not detected.
const HOST_AND_MAIN: &str = r#"$host $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_x_forwarded_for""#;

/// Cases of logs in a format of their own, which are not read.
const NOT_READ: [&str; 3] =
    ["bunkerweb-bad-user-agent", "bunkerweb-http-sensitive-files", "zoraxy-http-bad-user-agent"];

/// Data files that Debian does not have, with the entries that their cases need.
const TABLES: [(&str, &str); 2] = [
    (
        "trendy_cves_uris.json",
        r#"{"cve":"CVE-2021-3129","uri":"/_ignition/execute-solution"}
{"cve":"CVE-2020-27866","uri":"/setup.cgi"}
"#,
    ),
    (
        "technology_probing.json",
        r#"# cameras
{"tag": "camera", "pattern": "/cgi-bin/videoconfiguration.cgi", "type": "equals"}
{"tag": "content", "pattern": "/crx/packmgr/", "type": "contains"}
"#,
    ),
];

/// Cases in which CrowdSec uses the time of the replay instead of the time of the log, so that a
/// muted key stays muted to the end of the log. Only the sources are compared, not the counts.
const WITHOUT_TIMES: [&str; 1] = ["caddy-crs-anomaly-score"];

/// Where Debian's package puts the data files of scenarios.
const DATA_DIRECTORY: &str = "/usr/share/crowdsec/data";

/// Replays a rule over a log.
fn replay(rule: &dyn Rule, log: &[u8]) -> RuleReport {
    replay_measured(rule, log).0
}

/// Replays a rule over a log. Returns the memory after each event, too.
fn replay_measured(rule: &dyn Rule, log: &[u8]) -> (RuleReport, Vec<usize>) {
    let mut events = Events::default();
    if let Some(mut observer) = rule.observe_lines() {
        for (number, line) in Lines::new(log).enumerate() {
            let line = Line { number: number as u64, bytes: line.bytes, record: None };
            observer.observe(&line, &mut events);
        }
    } else {
        let format = format_of(log);
        let mut observer = rule.bind(&format.record_fields()).expect("the log has the fields");
        let mut parser = LineParser::new(format);
        for (number, line) in Lines::new(log).enumerate() {
            let mut record = Record::new();
            if parser.parse(line.bytes, &mut record).is_ok() {
                let record = Some(&record);
                let line = Line { number: number as u64, bytes: line.bytes, record };
                observer.observe(&line, &mut events);
            }
        }
    }
    let mut replay = rule.replay();
    let mut memory_bytes = Vec::new();
    for event in events.iter() {
        replay.take(0, event.line + 1, &event);
        memory_bytes.push(replay.memory_bytes());
    }
    (replay.finish(None), memory_bytes)
}

fn format_of(log: &[u8]) -> Arc<Format> {
    match detect(log).best() {
        Some(best) => Arc::clone(&best.format),
        None => Arc::new(Format::parse(HOST_AND_MAIN).expect("a format")),
    }
}

/// The alerts by scenario, source and number of events.
fn counted(alerts: &[Alert]) -> BTreeMap<(String, String, u64), usize> {
    let mut counts = BTreeMap::new();
    for alert in alerts {
        let source = String::from_utf8_lossy(&alert.subject).into_owned();
        *counts.entry((alert.scenario.clone(), source, alert.events)).or_insert(0) += 1;
    }
    counts
}

fn expected(case: &Value) -> BTreeMap<(String, String, u64), usize> {
    let mut counts = BTreeMap::new();
    for overflow in case["overflows"].as_array().expect("a list") {
        let scenario = overflow["scenario"].as_str().unwrap_or_default().to_owned();
        let events = overflow["events"].as_u64().expect("a number");
        for source in overflow["sources"].as_array().expect("a list") {
            let source = source.as_str().expect("a text").to_owned();
            *counts.entry((scenario.clone(), source, events)).or_insert(0) += 1;
        }
    }
    counts
}

/// The alerts of the scenarios of a case; `None` if a data file is missing.
fn alerts_of(case: &Value, folder: &Path, files: &RuleFiles) -> Option<Vec<Alert>> {
    let log = std::fs::read(folder.join(case["log"].as_str()?)).expect("the log");
    let mut alerts = Vec::new();
    for file in case["scenario_files"].as_array()? {
        let text = std::fs::read_to_string(folder.join(file.as_str()?)).expect("the scenario");
        let rules = match parse_rules(&text, "test", None, files) {
            Ok(rules) => rules,
            Err(error) if error.message.contains("is missing") => return None,
            Err(error) => panic!("{file}: {error}\n{}", error.excerpt(&text)),
        };
        alerts.extend(rules.iter().flat_map(|rule| replay(&**rule, &log).alerts));
    }
    Some(alerts)
}

/// The data files that are installed, if any are, and those of [`TABLES`].
fn data_files() -> RuleFiles {
    let mut files = RuleFiles::default();
    for (name, text) in TABLES {
        files.add(name.to_owned(), text);
    }
    for entry in std::fs::read_dir(DATA_DIRECTORY).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(text) = std::fs::read_to_string(entry.path()) else { continue };
        if name == "path_traversal.txt" {
            files.add("http_path_traversal.txt".to_owned(), text.clone());
        }
        files.add(name, text);
    }
    files
}

#[test]
fn the_hubs_own_tests_give_the_same_alerts() {
    let path = fixtures::scenario_cases();
    let folder = path.parent().expect("a folder");
    let files = data_files();
    let mut missing = BTreeSet::new();
    let mut compared = 0;
    let mut different = Vec::new();
    for line in std::fs::read_to_string(&path).expect("the cases").lines() {
        let case: Value = serde_json::from_str(line).expect("JSON");
        let name = case["test"].as_str().expect("a name");
        if NOT_READ.contains(&name) {
            continue;
        }
        let Some(alerts) = alerts_of(&case, folder, &files) else {
            missing.insert(name.to_owned());
            continue;
        };
        compared += 1;
        let (found, expected) = (counted(&alerts), expected(&case));
        let sources = |counts: &BTreeMap<(String, String, u64), usize>| {
            counts.keys().map(|(_, source, _)| source.clone()).collect::<BTreeSet<_>>()
        };
        let has_scenario = expected.keys().all(|(scenario, ..)| !scenario.is_empty());
        let is_same = if has_scenario && !WITHOUT_TIMES.contains(&name) {
            found == expected
        } else {
            sources(&found) == sources(&expected)
        };
        if !is_same {
            different.push(format!("{name}: {found:?} instead of {expected:?}"));
        }
    }
    eprintln!("{compared} cases compared; no data files for {missing:?}");
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(compared >= 34, "{compared}");
}

#[test]
fn scenarios_without_a_sample_alert_on_lines_of_their_own() {
    let scenarios = fixtures::scenario_cases().with_file_name("scenarios/crowdsecurity");
    for (name, log, source) in [
        (
            "CVE-2021-4034",
            "Jan 27 11:02:49 host pkexec[7]: somebody: The value for the SHELL variable was not found \
             the /etc/shells file [USER=root]\n",
            "somebody",
        ),
        (
            "netgear_rce",
            "192.0.2.7 - - [26/Apr/2023:05:11:25 +0000] \
             \"GET /setup.cgi?next_file=netgear.cfg&todo=syscmd&cmd=id HTTP/1.0\" 404 153 \"-\" \"-\"\n\
             192.0.2.8 - - [26/Apr/2023:05:11:26 +0000] \
             \"GET /setup.cgi?next_file=netgear.cfg&todo=save HTTP/1.0\" 404 153 \"-\" \"-\"\n",
            "192.0.2.7",
        ),
    ] {
        let text = std::fs::read_to_string(scenarios.join(format!("{name}.yaml"))).expect(name);
        let report = replay(&*rule(&text), log.as_bytes());
        let alert = (format!("crowdsecurity/{name}"), source.to_owned(), 1);
        assert_eq!(counted(&report.alerts), BTreeMap::from([(alert, 1)]), "{name}");
    }
}

/// A scenario over web logs with further lines.
fn scenario(lines: &str) -> String {
    format!("name: test\ndescription: a test\nfilter: evt.Meta.service == 'http'\n{lines}")
}

fn rule(text: &str) -> Box<dyn Rule> {
    match parse_rules(text, "test", None, &RuleFiles::default()) {
        Ok(mut rules) => rules.remove(0),
        Err(error) => panic!("{error}\n{}", error.excerpt(text)),
    }
}

/// A log in combined format of requests: second, client and path.
fn combined(requests: &[(i64, &str, &str)]) -> Vec<u8> {
    let mut log = String::new();
    for (second, client, path) in requests {
        let time = 1_700_000_000 + second;
        let time = weir_core::format_rfc3339(weir_core::Timestamp {
            unix_ns: time * 1_000_000_000,
            offset_s: 0,
        });
        let (day, clock) = (&time[8..10], &time[11..19]);
        log += &format!(
            "{client} - - [{day}/Nov/2023:{clock} +0000] \"GET {path} HTTP/1.1\" 404 5 \"-\" \"-\"\n"
        );
    }
    log.into_bytes()
}

/// The alerts of a scenario: the line, the client and the number of events.
fn alerts(text: &str, requests: &[(i64, &str, &str)]) -> Vec<(u64, String, u64)> {
    let report = replay(&*rule(text), &combined(requests));
    let alert = |alert: &Alert| {
        (alert.line, String::from_utf8_lossy(&alert.subject).into_owned(), alert.events)
    };
    report.alerts.iter().map(alert).collect()
}

/// A leaky bucket of the naive replay, in whole seconds.
#[derive(Default)]
struct NaiveBucket {
    held: i64,
    last: Option<i64>,
    seen: Vec<String>,
    total: u64,
}

/// CrowdSec's own steps, as directly as they can be written.
fn naive(
    (capacity, leak, blackhole): (i64, i64, i64),
    is_distinct: bool,
    requests: &[(i64, String, String)],
) -> Vec<(u64, String, u64)> {
    let mut buckets: BTreeMap<String, NaiveBucket> = BTreeMap::new();
    let mut hidden: Vec<(String, i64)> = Vec::new();
    let mut alerts = Vec::new();
    for (line, (now, client, path)) in requests.iter().enumerate() {
        let last = buckets.get(client).and_then(|bucket| bucket.last);
        if last.is_some_and(|last| *now > last + (capacity + 1) * leak) {
            buckets.remove(client);
        }
        let bucket = buckets.entry(client.clone()).or_default();
        if is_distinct && bucket.seen.contains(path) {
            continue;
        }
        bucket.seen.push(path.clone());
        bucket.total += 1;
        let elapsed = bucket.last.map_or(0, |last| (now - last).max(0));
        bucket.held = (bucket.held - elapsed).max(0);
        bucket.last = Some(*now);
        if bucket.held + leak <= capacity * leak {
            bucket.held += leak;
            continue;
        }
        let total = bucket.total;
        buckets.remove(client);
        let is_muted = hidden.iter().any(|(key, end)| key == client && end > now);
        hidden.retain(|(_, end)| end > now);
        if !is_muted {
            hidden.push((client.clone(), now + blackhole));
            alerts.push((line as u64 + 1, client.clone(), total));
        }
    }
    alerts
}

proptest! {
    #[test]
    fn leaky_buckets_are_those_of_a_naive_replay(
        capacity in 1_i64..6,
        leak in 1_i64..12,
        blackhole in 1_i64..60,
        is_distinct in any::<bool>(),
        steps in proptest::collection::vec((-3_i64..9, 0_u8..3, 0_u8..6), 1..120),
    ) {
        let mut now = 1_000;
        let requests: Vec<(i64, String, String)> = steps
            .iter()
            .map(|(step, client, path)| {
                now += step;
                (now, format!("192.0.2.{client}"), format!("/{path}"))
            })
            .collect();
        let distinct = if is_distinct { "distinct: evt.Meta.http_path\n" } else { "" };
        let text = scenario(&format!(
            "type: leaky\ncapacity: {capacity}\nleakspeed: {leak}s\nblackhole: {blackhole}s\n\
             groupby: evt.Meta.source_ip\n{distinct}"
        ));
        let borrowed: Vec<(i64, &str, &str)> =
            requests.iter().map(|(time, client, path)| (*time, &client[..], &path[..])).collect();
        let expected = naive((capacity, leak, blackhole), is_distinct, &requests);
        prop_assert_eq!(alerts(&text, &borrowed), expected);
    }
}

#[test]
fn a_conditional_bucket_asks_its_events() {
    let text = scenario(
        "type: conditional\ncapacity: -1\nleakspeed: 10s\ngroupby: evt.Meta.source_ip\ncondition: |\n  \
         count(queue.Queue, {#.Meta.http_path startsWith '/b'}) >= 2\n  and evt.Meta.http_path == '/c'\n",
    );
    let (a, b) = ("192.0.2.1", "192.0.2.2");
    let requests = [(0, a, "/b1"), (1, b, "/b1"), (2, a, "/b2"), (3, a, "/c"), (4, b, "/c")];
    assert_eq!(alerts(&text, &requests), [(4, a.to_owned(), 3)]);
    // The bucket ends after its leak speed without an event.
    let requests = [(0, a, "/b1"), (2, a, "/b2"), (13, a, "/c")];
    assert!(alerts(&text, &requests).is_empty());
}

#[test]
fn a_counter_overflows_when_its_time_is_over() {
    let text =
        scenario("type: counter\ncapacity: -1\nduration: 10s\ngroupby: evt.Meta.source_ip\n");
    let (a, b) = ("192.0.2.1", "192.0.2.2");
    let requests = [(0, a, "/"), (5, b, "/"), (9, a, "/"), (12, a, "/"), (16, a, "/")];
    let found = alerts(&text, &requests);
    assert_eq!(found, [(3, a.to_owned(), 2), (2, b.to_owned(), 1)]);
    let report = replay(&*rule(&text), &combined(&requests));
    assert!(report.notes[0].contains("1 counter had not ended"), "{:?}", report.notes);
}

#[test]
fn buckets_are_filtered_cancelled_and_cached() {
    let leaky = |lines: &str| {
        scenario(&format!(
            "type: leaky\ncapacity: 2\nleakspeed: 10s\ngroupby: evt.Meta.source_ip\n{lines}"
        ))
    };
    let a = "192.0.2.1";
    let requests = [(0, a, "/1"), (0, a, "/2"), (0, a, "/3"), (0, a, "/4")];
    assert_eq!(alerts(&leaky(""), &requests), [(3, a.to_owned(), 3)]);
    let cancelling = leaky("cancel_on: evt.Meta.http_path == '/2'\n");
    assert!(alerts(&cancelling, &requests).is_empty());
    let filter = "overflow_filter: any(queue.Queue, {#.Meta.http_path == '/1'})\n";
    assert_eq!(alerts(&leaky(filter), &requests).len(), 1);
    // Of three events the last two are kept.
    assert!(alerts(&leaky(&format!("cache_size: 1\n{filter}")), &requests).is_empty());
}

#[test]
fn alerts_are_about_each_source_and_ban_it() {
    let text = scenario("type: leaky\ncapacity: 1\nleakspeed: 10s\nlabels:\n  remediation: true\n");
    let requests = [(0, "192.0.2.1", "/"), (0, "192.0.2.2", "/"), (3, "192.0.2.1", "/")];
    let report = replay(&*rule(&text), &combined(&requests));
    assert_eq!(report.alerts.len(), 2);
    assert_eq!(report.bans.len(), 2);
    assert_eq!(
        (&report.bans[0].matches[..], &report.bans[1].matches[..]),
        (&[(0, 1)][..], &[(0, 2)][..])
    );
    // The last request comes from a banned address.
    assert_eq!((report.requests.passed, report.requests.rejected), (2, 1));
    let scoped =
        scenario("type: trigger\nscope:\n  type: path\n  expression: Upper(evt.Meta.http_path)\n");
    assert_eq!(alerts(&scoped, &[(0, "192.0.2.1", "/a")]), [(1, "/A".to_owned(), 1)]);
    let named = alerts(&scenario("type: trigger\n"), &[(0, "client.example", "/a")]);
    assert!(named.is_empty(), "a name is not an address: {named:?}");
}

#[test]
fn a_conditional_bucket_keeps_what_its_capacity_says() {
    let text = |capacity: &str| {
        scenario(&format!(
            "type: conditional\nleakspeed: 60s\n{capacity}condition: len(queue.Queue) >= 3\n"
        ))
    };
    let requests: Vec<_> = (0..9).map(|second| (second, "192.0.2.1", "/")).collect();
    // The queue of CrowdSec holds one event more than its capacity.
    for (capacity, alerted) in [
        ("", 0),
        ("capacity: 0\n", 0),
        ("capacity: 1\n", 0),
        ("capacity: 2\n", 3),
        ("capacity: -1\n", 3),
    ] {
        let text = text(capacity);
        assert_eq!(alerts(&text, &requests).len(), alerted, "{capacity}");
        let rule = rule(&text);
        assert!(rule.notes().is_empty(), "it is replayed as CrowdSec does it");
        let notes = replay(&*rule, &combined(&requests)).notes;
        let is_warned = notes.iter().any(|note| note.contains("with `capacity: -1` it keeps all"));
        assert_eq!(is_warned, !capacity.contains("-1"), "{notes:?}");
    }
    let error = parse_rules(&text("capacity: -2\n"), "test", None, &RuleFiles::default());
    assert!(error.expect_err("it is negative").message.contains("-1 for all events"));
}

#[test]
fn the_memory_of_bans_is_counted_before_they_are_there() {
    let clients: Vec<String> =
        (0..3_000).map(|number| format!("10.0.{}.{}", number / 250, number % 250)).collect();
    let mut requests: Vec<_> = clients.iter().map(|client| (0, &client[..], "/")).collect();
    requests.extend([(1, "10.9.9.9", "/"); 300]);
    requests.push((400, "192.0.2.1", "/"));
    let text =
        scenario("type: counter\ncapacity: -1\nduration: 60s\nlabels:\n  remediation: true\n");
    let (report, memory_bytes) = replay_measured(&*rule(&text), &combined(&requests));
    let [.., before, after] = memory_bytes[..] else { panic!("there are events") };
    let texts: usize = report.bans.iter().map(|ban| ban.key.len() + 16 * ban.matches.len()).sum();
    assert!(after > texts + report.bans.len() * size_of::<weir_rules::Ban>(), "{after}");
    assert!(after < before + before / 4, "{before} {after}");
    assert_eq!(report.bans.len(), 3_001);
    for (number, ban) in report.bans.iter().enumerate().take(3_000) {
        assert_eq!(ban.matches, [(0, number as u64 + 1)]);
    }
    // Of the client with 300 lines, the last 100.
    let last: Vec<(u32, u64)> = (3_201..=3_300).map(|line| (0, line)).collect();
    assert_eq!(report.bans[3_000].matches, last);
}

#[test]
fn an_expression_that_grows_has_no_value() {
    let mut text = "let a0 = evt.Line.Raw; ".to_owned();
    for number in 0..30 {
        text += &format!("let a{} = a{number} + a{number}; ", number + 1);
    }
    let text = format!(
        "type: trigger\nname: test\ndescription: a test\nfilter: \"{text}a30 contains 'zz'\"\n"
    );
    let report = replay(&*rule(&text), &combined(&[(0, "192.0.2.1", "/"), (1, "192.0.2.1", "/")]));
    let [note] = &report.notes[..] else { panic!("{:?}", report.notes) };
    assert!(note.contains("no value for 2 events") && note.contains("more than 4 MiB"), "{note}");
}

#[test]
fn mistakes_in_scenarios_have_their_place() {
    for (lines, at, part) in [
        ("type: leeky\n", "leeky", "not a type of scenario"),
        ("type: leaky\nleakspeed: 10s\n", "leaky", "`capacity` of 1"),
        ("type: leaky\ncapacity: 0\nleakspeed: 10s\n", "0", "`capacity` of 1"),
        ("type: leaky\ncapacity: 5\n", "leaky", "needs a `leakspeed`"),
        ("type: leaky\ncapacity: 5\nleakspeed: 10\n", "10", "not a valid duration"),
        ("type: trigger\ncapacity: 1\n", "1", "no `capacity`"),
        ("type: counter\ncapacity: -1\n", "counter", "needs a `duration`"),
        ("type: conditional\nleakspeed: 1s\n", "name", "needs a `condition`"),
        ("type: bayesian\n", "bayesian", "not supported"),
        ("type: trigger\nblackhole: x\n", "x", "not a valid duration"),
        (
            "type: trigger\ngroupby: evt.Meta.source_ip == ''\n",
            "evt.Meta.source_ip == ''",
            "a text",
        ),
        ("type: trigger\ngroupby: evt.Enriched.ASNumber\n", "evt.Enriched.ASNumber", "databases"),
        ("type: trigger\nscope:\n  type: Range\n", "Range", "not supported"),
        ("type: trigger\nname: x\n", "name", "given twice"),
        ("type: trigger\ndistinct: |\n  Upper(\n    evt.Meta.a\n    1)\n", "1", "`)` is missing"),
        ("type: trigger\ndata:\n  - type: string\n", "type: string\n", "`dest_file`"),
    ] {
        let text = scenario(lines);
        let error = parse_rules(&text, "test", None, &RuleFiles::default()).err();
        let error = error.unwrap_or_else(|| panic!("{lines} is not a mistake"));
        assert!(error.message.contains(part), "{lines}: {error}");
        assert_eq!(text[error.range.clone()].trim_end(), at.trim_end(), "{lines}: {error}");
    }
}

#[test]
fn what_is_ignored_is_noted() {
    let text = scenario("type: trigger\nblackhol: 1m\ngroupby: evt.Parsed.nothing\n");
    let rule = rule(&text);
    let notes: Vec<_> = rule.notes().iter().map(|note| &text[note.range.clone()]).collect();
    assert_eq!(notes, ["blackhol", "evt.Parsed.nothing"]);
    assert!(rule.notes()[0].message.contains("did you mean `blackhole`"));
}

#[test]
fn data_files_are_read_and_missing_ones_named() {
    let text = "type: trigger\nname: test\ndescription: a test\ngroupby: evt.Meta.source_ip\n\
                filter: \"any(File('words.txt'), {evt.Meta.http_path contains #})\"\ndata:\n  \
                - source_url: https://example.com/w\n    dest_file: words.txt\n    type: string\n";
    let error = parse_rules(text, "test", None, &RuleFiles::default()).expect_err("no file");
    assert_eq!(&text[error.range.clone()], "'words.txt'");
    assert!(error.message.contains("https://example.com/w"), "{error}");
    let mut files = RuleFiles::default();
    files.add("words.txt".to_owned(), "# a remark\n\nadmin\n".to_owned());
    let rules = parse_rules(text, "test", None, &files).expect("a scenario");
    let log = combined(&[(0, "192.0.2.1", "/a"), (0, "192.0.2.2", "/admin")]);
    assert_eq!(replay(&*rules[0], &log).alerts.len(), 1);
}
