//! `--since`, `--until` and `--tz`, the same in every command that reads records.

use serde_json::Value;
use weir_testkit::fixtures;

use crate::support::{Folder, Run, run, text};

/// The number of records in which report, count and grep agree.
#[track_caller]
fn counted(options: &[&str], log: &str) -> u64 {
    let run_with = |command: &[&str]| run([command, options, &[log]].concat());
    let report = run_with(&["report", "--json"]);
    let report: Value = serde_json::from_str(&report.stdout)
        .unwrap_or_else(|error| panic!("{options:?} {log}: {error}: {}", report.stderr));
    let number = |run: &Run| run.stdout.split_whitespace().next().map(str::to_owned);
    let matching = Some(report["matching"].to_string());
    let count = run_with(&["count"]);
    assert_eq!(number(&count), matching, "count {options:?} {log}: {}", count.stderr);
    let grep = run_with(&["grep", "-c"]);
    assert_eq!(number(&grep), matching, "grep {options:?} {log}: {}", grep.stderr);
    report["matching"].as_u64().expect("a number")
}

/// Requests a minute apart around midnight of +01:00.
fn around_midnight() -> String {
    let line = |minute: i32| {
        let (day, hour, minute) = match minute {
            ..0 => (16, 23, 60 + minute),
            _ => (17, 0, minute),
        };
        format!(
            "192.0.2.1 - - [{day}/Dec/2025:{hour:02}:{minute:02}:00 +0100] \"GET / HTTP/1.1\" 200 1\n"
        )
    };
    (-5..5).map(line).collect()
}

#[test]
fn commands_agree_on_a_period() {
    let folder = Folder::new();
    let log = folder.file("a.log", around_midnight().as_bytes());
    for (options, matching) in [
        (&["--since", "2025-12-17"][..], 5),
        (&["--until", "2025-12-16"], 5),
        (&["--since", "2025-12-17", "--until", "2025-12-17"], 5),
        (&["--since", "2025-12-16T23:00:00Z"], 5),
        (&["--since", "17/Dec/2025:00:03:00 +0100"], 2),
        (&["--until", "[17/Dec/2025:00:03:00 +0100]"], 8),
        (&["--since", "1765926000", "--until", "1765926060"], 1),
        (&["--since", "2025-12-17", "--tz", "UTC"], 0),
        (&["--until", "2025-12-16", "--tz", "UTC"], 10),
        (&["--since", "2025/12/16 22:59:00", "--tz", "UTC"], 6),
        (&["--since", "2025-12-17", "--where", "time<2025-12-17 00:02"], 2),
        (&["--where", "time>=17/Dec/2025:00:03:00 +0100"], 2),
        (&["--where", "time=1765926000"], 1),
        (&["--where", "time=yesterday or time=today"], 0),
    ] {
        assert_eq!(counted(options, text(&log)), matching, "{options:?}");
    }
}

#[test]
fn commands_agree_on_formats_with_and_without_a_zone() {
    for log in [
        "attacks/hackers-first-1000.log",
        "w3c-and-json/logfile_w3c_big.0",
        "w3c-and-json/logfile_caddy_log.1",
        "w3c-and-json/logfile_haproxy.0",
    ] {
        let log = fixtures::file(log);
        let whole = run(["report", "--json", text(&log)]);
        let whole: Value = serde_json::from_str(&whole.stdout).expect("JSON");
        let (first, last) = (&whole["time"]["first"], &whole["time"]["last"]);
        let (first, last) = (first.as_str().expect("a time"), last.as_str().expect("a time"));
        let matching = whole["matching"].as_u64().expect("a number");
        assert_eq!(counted(&["--since", first], text(&log)), matching);
        assert_eq!(counted(&["--until", first], text(&log)), 0);
        let (day, zoned) = (&last[..10], counted(&["--since", &last[..10]], text(&log)));
        assert!(zoned > 0, "{day}");
        for zone in ["Asia/Tokyo", "-08:00"] {
            let before = counted(&["--until", day, "--tz", zone], text(&log));
            let from = counted(&["--since", day, "--tz", zone], text(&log));
            // The day is in both.
            assert!(before + from >= matching, "{before} and {from} of {matching}");
        }
    }
}

