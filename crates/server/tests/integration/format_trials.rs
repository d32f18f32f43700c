//! A format that a person gives a source on the page.

use serde_json::Value;
use weir_ingest::{FormatChoice, Input, read_inputs};
use weir_server::ServerOptions;
use weir_view::{Failure, UploadReply, UploadRequest};

use crate::common::{Response, TestServer};

const LINE: &str = "2025-12-17 09:03:01,123 192.0.2.1:443 \"GET /a HTTP/1.1\" 17\n";
const DEFINITION: &str =
    "${time(%Y-%m-%d)} ${time(%H:%M:%S)},${_=fraction} ${client(port)} \"$request\" $extra_1";

/// Asks for the format of a source, with lines in the body.
async fn ask(
    server: &TestServer,
    method: &str,
    at: (&str, u32),
    definition: &str,
    lines: &[u8],
) -> Response {
    let encoded: String = definition.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let path = format!("/api/sessions/{}/sources/{}/format?definition={encoded}", at.0, at.1);
    let (host, length) = (server.address.to_string(), lines.len().to_string());
    let fields = [("Host", host.as_str()), ("Content-Length", length.as_str())];
    server.request_as(method, &path, &fields, lines).await
}

fn begin(file: &str, bytes: usize, format: &str) -> UploadRequest {
    UploadRequest::Begin {
        file: file.to_owned(),
        name: format!("{file}.log"),
        bytes_total: Some(bytes as u64),
        continues: None,
        fingerprint: None,
        replay: None,
        format: Some(format.to_owned()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_is_tried_on_the_lines_of_an_upload_and_given_to_it() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let log = LINE.repeat(30);
    let mut upload = server.upload(&id).await;
    upload.send_file("own", log.as_bytes(), 10_000).await;
    let mut live = server.live(&id).await;
    let view = live.view_where(|view| view.complete).await;
    let unread = view.sources[0].unread.as_ref().expect("no line is in a known format");
    assert!(unread.is_log);
    assert_eq!(unread.suggestion.as_deref(), Some(DEFINITION));

    // The suggestion, from the lines that the page sends and from those that the server has.
    for lines in [log.as_bytes(), b"", b"\x1f\x8b\x08\0\0\0\0\0"] {
        let trial = ask(&server, "POST", (&id, 0), "", lines).await.json();
        assert_eq!(trial["definition"], DEFINITION);
        assert_eq!(trial["lines"], trial["parsed_lines"]);
    }
    let trial = ask(&server, "POST", (&id, 0), "COMBINED", log.as_bytes()).await.json();
    assert_eq!((&trial["lines"], &trial["parsed_lines"]), (&Value::from(30), &Value::from(0)));
    assert_eq!(trial["misfit"]["line"], 1);
    let trial = ask(&server, "POST", (&id, 0), "$status $", b"a").await.json();
    assert_eq!(trial["error"]["column"], 9);

    assert_eq!(
        server.request("DELETE", &format!("/api/sessions/{id}/sources/0"), &[]).await.status,
        204
    );
    upload.request(&begin("again", log.len(), DEFINITION)).await;
    assert_eq!(upload.ready().await, 0);
    upload.send(log.as_bytes(), 10_000).await;
    upload.request(&UploadRequest::End { file: "again".to_owned() }).await;
    let view = live.view_where(|view| view.complete && view.report.records == 30).await;
    assert_eq!(view.report.unparsed_lines, 0);
    assert!(view.sources[0].unread.is_none());

    let mut other = server.upload(&id).await;
    other.request(&begin("wrong", log.len(), "$status $")).await;
    let refused = other.reply().await;
    assert!(
        matches!(&refused, UploadReply::Error { error: Failure { name, message, .. } }
            if name == "bad_request" && message.contains("must follow the `$`")),
        "{refused:?}"
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_on_the_disk_is_read_again_in_a_format() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let id = session.path().trim_start_matches("/s/").to_owned();
    let folder = std::env::temp_dir().join(format!("weir-formats-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let paths = ["own.log", "other.log"].map(|name| folder.join(name));
    std::fs::write(&paths[0], LINE.repeat(40)).expect("a log");
    std::fs::write(&paths[1], "Dear reader,\n").expect("a letter");
    let pipeline = session.pipeline().expect("the session lives");
    let inputs = paths.clone().map(|path| Input::File(path.into()));
    tokio::task::spawn_blocking(move || read_inputs(&*pipeline, &inputs, &FormatChoice::Detect, 1))
        .await
        .expect("the files are read");
    let mut live = server.live(&id).await;
    live.view_where(|view| view.complete && view.report.unparsed_lines == 41).await;

    let trial = ask(&server, "POST", (&id, 0), "", b"").await.json();
    assert_eq!((&trial["definition"], &trial["parsed_lines"]), (&DEFINITION.into(), &40.into()));
    let trial = ask(&server, "POST", (&id, 1), "", b"").await.json();
    assert_eq!((&trial["definition"], &trial["lines"]), (&"".into(), &1.into()));

    assert_eq!(ask(&server, "PUT", (&id, 0), DEFINITION, b"").await.status, 204);
    let view = live.view_where(|view| view.complete && view.report.records == 40).await;
    assert_eq!(view.sources.len(), 2);
    assert!(view.sources.iter().any(|source| source.number == 2 && source.records == 40));
    // It can be read again once more, and keeps its place on the disk.
    assert_eq!(ask(&server, "PUT", (&id, 2), "COMBINED", b"").await.status, 204);
    live.view_where(|view| view.complete && view.report.unparsed_lines == 41).await;

    // After a rotation it is the same file, not the one that took its path.
    let rotated = folder.join("own.log.1");
    std::fs::rename(&paths[0], &rotated).expect("a rotation");
    std::fs::write(&paths[0], "another log\n").expect("a log");
    assert_eq!(ask(&server, "PUT", (&id, 3), DEFINITION, b"").await.status, 204);
    let view = live.view_where(|view| view.complete && view.report.records == 40).await;
    assert_eq!(view.report.lines, 41);

    // Of several requests at once one replaces the source.
    let both = tokio::join!(
        ask(&server, "PUT", (&id, 4), "COMBINED", b""),
        ask(&server, "PUT", (&id, 4), "COMMON", b""),
    );
    let statuses = [both.0.status, both.1.status];
    assert!(statuses.contains(&204) && statuses != [204, 204], "{statuses:?}");
    let view = live.view_where(|view| view.complete && view.report.unparsed_lines == 41).await;
    let number = view.sources.iter().map(|source| source.number).max().expect("sources");

    std::fs::remove_file(&rotated).expect("the log");
    let gone = ask(&server, "PUT", (&id, number), DEFINITION, b"").await;
    assert_eq!((gone.status, gone.json()["error"].as_str()), (409, Some("not_read_again")));
    let report = server.report(&id).await;
    assert_eq!(report["unparsed_lines"], 41, "nothing is removed that cannot be read again");
    assert_eq!(report["lines"], 41);
    server.stop().await;
    std::fs::remove_dir_all(&folder).expect("the folder");
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_about_formats_are_bounded() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let mut upload = server.upload(&id).await;
    upload.send_file("own", LINE.as_bytes(), 10_000).await;
    for (definition, lines, status) in [
        ("x".repeat(5_000), vec![b'a'; 64 << 10], 200),
        ("$status".to_owned(), vec![b'a'; (64 << 10) + 1], 400),
        ("$a ".repeat(257), b"a b".to_vec(), 200),
        ("json:time=t".to_owned(), vec![b'{'; 64 << 10], 200),
        (String::new(), vec![b'"'; 64 << 10], 200),
        (String::new(), [0xFF, b'\n'].repeat(32 << 10), 200),
    ] {
        let answer = ask(&server, "POST", (&id, 0), &definition, &lines).await;
        assert_eq!(answer.status, status, "{}", &definition[..definition.len().min(20)]);
    }
    for (method, number, definition, status) in [
        ("PUT", 0, "", 400),
        ("PUT", 9, "COMBINED", 404),
        ("POST", 9, "COMBINED", 404),
        ("GET", 0, "COMBINED", 405),
        // It was uploaded: only the page has its bytes.
        ("PUT", 0, "COMBINED", 409),
    ] {
        assert_eq!(
            ask(&server, method, (&id, number), definition, b"").await.status,
            status,
            "{method}"
        );
    }
    server.stop().await;
}
