//! Detection, the known formats' sample lines, and real logs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::format_support::{answer, catalog, check_cases, check_text, fields, golden, outcome};
use weir_core::{
    Candidate, FollowedFormat, LineParser, Lines, Record, detect, detect_format, format_by_name,
    format_notes, known_formats, try_format,
};
use weir_testkit::fixtures;

#[test]
fn golden_cases() {
    check_cases(&golden("detect.txt"));
}

#[test]
fn every_known_format_has_samples_that_fit_and_samples_that_do_not() {
    let files = catalog();
    assert_eq!(files.len(), known_formats().len());
    for path in files {
        check_cases(&path);
        let text = answer(&std::fs::read_to_string(&path).unwrap());
        let name = text.lines().find_map(|line| line.strip_prefix("name: ")).unwrap();
        let format = format_by_name(name).unwrap();
        let count = |prefix: &str| text.lines().filter(|line| line.starts_with(prefix)).count();
        assert!(count("  mismatch ") > 0, "{}", path.display());
        // The samples of W3C are whole logs, because a line needs its directives.
        assert!(name == "W3C" || count("line: ") > count("  mismatch "), "{}", path.display());
        let mut parsed = 0;
        for line in text.lines().filter_map(|line| line.strip_prefix("line: ")) {
            let mut parser = LineParser::new(Arc::new(format.clone()));
            if parser.parse(line.as_bytes(), &mut Record::new()).is_err() {
                continue;
            }
            parsed += 1;
            let detection = detect(line.as_bytes());
            let detected = detection.best().unwrap().format.name();
            assert_eq!(detected == name, is_detected(name), "{line}: {detected}");
        }
        assert!(name == "W3C" || parsed > 0);
    }
    assert!(detect(b"").best().is_none());
}

/// Whether detection tries the format.
fn is_detected(name: &str) -> bool {
    format_notes().iter().any(|notes| notes.name == name && notes.is_detected)
}

/// Every line of the collection of odd lines with its outcome: the format detected in this line
/// alone and the fields, or why COMBINED does not match.
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
    assert_eq!(number, 265);
    check_text(&golden("dirt.txt"), &out);
}

/// The numbers of the lines of a log that do not match its detected format, which is `expected`.
fn unparsed_lines(path: &Path, expected: &str) -> Vec<u64> {
    let bytes = std::fs::read(path).unwrap();
    let detection = detect(&bytes);
    let best = detection.best().unwrap_or_else(|| panic!("{}: no format fits", path.display()));
    assert_eq!(best.format.name(), expected, "{}", path.display());
    let mut followed = FollowedFormat::new(Arc::clone(&best.format));
    let mut parser = LineParser::new(Arc::clone(&best.format));
    let mut unparsed_lines = Vec::new();
    for (line, number) in Lines::new(&bytes).zip(1..) {
        if followed.follow(line.bytes) {
            parser = LineParser::new(Arc::clone(followed.format()));
        }
        let is_directive = parser.read_directive(line.bytes);
        if !is_directive && parser.parse(line.bytes, &mut Record::new()).is_err() {
            unparsed_lines.push(number);
        }
    }
    unparsed_lines
}

