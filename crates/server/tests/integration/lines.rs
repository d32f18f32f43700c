//! The lines of a selection.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use weir_ingest::{FormatChoice, Input, Pipeline, read_inputs};
use weir_server::{ServerOptions, SessionHandle};

use crate::common::{Live, TestServer, log, percent_encoded};
use crate::export::unchunked_bytes;

impl Live {
    async fn ask_lines(&mut self, panel: u32, query: Value, from: u64, count: u32) {
        let message = json!({
            "type": "lines", "panel": panel, "query": query, "from": from, "count": count
        });
        self.sender.send_text(&message.to_string()).await.expect("the server reads");
    }

    /// The next answer about lines; skips views.
    async fn lines(&mut self) -> Value {
        loop {
            let message = self.message().await;
            if message["type"] == "lines" {
                return message;
            }
            assert_eq!(message["type"], "view", "{message}");
        }
    }
}

/// A test's folder, which is deleted on drop.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("weir-lines-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a writable folder");
        Self(path)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).expect("a writable folder");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Reads files as the command does.
pub(crate) async fn read(session: &SessionHandle, paths: &[&Path]) {
    let pipeline: Arc<Pipeline> = session.pipeline().expect("a live session");
    let inputs: Vec<Input> =
        paths.iter().map(|path| Input::File(path.to_path_buf().into())).collect();
    let data = pipeline.data().clone();
    let reading = tokio::task::spawn_blocking(move || {
        read_inputs(&pipeline, &inputs, &FormatChoice::Detect, 1)
    });
    let faults = reading.await.expect("no panic");
    assert!(faults.is_empty(), "{faults:?}");
    data.wait_for_ends().await;
}

/// The lines of a log that are records with this status.
fn with_status<'a>(log: &'a [u8], status: &str) -> Vec<&'a [u8]> {
    let part = format!("\" {status} ");
    let lines = log.split(|byte| *byte == b'\n');
    lines.filter(|line| line.windows(part.len()).any(|found| found == part.as_bytes())).collect()
}

