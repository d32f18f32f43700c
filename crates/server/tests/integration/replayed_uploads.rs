//! Rules that look at whole lines, over logs that a page has uploaded and sends again.

use std::time::Duration;

use serde_json::{Value, json};
use weir_server::ServerOptions;
use weir_testkit::archive::tar;
use weir_view::{UploadReply, UploadRequest};

use crate::archives::gzip;
use crate::common::{Live, TestServer, Uploader, skip};
use crate::line_rules::{BAN_LINE, line, log, rule};
use crate::lines::{Folder, read};

/// A file of a page: its id and its bytes.
type PageFile<'a> = (&'a str, &'a [u8]);

/// Asks for the bans of a jail, and returns what the page has to send.
async fn ask(live: &mut Live, query: Value) -> Value {
    live.try_rule(0, query, rule()).await;
    needed(live).await
}

/// The next request for lines.
async fn needed(live: &mut Live) -> Value {
    let mut reply = live.ruled().await;
    assert_eq!(reply["error"], Value::Null, "{reply}");
    assert!(reply["lines"].is_object(), "{reply}");
    reply["lines"].take()
}

fn replay_of(lines: &Value) -> &str {
    lines["replay"].as_str().expect("an id")
}

/// Sends the files of a page that are needed, in their order.
async fn send(upload: &mut Uploader, lines: &Value, files: &[PageFile<'_>]) {
    for needed in lines["files"].as_array().expect("files") {
        let id = needed["file"].as_str().expect("an id");
        let (_, bytes) = files.iter().find(|(file, _)| *file == id).expect("a file of the page");
        let length = needed["bytes"].as_u64().expect("a length") as usize;
        upload.request_begin_again(id, length, replay_of(lines)).await;
        assert_eq!(upload.ready().await, 0);
        upload.send(&bytes[..length], 700).await;
        upload.finish(id).await;
    }
}

async fn bans(live: &mut Live) -> Vec<(String, String, u64)> {
    let reply = live.ruled().await;
    assert_eq!(reply["error"], Value::Null, "{reply}");
    let bans = reply["answer"]["rules"][0]["rule"]["bans"].as_array().expect("bans");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let line = |ban: &Value| ban["line"].as_u64().expect("a line");
    bans.iter().map(|ban| (text(&ban["key"]), text(&ban["source"]), line(ban))).collect()
}

fn ban(client: &str, source: &str) -> (String, String, u64) {
    (client.to_owned(), source.to_owned(), BAN_LINE)
}

async fn error(live: &mut Live) -> String {
    let reply = live.ruled().await;
    assert_eq!(reply["error"]["name"], "bad_rule", "{reply}");
    reply["error"]["message"].as_str().expect("a message").to_owned()
}

/// A session to which a page has uploaded these files, and a live view of it.
async fn uploaded(server: &TestServer, files: &[PageFile<'_>]) -> (String, Live) {
    let id = server.create_session().await;
    let mut upload = server.upload(&id).await;
    for (file, bytes) in files {
        upload.send_file(file, bytes, 1_000).await;
    }
    let mut live = server.live(&id).await;
    live.view_where(|view| view.complete && view.sources.len() >= files.len()).await;
    (id, live)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_jail_is_replayed_over_files_that_the_page_sends_again() {
    let server = TestServer::start(ServerOptions::default()).await;
    let (one, two) = (log("192.0.2.7"), log("192.0.2.8"));
    let packed = gzip(two.as_bytes());
    let files = [("a", one.as_bytes()), ("b", &packed[..])];
    let (id, mut live) = uploaded(&server, &files).await;
    let report = server.report(&id).await;

    let lines = ask(&mut live, json!({ "id": 1 })).await;
    let expected = json!([
        { "file": "a", "name": "a.log", "bytes": one.len() },
        { "file": "b", "name": "b.log", "bytes": packed.len() },
    ]);
    assert_eq!(lines["files"], expected);
    let mut upload = server.upload(&id).await;
    send(&mut upload, &lines, &files).await;
    assert_eq!(bans(&mut live).await, [ban("192.0.2.7", "a.log"), ban("192.0.2.8", "b.log")]);
    // A filter leaves lines out. The connection can be used again.
    let lines = ask(&mut live, json!({ "id": 2, "conditions": ["client=192.0.2.8"] })).await;
    send(&mut upload, &lines, &files).await;
    let found = bans(&mut live).await;
    assert_eq!((found.len(), &found[0].0[..]), (1, "192.0.2.8"));
    // Nothing of it was kept.
    assert_eq!(server.report(&id).await, report);
    drop((live, upload));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_of_an_archive_are_replayed_as_the_sources_that_they_were() {
    let server = TestServer::start(ServerOptions::default()).await;
    let (one, two) = (log("192.0.2.7"), log("192.0.2.8"));
    let members = [("x/one.log", one.as_bytes()), ("two.log", two.as_bytes())];
    let archive = tar(&members);
    let files = [("t", &archive[..]), ("c", one.as_bytes())];
    let (id, mut live) = uploaded(&server, &files).await;
    let lines = ask(&mut live, json!({ "id": 1 })).await;
    let mut upload = server.upload(&id).await;
    send(&mut upload, &lines, &files).await;
    let found = bans(&mut live).await;
    let clients: Vec<_> =
        found.iter().map(|(client, source, _)| (&client[..], &source[..])).collect();
    let expected =
        [("192.0.2.7", "t.log/x/one.log"), ("192.0.2.8", "t.log/two.log"), ("192.0.2.7", "c.log")];
    assert_eq!(clients, expected);
    // A source that was removed from the data set is left out.
    let removed = server.request("DELETE", &format!("/api/sessions/{id}/sources/1"), &[]).await;
    assert_eq!(removed.status, 204);
    let lines = ask(&mut live, json!({ "id": 2 })).await;
    send(&mut upload, &lines, &files).await;
    let found = bans(&mut live).await;
    assert_eq!(found, [ban("192.0.2.8", "t.log/two.log"), ban("192.0.2.7", "c.log")]);
    drop((live, upload));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_on_the_disk_and_files_of_the_page_are_replayed_in_their_order() {
    let folder = Folder::new("mixed");
    let path = folder.write("disk.log", log("192.0.2.9").as_bytes());
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let (one, two) = (log("192.0.2.7"), log("192.0.2.8"));
    let files = [("a", one.as_bytes()), ("b", two.as_bytes())];
    let mut upload = server.upload(session.id()).await;
    upload.send_file("a", one.as_bytes(), 1_000).await;
    read(&session, &[&path]).await;
    upload.send_file("b", two.as_bytes(), 1_000).await;
    let mut live = server.live(session.id()).await;
    live.view_where(|view| view.complete && view.sources.len() == 3).await;
    let lines = ask(&mut live, json!({ "id": 1 })).await;
    send(&mut upload, &lines, &files).await;
    let expected = [("192.0.2.7", "a.log"), ("192.0.2.9", "disk.log"), ("192.0.2.8", "b.log")];
    let found = bans(&mut live).await;
    let found: Vec<_> = found.iter().map(|(client, source, _)| (&client[..], source)).collect();
    for ((client, source), (expected, name)) in found.iter().zip(expected) {
        assert!(*client == expected && source.ends_with(name), "{source}");
    }
    assert_eq!(found.len(), 3);
    drop((live, upload));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_being_uploaded_is_awaited_and_one_that_grows_is_replayed_up_to_now() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let (one, two) = (log("192.0.2.7"), log("192.0.2.8"));
    let mut growing = server.upload(&id).await;
    growing.request_begin_of("g", None, None).await;
    assert_eq!(growing.ready().await, 0);
    growing.send(one.as_bytes(), 1_000).await;
    growing.wait_for_ack(one.len()).await;
    let mut upload = server.upload(&id).await;
    assert_eq!(upload.begin("a", two.len()).await, 0);
    upload.send(&two.as_bytes()[..1_000], 1_000).await;

    let mut live = server.live(&id).await;
    let lines = ask(&mut live, json!({ "id": 1 })).await;
    assert_eq!((&lines["replay"], &lines["files"]), (&json!(""), &json!([])));
    upload.send(&two.as_bytes()[1_000..], 1_000).await;
    upload.finish("a").await;
    let lines = needed(&mut live).await;
    // A part of another line is no line yet.
    let part = [one.as_bytes(), b"192.0.2.7 - - [22/Nov"].concat();
    send(&mut upload, &lines, &[("g", &part), ("a", two.as_bytes())]).await;
    assert_eq!(bans(&mut live).await, [ban("192.0.2.7", "g.log"), ban("192.0.2.8", "a.log")]);
    drop((live, upload, growing));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_rules_are_replayed_in_one_pass_and_compared() {
    let server = TestServer::start(ServerOptions::default()).await;
    let one = log("192.0.2.7");
    let files = [("a", one.as_bytes())];
    let (id, mut live) = uploaded(&server, &files).await;
    let limit = "limit_req_zone $binary_remote_addr zone=one:10m rate=1r/m;\nlimit_req zone=one;";
    let mut against = rule();
    against["text"] = json!("[strict]\nfilter = weir-test\nmaxretry = 2\nfindtime = 600\n");
    for (text, other, both) in [
        (rule(), against, json!(["192.0.2.7"])),
        (rule(), json!({ "text": limit }), json!(["192.0.2.7"])),
        (json!({ "text": limit }), rule(), json!(["192.0.2.7"])),
    ] {
        let message = json!({
            "type": "rules", "panel": 0, "query": { "id": 1 }, "rule": text,
            "details": { "against": other },
        });
        live.sender.send_text(&message.to_string()).await.expect("the server reads");
        let lines = needed(&mut live).await;
        let mut upload = server.upload(&id).await;
        send(&mut upload, &lines, &files).await;
        let reply = live.ruled().await;
        assert_eq!(reply["answer"]["comparison"]["both"]["list"], both, "{reply}");
    }
    // A rule that needs a field which the log lacks is left out before any line is sent.
    let message = json!({
        "type": "rules", "panel": 0, "query": { "id": 2 }, "rule": rule(),
        "details": { "against": { "text": "limit_conn_zone $binary_remote_addr zone=c:1m;\nlimit_conn c 1;" } },
    });
    live.sender.send_text(&message.to_string()).await.expect("the server reads");
    let lines = needed(&mut live).await;
    let mut upload = server.upload(&id).await;
    send(&mut upload, &lines, &files).await;
    assert_eq!(bans(&mut live).await, [ban("192.0.2.7", "a.log")]);
    drop((live, upload));
    server.stop().await;
}

/// Begins to send the only file of a session, and sends half of it.
async fn send_half(server: &TestServer, id: &str, lines: &Value, bytes: &[u8]) -> Uploader {
    let mut upload = server.upload(id).await;
    upload.request_begin_again("a", bytes.len(), replay_of(lines)).await;
    assert_eq!(upload.ready().await, 0);
    upload.send(&bytes[..bytes.len() / 2], 100).await;
    upload
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_ends_with_its_question_its_page_and_its_connection() {
    let server = TestServer::start(ServerOptions::default()).await;
    let one = log("192.0.2.7");
    let (id, mut live) = uploaded(&server, &[("a", one.as_bytes())]).await;
    // The connection is lost.
    let lines = ask(&mut live, json!({ "id": 1 })).await;
    drop(send_half(&server, &id, &lines, one.as_bytes()).await);
    let message = error(&mut live).await;
    assert!(message.contains("a.log cannot be read again: the connection"), "{message}");
    // It also ends between two files, and if the page cancels the file.
    let lines = ask(&mut live, json!({ "id": 2 })).await;
    let mut upload = send_half(&server, &id, &lines, one.as_bytes()).await;
    upload.request(&UploadRequest::Cancel { file: "a".to_owned() }).await;
    assert!(error(&mut live).await.contains("was cancelled"));
    // A newer question replaces it at once.
    let lines = ask(&mut live, json!({ "id": 3 })).await;
    let mut upload = send_half(&server, &id, &lines, one.as_bytes()).await;
    let again = ask(&mut live, json!({ "id": 4 })).await;
    assert_eq!(upload.error().await, "unknown_replay");
    assert_ne!(replay_of(&lines), replay_of(&again));
    send(&mut upload, &again, &[("a", one.as_bytes())]).await;
    assert_eq!(bans(&mut live).await, [ban("192.0.2.7", "a.log")]);
    // So does a message without a rule.
    let lines = ask(&mut live, json!({ "id": 5 })).await;
    let mut upload = send_half(&server, &id, &lines, one.as_bytes()).await;
    live.try_rule(0, json!({ "id": 6 }), Value::Null).await;
    assert_eq!(upload.error().await, "unknown_replay");
    // The page goes.
    let lines = ask(&mut live, json!({ "id": 7 })).await;
    let mut upload = send_half(&server, &id, &lines, one.as_bytes()).await;
    drop(live);
    assert_eq!(upload.error().await, "unknown_replay");
    // The upload itself is as it was.
    assert_eq!(server.report(&id).await["lines"], 24);
    drop(upload);
    server.stop().await;
}

#[tokio::test]
async fn a_page_that_sends_nothing_ends_its_replay() {
    let server = TestServer::start(ServerOptions::default()).await;
    let one = log("192.0.2.7");
    let (id, mut live) = uploaded(&server, &[("a", one.as_bytes())]).await;
    let lines = ask(&mut live, json!({ "id": 1 })).await;
    let mut upload = send_half(&server, &id, &lines, one.as_bytes()).await;
    upload.wait_for_ack(1).await;
    let failure = loop {
        skip(Duration::from_secs(70)).await;
        tokio::select! {
            message = error(&mut live) => break message,
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
        }
    };
    assert!(failure.contains("no byte of it arrived for 60 s"), "{failure}");
    drop((live, upload));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_has_changed_is_refused() {
    let server = TestServer::start(ServerOptions::default()).await;
    let one = log("192.0.2.7");
    let (id, mut live) = uploaded(&server, &[("a", one.as_bytes())]).await;
    let mut number = 0;
    // Another size; more and less than was announced; other lines of the same length.
    let longer = one.clone() + &line("192.0.2.7", 30, 404);
    let joined = one.replacen('\n', " ", 3);
    for (announced, sent, refusal) in [
        (longer.len(), &longer, Some("file_changed")),
        (one.len(), &longer, Some("file_changed")),
        (one.len(), &one[..one.len() - 100].to_owned(), Some("file_changed")),
        (one.len(), &joined, None),
    ] {
        number += 1;
        let lines = ask(&mut live, json!({ "id": number })).await;
        let mut upload = server.upload(&id).await;
        upload.request_begin_again("a", announced, replay_of(&lines)).await;
        if announced == one.len() {
            assert_eq!(upload.ready().await, 0);
            upload.send(sent.as_bytes(), 1_000).await;
            upload.end("a").await;
        }
        match (refusal, upload.reply_after_acks().await) {
            (Some(name), UploadReply::Error { error }) => assert_eq!(error.name, name),
            (None, UploadReply::Done { .. }) => {}
            (_, reply) => panic!("{reply:?}"),
        }
        let message = error(&mut live).await;
        assert!(message.contains("a.log cannot be read again: it has changed"), "{message}");
    }
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_files_of_a_question_of_the_session_are_taken() {
    let server = TestServer::start(ServerOptions::default()).await;
    let one = log("192.0.2.7");
    let files = [("a", one.as_bytes())];
    let (id, mut live) = uploaded(&server, &files).await;
    let (other, other_live) = uploaded(&server, &files).await;
    let lines = ask(&mut live, json!({ "id": 1 })).await;
    let replay = replay_of(&lines).to_owned();
    // Another session, an id that never was, and a file that was not asked for.
    for (session, file, replay) in [(&other, "a", &replay[..]), (&id, "a", "0123"), (&id, "a", "")]
    {
        let mut upload = server.upload(session).await;
        upload.request_begin_again(file, one.len(), replay).await;
        assert_eq!(upload.error().await, "unknown_replay");
    }
    // The question still waits. One connection only can begin it.
    let mut upload = send_half(&server, &id, &lines, one.as_bytes()).await;
    let mut second = server.upload(&id).await;
    second.request_begin_again("a", one.len(), &replay).await;
    assert_eq!(second.error().await, "unknown_replay");
    upload.send(&one.as_bytes()[one.len() / 2..], 1_000).await;
    upload.finish("a").await;
    assert_eq!(bans(&mut live).await, [ban("192.0.2.7", "a.log")]);
    // It was answered.
    upload.request_begin_again("a", one.len(), &replay).await;
    assert_eq!(upload.error().await, "unknown_replay");
    let lines = ask(&mut live, json!({ "id": 2 })).await;
    upload.request_begin_again("b", one.len(), replay_of(&lines)).await;
    assert_eq!(upload.error().await, "unknown_replay");
    error(&mut live).await;
    // Bytes before `ready` end the connection and the replay.
    let lines = ask(&mut live, json!({ "id": 3 })).await;
    live.try_rule(1, json!({ "id": 4 }), rule()).await;
    let waiting = needed(&mut live).await;
    let mut first = send_half(&server, &id, &lines, one.as_bytes()).await;
    second.request_begin_again("a", one.len(), replay_of(&waiting)).await;
    second.sender.send_binary(b"line\n").await.expect("the server reads");
    assert_eq!(second.close_code().await, 1008);
    first.send(&one.as_bytes()[one.len() / 2..], 1_000).await;
    first.finish("a").await;
    let answers = [live.ruled().await, live.ruled().await];
    let of_panel = |panel| answers.iter().find(|answer| answer["panel"] == panel).expect("one");
    assert!(of_panel(0)["answer"].is_object() && of_panel(1)["error"].is_object());
    drop((live, other_live, upload, first));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_from_sent_lines_is_repeated_only_for_other_lines() {
    let server = TestServer::start(ServerOptions::default()).await;
    let (one, two) = (log("192.0.2.7"), log("192.0.2.8"));
    let files = [("a", one.as_bytes()), ("b", two.as_bytes())];
    let (id, mut live) = uploaded(&server, &files[..1]).await;
    let lines = ask(&mut live, json!({ "id": 1 })).await;
    let mut upload = server.upload(&id).await;
    send(&mut upload, &lines, &files).await;
    assert_eq!(bans(&mut live).await.len(), 1);
    upload.send_file("b", two.as_bytes(), 1_000).await;
    let lines = loop {
        let lines = needed(&mut live).await;
        if lines["files"].as_array().is_some_and(|files| !files.is_empty()) {
            break lines;
        }
    };
    send(&mut upload, &lines, &files).await;
    assert_eq!(bans(&mut live).await, [ban("192.0.2.7", "a.log"), ban("192.0.2.8", "b.log")]);
    drop((live, upload));
    server.stop().await;
}

const SCENARIO: &str = "type: leaky\nname: test/gui-bf\ndescription: failed logins\n\
    filter: evt.Meta.log_type == 'pfsense-gui-failed-auth'\ngroupby: evt.Meta.source_ip\n\
    capacity: 2\nleakspeed: 60s\nlabels:\n  remediation: true\n";

/// Its lines belong to no format of a web server, so the data set has no record of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_scenario_about_a_service_is_replayed_over_an_upload() {
    let server = TestServer::start(ServerOptions::default()).await;
    let failed = |second: usize, client: &str| {
        format!(
            "Nov 22 10:00:{second:02} wall php-fpm[7]: /index.php: webConfigurator authentication \
             error for user 'admin' from: {client}\n"
        )
    };
    let lines = (0..5).map(|second| failed(second, "192.0.2.7"));
    let text: String = lines.chain([failed(9, "192.0.2.8")]).collect();
    let files = [("s", text.as_bytes())];
    let (id, mut live) = uploaded(&server, &files).await;
    live.try_rule(0, json!({ "id": 1 }), json!({ "text": SCENARIO })).await;
    let lines = needed(&mut live).await;
    let mut upload = server.upload(&id).await;
    send(&mut upload, &lines, &files).await;
    let ban = ("192.0.2.7".to_owned(), "s.log".to_owned(), 3);
    assert_eq!(bans(&mut live).await, [ban], "the other client failed once");
    drop((live, upload));
    server.stop().await;
}
