//! Sources can be removed from a session, even during their upload.

use weir_server::ServerOptions;
use weir_view::{Failure, SourceState, UploadReply, UploadRequest};

use crate::common::{TestServer, compare, log};

fn address(session: &str, number: u32) -> String {
    format!("/api/sessions/{session}/sources/{number}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_source_leaves_every_number() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let (kept, removed) = (log(200_000), log(300_000));
    let mut upload = server.upload(&id).await;
    upload.send_file("removed", &removed, 100_000).await;
    upload.send_file("kept", &kept, 100_000).await;
    let mut live = server.live(&id).await;
    let view = live.view_where(|view| view.complete && view.sources.len() == 2).await;
    let numbers: Vec<u32> = view.sources.iter().map(|source| source.number).collect();
    assert_eq!(numbers, [0, 1]);

    assert_eq!(server.request("DELETE", &address(&id, 0), &[]).await.status, 204);
    let view = live.view_where(|view| view.sources.len() == 1).await;
    assert_eq!((view.sources[0].number, view.sources[0].name.as_str()), (1, "kept.log"));
    compare(&kept, &server.report(&id).await);

    for path in [address(&id, 0), address(&id, 9), format!("/api/sessions/{id}/sources/x")] {
        let response = server.request("DELETE", &path, &[]).await;
        assert_eq!(
            (response.status, response.json()["error"].as_str()),
            (404, Some("unknown_source"))
        );
    }
    assert_eq!(server.request("GET", &address(&id, 1), &[]).await.status, 405);

    // The same file again is a new source.
    upload.send_file("removed", &removed, 100_000).await;
    let view = live.view_where(|view| view.complete && view.sources.len() == 2).await;
    assert_eq!(view.sources[1].number, 2);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn removing_a_source_stops_its_upload() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let log = log(400_000);
    let mut upload = server.upload(&id).await;
    upload.begin("a", log.len()).await;
    upload.send(&log[..200_000], 50_000).await;
    let mut live = server.live(&id).await;
    live.view_where(|view| view.report.records > 0).await;
    assert_eq!(server.request("DELETE", &address(&id, 0), &[]).await.status, 204);
    live.view_where(|view| view.sources.is_empty() && view.report.lines == 0).await;

    // The connection is informed with its next bytes.
    upload.send(&log[200_000..300_000], 50_000).await;
    assert_eq!(upload.error().await, "file_over");
    // The connection can send the file again, from its first byte.
    let mut again = server.upload(&id).await;
    assert_eq!(again.begin("a", log.len()).await, 0);
    again.send(&log, 50_000).await;
    again.finish("a").await;
    compare(&log, &server.report(&id).await);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_upload_is_recognised_by_its_fingerprint() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let log = log(400_000);
    let begin = |fingerprint: &str| UploadRequest::Begin {
        file: "a".to_owned(),
        name: "a.log".to_owned(),
        bytes_total: Some(log.len() as u64),
        continues: None,
        fingerprint: Some(fingerprint.to_owned()),
        replay: None,
        format: None,
    };
    let mut upload = server.upload(&id).await;
    upload.request(&begin("abc")).await;
    assert_eq!(upload.ready().await, 0);
    upload.send(&log[..200_000], 50_000).await;
    upload.wait_for_ack(150_000).await;
    drop(upload);

    let mut live = server.live(&id).await;
    let view = live.view_where(|view| view.sources[0].state == SourceState::Interrupted).await;
    assert_eq!(view.sources[0].fingerprint.as_deref(), Some("abc"));
    let mut other = server.upload(&id).await;
    other.request(&begin("xyz")).await;
    assert!(matches!(
        other.reply().await,
        UploadReply::Error { error: Failure { ref name, .. } } if name == "file_changed"
    ));
    let mut upload = server.upload(&id).await;
    upload.request(&begin("abc")).await;
    let offset = upload.ready().await;
    assert!(offset >= 150_000, "{offset}");
    upload.send(&log[offset..], 50_000).await;
    upload.finish("a").await;
    compare(&log, &server.report(&id).await);
    server.stop().await;
}
