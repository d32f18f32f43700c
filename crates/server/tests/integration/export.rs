//! The rows of a session as a file.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use weir_server::Options;
use weir_testkit::arrow::ArrowStream;

use crate::common::{TestServer, log, percent_encoded, within};

/// The text of a chunked body (RFC 9112 section 7.1).
fn unchunked(body: &[u8]) -> String {
    String::from_utf8(unchunked_bytes(body)).expect("text")
}

/// The bytes of a chunked body.
fn unchunked_bytes(mut body: &[u8]) -> Vec<u8> {
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
        let mut stream = TcpStream::connect(self.address).await.expect("the server listens");
        let (host, path) = (self.address, format!("/api/sessions/{id}/export?format=jsonl"));
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("the server reads");
        let mut first = [0; 12];
        within(stream.read_exact(&mut first)).await.expect("an answer");
        assert_eq!(&first, b"HTTP/1.1 200");
        stream
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exports_have_the_rows_of_the_conditions() {
    let (server, session) = TestServer::start_pinned(Options::default()).await;
    let id = session.id();
    server.upload(id).await.send_file("a", &log(300_000), 10_000).await;
    let records = server.report(id).await["records"].as_u64().expect("a number") as usize;
    let path = format!("/api/sessions/{id}/export?format=csv");
    let csv = server.request("GET", &path, &[]).await;
    assert_eq!((csv.status, csv.field("Content-Type")), (200, Some("text/csv; charset=utf-8")));
    let disposition = csv.field("Content-Disposition");
    assert_eq!(disposition, Some("attachment; filename=\"a.log.csv\""));
    assert_eq!(unchunked(&csv.body).lines().count(), records + 1);
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
        ("?format=xml", 400, "bad_request"),
        ("?format=csv&top=3", 400, "bad_request"),
        ("?format=csv&where=status%3D%3D4", 400, "bad_query"),
    ] {
        let path = format!("/api/sessions/{id}/export{rest}");
        let refused = server.request("GET", &path, &[]).await;
        assert_eq!((refused.status, &refused.json()["error"]), (status, &name.into()), "{rest}");
    }
    server.stop().await;
}

/// The rows are more than the buffers of a connection take.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_holds_no_lock_and_its_end_is_noticed() {
    let (server, session) = TestServer::start_pinned(Options::default()).await;
    let id = session.id();
    server.upload(id).await.send_file("a", &log(20_000_000), 200_000).await;
    let slow = server.begin_export(id).await;
    // The data set grows and answers meanwhile.
    server.upload(id).await.send_file("b", &log(100_000), 10_000).await;
    assert_eq!(server.report(id).await["sources"].as_array().map(Vec::len), Some(2));
    // A session has one export at a time, so the next one begins when the client has gone.
    drop(slow);
    drop(within(server.begin_export(id)).await);
    server.stop().await;
}
