//! The spans of the gateway, read by the schema of OpenTelemetry itself and by its collector.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use crate::backends::{Backend, answer_with};
use crate::gate::{Gate, PATIENCE, body};
use crate::traces::Collector;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/integration/otlp.py");

/// What the script prints about a request to the collector, or its error.
fn read(request: &str) -> Result<String, String> {
    let python = std::env::var("OTLP_PYTHON").expect("OTLP_PYTHON names a Python");
    let mut command = Command::new(python);
    command.arg(SCRIPT).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().expect("Python runs");
    let mut input = process.stdin.take().expect("a pipe");
    input.write_all(request.as_bytes()).expect("it reads");
    drop(input);
    let output = process.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[tokio::test]
#[ignore = "needs opentelemetry-proto; cargo xtask test runs it"]
async fn the_schema_of_opentelemetry_has_every_member() {
    let backend = Backend::answering(answer_with).await;
    let collector = Collector::start(&[]).await;
    let config = format!("{}{}", collector.config("share = 1"), backend.config());
    let gate = Gate::start(&config).await;
    for path in ["/a?secret=1", "/%2e%2e/x"] {
        gate.get(path).await;
    }
    let mut kinds = Vec::new();
    let mut first = String::new();
    for number in 1.. {
        let request = collector.requests(number).await.remove(number - 1);
        let spans = read(body(&request)).unwrap_or_else(|error| panic!("{error}: {request}"));
        kinds.extend(spans.lines().map(str::to_owned));
        first = if first.is_empty() { body(&request).to_owned() } else { first };
        if kinds.len() >= 3 {
            break;
        }
    }
    kinds.sort_unstable();
    assert_eq!(
        kinds,
        ["SPAN_KIND_CLIENT GET True", "SPAN_KIND_SERVER GET / True", "SPAN_KIND_SERVER GET True"]
    );
    // The check is strict.
    let misspelt = first.replacen("startTimeUnixNano", "startTimeUnixNanos", 1);
    assert!(read(&misspelt).is_err_and(|error| error.contains("startTimeUnixNanos")));
}

/// A collector of OpenTelemetry that prints what it receives. It ends when this value is dropped.
struct RealCollector {
    process: Child,
    lines: Receiver<String>,
    endpoint: String,
}

impl RealCollector {
    fn start() -> Self {
        let folder = std::env::var("PEERS_FOLDER").expect("PEERS_FOLDER names a folder");
        // Free a moment ago. The collector cannot say which port it has chosen itself.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let address = free.expect("a free port");
        let mut command = Command::new(Path::new(&folder).join("collector"));
        for setting in [
            &format!("receivers::otlp::protocols::http::endpoint: {address}"),
            "exporters::debug::verbosity: detailed",
            "service::pipelines::traces::receivers: [otlp]",
            "service::pipelines::traces::exporters: [debug]",
            "service::telemetry::metrics::level: none",
        ] {
            command.arg(format!("--config=yaml:{setting}"));
        }
        let mut process = command.stderr(Stdio::piped()).spawn().expect("the collector runs");
        let stderr = BufReader::new(process.stderr.take().expect("a pipe"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let mut lines = stderr.lines().map_while(Result::ok);
            while lines.next().is_some_and(|line| sender.send(line).is_ok()) {}
        });
        let collector = Self { process, lines, endpoint: format!("http://{address}/v1/traces") };
        collector.line("Everything is ready");
        collector
    }

    /// Waits for a line with this text, and returns it.
    fn line(&self, text: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("a line in time");
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Waits for the value of a property of the next span.
    fn property(&self, name: &str) -> String {
        let line = self.line(&format!("    {name}"));
        line.split_once(": ").map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    }
}

impl Drop for RealCollector {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a collector of OpenTelemetry; cargo xtask test runs it"]
async fn a_collector_takes_every_span() {
    let backend = Backend::answering(answer_with).await;
    let collector = RealCollector::start();
    let traces = format!("[traces]\nendpoint = \"{}\"\nshare = 1\n", collector.endpoint);
    let gate = Gate::start(&format!("{traces}{}", backend.config())).await;
    gate.get("/a?secret=1").await;
    tokio::task::block_in_place(|| {
        let trace = collector.property("Trace ID");
        let server = [collector.property("ID  "), collector.property("Name")];
        assert_eq!((&*server[1], &*collector.property("Kind")), ("GET /", "Server"));
        collector.line("-> url.path: Str(/a)");
        assert_eq!(collector.property("Trace ID"), trace);
        assert_eq!(collector.property("Parent ID"), server[0], "the call is a part of the request");
        assert_eq!((&*collector.property("Name"), &*collector.property("Kind")), ("GET", "Client"));
        collector.line("-> http.response.status_code: Int(200)");
    });
}