fn texts(answer: &Value) -> Vec<String> {
    let lines = answer["lines"].as_array().expect("lines");
    lines.iter().map(|line| line["text"].as_str().unwrap_or("none").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_read_back_from_the_files_on_the_disk() {
    let folder = Folder::new("disk");
    let (one, two) = (log(200_000), log(90_000));
    let paths = [folder.write("one.log", &one), folder.write("two.log", &two)];
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    read(&session, &[&paths[0], &paths[1]]).await;
    let mut live = server.live(session.id()).await;
    let query = json!({ "id": 3, "conditions": ["status=404"] });
    let expected = [with_status(&one, "404"), with_status(&two, "404")].concat();
    assert!(expected.len() > 20);
    let expected: Vec<String> =
        expected.into_iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    let first_of_two = with_status(&one, "404").len() as u64;
    for from in [0, 1, first_of_two - 1, first_of_two, expected.len() as u64 - 1, 1 << 40] {
        live.ask_lines(1, query.clone(), from, 7).await;
        let reply = live.lines().await;
        assert_eq!((&reply["panel"], &reply["query"]), (&json!(1), &json!(3)), "{reply}");
        let answer = &reply["answer"];
        assert_eq!(answer["total"], expected.len(), "{answer}");
        let wanted: Vec<String> = expected.iter().skip(from as usize).take(7).cloned().collect();
        assert_eq!(texts(answer), wanted, "from {from}");
        for source in answer["sources"].as_array().expect("sources") {
            assert_eq!(source["access"], "server", "{answer}");
        }
    }
    live.ask_lines(1, json!({ "id": 4 }), 0, 1).await;
    let first = &live.lines().await["answer"]["lines"][0];
    for field in ["client", "method", "path", "status", "user_agent"] {
        let value = first[field].as_str().expect(field);
        assert!(first["text"].as_str().expect("a text").contains(value), "{first}");
    }
    assert!(first["time"].as_str().expect("a time").ends_with('Z'), "{first}");
    drop(live);
    server.stop().await;
}

/// Why the lines of a file cannot be read after it was changed.
async fn refusal_after(name: &str, change: impl FnOnce(&Folder, &Path)) -> Value {
    let folder = Folder::new(name);
    let path = folder.write("access.log", &log(50_000));
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    read(&session, &[&path]).await;
    change(&folder, &path);
    let mut live = server.live(session.id()).await;
    live.ask_lines(0, json!({ "id": 1 }), 100, 10).await;
    let mut answer = live.lines().await["answer"].take();
    drop(live);
    server.stop().await;
    assert_eq!(answer["lines"].as_array().expect("lines").len(), 10);
    assert_eq!(answer["sources"][0]["access"], "none", "{answer}");
    assert_eq!(texts(&answer), ["none"; 10]);
    answer["sources"][0]["message"].take()
}

fn says(message: &Value, part: &str) {
    let message = message.as_str().expect("a message");
    assert!(
        message.contains("access.log cannot be read again") && message.contains(part),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_a_rotated_file_are_not_those_of_the_new_one() {
    let rotate = |folder: &Folder, path: &Path| {
        fs::rename(path, folder.0.join("access.log.old")).expect("a rotation");
        fs::write(path, log(60_000)).expect("a new file");
    };
    says(&refusal_after("rotated", rotate).await, "another file");
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_a_truncated_file_are_not_shown() {
    // Shorter, and then as long as before with the same line ends but other clients.
    let cut = |_: &Folder, path: &Path| fs::write(path, b"").expect("a file");
    says(&refusal_after("cut", cut).await, "truncated");
    let overwrite = |_: &Folder, path: &Path| {
        let other = |byte: u8| if byte.is_ascii_digit() { b'0' } else { byte };
        let bytes = fs::read(path).expect("a file");
        fs::write(path, bytes.into_iter().map(other).collect::<Vec<u8>>()).expect("a file");
    };
    says(&refusal_after("overwritten", overwrite).await, "truncated or written again");
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_an_upload_are_left_to_the_page() {
    let bytes = log(80_000);
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    server.upload(session.id()).await.send_file("a", &bytes, 10_000).await;
    let mut live = server.live(session.id()).await;
    live.ask_lines(2, json!({ "id": 1, "conditions": ["status=200"] }), 2, 3).await;
    let answer = live.lines().await["answer"].take();
    let source = json!({ "number": 0, "name": "a.log", "file": "a", "access": "page" });
    assert_eq!(answer["sources"], json!([source]));
    let expected = with_status(&bytes, "200");
    for (line, expected) in answer["lines"].as_array().expect("lines").iter().zip(&expected[2..5]) {
        let offset = line["offset"].as_u64().expect("an offset") as usize;
        assert!(bytes[offset..].starts_with(expected), "{line}");
        assert_eq!(line["text"], Value::Null);
    }
    // The page cannot use offsets of uncompressed text.
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&bytes).expect("memory");
    let packed = gzip.finish().expect("memory");
    server.upload(session.id()).await.send_file("b", &packed, 10_000).await;
    let total = answer["total"].as_u64().expect("a number");
    live.ask_lines(2, json!({ "id": 1, "conditions": ["status=200"] }), total, 3).await;
    let answer = live.lines().await["answer"].take();
    assert_eq!(answer["total"], 2 * total);
    assert_eq!(answer["sources"][0]["access"], "none", "{answer}");
    let message = answer["sources"][0]["message"].as_str().expect("a message");
    assert!(message.contains("b.log was unpacked"), "{message}");
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_and_hostile_lines_are_shown_in_part() {
    let line = |path: &[u8]| {
        let head = b"192.0.2.1 - - [22/Nov/2026:10:00:00 +0000] \"GET /".as_slice();
        [head, path, b" HTTP/1.1\" 200 5 \"-\" \"curl/8\"\n"].concat()
    };
    let long = line(&vec![b'a'; 100_000]);
    let hostile = line(b"\xff<script>\x1b[31m\xe2\x80\xae");
    let log = [hostile.clone(), long.repeat(40)].concat();
    let folder = Folder::new("hostile");
    let path = folder.write("access.log", &log);
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    read(&session, &[&path]).await;
    let mut live = server.live(session.id()).await;
    live.ask_lines(0, json!({ "id": 1 }), 0, 40).await;
    let answer = live.lines().await["answer"].take();
    let lines = answer["lines"].as_array().expect("lines");
    // The total length of the texts is limited, so the others have to be requested.
    assert!((2..20).contains(&lines.len()) && answer["total"] == 41, "{} lines", lines.len());
    let hex: String = hostile[..hostile.len() - 1].iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(lines[0]["text_hex"], hex);
    assert!(lines[0]["text"].as_str().expect("a text").contains("/\u{fffd}<script>\u{1b}"));
    assert_eq!(lines[1]["cut"], true);
    assert_eq!(lines[1]["text"].as_str().map(str::len), Some(64 << 10));
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn panels_of_lines_answer_their_newest_question() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    server.upload(session.id()).await.send_file("a", &log(100_000), 10_000).await;
    let mut live = server.live(session.id()).await;
    for id in 0..50 {
        live.ask_lines(0, json!({ "id": id }), id, 10).await;
    }
    live.ask_lines(1, json!({ "id": 70 }), 5, 5).await;
    let mut answers = Vec::new();
    while answers.last() != Some(&49) || !answers.contains(&70) {
        answers.push(live.lines().await["query"].as_u64().expect("an id"));
        answers.sort_by_key(|id| *id == 49);
    }
    // Lines above the limit of one answer are not sent.
    live.ask_lines(0, json!({ "id": 51 }), 0, u32::MAX).await;
    let answer = live.lines().await["answer"].take();
    assert!(answer["lines"].as_array().expect("lines").len() <= 500);
    for (panel, query, name) in [
        (0, json!({ "conditions": ["status==4"] }), "bad_query"),
        (0, json!(7), "bad_request"),
        (6, json!({}), "bad_request"),
    ] {
        live.ask_lines(panel, query, 0, 1).await;
        let reply = live.lines().await;
        assert_eq!((&reply["panel"], &reply["error"]["name"]), (&json!(panel), &json!(name)));
    }
    drop(live);
    server.stop().await;
}

/// Neither its size and identity nor the clients of its lines tell.
#[tokio::test(flavor = "multi_thread")]
async fn lines_of_a_file_that_was_written_again_in_place_are_refused() {
    let lines = |name: &str, numbers: std::ops::Range<u32>| {
        let line = |number| {
            format!(
                "10.0.0.1 - - [02/Nov/2026:00:30:45 +0000] \"GET /{name}{number} HTTP/1.1\" 200 1 \
                 \"-\" \"x\"\n"
            )
        };
        numbers.map(line).collect::<String>().into_bytes()
    };
    let folder = Folder::new("in-place");
    let path = folder.write("access.log", &lines("p", 100..200));
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    read(&session, &[&path]).await;
    let export = format!("/api/sessions/{}/export?format=lines&where=path%3D/p100", session.id());
    let mut live = server.live(session.id()).await;
    let query = json!({ "id": 1, "conditions": ["path=/p100"] });
    // It has grown.
    let mut grown = lines("p", 100..300);
    folder.write("access.log", &grown);
    live.ask_lines(0, query.clone(), 0, 1).await;
    let shown = texts(&live.lines().await["answer"]);
    assert!(shown.len() == 1 && shown[0].contains("GET /p100 "), "{shown:?}");
    let exported = server.request("GET", &export, &[]).await;
    assert_eq!(exported.status, 200);
    assert_eq!(unchunked_bytes(&exported.body), lines("p", 100..101));
    for other in [lines("S", 100..200), lines("p", 101..201)] {
        grown[..other.len()].copy_from_slice(&other);
        folder.write("access.log", &grown);
        let refused = server.request("GET", &export, &[]).await;
        assert_eq!((refused.status, &refused.json()["error"]), (409, &json!("no_lines")));
        live.ask_lines(0, query.clone(), 0, 1).await;
        let answer = live.lines().await["answer"].take();
        assert_eq!(texts(&answer), ["none"]);
        says(&answer["sources"][0]["message"], "truncated or written again");
    }
    drop(live);
    server.stop().await;
}

/// Returns the address of the lines with the status 404.
fn lines_path(id: &str) -> String {
    format!("/api/sessions/{id}/export?format=lines&where={}", percent_encoded("status=404"))
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_exported_from_the_files_on_the_disk() {
    let folder = Folder::new("export");
    let (one, two) = (log(8_000_000), log(90_000));
    let paths = [folder.write("one.log", &one), folder.write("two.log", &two)];
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    read(&session, &[&paths[0], &paths[1]]).await;
    let path = lines_path(session.id());
    let expected = [with_status(&one, "404"), with_status(&two, "404")].concat();
    // Some lines of the log are cut off, so they are no records.
    let is_whole = |line: &&[u8]| line.ends_with(b"\"");
    let mut expected = expected.into_iter().filter(is_whole).collect::<Vec<_>>().join(&b'\n');
    expected.push(b'\n');
    assert!(expected.len() > 100_000, "several parts");
    let answer = server.request("GET", &path, &[]).await;
    assert_eq!((answer.status, answer.field("Content-Type")), (200, Some("text/plain")));
    let name = answer.field("Content-Disposition");
    assert_eq!(name, Some("attachment; filename=\"one.log-status_404.log\""));
    let exported = unchunked_bytes(&answer.body);
    let lines = |text: &[u8]| text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let (got, want): (Vec<_>, Vec<_>) = (lines(&exported), lines(&expected));
    let differing = got.iter().zip(&want).find(|(got, want)| got != want);
    let differing =
        differing.map(|(got, want)| [got, want].map(|line| String::from_utf8_lossy(line)));
    assert_eq!((differing, got.len()), (None, want.len()));
    let rest = server.request("GET", &path, &[("Range", "bytes=70000-")]).await;
    assert!(rest.status == 206 && rest.body == expected[70_000..]);
    let all = format!("/api/sessions/{}/export", session.id());
    let all = server.request("GET", &all, &[("Accept", "text/plain")]).await;
    let records = server.report(session.id()).await["records"].as_u64();
    let lines = unchunked_bytes(&all.body).iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(Some(lines as u64), records);
    // A file that has changed since.
    fs::write(&paths[0], &one[..4_000_000]).expect("a writable folder");
    let refused = server.request("GET", &path, &[]).await;
    let body = refused.json();
    assert_eq!((refused.status, &body["error"]), (409, &json!("no_lines")));
    let message = body["message"].as_str().unwrap_or_default();
    assert!(message.contains("one.log cannot be read again"), "{message}");
    // Another file at the same path, as long as the first one.
    fs::remove_file(&paths[0]).expect("it is there");
    folder.write("one.log", &one);
    let refused = server.request("GET", &path, &[]).await;
    assert_eq!((refused.status, &refused.json()["error"]), (409, &json!("no_lines")));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_export_of_lines_names_the_source_and_a_way() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let path = lines_path(session.id());
    assert_eq!(server.request("GET", &path, &[]).await.status, 200, "no source, no lines");
    server.upload(session.id()).await.send_file("a", &log(30_000), 10_000).await;
    let refused = server.request("GET", &path, &[]).await;
    let body = refused.json();
    assert_eq!((refused.status, &body["error"]), (409, &json!("no_lines")));
    let message = body["message"].as_str().unwrap_or_default();
    assert!(message.contains("a.log was a stream"), "{message}");
    assert!(message.contains("weir export --to lines"), "{message}");
    server.stop().await;
}
