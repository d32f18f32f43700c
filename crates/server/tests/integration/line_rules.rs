//! Rules that look at whole lines, which are read again from the files on the server's disk.

use serde_json::{Value, json};
use weir_server::ServerOptions;
use weir_testkit::archive::tar;

use crate::archives::gzip;
use crate::common::{Live, TestServer};
use crate::lines::{Folder, read};

const JAIL: &str = "[web]\nfilter = weir-test\nmaxretry = 3\nfindtime = 600\nbantime = 60\n";
const FILTER: &str = "[Definition]\nfailregex = ^<HOST> .*\" 404 \n";

pub(crate) fn line(client: &str, second: usize, status: u16) -> String {
    format!(
        "{client} - - [22/Nov/2026:10:00:{second:02} +0000] \"GET /{second} HTTP/1.1\" {status} 5\n"
    )
}

/// A log in which one client is banned by its third failure.
pub(crate) fn log(client: &str) -> String {
    let mut log = String::new();
    for second in 0..20 {
        log += &line("192.0.2.200", second, 200);
        if second % 5 == 0 {
            log += &line(client, second, 404);
        }
    }
    log
}

/// The number of the line of the ban in such a log.
pub(crate) const BAN_LINE: u64 = 14;

pub(crate) fn rule() -> Value {
    json!({ "text": JAIL, "files": [{ "name": "weir-test.conf", "text": FILTER }] })
}

async fn bans(live: &mut Live, query: Value) -> Value {
    live.try_rule(0, query, rule()).await;
    let mut reply = live.ruled().await;
    assert_eq!(reply["error"], Value::Null, "{reply}");
    reply["answer"]["rules"][0]["rule"]["bans"].take()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_jail_is_replayed_over_the_files() {
    let folder = Folder::new("jail");
    let logs = ["192.0.2.7", "192.0.2.8"].map(log);
    let paths =
        [folder.write("one.log", logs[0].as_bytes()), folder.write("two.log", logs[1].as_bytes())];
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    read(&session, &[&paths[0], &paths[1]]).await;
    let mut live = server.live(session.id()).await;
    live.view_where(|view| view.complete).await;
    let found = bans(&mut live, json!({ "id": 1 })).await;
    let found = found.as_array().expect("bans");
    assert_eq!(found.len(), 2, "{found:?}");
    for (ban, client) in found.iter().zip(["192.0.2.7", "192.0.2.8"]) {
        assert_eq!((&ban["key"], &ban["line"]), (&json!(client), &json!(BAN_LINE)), "{ban}");
    }
    // A filter leaves lines out.
    let only = json!({ "id": 2, "conditions": ["client=192.0.2.8"] });
    let found = bans(&mut live, only).await;
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!(found[0]["key"], "192.0.2.8");
    // Without its filter, the jail is refused, and the file is named.
    live.try_rule(0, json!({ "id": 3 }), json!({ "text": JAIL })).await;
    let reply = live.ruled().await;
    assert_eq!(reply["error"]["name"], "bad_rule", "{reply}");
    assert!(
        reply["error"]["message"].as_str().is_some_and(|why| why.contains("weir-test.conf")),
        "{reply}"
    );
    // Beside a jail that has its filter, it is named, and the other is replayed.
    let both = format!("[mine]\nfailregex = ^<HOST> .*\" 404 \nmaxretry = 3\n{JAIL}");
    live.try_rule(0, json!({ "id": 4 }), json!({ "text": both })).await;
    let answer = &live.ruled().await["answer"];
    assert_eq!(answer["rules"].as_array().map(Vec::len), Some(1), "{answer}");
    assert_eq!(answer["rules"][0]["bans"], 2, "{answer}");
    let note = answer["notes"][0]["message"].as_str().unwrap_or_default();
    assert!(note.starts_with("the jail [web] is not followed"), "{answer}");
    assert!(note.contains("weir-test.conf"), "{answer}");
    // Another file is at its path now.
    let new = folder.write("new.log", b"");
    std::fs::rename(new, &paths[1]).expect("the same folder");
    live.try_rule(0, json!({ "id": 5 }), rule()).await;
    let reply = live.ruled().await;
    let message = reply["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("two.log") && message.contains("another file"), "{reply}");
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn packed_files_on_the_disk_are_unpacked_again() {
    let folder = Folder::new("packed");
    let [one, two, three] = ["192.0.2.7", "192.0.2.8", "192.0.2.9"].map(log);
    let archive = tar(&[("x/two.log", two.as_bytes()), ("three.log", three.as_bytes())]);
    let paths = [
        folder.write("one.log.gz", &gzip(one.as_bytes())),
        folder.write("logs.tar.gz", &gzip(&archive)),
    ];
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    read(&session, &[&paths[0], &paths[1]]).await;
    let mut live = server.live(session.id()).await;
    live.view_where(|view| view.complete).await;
    let found = bans(&mut live, json!({ "id": 1 })).await;
    let found = found.as_array().expect("bans");
    let sources = ["one.log.gz", "logs.tar.gz/x/two.log", "logs.tar.gz/three.log"];
    assert_eq!(found.len(), sources.len(), "{found:?}");
    for (ban, source) in found.iter().zip(sources) {
        assert_eq!(ban["line"], BAN_LINE);
        assert!(ban["source"].as_str().is_some_and(|name| name.ends_with(source)), "{ban}");
    }
    // The file is written again in place, with a line less.
    let (_, shorter) = one.split_once('\n').expect("a line");
    folder.write("one.log.gz", &gzip(shorter.as_bytes()));
    live.try_rule(0, json!({ "id": 2 }), rule()).await;
    let reply = live.ruled().await;
    let message = reply["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("one.log.gz cannot be read again: it has changed"), "{reply}");
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_a_stream_are_gone() {
    let server = TestServer::start(ServerOptions::default()).await;
    let put = server.put("access.log", log("192.0.2.7").as_bytes()).await;
    let address = put.field("location").expect("an address");
    let mut live = server.live(address.trim_start_matches("/s/")).await;
    live.view_where(|view| view.complete).await;
    live.try_rule(0, json!({ "id": 1 }), rule()).await;
    let reply = live.ruled().await;
    assert_eq!(reply["error"]["name"], "bad_rule", "{reply}");
    let message = reply["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("was a stream") && message.contains("over the files themselves"));
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_that_includes_itself_is_refused() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let mut live = server.live(&id).await;
    let filter = format!("[INCLUDES]\nbefore = weir-test.conf\n\n{FILTER}");
    let files = json!([{ "name": "weir-test.conf", "text": filter }]);
    live.try_rule(0, json!({ "id": 1 }), json!({ "text": JAIL, "files": files })).await;
    let reply = live.ruled().await;
    assert_eq!(reply["error"]["name"], "bad_rule", "{reply}");
    let message = reply["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("weir-test.conf"), "{reply}");
    drop(live);
    server.stop().await;
}
