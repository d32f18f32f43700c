//! Derived fields in each command, against values that a person would count.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Folder, Served, ask, line, page, place, run, text, weir};

/// Six requests of two networks, on a Saturday and a Sunday.
fn log() -> String {
    let request = |target: &str| format!("GET {target} HTTP/1.1");
    [
        line("192.0.2.7", "28/Nov/2026:22:10:00 +0000", &request("/shop/a.CSS?q=a+b"), 200, "x"),
        line("192.0.2.8", "28/Nov/2026:22:50:00 +0000", &request("/shop/b?q=c"), 404, "x"),
        line("192.0.3.8", "28/Nov/2026:23:50:00 +0000", &request("/blog/b"), 200, "x"),
        line("192.0.2.7", "29/Nov/2026:00:10:00 +0000", &request("/"), 200, "x"),
        line("2001:db8:1:2::3", "29/Nov/2026:00:20:00 +0000", &request("/blog/c.css"), 500, "x"),
        line("host.example", "29/Nov/2026:01:20:00 +0000", &request("/shop/?q=c"), 200, "x"),
    ]
    .concat()
}

fn counted(arguments: &[&str]) -> String {
    let run = run([&["count"], arguments].concat());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{arguments:?}");
    run.stdout
}

#[test]
fn values_are_counted_by_each_derived_field() {
    let folder = Folder::new();
    let path = folder.file("shop.access.log", log().as_bytes());
    let path = text(&path);
    for (arguments, expected) in [
        (&["--by", "hour"][..], "2  00\n1  01\n2  22\n1  23\n"),
        (&["--by", "date"], "3  2026-11-28\n3  2026-11-29\n"),
        (&["--by", "date", "--tz", "+02:00"], "6  2026-11-29\n"),
        (&["--by", "hour", "--tz", "+02:00", "--top", "1"], "2  00\n"),
        (&["--by", "weekday"], "3  6 Saturday\n3  7 Sunday\n"),
        (&["--by", "network"], "3  192.0.2.0/24\n1  (none)\n1  192.0.3.0/24\n1  2001:db8:1::/48\n"),
        (&["--by", "network/16", "--top", "1"], "4  192.0.0.0/16\n"),
        (&["--by", "path/1"], "3  /shop/\n2  /blog/\n1  /\n"),
        (&["--by", "extension"], "4  (none)\n2  css\n"),
        (&["--by", "static"], "4  no\n2  yes\n"),
        (&["--by", "query:q"], "3  (none)\n2  c\n1  a b\n"),
        (&["--by", "source", "--source-name", r"(\w+)\.access"], "6  shop\n"),
        (
            &["--by", "part", "--derive", "part = extract path '^/([a-z]+)/'"],
            "3  shop\n2  blog\n1  (none)\n",
        ),
        (&["--where", "hour>=22 and network=192.0.2.0/24"], "2\n"),
        (&["--where", "query:q='a b'"], "1\n"),
        (&["--where", "query:q ~ ^[ac]"], "3\n"),
        (&["--where", "weekday~Sunday and static=no"], "2\n"),
        (&["--where", "extension=(none)"], "4\n"),
    ] {
        assert_eq!(counted(&[arguments, &[path]].concat()), expected, "{arguments:?}");
    }
}

/// `query:` with a value alone compares the query, as `:` does with any field.
#[test]
fn a_query_is_compared_with_a_colon() {
    let folder = Folder::new();
    let path = folder.file("a.log", log().as_bytes());
    assert_eq!(counted(&["--where", "query:\"q=c\"", text(&path)]), "2\n");
    assert_eq!(counted(&["--where", "method:GET", text(&path)]), "6\n");
}

/// Searching all fields looks at what stands in the lines.
#[test]
fn a_search_does_not_find_derived_values() {
    let folder = Folder::new();
    let path = folder.file("a.log", log().as_bytes());
    let path = text(&path);
    let where_both = ["--where", "Sunday", "--where", "weekday=(none) or weekday~day"];
    let run_count = run([&["count"], &where_both[..], &[path]].concat());
    assert_eq!(run_count.stdout, "0\n");
    let report = run([&["report", "--json"], &where_both[..], &[path]].concat());
    let report: serde_json::Value = serde_json::from_str(&report.stdout).expect("JSON");
    assert_eq!(report["matching"], 0);
}

