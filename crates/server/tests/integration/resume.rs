//! Exports that were interrupted and continue at the first missing byte.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use weir_ingest::Retention;
use weir_server::ServerOptions;

use crate::common::{Response, TestServer, log, percent_encoded, within};

/// A file that is fetched as `curl -C -` does: each request asks for the missing bytes.
struct Download {
    path: String,
    bytes: Vec<u8>,
    /// The length of the file, once the server has stated it.
    total: Option<usize>,
}

impl Download {
    fn new(path: String) -> Self {
        Self { path, bytes: Vec::new(), total: None }
    }

    fn is_complete(&self) -> bool {
        self.total == Some(self.bytes.len())
    }

    /// Asks for the rest, and breaks the connection after about this many bytes.
    async fn advance(&mut self, server: &TestServer, bytes_max: usize) {
        let mut stream = TcpStream::connect(server.address).await.expect("the server listens");
        let (path, host, at) = (&self.path, server.address, self.bytes.len());
        let range = if at > 0 { format!("Range: bytes={at}-\r\n") } else { String::new() };
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{range}\r\n");
        stream.write_all(request.as_bytes()).await.expect("the server reads");
        let mut answer = Vec::new();
        while answer.len() < bytes_max
            && within(stream.read_buf(&mut answer)).await.expect("an answer") > 0
        {}
        drop(stream);
        let Some(end) = answer.windows(4).position(|part| part == b"\r\n\r\n") else { return };
        let body = answer.split_off(end + 4);
        let head = String::from_utf8(answer).expect("a head").to_ascii_lowercase();
        if at == 0 {
            assert!(head.starts_with("http/1.1 200 "), "{head}");
            return self.bytes = arrived(&body);
        }
        assert!(head.starts_with("http/1.1 206 "), "{head}");
        let (_, range) = head.split_once("content-range: bytes ").expect("a range");
        let (range, _) = range.split_once("\r\n").expect("the end of a line");
        let (range, total) = range.split_once('/').expect("a length");
        let total: usize = total.parse().expect("a number");
        assert_eq!(range, format!("{at}-{}", total - 1));
        assert!(head.contains(&format!("content-length: {}\r\n", total - at)), "{head}");
        self.total = Some(total);
        self.bytes.extend(body);
    }
}

/// The received part of a chunked body (RFC 9112 section 7.1).
fn arrived(mut body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(end) = body.windows(2).position(|pair| pair == b"\r\n") {
        let size = std::str::from_utf8(&body[..end]).expect("a size");
        let size = usize::from_str_radix(size, 16).expect("a size");
        let rest = &body[end + 2..];
        bytes.extend(&rest[..size.min(rest.len())]);
        body = rest.get(size + 2..).unwrap_or_default();
    }
    bytes
}

/// The body of a response with or without a length.
fn body_of(response: &Response) -> Vec<u8> {
    match response.field("Content-Length") {
        Some(_) => response.body.clone(),
        None => arrived(&response.body),
    }
}

impl TestServer {
    async fn get(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        self.request("GET", path, fields).await
    }
}

