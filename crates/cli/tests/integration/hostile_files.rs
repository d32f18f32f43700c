//! Files whose fields change, with overlong lines, odd encodings and hostile text: every command
//! counts them alike, and no message or output is too long or has control characters.

use serde_json::Value;
use weir_testkit::archive::tar;

use crate::support::{Folder, Run, line, run, text};

fn minute(number: u32, request: &str) -> String {
    line("192.0.2.1", &format!("17/Dec/2025:09:{number:02}:00 +0000"), request, 200, "-")
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

/// Records of a W3C log, of which only the last two have a path.
const LISTS: &[u8] = b"#Version: 1.0\n\
    #Fields: date time c-ip sc-status\n\
    2025-12-17 09:03:01 192.0.2.7 200\n\
    2025-12-17 09:03:02 192.0.2.7 404\n\
    #Fields: date time c-ip cs-uri-stem\n\
    2025-12-17 09:03:03 192.0.2.7 /a\n\
    2025-12-17 09:03:04 192.0.2.7 /b\n";

#[test]
fn fields_of_a_later_list_are_found_by_every_command() {
    let folder = Folder::new();
    let log = folder.file("w3c.log", LISTS);
    let log = text(&log);
    let report = json(&run(["report", "--json", "--where", "path=/a", log]));
    assert_eq!((&report["records"], &report["matching"]), (&4.into(), &1.into()));
    let found = run(["grep", "-c", "--where", "path=/a", "", log]);
    assert_eq!((found.stdout.as_str(), found.code), ("1\n", 0), "{found:?}");
    let found = run(["grep", "--field", "path", "b", log]);
    assert_eq!(found.stdout, "2025-12-17 09:03:04 192.0.2.7 /b\n");
    let counted = run(["count", "--by", "path", log]);
    assert_eq!((counted.stdout.as_str(), counted.code), ("2  (none)\n1  /a\n1  /b\n", 0));
    // The same for a field of the first list.
    let counted = run(["count", "--by", "status", log]);
    assert_eq!(counted.stdout, "2  (none)\n1  200\n1  404\n");
    let counted = run(["count", "--where", "status=404", log]);
    assert_eq!(counted.stdout, "1\n");
}

#[test]
fn a_field_that_no_list_has_is_an_error() {
    let folder = Folder::new();
    let log = folder.file("w3c.log", LISTS);
    let log = text(&log);
    for arguments in [
        &["count", "--by", "shoe_size"][..],
        &["count", "--where", "shoe_size=40"],
        &["grep", "--where", "shoe_size=40", ""],
        &["grep", "--field", "shoe_size", "40"],
    ] {
        let refused = run([arguments, &[log]].concat());
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(refused.stderr.contains("has no field `shoe_size`"), "{}", refused.stderr);
    }
}

#[test]
fn lines_over_the_limit_count_alike() {
    const MEBIBYTE: usize = 1 << 20;
    let folder = Folder::new();
    let of_length = |length: usize| {
        let bare = minute(1, "GET / HTTP/1.1").len() - 1;
        minute(1, &format!("GET /{} HTTP/1.1", "x".repeat(length - bare)))
    };
    let lines = [
        minute(0, "GET /first HTTP/1.1"),
        of_length(MEBIBYTE),
        of_length(MEBIBYTE + 1),
        of_length(3 * MEBIBYTE),
        minute(2, "GET /last HTTP/1.1"),
    ];
    let log = folder.file("long.log", lines.concat().as_bytes());
    let log = text(&log);
    let report = json(&run(["report", "--json", log]));
    assert_eq!((&report["records"], &report["too_long_lines"]), (&3.into(), &2.into()));
    let counted = run(["count", "--by", "status", log]);
    assert_eq!(counted.stdout, "3  200\n");
    let left_out = format!("weir: {log}: 2 lines are over 1 MiB long and were left out\n");
    assert_eq!(counted.stderr, left_out);
    for form in ["csv", "parquet", "lines"] {
        let output = folder.path(&format!("a.{form}"));
        let exported = run(["export", "--to", form, "--output", text(&output), log]);
        assert_eq!((exported.code, &exported.stderr), (0, &left_out), "{form}");
    }
    let found = run(["grep", "-c", "--field", "status", "", log]);
    assert_eq!(found.stdout, "3\n");
    // A line that was skipped has a number too.
    let found = run(["grep", "-n", "--where", "path=/last", "", log]);
    assert!(found.stdout.starts_with("5:"), "{}", found.stdout);
    let mixed = folder.file("mixed.log", [&lines.concat(), "no record\n"].concat().as_bytes());
    let counted = run(["count", "--by", "status", text(&mixed)]);
    let reasons =
        "1 line does not match the format; 2 lines are over 1 MiB long and were left out\n";
    assert_eq!(counted.stderr, format!("weir: {}: {reasons}", text(&mixed)));
    let foreign = folder.file("foreign.log", [&lines[3], "no record\n"].concat().as_bytes());
    for command in [&["count", "--by", "status"][..], &["report"], &["export", "--to", "csv"]] {
        let named = run([command, &["--format", "caddy", text(&foreign)]].concat());
        assert!(named.stderr.contains("over 1 MiB"), "{command:?}: {}", named.stderr);
    }
    // Without fields, lines of any length count.
    assert_eq!(run(["count", log]).stdout, "5\n");
    assert_eq!(run(["grep", "-c", "GET", log]).stdout, "5\n");
}

#[test]
fn json_has_no_character_that_a_terminal_obeys() {
    let folder = Folder::new();
    let hostile = "GET /\u{9b}2J\u{7f}\u{85}\u{202e}gpj\u{e0041} HTTP/1.1";
    let log = folder.file("hostile.log", minute(0, hostile).as_bytes());
    let log = text(&log);
    for arguments in
        [&["grep", "--json", ""][..], &["count", "--by", "path", "--json"], &["report", "--json"]]
    {
        let run = run([arguments, &[log]].concat());
        let is_safe = |c: char| c == '\n' || matches!(c, ' '..='~');
        assert!(run.stdout.chars().all(is_safe), "{}", run.stdout);
        assert!(
            run.stdout.contains(r"/\u009b2J\u007f\u0085\u202egpj\udb40\udc41"),
            "{arguments:?}"
        );
        json(&run);
    }
}

#[test]
fn messages_about_many_files_are_few() {
    let folder = Folder::new();
    let names: Vec<String> = (0..3_000).map(|number| format!("{number}.log")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let archive = folder.file("empty.tar", &tar(&files));
    let archive = text(&archive);
    let empty = run(["report", archive]);
    assert_eq!(empty.stderr, format!("weir: {archive}/0.log and 2,999 other files: is empty\n"));

    let logs: Vec<_> = (0..36)
        .map(|number| {
            folder.file(&format!("{number}.log"), minute(number, "GET / HTTP/1.1").as_bytes())
        })
        .collect();
    let logs: Vec<&str> = logs.iter().map(|path| text(path)).collect();
    let refused = run([&["count", "--by", "shoe_size"], &logs[..]].concat());
    assert_eq!(refused.code, 2);
    let start = format!("weir: {} and 35 other files: --by: the log has no field", logs[0]);
    assert!(refused.stderr.starts_with(&start), "{}", refused.stderr);
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);

    let files: Vec<_> = (0..100)
        .map(|number| {
            folder.file(&format!("u{number}.log"), (minute(0, "GET / HTTP/1.1") + "?\n").as_bytes())
        })
        .collect();
    let files: Vec<&str> = files.iter().map(|path| text(path)).collect();
    let counted = run([&["count", "--by", "status"], &files[..]].concat());
    assert_eq!(counted.stderr.lines().count(), 21, "{}", counted.stderr);
    let last = "weir: 80 more files: 80 lines do not match the format\n";
    assert!(counted.stderr.ends_with(last), "{}", counted.stderr);
}

#[test]
fn a_file_of_nul_bytes_has_no_lines() {
    let folder = Folder::new();
    let nuls = folder.file("nul.log", &[0; 10_000]);
    let run = run(["report", text(&nuls)]);
    assert_eq!(run.stderr, format!("weir: {}: has no lines, only NUL bytes\n", text(&nuls)));
}

#[cfg(unix)]
#[test]
fn a_directory_that_is_named_by_two_links_is_read_once() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("logs")).expect("a folder");
    folder.file("logs/access.log", minute(0, "GET / HTTP/1.1").as_bytes());
    let links = ["one", "other"].map(|name| folder.path(name));
    for link in &links {
        std::os::unix::fs::symlink(folder.path("logs"), link).expect("a link");
    }
    let [one, other] = [text(&links[0]), text(&links[1])];
    let read = run(["report", "--json", one, other]);
    assert_eq!(json(&read)["records"], 1);
    let sentence = format!("weir: {other}: is the same directory as {one}; it is read once\n");
    assert_eq!((read.stderr, read.code), (sentence, 0));
    // Both are found below one directory.
    let read = run(["report", "--json", text(&folder.path(""))]);
    assert_eq!((&json(&read)["records"], read.stderr.as_str()), (&1.into(), ""));
}

