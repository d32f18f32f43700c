//! `weir count` against naive counts.

use std::collections::BTreeMap;
use std::io::Write;

use crate::support::{Folder, generated, run, run_with_stdin, text};
use weir_testkit::fixtures;

fn hackers() -> String {
    text(&fixtures::root().join("attacks/hackers-first-1000.log")).to_owned()
}

#[test]
fn the_earlier_spelling_of_output_options_is_accepted() {
    for (earlier, now) in [
        (
            &["count", "--by", "status", "--output", "json"][..],
            &["count", "--by", "status", "--json"][..],
        ),
        (&["count", "--by", "status", "--output", "csv"], &["count", "--by", "status", "--csv"]),
        (&["grep", "--output", "jsonl", " 404 "], &["grep", "--json", " 404 "]),
        (&["grep", "--output", "raw", " 404 "], &["grep", " 404 "]),
    ] {
        let with_log = |arguments: &[&str]| run([arguments, &[&hackers()]].concat());
        assert!(!with_log(now).stdout.is_empty(), "{now:?}");
        assert_eq!(with_log(earlier).stdout, with_log(now).stdout, "{earlier:?}");
    }
    for command in ["report", "count", "grep"] {
        let both = run([command, "--json", "--csv", "x"]);
        assert_eq!(both.code, 2);
        assert!(both.stderr.contains("'--json' cannot be used with '--csv'"), "{}", both.stderr);
        assert!(!run([command, "--help"]).stdout.contains("--output"), "{command}");
    }
}

#[test]
fn lines_of_plain_and_compressed_files_are_counted() {
    let folder = Folder::new();
    let log = generated(1 << 20);
    let lines = log.iter().filter(|byte| **byte == b'\n').count();
    let plain = folder.file("a.log", &log);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&log).expect("memory");
    let packed = folder.file("b.log", &encoder.finish().expect("memory"));
    assert_eq!(run(["count", text(&plain)]).stdout, format!("{lines}\n"));
    assert_eq!(run(["count", text(&packed)]).stdout, format!("{lines}\n"));
    let both = run(["count", text(&plain), text(&packed)]);
    assert!(both.stdout.ends_with(&format!("{}  total\n", 2 * lines)), "{}", both.stdout);
    assert_eq!(both.stdout.lines().count(), 3);
    let json = run(["count", "--json", text(&plain), text(&packed)]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["lines"], 2 * lines);
    assert_eq!(json["files"][1]["lines"], lines);
}

#[test]
fn a_last_line_without_end_counts_and_nuls_do_not() {
    assert_eq!(run_with_stdin(["count"], b"a\nb").stdout, "2\n");
    assert_eq!(run_with_stdin(["count"], b"a\n\0\0\0").stdout, "1\n");
    let empty = run_with_stdin(["count"], b"");
    assert_eq!((empty.stdout.as_str(), empty.code), ("0\n", 1));
    // A missing file has no count, not even 0.
    for arguments in [&["count"][..], &["count", "--by", "status"], &["count", "--json"]] {
        let missing = run([arguments, &["/no/such/file"]].concat());
        assert_eq!((missing.stdout.as_str(), missing.code), ("", 2));
    }
    let folder = Folder::new();
    let there = folder.file("a.log", b"a\nb\n");
    let one_of_two = run(["count", "/no/such/file", text(&there)]);
    let expected = format!("2  {0}\n2  total\n", text(&there));
    assert_eq!((one_of_two.stdout, one_of_two.code), (expected, 2));
}

#[test]
fn counts_of_values_equal_those_of_the_report() {
    let log = hackers();
    for (field, extra) in [("path", None), ("client", Some("status=200")), ("status", None)] {
        let mut arguments = vec!["--top", "1000"];
        arguments.extend(extra.iter().flat_map(|condition| ["--where", condition]));
        arguments.push(&log);
        let report = run([&["report", "--json"], &arguments[..]].concat()).stdout;
        let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
        let counted = run([&["count", "--json", "--by", field], &arguments[..]].concat());
        let counted: serde_json::Value = serde_json::from_str(&counted.stdout).expect("JSON");
        assert_eq!(counted["count"], report["matching"]);
        let rows = |value: &serde_json::Value, count: &str| -> Vec<(String, u64)> {
            let rows = value.as_array().expect("rows").iter();
            let row = |row: &serde_json::Value| {
                let value = row["value"].as_str().expect("a value").to_owned();
                (value, row[count].as_u64().expect("a count"))
            };
            rows.map(row).collect()
        };
        assert_eq!(rows(&counted["values"], "count"), rows(&report["top"][field], "count"));
    }
}