#[test]
fn printed_times_are_in_the_zone() {
    let folder = Folder::new();
    let log = folder.file("a.log", around_midnight().as_bytes());
    let in_utc =
        |arguments: &[&str]| run([arguments, &["--tz", "UTC", text(&log)]].concat()).stdout;
    let json = in_utc(&["grep", "--json", "17/Dec/2025:00:00"]);
    assert!(json.contains("\"time\":\"2025-12-16T23:00:00Z\""), "{json}");
    let csv = in_utc(&["grep", "--csv", "17/Dec/2025:00:00"]);
    assert!(csv.contains(",2025-12-16T23:00:00Z,"), "{csv}");
    let counts = in_utc(&["count", "--by", "time"]);
    assert!(counts.contains("1  2025-12-16T22:55:00Z\n"), "{counts}");
    assert_eq!(in_utc(&["grep", "-c", "--field", "time", "T23:0"]), "5\n");
}

#[test]
fn a_period_that_cannot_be_is_refused() {
    let folder = Folder::new();
    let log = folder.file("a.log", around_midnight().as_bytes());
    let timeless = folder.file("b.log", b"192.0.2.1 200\n");
    for command in ["report", "count", "grep"] {
        let refused = |options: &[&str], log: &str| {
            let run = run([&[command], options, &[log]].concat());
            assert_eq!(run.code, 2, "{command} {options:?}: {}", run.stderr);
            run.stderr
        };
        let message = refused(&["--since", "soon"], text(&log));
        assert!(message.starts_with("weir: --since: `soon` is not a valid time"), "{message}");
        let both = ["--since", "2025-12-18", "--until", "2025-12-17"];
        let message = refused(&both, text(&log));
        assert!(message.contains("--since 2025-12-18 is not before --until"), "{message}");
        let message = refused(&["--tz", "Nowhere/City", "--since", "today"], text(&log));
        assert!(message.starts_with("weir: --tz: `Nowhere/City` is not"), "{message}");
        let format = ["--format", "$remote_addr $status", "--until", "today"];
        let message = refused(&format, text(&timeless));
        assert!(message.contains("--until: the log has no field `time`"), "{command}: {message}");
    }
    let format = ["--format", "$remote_addr $status", "--until", "today"];
    let run = run(
        [&["export", "--output", "-", "--to", "csv"], &format[..], &[text(&timeless)]].concat()
    );
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("--until: the log has no field `time`"), "{}", run.stderr);
}

#[test]
fn an_empty_period_names_that_of_the_log() {
    let folder = Folder::new();
    let log = folder.file("a.log", around_midnight().as_bytes());
    let run = run(["report", "--since", "2030-01-01", text(&log)]);
    assert_eq!(
        run.stderr,
        "weir: none of the 10 requests meets the conditions; \
         the log runs from 2025-12-16 23:55:00 to 2025-12-17 00:04:00, times in +01:00\n"
    );
    for condition in ["time>=-1h", "status>600", "path=/nowhere"] {
        let by_condition = run_where(condition, text(&log));
        assert_eq!(by_condition.stderr, run.stderr, "{condition}");
    }
    let refused = run_where("time>2025-12-18 and time<2025-12-17", text(&log));
    assert_eq!(
        (refused.code, &*refused.stderr),
        (
            2,
            "weir: --where: a record has one time, so it does not meet both conditions\n  \
             time>2025-12-18 and time<2025-12-17\n                      ^^^^^^^^^^^^^^^\n"
        )
    );
}

#[test]
fn grep_and_count_name_the_period_of_the_log_too() {
    let folder = Folder::new();
    let log = folder.file("a.log", around_midnight().as_bytes());
    let stderr = |arguments: &[&str]| run([arguments, &[text(&log)]].concat()).stderr;
    let report = run_where("time>2030-01-01", text(&log)).stderr;
    for condition in [["--since", "2030-01-01"], ["--where", "time>2030-01-01"]] {
        for command in [&["count"][..], &["count", "--by", "status"]] {
            assert_eq!(stderr(&[command, &condition[..]].concat()), report, "{condition:?}");
        }
        let period = "from 2025-12-16 23:55:00 to 2025-12-17 00:04:00, times in +01:00";
        let found = format!("weir: no record meets the conditions; the log runs {period}\n");
        assert_eq!(stderr(&[&["grep"], &condition[..]].concat()), found, "{condition:?}");
    }
    let zoned = stderr(&["grep", "00:0[12]", "--until", "2020-01-01", "--tz", "UTC"]);
    let period = "from 2025-12-16 23:01:00 to 2025-12-16 23:02:00, times in UTC";
    let lines = "the lines that match the pattern run";
    assert_eq!(zoned, format!("weir: no record meets the conditions; {lines} {period}\n"));
    assert_eq!(stderr(&["grep", "--where", "status=418"]), "");
    assert_eq!(stderr(&["count", "--where", "status=418"]), "");
}

fn run_where(condition: &str, log: &str) -> Run {
    run(["report", "--where", condition, log])
}
