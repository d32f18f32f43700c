//! The metrics of the requests in a log, beside its report.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;

use serde_json::Value;

use crate::metrics::{Watched, counts, parsed, value};
use crate::support::{Folder, generated, report, run, text};

/// A line of nginx with the host and the duration of the request, at a minute of an hour.
fn line(minute: u32, method: &str, status: &str, bytes: u64, host: &str, seconds: &str) -> String {
    format!(
        "192.0.2.7 - - [17/Dec/2025:09:{minute:02}:00 +0000] \"{method} /a HTTP/1.1\" {status} {bytes} \"-\" \
         \"curl\" host={host} request_time={seconds}\n"
    )
}

/// Some lines with two hosts.
fn lines(minute: u32) -> String {
    [
        line(minute, "GET", "200", 100, "shop.example", "0.005"),
        line(minute, "GET", "200", 100, "shop.example", "0.006"),
        line(minute, "POST", "503", 7, "shop.example", "12.000"),
        line(minute, "GET", "404", 30, "blog.example", "0.250"),
        line(minute, "PROPFIND", "301", 0, "blog.example", "-"),
    ]
    .concat()
}

fn append(path: &Path, text: &str) {
    let file = OpenOptions::new().append(true).open(path);
    file.expect("a file").write_all(text.as_bytes()).expect("it is written");
}

/// The samples of a metric, by their labels.
fn samples(text: &str, name: &str) -> BTreeMap<String, f64> {
    let of = |line: &str| {
        let (sample, number) = line.rsplit_once(' ')?;
        let labels = sample.strip_prefix(name)?;
        let is_whole = labels.is_empty() || labels.starts_with('{');
        is_whole.then(|| (labels.to_owned(), number.parse().expect("a number")))
    };
    text.lines().filter_map(of).collect()
}

/// The sum of the samples whose labels contain a text.
fn sum(text: &str, name: &str, label: &str) -> f64 {
    samples(text, name).iter().filter(|(labels, _)| labels.contains(label)).map(|it| it.1).sum()
}

/// Compares the metrics without a field with a report over the same records.
#[track_caller]
fn assert_equal(text: &str, report: &Value) {
    let name = "weir_requests_total";
    assert_eq!(report["records"].as_f64(), Some(sum(text, name, "")), "{text}");
    assert_eq!(report["bytes_sent"].as_f64(), Some(value(text, "weir_response_bytes_total")));
    let mut classes: BTreeMap<String, f64> = BTreeMap::new();
    for (status, count) in counts(report, "status") {
        *classes.entry(format!("{}xx", &status[..1])).or_default() += count;
    }
    for (class, count) in classes {
        assert_eq!(sum(text, name, &format!("status=\"{class}\"")), count, "{class}");
    }
    let mut others = report["records"].as_f64().unwrap_or_default();
    for (method, count) in counts(report, "method") {
        if ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"].contains(&&*method) {
            assert_eq!(sum(text, name, &format!("method=\"{method}\"")), count, "{method}");
            others -= count;
        }
    }
    assert_eq!(sum(text, name, "method=\"other\""), others);
}

#[test]
fn the_requests_of_a_log_are_those_of_its_report() {
    let folder = Folder::new();
    let log = generated(3 << 20);
    let path = folder.file("access.log", &log);
    let watched = Watched::start(&["--follow", text(&path)]);
    let report = run(["report", "--json", "--top", "1000", text(&path)]);
    let report: Value = serde_json::from_str(&report.stdout).expect("JSON");
    let bytes = report["bytes_sent"].as_f64().expect("a sum");
    // The counters are there once the file has been read to its end.
    let metrics = watched.wait_for("weir_response_bytes_total", bytes);
    assert_equal(&metrics, &report);
    let durations = samples(&metrics, "weir_request_duration_seconds_count");
    assert!(durations.is_empty(), "the log has none");
}

