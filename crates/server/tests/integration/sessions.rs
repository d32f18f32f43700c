//! At the limit of sessions, unused ones are ended to make room.

use crate::common::{Response, TestServer};
use weir_server::ServerOptions;

const LINE: &[u8] = b"::1 - - [17/Dec/2025:09:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n";

async fn put(server: &TestServer, name: &str) -> Response {
    let (host, length) = (server.address.to_string(), LINE.len().to_string());
    let fields = [("Host", host.as_str()), ("Content-Length", length.as_str())];
    server.request_as("PUT", &format!("/{name}"), &fields, LINE).await
}

fn id(response: &Response) -> String {
    let path = response.field("location").expect("an address");
    path.strip_prefix("/s/").expect("a session").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_by_curl_lock_nobody_out() {
    // The server of the tests has a pinned session.
    let server =
        TestServer::start(ServerOptions { sessions_max: 4, ..ServerOptions::default() }).await;
    let mut ids = Vec::new();
    for number in 0..20 {
        let response = put(&server, &format!("{number}.log")).await;
        assert_eq!(response.status, 201, "{}", response.text());
        let displaced = ids.len().checked_sub(3).map(|oldest: usize| &ids[oldest]);
        match displaced {
            Some(oldest) => {
                let name = number - 3;
                assert!(
                    response.text().contains(&format!("made room: /s/{oldest} ({name}.log)")),
                    "{}",
                    response.text()
                );
            }
            None => assert!(!response.text().contains("made room")),
        }
        ids.push(id(&response));
    }
    // A page still gets a session, and learns which one was ended.
    let created = server.request("POST", "/api/sessions", &[]).await;
    assert_eq!((created.status, &created.json()["displaced"]), (201, &ids[17].as_str().into()));
    let gone = server.request("GET", &format!("/api/sessions/{}/report", ids[0]), &[]).await;
    assert_eq!((gone.status, &gone.json()["error"]), (404, &"session_displaced".into()));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_are_used_make_no_room() {
    let server =
        TestServer::start(ServerOptions { sessions_max: 3, ..ServerOptions::default() }).await;
    let viewed = id(&put(&server, "viewed.log").await);
    let mut live = server.live(&viewed).await;
    live.view().await;
    let uploading = server.create_session().await;
    let mut upload = server.upload(&uploading).await;
    upload.begin("a", 100).await;
    // The pinned session, the one that is viewed and the one that is read.
    assert_eq!(put(&server, "more.log").await.status, 503);
    let refused = server.request("POST", "/api/sessions", &[]).await;
    assert_eq!((refused.status, &refused.json()["error"]), (503, &"too_many_sessions".into()));
    assert_eq!(server.report(&viewed).await["lines"], 1);
    drop(upload);
    crate::common::within(async {
        while put(&server, "more.log").await.status != 201 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(server.report(&viewed).await["lines"], 1, "the page keeps its session");
    drop(live);
    server.stop().await;
}
