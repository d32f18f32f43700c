//! `report`, `grep` and `count` read a log in the same format, from files and from pipes.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::support::{Folder, Run, finish, run, run_with_stdin, text, weir};
use flate2::Compression;
use flate2::write::GzEncoder;
use weir_testkit::lines;

/// Lines in the known format COMBINED.
fn combined(count: usize) -> String {
    lines::many(lines::combined, count)
}

/// Lines of nginx's example format `main`, which has one value more.
fn main_lines(count: usize) -> String {
    combined(count).replace("\"\n", "\" \"198.51.100.7\"\n")
}

/// Lines that match no format.
fn noise(count: usize) -> String {
    lines::many(lines::noise, count)
}

/// Logs whose format depends on how much of them is examined.
fn logs() -> Vec<(&'static str, Vec<u8>)> {
    let half_mebibyte = "x".repeat(512 << 10);
    vec![
        ("few of another format first", (main_lines(3) + &combined(1_000)).into_bytes()),
        ("the other way round", (combined(3) + &main_lines(1_000)).into_bytes()),
        ("one read of another format first", (main_lines(1_500) + &combined(9_000)).into_bytes()),
        ("a window of noise", (noise(15_000) + &main_lines(3) + &combined(2_000)).into_bytes()),
        // Detection examines 1,000 lines; later lines are read in the same format.
        ("more noise than is examined", (noise(1_100) + &combined(100)).into_bytes()),
        ("a window without a line end", {
            (half_mebibyte.clone() + "\n" + &main_lines(2) + &combined(2_000)).into_bytes()
        }),
        ("a line over the limit of reports", {
            (half_mebibyte.repeat(6) + "\n" + &main_lines(2) + &combined(2_000)).into_bytes()
        }),
        ("a window of NULs", {
            [vec![0; 300 << 10], (main_lines(3) + &combined(2_000)).into_bytes()].concat()
        }),
        ("no line end at the end", (main_lines(1) + combined(2).trim_end()).into_bytes()),
        ("only noise", noise(5).into_bytes()),
    ]
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// The number of records that each command reads. `run` runs a command on the log.
fn records_by_command(run: impl Fn(&[&str]) -> Run) -> [u64; 3] {
    let json = |arguments: &[&str]| -> serde_json::Value {
        serde_json::from_str(&run(arguments).stdout).expect("JSON")
    };
    let report = json(&["report", "--json"])["matching"].as_u64();
    let count = json(&["count", "--by", "status", "--json"])["count"].as_u64();
    let lines = run(&["grep", "--field", "status", "--no-filename", ""]).stdout;
    [report.expect("a number"), count.expect("a number"), lines.lines().count() as u64]
}

/// Checks that all commands read the same number of records, and returns it.
fn assert_same(what: &str, records: [u64; 3]) -> u64 {
    assert_eq!(records, [records[0]; 3], "report, count and grep: {what}");
    records[0]
}

fn of_files(paths: &[&Path]) -> [u64; 3] {
    let paths: Vec<&str> = paths.iter().map(|path| text(path)).collect();
    records_by_command(|arguments| run([arguments, &paths].concat()))
}

#[test]
fn files_and_standard_input_are_read_in_the_same_format() {
    let folder = Folder::new();
    let mut sum = 0;
    let mut paths = Vec::new();
    for (number, (what, log)) in logs().into_iter().enumerate() {
        let path = folder.file(&format!("{number}.log"), &log);
        let packed = folder.file(&format!("{number}.log.gz"), &gzip(&log));
        let records = assert_same(what, of_files(&[&path]));
        assert_eq!(of_files(&[&packed]), [records; 3], "packed: {what}");
        let from_file = records_by_command(|arguments| {
            finish(weir(arguments).stdin(File::open(&path).expect("a file")))
        });
        assert_eq!(from_file, [records; 3], "standard input: {what}");
        sum += records;
        paths.push(path);
    }
    let paths: Vec<&Path> = paths.iter().map(AsRef::as_ref).collect();
    assert_eq!(assert_same("all files", of_files(&paths)), sum);
}

#[test]
fn pipes_are_read_in_the_same_format() {
    // The end of each write to a pipe can end a window within a line.
    let others = ["a window without a line end", "a line over the limit of reports"];
    for (what, log) in logs() {
        if !others.contains(&what) {
            assert_same(what, records_by_command(|arguments| run_with_stdin(arguments, &log)));
        }
    }
}

#[test]
fn a_change_in_a_pipe_is_followed() {
    let log = main_lines(1_500) + &combined(9_000);
    let records = records_by_command(|arguments| run_with_stdin(arguments, log.as_bytes()));
    assert_eq!(records, [10_500; 3]);
}

#[test]
fn large_files_are_read_in_the_same_format() {
    let folder = Folder::new();
    // Large enough to be scanned in ranges.
    let log = combined(210_000);
    assert!(log.len() > 16 << 20, "{}", log.len());
    let path = folder.file("large.log", log.as_bytes());
    assert_eq!(assert_same("a large file", of_files(&[&path])), 210_000);
}

#[test]
fn a_few_lines_of_another_format_are_read_too() {
    let folder = Folder::new();
    let path = folder.file("a.log", (main_lines(3) + &combined(1_000)).as_bytes());
    assert_eq!(of_files(&[&path]), [1_003; 3]);
}

/// A container's stdout and stderr in one stream, as docker keeps them.
fn container_log() -> Vec<u8> {
    let wrapped = |line: &str, stream: &str| {
        let text = line.trim_end().replace('\\', "\\\\").replace('"', "\\\"");
        let time = "2025-12-17T09:03:01Z";
        format!("{{\"log\":\"{text}\\n\",\"stream\":\"{stream}\",\"time\":\"{time}\"}}\n")
    };
    let error = |number: usize| {
        format!(
            "2025/12/17 09:03:01 [error] 7#7: *{number} open() \"/{number}\" failed (2: No such \
             file or directory), client: 192.0.2.7, server: x, request: \"GET / HTTP/1.1\""
        )
    };
    let line = |number: usize| match number % 100 {
        99 => wrapped(&error(number), "stderr"),
        _ => wrapped(&lines::combined(number), "stdout"),
    };
    (0..5_000).map(line).collect::<String>().into_bytes()
}

#[test]
fn each_line_is_read_in_its_own_of_several_formats() {
    let folder = Folder::new();
    let mixed: String = (0..4_000)
        .map(|number| match number % 4 {
            0 => lines::caddy(number),
            1 => lines::combined(number).replace(" \"-\" \"curl/8.0\"", ""),
            _ => lines::combined(number),
        })
        .collect();
    let path = folder.file("mixed.log", mixed.as_bytes());
    let report = |path: &Path| -> serde_json::Value {
        serde_json::from_str(&run(["report", "--json", text(path)]).stdout).expect("JSON")
    };
    let json = report(&path);
    assert_eq!((&json["records"], &json["unparsed_lines"]), (&4_000.into(), &0.into()));
    let formats = serde_json::json!([
        {"name": "COMBINED", "records": 2_000},
        {"name": "CADDY", "records": 1_000},
        {"name": "COMMON", "records": 1_000},
    ]);
    assert_eq!(json["formats"], formats);
    assert_eq!(assert_same("a mixed log", of_files(&[&path])), 4_000);

    // The first errors of a container may come later than what is examined.
    let path = folder.file("container.log", &container_log());
    let json = report(&path);
    assert_eq!((&json["matching"], &json["unparsed_lines"]), (&4_950.into(), &0.into()));
    assert_eq!(json["other_kinds"][0]["matching"], 50);
    let count = run(["count", "--kind", "error-log-line", "--by", "level", text(&path)]);
    assert_eq!(count.stdout, "50  error\n");
    let grep = run(["grep", "-c", "--where", "level=error", text(&path)]);
    assert_eq!(grep.stdout, "50\n", "{}", grep.stderr);
    for jobs in ["1", "2", "4"] {
        let again = run(["report", "--json", "-j", jobs, text(&path)]).stdout;
        assert_eq!(serde_json::from_str::<serde_json::Value>(&again).expect("JSON"), json);
    }
}