#[test]
fn the_cells_of_a_table_equal_naive_counts() {
    let log = hackers();
    let csv = run(["count", "--by", "status,method", "--csv", &log]).stdout;
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0][0], "status by method");
    let mut naive: BTreeMap<(String, String), u64> = BTreeMap::new();
    for line in std::fs::read_to_string(&log).expect("a fixture").lines() {
        let parts: Vec<&str> = line.split('"').collect();
        let method = parts[1].split(' ').next().expect("a method").to_owned();
        let status = parts[2].split(' ').nth(1).expect("a status").to_owned();
        *naive.entry((status, method)).or_default() += 1;
    }
    let number = |text: &str| text.parse::<u64>().expect("a number");
    for row in &rows[1..rows.len() - 1] {
        for (column, cell) in row.iter().enumerate().take(row.len() - 1).skip(1) {
            let key = (row[0].to_owned(), rows[0][column].to_owned());
            assert_eq!(number(cell), naive.get(&key).copied().unwrap_or(0), "{key:?}");
        }
        let sum: u64 = row[1..row.len() - 1].iter().map(|cell| number(cell)).sum();
        assert_eq!(number(row[row.len() - 1]), sum);
    }
    let last = rows.last().expect("totals");
    assert_eq!((last[0], number(last[last.len() - 1])), ("total", 1_000));
    let text = run(["count", "--by", "status,method", &log]).stdout;
    assert_eq!(text.lines().count(), rows.len());
}

#[test]
fn unknown_fields_are_refused() {
    let log = hackers();
    let wrong = run(["count", "--by", "nothing", &log]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("--by: the log has no field `nothing`"), "{}", wrong.stderr);
    let third = run(["count", "--by", "status,method,nothing", &log]);
    assert_eq!(third.code, 2);
    assert!(third.stderr.contains("--by: the log has no field `nothing`"), "{}", third.stderr);
    assert_eq!(run(["count", "--where", "status=999", &log]).code, 1);
}

#[test]
fn values_beyond_the_memory_are_counted_together() {
    let folder = Folder::new();
    let lines = (0..40_000).map(|number| {
        let request = format!("GET /{number} HTTP/1.1");
        crate::support::line("192.0.2.1", "17/Dec/2025:09:00:00 +0000", &request, 200, "-")
    });
    let path = folder.file("a.log", lines.collect::<String>().as_bytes());
    let all = run(["count", "--by", "path", "--json", text(&path)]);
    let all: serde_json::Value = serde_json::from_str(&all.stdout).expect("JSON");
    assert_eq!((&all["count"], &all["remainder"]), (&40_000.into(), &0.into()));
    let three = ["count", "--by", "path,client,status", "--memory", "1MiB", "--json", text(&path)];
    let three = run(three);
    assert!(three.stderr.contains("with a combination of values first seen"), "{}", three.stderr);
    let three: serde_json::Value = serde_json::from_str(&three.stdout).expect("JSON");
    let listed = three["combinations"].as_array().map_or(0, Vec::len) as u64;
    let remainder = three["remainder"].as_u64().expect("a number");
    assert!(remainder > 0, "the memory holds fewer combinations");
    assert_eq!(listed + remainder, 40_000);
    let few = run(["count", "--by", "path", "--memory", "1MiB", "--json", text(&path)]);
    assert!(few.stderr.contains("memory limit reached: "), "{}", few.stderr);
    let few: serde_json::Value = serde_json::from_str(&few.stdout).expect("JSON");
    let named = few["values"].as_array().map_or(0, Vec::len) as u64;
    assert!((1_000..20_000).contains(&named), "{named}");
    assert_eq!(few["remainder"].as_u64(), Some(40_000 - named));
    let shown = run(["count", "--by", "path", "--memory", "1MiB", "--top", "1", text(&path)]);
    assert!(shown.stdout.ends_with("(all other values)\n"), "{}", shown.stdout);
}

