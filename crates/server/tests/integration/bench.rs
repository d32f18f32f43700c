//! The addresses that measure uploads, which exist only with the `bench` option.

use crate::common::{TestServer, log, within};
use weir_net::websocket::client::{ClientOptions, ConnectError, Message, connect};
use weir_server::ServerOptions;
use weir_view::{UploadReply, UploadRequest};

async fn status_of(server: &TestServer, path: &str) -> Option<u16> {
    match connect(server.address, path, ClientOptions::default()).await {
        Ok(_) => Some(101),
        Err(ConnectError::Refused(status)) => Some(status),
        Err(ConnectError::Io(_)) => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_option_they_do_not_exist() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    assert_eq!(server.request("GET", "/bench/upload", &[]).await.status, 404);
    assert_eq!(status_of(&server, "/api/bench/plain").await, Some(404));
    assert_eq!(status_of(&server, &format!("/api/sessions/{id}/discard")).await, Some(404));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_baseline_acknowledges_each_message() {
    let server = TestServer::start(ServerOptions { bench: true, ..ServerOptions::default() }).await;
    let page = server.request("GET", "/bench/upload", &[]).await;
    assert_eq!(page.status, 200);
    let connected = connect(server.address, "/api/bench/plain", ClientOptions::default()).await;
    let (mut sender, mut receiver) = connected.expect("the server accepts");
    let mut total = 0;
    for length in [1, 300_000, 0, 131_000, 1 << 20] {
        total += length;
        sender.send_binary(&vec![7; length]).await.expect("the server reads");
        let acked = within(receiver.next()).await.expect("the session is open");
        assert_eq!(acked, Some(Message::Text(total.to_string())));
    }
    drop((sender, receiver));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn discarded_bytes_are_acknowledged_and_not_parsed() {
    let server = TestServer::start(ServerOptions { bench: true, ..ServerOptions::default() }).await;
    let id = server.create_session().await;
    let log = log(3 << 20);
    let mut upload = server.try_upload_to(&id, "discard", ClientOptions::default()).await.unwrap();
    upload.send_file("a", &log, 200_000).await;
    let report = server.report(&id).await;
    assert_eq!((&report["lines"], &report["bytes_read"]), (&0.into(), &0.into()));
    // Over two connections, as the page sends it.
    upload.begin("b", log.len()).await;
    let mut other = server.try_upload_to(&id, "discard", ClientOptions::default()).await.unwrap();
    other.request(&UploadRequest::Join { file: "b".to_owned() }).await;
    assert_eq!(other.reply().await, UploadReply::Joined { file: "b".to_owned() });
    let half = log.len() / 2;
    other.request(&UploadRequest::Block { file: "b".to_owned(), offset: half as u64 }).await;
    other.sender.send_binary(&log[half..]).await.expect("the server reads");
    upload.sender.send_binary(&log[..half]).await.expect("the server reads");
    upload.sent = log.len() as u64;
    upload.finish("b").await;
    drop((upload, other));
    server.stop().await;
}
