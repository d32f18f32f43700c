//! Invalid input and usage: the exit code, the message, and that the lines read before an error
//! are kept.

use std::io::Write;
use std::process::Stdio;

use crate::support::{Folder, Run, finish, generated, line, run, run_with_stdin, text, weir};
use serde_json::Value;
use weir_testkit::fixtures;

/// One valid line.
fn good() -> String {
    line("192.0.2.1", "17/Dec/2025:09:00:00 +0000", "GET / HTTP/1.1", 200, "-")
}

/// Checks the exit code, and that standard error is this message.
#[track_caller]
fn assert_message(run: &Run, code: i32, sentence: &str) {
    assert_eq!((run.code, run.stderr.as_str()), (code, &*format!("weir: {sentence}\n")));
}

fn number(run: &Run, key: &str) -> u64 {
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    report[key].as_u64().expect("a number")
}

#[test]
fn empty_files_are_reported() {
    let folder = Folder::new();
    let path = folder.file("empty.log", b"");
    let path = text(&path);
    assert_message(&run(["report", path]), 1, &format!("{path}: is empty"));
    assert_message(&run(["formats", path]), 1, &format!("{path}: is empty"));
    assert_message(&run(["report"]), 1, "standard input: is empty");
    let json = run(["report", "--json", path]);
    assert_eq!((json.code, number(&json, "lines")), (1, 0));
    let other = folder.file("good.log", good().as_bytes());
    assert_message(&run(["report", path, text(&other)]), 0, &format!("{path}: is empty"));
}

#[test]
fn files_that_are_not_logs_are_reported() {
    let folder = Folder::new();
    let noise: Vec<u8> =
        (0..100_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let path = folder.file("image.png", &[b"\x89PMG\r\n\x1a\n", &noise[..]].concat());
    let sentence = "is not a text file; Weir reads logs, plain, packed or in archives; if it is one, give its format with --format";
    assert_message(&run(["report", text(&path)]), 1, &format!("{}: {sentence}", text(&path)));
    let path = folder.file("notes.txt", b"one\ntwo\nthree\n");
    let sentence = "is a text without times or addresses, not a log; Weir reads logs, plain, packed or in archives; if it is one, give its format with --format";
    assert_message(&run(["report", text(&path)]), 1, &format!("{}: {sentence}", text(&path)));
    let sentence = "none of its 3 lines matches the format COMMON; see why with weir formats FILE";
    let forced = run(["report", "--format", "common", text(&path)]);
    assert_message(&forced, 1, &format!("{}: {sentence}", text(&path)));
    assert!(forced.stdout.contains("Unparsed lines  3 of 3"), "{}", forced.stdout);
    let one = folder.file("one.txt", b"one\n");
    let sentence = "its only line does not match the format COMMON; see why with weir formats FILE";
    let forced = run(["report", "--format", "common", text(&one)]);
    assert_message(&forced, 1, &format!("{}: {sentence}", text(&one)));
    // A condition on an unknown field is not an error if no line matches a format.
    assert_eq!(run(["report", "--where", "nothing=1", text(&path)]).code, 1);
}

/// IIS makes such a log when it begins a file, before the first request.
#[test]
fn a_log_of_directives_alone_is_of_a_known_format() {
    let folder = Folder::new();
    let log = "#Version: 1.0\n#Date: 2016-01-10 00:07:26\n#Fields: date time c-ip cs-method\n";
    let path = folder.file("u_ex160110.log", log.as_bytes());
    let sentence = "has the directives of the format W3C and no requests";
    assert_message(&run(["report", text(&path)]), 1, &format!("{}: {sentence}", text(&path)));
}

#[test]
fn unreadable_files_are_reported() {
    let folder = Folder::new();
    let good = folder.file("good.log", good().as_bytes());
    let missing = folder.path("missing.log");
    let missing = text(&missing);
    let sentence = format!("{missing}: the file does not exist; check the name");
    for command in [&["report"][..], &["formats"], &["--no-open"]] {
        assert_message(&run([command, &[missing]].concat()), 2, &sentence);
    }
    let run = crate::support::run(["report", "--json", missing, text(&good)]);
    assert_message(&run, 2, &sentence);
    assert_eq!(number(&run, "records"), 1, "the other file is read");
    let directory = folder.path("");
    let directory = text(&directory).trim_end_matches('/');
    let sentence =
        format!("{directory}: is a directory; name the files in it, such as {directory}/*.log");
    assert_message(&crate::support::run(["formats", directory]), 2, &sentence);
}

#[cfg(unix)]
#[test]
fn messages_contain_no_control_characters() {
    let folder = Folder::new();
    let directory = folder.path("\x1b[2Jlogs\u{202e}");
    std::fs::create_dir(&directory).expect("a folder");
    let missing = directory.join("missing.log");
    let good = folder.file("good.log", good().as_bytes());
    let hostile = "x\x1b[31m\u{202e}";
    let condition = format!("{hostile}=1");
    let status = format!("status={hostile}");
    for arguments in [
        vec!["report", text(&missing)],
        vec!["formats", text(&directory)],
        vec!["--no-open", text(&missing)],
        vec!["report", "--where", &condition, text(&good)],
        vec!["report", "--where", &status, text(&good)],
        vec!["report", "--stack", hostile, text(&good)],
        vec!["report", "--tz", hostile, text(&good)],
        vec!["report", "--since", hostile, text(&good)],
        vec!["report", "--memory", hostile, text(&good)],
        vec!["report", "--format", hostile, text(&good)],
    ] {
        let run = run(&arguments);
        assert_eq!(run.code, 2, "{arguments:?}");
        assert!(run.stderr.contains("\\x1b["), "{}", run.stderr);
        assert!(!run.stderr.contains(['\x1b', '\u{202e}']), "{:?}", run.stderr);
    }
}

#[test]
fn the_lines_before_damage_are_kept() {
    let folder = Folder::new();
    let log = generated(1 << 20);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&log).expect("memory");
    let gz = encoder.finish().expect("memory");
    let cut = folder.file("cut.log.gz", &gz[..gz.len() / 2]);
    let run = crate::support::run(["report", "--json", text(&cut)]);
    let sentence = format!(
        "{}: the gzip data is cut short at byte {}; the lines before it are kept",
        text(&cut),
        gz.len() / 2
    );
    assert_message(&run, 2, &sentence);
    assert!(number(&run, "records") > 1_000, "the lines before the cut are kept");
    let zst = zstd::encode_all(&log[..], 3).expect("zstd");
    let cut = folder.file("cut.log.zst", &zst[..zst.len() / 2]);
    let run = crate::support::run(["report", "--json", text(&cut)]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("the zstd data is cut short at byte"), "{}", run.stderr);
    let mut damaged = gz.clone();
    damaged[gz.len() / 2] ^= 0xFF;
    let damaged = folder.file("damaged.log.gz", &damaged);
    let run = crate::support::run(["report", "--json", text(&damaged)]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("the gzip data is damaged"), "{}", run.stderr);
    assert!(number(&run, "lines") > 0);
}

