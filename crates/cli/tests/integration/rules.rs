//! `weir rules`: rules and logs of the command line, its outputs and its exit codes.

use serde_json::Value;
use weir_testkit::fixtures;
use weir_testkit::json_schema::check;

use crate::support::text as text_of;
use crate::support::{Folder, run, run_with_stdin, text};

const LIMIT: &str = "limit_req_zone $binary_remote_addr zone=one:10m rate=1r/s;\n\
                     limit_req zone=one burst=2 nodelay;\n";

const FORMAT: &str = "$remote_addr $msec $request_time \"$request\"";

/// Requests of two clients, of which one sends five at once.
fn log() -> String {
    let line = |client: u8, time: f64, took: f64| {
        format!("192.0.2.{client} {time:.3} {took:.3} \"GET / HTTP/1.1\"\n")
    };
    // The first request takes so long that it is logged last.
    let mut log: String =
        (0..4).map(|request| line(1, 100.5 + f64::from(request) / 1e3, 0.0)).collect();
    log += &line(2, 101.0, 0.0);
    log + &line(1, 102.5, 2.5)
}

fn schema(name: &str) -> Value {
    let path = format!("{}/../../docs/schema/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON")
}

#[test]
fn times_in_text_are_in_the_zone_of_the_log_or_the_one_that_is_asked_for() {
    let folder = Folder::new();
    let line = "192.0.2.5 - - [22/Nov/2026:10:00:07 +0530] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\"\n";
    let rule = folder.file("limits.conf", LIMIT.as_bytes());
    let log = folder.file("a.log", line.repeat(5).as_bytes());
    let options = ["rules", "--rule", text(&rule), text(&log)];
    assert!(run(options).stdout.contains("  2026-11-22T10:00:07+05:30  "));
    let asked = run([&options[..], &["--tz", "UTC"]].concat());
    assert!(asked.stdout.contains("  2026-11-22T04:30:07Z  "), "{}", asked.stdout);
    // JSON has UTC, whatever the zone of the log.
    assert!(run([&options[..], &["--json"]].concat()).stdout.contains("\"2026-11-22T04:30:07Z\""));
}

#[test]
fn requests_are_replayed_in_the_order_of_their_arrival() {
    let folder = Folder::new();
    let (rule, log) =
        (folder.file("limits.conf", LIMIT.as_bytes()), folder.file("a.log", log().as_bytes()));
    let options = ["rules", "--rule", text(&rule), "--format", FORMAT, text(&log)];
    let decisions = run([&options[..], &["--decisions"]].concat());
    assert_eq!(decisions.code, 3, "{}", decisions.stderr);
    let verdicts: Vec<(u64, String)> = decisions
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .inspect(|line| check(&schema("decisions"), line).expect("it fits the schema"))
        .map(|line| {
            assert_eq!(line["source"], text(&log));
            (line["line"].as_u64().expect("a number"), line["verdict"].to_string())
        })
        .collect();
    let verdict = |line| verdicts.iter().find(|it| it.0 == line).map(|it| it.1.trim_matches('"'));
    assert!(verdicts.is_sorted(), "in the order of the log");
    let expected = ["passed", "passed", "rejected", "rejected", "passed", "passed"];
    for (line, expected) in (1..).zip(expected) {
        assert_eq!(verdict(line), Some(expected), "line {line}");
    }
    let printed = run([&options[..], &["--json"]].concat());
    let object: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    check(&schema("rules"), &object).expect("it fits the schema");
    let rule = &object["rules"][0];
    assert_eq!((&rule["family"], &rule["exactness"]), (&"nginx".into(), &"exact".into()));
    assert_eq!(rule["keys"], serde_json::json!({ "seen": 2, "tripped": 1, "undecided": 0 }));
    let trip = &rule["trips"][0];
    assert_eq!((&trip["key"], &trip["line"]), (&"192.0.2.1".into(), &3.into()));
    assert_eq!((&trip["rejected"], &trip["passed"]), (&2.into(), &3.into()));
    let shown = run(options);
    assert!(shown.stdout.contains("2 keys, 1 tripped\n"), "{}", shown.stdout);
    assert!(shown.stdout.contains("4 passed, 0 delayed, 2 rejected, 0 undecided"));
}

