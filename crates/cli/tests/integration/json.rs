//! `weir report --json` against the oracles.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use crate::support::{Folder, generated, line, run, run_with_stdin, text};
use serde_json::Value;
use weir_testkit::fixtures;
use weir_testkit::oracle::{Layout, Oracle, Record};

/// The number of rows that the tests request.
const TOP: usize = 7;

fn json(arguments: &[&str]) -> Value {
    let run = run(["report", "--json", "--top", "7"].iter().chain(arguments));
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{arguments:?}");
    assert_eq!(run.stdout.lines().count(), 1, "one object on one line");
    serde_json::from_str(&run.stdout).expect("JSON")
}

/// Compares every number that the oracle knows.
fn compare(actual: &Value, oracle: &Oracle, offset_s: i64) {
    let step_s = actual["histogram"]["step_s"].as_u64().unwrap_or(1);
    compare_keys(actual, &oracle.to_json(TOP, step_s, offset_s));
    for key in ["format", "estimated", "request_time"] {
        assert!(actual.get(key).is_some(), "{key}");
    }
    let sum = ["records", "empty_lines", "unparsed_lines", "too_long_lines"]
        .map(|key| actual[key].as_u64().unwrap_or(0));
    assert_eq!(actual["lines"], sum.iter().sum::<u64>());
}

fn compare_keys(actual: &Value, expected: &Value) {
    for (key, expected) in expected.as_object().expect("an object") {
        let mut actual = actual[key].clone();
        if let Some(object) = actual.as_object_mut() {
            // The oracles do not know these.
            for unknown in ["zone", "groups", "port"] {
                object.remove(unknown);
            }
        }
        assert_eq!(&actual, expected, "{key}");
    }
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("a fixture")
}

#[test]
fn real_logs() {
    let mut logs: Vec<(&str, Layout)> = Vec::new();
    let combined = [
        fixtures::nginx_combined(),
        fixtures::apache_combined(),
        vec![
            fixtures::elastic_first_2000(),
            fixtures::elastic_near_8899(),
            fixtures::hackers_first_1000(),
        ],
    ]
    .concat();
    let (common, vhost) = (fixtures::apache_common(), fixtures::apache_vhost());
    logs.extend(combined.iter().map(|path| (text(path), Layout::Combined)));
    logs.extend(common.iter().map(|path| (text(path), Layout::Common)));
    logs.extend(vhost.iter().map(|path| (text(path), Layout::Vcombined)));
    for (path, layout) in logs {
        let oracle = Oracle::read(layout, &read(Path::new(path)));
        let report = json(&["--tz", "UTC", path]);
        compare(&report, &oracle, 0);
        assert_eq!(report["time"]["zone"], "UTC");
    }
}

#[test]
fn several_files_are_one_data_set() {
    let paths = fixtures::nginx_combined();
    let all: Vec<u8> = paths.iter().flat_map(|path| read(path)).collect();
    let arguments: Vec<&str> = paths.iter().map(|path| text(path)).collect();
    compare(&json(&arguments), &Oracle::read(Layout::Combined, &all), 0);
}

#[test]
fn a_generated_log_on_any_number_of_threads() {
    let folder = Folder::new();
    let log = generated(5 << 20);
    let path = folder.file("generated.log", &log);
    let first = json(&["-j", "1", text(&path)]);
    compare(&first, &Oracle::read(Layout::Combined, &log), 0);
    for jobs in ["2", "7"] {
        assert_eq!(json(&["-j", jobs, text(&path)]), first, "{jobs} threads");
    }
}

#[test]
fn the_oracle_in_python_agrees() {
    let folder = Folder::new();
    let path = folder.file("generated.log", &generated(1 << 20));
    let report = json(&[text(&path)]);
    let step_s = report["histogram"]["step_s"].to_string();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/oracle/report.py");
    let output = Command::new("python3")
        .args([text(&script), "--top", "7", "--step", &step_s, text(&path)])
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: there is no python3");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    compare_keys(&report, &serde_json::from_slice(&output.stdout).expect("JSON"));
}

