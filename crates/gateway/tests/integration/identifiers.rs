//! Request ids and traces.

use crate::backends::{Backend, answer_with};
use crate::gate::{Gate, body};

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn request(fields: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: gate\r\nConnection: close, x-request-id\r\n{fields}\r\n")
}

/// Returns the value of a header field in the head of a message.
fn field<'a>(message: &'a str, name: &str) -> Option<&'a str> {
    let head = message.split("\r\n\r\n").next()?;
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

#[tokio::test]
async fn a_request_has_one_id_for_client_backend_and_record() {
    let backend = Backend::answering(answer_with).await;
    let on = "request_id = true\nrecord = [\"request_id\"]\n";
    let gate = Gate::start(&format!("{on}{}", backend.config())).await;
    let answer = gate.exchange(&request("X-Request-ID: of-a-stranger\r\n")).await;
    let id = field(&answer, "x-request-id").expect("an id");
    assert_eq!(field(body(&answer), "x-request-id"), Some(id));
    assert_eq!(gate.rows(1).await[0]["request_id"], id);
    assert_eq!(id.len(), 32, "{id}");

    gate.reload(&format!("trusted_networks = [\"127.0.0.1\"]\n{on}{}", backend.config()));
    let answer = gate.exchange(&request("X-Request-ID: of-a-friend\r\n")).await;
    assert_eq!(field(&answer, "x-request-id"), Some("of-a-friend"));
    assert_eq!(field(body(&answer), "x-request-id"), Some("of-a-friend"));
    assert_eq!(gate.rows(2).await[1]["request_id"], "of-a-friend");
}

#[tokio::test]
async fn a_refused_request_has_an_id_too() {
    let backend = Backend::answering(answer_with).await;
    let config = backend.config().replace("path = \"/\"", "path = \"/api\"");
    let gate = Gate::start(&format!("request_id = true\n{config}")).await;
    let answer = gate.exchange(&request("")).await;
    assert!(
        answer.starts_with("HTTP/1.1 404") && field(&answer, "x-request-id").is_some(),
        "{answer}"
    );
    assert_eq!(gate.rows(1).await[0].get("request_id"), None, "it is recorded by choice");
}

#[tokio::test]
async fn traces_pass_unchanged() {
    let backend = Backend::answering(answer_with).await;
    let fields = format!("traceparent: {TRACE}\r\ntracestate: congo=t61rcWkgMzE\r\n");
    for (config, traces) in [("", 0), ("trace_context = \"forward\"\nrecord = [\"trace_id\"]\n", 1)]
    {
        let gate = Gate::start(&format!("{config}{}", backend.config())).await;
        let answer = gate.exchange(&request(&fields)).await;
        assert_eq!(field(body(&answer), "traceparent"), Some(TRACE));
        assert_eq!(field(body(&answer), "tracestate"), Some("congo=t61rcWkgMzE"));
        let row = gate.rows(1).await.remove(0);
        let recorded: Vec<&str> = row.get("trace_id").map(String::as_str).into_iter().collect();
        assert_eq!(recorded, &["0af7651916cd43dd8448eb211c80319c"][..traces]);
    }
}

#[tokio::test]
async fn a_stranger_gets_a_new_trace() {
    let backend = Backend::answering(answer_with).await;
    let config = "trace_context = \"restart\"\nrecord = [\"trace_id\"]\n";
    let gate = Gate::start(&format!("{config}{}", backend.config())).await;
    let fields = format!("traceparent: {TRACE}\r\ntracestate: congo=t61rcWkgMzE\r\n");
    let answer = gate.exchange(&request(&fields)).await;
    let trace = field(body(&answer), "traceparent").expect("a trace");
    assert_ne!(trace, TRACE);
    assert_eq!(field(body(&answer), "tracestate"), None);
    assert_eq!(trace.split('-').nth(1), Some(gate.rows(1).await[0]["trace_id"].as_str()));
}
