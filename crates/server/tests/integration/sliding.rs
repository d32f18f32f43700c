//! Live views of a sliding window, with filters that change.

use std::time::Duration;

use crate::common::TestServer;
use serde_json::json;
use weir_ingest::{FormatChoice, Phase, Retention};
use weir_server::ServerOptions;

/// One line a second in combined format; every fourth has status 404.
fn lines(seconds: std::ops::Range<u64>) -> String {
    let line = |second: u64| {
        let (minute, status) = (second / 60, if second.is_multiple_of(4) { 404 } else { 200 });
        let time = format!(
            "09/Oct/2025:{:02}:{:02}:{:02} +0000",
            9 + minute / 60,
            minute % 60,
            second % 60
        );
        format!("192.0.2.1 - - [{time}] \"GET /{second} HTTP/1.1\" {status} 10 \"-\" \"-\"\n")
    };
    seconds.map(line).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_changes_while_the_window_moves() {
    let retention = Retention::Window { width: Some(Duration::from_secs(99)) };
    let options = ServerOptions { retention, ..ServerOptions::default() };
    let (server, session) = TestServer::start_pinned(options).await;
    let mut live = server.live(session.id()).await;
    let empty = live.view().await;
    assert_eq!(empty.window.map(|window| (window.width_s, window.records)), Some((Some(99.0), 0)));
    let pipeline = session.pipeline().expect("the session is open");
    let mut feed = pipeline.source("feed", None, FormatChoice::Detect);
    let mut id = 0;
    for step in 0..40u64 {
        let read = (step + 1) * 25;
        feed.write_all_async(lines(step * 25..read).as_bytes()).await.expect("the queue has room");
        feed.flush_async().await.expect("the queue has room");
        feed.wait_until_parsed().await;
        id += 1;
        let (clauses, share) = match step % 3 {
            0 => (json!([]), 1),
            1 => (json!([{ "field": "status", "op": "=", "values": ["404"] }]), 4),
            _ => (json!([{ "field": "status", "op": "!=", "values": ["200"] }]), 4),
        };
        live.ask(json!({ "id": id, "clauses": clauses, "top": 200 })).await;
        let view = live.view_where(|view| view.query == id && view.report.records == read).await;
        let kept = read.min(100);
        let window = view.window.expect("a window");
        assert_eq!(window.records, kept, "step {step}");
        // Until it is full, the window is complete since the first line.
        let since = (read < 100).then(|| "2025-10-09T09:00:00Z".to_owned());
        assert_eq!(window.complete_since, since, "step {step}");
        let not_found =
            (read - kept..read).filter(|second| second.is_multiple_of(4)).count() as u64;
        let matched = if share == 1 { kept } else { not_found };
        assert_eq!((view.report.matching, view.report.errors), (matched, not_found));
        assert_eq!(view.report.distinct["path"], matched);
        let first = (read - kept..read).find(|second| share == 1 || second.is_multiple_of(4));
        let first = first.expect("a row");
        let (minute, second) = (first / 60, first % 60);
        let expected = format!("2025-10-09T{:02}:{:02}:{second:02}Z", 9 + minute / 60, minute % 60);
        assert_eq!(view.report.time.first, Some(expected));
        let histogram = view.report.histogram.expect("there are times");
        assert_eq!(histogram.buckets.iter().map(|bucket| bucket.count).sum::<u64>(), matched);
        assert_eq!(view.sources[0].lines, read, "dropped lines still count as read");
    }
    // What senders sent before they were listened to is not there, whatever its times are.
    feed.progress().set_phase(Phase::Listening);
    let started =
        server.request("GET", &format!("/api/sessions/{}", session.id()), &[]).await.json();
    live.ask(json!({ "id": id + 1, "zone": "UTC" })).await;
    let view = live.view_where(|view| view.query == id + 1).await;
    assert_eq!(view.started_unix_ms, started["started_unix_ms"]);
    let since = view.window.and_then(|window| window.complete_since).expect("a time");
    assert!(since.as_str() > "2026", "{since}: the clock of this machine, not of the log");
    drop((live, feed, pipeline));
    server.stop().await;
}