/// A verdict that holds only without a part of the rule is not called exact.
#[test]
fn what_was_not_followed_makes_verdicts_less_than_exact() {
    let folder = Folder::new();
    let log = folder.file("a.log", log().as_bytes());
    let zone = "limit_req_zone $remote_addr zone=one:1m rate=1r/s;";
    let files = "location /x { try_files $uri /a; } location / { limit_req zone=one; }";
    let rule = format!("{zone} server {{ {files} }}");
    let options = ["rules", "--rule-text", &rule, "--format", FORMAT, text(&log)];
    let printed = run([&options[..], &["--json"]].concat());
    let object: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    check(&schema("rules"), &object).expect("it fits the schema");
    let rule = &object["rules"][0];
    assert_eq!(rule["exactness"], "bounded");
    let parts = rule["not_followed"].as_array().expect("a list");
    assert!(parts[0].as_str().expect("a text").contains("`try_files`"), "{parts:?}");
    let shown = run(options);
    assert!(shown.stdout.contains("A part of the rule was not followed"), "{}", shown.stdout);
    assert!(shown.stderr.contains("`try_files`"), "{}", shown.stderr);
}

#[test]
fn the_exit_code_shows_what_would_have_happened() {
    let folder = Folder::new();
    let log = folder.file("a.log", log().as_bytes());
    let code = |rule: &str, more: &[&str]| {
        let options = ["rules", "--rule-text", rule, "--format", FORMAT, text(&log)];
        run([&options[..], more].concat()).code
    };
    assert_eq!(code(LIMIT, &[]), 3);
    assert_eq!(code(&LIMIT.replace("burst=2", "burst=20"), &[]), 0);
    assert_eq!(code(LIMIT, &["--where", "client=192.0.2.2"]), 0);
    assert_eq!(code(LIMIT, &["--where", "client=192.0.2.99"]), 1);
    assert_eq!(code(LIMIT, &["missing.log"]), 2);
    assert_eq!(run(["rules", text(&log)]).code, 2, "without a rule");
}

#[test]
fn mistakes_in_a_rule_are_shown_at_their_place() {
    let folder = Folder::new();
    let rule = folder.file("limits.conf", LIMIT.replace("burst", "brust").as_bytes());
    let printed = run_with_stdin(["rules", "--rule", text(&rule)], b"");
    assert_eq!(printed.code, 2);
    let expected = format!(
        "weir: {}:2: `brust=2` is not a parameter of this directive; did you mean `burst`?\n  \
         limit_req zone=one brust=2 nodelay;\n                     ^^^^^^^\n",
        text(&rule)
    );
    assert_eq!(printed.stderr, expected);
    let missing = run_with_stdin(
        ["rules", "--rule-text", &LIMIT.replace("binary_remote_addr", "http_x_key")],
        b"192.0.2.1 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 5\n",
    );
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("add $http_x_key to log_format"), "{}", missing.stderr);
}

#[test]
fn threads_and_files_make_no_difference() {
    let folder = Folder::new();
    let rule = folder.file("limits.conf", LIMIT.as_bytes());
    let logs = fixtures::file("nginx-combined");
    let printed = |jobs: &str| {
        run(["rules", "--rule", text(&rule), "--decisions", "--jobs", jobs, text(&logs)]).stdout
    };
    let alone = printed("1");
    assert!(alone.lines().count() > 1_000);
    assert!(printed("3") == alone);
}

#[test]
fn the_curve_and_the_suggestion_agree_with_the_replay() {
    let folder = Folder::new();
    let rule = folder.file("limits.conf", LIMIT.as_bytes());
    let logs = fixtures::file("nginx-combined");
    let options = ["rules", "--rule", text(&rule), "--sweep", "--suggest"];
    let printed = run([&options[..], &["--json", text(&logs)]].concat());
    let object: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    check(&schema("rules"), &object).expect("it fits the schema");
    let rule = &object["rules"][0];
    let (seen, suggestion) = (&rule["keys"]["seen"], &rule["suggestion"]);
    let burst = suggestion["burst"].as_u64().expect("a number");
    let rate = suggestion["rate"].as_str().expect("a text");
    assert!(suggestion["keys"].as_u64() > Some(0) && suggestion["keys"].as_u64() < seen.as_u64());
    let shown = run([&options[..], &[text(&logs)]].concat()).stdout;
    let last = shown.lines().last().expect("a line");
    assert_eq!(last, format!("limit_req zone=one burst={burst} nodelay;"));
    // The lines can be pasted: with them, exactly those keys are caught.
    assert!(shown.contains(&format!("# In limit_req_zone: rate={rate}\n")), "{shown}");
    let zone = format!("limit_req_zone $remote_addr zone=one:1m rate={rate};");
    let pasted = format!("{zone}\n{last}");
    let again = run(["rules", "--rule-text", &pasted, "--json", text(&logs)]);
    let again: Value = serde_json::from_str(&again.stdout).expect("JSON");
    let estimate = &again["rules"][0]["estimate"];
    assert_eq!(estimate["keys"], suggestion["keys"]);
    assert_eq!(estimate["rejected"], suggestion["requests"]);
    let keys = &again["rules"][0]["keys"];
    let (tripped, undecided) = (keys["tripped"].as_u64(), keys["undecided"].as_u64());
    assert!(tripped <= suggestion["keys"].as_u64());
    assert!(suggestion["keys"].as_u64() <= tripped.zip(undecided).map(|(one, other)| one + other));
}

