//! The spans of the gateway, read by the schema of OpenTelemetry itself.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::backends::{Backend, answer_with};
use crate::gate::{Gate, body};
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
