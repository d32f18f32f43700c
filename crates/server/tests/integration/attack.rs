//! Clients that send expensive requests, and their effect on others.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use weir_server::ServerOptions;

use crate::common::{
    Live, TestServer, log, long_expressions, percent_encoded, read_response, skip,
};

fn question(id: u64) -> Value {
    json!({ "id": id, "clauses": [{ "field": "path", "op": "~", "values": long_expressions() }] })
}

#[tokio::test]
async fn a_report_ends_when_its_client_has_gone() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    server.upload(session.id()).await.send_file("a", &log(50_000), 10_000).await;
    let condition = |text: &String| percent_encoded(&format!("path~\"{text}\""));
    let conditions: Vec<String> =
        long_expressions().iter().map(|text| format!("where={}", condition(text))).collect();
    let path = format!("/api/sessions/{}/report?{}", session.id(), conditions.join("&"));
    let mut stream = TcpStream::connect(server.address).await.expect("the server listens");
    let head = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    stream.write_all(head.as_bytes()).await.expect("the server reads");
    stream.shutdown().await.expect("the server reads");
    let response = {
        let mut response = std::pin::pin!(read_response(&mut stream));
        loop {
            tokio::select! {
                response = &mut response => break response,
                () = skip(Duration::from_secs(1)) => {}
            }
        }
    };
    assert_eq!((response.status, &response.json()["error"]), (408, &json!("client_gone")));
    // Its turn is free again, and a client that waits briefly is answered.
    let report = server.report(session.id()).await;
    assert!(report["matching"].as_u64() > Some(0), "{report}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_question_does_not_wait_for_those_that_take_long() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    server.upload(session.id()).await.send_file("a", &log(50_000), 10_000).await;
    let mut slow: Vec<Live> = Vec::new();
    for _ in 0..6 {
        let mut live = server.live(session.id()).await;
        live.view().await;
        live.ask(question(1)).await;
        slow.push(live);
    }
    // Each has a different question, so that no answer is shared.
    for (number, live) in slow.iter_mut().enumerate() {
        let mut question = question(2);
        question["top"] = json!(number + 1);
        live.ask(question).await;
    }
    let mut other = server.live(session.id()).await;
    let status = json!([{ "field": "status", "op": "=", "values": ["404"] }]);
    // Its own previous question is dropped for it, but its check waits for those of the others.
    other.ask(question(6)).await;
    other.ask(json!({ "id": 7, "clauses": status })).await;
    other.view_where(|view| view.query == 7).await;
    for live in &mut slow {
        let answer = live.view_where(|view| view.query == 2);
        assert!(tokio::time::timeout(Duration::ZERO, answer).await.is_err(), "not yet answered");
    }
    drop((slow, other));
    server.stop().await;
}
