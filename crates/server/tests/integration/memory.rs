//! The memory limit of all sessions together, and the state after ended uploads.

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use weir_server::ServerOptions;
use weir_view::UploadReply;

use crate::common::{TestServer, Uploader, log, read_response, within};

const TOTAL: usize = 4 << 20;

fn limited() -> ServerOptions {
    ServerOptions { total_memory_bytes_max: Some(TOTAL), jobs: 2, ..ServerOptions::default() }
}

/// A log that takes more memory than [`TOTAL`], because no two paths are the same.
fn large_log() -> Vec<u8> {
    let line = |number: u32| {
        format!("::1 - - [17/Dec/2025:09:00:00 +0000] \"GET /{number:0100} HTTP/1.1\" 200 5\n")
    };
    (0..120_000).flat_map(|number| line(number).into_bytes()).collect()
}

/// Waits for an error, and returns its name and its message.
async fn error(upload: &mut Uploader) -> (String, String) {
    match upload.reply_after_acks().await {
        UploadReply::Error { error } => (error.name, error.message),
        other => panic!("an error was expected, not {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_total_uploads_end_and_new_sessions_are_refused() {
    let server = TestServer::start(limited()).await;
    let session = server.create_session().await;
    let mut upload = server.upload(&session).await;
    let log = large_log();
    assert_eq!(upload.begin("a", log.len()).await, 0);
    upload.send(&log, 64 << 10).await;
    let (name, message) = error(&mut upload).await;
    assert_eq!(name, "total_memory_full");
    assert!(message.contains("limit of 4 MiB for all data sets together"), "{message}");
    assert!(server.memory.is_full());
    let report = server.report(&session).await;
    assert!(report["lines"].as_u64() > Some(1_000), "the lines before it are kept: {report}");
    // The session has a user, so it is not ended to make room.
    let refused = server.request("POST", "/api/sessions", &[]).await;
    assert_eq!((refused.status, &refused.json()["error"]), (503, &json!("total_memory_full")));
    let put = server.put("more.log", &log[..1_000]).await;
    assert_eq!((put.status, &put.json()["error"]), (503, &json!("total_memory_full")));
    drop(upload);
    within(async {
        while server.put("more.log", &log[..1_000]).await.status != 201 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    server.stop().await;
}

/// The limit of its own session lets each log be read, so none ends because of the others.
#[tokio::test(flavor = "multi_thread")]
async fn an_upload_displaces_data_sets_that_no_page_shows() {
    let server = TestServer::start(ServerOptions { memory_bytes_max: TOTAL, ..limited() }).await;
    let (log, mut sessions) = (large_log(), Vec::new());
    for number in 0..8 {
        let put = server.put("large.log", &log).await;
        assert_eq!(put.status, 201, "{number}: {}", put.text());
        sessions.push(put.field("location").expect("an address").to_owned());
    }
    let statuses = sessions.iter().map(|path| server.request("GET", path, &[]));
    let mut kept = Vec::new();
    for status in statuses {
        kept.push(status.await.status);
    }
    assert_eq!(kept[7], 200, "the newest is kept");
    assert_eq!(kept[0], 404, "the oldest made room");
    // One that a page shows is kept, and the upload ends.
    let shown = sessions[7].trim_start_matches("/s/");
    let _page = server.live(shown).await;
    let put = server.put("large.log", &log).await;
    assert_eq!((put.status, &put.json()["error"]), (503, &json!("total_memory_full")));
    assert_eq!(server.request("GET", &sessions[7], &[]).await.status, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_uploads_that_break_off_leave_nothing() {
    let options = ServerOptions { sessions_max: 8, ..limited() };
    let server = TestServer::start(options).await;
    let (before, log) = (server.memory.bytes(), log(60_000));
    let mut sessions = Vec::new();
    for _ in 0..1_000 {
        let created = within(async {
            loop {
                let created = server.request("POST", "/api/sessions", &[]).await;
                // Retries until the server has noticed that the previous connections are lost.
                if created.status == 201 {
                    return created;
                }
                tokio::task::yield_now().await;
            }
        });
        let session = created.await.json()["id"].as_str().expect("an id").to_owned();
        let mut upload = server.upload(&session).await;
        upload.begin("a", log.len()).await;
        upload.send(&log[..log.len() / 2], 8 << 10).await;
        sessions.push(session);
    }
    for session in sessions {
        // Most of them were ended to make room.
        server.request("DELETE", &format!("/api/sessions/{session}"), &[]).await;
    }
    within(async {
        while server.memory.bytes() > before {
            tokio::task::yield_now().await;
        }
    })
    .await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_uploads_with_what_to_do() {
    let server = TestServer::start(ServerOptions::default()).await;
    let session = server.create_session().await;
    let mut upload = server.upload(&session).await;
    upload.begin("a", 1_000).await;
    let mut put = TcpStream::connect(server.address).await.expect("the server listens");
    let head = format!(
        "PUT /b.log HTTP/1.1\r\nHost: {}\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n",
        server.address
    );
    put.write_all(head.as_bytes()).await.expect("the server reads");
    // It is requested after the body was read.
    put.readable().await.expect("the server answers");
    server.stop().await;
    let (name, message) = error(&mut upload).await;
    assert_eq!((name.as_str(), upload.close_code().await), ("stopping", 1001));
    assert!(message.contains("send the log again from its beginning"), "{message}");
    let response = read_response(&mut put).await;
    assert_eq!((response.status, &response.json()["error"]), (503, &json!("stopping")));
}
