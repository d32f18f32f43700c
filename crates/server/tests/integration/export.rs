//! The rows of a session as a file.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use weir_server::ServerOptions;
use weir_testkit::arrow::ArrowStream;

use crate::common::{PATIENCE, TestServer, log, percent_encoded, skip, within};

/// The text of a chunked body (RFC 9112 section 7.1).
fn unchunked(body: &[u8]) -> String {
    String::from_utf8(unchunked_bytes(body)).expect("text")
}

/// The bytes of a chunked body.
pub(crate) fn unchunked_bytes(mut body: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    loop {
        let end = body.windows(2).position(|pair| pair == b"\r\n").expect("a size");
        let size = std::str::from_utf8(&body[..end]).expect("a size");
        let size = usize::from_str_radix(size, 16).expect("a size");
        text.extend(&body[end + 2..end + 2 + size]);
        body = &body[end + 2 + size + 2..];
        if size == 0 {
            return text;
        }
    }
}

impl TestServer {
    /// Sends a request for an export, and reads only the first bytes of the answer.
    async fn begin_export(&self, id: &str) -> TcpStream {
        let mut stream = self.ask_for_export(id).await;
        let mut first = [0; 12];
        within(stream.read_exact(&mut first)).await.expect("an answer");
        assert_eq!(&first, b"HTTP/1.1 200");
        stream
    }

    /// Sends a request for an export, and reads nothing.
    async fn ask_for_export(&self, id: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.expect("the server listens");
        let (host, path) = (self.address, format!("/api/sessions/{id}/export?format=jsonl"));
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("the server reads");
        stream
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_are_saved_as_pages() {
    let html_report: weir_server::HtmlReport = |report, sources| {
        format!("<p>{} of {}", report.matching, sources.first().map_or("", |source| &source.name))
    };
    let options = ServerOptions { html_report: Some(html_report), ..ServerOptions::default() };
    let (server, session) = TestServer::start_pinned(options).await;
    let id = session.id();
    server.upload(id).await.send_file("a", &log(300_000), 10_000).await;
    let path = format!("/api/sessions/{id}/report?where=status%3D404");
    let report = server.request("GET", &path, &[]).await;
    let report: serde_json::Value = serde_json::from_slice(&report.body).expect("JSON");
    let page = server.request("GET", &format!("{path}&format=html"), &[]).await;
    assert_eq!((page.status, page.field("Content-Type")), (200, Some("text/html; charset=utf-8")));
    let disposition = page.field("Content-Disposition");
    assert_eq!(disposition, Some("attachment; filename=\"a.log-status_404.html\""));
    let text = String::from_utf8(page.body).expect("text");
    assert_eq!(text, format!("<p>{} of a.log", report["matching"]));
    let wrong = [("Accept", "application/json")];
    assert_eq!(server.request("GET", &format!("{path}&format=html"), &wrong).await.status, 406);
    assert_eq!(server.request("GET", &format!("{path}&format=pdf"), &[]).await.status, 400);
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let path = format!("/api/sessions/{}/report?format=html", session.id());
    assert_eq!(server.request("GET", &path, &[]).await.status, 400, "it has no such report");
}

#[tokio::test(flavor = "multi_thread")]
async fn exports_have_the_rows_of_the_conditions() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let id = session.id();
    server.upload(id).await.send_file("a", &log(300_000), 10_000).await;
    let records = server.report(id).await["records"].as_u64().expect("a number") as usize;
    let path = format!("/api/sessions/{id}/export?format=csv");
    let csv = server.request("GET", &path, &[]).await;
    assert_eq!((csv.status, csv.field("Content-Type")), (200, Some("text/csv; charset=utf-8")));
    let disposition = csv.field("Content-Disposition");
    assert_eq!(disposition, Some("attachment; filename=\"a.log.csv\""));
    assert_eq!(unchunked(&csv.body).lines().count(), records + 1);
    let chosen = server.request("GET", &format!("{path}&columns=status_code,client"), &[]).await;
    assert_eq!(unchunked(&chosen.body).lines().next(), Some("status_code,client"));
    assert_ne!(chosen.field("ETag"), csv.field("ETag"));
    let path = format!("/api/sessions/{id}/export?format=parquet");
    let table = server.request("GET", &path, &[]).await;
    let media_type = Some("application/vnd.apache.parquet");
    assert_eq!((table.status, table.field("Content-Type")), (200, media_type));
    let disposition = table.field("Content-Disposition");
    assert_eq!(disposition, Some("attachment; filename=\"a.log.parquet\""));
    let table = unchunked_bytes(&table.body);
    assert!(table.starts_with(b"PAR1") && table.ends_with(b"PAR1"), "a whole file");
    let path = format!("/api/sessions/{id}/export?format=arrow");
    let stream = server.request("GET", &path, &[]).await;
    let media_type = Some("application/vnd.apache.arrow.stream");
    assert_eq!((stream.status, stream.field("Content-Type")), (200, media_type));
    let disposition = stream.field("Content-Disposition");
    assert_eq!(disposition, Some("attachment; filename=\"a.log.arrows\""));
    let stream = ArrowStream::read(&unchunked_bytes(&stream.body));
    assert_eq!(stream.rows.len(), records);
    let condition = percent_encoded("status=404");
    let path = format!("/api/sessions/{id}/export?format=jsonl&where={condition}");
    let text = unchunked(&server.request("GET", &path, &[]).await.body);
    let path = format!("/api/sessions/{id}/report?where={condition}");
    let matching = server.request("GET", &path, &[]).await.json()["matching"].as_u64();
    assert_eq!(Some(text.lines().count() as u64), matching);
    assert!(text.lines().all(|line| line.contains("\"status\":\"404\"")), "{text}");
    for (rest, status, name) in [
        ("", 400, "bad_request"),
        ("?format=csv&format=csv", 400, "bad_request"),
        ("?format=csv&where=path%3D%FF", 400, "bad_request"),
        ("?format=xml", 400, "bad_request"),
        ("?format=csv&top=3", 400, "bad_request"),
        ("?format=csv&where=status%3D%3D4", 400, "bad_query"),
        ("?format=csv&columns=clint", 400, "bad_query"),
        ("?format=csv&columns=", 400, "bad_query"),
        ("?format=lines&columns=client", 400, "bad_request"),
    ] {
        let path = format!("/api/sessions/{id}/export{rest}");
        let refused = server.request("GET", &path, &[]).await;
        assert_eq!((refused.status, &refused.json()["error"]), (status, &name.into()), "{rest}");
    }
    server.stop().await;
}

/// The rows exceed the buffers of a connection.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_holds_no_lock_and_its_end_is_noticed() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let id = session.id();
    server.upload(id).await.send_file("a", &log(20_000_000), 200_000).await;
    let slow = server.begin_export(id).await;
    // The data set grows and answers in the meantime.
    server.upload(id).await.send_file("b", &log(100_000), 10_000).await;
    assert_eq!(server.report(id).await["sources"].as_array().map(Vec::len), Some(2));
    drop(slow);
    drop(server.begin_export(id).await);
    server.stop().await;
}

