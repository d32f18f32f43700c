//! Counts of what a condition selects while the user types it.

use serde_json::{Value, json};
use weir_server::ServerOptions;

use crate::common::{Live, TestServer, log, long_expressions, percent_encoded};

impl Live {
    async fn count(&mut self, query: Value) {
        let text = json!({ "type": "count", "query": query }).to_string();
        self.sender.send_text(&text).await.expect("the server reads");
    }

    /// The next answer to a count; skips views.
    async fn counted(&mut self) -> Value {
        loop {
            let message = self.message().await;
            if message["type"] == "count" {
                return message;
            }
            assert_eq!(message["type"], "view", "{message}");
        }
    }
}

async fn start() -> (TestServer, weir_server::SessionHandle, Live) {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    server.upload(session.id()).await.send_file("a", &log(300_000), 100_000).await;
    let mut live = server.live(session.id()).await;
    live.view_where(|view| view.complete).await;
    (server, session, live)
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_agree_with_reports_and_leave_the_view_as_it_is() {
    let (server, session, mut live) = start().await;
    live.ask(json!({ "id": 5 })).await;
    live.view_where(|view| view.query == 5).await;
    for (id, condition) in ["status=404", "path~^/a or bytes>1kB", "zzzzz"].into_iter().enumerate()
    {
        let encoded = percent_encoded(condition);
        let path = format!("/api/sessions/{}/report?where={encoded}", session.id());
        let report = server.request("GET", &path, &[]).await.json();
        live.count(json!({ "id": id, "conditions": [condition] })).await;
        let count = json!({
            "kind": "request",
            "matching": report["matching"],
            "records": report["kinds"][0]["records"],
        });
        let reply = live.counted().await;
        assert_eq!(reply, json!({ "type": "count", "query": id, "count": count }), "{condition}");
    }
    let firewall = json!({ "id": 9, "kind": "firewall_event" });
    live.count(firewall).await;
    let none = json!({ "kind": "firewall_event", "matching": 0, "records": 0 });
    assert_eq!(live.counted().await["count"], none);
    session.pipeline().expect("the session is open").data().touch();
    assert_eq!(live.view().await.query, 5);
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_that_is_not_valid_yet_is_answered_with_the_reason() {
    let (server, _session, mut live) = start().await;
    live.count(json!({ "id": 1, "conditions": ["method=GET", "path=/ and status==404"] })).await;
    let reply = live.counted().await;
    assert_eq!((&reply["query"], &reply["count"]), (&json!(1), &Value::Null), "{reply}");
    let place = json!({ "condition": 1, "start": 17, "end": 19 });
    let error = &reply["error"];
    assert_eq!((&error["name"], &error["place"]), (&json!("bad_query"), &place));
    live.count(json!({ "id": 2, "conditions": ["upstream_time>1"] })).await;
    let reply = live.counted().await["error"]["message"].to_string();
    assert!(reply.contains("the log has no field `upstream_time`"), "{reply}");
    live.count(json!(7)).await;
    let reply = live.counted().await;
    assert_eq!((&reply["query"], &reply["error"]["name"]), (&Value::Null, &json!("bad_request")));
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_newest_count_is_answered() {
    let (server, _session, mut live) = start().await;
    for id in 0..50 {
        live.count(json!({ "id": id, "conditions": ["status=404"] })).await;
    }
    let mut answers = 1;
    while live.counted().await["query"] != 49 {
        answers += 1;
    }
    assert!(answers < 25, "{answers} answers");
    // A long count ends when the text is deleted, and when a new count is requested.
    let clauses = json!([{ "field": "path", "op": "~", "values": long_expressions() }]);
    live.count(json!({ "id": 60, "clauses": clauses })).await;
    live.count(Value::Null).await;
    live.count(json!({ "id": 61, "clauses": clauses })).await;
    live.count(json!({ "id": 62, "conditions": ["status=404"] })).await;
    assert_eq!(live.counted().await["query"], 62);
    // A view does not wait for a count.
    live.count(json!({ "id": 63, "clauses": clauses })).await;
    live.ask(json!({ "id": 7 })).await;
    live.view_where(|view| view.query == 7).await;
    drop(live);
    server.stop().await;
}

/// Conditions of the greatest length and depth, and those beyond with the reason of their refusal.
fn conditions_at_the_limits() -> [(String, Option<&'static str>); 4] {
    let long = |bytes: usize| format!("path={}", "a".repeat(bytes - 5));
    let deep = |levels: usize| "not ".repeat(levels) + "status=404";
    [
        (long(16_384), None),
        (long(16_385), Some("the condition has 16385 bytes; write at most 16384")),
        (deep(64), None),
        (deep(65), Some("brackets and `not` are nested more than 64 times")),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_at_the_limits_is_the_same_at_every_door() {
    let (server, session, mut live) = start().await;
    for (id, (condition, refusal)) in (1u64..).zip(conditions_at_the_limits()) {
        // Shorter than if each byte was encoded, so that it fits the head of a request.
        let encoded = condition.replace('=', "%3D").replace(' ', "+");
        for path in ["report?", "export?format=csv&"] {
            let path = format!("/api/sessions/{}/{path}where={encoded}", session.id());
            let response = server.request("GET", &path, &[]).await;
            assert_eq!(response.status, if refusal.is_some() { 400 } else { 200 }, "{id}");
            if let Some(refusal) = refusal {
                assert!(response.json()["message"].to_string().contains(refusal), "{id}");
            }
        }
        let query = json!({ "id": id, "conditions": [condition] });
        let rule = "limit_req_zone $binary_remote_addr zone=a:1m rate=1r/s;\nlimit_req zone=a;";
        for (message, reply_type) in [
            (json!({ "type": "query", "query": query }), "view"),
            (json!({ "type": "count", "query": query }), "count"),
            (json!({ "type": "lines", "panel": 0, "query": query, "count": 1 }), "lines"),
            (
                json!({ "type": "rules", "panel": 0, "query": query, "rule": { "text": rule } }),
                "rules",
            ),
            (
                json!({ "type": "blocks", "panel": 1, "query": query, "question": { "window_s": 9 } }),
                "blocks",
            ),
        ] {
            live.sender.send_text(&message.to_string()).await.expect("the server reads");
            let reply = loop {
                let reply = live.message().await;
                let query =
                    if reply["type"] == "view" { &reply["view"]["query"] } else { &reply["query"] };
                let is_reply = reply["type"] == reply_type || reply["type"] == "error";
                if is_reply && *query == id {
                    break reply;
                }
            };
            let why = reply["error"]["message"].as_str();
            assert_eq!(why.is_some(), refusal.is_some(), "{reply_type}");
            assert!(why.is_none_or(|why| why.contains(refusal.unwrap_or_default())), "{why:?}");
        }
    }
    drop(live);
    server.stop().await;
}
