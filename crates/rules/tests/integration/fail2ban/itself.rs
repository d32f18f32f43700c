//! Comparison with fail2ban itself, which is installed for these tests.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use weir_rules::{Events, Line, LogCounts, RuleFiles};
use weir_testkit::fixtures;
use weir_testkit::numbers::Numbers;

use super::{Replayed, ShortBan, files_of, log, replay, rules, short};

/// Debian's Python, which has the modules of the package.
const PYTHON: &str = "/usr/bin/python3";
const FILTERS: &str = "/etc/fail2ban/filter.d";
const SAMPLES: &str = "/usr/lib/python3/dist-packages/fail2ban/tests/files/logs";

/// The number of settings.
const SETTINGS: u64 = 40;

/// Filters over the logs of web servers and what is behind them.
const WEB_FILTERS: [&str; 30] = [
    "3proxy",
    "apache-auth",
    "apache-badbots",
    "apache-botsearch",
    "apache-fakegooglebot",
    "apache-modsecurity",
    "apache-nohome",
    "apache-noscript",
    "apache-overflows",
    "apache-pass",
    "apache-shellshock",
    "drupal-auth",
    "froxlor-auth",
    "gitlab",
    "grafana",
    "groupoffice",
    "haproxy-http-auth",
    "horde",
    "lighttpd-auth",
    "monitorix",
    "nginx-bad-request",
    "nginx-botsearch",
    "nginx-http-auth",
    "nginx-limit-req",
    "php-url-fopen",
    "phpmyadmin-syslog",
    "roundcube-auth",
    "sogo-auth",
    "squid",
    "traefik-auth",
];

/// Filters whose samples have dates without a year, for which fail2ban assumes the current one:
/// only the number of failures is compared.
const YEARLESS: [&str; 7] = [
    "drupal-auth",
    "froxlor-auth",
    "haproxy-http-auth",
    "horde",
    "phpmyadmin-syslog",
    "roundcube-auth",
    "sogo-auth",
];

/// Filters of other software whose samples are not compared, and why.
const OTHERS_LEFT_OUT: [(&str, &str); 3] = [
    ("guacamole", "it joins lines by maxlines"),
    ("mongodb-auth", "it joins lines by <SKIPLINES>"),
    ("slapd", "it joins lines by <SKIPLINES>"),
];

/// Runs jobs through fail2ban.
fn fail2ban(jobs: &[Value]) -> Vec<Value> {
    let script = fixtures::root().join("../oracle/fail2ban_replay.py");
    let mut python = Command::new(PYTHON)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python is there");
    let mut input = python.stdin.take().expect("a pipe");
    let text: String = jobs.iter().map(|job| format!("{job}\n")).collect();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = python.wait_with_output().expect("it ends");
    writer.join().expect("it ends").expect("it is written");
    let text = String::from_utf8(output.stdout).expect("it is JSON");
    let results: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    assert_eq!(results.len(), jobs.len(), "fail2ban did all jobs");
    for (job, result) in jobs.iter().zip(&results) {
        assert!(result["error"].is_null(), "{job}: {}", result["error"]);
    }
    results
}

fn failures(result: &Value) -> Vec<(u64, String)> {
    let list = result["failures"].as_array().expect("a list");
    let failure = |failure: &Value| {
        (failure[0].as_u64().expect("a line"), failure[1].as_str().expect("a name").to_owned())
    };
    list.iter().map(failure).collect()
}

fn bans(result: &Value) -> Vec<ShortBan> {
    let list = result["bans"].as_array().expect("a list");
    let ban = |ban: &Value| {
        (
            ban[0].as_str().expect("a name").to_owned(),
            ban[1].as_f64().expect("a time") as i64,
            ban[2].as_f64().map(|until| until as i64),
            ban[3].as_u64().expect("a line"),
            ban[4].as_bool().expect("a flag"),
        )
    };
    list.iter().map(ban).collect()
}