#[test]
fn a_report_is_grouped_and_stacked_by_derived_fields() {
    let folder = Folder::new();
    let path = folder.file("a.log", log().as_bytes());
    let report = run(["report", "--json", "--group", "path/1", "--stack", "static", text(&path)]);
    assert_eq!((report.code, report.stderr.as_str()), (0, ""));
    let report: serde_json::Value = serde_json::from_str(&report.stdout).expect("JSON");
    let rows = report["group"]["rows"].as_array().expect("rows");
    let rows: Vec<(&str, u64)> = rows
        .iter()
        .map(|row| {
            let count = row["count"].as_u64().or_else(|| row["now"]["count"].as_u64());
            (row["value"].as_str().expect("text"), count.expect("a count"))
        })
        .collect();
    assert_eq!(rows, [("/shop/", 3), ("/blog/", 2), ("/", 1)], "{report}");
    let groups = &report["histogram"]["groups"];
    assert_eq!(*groups, serde_json::json!(["no", "yes"]), "{report}");
}

#[test]
fn lines_and_rows_are_selected_and_written_with_derived_fields() {
    let folder = Folder::new();
    let path = folder.file("a.log", log().as_bytes());
    let path = text(&path);
    let lines = run(["grep", "-c", "--where", "hour=00", path]);
    assert_eq!(lines.stdout, "2\n");
    let fields = run(["grep", "-o", "--field", "network", ".*", path]);
    assert_eq!(fields.stdout.lines().next(), Some("192.0.2.0/24"));
    let rows = run(["export", "--to", "csv", "--columns", "client,hour,query:q", path]);
    let first: Vec<&str> = rows.stdout.lines().take(2).collect();
    assert_eq!(first, ["client,hour,query:q", "192.0.2.7,22,a b"], "{}", rows.stderr);
    let lines = run(["export", "--to", "lines", "--where", "static=yes", path]);
    assert_eq!(lines.stdout.lines().count(), 2, "{}", lines.stderr);
}

#[test]
fn a_rule_has_derived_fields_as_keys_and_conditions() {
    let folder = Folder::new();
    let path = folder.file("a.log", log().as_bytes());
    for (rule, expected) in [
        ("limit 1 requests in 1h by network/24", "3 keys, 1 tripped"),
        ("limit 1 requests in 1h by path/1 where static=no", "3 keys, 0 tripped"),
        ("limit 1 requests in 9h by query:q", "2 keys, 1 tripped"),
    ] {
        let run = run(["rules", "--rule-text", rule, text(&path)]);
        assert!(run.stdout.contains(expected), "{rule}: {}{}", run.stdout, run.stderr);
    }
}