#[test]
fn pipes_and_compressed_files() {
    let folder = Folder::new();
    let log = generated(1 << 20);
    let oracle = Oracle::read(Layout::Combined, &log);
    let half = log.len() / 2;
    // Two members whose border is within a line.
    let gz = [gzip(&log[..half]), gzip(&log[half..])].concat();
    let zst = [&log[..half], &log[half..]].map(|part| zstd::encode_all(part, 3).expect("zstd"));
    let gz = folder.file("a.log.gz", &gz);
    let zst = folder.file("named-wrongly.gz", &zst.concat());
    compare(&json(&[text(&gz)]), &oracle, 0);
    compare(&json(&[text(&zst)]), &oracle, 0);
    for arguments in
        [&["report", "--json", "--top", "7"][..], &["report", "--json", "--top", "7", "-"]]
    {
        let run = run_with_stdin(arguments, &log);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        compare(&serde_json::from_str(&run.stdout).expect("JSON"), &oracle, 0);
    }
    let run = run_with_stdin(["report", "--json", "--top", "7", "-"], &read(&gz));
    compare(&serde_json::from_str(&run.stdout).expect("JSON"), &oracle, 0);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// Conditions, and the same conditions in Rust.
type Case = (&'static [&'static str], fn(&Record) -> bool);

fn field<'a>(record: &'a Record, name: &str) -> &'a [u8] {
    record.fields.get(name).map_or(&b""[..], Vec::as_slice)
}

const CASES: [Case; 9] = [
    (&["--where", "status=404"], |record| field(record, "status") == b"404"),
    (&["--where", "status=404", "--where", "status=200"], |record| {
        [&b"404"[..], b"200"].contains(&field(record, "status"))
    }),
    (&["--where", "status!=200"], |record| field(record, "status") != b"200"),
    (&["--where", "status>=400", "--where", "method=GET"], |record| {
        record.status() >= Some(400) && field(record, "method") == b"GET"
    }),
    (&["--where", "path^=/p"], |record| field(record, "path").starts_with(b"/p")),
    (&["--where", "user_agent~Firefox|Chrome"], |record| {
        let agent = String::from_utf8_lossy(field(record, "user_agent")).into_owned();
        agent.contains("Firefox") || agent.contains("Chrome")
    }),
    (&["--where", "user_agent!~Mozilla"], |record| {
        !String::from_utf8_lossy(field(record, "user_agent")).contains("Mozilla")
    }),
    (&["--where", "bytes<1000"], |record| record.bytes.is_some_and(|bytes| bytes < 1000)),
    (&["--since", "2026-11-02T00:02:00Z", "--until", "2026-11-02T00:05:00Z"], |record| {
        (1_793_577_600 + 120..1_793_577_600 + 300).contains(&record.time_s)
    }),
];

#[test]
fn conditions() {
    let folder = Folder::new();
    let log = generated(1 << 20);
    let path = folder.file("generated.log", &log);
    let all = Oracle::read(Layout::Combined, &log);
    for (arguments, passes) in CASES {
        let mut oracle = all.clone();
        oracle.retain(passes);
        assert!(!oracle.records.is_empty(), "{arguments:?} accepts no record");
        let mut report = json(&[arguments, &[text(&path)]].concat());
        let is_about_time = arguments[0] == "--since";
        take_axis(&mut report["histogram"], &all, !is_about_time);
        compare(&report, &oracle, 0);
    }
}

/// Compares the time axis of a filtered histogram, and its unfiltered counts, with those of the
/// whole log. Then removes them: what is left reaches from the first to the last matching record.
fn take_axis(histogram: &mut Value, whole: &Oracle, is_filtered: bool) {
    let step_s = histogram["step_s"].as_u64().expect("a step");
    let expected = &whole.to_json(TOP, step_s, 0)["histogram"];
    let starts = |histogram: &Value| -> Vec<Value> {
        let buckets = histogram["buckets"].as_array().expect("buckets");
        buckets.iter().map(|bucket| bucket["start"].clone()).collect()
    };
    let unfiltered = histogram.as_object_mut().expect("an object").remove("unfiltered");
    if is_filtered {
        assert_eq!(
            (starts(histogram), &histogram["until"]),
            (starts(expected), &expected["until"])
        );
        let buckets = expected["buckets"].as_array().expect("buckets");
        let counts: Vec<&Value> = buckets.iter().map(|bucket| &bucket["count"]).collect();
        assert_eq!(unfiltered, Some(serde_json::json!(counts)));
    } else {
        assert_eq!(unfiltered, None, "there is no condition but the time");
        assert_eq!(starts(histogram)[0], "2026-11-02T00:02:00Z");
        assert_eq!(histogram["until"], "2026-11-02T00:05:00Z");
    }
    let buckets = histogram["buckets"].as_array_mut().expect("buckets");
    let is_matched = |bucket: &Value| bucket["count"] != 0;
    let first = buckets.iter().position(is_matched).expect("some match");
    let end = buckets.iter().rposition(is_matched).expect("some match") + 1;
    let after = buckets.get(end).map(|bucket| bucket["start"].clone());
    buckets.truncate(end);
    buckets.drain(..first);
    if let Some(after) = after {
        histogram["until"] = after;
    }
}