#[test]
fn a_zstd_bomb_is_one_long_line() {
    let folder = Folder::new();
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("zstd");
    let piece = vec![b'A'; 1 << 20];
    for _ in 0..256 {
        encoder.write_all(&piece).expect("memory");
    }
    encoder.write_all(b"\n").expect("memory");
    encoder.write_all(good().as_bytes()).expect("memory");
    let bomb = folder.file("bomb.zst", &encoder.finish().expect("memory"));
    let run = run([
        "report",
        "--json",
        "-j",
        "1",
        "--memory",
        "1MiB",
        "--format",
        "combined",
        text(&bomb),
    ]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let counts = ["lines", "too_long_lines", "records"].map(|key| number(&run, key));
    assert_eq!(counts, [2, 1, 1]);
    assert_eq!(number(&run, "bytes_read"), (256 << 20) + 1 + good().len() as u64);
}

#[test]
fn values_beyond_the_memory_are_counted_together() {
    let folder = Folder::new();
    let time = "17/Dec/2025:09:00:00 +0000";
    let log: String = (0..40_000)
        .map(|n| line("192.0.2.1", time, &format!("GET /{n:060} HTTP/1.1"), 200, "-"))
        .collect();
    let path = folder.file("many.log", log.as_bytes());
    let run = run(["report", "--json", "--memory", "1MiB", text(&path)]);
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let most = report["unlisted_max"]["path"].as_u64().expect("a bound");
    assert!((1..4_000).contains(&most), "each path came once, but the counters are few: {most}");
    let most = match most {
        0..1_000 => most.to_string(),
        _ => format!("{},{:03}", most / 1_000, most % 1_000),
    };
    let sentence = format!(
        "memory limit reached: values of path first seen after that point are grouped as \
         \"(all other values)\", except frequent ones, whose counts may be lower bounds (≥); any \
         other value has at most this many requests: {most} (path); raise the limit with --memory"
    );
    assert_message(&run, 0, &sentence);
    assert_eq!(report["estimated"], serde_json::json!(["path"]));
    assert_eq!(report["records"], 40_000);
    assert_eq!(report["top"]["path"][0]["remainder"], true);
}

#[test]
fn different_offsets_are_reported() {
    let folder = Folder::new();
    let log = line("::1", "17/Dec/2025:09:00:00 +0100", "GET / HTTP/1.1", 200, "-")
        + &line("::1", "17/Dec/2025:09:00:00 -0330", "GET / HTTP/1.1", 200, "-");
    let path = folder.file("a.log", log.as_bytes());
    assert_message(
        &run(["report", text(&path)]),
        0,
        "the log's times have offsets from -03:30 to +01:00; all are shown in -03:30; choose another zone with --tz",
    );
}

/// Twelve days around the change of the clocks in New York on 13 March 2016, in two files and on
/// standard input, with an error log whose times have no zone.
#[test]
fn a_log_across_a_change_of_the_clocks_has_the_days_of_its_lines() {
    let mut days = std::collections::BTreeMap::<u32, u64>::new();
    let mut line_at = |day: u32, hour: u32| {
        *days.entry(day).or_default() += 1;
        let offset = if (day, hour) < (13, 3) { "-0500" } else { "-0400" };
        line(
            "::1",
            &format!("{day:02}/Mar/2016:{hour:02}:30:00 {offset}"),
            "GET / HTTP/1.1",
            200,
            "-",
        )
    };
    let hours = (7..19).flat_map(|day| (0..24).map(move |hour| (day, hour)));
    let lines: Vec<String> =
        hours.filter(|hour| *hour != (13, 2)).map(|(day, hour)| line_at(day, hour)).collect();
    let folder = Folder::new();
    let (first, second) = lines.split_at(100);
    let first = folder.file("a.log", first.concat().as_bytes());
    let second = folder.file("b.log", second.concat().as_bytes());
    let errors =
        "2016/03/13 04:00:00 [error] 7#7: *1 connect() failed, client: 192.0.2.1, server: a\n";
    let errors = folder.file("error.log", errors.as_bytes());
    let by_day = |arguments: &[&str]| {
        let run = run([&["report", "--json", "--buckets", "12"], arguments].concat());
        let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
        let buckets = report["histogram"]["buckets"].as_array().expect("buckets").clone();
        let counts = buckets.iter().map(|bucket| {
            let day = bucket["start"].as_str().expect("a time")[8..10].parse().expect("a day");
            (day, bucket["count"].as_u64().expect("a count"))
        });
        (counts.collect::<std::collections::BTreeMap<u32, u64>>(), report, run.stderr)
    };
    let (first, second, errors) = (text(&first), text(&second), text(&errors));
    for arguments in [&[first, second][..], &[second, errors, first]] {
        let (counts, report, said) = by_day(arguments);
        assert_eq!(counts, days, "{said}");
        assert_eq!(report["time"]["zone"], "America/New_York");
        assert_eq!(report["time"]["offsets"], serde_json::json!(["-05:00", "-04:00"]));
        assert!(said.contains("-05:00 and -04:00, are those of America/New_York"), "{said}");
    }
    // A day is one of the log.
    let (_, day, _) = by_day(&["--since", "2016-03-13", "--until", "2016-03-13", first, second]);
    assert_eq!(day["matching"], 23);
    let (counts, report, said) = by_day(&["--tz", "UTC", first, second]);
    assert_ne!(counts, days);
    assert_eq!(report["time"]["zone"], "UTC");
    assert!(said.contains("all are shown in UTC"), "{said}");
    let (counts, report, said) = by_day(&[first]);
    assert_eq!((counts.len(), said.as_str()), (5, ""));
    assert!(report["time"].get("offsets").is_none(), "{report}");
}

#[test]
fn invalid_arguments_are_refused() {
    let path = fixtures::elastic_near_8899();
    let path = text(&path);
    let report = |arguments: &[&str]| run([&["report"], arguments, &[path]].concat());
    assert_message(
        &report(&["--tz", "Europe/Atlantis"]),
        2,
        "--tz: `Europe/Atlantis` is not a known time zone; use an IANA name such as Europe/Zurich, UTC, local, or an offset such as +02:00",
    );
    assert_message(
        &report(&["--memory", "1KiB"]),
        2,
        "--memory: 1KiB is too small; write 1MiB or more",
    );
    assert_message(
        &report(&["--memory", "much"]),
        2,
        "--memory: `much` is not a valid size; write it as 500, 10kB, 512MiB or 2G",
    );
    assert_message(
        &report(&["--since", "2025-12-18", "--until", "2025-12-16"]),
        2,
        "--since 2025-12-18 is not before --until 2025-12-16; set an earlier --since",
    );
    assert_message(
        &report(&["--since", "1h", "--until", "2h"]),
        2,
        "--since 1h is not before --until 2h; set an earlier --since",
    );
    assert_message(
        &report(&["--since", "tomorrowish"]),
        2,
        "--since: `tomorrowish` is not a valid time; write it as 2025-12-17, yesterday, 2025-12-17T09:03:01+01:00, 17/Dec/2025:09:03:01 +0100 or 30min for 30 minutes ago",
    );
    assert_message(
        &report(&["--where", "time>tomorrowish"]),
        2,
        "--where: `tomorrowish` is not a valid time; write it as 2025-12-17, yesterday, 2025-12-17T09:03:01+01:00, 17/Dec/2025:09:03:01 +0100 or 30min for 30 minutes ago\n  time>tomorrowish\n       ^^^^^^^^^^^",
    );
    assert_message(
        &report(&["--where", "status"]),
        2,
        "--where: `status` is a field; write status=404, or \"status\" to search for the text\n  status\n  ^^^^^^",
    );
    assert_message(
        &report(&["--where", "bytes>x"]),
        2,
        "--where: `x` is not a valid size; write it as 500, 10kB, 512MiB or 2G\n  bytes>x\n        ^",
    );
    let regex = report(&["--where", "path~("]);
    assert_eq!(regex.code, 2);
    assert!(regex.stderr.contains("unclosed group"), "{}", regex.stderr);
    let fields = "client, user, time, method, path, query, protocol, status, bytes, referer, user_agent, request";
    let unknown = report(&["--where", "colour=red"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (2, ""));
    assert!(
        unknown.stderr.starts_with("weir: --where: the log has no field `colour`; it has "),
        "{}",
        unknown.stderr
    );
    for field in fields.split(", ") {
        assert!(unknown.stderr.contains(field), "{field} in {}", unknown.stderr);
    }
    assert_eq!(report(&["--where", "request_time>1"]).code, 2, "a known field that this log lacks");
    assert!(report(&["--stack", "colour"]).stderr.contains("--stack: the log has no field"));
    assert_message(
        &run(["report", "-", "-"]),
        2,
        "`-` is named twice, but standard input can be read only once; name it once",
    );
    for arguments in [&["--jobs", "0"][..], &["--top", "-1"], &["--nonsense"], &["--buckets", "1"]]
    {
        assert_eq!(report(arguments).code, 2, "{arguments:?}");
    }
    assert_message(
        &run(["demo", "--shape", "round"]),
        2,
        "--shape: `round` is not a known shape; use one of combined, many-agents, empty-lines, one-line, long-lines, nul-run, every-second",
    );
    assert_message(
        &run(["--no-open", "--tz", "Nowhere"]),
        2,
        "--tz: `Nowhere` is not a known time zone; use an IANA name such as Europe/Zurich, UTC, local, or an offset such as +02:00",
    );
}

#[test]
fn the_error_in_a_definition_is_marked() {
    let run = run(["report", "--format", "$remote_addr ${status", "-"]);
    assert_eq!(run.code, 2);
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert!(lines[0].starts_with("weir: format, character 14: "), "{}", run.stderr);
    assert_eq!(lines[1..], ["  $remote_addr ${status", "               ^"]);
}

#[test]
fn a_condition_that_no_request_meets_is_reported() {
    let run = run_with_stdin(["report", "--where", "status=999"], good().as_bytes());
    assert_message(
        &run,
        0,
        "the only request does not meet the conditions; the log runs from 2025-12-17 09:00:00 to \
         2025-12-17 09:00:00, times in UTC",
    );
    assert!(run.stdout.contains("0 of 1 match the filter"), "{}", run.stdout);
}

#[test]
fn a_broken_pipe_ends_quietly() {
    let path = fixtures::elastic_first_2000();
    let mut command = weir(["report", "--json", "--top", "100000", text(&path)]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    // The reader closes the pipe.
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let path = fixtures::elastic_first_2000();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let run = finish(weir(["report", text(&path)]).stdout(full));
    assert_eq!(run.code, 2);
    assert!(run.stderr.starts_with("weir: standard output: cannot be written"), "{}", run.stderr);
}
