//! Export of spans to a collector.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use weir_testkit::messages::{Message, heard};

use crate::backends::{Backend, answer_with, nobody, read_request};
use crate::gate::{Gate, PATIENCE, body};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// A collector of spans, which keeps the requests that it receives.
pub(crate) struct Collector {
    server: Backend,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Collector {
    /// Answers the first requests with these answers, in order, and all others with success.
    pub(crate) async fn start(answers: &'static [&'static str]) -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = requests.clone();
        let server = Backend::start(move |mut stream, _| {
            let kept = kept.clone();
            async move {
                while let Some(request) = read_request(&mut stream).await {
                    let number = {
                        let mut kept = kept.lock().expect("no panic");
                        kept.push(request);
                        kept.len() - 1
                    };
                    let answer = answers
                        .get(number)
                        .map_or_else(|| answer_with("{}"), |it| (*it).to_owned());
                    if stream.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                }
            }
        });
        Self { server: server.await, requests }
    }

    fn endpoint(&self) -> String {
        format!("http://{}/v1/traces", self.server.address)
    }

    /// The table of a configuration, with more keys.
    pub(crate) fn config(&self, more: &str) -> String {
        format!("[traces]\nendpoint = \"{}\"\n{more}\n", self.endpoint())
    }

    /// Waits for this many requests, and returns them.
    pub(crate) async fn requests(&self, count: usize) -> Vec<String> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let requests = self.requests.lock().expect("no panic").clone();
            if requests.len() >= count {
                return requests;
            }
            assert!(tokio::time::Instant::now() < deadline, "{requests:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The spans of the first request.
    async fn spans(&self) -> Vec<Value> {
        let request = self.requests(1).await.remove(0);
        let json: Value = serde_json::from_str(body(&request)).expect("JSON");
        json["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("a list").clone()
    }
}

fn request(path: &str, fields: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: shop.example:8080\r\nConnection: close\r\n{fields}\r\n")
}

fn trace_parent(flags: &str) -> String {
    format!("traceparent: 00-{TRACE}-{PARENT}-{flags}\r\n")
}

/// Returns the `traceparent` that an echoing backend received.
fn received(answer: &str) -> Option<&str> {
    body(answer).lines().find_map(|line| line.strip_prefix("traceparent: "))
}

/// The value of an attribute.
fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a str> {
    let attributes = span["attributes"].as_array().expect("a list");
    let value = &attributes.iter().find(|it| it["key"] == key)?["value"];
    value["stringValue"].as_str().or(value["intValue"].as_str())
}

fn nanoseconds(time: &Value) -> u128 {
    time.as_str().expect("a text").parse().expect("digits")
}

#[tokio::test]
async fn a_traced_request_has_a_span_and_its_call_another() {
    let (backend, collector) = (Backend::answering(answer_with).await, Collector::start(&[]).await);
    let more = "share = 1\nservice_name = \"edge\"\nheaders = { x-tenant = \"one\" }";
    let gate = Gate::start(&format!("{}{}", collector.config(more), backend.config())).await;
    let fields = "Authorization: Bearer hunter2\r\nUser-Agent: a\"b\\\r\n";
    let answer = gate.exchange(&request("/a?access_token=hunter2&secret=hunter2", fields)).await;
    let names: Vec<&str> = received(&answer).expect("a trace").split('-').collect();
    let spans = collector.spans().await;
    let [server, call] = &spans[..] else { panic!("{spans:?}") };

    assert_eq!((server["traceId"].as_str(), server["kind"].as_u64()), (Some(names[1]), Some(2)));
    assert_eq!((call["traceId"].as_str(), call["kind"].as_u64()), (Some(names[1]), Some(3)));
    assert_eq!(call["spanId"], names[2], "the backend's parent is the call");
    assert_eq!(call["parentSpanId"], server["spanId"]);
    assert_eq!((server.get("parentSpanId"), names[3]), (None, "01"));
    assert_eq!(server["name"], "GET /");
    for (key, value) in [
        ("http.request.method", "GET"),
        ("url.path", "/a"),
        ("url.scheme", "http"),
        ("http.route", "/"),
        ("http.response.status_code", "200"),
        ("server.address", "shop.example"),
        ("server.port", "8080"),
        ("client.address", "127.0.0.1"),
        ("user_agent.original", "a\"b\\"),
        ("weir.backend", "one"),
        ("weir.outcome", "answered"),
    ] {
        assert_eq!(attribute(server, key), Some(value), "{key}");
    }
    assert_eq!(attribute(call, "server.port"), Some(&*backend.address.port().to_string()));
    let events: Vec<_> = call["events"].as_array().expect("a list").iter().collect();
    let moments: Vec<u128> = [&server["startTimeUnixNano"], &call["startTimeUnixNano"]]
        .into_iter()
        .chain(events.iter().map(|event| &event["timeUnixNano"]))
        .chain([&call["endTimeUnixNano"], &server["endTimeUnixNano"]])
        .map(nanoseconds)
        .collect();
    assert!(events.len() == 2 && moments.is_sorted(), "{spans:?}");

    let sent = collector.requests(1).await.remove(0);
    assert!(
        sent.starts_with("POST /v1/traces HTTP/1.1") && sent.contains("x-tenant: one"),
        "{sent}"
    );
    assert!(sent.contains("edge") && !sent.contains("hunter2"), "{sent}");
}

#[tokio::test]
async fn a_trusted_sender_decides_and_a_stranger_does_not() {
    let backend = Backend::answering(answer_with).await;
    let trusted = "trusted_networks = [\"127.0.0.1\"]\n";
    for (mode, share, flags, is_traced, is_kept) in [
        (trusted, 0, "01", true, true),
        (trusted, 1, "00", false, true),
        ("", 0, "01", false, false),
        ("", 1, "00", true, false),
        ("trace_context = \"forward\"\n", 0, "01", false, true),
        ("trace_context = \"forward\"\n", 1, "00", true, true),
    ] {
        let case = format!("{mode}{share} {flags}");
        let collector = Collector::start(&[]).await;
        let more = format!("share = {share}");
        let gate =
            Gate::start(&format!("{mode}{}{}", collector.config(&more), backend.config())).await;
        let answer = gate.exchange(&request("/", &trace_parent(flags))).await;
        let names: Vec<&str> = received(&answer).expect("a trace").split('-').collect();
        assert_eq!(names[1] == TRACE, is_kept, "{case}");
        // The shutdown of the gateway sends the waiting spans.
        gate.stop().await;
        assert_eq!(
            collector.requests.lock().expect("no panic").len(),
            usize::from(is_traced),
            "{case}"
        );
        if is_traced {
            let spans = collector.spans().await;
            assert_eq!(
                (&spans[0]["traceId"], &spans[1]["spanId"]),
                (&names[1].into(), &names[2].into())
            );
            let parent = is_kept.then_some(PARENT);
            assert_eq!(spans[0].get("parentSpanId").and_then(Value::as_str), parent, "{case}");
        } else if is_kept {
            assert_eq!(names[2..], [PARENT, flags], "{case}");
        }
    }
}

#[tokio::test]
async fn a_failed_call_is_an_error_in_both_spans() {
    let collector = Collector::start(&[]).await;
    let config = crate::backends::config(&[nobody()], "");
    let gate = Gate::start(&format!("{}{config}", collector.config("share = 1"))).await;
    gate.get("/").await;
    let spans = collector.spans().await;
    assert_eq!(spans.len(), 2);
    assert_eq!(attribute(&spans[0], "http.response.status_code"), Some("502"));
    assert_eq!(attribute(&spans[0], "error.type"), Some("502"));
    assert_eq!(attribute(&spans[1], "http.response.status_code"), None);
    assert_eq!(attribute(&spans[1], "error.type"), Some("backend_connect"));
    assert!(spans.iter().all(|span| span["status"]["code"] == 2), "{spans:?}");
}

#[tokio::test]
async fn a_batch_is_sent_again_after_the_time_that_the_collector_names() {
    let backend = Backend::answering(answer_with).await;
    let busy = "HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n";
    let partly = "HTTP/1.1 200 OK\r\nContent-Length: 66\r\n\r\n\
        {\"partialSuccess\":{\"rejectedSpans\":\"1\",\"errorMessage\":\"a reason\"}}  ";
    let collector = Collector::start(Box::leak(Box::new([busy, busy, partly]))).await;
    let gate = Gate::start(&format!("{}{}", collector.config("share = 1"), backend.config())).await;
    gate.get("/").await;
    let requests = collector.requests(3).await;
    assert!(body(&requests[0]) == body(&requests[1]) && body(&requests[1]) == body(&requests[2]));
    let handle = gate.handle.clone();
    gate.stop().await;
    let counts = handle.counts().spans.expect("traces are on");
    assert_eq!((counts.sent, counts.refused, counts.unanswered), (1, 1, 0));
    assert_eq!(heard("a reason").len(), 1);
}

#[tokio::test]
async fn what_the_collector_refuses_is_lost_and_counted() {
    let backend = Backend::answering(answer_with).await;
    let refused = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    let collector = Collector::start(Box::leak(Box::new([refused]))).await;
    let config = format!("{}{}", collector.config("share = 1"), backend.config());
    let gate = Gate::start(&config).await;
    gate.get("/").await;
    collector.requests(1).await;
    let handle = gate.handle.clone();
    gate.reload(&config.replace("share = 1", "share = 1.0"));
    gate.stop().await;
    let counts = handle.counts().spans.expect("traces are on");
    assert_eq!((counts.sent, counts.refused), (0, 2), "a reload of the same keeps the counts");
    let endpoint = collector.endpoint();
    let lost = heard(&format!("traces: {endpoint}: 2 spans are lost: "));
    let [Message { fields, .. }] = &lost[..] else { panic!("{lost:?}") };
    assert_eq!((&*fields["spans_lost"], &fields["endpoint"]), ("2", &endpoint));
}

#[tokio::test]
async fn mistakes_of_the_table_are_named() {
    for (table, part) in [
        ("endpoint = \"http://collector.example/v1/traces\"", "plain http"),
        ("share = 0.1", "`endpoint` is missing"),
        ("endpoint = \"http://127.0.0.1:1/\"\nshare = 1.5", "a number from 0 to 1"),
        ("endpoint = \"http://127.0.0.1:1/\"\nshare = \"all\"", "a number from 0 to 1"),
        ("endpoint = \"http://127.0.0.1:1/\"\nheaders = { \"a b\" = \"c\" }", "not the name"),
        (
            "endpoint = \"http://127.0.0.1:1/\"\nheader_files = { a = \"/nonexistent\" }",
            "cannot be read",
        ),
        ("endpoint = \"http://127.0.0.1:1/\"\nheader_env = { a = \"WEIR_NO_SUCH\" }", "is not set"),
        ("endpoint = \"http://127.0.0.1:1/\"\nshares = 1", "did you mean `share`"),
    ] {
        let text = format!(
            "listen = \"127.0.0.1:0\"\n[traces]\n{table}\n[backends.one]\ninstances = [\"http://127.0.0.1:1\"]\n\
             [[routes]]\npath = \"/\"\nbackend = \"one\"\n"
        );
        let problems = weir_gateway::Config::parse(&text, std::path::Path::new("")).unwrap_err();
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(problems.iter().any(|it| it.contains(part)), "{table}: {problems:?}");
    }
}