#[test]
fn listed_clients_are_described_and_people_are_spared() {
    let mut log = String::new();
    let mut request = |client: &str, second: u32, target: &str, status: u32, agent: &str| {
        let time = format!("17/Dec/2025:09:{:02}:{:02} +0000", second / 60, second % 60);
        log += &format!(
            "{client} - - [{time}] \"GET {target} HTTP/1.1\" {status} 17 \"-\" \"{agent}\"\n"
        );
    };
    let browser = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
    // The person reaches a higher peak at once than the attack, which lasts longer.
    for second in 0..1_200 {
        request("192.0.2.66", second, "/wp-config.php", 404, "python-requests/2.31");
        request("192.0.2.66", second, "/.env", 404, "python-requests/2.31");
        if second == 100 {
            request("192.0.2.7", second, "/", 200, browser);
            (0..29).for_each(|_| request("192.0.2.7", second, "/site.css", 200, browser));
        }
        if second % 60 == 0 {
            (0..20).for_each(|host| {
                request(&format!("198.51.100.{host}"), second, "/", 200, browser);
            });
        }
    }
    let folder = Folder::new();
    let path = folder.file("a.log", log.as_bytes());
    let rule =
        "limit_req_zone $remote_addr zone=one:1m rate=1r/s; limit_req zone=one burst=5 nodelay;";
    let options = ["rules", "--rule-text", rule, "--suggest", "--good", "198.51.100.0/24"];
    let printed = run([&options[..], &["--json", text(&path)]].concat());
    let object: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    check(&schema("rules"), &object).expect("it fits the schema");
    let rule = &object["rules"][0];
    let client = |address: &str| {
        let clients = rule["clients"].as_array().expect("a list");
        clients.iter().find(|client| client["client"] == address).expect(address).clone()
    };
    let attack = serde_json::json!({
        "client": "192.0.2.66", "looks": "attack", "agent": "python-requests",
        "first_path": "/wp-config.php", "requests": 2_400, "errors": 2_400,
    });
    assert_eq!(client("192.0.2.66"), attack);
    assert_eq!(client("192.0.2.7")["looks"], "person");
    assert_eq!(client("198.51.100.3")["good"], serde_json::json!(["named_network"]));
    let suggestion = &rule["suggestion"];
    assert_eq!(suggestion["busiest_spared"]["client"], "192.0.2.7");
    let peak = suggestion["busiest_spared"]["peak"].as_f64().expect("a number");
    assert!(suggestion["burst"].as_f64().expect("a number") >= peak, "{suggestion}");
    assert_eq!(suggestion["keys"], 1, "the attack alone: {suggestion}");
    let shown = run([&options[..], &["--top", "2", text(&path)]].concat()).stdout;
    let who = "192.0.2.66  attack      python-requests     2,400   100 %  /wp-config.php\n";
    assert!(shown.contains(who), "{shown}");
    assert!(shown.contains("looks like a person or is good is 192.0.2.7 (person)"), "{shown}");
    let wrong = run([&options[..], &["--good", "office", text(&path)]].concat());
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("--good: `office` is neither"), "{}", wrong.stderr);
}

