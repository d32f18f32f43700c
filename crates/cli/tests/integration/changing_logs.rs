//! Logs that change on the way, and what stands in them besides: nothing is lost without a word.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::support::{Folder, Run, line, run, text};

fn request(number: usize) -> String {
    line(
        &format!("192.0.2.{}", number % 250 + 1),
        "17/Dec/2025:09:03:01 +0000",
        "GET /a HTTP/1.1",
        200,
        "curl/8",
    )
}

fn record(number: usize) -> Value {
    json!({"time": "2025-12-17T09:03:01Z", "client": "192.0.2.1", "method": "GET", "path": format!("/{number}"), "status": 200})
}

/// The report of a file: the exit code, and the numbers of records, unparsed and too long lines.
fn counts(folder: &Folder, name: &str, content: &[u8]) -> (i32, [u64; 3], Run) {
    let path = folder.file(name, content);
    let found = run(["report", "--json", text(&path)]);
    let report: Value = serde_json::from_str(&found.stdout).expect("JSON");
    let number = |key: &str| report[key].as_u64().expect("a number");
    (found.code, [number("records"), number("unparsed_lines"), number("too_long_lines")], found)
}

#[test]
fn requests_after_ten_thousand_other_lines_are_read() {
    let folder = Folder::new();
    let noise = |number: usize| {
        format!(
            "{{\"ts\":\"2025-12-17T09:00:00Z\",\"level\":\"info\",\"msg\":\"part {number}\"}}\n"
        )
    };
    let lines: String =
        (0..10_000).map(noise).chain((0..1_000).map(|it| format!("{}\n", record(it)))).collect();
    let (code, found, _) = counts(&folder, "json.log", lines.as_bytes());
    assert_eq!((code, found), (0, [1_000, 10_000, 0]));
    let noise = |number: usize| {
        format!("2025-12-17 09:00:01,123 INFO [main] part {number} of the application\n")
    };
    let lines: String = (0..10_000).map(noise).chain((0..1_000).map(request)).collect();
    let (code, found, _) = counts(&folder, "text.log", lines.as_bytes());
    assert_eq!((code, found), (0, [1_000, 10_000, 0]));
}

#[test]
fn a_member_of_ten_mebibytes_costs_its_own_line_only() {
    let folder = Folder::new();
    let long = |number| match number {
        5 => format!("{}{}", request(5).trim_end(), "x".repeat(10 << 20)),
        number => request(number).trim_end().to_owned(),
    };
    let records: Vec<Value> =
        (0..20).map(|number| json!({"id": number, "message": long(number)})).collect();
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    let list = serde_json::to_string_pretty(&records).expect("JSON");
    for (name, content) in [("lines.json", lines), ("list.json", list)] {
        let (code, found, _) = counts(&folder, name, content.as_bytes());
        assert_eq!((code, found), (0, [19, 0, 1]), "{name}");
    }
    let said = run(["grep", "-c", "--where", "status=200", "", text(&folder.path("list.json"))]);
    assert!(said.stderr.contains("1 line is over 1 MiB long and was left out"), "{}", said.stderr);
}

#[test]
fn members_beyond_the_columns_are_kept_together() {
    let folder = Folder::new();
    let lines: String = (0..3_000)
        .map(|number| {
            let mut record = record(number);
            record[format!("key{number}")] = number.into();
            format!("{record}\n")
        })
        .collect();
    let (code, found, _) = counts(&folder, "keys.json", lines.as_bytes());
    assert_eq!((code, found), (0, [3_000, 0, 0]));
    let path = folder.path("keys.json");
    let count = |condition: &str| run(["count", "--where", condition, text(&path)]).stdout;
    assert_eq!(count("key127=127"), "1\n");
    assert_eq!(count("extra_more~key2999"), "1\n");
    assert_eq!(count("extra_more!=(none)"), "2872\n");
}