#[track_caller]
fn assert_same(name: &str, replayed: &Replayed, result: &Value) {
    let (ours, theirs) = (&replayed.failures, failures(result));
    let difference = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
    assert_eq!(difference, None, "{name}: failures, ours and those of fail2ban");
    assert_eq!(ours.len(), theirs.len(), "{name}: failures");
    let ours: Vec<_> = replayed.report.bans.iter().map(short).collect();
    assert_same_bans(name, &ours, &bans(result));
}

#[track_caller]
fn assert_same_bans(name: &str, ours: &[ShortBan], theirs: &[ShortBan]) {
    let difference = ours.iter().zip(theirs).find(|(ours, theirs)| ours != theirs);
    assert_eq!(difference, None, "{name}: bans, ours and those of fail2ban");
    assert_eq!(ours.len(), theirs.len(), "{name}: bans");
}

/// A log of these tests, made from a seed.
fn written_log(seed: u64) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fail2ban-{seed}.log"));
    std::fs::write(&path, log(seed, 2_000)).expect("it is written");
    path
}

/// A setting: the text of the jail, and the job.
fn setting(numbers: &mut Numbers, path: &Path) -> (String, Value) {
    let (maxretry, findtime) = (1 + numbers.below(8), 5 + numbers.below(900));
    let bantime = if numbers.below(8) == 0 { -1 } else { 10 + numbers.below(900) as i64 };
    let maxmatches = numbers.below(7);
    let patterns = [
        r#"^<HOST> \S+ \S+ \[\] "[^"]*" (?:404|403|400) "#,
        r#"^<ADDR> .*"GET /(?:wp-login|admin)[^"]*" (?!200)\d+ .*$"#,
        r#"^<HOST> - - .* "<F-ID>[^"]+</F-ID>"$"#,
        r#"^<SUBNET> - - \[\] "GET /cgi-bin"#,
        r#"^<IP4> - (?P<user>-)(?: (?P=user)) \[\] ".* 40\d \d+ "-" "(?i:MOZILLA|CURL)"#,
    ];
    let pattern = numbers.one_of(&patterns);
    let ignoreregex = numbers.one_of(&["", r#""curl/"#, r"\b301\b"]);
    let ignoreip = numbers.one_of(&["", "192.0.2.0/30", "192.0.2.7 2001:db8::/64"]);
    let usedns = numbers.one_of(&["warn", "no", "raw"]);
    let mut text = format!(
        "[seeded]\nmaxretry = {maxretry}\nfindtime = {findtime}\nbantime = {bantime}\n\
         maxmatches = {maxmatches}\nignoreself = false\nusedns = {usedns}\nfailregex = {pattern}\n"
    )
    .replace("% ", "%% ");
    let mut job = json!({
        "maxretry": maxretry, "findtime": findtime, "bantime": bantime, "maxmatches": maxmatches,
        "failregex": [pattern], "usedns": usedns, "files": [path.to_str()],
        "ignoreip": ignoreip.split_whitespace().collect::<Vec<_>>(),
    });
    if !ignoreregex.is_empty() {
        let _ = writeln!(text, "ignoreregex = {ignoreregex}");
        job["ignoreregex"] = json!([ignoreregex]);
    }
    if !ignoreip.is_empty() {
        let _ = writeln!(text, "ignoreip = {ignoreip}");
    }
    let increments = [
        &[("increment", "true")][..],
        &[("increment", "true"), ("factor", "2"), ("maxtime", "2000")],
        &[("increment", "true"), ("multipliers", "1 2 4 8")],
    ];
    if numbers.below(2) == 0 {
        let increment = increments[numbers.below(3) as usize];
        for (name, value) in increment {
            let _ = writeln!(text, "bantime.{name} = {value}");
            job["increment"][name] = json!(value);
        }
    }
    (text, job)
}

#[test]
#[ignore = "needs fail2ban; `cargo xtask test` runs it"]
fn bans_are_the_same_at_many_settings() {
    let mut numbers = Numbers::new(1);
    let mut paths: Vec<PathBuf> = (1..=4).map(written_log).collect();
    paths.push(fixtures::hackers_first_1000());
    paths.push(fixtures::elastic_first_2000());
    let settings: Vec<(String, Value)> = (0..SETTINGS)
        .map(|number| setting(&mut numbers, &paths[number as usize % paths.len()]))
        .collect();
    let jobs: Vec<Value> = settings.iter().map(|(_, job)| job.clone()).collect();
    let (mut all_failures, mut all_bans) = (0, 0);
    for ((text, job), result) in settings.iter().zip(fail2ban(&jobs)) {
        let rule = rules(text, &RuleFiles::default()).remove(0);
        let log = std::fs::read(job["files"][0].as_str().expect("a path")).expect("it is read");
        let replayed = replay(&*rule, &log);
        assert_same(text, &replayed, &result);
        all_failures += replayed.failures.len();
        all_bans += replayed.report.bans.len();
    }
    assert!(all_failures > 5_000 && all_bans > 500, "{all_failures} failures, {all_bans} bans");
    println!("{SETTINGS} settings: {all_failures} failures and {all_bans} bans are the same");
}

#[test]
#[ignore = "needs fail2ban; `cargo xtask test` runs it"]
fn stock_filters_find_the_same_in_their_samples() {
    let files = files_of(Path::new(FILTERS));
    let mut same = 0;
    let mut skipped = Vec::new();
    for filter in WEB_FILTERS {
        let sample = Path::new(SAMPLES).join(filter);
        if !sample.exists() {
            skipped.push(format!("{filter} (no sample)"));
            continue;
        }
        same += same_with_options(filter, &sample, &files);
    }
    println!("{same} filters and modes are the same; skipped: {}", skipped.join(", "));
    assert!(same >= 25, "{same}");
}

#[test]
#[ignore = "needs fail2ban; `cargo xtask test` runs it"]
fn stock_filters_of_other_software_find_as_much_in_their_samples() {
    let files = files_of(Path::new(FILTERS));
    let (mut same, mut skipped) = (0, Vec::new());
    let mut samples: Vec<String> = std::fs::read_dir(SAMPLES)
        .expect("fail2ban has samples")
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.to_owned()))
        .filter(|name| !WEB_FILTERS.contains(&&**name) && !name.contains("test"))
        .collect();
    samples.sort_unstable();
    for filter in samples.iter().filter(|name| {
        Path::new(SAMPLES).join(name).is_file()
            && Path::new(FILTERS).join(format!("{name}.conf")).exists()
    }) {
        match OTHERS_LEFT_OUT.iter().find(|(name, _)| name == filter) {
            Some((name, why)) => skipped.push(format!("{name} ({why})")),
            None => same += same_with_options(filter, &Path::new(SAMPLES).join(filter), &files),
        }
    }
    println!("{same} filters and modes find as much; skipped: {}", skipped.join(", "));
    assert!(same >= 30, "{same}");
}