#[test]
fn dates_are_those_of_the_log() {
    let folder = Folder::new();
    let times = [
        "16/Dec/2025:23:59:59 +0300",
        "17/Dec/2025:00:00:00 +0300",
        "17/Dec/2025:23:59:59 +0300",
        "18/Dec/2025:00:00:00 +0300",
    ];
    let log: String =
        times.iter().map(|time| line("::1", time, "GET / HTTP/1.1", 200, "-")).collect();
    let path = folder.file("a.log", log.as_bytes());
    let matched =
        |arguments: &[&str]| json(&[arguments, &[text(&path)]].concat())["matching"].clone();
    assert_eq!(matched(&["--since", "2025-12-17"]), 3);
    assert_eq!(matched(&["--until", "2025-12-17"]), 3, "includes that day");
    assert_eq!(matched(&["--since", "2025-12-17", "--until", "2025-12-17"]), 2);
    assert_eq!(matched(&["--since", "2025-12-17 23:59:59"]), 2);
    assert_eq!(matched(&["--since", "2025-12-17", "--tz", "UTC"]), 2);
    assert_eq!(matched(&["--since", "50 years ago"]), 4);
    assert_eq!(matched(&["--since", "0001-01-01", "--until", "9998-12-31"]), 4);
    assert_eq!(matched(&["--until", "-1d", "--tz", "+09:00"]), 4);
    for (condition, lines) in [
        ("time>=2025-12-17", 3),
        ("time>2025-12-17", 1),
        ("time<2025-12-17", 1),
        ("time<=2025-12-17", 3),
        ("time=2025-12-17", 2),
        ("time>=2025-12-17 23:59:59", 2),
        ("time>=2025-12-17T20:59:59Z", 2),
        ("time<2h", 4),
    ] {
        assert_eq!(matched(&["--where", condition]), lines, "{condition}");
        let asked = ["--where", condition];
        let grep = run([&["grep", "-c"], &asked[..], &["", text(&path)]].concat());
        assert_eq!(grep.stdout, format!("{lines}\n"), "{condition}");
        let count = ["count", "--by", "path", "--csv", "--where", condition];
        let count = run_with_stdin(count, log.as_bytes()).stdout;
        assert!(count.contains(&format!("/,{lines}")), "{condition}: {count}");
    }
    assert_eq!(matched(&["--where", "time>=2025-12-17", "--tz", "UTC"]), 2);
    let arguments = ["report", "--json", "--since", "2025-12-17", "-"];
    let piped = run_with_stdin(arguments, log.as_bytes());
    let report: Value = serde_json::from_str(&piped.stdout).expect("JSON");
    assert_eq!((&report["lines"], &report["matching"]), (&4.into(), &3.into()), "nothing is lost");
    let report = json(&[text(&path)]);
    assert_eq!(report["time"]["zone"], "+03:00");
    assert_eq!(report["time"]["first"], "2025-12-16T23:59:59+03:00");
}

#[test]
fn formats_are_named() {
    let folder = Folder::new();
    let path = folder.file("own.log", b"[2025-12-17T09:03:01+00:00] 200 0.25 TLSv1.3\n");
    let definition = "[$time_iso8601] $status $request_time $ssl_protocol";
    let report = json(&[
        "--format",
        definition,
        "--where",
        "ssl_protocol=TLSv1.3",
        "--stack",
        "ssl_protocol",
        text(&path),
    ]);
    assert_eq!(report["format"]["name"], "custom");
    assert_eq!(report["format"]["definition"], definition);
    assert_eq!(report["request_time"]["p50"], 0.25);
    assert_eq!(report["histogram"]["buckets"][0]["by"]["TLSv1.3"], 1);
    let combined = fixtures::elastic_near_8899();
    let common = &fixtures::apache_common()[0];
    let report = json(&[text(&combined), text(common)]);
    assert_eq!(report["format"]["name"], "mixed");
    let definition = report["format"]["definition"].as_str().expect("text");
    assert!(definition.contains("COMBINED: %h") && definition.contains("COMMON: %h"));
    let report = json(&[text(&combined)]);
    assert_eq!(report["format"]["name"], "COMBINED");
}

#[test]
fn times_backwards_and_gaps() {
    let folder = Folder::new();
    let log = line("::1", "17/Dec/2025:09:00:00 +0000", "GET / HTTP/1.1", 200, "-")
        + &line("::1", "17/Dec/2020:09:00:00 +0000", "GET / HTTP/1.1", 200, "-");
    let path = folder.file("a.log", log.as_bytes());
    let report = json(&[text(&path), "--buckets", "50"]);
    assert!(report["histogram"]["buckets"].as_array().expect("buckets").len() <= 50);
    assert_eq!(report["time"]["first"], "2020-12-17T09:00:00Z");
}
