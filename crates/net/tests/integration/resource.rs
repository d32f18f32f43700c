//! Resources, requested over a real connection.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use weir_net::{ContentCoding, Resource, ServeOptions};

use crate::common::{Running, exchange};

/// A folder that is removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("weir-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a file that was last changed at this second.
    fn write(&self, name: &str, bytes: &[u8], second: u64) {
        self.write_at(name, bytes, UNIX_EPOCH + Duration::from_secs(second));
    }

    fn write_at(&self, name: &str, bytes: &[u8], modified: SystemTime) {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// A file of 20,000 bytes, which is too large to be sent together with the head.
fn lines() -> Vec<u8> {
    (0..2_000).flat_map(|line| format!("line {line:04}\n").into_bytes()).collect()
}

/// A server of the folder's files.
async fn serve(folder: Arc<Folder>) -> Running {
    let handler = move |request: hyper::Request<_>, _| {
        let path = folder.0.join(request.uri().path().trim_start_matches('/'));
        let response = Resource::open("text/plain", &path).unwrap().respond(&request);
        async move { response }
    };
    Running::start(ServeOptions::default(), handler).await
}

/// The head and the body of the response to a request with these fields.
async fn ask(server: &Running, start: &str, fields: &[&str]) -> (String, String) {
    let mut request = format!("{start} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
    for field in fields {
        request += field;
        request += "\r\n";
    }
    let response = exchange(&mut server.connect().await, &(request + "\r\n")).await;
    let (head, body) = response.split_once("\r\n\r\n").expect("a head");
    (head.to_lowercase(), body.to_owned())
}

/// The value of a header field.
fn field<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

#[tokio::test]
async fn a_file_is_sent_whole_in_part_or_not_again() {
    let folder = Arc::new(Folder::new("resource"));
    folder.write("log", &lines(), 784_111_777);
    let server = serve(folder.clone()).await;

    let (head, body) = ask(&server, "GET /log", &[]).await;
    assert!(head.starts_with("http/1.1 200 "), "{head}");
    assert_eq!(body.as_bytes(), lines());
    assert_eq!(field(&head, "accept-ranges"), Some("bytes"));
    assert_eq!(field(&head, "last-modified"), Some("sun, 06 nov 1994 08:49:37 gmt"));
    assert_eq!(field(&head, "vary"), None, "there is one form of it");
    let tag = field(&head, "etag").expect("a tag").to_owned();

    let (head, body) = ask(&server, "HEAD /log", &[]).await;
    assert!(head.starts_with("http/1.1 200 ") && body.is_empty(), "{head}");
    assert_eq!(field(&head, "content-length"), Some("20000"));

    let (head, body) = ask(&server, "GET /log", &["Range: bytes=10-19"]).await;
    assert!(head.starts_with("http/1.1 206 "), "{head}");
    assert_eq!(field(&head, "content-range"), Some("bytes 10-19/20000"));
    assert_eq!(body, "line 0001\n");

    let resume = ["Range: bytes=19990-", &format!("If-Range: {tag}")];
    let (head, body) = ask(&server, "GET /log", &resume).await;
    assert_eq!(field(&head, "content-range"), Some("bytes 19990-19999/20000"));
    assert_eq!(body, "line 1999\n");

    let (head, body) = ask(&server, "GET /log", &["Range: bytes=20000-"]).await;
    assert!(head.starts_with("http/1.1 416 "), "{head}");
    assert_eq!(body, "the range begins after the end of the content, 20000 bytes\n");
    assert_eq!(field(&head, "content-range"), Some("bytes */20000"));

    let (head, body) = ask(&server, "GET /log", &["Range: bytes=0-1,5-6"]).await;
    assert!(head.starts_with("http/1.1 200 ") && body.len() == 20_000, "{head}");

    let (head, body) = ask(&server, "GET /log", &[&format!("If-None-Match: {tag}")]).await;
    assert!(head.starts_with("http/1.1 304 ") && body.is_empty(), "{head}");
    assert_eq!(field(&head, "etag"), Some(tag.as_str()));

    let (head, _) = ask(&server, "GET /log", &["If-Match: \"other\""]).await;
    assert!(head.starts_with("http/1.1 412 "), "{head}");
    let (head, _) = ask(&server, "DELETE /log", &[]).await;
    assert!(head.starts_with("http/1.1 405 "), "{head}");
    assert_eq!(field(&head, "allow"), Some("get, head"));
    let (head, body) = ask(&server, "GET /log", &["Accept-Encoding: identity;q=0"]).await;
    assert!(head.starts_with("http/1.1 406 "), "{head}");
    assert!(body.contains("Accept-Encoding"), "{body}");

    // Different content has a different tag, so a client does not join parts of two files.
    folder.write("log", &lines()[..19_000], 784_111_778);
    let (head, body) = ask(&server, "GET /log", &resume).await;
    assert!(head.starts_with("http/1.1 200 ") && body.len() == 19_000, "{head}");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn compressed_files_are_sent_if_they_are_as_new() {
    let folder = Arc::new(Folder::new("compressed"));
    folder.write("page.js", b"plain", 1_000);
    folder.write("page.js.gz", b"gzip of it", 1_000);
    folder.write("page.js.br", b"old brotli", 999);
    let server = serve(folder).await;

    let (head, body) = ask(&server, "GET /page.js", &["Accept-Encoding: gzip, br"]).await;
    assert_eq!((field(&head, "content-encoding"), body.as_str()), (Some("gzip"), "gzip of it"));
    assert_eq!(field(&head, "vary"), Some("accept-encoding"));
    let gzip_tag = field(&head, "etag").expect("a tag").to_owned();

    let (head, body) = ask(&server, "GET /page.js", &[]).await;
    assert_eq!((field(&head, "content-encoding"), body.as_str()), (None, "plain"));
    assert_eq!(field(&head, "vary"), Some("accept-encoding"));
    assert_ne!(field(&head, "etag"), Some(gzip_tag.as_str()), "a tag is of one form");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_file_of_a_time_that_http_cannot_express_has_no_date() {
    let folder = Arc::new(Folder::new("old-resources"));
    folder.write_at("old", b"x", UNIX_EPOCH - Duration::from_secs(86_400));
    let server = serve(folder).await;
    let (head, body) =
        ask(&server, "GET /old", &["If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT"]).await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert_eq!((field(&head, "last-modified"), body.as_str()), (None, "x"));
    server.stop().await.unwrap();
}

#[tokio::test]
async fn only_regular_files_are_opened() {
    let folder = Folder::new("irregular");
    assert!(Resource::open("text/plain", &folder.0).is_err(), "a folder");
    assert!(Resource::open("text/plain", &folder.0.join("nothing")).is_err());
    #[cfg(unix)]
    {
        let pipe = folder.0.join("pipe");
        let status = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(status.success());
        assert!(Resource::open("text/plain", &pipe).is_err(), "a pipe that nobody writes to");
    }
}

#[test]
fn bytes_have_the_same_tag_after_a_restart() {
    let request = hyper::Request::get("/").header("accept-encoding", "gzip").body(()).unwrap();
    let resource = Resource::from_bytes("text/css", "a {}");
    assert_eq!(resource.respond(&request).headers()["etag"], "\"cea9446b8ae615cc\"");
    let compressed = resource.with_compressed(ContentCoding::Gzip, "gzip of it");
    let response = compressed.respond(&request);
    assert_eq!(response.headers()["content-encoding"], "gzip");
    assert_ne!(response.headers()["etag"], "\"cea9446b8ae615cc\"");
}