/// Compares a filter over its own sample lines, with each of the options that the sample names.
fn same_with_options(filter: &str, sample: &Path, files: &RuleFiles) -> usize {
    let log = std::fs::read(sample).expect("it is read");
    let mut all: Vec<Value> = vec![json!({})];
    for line in String::from_utf8_lossy(&log).lines() {
        let Some(options) = line.strip_prefix("# filterOptions:") else { continue };
        match serde_json::from_str(options.trim()).expect("it is JSON") {
            Value::Array(several) => all.extend(several),
            one => all.push(one),
        }
    }
    for options in &mut all {
        let options = options.as_object_mut().expect("an object");
        options.retain(|name, _| !name.starts_with("test."));
    }
    all.dedup();
    let job = |options: &Value| {
        json!({
            "filter": filter, "options": options, "maxretry": 2, "findtime": 600, "bantime": 60,
            "maxmatches": 2, "files": [sample.to_str()],
        })
    };
    let jobs: Vec<Value> = all.iter().map(job).collect();
    for (options, result) in all.iter().zip(fail2ban(&jobs)) {
        let options: Vec<String> = options
            .as_object()
            .expect("an object")
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", value.as_str().unwrap_or_default()))
            .collect();
        let text = format!(
            "[stock]\nfilter = {filter}[{}]\nmaxretry = 2\nfindtime = 600\nbantime = 60\n\
             ignoreself = false\n",
            options.join(", ")
        );
        let rule = rules(&text, files).remove(0);
        let replayed = replay(&*rule, &log);
        let (ours, theirs) = (replayed.failures.len() as u64, failures(&result).len() as u64);
        if !WEB_FILTERS.contains(&filter) {
            // Host names are not looked up, and a failure may come before the first date.
            let most = ours + replayed.report.requests.undecided;
            assert!((ours..=most).contains(&theirs), "{text}: {ours} to {most}, not {theirs}");
        } else if YEARLESS.contains(&filter) {
            assert_eq!(ours + replayed.report.requests.undecided, theirs, "{text}");
        } else {
            assert_eq!(replayed.failures, failures(&result), "{text}");
            // The times of samples jump by years, and whether an earlier ban is still in force
            // then depends on which lines the clock of the oracle reads a date from.
            let unmarked = |ban: ShortBan| (ban.0, ban.1, ban.2, ban.3, false);
            let ours: Vec<_> = replayed.report.bans.iter().map(short).map(unmarked).collect();
            let theirs: Vec<_> = bans(&result).into_iter().map(unmarked).collect();
            assert_same_bans(&text, &ours, &theirs);
        }
    }
    jobs.len()
}