fn all_fit(paths: &[PathBuf], expected: &str) {
    assert!(!paths.is_empty());
    for path in paths {
        assert_eq!(unparsed_lines(path, expected), [0u64; 0], "{}", path.display());
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
    // A closing quote is missing; identity and user are missing.
    assert_eq!(unparsed_lines(&fixtures::elastic_near_8899(), "COMBINED"), [20]);
    assert_eq!(unparsed_lines(&fixtures::bad_access_log(), "COMBINED"), [2]);
    // The first file has the prefix of docker compose.
    let caddy = fixtures::caddy();
    all_fit(&caddy[1..], "CADDY");
    let best = detect(&std::fs::read(&caddy[0]).unwrap()).best().unwrap().clone();
    assert_eq!((best.format.name(), best.parsed_lines), ("CADDY after container", 4));
    for path in [&fixtures::crlf(), &fixtures::invalid_utf8()] {
        assert!(detect(&std::fs::read(path).unwrap()).best().is_none(), "{}", path.display());
    }
}

#[test]
fn only_the_first_lines_are_read_and_very_long_ones_skipped() {
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

#[test]
fn the_best_format_is_the_one_that_reads_most_of_all_lines() {
    let logs = [
        fixtures::nginx_combined(),
        fixtures::apache_combined(),
        fixtures::apache_common(),
        fixtures::apache_vhost(),
        vec![fixtures::shop_first_300(), fixtures::elastic_first_2000()],
    ];
    let mut long_logs = 0;
    for path in logs.concat() {
        let bytes = std::fs::read(&path).unwrap();
        let best = detect(&bytes).candidates.swap_remove(0);
        long_logs += usize::from(best.lines > 64);
        // Of formats with equally many fields the first is best; `max_by_key` returns the last.
        // Requests with whole URLs count only if most lines have them.
        let needs_evidence = |name: &str| ["VARNISHNCSA", "PROXYCOMMON"].contains(&name);
        let is_tried = |name: &str| is_detected(name) && !needs_evidence(name);
        let tried = known_formats().iter().rev().filter(|format| is_tried(format.name()));
        let most = tried.map(|format| try_format(format, &bytes)).max_by_key(|one| one.fields);
        let most = most.unwrap();
        let of = |one: &Candidate| (one.format.name().to_owned(), one.parsed_lines, one.fields);
        assert_eq!(of(&best), of(&most), "{}", path.display());
    }
    assert!(long_logs > 2, "{long_logs}");
}

#[test]
fn a_format_without_a_line_in_a_good_start_is_not_tried_with_more() {
    let common = "192.0.2.1 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 5\n";
    let combined = common.replace('\n', " \"-\" \"curl/8\"\n");
    let lines = |log: &str| {
        let candidates = detect(log.as_bytes()).candidates;
        ["COMMON", "COMBINED"].map(|name| {
            let candidate = candidates.iter().find(|one| one.format.name() == name).unwrap();
            (candidate.lines, candidate.parsed_lines)
        })
    };
    let log = common.repeat(64) + &combined.repeat(36);
    assert_eq!(lines(&log), [(100, 64), (64, 0)]);
    let log = common.repeat(63) + &combined.repeat(37);
    assert_eq!(lines(&log), [(100, 63), (100, 37)]);
    let log = format!("broken\n{log}");
    assert_eq!(lines(&log), [(101, 63), (101, 37)]);
}

/// The larger collection of logs next to the repository, if it is there.
#[test]
fn larger_collection_if_present() {
    let logs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/logs");
    if !logs.is_dir() {
        println!("skipped: there is no ../shared/logs");
        return;
    }
    let elastic = logs.join("apache-combined/elastic-10k.log");
    assert_eq!(unparsed_lines(&elastic, "COMBINED"), [8899]);
    all_fit(&[logs.join("attacks/hackers-access.log")], "COMBINED");
    all_fit(&[logs.join("w3c-and-json/logfile_shop_access_log.0")], "MAIN");
    let days: Vec<PathBuf> = std::fs::read_dir(logs.join("nginx-combined"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    all_fit(&days, "COMBINED");
    let errors = std::fs::read_dir(logs.join("nginx-error")).unwrap();
    let errors: Vec<PathBuf> = errors.map(|entry| entry.unwrap().path()).collect();
    all_fit(&errors, "NGINXERROR");
    all_fit(&[logs.join("crowdsec/logs/aws-alb-http-bad-user-agent.log")], "AWSALB");
    all_fit(&[logs.join("crowdsec/logs/traefik_base-http-scenario.log")], "TRAEFIK");
    // Line 3 is empty.
    assert_eq!(
        unparsed_lines(&logs.join("crowdsec/logs/modsecurity-nginx.log"), "NGINXERROR"),
        [3]
    );
}

#[test]
fn real_logs_of_other_servers_are_detected() {
    for (path, name, numbers) in [
        ("aws/alb_valid.log", "AWSALB", &[][..]),
        ("aws/s3_access_multi.log", "AWSS3", &[]),
        ("aws/waf_multi.jsonl", "AWSWAF", &[]),
        ("w3c-and-json/logfile_cloudflare.json", "CLOUDFLARE", &[]),
        // Other messages of HAProxy, and a failed handshake.
        ("w3c-and-json/logfile_haproxy.0", "HAPROXY in SYSLOG", &[1, 2, 3, 14]),
        ("nginx-error/meatlabel.app.error.log-20251220", "NGINXERROR", &[]),
        ("nginx-error/meatlabel.app.error.log-20251221", "NGINXERROR", &[]),
        ("firewall/iptables-scan-multi-port.log", "FIREWALL", &[]),
        ("firewall/ufw-first.log", "FIREWALL", &[]),
        ("iis/u_ex100815.log", "W3C", &[]),
        ("iis/u_ex160110.log", "W3C", &[]),
        ("iis/ex960101.log", "W3C", &[]),
        // The last value is missing.
        ("iis/ex031118.log", "W3C", &[7]),
        // An empty line after the directives.
        ("iis/pf040903.log", "W3C", &[5]),
        ("w3c-and-json/logfile_w3c.0", "W3C", &[]),
        ("w3c-and-json/logfile_w3c.1", "W3C", &[]),
        ("w3c-and-json/logfile_w3c.2", "W3C", &[]),
        // Empty lines between the directives.
        ("w3c-and-json/logfile_w3c.3", "W3C", &[2, 4, 6]),
        ("w3c-and-json/logfile_w3c.4", "W3C", &[]),
        // More values than fields.
        ("w3c-and-json/logfile_w3c.5", "W3C", &[2]),
        ("w3c-and-json/logfile_w3c.6", "W3C", &[]),
        ("w3c-and-json/logfile_w3c_big.0", "W3C", &[]),
    ] {
        assert_eq!(unparsed_lines(&fixtures::file(path), name), numbers, "{path}");
    }
    // The old format of IIS is not known.
    assert!(detect(&std::fs::read(fixtures::file("iis/ex010320.log")).unwrap()).best().is_none());
}

/// The logs of AWS have the fields that the tests of the OpenTelemetry collector expect.
#[test]
fn fields_of_aws_are_those_of_open_telemetry() {
    let expected = std::fs::read_to_string(fixtures::file("aws/expect.jsonl")).unwrap();
    for case in expected.lines() {
        let case: serde_json::Value = serde_json::from_str(case).unwrap();
        let path = fixtures::file("aws").join(case["file"].as_str().unwrap());
        let log = std::fs::read(path).unwrap();
        let number = case["line"].as_u64().unwrap() as usize;
        let line = Lines::new(&log).nth(number - 1).unwrap().bytes;
        let format = Arc::clone(&detect(&log).best().unwrap().format);
        let mut parser = LineParser::new(Arc::clone(&format));
        let mut record = Record::new();
        parser.parse(line, &mut record).unwrap();
        let fields: BTreeMap<String, String> = fields(&format, &record).into_iter().collect();
        let seconds = |name: &str| fields[name].parse::<f64>().unwrap();
        for (name, value) in case.as_object().unwrap() {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let found = match name.as_str() {
                "file" | "line" | "note" => continue,
                "unix_ns" => record.time.unwrap().unix_ns.to_string(),
                "url" => format!("https://{}:443{}", fields["host"], fields["path"]),
                "ua" => fields["user_agent"].clone(),
                "tls" => fields["+ssl_protocol"].clone(),
                "cipher" => fields["+ssl_cipher"].clone(),
                "proto" => fields["protocol"].clone(),
                "req_bytes" => fields["+received_bytes"].clone(),
                "resp_bytes" => fields["bytes"].clone(),
                "backend_status" => fields["+target_status_code"].clone(),
                "terminating_rule" => fields["+rule"].clone(),
                "target_processing_time" => seconds("upstream_time").to_string(),
                // These two parts are only in the sum.
                "request_processing_time" | "response_processing_time" => {
                    let parts = ["request_processing_time", "response_processing_time"];
                    let sum: f64 = parts.iter().map(|part| case[*part].as_f64().unwrap()).sum();
                    let rest = seconds("request_time") - seconds("upstream_time");
                    assert!((rest - sum).abs() < 1e-9, "{rest} is not {sum}");
                    continue;
                }
                name => fields.get(name).or(fields.get(&format!("+{name}"))).unwrap().clone(),
            };
            assert_eq!(found, text, "{name}");
        }
    }
}

#[test]
fn the_format_alone_is_that_of_the_detection() {
    let sample = |notes: &weir_core::FormatNotes| notes.sample.join("\n");
    let samples: Vec<String> = format_notes().iter().map(sample).collect();
    let mut texts = samples.clone();
    // Each sample with lines of another format, and with something around it.
    for (one, next) in samples.iter().zip(samples.iter().cycle().skip(7)) {
        texts.push(format!("{one}\n{next}\nsome text\n{one}"));
        texts.push(format!("web-1  | {one} \"more\"\nweb-1  | {one} \"more\""));
        texts.push(serde_json::json!({"app": "web", "message": one}).to_string());
    }
    for text in texts {
        let detection = detect(text.as_bytes());
        let best = detection.best().map(|best| (best.format.name(), best.format.definition()));
        let alone = detect_format(text.as_bytes());
        let alone = alone.as_ref().map(|format| (format.name(), format.definition()));
        assert_eq!(alone, best, "{text}");
    }
}

#[test]
fn lines_whose_ends_were_converted_twice_are_read() {
    let line = "192.0.2.1 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 5";
    for (name, line) in [
        ("COMMON", line.to_owned()),
        ("COMBINED", format!("{line} \"-\" \"curl/8\"")),
        (
            "JSON",
            r#"{"time":"2025-12-17T09:03:01Z","status":200,"remote_addr":"192.0.2.1"}"#.to_owned(),
        ),
    ] {
        let detection = detect(format!("{line}\r\r\n\r\r\n").repeat(2).as_bytes());
        let best = detection.best().unwrap();
        assert_eq!((best.format.name(), best.lines, best.parsed_lines), (name, 2, 2));
    }
}

#[test]
fn empty_lines_before_a_log_are_numbered_and_cost_little() {
    let empty = vec![b'\n'; 1 << 20];
    assert!(detect(&empty).best().is_none());
    let log = [&empty[..3], b"an unparsed line\n\n192.0.2.1 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 10\n"];
    let detection = detect(&log.concat());
    let best = detection.best().expect("a line fits");
    assert_eq!((best.format.name(), best.lines, best.parsed_lines), ("COMMON", 2, 1));
    assert_eq!(best.mismatches[0].line, 4);
    let tried = weir_core::try_format(&best.format, &log.concat());
    let places = |candidate: &Candidate| -> Vec<_> {
        let mismatches = candidate.mismatches.iter();
        mismatches.map(|found| (found.line, found.column, found.reason())).collect()
    };
    assert_eq!(places(best), places(&tried));
}
