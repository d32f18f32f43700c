//! `--admin`: the metrics of the running binary, beside its report.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::gateway::{TIMEOUT, backend};
use crate::support::{Folder, Served, finish, generated, page, report, run, text, weir};

/// A server with an admin address. It is killed when the test ends.
pub(crate) struct Watched {
    #[expect(dead_code, reason = "killed when it is dropped")]
    served: Served,
    /// The host and the port of the address.
    pub(crate) admin: String,
    /// The lines on standard error before the admin address.
    said: Vec<String>,
    /// The lines on standard error after the admin address.
    lines: Receiver<String>,
    /// The address of the page.
    pub(crate) page: String,
}

impl Watched {
    /// Starts a command, if the first word is one, with these arguments.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[])
    }

    /// Starts it with more variables of its environment.
    pub(crate) fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let common = ["--no-open", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
        let is_command = ["gateway", "listen"].contains(&arguments[0]);
        let (command, rest) = arguments.split_at(usize::from(is_command));
        let mut command = weir([command, &common, rest].concat());
        command.envs(environment.iter().copied());
        let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut served = Served(started.expect("it starts"));
        let stderr = served.0.stderr.take().expect("a pipe");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                // The test needs no more than the first lines.
                let _ = sender.send(line);
            }
        });
        let mut said = Vec::new();
        let admin = loop {
            let line = lines.recv_timeout(TIMEOUT).unwrap_or_else(|_| panic!("{said:?}"));
            if let Some(address) = line.strip_prefix("weir: a look inside at http://") {
                break address.to_owned();
            }
            said.push(line);
        };
        let page = page(&mut served.0);
        Self { served, admin, said, lines, page }
    }

    /// Waits for a line on standard error that has these words.
    pub(crate) fn hear(&self, words: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(TIMEOUT);
            let line = line.unwrap_or_else(|_| panic!("no `{words}` on standard error"));
            if line.contains(words) {
                return line;
            }
        }
    }

    /// The lines on standard error that nobody has heard.
    pub(crate) fn said_since(&self) -> Vec<String> {
        self.lines.try_iter().collect()
    }

    /// The rest of the line that begins with these words.
    pub(crate) fn heard(&self, words: &str) -> &str {
        let found = self.said.iter().find_map(|line| line.strip_prefix(words));
        found.unwrap_or_else(|| panic!("no `{words}` in {:?}", self.said))
    }

    pub(crate) fn metrics(&self, accept: &str) -> String {
        let answer = get(&self.admin, "/metrics", &format!("Accept: {accept}\r\n"));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer.split_once("\r\n\r\n").expect("a body").1.to_owned()
    }

    /// Waits until a sample has this value. Returns the metrics with that value.
    pub(crate) fn wait_for(&self, sample: &str, expected: f64) -> String {
        let start = Instant::now();
        loop {
            let text = self.metrics("*/*");
            if find(&text, sample) == Some(expected) {
                return text;
            }
            assert!(start.elapsed() < TIMEOUT, "no `{sample} {expected}` in\n{text}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

pub(crate) fn get(host: &str, path: &str, fields: &str) -> String {
    let mut stream = TcpStream::connect(host).expect("it accepts");
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{fields}\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

fn find(text: &str, sample: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '))?;
    Some(line.parse().expect("a number"))
}

/// The value of a sample, which must be there.
#[track_caller]
pub(crate) fn value(text: &str, sample: &str) -> f64 {
    find(text, sample).unwrap_or_else(|| panic!("no {sample} in\n{text}"))
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// A name that both formats escape, as it is written in the text.
const BACKEND: &str = "o\\\"n\\\\e";

/// A gateway that was asked for three good answers, a path that has no route, and a server that
/// does not answer.
fn asked_gateway(folder: &Folder) -> Watched {
    let config = format!(
        "listen = [\"127.0.0.1:0\"]\ntrace_context = \"forward\"\nrecord = [\"trace_id\"]\n\
         [backends.\"{BACKEND}\"]\ninstances = [\"http://{}\"]\n\
         [backends.two]\ninstances = [\"http://127.0.0.1:1\"]\n\
         [[routes]]\npath = \"/one\"\nbackend = \"{BACKEND}\"\n\
         [[routes]]\npath = \"/two\"\nbackend = \"two\"\n",
        backend("one")
    );
    let path = folder.file("gateway.toml", config.as_bytes());
    let watched = Watched::start(&["gateway", text(&path)]);
    let gateway = watched.heard("weir: answering at tcp://");
    let trace = format!("traceparent: 00-{TRACE}-b7ad6b7169203331-01\r\n");
    for (path, status) in
        [("/one", 200), ("/one/a", 200), ("/one/b", 200), ("/nothing", 404), ("/two", 502)]
    {
        let answer = get(gateway, path, &trace);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    }
    watched
}

/// The counts of a list of a report, by their values.
pub(crate) fn counts(report: &Value, field: &str) -> Vec<(String, f64)> {
    let rows = report["top"][field].as_array().expect("a list").iter();
    rows.map(|row| {
        let name = row["value"].as_str().expect("text").to_owned();
        (name, row["count"].as_f64().expect("a number"))
    })
    .collect()
}

#[test]
fn the_numbers_of_the_gateway_are_those_of_its_report() {
    let folder = Folder::new();
    let watched = asked_gateway(&folder);
    let text = watched.wait_for("weir_read_records_total", 5.0);
    let duration = "weir_gateway_request_duration_seconds";
    let answered = format!("{{backend=\"{BACKEND}\",status=\"2xx\"}}");
    assert_eq!(value(&text, &format!("{duration}_count{answered}")), 3.0);
    let broken = "{backend=\"two\",status=\"5xx\"}";
    assert_eq!(value(&text, &format!("{duration}_count{broken}")), 1.0);
    let last = format!("{duration}_bucket{{backend=\"two\",status=\"5xx\",le=\"+Inf\"}}");
    assert_eq!(value(&text, &last), 1.0);
    let unanswered = "weir_gateway_unanswered_requests_total";
    for outcome in ["no_route", "backend_connect"] {
        let sample = format!("{unanswered}{{outcome=\"{outcome}\"}}");
        assert_eq!(value(&text, &sample), 1.0);
    }
    let parts = ["wait", "header", "body"].map(|part| {
        let labels = format!("{{backend=\"{BACKEND}\",part=\"{part}\"}}");
        value(&text, &format!("weir_gateway_request_part_seconds_total{labels}"))
    });
    let sum = value(&text, &format!("{duration}_sum{answered}"));
    assert!((sum - parts.iter().sum::<f64>()).abs() < 1e-6, "{sum} {parts:?}");
    let server =
        |backend: &str, address: &str| format!("{{backend=\"{backend}\",server=\"{address}\"}}");
    let idle = format!("weir_gateway_server_requests{}", server("two", "127.0.0.1:1"));
    assert_eq!(value(&text, &idle), 0.0);

    let report = report(&watched.page);
    assert_eq!(report["records"], 5);
    assert_eq!(report["bytes_read"].as_f64(), Some(value(&text, "weir_read_bytes_total")));
    let source = "{number=\"0\",source=\"gateway\"}";
    for (metric, member) in [
        ("weir_source_read_bytes_total", "bytes_read"),
        ("weir_source_read_records_total", "records"),
    ] {
        let own = value(&text, &format!("{metric}{source}"));
        assert_eq!(report[member].as_f64(), Some(own), "{metric}");
    }
    // The report also has the request without a route, which the histogram lacks.
    let statuses: Vec<(String, f64)> = counts(&report, "status");
    assert_eq!(
        statuses,
        [("200".to_owned(), 3.0), ("404".to_owned(), 1.0), ("502".to_owned(), 1.0)]
    );
}

#[test]
fn requests_with_a_trace_are_exemplars() {
    let folder = Folder::new();
    let watched = asked_gateway(&folder);
    watched.wait_for("weir_read_records_total", 5.0);
    let text = watched.metrics("application/openmetrics-text; version=1.0.0");
    let exemplars: Vec<&str> = text.lines().filter(|line| line.contains(" # {")).collect();
    assert!(!exemplars.is_empty(), "{text}");
    for line in &exemplars {
        assert!(line.starts_with("weir_gateway_request_duration_seconds_bucket{"), "{line}");
        assert!(line.contains(&format!(" # {{trace_id=\"{TRACE}\"}} ")), "{line}");
    }
    assert!(!watched.metrics("text/plain").contains(" # {"), "the format has none");
}

#[test]
fn the_numbers_of_a_log_are_those_of_its_report() {
    let folder = Folder::new();
    let log = generated(3 << 20);
    let path = folder.file("access\".log", &log);
    let watched = Watched::start(&[text(&path)]);
    let text = watched.wait_for("weir_read_bytes_total", log.len() as f64);
    let report = report(&watched.page);
    let name = path.to_string_lossy().replace('"', "\\\"");
    let source = format!("{{number=\"0\",source=\"{name}\"}}");
    for (metric, member) in [
        ("read_bytes_total", "bytes_read"),
        ("read_lines_total", "lines"),
        ("read_records_total", "records"),
        ("unparsed_lines_total", "unparsed_lines"),
    ] {
        let expected = report[member].as_f64();
        assert!(expected.is_some_and(|number| number > 0.0), "{member}");
        assert_eq!(Some(value(&text, &format!("weir_{metric}"))), expected, "{metric}");
        let own = value(&text, &format!("weir_source_{metric}{source}"));
        assert_eq!(Some(own), expected, "{metric}");
    }
    assert_eq!(value(&text, "weir_sessions"), 1.0);
    let build = format!("weir_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(value(&text, &build), 1.0);
}

#[test]
fn a_feed_counts_what_it_receives() {
    let watched = Watched::start(&["listen", "127.0.0.1:0"]);
    let listener = watched.heard("weir: listening at ").to_owned();
    let lines = generated(100_000);
    let host = listener.strip_prefix("tcp://").expect("TCP");
    let mut sender = TcpStream::connect(host).expect("it accepts");
    sender.write_all(&lines).expect("it reads");
    drop(sender);
    let received = format!("weir_feed_received_bytes_total{{listener=\"{listener}\"}}");
    let text = watched.wait_for(&received, lines.len() as f64);
    let connections = format!("weir_feed_accepted_connections_total{{listener=\"{listener}\"}}");
    assert_eq!(value(&text, &connections), 1.0);
    watched.wait_for("weir_read_bytes_total", lines.len() as f64);
}

#[test]
fn the_route_has_the_numbers_of_the_report() {
    let folder = Folder::new();
    let log = generated(3 << 20);
    let path = folder.file("\x1b[2Jaccess.log", &log);
    let watched = Watched::start(&[text(&path)]);
    watched.wait_for("weir_read_bytes_total", log.len() as f64);
    let answer = get(&watched.admin, "/route.json", "");
    let route: Value =
        serde_json::from_str(answer.split_once("\r\n\r\n").expect("a body").1).expect("JSON");
    let report = report(&watched.page);
    let stages = route["stages"].as_array().expect("stages");
    let stage = |kind: &str| {
        let found = stages.iter().find(|stage| stage["stage"] == kind);
        found.unwrap_or_else(|| panic!("no {kind} in {route}"))
    };
    for kind in ["source", "parse"] {
        assert_eq!(stage(kind)["bytes"], report["bytes_read"], "{kind}");
        assert_eq!(stage(kind)["records"], report["records"], "{kind}");
        assert!(stage(kind)["bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{kind}");
    }
    assert_eq!(stage("append")["records"], report["records"]);
    assert!(stage("parse")["busy"].as_f64().is_some_and(|busy| busy > 0.0), "{route}");
    assert_eq!(stage("queue")["held_bytes"], 0, "{route}");

    // Without a width, so that names are not cut to fit a terminal.
    let top = finish(weir(["top", "--admin", &watched.admin]).env_remove("COLUMNS"));
    assert_eq!(top.code, 0, "{}", top.stderr);
    assert!(top.stdout.starts_with("Nothing flows at the moment.\n"), "{}", top.stdout);
    assert!(top.stdout.contains("\\x1b[2Jaccess.log") && !top.stdout.contains('\x1b'));
    for kind in ["source", "queue", "parse", "append", "data"] {
        let has_line = top.stdout.lines().any(|line| line.trim_start().starts_with(kind));
        assert!(has_line, "{kind}: {}", top.stdout);
    }
    // Its own request is a task of the program.
    for (start, busy) in [("admin connection  127.0.0.1:", "%"), ("weir-parse-0", "%")] {
        let has_line =
            top.stdout.lines().any(|it| it.trim_start().starts_with(start) && it.contains(busy));
        assert!(has_line, "{start}: {}", top.stdout);
    }
    let unreachable = run(["top", "--admin", "127.0.0.1:1"]);
    assert_eq!(unreachable.code, 2);
    assert!(
        unreachable.stderr.contains("tcp://127.0.0.1:1: it cannot be reached"),
        "{}",
        unreachable.stderr
    );
}

#[test]
fn the_route_of_a_gateway_shows_where_requests_wait() {
    let folder = Folder::new();
    let watched = asked_gateway(&folder);
    watched.wait_for("weir_read_records_total", 5.0);
    let answer = get(&watched.admin, "/route.json", "");
    let route: Value =
        serde_json::from_str(answer.split_once("\r\n\r\n").expect("a body").1).expect("JSON");
    for (kind, name, requests) in
        [("gateway", "two", 1), ("backend", "o\"n\\e", 3), ("client", "o\"n\\e", 3)]
    {
        let stages = route["stages"].as_array().expect("stages");
        let stage = stages.iter().find(|it| it["stage"] == kind && it["name"] == name);
        let stage = stage.unwrap_or_else(|| panic!("no {kind} {name} in {route}"));
        assert_eq!(stage["records"], requests, "{route}");
    }
}

#[test]
fn addresses_that_others_could_reach_are_refused() {
    for (address, reason) in [
        ("0.0.0.0:9000", "`0.0.0.0:9000` is an address that other machines could reach"),
        ("logs.example:9000", "`logs.example:9000` is not a valid address"),
    ] {
        let refused = run(["--no-open", "--admin", address]);
        assert_eq!(refused.code, 2);
        assert!(refused.stderr.contains(reason), "{}", refused.stderr);
        let remedy = "localhost:PORT, 127.0.0.1:PORT, [::1]:PORT or unix:PATH";
        assert!(refused.stderr.contains(remedy), "{}", refused.stderr);
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let refused = run(["--no-open", "--listen", "127.0.0.1:0", "--admin", &address]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("--admin: "), "{}", refused.stderr);
}

/// Reads a text on its standard input, checks it, and prints each sample as JSON.
const PARSER: &str = r#"
import json, sys
if sys.argv[1] == "open":
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
else:
    from prometheus_client.parser import text_string_to_metric_families
for family in text_string_to_metric_families(sys.stdin.read()):
    for sample in family.samples:
        exemplar = getattr(sample, "exemplar", None)
        print(json.dumps({
            "type": family.type, "unit": family.unit, "name": sample.name, "labels": sample.labels,
            "value": sample.value, "trace": exemplar.labels["trace_id"] if exemplar else None,
        }))
"#;

pub(crate) fn parsed(python: &str, form: &str, text: &str) -> Vec<Value> {
    let mut command = Command::new(python);
    command.args(["-c", PARSER, form]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("Python runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(text.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{form}: {text}");
    let lines = String::from_utf8(output.stdout).expect("UTF-8");
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
#[ignore = "needs prometheus_client; `cargo xtask test` runs it"]
fn the_parser_of_prometheus_reads_both_formats() {
    let python = std::env::var("PROMETHEUS_PYTHON");
    let python = python.expect("PROMETHEUS_PYTHON names a Python with prometheus_client");
    let folder = Folder::new();
    let watched = asked_gateway(&folder);
    watched.wait_for("weir_read_records_total", 5.0);
    for (form, accept) in [("plain", "text/plain"), ("open", "application/openmetrics-text")] {
        let samples = parsed(&python, form, &watched.metrics(accept));
        let find = |name: &str, label: (&str, &str)| {
            let has = |it: &&Value| it["name"] == name && it["labels"][label.0] == label.1;
            samples.iter().find(has).unwrap_or_else(|| panic!("{form}: {name} {label:?}"))
        };
        let count = find("weir_gateway_request_duration_seconds_count", ("backend", "o\"n\\e"));
        assert_eq!((count["value"].as_f64(), &count["type"]), (Some(3.0), &"histogram".into()));
        let routes = find("weir_gateway_unanswered_requests_total", ("outcome", "no_route"));
        assert_eq!((routes["value"].as_f64(), &routes["type"]), (Some(1.0), &"counter".into()));
        let has_trace = samples.iter().any(|it| it["trace"] == TRACE);
        assert_eq!(has_trace, form == "open", "{form}");
        let unit = if form == "open" { "seconds" } else { "" };
        assert_eq!(count["unit"], unit);
    }
}
