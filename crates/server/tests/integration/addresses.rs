//! Every address: its responses, its refusals, and the header fields of each response.

use std::io::Read;

use crate::common::{TestServer, compare, log, read_response};
use flate2::read::GzDecoder;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use weir_server::{Address, Server, ServerOptions, StartError};
use weir_view::Report;

#[tokio::test(flavor = "multi_thread")]
async fn the_page_and_its_files() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let page = server.request("GET", "/", &[]).await;
    assert_eq!((page.status, page.field("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(page.field("cache-control"), Some("no-store"));
    assert!(page.text().contains("<title>Weir</title>"));
    let own = server.request("GET", &format!("/s/{}", session.id()), &[]).await;
    assert_eq!((own.status, &own.body), (200, &page.body));
    let gone = server.request("GET", "/s/0123", &[]).await;
    assert_eq!((gone.status, &gone.body), (404, &page.body), "the page reports it itself");
    for (path, content_type) in [
        ("/assets/app.js", "text/javascript; charset=utf-8"),
        ("/assets/page.css", "text/css; charset=utf-8"),
        ("/favicon.svg", "image/svg+xml"),
    ] {
        let file = server.request("GET", path, &[]).await;
        assert_eq!((file.status, file.field("content-type")), (200, Some(content_type)));
        assert_eq!(file.field("cache-control"), Some("no-cache"));
        let tag = file.field("etag").expect("a tag").to_owned();
        let again = server.request("GET", path, &[("If-None-Match", &tag)]).await;
        assert_eq!((again.status, again.body.len()), (304, 0));
        let other = server.request("GET", path, &[("If-None-Match", "\"0\"")]).await;
        assert_eq!(other.status, 200);
        let compressed = server.request("GET", path, &[("Accept-Encoding", "gzip, br")]).await;
        assert_eq!(compressed.field("content-encoding"), Some("gzip"), "{path}");
        let mut unpacked = Vec::new();
        GzDecoder::new(&compressed.body[..]).read_to_end(&mut unpacked).expect("gzip");
        assert!(unpacked == file.body && compressed.body.len() < file.body.len(), "{path}");
    }
    assert_eq!(server.request("HEAD", "/", &[]).await.body.len(), 0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_response_has_the_security_fields() {
    let server = TestServer::start(ServerOptions::default()).await;
    for (method, path) in
        [("GET", "/"), ("GET", "/nothing"), ("POST", "/api/sessions"), ("GET", "/assets/app.js")]
    {
        let response = server.request(method, path, &[]).await;
        let policy = response.field("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"));
        assert!(!policy.contains("unsafe"));
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(response.field(name), Some(value), "{method} {path}");
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let id = session.id();
    let report = |query: &str| format!("/api/sessions/{id}/report?{query}");
    for (method, path, status, name) in [
        ("GET", "/nothing".to_owned(), 404, "not_found"),
        ("GET", "/api/nothing".to_owned(), 404, "not_found"),
        ("PUT", "/api/nothing".to_owned(), 404, "not_found"),
        ("DELETE", "/".to_owned(), 405, "method_not_allowed"),
        ("DELETE", "/api/sessions".to_owned(), 405, "method_not_allowed"),
        ("PUT", format!("/api/sessions/{id}"), 405, "method_not_allowed"),
        ("GET", "/api/sessions/0123".to_owned(), 404, "unknown_session"),
        ("DELETE", "/new".to_owned(), 405, "method_not_allowed"),
        ("GET", "/api/sessions/0123/report".to_owned(), 404, "unknown_session"),
        ("GET", "/api/sessions/0123/live".to_owned(), 404, "unknown_session"),
        ("DELETE", "/api/sessions/0123".to_owned(), 404, "unknown_session"),
        ("GET", format!("/api/sessions/{id}/live"), 426, "not_a_websocket"),
        ("GET", report("where=status"), 400, "bad_query"),
        ("GET", report("where=path~("), 400, "bad_query"),
        ("GET", report("where=nothing%3D1"), 400, "bad_query"),
        ("GET", report("zone=Europe/Atlantis"), 400, "bad_query"),
        ("GET", report("group=bytes"), 400, "bad_query"),
        ("GET", report("compare=yesterday"), 400, "bad_query"),
        ("GET", report("compare="), 400, "bad_query"),
        ("GET", report("top=x"), 400, "bad_request"),
        ("GET", report("else=1"), 400, "bad_request"),
    ] {
        let response = server.request(method, &path, &[]).await;
        let refusal = response.json();
        assert_eq!((response.status, &refusal["error"]), (status, &name.into()), "{path}");
        assert!(refusal["message"].as_str().is_some_and(|message| message.len() > 10));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_has_the_group_and_the_comparison_of_a_live_view() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    server.upload(session.id()).await.send_file("a", &log(1 << 18), 1 << 18).await;
    let path = |query: &str| format!("/api/sessions/{}/report?{query}", session.id());
    let mut live = server.live(session.id()).await;
    let whole = live.view_where(|view| view.complete).await.report;
    let until = whole.time.last.expect("a time");
    let halves = serde_json::json!({});
    let part = serde_json::json!({ "since": "2000-01-01", "until": until });
    for (id, text, compare) in [
        (1, "compare=", halves),
        (2, &format!("compare=2000-01-01/{}", until.replace('+', "%2B")), part),
    ] {
        let query = serde_json::json!({
            "id": id, "group": "status_class", "top": 2, "compare": compare
        });
        live.ask(query).await;
        let view = live.view_where(|view| view.query == id).await;
        assert!(view.report.compare.is_some() && view.report.group.is_some());
        let response =
            server.request("GET", &path(&format!("group=status_class&top=2&{text}")), &[]).await;
        let mut report: Report = serde_json::from_value(response.json()).expect("a report");
        // The sources of a view are compared separately.
        let sources = std::mem::take(&mut report.sources);
        assert_eq!((sources.len(), sources[0].lines), (1, view.report.lines));
        assert_eq!(report, view.report, "{text}");
    }
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_hosts_and_origins_are_refused_everywhere() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let port = server.address.port();
    let live = format!("/api/sessions/{}/live", session.id());
    let host = format!("127.0.0.1:{port}");
    for path in ["/", "/assets/app.js", live.as_str()] {
        for foreign in ["evil.example", "192.168.1.7:80", "localhost.evil.example"] {
            let response = server.request_as("GET", path, &[("Host", foreign)], b"").await;
            assert_eq!((response.status, &response.json()["error"]), (421, &"foreign_host".into()));
            let message = response.json()["message"].to_string();
            assert!(message.contains(&format!("`{foreign}`")), "{message}");
            assert!(
                message.contains("--public-url") && message.contains("$http_host"),
                "{message}"
            );
        }
        for origin in ["http://evil.example", "null", "https://localhost"] {
            let fields = [("Host", host.as_str()), ("Origin", origin)];
            let response = server.request_as("GET", path, &fields, b"").await;
            assert_eq!(response.status, 403);
            assert_eq!(response.json()["error"], "foreign_origin");
        }
    }
    let local = format!("localhost:{port}");
    let origin = format!("http://{local}");
    let fields = [("Host", local.as_str()), ("Origin", origin.as_str())];
    assert_eq!(server.request_as("POST", "/api/sessions", &fields, b"").await.status, 201);
    server.stop().await;
}

/// With `ssh -L 9000:127.0.0.1:7878` and reverse proxies, `Host` differs from the server's own
/// name.
#[tokio::test(flavor = "multi_thread")]
async fn forwarded_ports_and_the_public_url_are_answered() {
    let public_url = Some("https://logs.example".parse().expect("a URL"));
    let server = TestServer::start(ServerOptions { public_url, ..ServerOptions::default() }).await;
    for (host, origin) in [
        ("localhost:9000", "http://localhost:9000"),
        ("127.0.0.1:9000", "http://127.0.0.1:9000"),
        ("logs.example", "https://logs.example"),
    ] {
        let fields = [("Host", host), ("Origin", origin)];
        let created = server.request_as("POST", "/api/sessions", &fields, b"").await;
        assert_eq!(created.status, 201, "{host}");
        let fields = [("Host", host), ("Content-Length", "0")];
        let uploaded = server.request_as("PUT", "/a.log", &fields, b"").await;
        assert!(uploaded.text().starts_with(&format!("{origin}/s/")), "{}", uploaded.text());
    }
    let fields = [("Host", "localhost:9000"), ("Origin", "http://localhost:3000")];
    assert_eq!(server.request_as("POST", "/api/sessions", &fields, b"").await.status, 403);
    server.stop().await;
}

#[tokio::test]
async fn an_address_in_use_is_named() {
    let server = Server::bind(ServerOptions::default()).await.expect("a free port");
    let address = server.local_addr().expect("an address");
    let listen = vec![Address::Tcp(address.to_string())];
    let error = Server::bind(ServerOptions { listen, ..ServerOptions::default() })
        .await
        .expect_err("taken");
    assert!(error.is_address_in_use());
    assert!(error.to_string().contains(&address.to_string()));
    let zone = Some("Europe/Atlantis".to_owned());
    let error = Server::bind(ServerOptions { zone, ..ServerOptions::default() })
        .await
        .expect_err("no zone");
    assert!(matches!(error, StartError::Zone(_)));
}

/// The session of a response to `curl -T`.
fn session(response: &crate::common::Response) -> &str {
    response.field("location").and_then(|path| path.strip_prefix("/s/")).expect("an address")
}

#[tokio::test(flavor = "multi_thread")]
async fn curl_uploads_with_a_length() {
    let server = TestServer::start(ServerOptions::default()).await;
    let log = log(3 << 20);
    let (host, length) = (server.address.to_string(), log.len().to_string());
    let fields = [
        ("Host", host.as_str()),
        ("Content-Length", length.as_str()),
        ("Expect", "100-continue"),
        ("User-Agent", "curl/8.0"),
    ];
    let response = server.request_as("PUT", "/my%20access.log", &fields, &log).await;
    assert_eq!(response.status, 201, "{}", response.text());
    let id = session(&response);
    let mut lines = response.text().lines();
    assert_eq!(lines.next(), Some(format!("http://{host}/s/{id}").as_str()));
    let report = server.report(id).await;
    compare(&log, &report);
    let summary = lines.next().expect("a summary");
    assert!(summary.starts_with(&format!("{} lines: ", report["lines"])), "{summary}");
    let view = server.live(id).await.view().await;
    assert_eq!((view.sources[0].name.as_str(), view.complete), ("my access.log", true));
    assert_eq!(view.sources[0].bytes_total, Some(log.len() as u64));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn curl_uploads_in_chunks() {
    let server = TestServer::start(ServerOptions::default()).await;
    let log = log(300_000);
    for (method, path, chunk_bytes) in [("POST", "/a/b.log", 1_000), ("PUT", "/", 100_000)] {
        let mut body = Vec::new();
        for chunk in log.chunks(chunk_bytes) {
            body.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            body.extend_from_slice(chunk);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"0\r\n\r\n");
        let host = server.address.to_string();
        let fields = [("Host", host.as_str()), ("Transfer-Encoding", "chunked")];
        let response = server.request_as(method, path, &fields, &body).await;
        assert_eq!(response.status, 201, "{}", response.text());
        compare(&log, &server.report(session(&response)).await);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_name_is_cut() {
    let server = TestServer::start(ServerOptions::default()).await;
    let (host, path) = (server.address.to_string(), format!("/{}", "%C3%A9".repeat(1_000)));
    let fields = [("Host", host.as_str()), ("Content-Length", "0")];
    let response = server.request_as("PUT", &path, &fields, b"").await;
    assert_eq!(response.status, 201, "{}", response.text());
    let view = server.live(session(&response)).await.view().await;
    assert_eq!(view.sources[0].name, "é".repeat(256));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_body_is_refused() {
    let stall = std::time::Duration::from_secs(1);
    let server = TestServer::start(ServerOptions { stall, ..ServerOptions::default() }).await;
    let log = log(20_000);
    let host = server.address.to_string();
    let fields = [("Host", host.as_str()), ("Content-Length", "30000")];
    let response = server.request_as("PUT", "/a.log", &fields, &log).await;
    assert_eq!((response.status, &response.json()["error"]), (408, &"stalled".into()));
    let report = server.report(session(&response)).await;
    assert!(report["lines"].as_u64() > Some(10), "whole lines are kept");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_body_fails_its_source() {
    let server = TestServer::start(ServerOptions::default()).await;
    let log = log(20_000);
    let mut stream = TcpStream::connect(server.address).await.expect("the server listens");
    let head = format!(
        "PUT /a.log HTTP/1.1\r\nHost: {}\r\nContent-Length: 30000\r\nConnection: close\r\n\r\n",
        server.address
    );
    stream.write_all(head.as_bytes()).await.expect("the server reads");
    stream.write_all(&log).await.expect("the server reads");
    stream.shutdown().await.expect("the connection is open");
    let response = read_response(&mut stream).await;
    assert_eq!((response.status, &response.json()["error"]), (400, &"broken".into()));
    let view = server.live(session(&response)).await.view().await;
    assert_eq!(view.sources[0].state, weir_view::SourceState::Failed);
    assert!(view.report.records > 10);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_follows_its_query() {
    let server = TestServer::start(ServerOptions::default()).await;
    let log = log(300_000);
    let id = server.create_session().await;
    server.upload(&id).await.send_file("a", &log, 50_000).await;
    let mut oracle =
        weir_testkit::oracle::Oracle::read(weir_testkit::oracle::Layout::Combined, &log);
    oracle.retain(|record| {
        record.fields.get("method").is_some_and(|method| method == b"GET")
            && matches!(record.status(), Some(404 | 500))
    });
    let path = format!(
        "/api/sessions/{id}/report?where=method%3DGET&where=status%3D404&where=status=500&top=3\
         &zone=%2B02:00"
    );
    let report = server.request("GET", &path, &[]).await.json();
    let step_s = report["histogram"]["step_s"].as_u64().expect("some match");
    let expected = oracle.to_json(3, step_s, 7_200);
    for key in ["matching", "lines", "bytes_sent", "errors", "distinct", "top"] {
        assert_eq!(report[key], expected[key], "{key}");
    }
    assert_eq!(report["time"]["first"], expected["time"]["first"]);
    server.stop().await;
}