#[test]
#[ignore = "needs fail2ban; `cargo xtask test` runs it"]
fn stock_filters_find_the_same_in_real_logs() {
    let files = files_of(Path::new(FILTERS));
    let mut paths = vec![fixtures::hackers_first_1000(), fixtures::elastic_first_2000()];
    paths.extend(fixtures::nginx_combined().into_iter().take(6));
    let mut all_failures = 0;
    for filter in ["apache-badbots", "nginx-botsearch", "nginx-bad-request", "php-url-fopen"] {
        let job = |path: &PathBuf| {
            json!({
                "filter": filter, "maxretry": 3, "findtime": 3_600, "bantime": 600,
                "maxmatches": 3, "files": [path.to_str()],
            })
        };
        let jobs: Vec<Value> = paths.iter().map(job).collect();
        let text = format!(
            "[stock]\nfilter = {filter}\nmaxretry = 3\nfindtime = 1h\nbantime = 10m\n\
             ignoreself = false\n"
        );
        let rule = rules(&text, &files).remove(0);
        for (path, result) in paths.iter().zip(fail2ban(&jobs)) {
            let log = std::fs::read(path).expect("it is read");
            let replayed = replay(&*rule, &log);
            assert_same(&format!("{filter} over {}", path.display()), &replayed, &result);
            all_failures += replayed.failures.len();
        }
    }
    assert!(all_failures > 50, "{all_failures}");
}

