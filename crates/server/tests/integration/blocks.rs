//! Blocks in a panel of the page.

use serde_json::{Value, json};
use weir_server::ServerOptions;

use crate::common::{Live, TestServer};

const ACCESS: &str =
    "203.0.113.7 - - [22/Nov/2026:10:00:07 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\"\n";
const ERRORS: &str = "2026/11/22 10:00:09 [error] 8#8: *5 limiting requests, excess: 5.250 by zone \
    \"one\", client: 203.0.113.7, server: _, request: \"GET / HTTP/1.1\", host: \"a\"\n";

impl Live {
    async fn ask_blocks(&mut self, query: Value, question: Value) {
        let message = json!({ "type": "blocks", "panel": 1, "query": query, "question": question });
        self.sender.send_text(&message.to_string()).await.expect("the server reads");
    }

    /// The next answer about blocks to this query; skips views and answers to earlier queries.
    async fn told_blocks(&mut self, query: u64) -> Value {
        loop {
            let message = self.message().await;
            if message["type"] == "blocks" {
                assert_eq!(message["panel"], 1, "{message}");
                if message["query"] == query {
                    return message;
                }
            } else {
                assert_eq!(message["type"], "view", "{message}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_are_told_again_when_the_data_grows() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let mut upload = server.upload(session.id()).await;
    upload.send_file("access", ACCESS.as_bytes(), 100_000).await;
    let mut live = server.live(session.id()).await;
    live.view_where(|view| view.complete).await;
    live.ask_blocks(json!({ "id": 4 }), json!({})).await;
    let reply = live.told_blocks(4).await;
    assert_eq!(reply["answer"], json!({ "report": null, "complete": true }));
    upload.send_file("errors", ERRORS.as_bytes(), 100_000).await;
    let report = loop {
        let answer = live.told_blocks(4).await["answer"].take();
        // An answer before the end of the file is followed by another one.
        if answer["report"] != Value::Null && answer["complete"] == true {
            break answer["report"].clone();
        }
    };
    assert_eq!((&report["blocks"], &report["addresses"]), (&json!(1), &json!(1)));
    let client = &report["clients"][0];
    let mut rules = client["rules"].clone();
    let remedy = rules[0]["remedy"].take();
    assert!(remedy["place"].as_str().is_some_and(|place| place.contains("burst=6")));
    assert!(remedy["text"].as_str().is_some_and(|text| text.contains("203.0.113.7 1;")));
    let rule = json!({
        "cause": "request_limit", "name": "one", "blocks": 1, "excess": [5.25, 5.25],
        "remedy": null,
    });
    assert_eq!(rules, json!([rule]));
    let profile = &client["profile"];
    assert_eq!((&profile["client"], &profile["looks"]), (&json!("203.0.113.7"), &json!("program")));
    assert_eq!(profile["good"], Value::Null);
    assert_eq!(client["before"]["requests"], 1);
    assert_eq!(report["clock"], json!({ "offset_s": 0, "estimate": null }));
    // The error log's clock is two seconds ahead, so the block matches the second of the request.
    live.ask_blocks(json!({ "id": 5 }), json!({ "window_s": 1, "clock_offset_s": 2 })).await;
    let reply = live.told_blocks(5).await;
    assert_eq!(reply["answer"]["report"]["clients"][0]["before"]["requests"], 1, "{reply}");
    let named = json!({ "window_s": 1, "clock_offset_s": 9, "good_networks": ["203.0.113.0/24"] });
    live.ask_blocks(json!({ "id": 6 }), named).await;
    let reply = live.told_blocks(6).await;
    let client = &reply["answer"]["report"]["clients"][0];
    assert_eq!(client["after"]["requests"], 1, "{reply}");
    assert_eq!(client["profile"]["good"], json!(["named_network"]), "{reply}");
    live.ask_blocks(json!({ "id": 7 }), json!({ "good_networks": ["office"] })).await;
    let reply = live.told_blocks(7).await;
    let message = reply["error"]["message"].as_str().expect("an error");
    assert!(message.contains("`office` is not a valid network"), "{reply}");
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_is_not_valid_is_refused() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    server.upload(session.id()).await.send_file("access", ACCESS.as_bytes(), 100_000).await;
    let mut live = server.live(session.id()).await;
    live.view_where(|view| view.complete).await;
    for (query, question, name, part) in [
        (json!({}), json!({ "window_s": 0 }), "bad_request", "`window_s` is not valid"),
        (json!({}), json!({ "window_s": 3_601 }), "bad_request", "1 to 3600"),
        (json!({}), json!({ "clock_offset_s": -172_801 }), "bad_request", "`clock_offset_s`"),
        (json!({ "conditions": ["status==4"] }), json!({}), "bad_query", ""),
    ] {
        live.ask_blocks(query, question).await;
        let reply = live.told_blocks(0).await;
        assert_eq!(reply["answer"], Value::Null, "{reply}");
        assert_eq!(reply["error"]["name"], name, "{reply}");
        assert!(reply["error"]["message"].as_str().expect("a text").contains(part), "{reply}");
    }
    drop(live);
    server.stop().await;
}
