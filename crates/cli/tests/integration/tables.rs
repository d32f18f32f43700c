//! Parquet files in place of logs.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use crate::python_jobs::real_logs;
use crate::support::{Folder, Run, line, run, run_with_stdin, text};

const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tables/tests/files");

/// The parts of a report that do not depend on the form of its source.
const PARTS: [&str; 10] = [
    "kind",
    "matching",
    "bytes_sent",
    "errors",
    "time",
    "histogram",
    "request_time",
    "upstream_time",
    "distinct",
    "top",
];

/// The members of a report over a log or a table that have to be equal. Servers write `-` for no
/// value, and a table has none.
fn comparable(report: &Value) -> Value {
    let mut parts = Map::new();
    for part in PARTS {
        parts.insert(part.to_owned(), report[part].clone());
    }
    let (mut top, mut distinct) = (report["top"].clone(), report["distinct"].clone());
    let lists = top.as_object_mut().expect("lists");
    let counts = distinct.as_object_mut().expect("counts");
    for (field, list) in lists.iter_mut() {
        let entries = list.as_array_mut().expect("a list");
        let before = entries.len();
        entries.retain(|entry| entry["value"] != "-");
        if let Some(count) = counts.get_mut(field) {
            *count = (count.as_u64().expect("a count") - (before - entries.len()) as u64).into();
        }
    }
    // A table has columns without values, and the log of each row: `log_file`, and `log_file_2` if it
    // was exported twice.
    lists.retain(|field, list| !field.starts_with("log_file") && *list != Value::Array(Vec::new()));
    counts.retain(|field, count| !field.starts_with("log_file") && *count != 0);
    // The times of a table have years, wherever they are from.
    parts["time"].as_object_mut().map(|time| time.remove("year_from"));
    parts.insert("top".to_owned(), top);
    parts.insert("distinct".to_owned(), distinct);
    parts.into()
}

fn report(arguments: &[&str]) -> (Value, Run) {
    let run = run([&["report", "--json", "--top", "1000000"], arguments].concat());
    let report = serde_json::from_str(&run.stdout).unwrap_or_else(|error| {
        panic!("{arguments:?}: {error}: {}{}", run.stdout, run.stderr);
    });
    (report, run)
}

fn export(log: &str, kind: &str, folder: &Folder) -> String {
    let table = folder.path("log.parquet");
    let _ = fs::remove_file(&table);
    let run = run(["export", "--kind", kind, "--output", text(&table), log]);
    assert_eq!(run.code, 0, "{log}: {}", run.stderr);
    text(&table).to_owned()
}

#[test]
fn an_export_read_back_is_the_report_of_its_log() {
    let folder = Folder::new();
    let mut with_records = 0;
    for log in real_logs() {
        let log = text(&log);
        let (of_log, _) = report(&[log]);
        if of_log["records"] == 0 {
            continue;
        }
        with_records += 1;
        let kind = of_log["kind"].as_str().expect("a kind").replace('_', "-");
        let table = export(log, &kind, &folder);
        let (of_log, run_of_log) = report(&["--kind", &kind, log]);
        let (of_table, run) = report(&[&table]);
        for note in run.stderr.lines() {
            assert!(run_of_log.stderr.contains(note), "{log}: {note}");
        }
        let (expected, found) = (comparable(&of_log), comparable(&of_table));
        for part in PARTS {
            assert_eq!(found[part], expected[part], "{log}: {part}");
        }
    }
    assert!(with_records > 20, "{with_records}");
}