#[test]
fn counters_grow_while_the_window_slides() {
    let folder = Folder::new();
    let path = folder.file("access.log", lines(0).as_bytes());
    let follow = ["--follow", "--keep", "10m", "--metrics-by", "host", text(&path)];
    let watched = Watched::start(&follow);
    let get = |host: &str| {
        format!("weir_requests_total{{host=\"{host}\",method=\"GET\",status=\"2xx\"}}")
    };
    watched.wait_for(&get("shop.example"), 2.0);
    for minute in 1..=50 {
        append(&path, &lines(minute));
    }
    let text = watched.wait_for(&get("shop.example"), 102.0);
    let kept = report(&watched.page);
    assert!(kept["matching"].as_u64().is_some_and(|records| records < 80), "{kept}");

    let requests = samples(&text, "weir_requests_total");
    let of = |host: &str, method: &str, class: &str| {
        let labels = format!("{{host=\"{host}\",method=\"{method}\",status=\"{class}\"}}");
        requests.get(&labels).copied()
    };
    assert_eq!(of("shop.example", "POST", "5xx"), Some(51.0));
    assert_eq!(of("shop.example", "GET", "5xx"), Some(0.0), "a rate sees the first one");
    assert_eq!(of("blog.example", "GET", "4xx"), Some(51.0));
    assert_eq!(of("blog.example", "other", "3xx"), Some(51.0));
    assert_eq!(of("(others)", "GET", "2xx"), Some(0.0));
    assert_eq!(requests.values().sum::<f64>(), 255.0);
    let bytes = samples(&text, "weir_response_bytes_total");
    assert_eq!(bytes["{host=\"shop.example\"}"], 51.0 * 207.0);

    let duration = "weir_request_duration_seconds";
    let bucket = |host: &str, bound: &str| {
        value(&text, &format!("{duration}_bucket{{host=\"{host}\",le=\"{bound}\"}}"))
    };
    assert_eq!(bucket("shop.example", "0.0025"), 0.0);
    assert_eq!(bucket("shop.example", "0.005"), 51.0, "bounds are included");
    assert_eq!(bucket("shop.example", "0.01"), 102.0);
    assert_eq!(bucket("shop.example", "10.0"), 102.0);
    assert_eq!(bucket("shop.example", "+Inf"), 153.0);
    let of_blog = format!("{duration}_count{{host=\"blog.example\"}}");
    assert_eq!(value(&text, &of_blog), 51.0, "a request without a duration is in no bucket");
    let sum = value(&text, &format!("{duration}_sum{{host=\"shop.example\"}}"));
    assert!((sum - 51.0 * 12.011).abs() < 1e-6, "{sum}");
}

#[test]
fn a_listener_counts_by_source_and_by_status() {
    let watched = Watched::start(&["listen", "--metrics-by", "source", "127.0.0.1:0"]);
    let listener = watched.heard("weir: listening at ").to_owned();
    let host = listener.strip_prefix("tcp://").expect("TCP");
    TcpStream::connect(host).expect("it accepts").write_all(lines(0).as_bytes()).expect("it reads");
    let sample =
        format!("weir_requests_total{{source=\"{listener}\",method=\"GET\",status=\"2xx\"}}");
    watched.wait_for(&sample, 2.0);

    let watched = Watched::start(&["listen", "--metrics-by", "status", "127.0.0.1:0"]);
    let listener = watched.heard("weir: listening at tcp://").to_owned();
    let mut sender = TcpStream::connect(listener).expect("it accepts");
    sender.write_all(lines(0).as_bytes()).expect("it reads");
    watched.wait_for("weir_requests_total{code=\"503\",method=\"POST\",status=\"5xx\"}", 1.0);
}

#[test]
fn a_field_that_no_line_has_is_named_once_there_are_lines() {
    let folder = Folder::new();
    let path = folder.file("access.log", lines(0).as_bytes());
    let watched = Watched::start(&["--follow", "--metrics-by", "hots", text(&path)]);
    let warning = watched.hear("--metrics-by");
    assert!(
        warning.contains("the log has no field `hots`; did you mean `host`? (it has client, ")
            && !warning.contains("bytes")
            && warning.ends_with("Requests are counted without it until one has it"),
        "{warning}"
    );
    // A listener has no line at first, and gets the field later.
    let watched = Watched::start(&["listen", "--metrics-by", "user_agent", "127.0.0.1:0"]);
    let host = watched.heard("weir: listening at tcp://").to_owned();
    let send = |lines: &str| {
        TcpStream::connect(&host)
            .expect("it accepts")
            .write_all(lines.as_bytes())
            .expect("it reads");
    };
    send(&"192.0.2.7 - - [17/Dec/2025:09:00:00 +0000] \"GET /a HTTP/1.1\" 200 100\n".repeat(5));
    let warning = watched.hear("--metrics-by");
    assert!(warning.contains("the log has no field `user_agent`; it has client, "), "{warning}");
    let json = r#"{"time":"2025-12-17T09:00:00Z","method":"GET","path":"/","status":200,"user_agent":"b7"}"#;
    send(&format!("{json}\n").repeat(3));
    watched.wait_for("weir_requests_total{user_agent=\"b7\",method=\"GET\",status=\"2xx\"}", 3.0);
    let without = samples(&watched.metrics("text/plain"), "weir_requests_total");
    assert_eq!(without.values().sum::<f64>(), 8.0, "those without the field are counted too");
}

#[test]
fn a_field_that_lines_have_is_not_warned_of() {
    let folder = Folder::new();
    let path = folder.file("access.log", lines(0).as_bytes());
    for by in ["host", "status", "source"] {
        let watched = Watched::start(&["--follow", "--metrics-by", by, text(&path)]);
        watched.wait_for("weir_read_records_total", 5.0);
        // The warning would come within this time.
        std::thread::sleep(std::time::Duration::from_secs(1));
        assert_eq!(watched.said_since(), [""; 0]);
    }
}