/// More exports than a session sends at a time, none of which is read.
#[tokio::test(flavor = "multi_thread")]
async fn exports_that_nobody_reads_do_not_keep_another_waiting() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let id = session.id();
    server.upload(id).await.send_file("a", &log(20_000_000), 200_000).await;
    let mut unread = Vec::new();
    for _ in 0..10 {
        unread.push(server.begin_export(id).await);
    }
    let path = format!("/api/sessions/{id}/export?format=csv&where=status%3D999");
    let answer = within(server.request("GET", &path, &[])).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    drop(unread);
    server.stop().await;
}

/// Three seconds for each of them would be 150 s. None is cut off for another one.
#[tokio::test(flavor = "multi_thread")]
async fn the_times_of_many_unread_exports_do_not_add_up() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let id = session.id();
    server.upload(id).await.send_file("a", &log(20_000_000), 200_000).await;
    let mut unread = Vec::new();
    for _ in 0..50 {
        unread.push(server.ask_for_export(id).await);
    }
    let path = format!("/api/sessions/{id}/export?format=csv&where=status%3D999");
    let begun = Instant::now();
    let answer = within(server.request("GET", &path, &[])).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    // They go on when they are read, in any order.
    for mut export in [unread.remove(40), unread.remove(0)] {
        let mut whole = Vec::new();
        while !whole.ends_with(b"0\r\n\r\n") {
            let read = within(export.read_buf(&mut whole)).await.expect("it is not cut off");
            assert!(read > 0, "the export ended after {} bytes", whole.len());
        }
    }
    drop(unread);
    server.stop().await;
}