#[test]
fn several_tables_and_logs_are_one_report() {
    let folder = Folder::new();
    fs::create_dir(folder.path("a")).expect("a folder");
    fs::create_dir(folder.path("b")).expect("a folder");
    let (mut logs, mut tables) = (Vec::new(), Vec::new());
    for (name, client) in [("a", "192.0.2.1"), ("b", "192.0.2.2")] {
        let requests: String = (0..50)
            .map(|second| {
                let time = format!("17/Dec/2025:09:03:{second:02} +0100");
                let status = if second % 10 == 0 { 404 } else { 200 };
                line(client, &time, &format!("GET /{} HTTP/1.1", second % 7), status, "curl")
            })
            .collect();
        let log = folder.file(&format!("{name}.log"), requests.as_bytes());
        // Two files of one name, as two servers have.
        let table = folder.path(&format!("{name}/access.parquet"));
        let run = run(["export", "--output", text(&table), text(&log)]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        logs.push(text(&log).to_owned());
        tables.push(text(&table).to_owned());
    }
    let of = |files: [&String; 2], more: &[&str]| {
        let files = files.map(String::as_str);
        comparable(&report(&[&files[..], more].concat()).0)
    };
    let expected = of([&logs[0], &logs[1]], &[]);
    assert_eq!(expected["matching"], 100);
    assert_eq!(expected["time"]["zone"], "+01:00");
    assert_eq!(of([&tables[0], &tables[1]], &[]), expected);
    assert_eq!(of([&tables[0], &logs[1]], &[]), expected);

    let by_source = run(["count", "--by", "source", "--csv", &tables[0], &tables[1]]);
    assert_eq!(by_source.code, 0, "{}", by_source.stderr);
    assert_eq!(by_source.stdout.lines().count(), 3, "{}", by_source.stdout);
    for (arguments, expected) in [
        (&["count", "--by", "client", "--where", "status=404"][..], "5"),
        (&["count", "--by", "hour"], "100"),
        (&["count"], "100"),
        (&["grep", "-c", "--where", "status=404 and client=192.0.2.1", ""], ":5"),
        (
            &["grep", "-o", "--field", "client", "--where", "path=/3 and status=404", "^.*2$"],
            "192.0.2.2",
        ),
        (&["rules", "--rule-text", "limit 20 requests in 1m by client"], "192.0.2.1"),
    ] {
        let run = run([arguments, &[&tables[0][..], &tables[1]]].concat());
        assert!(run.stdout.contains(expected), "{arguments:?}: {}{}", run.stdout, run.stderr);
        assert!(!run.stderr.contains("Parquet"), "{arguments:?}: {}", run.stderr);
    }
    let again = folder.path("both.parquet");
    let exported = run(["export", "--output", text(&again), &tables[0], &tables[1]]);
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    assert_eq!(comparable(&report(&[text(&again)]).0), expected);
}

#[test]
fn tables_of_other_columns_are_read_by_their_own() {
    let folder = Folder::new();
    let requests: String = (0..5_000)
        .map(|number| {
            let (time, path) = ("17/Dec/2025:09:03:00 +0000", format!("GET /{number} HTTP/1.1"));
            line("192.0.2.1", time, &path, 200 + number % 2 * 204, "curl")
        })
        .collect();
    let log = folder.file("a.log", requests.as_bytes());
    let large = folder.path("large.parquet");
    let exported = run(["export", "--output", text(&large), text(&log)]);
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    let small = Path::new(FILES).join("duckdb.parquet");
    // Which of the formats a thread meets first depends on chance.
    for tables in [[&small, &large], [&large, &small]].repeat(5) {
        let (report, _) = report(&["-j", "2", text(tables[0]), text(tables[1])]);
        let counts: Vec<_> = report["top"]["status"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|entry| (entry["value"].clone(), entry["count"].clone()))
            .collect();
        // The small one has 67, 67 and 66 rows of each status.
        let expected = [("200", 2_567), ("404", 2_567), ("500", 66)];
        let expected: Vec<_> = expected.map(|(value, count)| (value.into(), count.into())).into();
        assert_eq!(counts, expected);
        assert_eq!(report["errors"], 2_633);
        assert_eq!(report["time"]["first"], "2025-12-17T09:03:00Z");
    }
}

#[test]
fn records_are_printed_as_objects() {
    let table = Path::new(FILES).join("duckdb.parquet");
    let run = run(["grep", "--json", "--where", "status=404 and note!=(none)", text(&table)]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let first: Value =
        serde_json::from_str(run.stdout.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first["client"], "192.0.2.4");
    assert_eq!(first["note"], "n4é");
    assert_eq!(first["bytes"], 16 * 100_003);
    assert_eq!(first["time"], "2026-03-29T00:59:03Z");
}

#[test]
fn records_have_the_numbers_of_their_rows() {
    // Three blocks of packed records and more, and rows that are too long between them.
    let long = format!("GET /{} HTTP/1.1", "x".repeat((1 << 20) - 200));
    let requests: String = (0..40_000)
        .map(|number| {
            let (time, path) = ("17/Dec/2025:09:03:00 +0000", format!("GET /{number} HTTP/1.1"));
            let path = if number == 20_000 { &long } else { &path };
            line("192.0.2.1", time, path, if number % 7_001 == 7_000 { 500 } else { 200 }, "curl")
        })
        .collect();
    let folder = Folder::new();
    let log = folder.file("a.log", requests.as_bytes());
    let table = folder.path("a.parquet");
    let exported = run(["export", "--output", text(&table), text(&log)]);
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    let numbers = |file: &Path, options: &[&str]| -> Vec<u64> {
        let found =
            run([&["grep", "--json", "--where", "status=500"], options, &[text(file)]].concat());
        assert_eq!(found.code, 0, "{}", found.stderr);
        let lines = found.stdout.lines().map(serde_json::from_str::<Value>);
        lines.map(|line| line.expect("JSON")["line"].as_u64().expect("a number")).collect()
    };
    let expected = [7_001, 14_002, 21_003, 28_004, 35_005];
    for jobs in ["1", "2"] {
        assert_eq!(numbers(&log, &["-j", jobs]), expected);
        assert_eq!(numbers(&table, &["-j", jobs]), expected);
    }
}

#[test]
fn sums_that_a_log_lacks_are_absent_from_its_table() {
    let folder = Folder::new();
    let log = folder.file("a.log", b"192.0.2.1 [17/Dec/2025:09:03:00 +0000] \"GET /a HTTP/1.1\"\n");
    let table = folder.path("a.parquet");
    let format = ["--format", "$remote_addr [$time_local] \"$request\""];
    let exported = run([&["export", "--output", text(&table), text(&log)], &format[..]].concat());
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    let (of_log, _) = report(&[text(&log), format[0], format[1]]);
    let (of_table, _) = report(&[text(&table)]);
    assert_eq!(of_log["absent"], serde_json::json!(["bytes_sent", "errors"]));
    assert_eq!(of_table["absent"], of_log["absent"]);
    assert_eq!(of_table["top"]["path"], of_log["top"]["path"]);
    let refused = run(["count", "--where", "status=404", text(&table)]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("the log has no field `status`"), "{}", refused.stderr);
}

#[test]
fn a_table_of_a_table_names_the_log_of_the_first() {
    let folder = Folder::new();
    let request = line("192.0.2.1", "17/Dec/2025:09:03:00 +0000", "GET /a HTTP/1.1", 200, "curl");
    let mut last = folder.file("first.log", request.as_bytes());
    for name in ["second.parquet", "third.parquet", "fourth.parquet"] {
        let table = folder.path(name);
        let exported = run(["export", "--output", text(&table), text(&last)]);
        assert_eq!(exported.code, 0, "{}", exported.stderr);
        last = table;
    }
    let row = run(["export", "--to", "jsonl", "--output", "-", text(&last)]).stdout;
    let row: Value = serde_json::from_str(&row).expect("JSON");
    let files =
        row.as_object().expect("an object").iter().filter(|(name, _)| name.contains("file"));
    let files: Vec<(&str, &str)> =
        files.map(|(name, value)| (&name[..], value.as_str().expect("a text"))).collect();
    let first = text(&folder.path("first.log")).to_owned();
    assert_eq!(files, [("file", text(&last)), ("log_file", &first[..])]);
}

#[test]
fn rows_of_a_table_have_no_offset_of_a_line() {
    let table = Path::new(FILES).join("duckdb.parquet");
    let folder = Folder::new();
    let request = line("192.0.2.1", "17/Dec/2025:09:03:00 +0000", "GET /a HTTP/1.1", 200, "curl");
    let log = folder.file("a.log", (request.clone() + &request).as_bytes());
    let options = ["export", "--to", "csv", "--output", "-", "--columns", "file,line_offset"];
    let rows = run([&options[..], &[text(&table), text(&log)]].concat()).stdout;
    let rows: Vec<(&str, &str)> =
        rows.lines().skip(1).filter_map(|row| row.rsplit_once(',')).collect();
    let of_log = [(text(&log), "0"), (text(&log), &request.len().to_string()[..])];
    assert_eq!(rows.len(), 202);
    assert!(rows[..200].iter().all(|row| *row == (text(&table), "")), "{rows:?}");
    assert_eq!(rows[200..], of_log);
    let again = folder.path("again.parquet");
    let exported = run(["export", "--output", text(&again), text(&table)]);
    assert_eq!(exported.code, 0, "{}", exported.stderr);
}

#[test]
fn a_table_needs_no_format() {
    let table = Path::new(FILES).join("duckdb.parquet");
    let shown = run(["formats", text(&table)]);
    assert_eq!((shown.code, &shown.stderr[..]), (0, ""));
    assert!(shown.stdout.ends_with("duckdb.parquet is a Parquet file of 200 rows. Its columns are fields by their names, without a format.\n"), "{}", shown.stdout);
    let listed = run(["formats", "--json", text(&table)]).stdout;
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(listed["formats"], serde_json::json!([]));
}

#[test]
fn what_has_no_lines_is_said() {
    let table = Path::new(FILES).join("snappy.parquet");
    let table = text(&table);
    for arguments in [
        &["grep", "x", table][..],
        &["grep", "--where", "status=404", "", table],
        &["grep", "--json", "x", table],
        &["export", "--to", "lines", "--output", "-", table],
    ] {
        let run = run(arguments);
        assert_eq!((run.code, &run.stdout[..]), (2, ""), "{arguments:?}");
        let expected = "snappy.parquet: is a Parquet file, which has no lines";
        assert!(run.stderr.contains(expected), "{arguments:?}: {}", run.stderr);
    }
    let piped = run_with_stdin(["report", "-"], &fs::read(table).expect("a file"));
    assert_eq!(piped.code, 2);
    assert!(piped.stderr.contains("is read from its end"), "{}", piped.stderr);
}

#[test]
fn damaged_tables_are_named_beside_the_others() {
    let folder = Folder::new();
    let whole = fs::read(Path::new(FILES).join("snappy.parquet")).expect("a file");
    let cut = folder.file("cut.parquet", &whole[..whole.len() / 2]);
    let good = folder.file("good.parquet", &whole);
    for command in ["report", "count"] {
        let run = run([command, text(&cut), text(&good)]);
        assert_eq!(run.code, 2, "{command}");
        let expected = "cut.parquet: is a damaged or truncated Parquet file: its end is missing; copy it again";
        assert!(run.stderr.contains(expected), "{command}: {}", run.stderr);
        assert!(run.stdout.contains("200"), "{command}: {}", run.stdout);
    }
    for (name, expected) in [
        ("decimal_bytes", "the column `bytes` is of the type DECIMAL, but has to be a number"),
        ("text_time", "the column `time` is of the type STRING, but has to be a timestamp"),
        ("no_fields", "none of its columns has the name of a field"),
    ] {
        let table = Path::new(FILES).join(format!("{name}.parquet"));
        let run = run(["report", text(&table)]);
        assert_eq!(run.code, 2, "{name}");
        assert!(run.stderr.contains(expected), "{name}: {}", run.stderr);
    }
}
