//! Detection, the known formats' sample lines, and real logs.

mod format_support;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use format_support::{answer, check_cases, check_text, golden, outcome};
use weir_core::{LineParser, Lines, Record, detect, format_by_name, known_formats};
use weir_testkit::fixtures;

#[test]
fn golden_cases() {
    check_cases(&golden("detect.txt"));
}

#[test]
fn every_known_format_has_lines_that_fit_and_lines_that_do_not() {
    for format in known_formats() {
        let path = golden("known").join(format!("{}.txt", format.name()));
        check_cases(&path);
        let text = answer(&std::fs::read_to_string(&path).unwrap());
        assert!(text.starts_with('#') && text.contains(&format!("format: {}\n", format.name())));
        let count = |what: &str| text.lines().filter(|line| line.starts_with(what)).count();
        assert!(count("  mismatch ") > 0, "{}", path.display());
        assert!(count("line: ") > count("  mismatch "), "{}", path.display());
    }
    assert!(detect(b"").best().is_none());
}

/// Every line of the collection of odd lines, with its outcome: the known format that its
/// line alone is detected as and the fields, or why COMBINED does not fit.
#[test]
fn odd_lines() {
    let bytes = std::fs::read(fixtures::dirt()).unwrap();
    let mut out = String::new();
    let mut lines = bytes.split(|byte| *byte == b'\n').peekable();
    let mut number = 0;
    while let Some(row) = lines.next() {
        if row.is_empty() && lines.peek().is_none() {
            break;
        }
        number += 1;
        let mut columns = row.splitn(3, |byte| *byte == b'\t');
        let kind = String::from_utf8_lossy(columns.next().unwrap()).into_owned();
        let line = columns.nth(1).unwrap();
        let detection = detect(line);
        let format = detection.best().map_or_else(
            || Arc::new(format_by_name("COMBINED").unwrap()),
            |best| Arc::clone(&best.format),
        );
        let mut parser = LineParser::new(Arc::clone(&format));
        writeln!(out, "line {number}, {kind}: {}", format.name()).unwrap();
        for line in outcome(&mut parser, line).lines() {
            writeln!(out, "{}", format!("  {line}").trim_end()).unwrap();
        }
    }
    assert_eq!(number, 272);
    check_text(&golden("dirt.txt"), &out);
}

/// The lines of a log that do not fit the format that was expected and found.
fn unmatched(path: &Path, expected: &str) -> Vec<u64> {
    let bytes = std::fs::read(path).unwrap();
    let detection = detect(&bytes);
    let best = detection.best().unwrap_or_else(|| panic!("{}: nothing fits", path.display()));
    assert_eq!(best.format.name(), expected, "{}", path.display());
    let mut parser = LineParser::new(Arc::clone(&best.format));
    let mut record = Record::new();
    let numbered = Lines::new(&bytes).zip(1..);
    numbered
        .filter(|(line, _)| parser.parse(line.bytes, &mut record).is_err())
        .map(|(_, number)| number)
        .collect()
}

fn all_fit(paths: &[PathBuf], expected: &str) {
    assert!(!paths.is_empty());
    for path in paths {
        assert_eq!(unmatched(path, expected), [0u64; 0], "{}", path.display());
    }
}

#[test]
fn real_logs_are_detected_and_only_broken_lines_do_not_fit() {
    all_fit(&fixtures::nginx_combined(), "COMBINED");
    all_fit(&fixtures::apache_combined(), "COMBINED");
    all_fit(&fixtures::apache_common(), "COMMON");
    all_fit(&fixtures::apache_vhost(), "VCOMBINED");
    all_fit(&fixtures::access_logs(), "COMBINED");
    all_fit(&[fixtures::elastic_first_2000(), fixtures::hackers_first_1000()], "COMBINED");
    all_fit(&[fixtures::shop_first_300()], "MAIN");
    // The closing quote is missing; ident and user are missing.
    assert_eq!(unmatched(&fixtures::elastic_near_8899(), "COMBINED"), [20]);
    assert_eq!(unmatched(&fixtures::bad_access_log(), "COMBINED"), [2]);
    // Bare, Caddy's lines fit; behind the prefix of docker compose they do not.
    let caddy = fixtures::caddy();
    all_fit(&caddy[1..], "CADDY");
    for path in [&caddy[0], &fixtures::crlf(), &fixtures::invalid_utf8()] {
        assert!(detect(&std::fs::read(path).unwrap()).best().is_none(), "{}", path.display());
    }
}

#[test]
fn looks_at_the_first_lines_only_and_past_what_a_crash_left() {
    let good = "192.0.2.1 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 5\n";
    let log = good.repeat(1_500);
    assert_eq!(detect(log.as_bytes()).best().unwrap().lines, 1_000);
    let long =
        format!("192.0.2.1 - - [17/Dec/2025:09:03:01 +0000] \"{}\" 200 5\n", "x".repeat(2_000));
    let lines = detect(long.repeat(500).as_bytes()).best().unwrap().lines;
    assert!((100..200).contains(&lines), "{lines}");
    let mut log = vec![b'x'; 300 << 10];
    log.extend_from_slice(b"\n");
    log.extend_from_slice(good.as_bytes());
    let detection = detect(&log);
    assert_eq!(detection.best().unwrap().format.name(), "COMMON");
    assert_eq!(detection.best().unwrap().lines, 1);
}

/// The logs next to the repository, where they are: more than the fixtures hold.
#[test]
fn whole_collection_where_present() {
    let logs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/logs");
    if !logs.is_dir() {
        println!("no ../shared/logs here: the fixtures have to do");
        return;
    }
    let elastic = logs.join("apache-combined/elastic-10k.log");
    assert_eq!(unmatched(&elastic, "COMBINED"), [8899]);
    all_fit(&[logs.join("attacks/hackers-access.log")], "COMBINED");
    all_fit(&[logs.join("w3c-and-json/logfile_shop_access_log.0")], "MAIN");
    let days: Vec<PathBuf> = std::fs::read_dir(logs.join("nginx-combined"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    all_fit(&days, "COMBINED");
}