#[test]
fn files_that_cannot_be_read_are_named_and_the_others_are_read() {
    let folder = Folder::new();
    let good = folder.file("good.log", minute(0, "GET / HTTP/1.1").as_bytes());
    let cut = folder.file("cut.log.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\x03");
    let missing = [folder.path("a.log"), folder.path("b.log")];
    let files = [text(&missing[0]), text(&good), text(&cut), text(&missing[1])];
    for command in [&["report", "--json"][..], &["count", "--by", "status"], &["grep", "GET"]] {
        let run = run([command, &files[..]].concat());
        assert_eq!(run.code, 2, "{command:?}");
        assert!(run.stdout.contains("200"), "{command:?}: {}", run.stdout);
        let lines: Vec<&str> = run.stderr.lines().collect();
        let both = format!("weir: {} and 1 other file: the file does not exist", files[0]);
        assert!(lines.iter().any(|line| line.starts_with(&both)), "{command:?}: {lines:?}");
        assert!(lines.iter().any(|line| line.contains("cut short")), "{command:?}: {lines:?}");
        assert_eq!(lines.len(), 2, "{command:?}: {lines:?}");
    }
}

#[test]
fn utf16_is_read_by_every_command() {
    let folder = Folder::new();
    let lines: String = (0..50).map(|number| minute(number, "GET /größe HTTP/1.1")).collect();
    let units = |unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        ["\u{feff}", &lines].concat().encode_utf16().flat_map(unit).collect()
    };
    for (name, bytes) in [("le", units(u16::to_le_bytes)), ("be", units(u16::to_be_bytes))] {
        let log = folder.file(&format!("{name}.log"), &bytes);
        let log = text(&log);
        assert_eq!(json(&run(["report", "--json", log]))["records"], 50, "{name}");
        assert_eq!(run(["count", log]).stdout, "50\n", "{name}");
        assert_eq!(run(["count", "--by", "path", log]).stdout, "50  /größe\n", "{name}");
        assert_eq!(run(["grep", "-c", "größe", log]).stdout, "50\n", "{name}");
    }
    // Also in a directory, of which only text files are read.
    assert_eq!(json(&run(["report", "--json", text(&folder.path(""))]))["records"], 100);
}
