//! Rules with so many patterns that they take long, or much memory.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_server::ServerOptions;

use crate::common::{Live, TestServer, log};

const SMALL_RULE: &str = "limit 5 requests in 1m";

/// Returns a limit whose key is looked up among this many patterns, of which none matches.
fn patterns(count: usize) -> Value {
    let mut text = "map $uri $k {".to_owned();
    for number in 0..count {
        let _ = write!(text, " \"~(?:a.*){{9}}{number}\" x{number};");
    }
    text += " default \"\"; }\nlimit_req_zone $k zone=a:1m rate=1r/s;\nlimit_req zone=a;";
    json!({ "text": text })
}

async fn try_small_rule(live: &mut Live) -> Value {
    live.try_rule(0, json!({ "id": 7 }), json!({ "text": SMALL_RULE })).await;
    live.ruled().await
}

/// A server with a log of many paths, in which each has most of the letters of the patterns.
async fn server_with_paths(options: ServerOptions) -> (TestServer, weir_server::SessionHandle) {
    let (server, session) = TestServer::start_timed(options).await;
    let mut paths = String::new();
    for number in 0..20_000 {
        let _ = writeln!(
            paths,
            "192.0.2.7 - - [22/Nov/2026:10:00:00 +0000] \"GET /abababababababa/{number} HTTP/1.1\" \
             200 5 \"-\" \"curl/8\""
        );
    }
    server.upload(session.id()).await.send_file("a", paths.as_bytes(), 100_000).await;
    (server, session)
}

#[tokio::test(flavor = "multi_thread")]
async fn patterns_beyond_their_share_of_the_memory_are_refused() {
    let options = ServerOptions { memory_bytes_max: 64 << 20, ..ServerOptions::default() };
    let (server, session) = TestServer::start_pinned(options).await;
    server.upload(session.id()).await.send_file("a", &log(100), 10_000).await;
    let mut live = server.live(session.id()).await;
    for _ in 0..2 {
        live.try_rule(0, json!({ "id": 1 }), patterns(4_000)).await;
        let error = live.ruled().await["error"].clone();
        assert_eq!(error["name"], "bad_rule");
        let why = error["message"].as_str().expect("a sentence");
        assert!(why.contains("All patterns may take 16384 KiB"), "{why}");
        assert!(why.contains("those of other rules take 0;") && !why.contains("again"), "{why}");
    }
    // What was refused takes nothing, and neither does a rule that was replaced. Only rules that are
    // held at the same time share the limit.
    for id in 2..6 {
        live.try_rule(0, json!({ "id": id }), patterns(300)).await;
        let answer = live.ruled().await;
        assert!(answer["error"].is_null(), "{answer}");
    }
    live.try_rule(1, json!({ "id": 6 }), patterns(300)).await;
    let refused = live.ruled().await;
    assert_eq!(refused["error"]["name"], "bad_rule");
    assert!(refused["error"]["message"].as_str().is_some_and(|why| why.contains("tried again")));
    // It needs no message to be answered once the other panel has another rule.
    live.try_rule(0, json!({ "id": 7 }), json!({ "text": SMALL_RULE })).await;
    for _ in 0..2 {
        let answer = live.ruled().await;
        assert!(answer["error"].is_null() && answer["query"].as_u64() >= Some(6), "{answer}");
    }
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_rule_does_not_wait_for_the_long_ones_of_another_viewer() {
    let (server, session) = {
        let answer_time_max = Duration::from_secs(3_600);
        let options = ServerOptions { answer_time_max, ..ServerOptions::default() };
        server_with_paths(options).await
    };
    let mut slow = server.live(session.id()).await;
    for panel in 0..8 {
        slow.try_rule(panel, json!({ "id": 1 }), patterns(3_000)).await;
    }
    let mut other = server.live(session.id()).await;
    for _ in 0..3 {
        let answer = try_small_rule(&mut other).await;
        assert!(answer["error"].is_null(), "{answer}");
    }
    let unanswered = tokio::time::timeout(Duration::ZERO, slow.ruled()).await;
    assert!(unanswered.is_err(), "the long rules take longer than the small ones");
    drop((slow, other));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_rules_end_with_their_time_their_question_and_their_viewer() {
    let answer_time_max = Duration::from_secs(2);
    let options = ServerOptions { answer_time_max, ..ServerOptions::default() };
    let (server, session) = server_with_paths(options).await;
    let mut slow = server.live(session.id()).await;
    let begun = Instant::now();
    slow.try_rule(0, json!({ "id": 1 }), patterns(6_000)).await;
    let answer = slow.ruled().await;
    assert_eq!(answer["error"]["name"], "too_slow", "{answer}");
    assert!(begun.elapsed() < 15 * answer_time_max, "{:?}", begun.elapsed());
    // Each replaces the one before, whose check or replay ends for it.
    for id in 2..20 {
        slow.try_rule(0, json!({ "id": id }), patterns(6_000 + id)).await;
    }
    slow.try_rule(0, json!({ "id": 20 }), json!({ "text": SMALL_RULE })).await;
    let answer = slow.ruled().await;
    assert_eq!((&answer["query"], &answer["error"]), (&json!(20), &Value::Null), "{answer}");
    for panel in 0..8 {
        slow.try_rule(panel, json!({ "id": 21 }), patterns(3_000)).await;
    }
    let stopping = Instant::now();
    drop(slow);
    server.stop().await;
    assert!(stopping.elapsed() < Duration::from_secs(20), "{:?}", stopping.elapsed());
}