#[test]
fn names_and_definitions_that_are_not_valid_are_refused() {
    let folder = Folder::new();
    let path = folder.file("a.log", log().as_bytes());
    let path = text(&path);
    for (arguments, sentence) in [
        (
            &["count", "--by", "netwrok"][..],
            "the log has no field `netwrok`; did you mean `network`?",
        ),
        (&["count", "--by", "network/200"], "`network/200` needs the bits of a prefix, 0 to 128"),
        (&["count", "--where", "path/0=/"], "`path/0` needs a number of segments, 1 to 64"),
        (&["count", "--by", "x", "--derive", "x = path"], "extract FIELD 'regex with one group'"),
        (&["count", "--by", "x", "--derive", "x = extract path 'a'"], "`a` has no group"),
        (&["count", "--by", "x", "--derive", "path = extract path '(a)'"], "`path` is a field"),
        (&["count", "--by", "source", "--source-name", "("], "--source-name: "),
        (
            &[
                "count",
                "--by",
                "x",
                "--derive",
                "x=extract path '(a)'",
                "--derive",
                "x=extract path '(b)'",
            ],
            "--derive: `x` is defined twice",
        ),
        (&["report", "--fields", "hour,wekday"], "did you mean `weekday`?"),
        (&["report", "--group", "network/x"], "`network/x` needs the bits of a prefix"),
    ] {
        let run = run([arguments, &[path]].concat());
        assert_ne!(run.code, 0, "{arguments:?}");
        assert!(run.stderr.contains(sentence), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn a_report_lists_the_fields_that_are_named() {
    let folder = Folder::new();
    let path = folder.file("a.log", log().as_bytes());
    let report = run(["report", "--json", "--fields", "hour,network,query:q", text(&path)]);
    assert_eq!((report.code, report.stderr.as_str()), (0, ""));
    let report: serde_json::Value = serde_json::from_str(&report.stdout).expect("JSON");
    assert_eq!(report["distinct"]["hour"], 4);
    assert_eq!(report["distinct"]["network"], 3);
    assert_eq!(report["top"]["query:q"][0]["value"], "c");
}

/// A page has the fields that it was started with, also in what a viewer asks later.
#[test]
fn a_page_lists_and_selects_by_the_fields_that_are_named() {
    let folder = Folder::new();
    let path = folder.file("a.log", log().as_bytes());
    let mut command =
        weir(["--listen", "127.0.0.1:0", "--no-open", "--fields", "hour", text(&path)]);
    let mut served = Served(command.stdout(Stdio::piped()).spawn().expect("the binary runs"));
    let address = page(&mut served.0);
    let (host, session) = place(&address);
    let request = format!("GET /api/sessions/{session}/report?where=hour%3D00");
    let start = Instant::now();
    loop {
        let report = ask(host, &request);
        if report.contains("\"matching\":2") && report.contains("\"hour\":1") {
            return;
        }
        // The log may not be read yet.
        assert!(start.elapsed() < Duration::from_secs(120), "{report}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_field_that_cannot_follow_says_from_what() {
    let folder = Folder::new();
    let path = folder.file("a.log", b"192.0.2.7 200\n192.0.2.8 404\n");
    let run = run(["count", "--format", "$remote_addr $status", "--by", "hour", text(&path)]);
    let sentence = "the log has no field `hour`; it follows from `time`, which is not there";
    assert!(run.stderr.contains(sentence), "{}", run.stderr);
}

#[test]
fn a_saved_data_set_has_the_fields_that_it_was_saved_with() {
    let folder = Folder::new();
    let log = folder.file("a.log", log().as_bytes());
    let saved = folder.path("a.weir");
    let save = run(["save", "--fields", "hour", text(&saved), text(&log)]);
    assert_eq!(save.code, 0, "{}", save.stderr);
    let counted = |arguments: &[&str]| {
        let report = run([&["report", "--json"], arguments, &[text(&saved)]].concat());
        assert_eq!((report.code, report.stderr.as_str()), (0, ""), "{arguments:?}");
        serde_json::from_str::<serde_json::Value>(&report.stdout).expect("JSON")
    };
    assert_eq!(counted(&[])["distinct"]["hour"], 4);
    assert_eq!(counted(&["--group", "hour"])["group"]["rows"][0]["value"], "00");
    for arguments in [["--fields", "network"], ["--group", "network"], ["--where", "static=no"]] {
        let report = run([&["report"], &arguments[..], &[text(&saved)]].concat());
        assert_eq!(report.code, 2, "{arguments:?}");
        assert!(report.stderr.contains("save them with weir save --fields"), "{}", report.stderr);
    }
}

#[test]
fn what_needs_whole_addresses_is_refused_if_they_are_hidden() {
    let folder = Folder::new();
    let path = folder.file("a.log", log().as_bytes());
    let places = folder.file("places.csv", b"192.0.2.0,192.0.2.255,DE\n");
    for arguments in [
        &["report", "--fields", "country"][..],
        &["report", "--group", "country"],
        &["count", "--by", "country"],
        &["export", "--to", "csv", "--columns", "country"],
    ] {
        let places = ["--anonymize", "--geoip", text(&places), text(&path)];
        let run = run([arguments, &places].concat());
        assert_ne!(run.code, 0, "{arguments:?}");
        let sentence = "--anonymize: `country` needs whole addresses";
        assert!(run.stderr.contains(sentence), "{arguments:?}: {}", run.stderr);
    }
}