/// The labels were given by reading the requests, not by the rules of the program.
#[test]
fn no_labelled_person_is_over_a_suggested_setting() {
    let labels = std::fs::read_to_string(fixtures::file("clients.tsv")).expect("labels");
    let rows = labels.lines().filter(|line| !line.starts_with('#'));
    let rows: Vec<Vec<&str>> = rows.map(|line| line.split('\t').collect()).collect();
    let (mut people, mut attacks) = (0, 0);
    for rows in rows.chunk_by(|one, other| one[0] == other[0]) {
        let logs = fixtures::file(rows[0][0]);
        for rate in ["1r/s", "10r/s", "30r/m"] {
            let rule = format!(
                "limit_req_zone $remote_addr zone=one:10m rate={rate}; limit_req zone=one burst=5 nodelay;"
            );
            let shown = run(["rules", "--rule-text", &rule, "--suggest", text(&logs)]).stdout;
            let last = shown.lines().last().expect("a line");
            let rate = shown.lines().find_map(|line| line.strip_prefix("# In limit_req_zone: "));
            let rate = rate.expect("a rate");
            let pasted = format!("limit_req_zone $remote_addr zone=one:10m {rate}; {last}");
            let options = ["rules", "--json", "--rule-text", &pasted, text(&logs)];
            let object: Value = serde_json::from_str(&run(options).stdout).expect("JSON");
            let trips = object["rules"][0]["trips"].as_array().expect("a list");
            let is_over = |address: &str| {
                trips.iter().any(|trip| {
                    let rejected = trip.get("likely_rejected").unwrap_or(&trip["rejected"]);
                    trip["key"] == address && rejected.as_u64() > Some(0)
                })
            };
            for row in rows {
                let [_, address, label, _] = row[..] else { panic!("{row:?}") };
                match label {
                    "person" => {
                        assert!(!is_over(address), "{pasted} rejects {address}");
                        people += 1;
                    }
                    _ => attacks += u32::from(is_over(address)),
                }
            }
        }
    }
    assert!(people >= 50 && attacks >= 6, "{people} people let through, {attacks} attacks caught");
}

/// Rules in the languages whose settings are suggested.
const TUNABLE: [&str; 8] = [
    "nginx.ingress.kubernetes.io/limit-rps: \"5\"\nnginx.ingress.kubernetes.io/limit-burst-multiplier: \"2\"\n",
    "limit 60 requests in 1m by client",
    "http:\n  middlewares:\n    a:\n      rateLimit:\n        average: 5\n        burst: 10\n",
    "backend b\n  stick-table type ip size 1m expire 10s store http_req_rate(10s)\n  \
     http-request track-sc0 src\n  http-request deny if { sc_http_req_rate(0) gt 20 }\n",
    "sub vcl_recv {\n  if (vsthrottle.is_denied(client.identity, 15, 10s)) {\n    \
     return (synth(429));\n  }\n}\n",
    "iptables -A INPUT -p tcp --dport 80 -m hashlimit --hashlimit-above 5/sec --hashlimit-burst 10 \
     --hashlimit-mode srcip --hashlimit-name http -j DROP",
    "type: leaky\nname: test/flood\ndescription: many requests\n\
     filter: evt.Meta.log_type == 'http_access-log'\ngroupby: evt.Meta.source_ip\ncapacity: 40\n\
     leakspeed: 500ms\nlabels:\n  remediation: true\n",
    "[web]\nfailregex = ^<HOST> - \\S+ \\[\\] \"[^\"]*\" 4\\d\\d\nbantime = 10m\n",
];

