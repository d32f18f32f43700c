//! The report in the terminal, as it was looked at and found good. `BLESS=1` writes the
//! files anew, to be looked at again.

mod support;

use std::path::{Path, PathBuf};

use support::{Folder, finish, generated, line, text, weir};
use weir_testkit::fixtures;

/// Compares with a file of `tests/golden`.
fn golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, actual).expect("the golden file is written");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "{} differs; see it, and bless it with BLESS=1", path.display());
}

/// The report of files in one folder, by their names there, at so many columns.
fn report(folder: &Path, columns: usize, arguments: &[&str]) -> String {
    let mut command = weir([&["report"], arguments].concat());
    command.current_dir(folder).env("COLUMNS", columns.to_string());
    let run = finish(&mut command);
    for line in run.stdout.lines() {
        let width = unicode_width::UnicodeWidthStr::width(line);
        assert!(width <= columns, "{width} columns: {line}");
        assert_eq!(line.trim_end(), line);
    }
    assert!(!run.stdout.contains('\x1b'), "no colour without a terminal");
    run.stdout + &run.stderr
}

#[test]
fn a_site() {
    let folder = fixtures::root().join("nginx-combined");
    let names: Vec<String> = fixtures::nginx_combined()
        .iter()
        .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    golden("site-80.txt", &report(&folder, 80, &names));
    golden("site-140.txt", &report(&folder, 140, &names));
    let one = &names[..1];
    golden("day-80.txt", &report(&folder, 80, &[one, &["--top", "3"]].concat()));
}

#[test]
fn broken_lines() {
    let folder = fixtures::root().join("apache-combined");
    let arguments = ["elastic-near-8899.log", "--top", "2"];
    golden("broken-80.txt", &report(&folder, 80, &arguments));
    let arguments = [&arguments[..], &["--where", "status=200", "--tz", "Europe/Zurich"]].concat();
    golden("filtered-140.txt", &report(&folder, 140, &arguments));
}

#[test]
fn generated_traffic() {
    let folder = Folder::new();
    let path = folder.file("shop.log", &generated(3 << 20));
    let parent = path.parent().map(PathBuf::from).expect("a parent");
    golden("shop-140.txt", &report(&parent, 140, &["shop.log", "--top", "5"]));
    let arguments = ["shop.log", "--top", "2", "--stack", "method", "--buckets", "12"];
    golden("stack-80.txt", &report(&parent, 80, &arguments));
}

#[test]
fn durations_and_wide_characters() {
    let folder = Folder::new();
    let line = |second: u32, path: &str, took: &str| {
        format!("[2025-12-17T09:03:{second:02}+01:00] \"GET {path} HTTP/1.1\" 200 5 {took}\n")
    };
    let log = line(1, "/日本語/ページ", "0.004")
        + &line(5, "/größe", "1.25")
        + &line(5, "/größe", "0.030")
        + &line(59, &"/日本".repeat(40), "12.0");
    let path = folder.file("own.log", log.as_bytes());
    let parent = path.parent().map(PathBuf::from).expect("a parent");
    let definition = "[$time_iso8601] \"$request\" $status $body_bytes_sent $request_time";
    golden("own-80.txt", &report(&parent, 80, &["--format", definition, "own.log"]));
}

#[test]
fn hostile_values() {
    let folder = Folder::new();
    let time = "17/Dec/2025:09:00:00 +0000";
    let agent = "\x1b]0;owned\x07\x1b[2J\u{202e}evil\u{200b}\u{9b}31m<script>";
    let mut log = line("192.0.2.1", time, "GET /\x1b[31mred HTTP/1.1", 200, agent).into_bytes();
    log.extend(b"broken \x1b[8m line \xff\xfe\x00 with \t everything\n");
    log.extend(line("\u{202e}1.2.0.291", time, "\r\x08\x08", 400, "\u{2028}\u{feff}").bytes());
    folder.file("a.log", &log);
    let parent = folder.path("");
    let shown = report(&parent, 80, &["a.log"]);
    for c in shown.chars() {
        let obeyed = c.is_control() && c != '\n';
        let hides = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{feff}');
        assert!(!obeyed && !hides, "{c:?} in {shown}");
    }
    golden("hostile-80.txt", &shown);
    // The name of a file is as foreign as its lines.
    let path = folder.file("evil\x1b[31m.log", b"");
    let run = support::run(["report", text(&path)]);
    assert!(run.stderr.contains("evil\\x1b[31m.log: is empty"), "{}", run.stderr);
}