/// More exports than the system's buffers hold, of which the last waits for its turn.
#[tokio::test(flavor = "multi_thread")]
async fn an_export_that_is_read_slowly_is_not_cut_while_another_waits() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let id = session.id();
    server.upload(id).await.send_file("a", &log(20_000_000), 200_000).await;
    let mut slow = server.begin_export(id).await;
    let mut others = Vec::new();
    for _ in 0..20 {
        others.push(server.ask_for_export(id).await);
    }
    // 50 kB a second, for longer than a client that reads nothing is waited for.
    let (begun, mut taken) = (Instant::now(), 0);
    let mut piece = vec![0; 5_000];
    while begun.elapsed() < Duration::from_secs(8) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let read = within(slow.read(&mut piece)).await.expect("it is not cut off");
        assert!(read > 0, "the export ended after {taken} bytes");
        taken += read;
    }
    // All others were cut off in turn, as they read nothing.
    let path = format!("/api/sessions/{id}/export?format=csv&where=status%3D999");
    let answer = within(server.request("GET", &path, &[])).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    // The rest can be read at full speed.
    let more = within(slow.read_exact(&mut vec![0; 4 << 20])).await;
    assert!(more.is_ok(), "{more:?}");
    drop(others);
    server.stop().await;
}

/// The time limit of a write of the crate `net` ends the export.
#[tokio::test]
async fn a_client_that_stops_reading_for_an_hour_lets_the_next_one_export() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let id = session.id().to_owned();
    server.upload(&id).await.send_file("a", &log(20_000_000), 200_000).await;
    let mut stalled = server.begin_export(&id).await;
    let begun = Instant::now();
    while server.handle.counts().connections > 0 {
        assert!(begun.elapsed() < PATIENCE, "the stalled export goes on");
        skip(Duration::from_secs(60)).await;
    }
    drop(server.begin_export(&id).await);
    // What the first client reads now ends without the last chunk.
    let mut rest = Vec::new();
    let ended = within(stalled.read_to_end(&mut rest)).await;
    assert!(ended.is_err() || !rest.ends_with(b"0\r\n\r\n"), "the export was not cut off");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_accept_field_chooses_a_form_or_excludes_it() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let id = session.id();
    server.upload(id).await.send_file("a", &log(30_000), 10_000).await;
    let path = |rest: &str| format!("/api/sessions/{id}/{rest}");
    for (rest, accept, media_type) in [
        ("export", "text/csv", "text/csv; charset=utf-8"),
        ("export", "text/csv;q=0.1, application/x-ndjson", "application/x-ndjson"),
        ("export?format=parquet", "text/html, */*;q=0.1", "application/vnd.apache.parquet"),
        ("report", "application/*", "application/json"),
    ] {
        let answer = server.request("GET", &path(rest), &[("Accept", accept)]).await;
        assert_eq!(
            (answer.status, answer.field("Content-Type")),
            (200, Some(media_type)),
            "{accept}"
        );
    }
    for (rest, accept, media_type) in [
        ("export", "image/png", "text/csv"),
        ("export?format=csv", "application/vnd.apache.parquet", "text/csv"),
        ("export?format=csv", "*/*, text/csv;q=0", "text/csv"),
        ("report", "text/csv", "application/json"),
    ] {
        let refused = server.request("GET", &path(rest), &[("Accept", accept)]).await;
        let body = refused.json();
        assert_eq!((refused.status, &body["error"]), (406, &"not_acceptable".into()), "{accept}");
        assert!(body["message"].as_str().is_some_and(|text| text.contains(media_type)), "{body}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_say_what_would_be_allowed() {
    let server = TestServer::start(ServerOptions::default()).await;
    let put = server.put("a.log", &log(3_000)).await;
    let id = put.field("Location").expect("an address").trim_start_matches("/s/").to_owned();
    for (method, path, allowed) in [
        ("DELETE", format!("/api/sessions/{id}/export"), "GET, HEAD"),
        ("POST", format!("/api/sessions/{id}/report"), "GET, HEAD"),
        ("POST", format!("/api/sessions/{id}"), "GET, HEAD, DELETE"),
        ("DELETE", "/api/sessions".to_owned(), "GET, HEAD, POST"),
        ("DELETE", "/".to_owned(), "GET, HEAD, PUT, POST"),
    ] {
        let refused = server.request(method, &path, &[]).await;
        assert_eq!((refused.status, refused.field("Allow")), (405, Some(allowed)), "{path}");
        assert_eq!(refused.json()["error"], "method_not_allowed");
    }
    let path = format!("/api/sessions/{id}/export?format=csv");
    let refused = server.request("GET", &path, &[("Range", "bytes=99999999-")]).await;
    assert_eq!((refused.status, &refused.json()["error"]), (416, &"range_not_satisfiable".into()));
    let bytes = refused.field("Content-Range").and_then(|range| range.strip_prefix("bytes */"));
    let message = refused.json()["message"].to_string();
    assert!(message.contains(&format!("{} bytes", bytes.expect("a length"))), "{message}");
    server.stop().await;
}