#[test]
fn a_large_file_is_counted_in_pieces() {
    let folder = Folder::new();
    let path = folder.file("a.log", &generated(20 << 20));
    for by in ["status", "path,method"] {
        let count = |jobs| run(["count", "--by", by, "--csv", "-j", jobs, text(&path)]);
        let (one, four) = (count("1"), count("4"));
        assert_eq!((one.stdout, one.stderr), (four.stdout, four.stderr), "{by}");
    }
}

#[test]
fn fields_of_directives_are_known_after_the_directives() {
    let folder = Folder::new();
    let log = "#Software: Microsoft Internet Information Services 8.5\n#Version: 1.0\n\n\
               #Fields: date time cs-method cs-uri-stem sc-status\n\
               2016-01-10 00:07:26 GET /a 404\n2016-01-10 00:07:27 POST /b 200\n\
               #Fields: date time cs-uri-stem cs-method\n2016-01-10 00:07:28 /c GET\n";
    let path = folder.file("iis.log", log.as_bytes());
    let counted = run(["count", "--by", "method", text(&path)]);
    assert_eq!((counted.code, counted.stdout.as_str()), (0, "2  GET\n1  POST\n"));
    let counted = run(["count", "--where", "status=404", text(&path)]);
    assert_eq!((counted.code, counted.stdout.as_str()), (0, "1\n"));
    let found = run(["grep", "--field", "path", "--where", "method=GET", "-o", ".+", text(&path)]);
    assert_eq!((found.code, found.stdout.as_str()), (0, "/a\n/c\n"));
    for arguments in [
        ["count", "--by", "host"],
        ["grep", "--field=host", "."],
        ["report", "--group", "host"],
        ["report", "--where", "host=a"],
    ] {
        let run = run([&arguments[..], &[text(&path)]].concat());
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains("has no field `host`; it has "), "{}", run.stderr);
    }
}

#[test]
fn a_date_before_the_first_list_of_fields_holds_after_a_later_list() {
    let folder = Folder::new();
    let without_time = folder.file("a.log", b"#Fields: c-ip cs-method\n192.0.2.7 GET\n");
    let log = b"#Date: 2024-03-01 10:00:00\n#Fields: time c-ip cs-method\n10:00:00 192.0.2.7 GET\n\
                #Fields: time c-ip sc-status\n11:00:00 192.0.2.7 200\n\
                #Date: 2024-03-02 00:00:00\n12:00:00 192.0.2.7 200\n";
    let log = folder.file("b.log", log);
    let counted = run(["count", "--by", "time", text(&without_time), text(&log)]);
    assert_eq!((counted.code, counted.stderr.as_str()), (0, ""));
    assert_eq!(
        counted.stdout,
        "1  (none)\n1  2024-03-01T10:00:00Z\n1  2024-03-01T11:00:00Z\n1  2024-03-02T12:00:00Z\n"
    );
    let condition = "time>=2024-03-02";
    let found =
        run(["grep", "--no-filename", "--where", condition, text(&without_time), text(&log)]);
    assert_eq!((found.code, found.stdout.as_str()), (0, "12:00:00 192.0.2.7 200\n"));
}