/// The lines that each pattern of a filter matches, as `fail2ban-regex` counts them.
fn counts_of_fail2ban_regex(log: &Path, filter: &str) -> Vec<u64> {
    let mut command = Command::new("fail2ban-regex");
    command.args(["-v", "--usedns", "no"]).arg(log).arg(filter);
    let output = command.output().expect("fail2ban-regex runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let from = text.find("Failregex:").unwrap_or_else(|| panic!("{filter}: {text}"));
    let to = text.find("Ignoreregex:").unwrap_or(text.len());
    // A line such as `|   1) [12] ^<HOST> ...`
    let count = |line: &str| line.split_once(") [")?.1.split(']').next()?.parse().ok();
    text[from..to].lines().filter_map(count).collect()
}

#[test]
#[ignore = "needs fail2ban; `cargo xtask test` runs it"]
fn each_pattern_matches_as_many_lines_as_in_fail2ban_regex() {
    let files = files_of(Path::new(FILTERS));
    let mut paths = vec![fixtures::hackers_first_1000(), fixtures::elastic_first_2000()];
    paths.extend(fixtures::nginx_combined().into_iter().take(2));
    let (mut patterns, mut lines) = (0, 0);
    for filter in ["apache-badbots", "nginx-botsearch", "nginx-bad-request", "php-url-fopen"] {
        let text = format!("[stock]\nfilter = {filter}\nusedns = no\n");
        let rule = rules(&text, &files).remove(0);
        for path in &paths {
            let log = std::fs::read(path).expect("it is read");
            let mut observer = rule.observe_lines().expect("it reads lines");
            let mut events = Events::default();
            for (number, bytes) in log.split(|byte| *byte == b'\n').enumerate() {
                let line = Line { number: number as u64, bytes, record: None };
                observer.observe(&line, &mut events);
            }
            let found = rule.looked_at(&LogCounts::default(), events.tally(), 0);
            let ours: Vec<u64> = found.patterns.iter().map(|pattern| pattern.lines).collect();
            assert_eq!(
                ours,
                counts_of_fail2ban_regex(path, filter),
                "{filter} over {}",
                path.display()
            );
            patterns += ours.len();
            lines += ours.iter().sum::<u64>();
        }
    }
    println!("{patterns} counts are the same, {lines} lines in total");
    assert!(patterns >= 16 && lines > 20, "{patterns} patterns, {lines} lines");
}

/// The files of a configuration, in the order in which fail2ban merges them. The third is the rule.
const MERGED: [(&str, &str); 4] = [
    (
        "jail.conf",
        "[DEFAULT]\nmaxretry = 5\nbantime = 10m\nfindtime = 10m\nenabled = false\n\
         filter = %(__name__)s\nbackend = auto\nlogpath = /dev/null\n[mine]\nbantime = 30m\n[other]\n\
         [off]\n",
    ),
    ("jail.d/a.conf", "[mine]\nmaxretry = 9\nfindtime = 2h\n[other]\nmaxretry = 8\n"),
    (
        "jail.local",
        "[DEFAULT]\nfindtime = 20m\n[mine]\nenabled = true\n[other]\nenabled = true\nmaxretry = 7\n",
    ),
    ("jail.d/z.local", "[mine]\nbantime = 3h\n"),
];

#[test]
#[ignore = "needs fail2ban; `cargo xtask test` runs it"]
fn merged_files_give_the_settings_of_fail2ban_client() {
    let folder = std::env::temp_dir().join(format!("weir-fail2ban-{}", std::process::id()));
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is created");
        std::fs::write(path, text).expect("it is written");
    };
    MERGED.iter().for_each(|(name, text)| write(name, text));
    write("fail2ban.conf", "[Definition]\n");
    let mut files = RuleFiles::default();
    for (name, text) in [
        ("mine.conf", "[Definition]\nfailregex = ^<HOST> one$\n"),
        ("mine.local", "[Definition]\nfailregex = %(known/failregex)s\n            ^<HOST> two$\n"),
        ("other.conf", "[Definition]\nfailregex = ^<HOST> three$\n"),
    ] {
        write(&format!("filter.d/{name}"), text);
        files.add(name.to_owned(), text);
    }
    let [earlier @ .., (_, rule), later] = &MERGED;
    earlier.iter().for_each(|(name, text)| files.add_earlier((*name).to_owned(), *text));
    files.add_later(later.0.to_owned(), later.1);
    let ours: Vec<String> = rules(rule, &files)
        .iter()
        .map(|rule| format!("{}  {}", rule.name(), rule.description()))
        .collect();
    let output = Command::new("fail2ban-client").arg("-c").arg(&folder).arg("-d").output();
    std::fs::remove_dir_all(&folder).expect("it is removed");
    let output = output.expect("fail2ban-client runs");
    let theirs = String::from_utf8_lossy(&output.stdout).into_owned();
    let set =
        |jail: &str, option: &str, value: &str| format!("['set', '{jail}', '{option}', {value}]");
    for line in [
        set("mine", "maxretry", "9"),
        set("mine", "findtime", "'2h'"),
        set("other", "findtime", "'20m'"),
        set("mine", "bantime", "'3h'"),
        set("other", "maxretry", "7"),
        set("other", "bantime", "'10m'"),
        "['multi-set', 'mine', 'addfailregex', ['^<HOST> one$', '^<HOST> two$']]".to_owned(),
    ] {
        assert!(theirs.contains(&line), "{line}\n{theirs}");
    }
    assert!(!theirs.contains("'off'"), "{theirs}");
    assert_eq!(
        ours,
        [
            "mine  maxretry=9 findtime=7200 bantime=10800, 2 failregex",
            "other  maxretry=7 findtime=1200 bantime=600, 1 failregex",
        ],
        "{theirs}"
    );
}