#[test]
fn a_header_that_lies_gives_no_wrong_requests() {
    let folder = Folder::new();
    let row = |cells: &str| format!("{cells}\n").repeat(20);
    for (name, header, cells) in [
        (
            "more.csv",
            "time,client,method,path,status",
            "2025-12-17T09:03:01Z,192.0.2.1,GET,/a,200,extra",
        ),
        (
            "fewer.csv",
            "time,client,method,path,status,bytes",
            "2025-12-17T09:03:01Z,192.0.2.1,GET,/a,200",
        ),
        (
            "swapped.csv",
            "time,client,method,path,status",
            "2025-12-17T09:03:01Z,200,/a,GET,192.0.2.1",
        ),
    ] {
        let (code, found, run) =
            counts(&folder, name, format!("{header}\n{}", row(cells)).as_bytes());
        assert_eq!((code, found), (1, [0, 21, 0]), "{name}");
        assert!(
            run.stderr.contains("none of its 21 lines matches a known format"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn colours_of_a_terminal_are_named() {
    let folder = Folder::new();
    let coloured = |line: &str| line.replace(" 200", " \u{1b}[32m200\u{1b}[0m").repeat(50);
    for (name, content) in [
        ("middle.log", coloured(&request(1))),
        (
            "json.log",
            coloured(&format!("{}\n", record(1)).replace("\"GET\"", "\u{1b}[33m\"GET\"\u{1b}[0m")),
        ),
    ] {
        let (code, _, run) = counts(&folder, name, content.as_bytes());
        assert_eq!(code, 1, "{name}");
        let remedy = r"remove them first: sed 's/\x1b\[[0-9;]*m//g' FILE";
        assert!(run.stderr.contains(remedy), "{name}: {}", run.stderr);
    }
    // A client's colours make no log of colours.
    let sent = format!("{}{}", request(1).repeat(50), request(1).replace("/a", "/\u{1b}[31ma"));
    assert_eq!(counts(&folder, "sent.log", sent.as_bytes()).0, 0);
}

#[test]
fn encodings_and_line_ends_of_windows_are_read() {
    let folder = Folder::new();
    let lines: String = (0..50).map(|number| request(number).replace('\n', "\r\n")).collect();
    let list =
        serde_json::to_string_pretty(&[record(1), record(2)]).expect("JSON").replace('\n', "\r\n");
    let utf16 = |text: &str, mark: &str, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        format!("{mark}{text}").encode_utf16().flat_map(bytes).collect()
    };
    for (name, content, records) in [
        ("crlf.log", lines.clone().into_bytes(), 50),
        ("utf8.log", format!("\u{feff}{lines}").into_bytes(), 50),
        ("little.log", utf16(&lines, "\u{feff}", u16::to_le_bytes), 50),
        ("big.log", utf16(&lines, "\u{feff}", u16::to_be_bytes), 50),
        ("little-unmarked.log", utf16(&lines, "", u16::to_le_bytes), 50),
        ("big-unmarked.log", utf16(&lines, "", u16::to_be_bytes), 50),
        ("list.json", utf16(&list, "\u{feff}", u16::to_le_bytes), 2),
    ] {
        assert_eq!(counts(&folder, name, &content).1, [records, 0, 0], "{name}");
    }
}

#[test]
fn a_second_gzip_member_that_is_cut_keeps_the_first() {
    let folder = Folder::new();
    let lines: String = (0..50).map(request).collect();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(lines.as_bytes()).expect("memory");
    let member = encoder.finish().expect("memory");
    let whole = [&member[..], &member[..]].concat();
    assert_eq!(counts(&folder, "two.gz", &whole).1, [100, 0, 0]);
    let (code, [records, ..], run) = counts(&folder, "cut.gz", &whole[..member.len() + 5]);
    assert_eq!((code, records), (2, 50));
    assert!(run.stderr.contains("the gzip data is cut short"), "{}", run.stderr);
    let (code, [records, unparsed, _], _) = counts(&folder, "half.gz", &whole[..whole.len() - 12]);
    assert_eq!(code, 2);
    assert!(records >= 50 && unparsed <= 1, "{records} {unparsed}");
}