#[test]
fn a_table_of_the_most_frequent_values_adds_up() {
    let log = hackers();
    let by = |options: &[&str]| {
        run([&["count", "--by", "path,status", "--top", "3"], options, &[&log]].concat()).stdout
    };
    let json: serde_json::Value = serde_json::from_str(&by(&["--json"])).expect("JSON");
    let number = |value: &serde_json::Value| value.as_u64().expect("a number");
    let sum = |value: &serde_json::Value| -> u64 {
        value.as_array().expect("a list").iter().map(number).sum()
    };
    let rows = json["rows"].as_array().expect("rows");
    assert_eq!((rows.len(), json["columns"].as_array().expect("columns").len()), (3, 3));
    for row in rows.iter().chain([&json["other_rows"]]) {
        assert_eq!(sum(&row["counts"]) + number(&row["others"]), number(&row["total"]), "{row}");
    }
    let totals = |name: &str| -> u64 {
        json[name].as_array().expect("a list").iter().map(|one| number(&one["total"])).sum()
    };
    assert_eq!(totals("rows") + number(&json["other_rows"]["total"]), number(&json["count"]));
    assert_eq!(totals("columns") + number(&json["other_columns"]["total"]), number(&json["count"]));
    for (at, column) in json["columns"].as_array().expect("columns").iter().enumerate() {
        let cells = rows.iter().chain([&json["other_rows"]]);
        let cells: u64 = cells.map(|row| number(&row["counts"][at])).sum();
        assert_eq!(cells, number(&column["total"]), "{column}");
    }
    // The naive number of values that are left out.
    let all = run(["count", "--by", "path", "--json", &log]).stdout;
    let all: serde_json::Value = serde_json::from_str(&all).expect("JSON");
    let values = all["values"].as_array().expect("values").len() as u64;
    assert_eq!(number(&json["other_rows"]["values"]), values - 3);

    let csv = by(&["--csv"]);
    let cells: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(cells[0][4..], ["(others)", "total"]);
    assert_eq!(cells[4][0], "(others)");
    let number = |text: &str| text.parse::<u64>().expect("a number");
    for row in &cells[1..] {
        let sum: u64 = row[1..5].iter().map(|cell| number(cell)).sum();
        assert_eq!(sum, number(row[5]), "{row:?}");
    }
    for column in 1..6 {
        let sum: u64 = cells[1..5].iter().map(|row| number(row[column])).sum();
        assert_eq!(sum, number(cells[5][column]), "{column}");
    }
    let text = by(&[]);
    assert!(text.lines().nth(4).is_some_and(|line| line.starts_with("(others)")), "{text}");
    assert!(text.lines().next().is_some_and(|line| line.contains("(others)")), "{text}");
    // Without values that are left out there are no others.
    let few = run(["count", "--by", "status_class,method", "--top", "50", &log]).stdout;
    assert!(!few.contains("(others)"), "{few}");
}

#[test]
fn combinations_of_three_fields_equal_naive_counts() {
    let log = hackers();
    let mut naive: BTreeMap<[String; 3], u64> = BTreeMap::new();
    let text = std::fs::read_to_string(&log).expect("a fixture");
    for line in text.lines() {
        let parts: Vec<&str> = line.split('"').collect();
        let client = line.split(' ').next().expect("a client").to_owned();
        let method = parts[1].split(' ').next().expect("a method").to_owned();
        let status = parts[2].split(' ').nth(1).expect("a status").to_owned();
        *naive.entry([client, method, status]).or_default() += 1;
    }
    let mut sorted: Vec<([String; 3], u64)> = naive.into_iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let by = |options: &[&str]| {
        run([&["count", "--by", "client,method,status"], options, &[&log]].concat()).stdout
    };
    let row = |(values, count): &([String; 3], u64)| format!("{},{count}", values.join(","));
    let expected: Vec<String> = sorted.iter().map(row).collect();
    let csv = by(&["--csv"]);
    assert_eq!(csv.lines().next(), Some("client,method,status,count"));
    assert_eq!(csv.lines().skip(1).collect::<Vec<_>>(), expected);
    let json: serde_json::Value =
        serde_json::from_str(&by(&["--json", "--top", "5"])).expect("JSON");
    let combinations = json["combinations"].as_array().expect("a list");
    assert_eq!(combinations.len(), 5);
    for (combination, (values, count)) in combinations.iter().zip(&sorted) {
        assert_eq!(combination["count"], *count);
        for (value, expected) in
            combination["values"].as_array().expect("a list").iter().zip(values)
        {
            assert_eq!(value["value"], **expected);
        }
    }
    let first = by(&["--top", "1"]);
    let words: Vec<&str> = first.split_whitespace().collect();
    assert_eq!(words[1..], sorted[0].0);
    let many = run(["count", "--by", "a,b,c,d,e,f,g,h,i", &log]);
    assert_eq!((many.code, many.stderr.as_str()), (2, "weir: --by: name 8 fields at most\n"));
}
