//! Live views: only the newest, with correct numbers, for the current query.

use std::time::{Duration, Instant};

use crate::common::{TestServer, compare, log, within};
use serde_json::json;
use tokio::sync::watch;
use weir_net::websocket::client::Message;
use weir_server::{Remedies, ServerOptions};
use weir_view::{SourceState, View};

#[tokio::test(flavor = "multi_thread")]
async fn the_first_view_arrives_at_once_and_the_last_is_correct() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let mut live = server.live(session.id()).await;
    let first = live.view().await;
    assert_eq!((first.query, first.complete, first.sources.len()), (0, false, 0));
    let log = log(1_500_000);
    live.ask(json!({ "id": 1, "top": crate::common::ROWS })).await;
    let mut upload = server.upload(session.id()).await;
    upload.send_file("f", &log, 100_000).await;
    let last = live.view_where(|view| view.complete && view.query == 1).await;
    compare(&log, &serde_json::to_value(&last.report).expect("JSON"));
    let source = &last.sources[0];
    assert_eq!((source.file.as_str(), source.name.as_str()), ("f", "f.log"));
    assert_eq!((source.state, source.bytes_done), (SourceState::Done, log.len() as u64));
    assert_eq!(source.format.as_ref().map(|format| format.name.as_str()), Some("COMBINED"));
    assert!(source.format_share > Some(0.9) && last.memory_bytes > 10_000);
    assert!(!last.samples.is_empty());
    let mut report = server.report(session.id()).await;
    let sources = report.as_object_mut().and_then(|report| report.remove("sources"));
    let complete = json!({
        "name": "f.log",
        "formats": last.report.formats,
        "bytes_read": log.len(),
        "lines": last.report.lines,
        "records": last.report.records,
        "unparsed_lines": last.report.unparsed_lines,
        "too_long_lines": last.report.too_long_lines,
        "complete": true,
    });
    assert_eq!(sources, Some(json!([complete])), "only a report names its sources");
    assert_eq!(
        report,
        serde_json::to_value(&last.report).expect("JSON"),
        "views and reports agree"
    );
    drop((live, upload));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dates_are_in_the_zone_of_the_log_once_it_is_known() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let clauses = json!([{ "field": "time", "op": ">=", "values": ["2025-12-17"] }]);
    let mut live = server.live(session.id()).await;
    // Nothing is read yet, so the zone is unknown.
    live.ask(json!({ "id": 1, "clauses": clauses })).await;
    live.view_where(|view| view.query == 1).await;
    let line = |time: &str| format!("::1 - - [{time} +0300] \"GET / HTTP/1.1\" 200 5\n");
    let times = ["16/Dec/2025:23:59:59", "17/Dec/2025:00:00:00", "17/Dec/2025:02:59:59"];
    let log: String = times.into_iter().map(line).collect();
    let mut upload = server.upload(session.id()).await;
    upload.send_file("f", log.as_bytes(), 1_000).await;
    let view = live.view_where(|view| view.complete).await;
    assert_eq!((view.report.records, view.report.matching), (3, 2));
    let path = format!("/api/sessions/{}/report?where=time%3C2025-12-17", session.id());
    let report = server.request("GET", &path, &[]).await.json();
    assert_eq!(report["matching"], 1);
    live.ask(json!({ "id": 2, "clauses": clauses, "zone": "UTC" })).await;
    let view = live.view_where(|view| view.query == 2).await;
    assert_eq!(view.report.matching, 0);
    assert_eq!(
        view.notes,
        ["None of the 3 requests meets the conditions; the log runs from 2025-12-16 20:59:59 to \
          2025-12-16 23:59:59, times in UTC."]
    );
    let wrong = json!([{ "field": "time", "op": ">=", "values": ["soon"] }]);
    live.ask(json!({ "id": 3, "clauses": wrong })).await;
    let error = live.message().await;
    assert_eq!(error["error"]["name"], "bad_query", "{error}");
    drop((live, upload));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn views_are_consistent_and_at_most_20_a_second() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let mut live = server.live(session.id()).await;
    let log = log(1 << 20);
    let upload = (server.upload(session.id()).await, log.clone());
    let (shown, mut seen) = watch::channel(0);
    // Views of an empty session are not limited, and not counted.
    let started = Instant::now();
    let feeding = tokio::spawn(async move {
        let (mut upload, log) = upload;
        upload.begin("a", log.len()).await;
        for (number, piece) in log.chunks(log.len() / 50).enumerate() {
            let before = *seen.borrow();
            upload.send(piece, 10_000).await;
            // The first pieces wait until they are shown, however slow the machine is.
            if number < 4 {
                seen.wait_for(|records| *records > before).await.expect("views arrive");
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        upload.finish("a").await;
    });
    let (mut views, mut growing, mut records) = (0, 0, 0);
    loop {
        let view = live.view().await;
        views += u64::from(view.report.lines > 0);
        assert_eq!(view.report.matching, view.report.records, "a view is one snapshot");
        let report = &view.report;
        assert_eq!(report.lines, report.records + report.unparsed_lines + report.too_long_lines);
        assert!(report.records >= records);
        growing += u32::from(report.records > records);
        records = report.records;
        shown.send_replace(records);
        if view.complete {
            break;
        }
    }
    let limit = started.elapsed().as_millis() as u64 / 50 + 2;
    assert!(views <= limit, "{views} views, {limit} allowed");
    assert!(growing >= 3, "views show the growth: {growing}");
    within(feeding).await.expect("everything was sent");
    // Nothing changes, so no view is sent.
    let silence = tokio::time::timeout(Duration::from_millis(200), live.receiver.next()).await;
    assert!(silence.is_err(), "{silence:?}");
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_page_receives_only_the_newest_view() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let mut live = server.live(session.id()).await;
    live.view().await;
    // Large views fill the sockets while the page does not read. A view has more than half a
    // megabyte, and the sockets hold about four, so about ten views are sent on any machine.
    live.ask(json!({ "id": 1, "top": 2_000, "buckets": 2_000 })).await;
    let data = session.pipeline().expect("the session is open").data().clone();
    server.upload(session.id()).await.send_file("a", &log(1 << 20), 1 << 20).await;
    for _ in 0..200 {
        data.touch();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    live.ask(json!({ "id": 2, "top": 1 })).await;
    let mut before = 0;
    live.view_where(|view| {
        before += 1;
        view.query == 2
    })
    .await;
    assert!(before < 40, "{before} views of 200 changes");
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_are_answered_by_id_and_invalid_ones_refused() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let log = log(300_000);
    server.upload(session.id()).await.send_file("a", &log, 100_000).await;
    let mut live = server.live(session.id()).await;
    let all = live.view_where(|view| view.complete).await;
    let status = |op: &str, value: &str| json!({ "field": "status", "op": op, "values": [value] });
    let mut matched = Vec::new();
    for (id, op) in [(5, "="), (6, "!=")] {
        live.ask(json!({ "id": id, "clauses": [status(op, "404")] })).await;
        let view = live.view_where(|view| view.query == id).await;
        assert_eq!(view.report.records, all.report.records);
        matched.push(view.report.matching);
    }
    assert!(matched[0] > 0);
    assert_eq!(matched.iter().sum::<u64>(), all.report.records);
    for (invalid, name) in [
        (json!({ "id": 7, "clauses": [status("~", "(")] }), "bad_query"),
        (
            json!({ "id": 7, "clauses": [{ "field": "nothing", "op": "=", "values": [] }] }),
            "bad_query",
        ),
        (json!({ "id": 7, "zone": "Europe/Atlantis" }), "bad_query"),
        (json!({ "id": 7, "stack": "nothing" }), "bad_query"),
        (json!(7), "bad_request"),
    ] {
        live.ask(invalid.clone()).await;
        let message = live.message().await;
        assert_eq!(message["error"]["name"], name, "{invalid}: {message}");
        assert_eq!(message["query"], invalid["id"], "the page knows which query was refused");
    }
    let conditions = ["method=GET", "path=/ and status==404"];
    live.ask(json!({ "id": 7, "conditions": conditions })).await;
    let message = live.message().await;
    let place = json!({ "condition": 1, "start": 17, "end": 19 });
    assert_eq!(
        (&message["error"]["name"], &message["error"]["place"]),
        (&"bad_query".into(), &place)
    );
    live.ask(json!({ "id": 7, "conditions": ["upstream_time>1"] })).await;
    let message = live.message().await["error"]["message"].to_string();
    assert!(message.contains("the log has no field `upstream_time`"), "{message}");
    // The previous query stays in effect.
    session.pipeline().expect("the session is open").data().touch();
    let view = live.view().await;
    assert_eq!((view.query, view.report.matching), (6, matched[1]));
    // The answer to a condition includes the equivalent clauses, if there are any.
    let conditions = ["status=404 and path^=/", "status=4xx or zzz"];
    live.ask(json!({ "id": 8, "conditions": conditions })).await;
    let view = live.view_where(|view| view.query == 8).await;
    let filter = serde_json::to_value(view.filter).expect("JSON");
    let clauses = json!([status("=", "404"), { "field": "path", "op": "^=", "values": ["/"] }]);
    assert_eq!(filter, json!({ "clauses": clauses, "conditions": ["status=4xx or zzz"] }));
    assert_eq!(view.report.matching, matched[0]);
    // Only the last of many consecutive queries is answered.
    for id in 10..60 {
        live.ask(json!({ "id": id, "clauses": [status("=", "404")] })).await;
    }
    let mut answers = 0;
    let last = live.view_where(|view| {
        answers += 1;
        view.query == 59
    });
    assert_eq!(last.await.report.matching, matched[0]);
    assert!(answers < 50, "the answers of replaced queries are cancelled");
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_values_arrive_as_text() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let hostile = "<script>alert(1)</script>\u{1b}[31m\u{202e}\u{0}'";
    let line = format!(
        "1.2.3.4 - - [02/Nov/2026:00:00:00 +0000] \"GET /{} HTTP/1.1\" 200 5 \"-\" \"{hostile}\"\n",
        "%3Cscript%3E"
    );
    let mixed =
        "1.2.3.4 - - [02/Nov/2026:00:00:00 +0530] \"GET / HTTP/1.1\" 200 5 \"-\" \"\u{2028}\"\n";
    let broken = format!("{hostile}\n");
    let bytes =
        [line.as_bytes(), b"\xff\xfe bytes\n", broken.as_bytes(), mixed.as_bytes()].concat();
    let name = "<img src=x onerror=alert(1)>";
    let mut upload = server.upload(session.id()).await;
    upload.send_file(name, &bytes, 1_000).await;
    let mut live = server.live(session.id()).await;
    let view: View = live.view_where(|view| view.complete).await;
    let agents: Vec<&str> =
        view.report.top["user_agent"].iter().map(|row| row.value.text.as_str()).collect();
    assert!(agents.contains(&hostile), "{agents:?}");
    assert_eq!(view.sources[0].name, format!("{name}.log"));
    assert!(view.samples.iter().any(|sample| sample.text == hostile));
    assert!(view.notes.iter().any(|note| note.contains("+00:00, +05:30")), "{:?}", view.notes);
    drop((upload, live));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_in_an_unknown_format_is_reported() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let mut upload = server.upload(session.id()).await;
    upload.send_file("a", "neither this\nnor that\n".repeat(100).as_bytes(), 100).await;
    let mut live = server.live(session.id()).await;
    let view = live.view_where(|view| view.complete).await;
    assert_eq!((view.report.lines, view.report.unparsed_lines), (200, 200));
    let unread = view.sources[0].unread.as_ref().expect("no line was read");
    assert_eq!(unread.reason, "is a text without times or addresses, not a log");
    assert!(!unread.is_log && unread.suggestion.is_none(), "{unread:?}");
    drop((upload, live));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pings_are_answered() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let mut live = server.live(session.id()).await;
    live.view().await;
    live.sender.send_ping(b"still there?").await.expect("the server reads");
    let pong = within(live.receiver.next()).await.expect("a message");
    assert_eq!(pong, Some(Message::Pong(b"still there?".to_vec())));
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_gets_a_group_and_a_comparison() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let mut live = server.live(session.id()).await;
    let compare = json!({ "id": 1, "group": "status_class", "top": 2, "compare": {} });
    live.ask(compare.clone()).await;
    let view = live.view_where(|view| view.query == 1).await;
    assert!(view.report.compare.is_none(), "there is no record yet");
    assert!(view.notes.iter().any(|note| note.starts_with("There is no comparison")));

    server.upload(session.id()).await.send_file("a", &log(1 << 18), 1 << 18).await;
    let view = live.view_where(|view| view.complete && view.query == 1).await;
    let report = &view.report;
    let comparison = report.compare.as_ref().expect("a comparison");
    assert_eq!(comparison.selected_period.since, comparison.previous_period.until);
    assert_eq!(report.matching + comparison.previous.matching, report.records, "two halves");
    assert_eq!(comparison.totals.matching.previous, comparison.previous.matching);
    let group = report.group.as_ref().expect("a group");
    assert_eq!((group.field.as_str(), group.rows.len()), ("status_class", 2));
    let counts = group.rows.iter().map(|row| row.tally.selected.count);
    assert_eq!(counts.sum::<u64>() + group.rest.tally.selected.count, report.matching);
    assert!(group.rows.iter().all(|row| row.tally.previous.is_some()));

    live.ask(json!({ "id": 2, "group": "bytes" })).await;
    let refused = loop {
        let message = live.message().await;
        if message["type"] == "error" {
            break message;
        }
    };
    assert_eq!(refused["error"]["name"], "bad_query");
    live.ask(json!({ "id": 3, "group": "method" })).await;
    let view = live.view_where(|view| view.query == 3).await;
    assert!(view.report.compare.is_none());
    assert_eq!(view.report.group.expect("a group").rows[0].tally.previous, None);
    drop(live);
    server.stop().await;
}

/// The clocks of New York were set forward at 02:00 on 13 March 2016.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_across_a_change_of_the_clocks_is_shown_in_its_zone() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let lines = |day: &str, offset: &str| {
        let line = |hour| {
            format!(
                "192.0.2.7 - - [{day}/Mar/2016:{hour:02}:30:00 {offset}] \"GET / HTTP/1.1\" 200 5\n"
            )
        };
        (12..24).map(line).collect::<String>()
    };
    let mut upload = server.upload(&id).await;
    let mut live = server.live(&id).await;
    upload.send_file("before", lines("12", "-0500").as_bytes(), 1 << 16).await;
    let view = live.view_where(|view| view.complete && view.report.records == 12).await;
    assert_eq!((view.report.time.zone.as_str(), view.notes.len()), ("-05:00", 0));
    assert!(view.report.time.offsets.is_empty());

    // Also what was asked before.
    let dates = json!({ "id": 1, "conditions": ["time>=2016-03-13"] });
    live.ask(dates).await;
    upload.send_file("after", lines("13", "-0400").as_bytes(), 1 << 16).await;
    let view = live.view_where(|view| view.complete && view.report.records == 24).await;
    let time = &view.report.time;
    assert_eq!((time.zone.as_str(), view.report.matching), ("America/New_York", 12));
    assert_eq!(time.offsets, ["-05:00", "-04:00"]);
    assert_eq!(time.first.as_deref(), Some("2016-03-13T12:30:00-04:00"));
    let note = "The time stamps have different offsets from UTC: -05:00, -04:00. They are shown in \
                America/New_York, the zone with those of the requests.";
    assert_eq!(view.notes, [note]);
    assert_eq!(server.report(&id).await["time"]["zone"], "America/New_York");

    // Lines of no such zone, and without them again.
    upload.send_file("else", lines("14", "+0200").as_bytes(), 1 << 16).await;
    let view = live.view_where(|view| view.complete && view.report.records == 36).await;
    assert_eq!(view.report.time.zone, "+02:00", "the last");
    assert!(
        view.notes[0].ends_with("All are shown in +02:00; choose another zone above the chart.")
    );
    let removed = format!("/api/sessions/{id}/sources/2");
    assert_eq!(server.request("DELETE", &removed, &[]).await.status, 204);
    let view = live.view_where(|view| view.report.records == 24).await;
    assert_eq!(view.report.time.zone, "America/New_York");
    drop((upload, live));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_names_the_remedy() {
    let remedies = Remedies { unknown_format: "Turn it around.".to_owned(), ..Remedies::default() };
    let (server, session) =
        TestServer::start_pinned(ServerOptions { remedies, ..ServerOptions::default() }).await;
    let line = "2025-12-17 09:03:01 192.0.2.7 no known format\n";
    server.upload(session.id()).await.send_file("a", line.as_bytes(), 16).await;
    let mut live = server.live(session.id()).await;
    let view = live.view_where(|view| view.complete).await;
    let note = "could be parsed in a known format.";
    let on_page =
        format!("No line of a.log {note} Give the format with “Format…” beside the name.");
    assert_eq!(view.notes, [&*on_page]);
    // The page takes no format of what is still being read.
    let mut upload = server.upload(session.id()).await;
    let lines = line.repeat(20_000);
    upload.request_begin_of("b", None, None).await;
    upload.ready().await;
    upload.send(lines.as_bytes(), 1 << 16).await;
    let view = live.view_where(|view| view.notes.len() == 2).await;
    assert_eq!(view.notes, [on_page, format!("No line of b.log {note} Turn it around.")]);
    drop((upload, live));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_ask_the_same_share_views() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let log = log(600_000);
    let mut pages = Vec::new();
    for id in 0..30_u64 {
        let mut live = server.live(session.id()).await;
        // Two questions, each with an id of its own on every connection.
        let clauses = match id % 2 {
            0 => json!([]),
            _ => json!([{ "field": "status", "op": ">=", "values": ["400"] }]),
        };
        live.ask(json!({ "id": id + 1, "clauses": clauses, "top": crate::common::ROWS })).await;
        pages.push(live);
    }
    server.upload(session.id()).await.send_file("f", &log, 20_000).await;
    let mut reports = Vec::new();
    for (number, live) in pages.iter_mut().enumerate() {
        let id = number as u64 + 1;
        let view = live.view_where(|view| view.complete && view.query == id).await;
        reports.push(serde_json::to_value(&view.report).expect("JSON"));
    }
    compare(&log, &reports[0]);
    for (number, report) in reports.iter().enumerate() {
        assert_eq!(report, &reports[number % 2], "page {number}");
    }
    assert!(reports[1]["matching"].as_u64() < reports[0]["matching"].as_u64());
    drop(pages);
    server.stop().await;
}