/// A log in JSON whose hosts are what a client may send, and how often each has a request. Also two
/// hosts that are too long and twice as many as have a name of their own.
fn hostile(folder: &Folder) -> (std::path::PathBuf, Vec<(Vec<u8>, u64)>, u64) {
    let line = |host: &[u8]| {
        let before = br#"{"time":"2025-12-17T09:00:00Z","method":"GET","path":"/","status":200,"bytes":1,"host":""#;
        [&before[..], host, b"\"}\n"].concat()
    };
    // As they stand in the log, where a control character is written as an escape.
    let hosts: Vec<(&[u8], &[u8])> = vec![
        (br"a\nb", b"a\nb"),
        (br#"quote\"quote"#, b"quote\"quote"),
        (br"back\\nslash", br"back\nslash"),
        (br"\u001b[2J", b"\x1b[2J"),
        (br"(others)", b"(others)"),
        (b"caf\xc3\xa9", b"caf\xc3\xa9"),
        (b"raw\xff\xfe", b"raw\xff\xfe"),
        (br"} 1\nweir_forged_total 7", b"} 1\nweir_forged_total 7"),
    ];
    let (mut log, mut expected) = (Vec::new(), Vec::new());
    for (times, (written, value)) in (1..).zip(hosts) {
        (0..times).for_each(|_| log.extend(line(written)));
        expected.push((value.to_vec(), times));
    }
    let mut others = 0;
    for long in [256, 100_000] {
        log.extend(line(&vec![b'x'; long]));
        others += 1;
    }
    for number in 0..200 {
        log.extend(line(format!("host{number}").as_bytes()));
        if number < 100 - expected.len() {
            continue;
        }
        others += 1;
    }
    (folder.file("access.log", &log), expected, others)
}

#[test]
fn hostile_values_stay_in_their_labels() {
    let folder = Folder::new();
    let (path, expected, others) = hostile(&folder);
    let watched = Watched::start(&["--follow", "--metrics-by", "host", text(&path)]);
    let other = "weir_requests_total{host=\"(others)\",method=\"GET\",status=\"2xx\"}";
    let text = watched.wait_for(other, others as f64);
    let total: u64 = expected.iter().map(|(_, times)| times).sum::<u64>() + 92 + others;
    assert_eq!(sum(&text, "weir_requests_total", ""), total as f64);
    for (label, times) in [
        (r"a\\nb", 1.0),
        (r#"quote\"quote"#, 2.0),
        (r"back\\x5cnslash", 3.0),
        (r"\\x1b[2J", 4.0),
        (r"\\x28others)", 5.0),
        ("café", 6.0),
        (r"raw\\xff\\xfe", 7.0),
        (r"} 1\\nweir_forged_total 7", 8.0),
    ] {
        let sample =
            format!("weir_requests_total{{host=\"{label}\",method=\"GET\",status=\"2xx\"}}");
        assert_eq!(value(&text, &sample), times);
    }
    assert!(text.lines().all(|line| !line.starts_with("weir_forged")), "{text}");
    assert!(text.bytes().all(|byte| byte == b'\n' || !byte.is_ascii_control()), "{text}");
    let longest = text.lines().filter(|line| line.starts_with("weir_requests")).map(str::len).max();
    assert!(longest.is_some_and(|bytes| bytes < 500), "{longest:?}");
}

#[test]
#[ignore = "needs prometheus_client; `cargo xtask test` runs it"]
fn the_parser_of_prometheus_reads_hostile_values() {
    let python = std::env::var("PROMETHEUS_PYTHON");
    let python = python.expect("PROMETHEUS_PYTHON names a Python with prometheus_client");
    let folder = Folder::new();
    let (path, _, others) = hostile(&folder);
    let watched = Watched::start(&["--follow", "--metrics-by", "host", text(&path)]);
    let other = "weir_requests_total{host=\"(others)\",method=\"GET\",status=\"2xx\"}";
    watched.wait_for(other, others as f64);
    for (form, accept) in [("plain", "text/plain"), ("open", "application/openmetrics-text")] {
        let samples = parsed(&python, form, &watched.metrics(accept));
        let is_get =
            |it: &&Value| it["name"] == "weir_requests_total" && it["labels"]["status"] == "2xx";
        let requests: Vec<_> = samples.iter().filter(is_get).collect();
        assert_eq!(requests.len(), 101, "{form}: a hundred values and the others");
        let of = |host: &str| {
            let found = requests.iter().find(|it| it["labels"]["host"] == host);
            found.and_then(|it| it["value"].as_f64())
        };
        assert_eq!(of("(others)"), Some(others as f64), "{form}");
        assert_eq!(of(r"\x28others)"), Some(5.0), "{form}");
        assert_eq!(of("quote\"quote"), Some(2.0), "{form}");
        assert_eq!(of(r"back\x5cnslash"), Some(3.0), "{form}");
    }
}

#[test]
fn fields_that_cannot_be_labels_are_refused() {
    for (arguments, reason) in [
        (&["--metrics-by", "host"][..], "--admin"),
        (&["--admin", "127.0.0.1:0", "--metrics-by", "method"], "always counted by method"),
        (
            &["--admin", "127.0.0.1:0", "--metrics-by", "bytes"],
            "`bytes` is a number in each request",
        ),
        (&["--admin", "127.0.0.1:0", "--metrics-by", ""], "the name is empty"),
    ] {
        let refused = run([&["listen", "127.0.0.1:0", "--no-open"], arguments].concat());
        assert_eq!(refused.code, 2);
        assert!(refused.stderr.contains(reason), "{}", refused.stderr);
    }
}