/// Pseudo-random numbers, the same in each run.
fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_export_goes_on_with_the_same_bytes() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let id = session.id();
    // More rows than a row group has.
    server.upload(id).await.send_file("a", &log(18_000_000), 200_000).await;
    let condition = percent_encoded("status>=300 and not path^=/products");
    for (seed, (question, step_bytes_max)) in (1..).zip([
        ("format=csv".to_owned(), 6_000_000),
        ("format=jsonl&zone=Asia/Tokyo".to_owned(), 9_000_000),
        ("format=parquet".to_owned(), 500_000),
        ("format=arrow".to_owned(), 2_000_000),
        (format!("format=csv&where={condition}"), 500_000),
        (format!("format=parquet&where={condition}"), 80_000),
    ]) {
        let mut random = numbers(seed);
        let mut download = Download::new(format!("/api/sessions/{id}/export?{question}"));
        let mut requests = 0;
        while !download.is_complete() {
            download.advance(&server, 1_000 + random(step_bytes_max)).await;
            requests += 1;
        }
        assert!(requests > 2, "{question}: {requests} requests");
        let whole = server.get(&download.path, &[]).await;
        assert_eq!(whole.status, 200, "{question}");
        assert!(download.bytes == body_of(&whole), "{question}: the bytes differ");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_at_rest_has_a_tag_and_ranges() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let id = session.id();
    server.upload(id).await.send_file("a", &log(300_000), 10_000).await;
    let path = format!("/api/sessions/{id}/export?format=csv");
    let head = server.request("HEAD", &path, &[]).await;
    let tag = head.field("ETag").expect("a tag").to_owned();
    assert!(tag.starts_with('"'), "it is strong");
    assert_eq!((head.status, head.field("Accept-Ranges")), (200, Some("bytes")));
    assert_eq!((head.field("Content-Length"), head.body.len()), (None, 0), "nothing was computed");

    let past = server.get(&path, &[("Range", "bytes=99999999-")]).await;
    let total = past.field("Content-Range").and_then(|text| text.strip_prefix("bytes */"));
    let total = total.expect("a length").to_owned();
    assert_eq!((past.status, &past.json()["error"]), (416, &"range_not_satisfiable".into()));
    let whole = server.get(&path, &[]).await;
    assert_eq!((whole.status, whole.field("ETag")), (200, Some(tag.as_str())));
    assert_eq!(whole.field("Content-Length"), Some(total.as_str()), "the length is known now");
    let head = server.request("HEAD", &path, &[]).await;
    assert_eq!(head.field("Content-Length"), Some(total.as_str()));
    let whole = body_of(&whole);
    assert_eq!(whole.len().to_string(), total);

    let last = whole.len() - 1;
    for (range, start, end) in [
        ("bytes=0-0", 0, 0),
        ("bytes=100000-100099", 100_000, 100_099),
        ("bytes=70000-", 70_000, last),
        ("bytes=-17", last - 16, last),
        ("bytes=5-99999999", 5, last),
    ] {
        let part = server.get(&path, &[("Range", range), ("If-Range", &tag)]).await;
        let stated = format!("bytes {start}-{end}/{total}");
        assert_eq!((part.status, part.field("Content-Range")), (206, Some(stated.as_str())));
        assert_eq!(part.field("ETag"), Some(tag.as_str()));
        assert!(part.body == whole[start..=end], "{range}");
    }
    for (fields, status) in [
        (&[("Range", "bytes=5-"), ("If-Range", "\"other\"")][..], 200),
        (&[("Range", "bytes=0-1,4-5")], 200),
        (&[("Range", "rows=0-1")], 200),
        (&[("If-None-Match", tag.as_str())], 304),
        (&[("Range", "bytes=5-"), ("If-Match", "\"other\"")], 412),
    ] {
        let answer = server.get(&path, fields).await;
        assert_eq!(answer.status, status, "{fields:?}");
        let bytes = if status == 200 { whole.len() } else { 0 };
        assert_eq!(body_of(&answer).len(), bytes, "{fields:?}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_is_of_one_question_about_one_state() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let id = session.id();
    let path = |question: &str| format!("/api/sessions/{id}/export?{question}");
    let tag = async |question: &str| {
        let answer = server.request("HEAD", &path(question), &[]).await;
        answer.field("ETag").map(str::to_owned)
    };
    server.upload(id).await.send_file("a", &log(100_000), 10_000).await;
    let time = percent_encoded("time>=2020-01-01");
    let questions = [
        "format=csv",
        "format=jsonl",
        "format=parquet",
        "format=arrow",
        "format=csv&where=status%3D404",
        "format=csv&zone=Asia/Tokyo",
        "format=csv&kind=error_log_line",
        &format!("format=csv&where={time}"),
    ];
    let mut tags = Vec::new();
    for question in questions {
        tags.push(tag(question).await.expect("a tag"));
        assert_eq!(tag(question).await.as_ref(), tags.last(), "{question}");
    }
    tags.sort();
    tags.dedup();
    assert_eq!(tags.len(), questions.len());
    let of_now = percent_encoded("time>=-7d");
    assert_eq!(tag(&format!("format=csv&where={of_now}")).await, None, "rows leave it");

    // More rows, and the same rows again without the others.
    server.upload(id).await.send_file("b", &log(50_000), 10_000).await;
    let more = tag("format=csv").await.expect("a tag");
    assert!(!tags.contains(&more));
    let removed = server.request("DELETE", &format!("/api/sessions/{id}/sources/0"), &[]).await;
    assert_eq!(removed.status, 204);
    let less = tag("format=csv").await.expect("a tag");
    assert!(less != more && !tags.contains(&less));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_has_no_ranges_while_data_comes_or_expires() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let path = format!("/api/sessions/{}/export?format=csv", session.id());
    let bytes = log(100_000);
    let mut upload = server.upload(session.id()).await;
    assert_eq!(upload.begin("a", bytes.len()).await, 0);
    upload.send(&bytes[..90_000], 10_000).await;
    upload.wait_for_ack(80_000).await;
    let part = server.get(&path, &[("Range", "bytes=5-"), ("If-None-Match", "*")]).await;
    assert_eq!((part.status, part.field("Accept-Ranges")), (200, Some("none")));
    assert_eq!(part.field("ETag"), None);
    assert!(body_of(&part).starts_with(b"file,"), "the whole");
    for (tags, status) in [("\"a\"", 412), ("*", 200)] {
        let part = server.get(&path, &[("Range", "bytes=5-"), ("If-Match", tags)]).await;
        assert_eq!(part.status, status, "If-Match: {tags}");
    }
    upload.send(&bytes[90_000..], 10_000).await;
    upload.finish("a").await;
    assert!(server.get(&path, &[]).await.field("ETag").is_some());
    server.stop().await;

    let retention = Retention::Window { width: None };
    let options = ServerOptions { retention, ..ServerOptions::default() };
    let (server, session) = TestServer::start_pinned(options).await;
    server.upload(session.id()).await.send_file("a", &bytes, 10_000).await;
    let path = format!("/api/sessions/{}/export?format=csv", session.id());
    let head = server.request("HEAD", &path, &[]).await;
    assert_eq!((head.field("Accept-Ranges"), head.field("ETag")), (Some("none"), None));
    server.stop().await;
}