/// What is suggested can be pasted: it gives the figures that are told, and rejects no person.
#[test]
fn suggested_texts_give_the_figures_that_are_told() {
    let labels = std::fs::read_to_string(fixtures::file("clients.tsv")).expect("labels");
    let rows = labels.lines().filter(|line| !line.starts_with('#'));
    let people: Vec<&str> = rows
        .map(|line| line.split('\t').collect::<Vec<&str>>())
        .filter(|row| row[2] == "person")
        .map(|row| row[1])
        .collect();
    let mut caught = 0;
    for folder in ["nginx-combined", "apache-combined"] {
        let logs = fixtures::file(folder);
        for rule in TUNABLE {
            let of_text = |text: &str, more: &[&str]| {
                let options = ["rules", "--json", "--rule-text", text, text_of(&logs)];
                let printed = run([&options[..], more].concat());
                let object: Value = serde_json::from_str(&printed.stdout)
                    .unwrap_or_else(|error| panic!("{error}: {text}: {}", printed.stderr));
                check(&schema("rules"), &object).expect("it fits the schema");
                object["rules"][0].clone()
            };
            let suggestion = of_text(rule, &["--suggest"])["suggestion"].clone();
            let pasted = suggestion["text"].as_str().expect(rule);
            let again = of_text(pasted, &[]);
            let told = |estimate: &str, counts: &Value| match again.get("estimate") {
                Some(found) => found[estimate].clone(),
                None => counts.clone(),
            };
            assert_eq!(suggestion["keys"], told("keys", &again["keys"]["tripped"]), "{pasted}");
            let requests = told("rejected", &again["requests"]["rejected"]);
            assert_eq!(suggestion["requests"], requests, "{pasted}");
            let trips = again["trips"].as_array().expect("a list");
            for trip in trips {
                let key = trip["key"].as_str().expect("a key");
                let rejected = trip.get("likely_rejected").unwrap_or(&trip["rejected"]);
                let is_over = rejected.as_u64() > Some(0) || trip["verdict"] == "rejected";
                assert!(!is_over || !people.contains(&key), "{pasted} rejects {key}");
            }
            caught += suggestion["keys"].as_u64().expect("a number");
            let shown = run(["rules", "--suggest", "--rule-text", rule, text_of(&logs)]).stdout;
            let (_, after) = shown.split_once("\n# ").expect("comments");
            let whole = format!("# {after}");
            let same = of_text(&whole, &[]);
            assert_eq!(same["trips"], again["trips"], "{whole}");
        }
    }
    assert!(caught >= 20, "{caught}");
}

/// A scenario of CrowdSec that names a data file.
const SCENARIO: &str = "type: leaky\nname: test/words\ndescription: requests with a word\n\
    filter: \"any(File('words.txt'), {evt.Meta.http_path contains #})\"\n\
    groupby: evt.Meta.source_ip\ncapacity: 2\nleakspeed: 10s\nlabels:\n  remediation: true\n";

#[test]
fn scenarios_of_a_folder_are_replayed() {
    let folder = Folder::new();
    let line = |client: u8, second: u8| {
        format!(
            "192.0.2.{client} - - [02/Nov/2026:00:00:{second:02} +0000] \
             \"GET /admin?{second} HTTP/1.1\" 404 5 \"-\" \"-\"\n"
        )
    };
    let log: String = (0..4).map(|second| line(1, second)).chain([line(2, 5)]).collect();
    let log = folder.file("access.log", log.as_bytes());
    let scenarios = folder.path("scenarios").join("test");
    let data = folder.path("data");
    for created in [&scenarios, &data] {
        std::fs::create_dir_all(created).expect("a folder");
    }
    std::fs::write(scenarios.join("words.yaml"), SCENARIO).expect("a file");
    std::fs::write(data.join("words.txt"), "# words\nadmin\n").expect("a file");
    let rules = folder.path("scenarios");
    let options =
        ["rules", "--rule", text(&rules), "--data-dir", text(&data), "--json", text(&log)];
    let replayed = run(options);
    assert_eq!(replayed.code, 3, "{}", replayed.stderr);
    let object: Value = serde_json::from_str(&replayed.stdout).expect("JSON");
    check(&schema("rules"), &object).expect("it fits the schema");
    let rule = &object["rules"][0];
    assert_eq!(rule["family"], "crowdsec");
    let alert = &rule["alerts"][0];
    assert_eq!((&alert["source"], &alert["scenario"]), (&"192.0.2.1".into(), &"test/words".into()));
    assert_eq!((&alert["events"], &alert["line"]), (&3.into(), &3.into()));
    assert_eq!(rule["bans"][0]["until"], "2026-11-02T04:00:02Z");
    // A file that cannot be replayed is named, and the others are replayed.
    std::fs::write(scenarios.join("wrong.yaml"), SCENARIO.replace("leaky", "bayesian"))
        .expect("a file");
    let incomplete = run(options);
    assert_eq!(incomplete.code, 2);
    assert!(incomplete.stderr.contains("wrong.yaml:1: bayesian"), "{}", incomplete.stderr);
    assert!(incomplete.stderr.contains("1 of 2 files are not replayed"), "{}", incomplete.stderr);
    assert_eq!(incomplete.stdout, replayed.stdout);
    let without = run(["rules", "--rule", text(&rules), text(&log)]);
    assert_eq!(without.code, 2);
    assert!(without.stderr.contains("`words.txt` is missing"), "{}", without.stderr);
}
