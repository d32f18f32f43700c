//! The set-up of docs/nginx-metrics.md with nginx and Prometheus themselves. `cargo xtask test`
//! installs the one and unpacks the other.

#![cfg(unix)]

use std::io::{BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::gateway::TIMEOUT;
use crate::metrics::{Watched, counts, get};
use crate::nginx::{Nginx, read_response};
use crate::support::{Folder, Served, run, text};

/// The name of the log in the document.
const LOG: &str = "/var/log/nginx/access.log";

/// The blocks of code of the document, by their language.
fn block(language: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/nginx-metrics.md");
    let document = std::fs::read_to_string(path).expect("the document");
    let start = format!("```{language}\n");
    let (_, rest) = document.split_once(&start).unwrap_or_else(|| panic!("no {language}"));
    rest.split_once("```").expect("an end").0.to_owned()
}

/// Prometheus, and its address.
struct Prometheus {
    #[expect(dead_code, reason = "killed when it is dropped")]
    process: Served,
    host: String,
}

impl Prometheus {
    fn program(name: &str) -> PathBuf {
        let root = std::env::var_os("PROMETHEUS_ROOT");
        let root = root.expect("PROMETHEUS_ROOT names the folder of Debian's package");
        Path::new(&root).join("usr/bin").join(name)
    }

    /// Starts it with the configuration of the document and the address of Weir.
    fn start(folder: &Folder, admin: &str) -> Self {
        let scrape = block("yaml").replace("127.0.0.1:9464", admin);
        let configuration = format!("global: {{ scrape_interval: 1s }}\n{scrape}");
        let path = folder.file("prometheus.yml", configuration.as_bytes());
        let check = Command::new(Self::program("promtool"))
            .args(["check", "config", text(&path)])
            .output()
            .expect("promtool runs");
        assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
        // It cannot be told to take any free port.
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let host = free.local_addr().expect("an address").to_string();
        drop(free);
        let process = Command::new(Self::program("prometheus"))
            .arg(format!("--config.file={}", text(&path)))
            .arg(format!("--storage.tsdb.path={}", text(&folder.path("data"))))
            .arg(format!("--web.listen-address={host}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it runs");
        let prometheus = Self { process: Served(process), host };
        let start = Instant::now();
        let is_ready = || {
            std::net::TcpStream::connect(&prometheus.host).is_ok()
                && get(&prometheus.host, "/-/ready", "").starts_with("HTTP/1.1 200")
        };
        while !is_ready() {
            assert!(start.elapsed() < TIMEOUT, "Prometheus is not ready");
            std::thread::sleep(Duration::from_millis(50));
        }
        prometheus
    }

    /// The number that an expression has, if it has one.
    fn number(&self, expression: &str) -> Option<f64> {
        let query = format!("/api/v1/query?query={}", weir_net::percent_encode(expression));
        let answer = get(&self.host, &query, "");
        let json = answer.find("{\"status\"").map(|start| &answer[start..])?;
        let json = &json[..=json.rfind('}')?];
        let answer: Value = serde_json::from_str(json).unwrap_or_else(|_| panic!("{answer}"));
        let [result] = &answer["data"]["result"].as_array()?[..] else { return None };
        result["value"][1].as_str()?.parse().ok()
    }

    /// Returns why an expression is none of its language.
    fn refusal(&self, expression: &str) -> Option<String> {
        let query = format!("/api/v1/format_query?query={}", weir_net::percent_encode(expression));
        let answer = get(&self.host, &query, "");
        (!answer.contains("\"status\":\"success\"")).then_some(answer)
    }

    /// Waits until an expression has this number.
    #[track_caller]
    fn wait_for(&self, expression: &str, expected: f64) {
        let start = Instant::now();
        loop {
            let number = self.number(expression);
            if number == Some(expected) {
                return;
            }
            assert!(start.elapsed() < TIMEOUT, "{expression} is {number:?}, not {expected}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Sends requests with these hosts and targets over one connection.
fn request(nginx: &Nginx, requests: &[(&str, &str, &str)]) {
    let mut stream = nginx.connect();
    let mut responses = BufReader::new(stream.try_clone().expect("a connection"));
    for (method, host, target) in requests {
        let head =
            format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("nginx reads");
        read_response(&mut responses);
    }
}

#[test]
#[ignore = "needs nginx and Prometheus; `cargo xtask test` runs it"]
fn prometheus_has_the_numbers_of_the_report() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("nginx")).expect("a folder");
    let (path, log) = (folder.path("nginx"), folder.path("nginx/access.log"));
    let other = format!(
        "server {{ listen unix:{}/nginx.sock; server_name blog.example; location / {{ return 200 \"blog\\n\"; }} }}",
        text(&path)
    );
    let http = format!("{}\n{other}", block("nginx").replace(LOG, text(&log)));
    let server = "server_name shop.example; location / { return 200 \"here\\n\"; }\n\
                  location /missing/ { return 404; } location /busy/ { return 503; }";
    let nginx = Nginx::new(&path, &http, server);
    let mut requests = vec![("GET", "shop.example", "/"); 20];
    requests.extend([("POST", "shop.example", "/busy/1"), ("GET", "shop.example", "/missing/2")]);
    requests.extend([("GET", "blog.example", "/a"); 7]);
    request(&nginx, &requests);

    // The command of the document, at other addresses.
    let command = block("sh").replace(LOG, text(&log)).replace("--admin 127.0.0.1:9464", "");
    let arguments: Vec<&str> =
        command.split_whitespace().skip(1).filter(|word| *word != "--no-open").collect();
    let watched = Watched::start(&arguments);
    let prometheus = Prometheus::start(&folder, &watched.admin);
    prometheus.wait_for("sum(weir_requests_total)", 29.0);
    request(&nginx, &[("GET", "blog.example", "/b"), ("DELETE", "shop.example", "/busy/3")]);
    prometheus.wait_for("sum(weir_requests_total)", 31.0);
    // The counters were there before the new requests, so a rate has them.
    let counter = "weir_requests_total{method=\"GET\",host=\"blog.example\",status=\"2xx\"}";
    prometheus.wait_for(&format!("increase({counter}[1m]) > bool 0"), 1.0);

    let report = run(["report", "--json", text(&log)]);
    let report: Value = serde_json::from_str(&report.stdout).expect("JSON");
    for (method, count) in counts(&report, "method") {
        prometheus.wait_for(&format!("sum(weir_requests_total{{method=\"{method}\"}})"), count);
    }
    for (host, count) in counts(&report, "host") {
        prometheus.wait_for(&format!("sum(weir_requests_total{{host=\"{host}\"}})"), count);
        let durations = format!("weir_request_duration_seconds_count{{host=\"{host}\"}}");
        prometheus.wait_for(&durations, count);
    }
    prometheus.wait_for("sum(weir_requests_total{status=\"5xx\"})", 2.0);
    prometheus.wait_for("sum(weir_requests_total{status=\"4xx\"})", 1.0);
    let bytes = report["bytes_sent"].as_f64().expect("a sum");
    prometheus.wait_for("sum(weir_response_bytes_total)", bytes);
}

#[test]
#[ignore = "needs Prometheus; `cargo xtask test` runs it"]
fn the_linter_of_prometheus_accepts_the_metrics() {
    let folder = Folder::new();
    let lines = "192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 17 \"-\" \"curl\" \
                 host=shop.example request_time=0.005\n";
    let log = folder.file("access.log", lines.repeat(20).as_bytes());
    let watched = Watched::start(&["--follow", "--metrics-by", "host", text(&log)]);
    let sample = "weir_requests_total{host=\"shop.example\",method=\"GET\",status=\"2xx\"}";
    let metrics = watched.wait_for(sample, 20.0);
    let mut lint = Command::new(Prometheus::program("promtool"));
    lint.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut lint = lint.stderr(Stdio::piped()).spawn().expect("promtool runs");
    lint.stdin.take().expect("a pipe").write_all(metrics.as_bytes()).expect("it reads");
    let said = lint.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    let of_requests: Vec<&str> = said
        .lines()
        .filter(|line| {
            let of_requests = ["weir_requests", "weir_request_", "weir_response"];
            let is_about_metric = line.starts_with("weir_") || line.starts_with("process_");
            !is_about_metric || of_requests.iter().any(|name| line.starts_with(name))
        })
        .collect();
    assert!(of_requests.is_empty(), "{of_requests:?}");
}

/// The expressions of a dashboard.
fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("expr").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| expressions(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| expressions(item, found)),
        _ => {}
    }
}

#[test]
#[ignore = "needs Prometheus; `cargo xtask test` runs it"]
fn prometheus_understands_the_dashboards() {
    let folder = Folder::new();
    let prometheus = Prometheus::start(&folder, "127.0.0.1:1");
    assert!(prometheus.refusal("sum(").is_some());
    for name in ["grafana-dashboard.json", "grafana-requests.json"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
        let dashboard = std::fs::read_to_string(path).expect("a dashboard");
        let dashboard: Value = serde_json::from_str(&dashboard).expect("JSON");
        let mut found = Vec::new();
        expressions(&dashboard, &mut found);
        assert!(found.len() >= 8, "{found:?}");
        for expression in found {
            // What Grafana puts in their place.
            let expression = expression
                .replace("$__rate_interval", "1m")
                .replace("$by", "host")
                .replace("$job", "weir");
            assert_eq!(prometheus.refusal(&expression), None, "{name}: {expression}");
        }
    }
}
