//! The output in the terminal, compared with files that were reviewed. `BLESS=1` writes the files
//! again; review them before they are committed.

use std::path::{Path, PathBuf};

use crate::support::{Folder, finish, generated, line, text, weir};
use weir_testkit::fixtures;

/// Compares with a file of `tests/golden`.
fn golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, actual).expect("a golden file");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "{} differs; write it with BLESS=1 and review it", path.display());
}

/// The report of files in one folder, `columns` wide.
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

/// The output of commands that run in a folder, with their exit codes.
fn session(folder: &Path, commands: &[&[&str]]) -> String {
    let mut shown = String::new();
    for arguments in commands {
        let run = finish(weir(*arguments).current_dir(folder));
        let arguments: Vec<String> = arguments.iter().map(|text| quoted(text)).collect();
        shown += &format!("$ weir {}\n{}{}", arguments.join(" "), run.stdout, run.stderr);
        shown += &format!("[{}]\n\n", run.code);
    }
    shown
}

/// An argument, quoted for a shell if necessary.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{text}'")
    }
}

/// A short log with a line that does not match and one with control characters.
fn short_log() -> String {
    let time = |minute: u32| format!("17/Dec/2025:09:{minute:02}:00 +0000");
    line("192.0.2.1", &time(0), "GET /a?x=1 HTTP/1.1", 200, "Mozilla/5.0")
        + &line("192.0.2.2", &time(1), "POST /login HTTP/1.1", 403, "curl/8.0")
        + "no line of this format\n"
        + &line("192.0.2.1", &time(2), "GET /b HTTP/1.1", 404, "=cmd|' /C calc'!A0")
        + &line("2001:db8::1", &time(3), "GET /a HTTP/1.1", 200, "Mozilla/5.0 \u{1b}[31mred")
}

#[test]
fn searches() {
    let folder = Folder::new();
    folder.file("a.log", short_log().as_bytes());
    folder.file("b.log", short_log().replace("192.0.2.", "198.51.100.").as_bytes());
    let commands: [&[&str]; 11] = [
        &["grep", "404", "a.log"],
        &["grep", "-n", "-i", "MOZILLA", "a.log"],
        &["grep", "-v", "-n", "HTTP/1.1\"", "a.log"],
        &["grep", "-c", "GET", "a.log", "b.log"],
        &["grep", "-l", "198.51.100.2", "a.log", "b.log"],
        &["grep", "-o", "--no-filename", "/[a-z]+", "a.log", "b.log"],
        &["grep", "--field", "path", "^/a$", "a.log"],
        &["grep", "--where", "status>=400", "--json", "", "a.log"],
        &["grep", "--csv", "calc", "a.log"],
        &["grep", "nowhere", "a.log"],
        &["grep", "(", "a.log"],
    ];
    golden("grep.txt", &session(&folder.path(""), &commands));
}

#[test]
fn counts() {
    let folder = Folder::new();
    folder.file("a.log", short_log().as_bytes());
    folder.file("b.log", short_log().replace("192.0.2.", "198.51.100.").as_bytes());
    let commands: [&[&str]; 9] = [
        &["count", "a.log"],
        &["count", "a.log", "b.log", "none.log"],
        &["count", "--where", "status>=400", "a.log"],
        &["count", "--by", "client", "a.log", "b.log"],
        &["count", "--by", "status_class,method", "a.log"],
        &["count", "--by", "user_agent", "--top", "2", "--csv", "a.log"],
        &["count", "--by", "path,status", "--json", "a.log"],
        &["count", "--by", "colour", "a.log"],
        &["count", "--by", "path", "--memory", "1k", "a.log"],
    ];
    golden("count.txt", &session(&folder.path(""), &commands));
}

#[test]
fn a_report_of_groups_and_of_changes() {
    let folder = fixtures::root().join("attacks");
    let log = "hackers-first-1000.log";
    golden("group-80.txt", &report(&folder, 80, &["--group", "user_agent", "--top", "3", log]));
    let compared = ["--compare", "--group", "status_class", "--top", "2", log];
    golden("compare-80.txt", &report(&folder, 80, &compared));
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
    log.extend(line("192.0.2.2", time, "\r\x08\x08", 400, "\u{2028}\u{feff}").bytes());
    log.extend(line("\u{202e}1.2.0.291", time, "GET / HTTP/1.1", 200, "-").bytes());
    folder.file("a.log", &log);
    let parent = folder.path("");
    let shown = report(&parent, 80, &["a.log"]);
    for c in shown.chars() {
        let obeyed = c.is_control() && c != '\n';
        let hides = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{feff}');
        assert!(!obeyed && !hides, "{c:?} in {shown}");
    }
    golden("hostile-80.txt", &shown);
    // The name of a file is as untrusted as its lines.
    let path = folder.file("evil\x1b[31m.log", b"");
    let run = crate::support::run(["report", text(&path)]);
    assert!(run.stderr.contains("evil\\x1b[31m.log: is empty"), "{}", run.stderr);
}
