//! Measures over time, and maps of durations.

use serde_json::{Value, json};
use weir_server::ServerOptions;

use crate::common::{Live, TestServer};
use crate::lines::{Folder, read};

/// Requests of three seconds: the time to serve each, in the order of the log.
const LOG: &str = r#"{"time_iso8601":"2026-11-02T00:00:00+00:00","remote_addr":"192.0.2.1","request_uri":"/","status":200,"request_time":0.100}
{"time_iso8601":"2026-11-02T00:00:00+00:00","remote_addr":"192.0.2.1","request_uri":"/","status":200,"request_time":0.104}
{"time_iso8601":"2026-11-02T00:00:01+00:00","remote_addr":"192.0.2.1","request_uri":"/","status":500,"request_time":0.199}
{"time_iso8601":"2026-11-02T00:00:02+00:00","remote_addr":"192.0.2.1","request_uri":"/","status":200,"request_time":0.112}
"#;

/// The first second of the log, since 1970.
const FIRST_S: i64 = 1_793_577_600;

impl Live {
    async fn ask_series(&mut self, map: Value, bounds: &[i64]) -> Value {
        let query = json!({ "id": 7, "group": "status_class", "measures": ["p95:request_time"] });
        let message = json!({ "type": "series", "query": query, "map": map, "bounds": bounds });
        self.sender.send_text(&message.to_string()).await.expect("the server reads");
        loop {
            let message = self.message().await;
            if message["type"] == "series" {
                assert_eq!(message["query"], 7, "{message}");
                return message;
            }
            assert_eq!(message["type"], "view", "{message}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_series_has_the_map_of_the_duration_that_it_names() {
    let folder = Folder::new("series");
    let path = folder.write("access.log", LOG.as_bytes());
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    read(&session, &[&path]).await;
    let mut live = server.live(session.id()).await;

    let bounds: Vec<i64> = (0..4).map(|second| FIRST_S + second).collect();
    let answer = live.ask_series(json!("request_time"), &bounds).await["answer"].take();
    let bounds_s = [0.1, 0.112, 0.125, 0.14, 0.16, 0.18, 0.2];
    let counts = [[2, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1], [0, 1, 0, 0, 0, 0]];
    assert_eq!(answer["map"], json!({ "bounds_s": bounds_s, "counts": counts }), "{answer}");
    let spans = answer["spans"].as_array().expect("spans");
    let p95: Vec<&Value> = spans.iter().map(|span| &span["measures"]["p95:request_time"]).collect();
    assert_eq!(p95, [&json!(0.104), &json!(0.199), &json!(0.112)]);

    let without = live.ask_series(Value::Null, &bounds).await;
    assert!(without["answer"]["map"].is_null(), "{without}");
    assert_eq!(without["answer"]["spans"], answer["spans"]);

    for name in ["bytes", "time", "", "request"] {
        let refused = live.ask_series(json!(name), &bounds).await;
        let message = refused["error"]["message"].as_str().expect("a message");
        assert!(message.contains("use one of request_time, "), "{refused}");
        assert!(refused["answer"].is_null(), "{refused}");
    }
    let many: Vec<i64> = (0..2_002).collect();
    let refused = live.ask_series(json!("request_time"), &many).await;
    let message = refused["error"]["message"].as_str().expect("a message");
    assert!(message.contains("2000"), "{refused}");
    drop(live);
    server.stop().await;
}
