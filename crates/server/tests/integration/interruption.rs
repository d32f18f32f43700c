//! Lost connections, slow parsers and timeouts: no line is lost or duplicated, and everything is
//! freed in the end.

use std::sync::{Arc, LazyLock, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::common::{Live, PATIENCE, TestServer, Uploader, close, compare, log, skip, within};
use proptest::prelude::{ProptestConfig, prop, proptest};
use weir_ingest::DataSet;
use weir_net::websocket::client::{Message, encode_binary};
use weir_server::{ServerOptions, SessionHandle};
use weir_view::{SourceState, UploadReply};

/// The length of the lines that have a line end.
fn whole_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}

/// Sends a log over one connection for each cut, and a last one.
async fn send_with_cuts(server: &TestServer, log: &[u8], cuts: &[usize], message_bytes: usize) {
    let id = server.create_session().await;
    for cut in cuts {
        let mut upload = server.upload(&id).await;
        let offset = upload.begin("a", log.len()).await;
        assert!(offset == 0 || log[offset - 1] == b'\n', "the offset is the end of a line");
        let until = (offset + cut).min(log.len());
        upload.send(&log[offset..until], message_bytes).await;
        // Some connections break with bytes in flight, others after all lines are acknowledged.
        if cut % 3 == 0 {
            upload.wait_for_ack(whole_lines(&log[..until])).await;
        }
    }
    let mut upload = server.upload(&id).await;
    let offset = upload.begin("a", log.len()).await;
    upload.send(&log[offset..], message_bytes).await;
    upload.finish("a").await;
    compare(log, &server.report(&id).await);
    server.request("DELETE", &format!("/api/sessions/{id}"), &[]).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_line_is_lost_or_duplicated_at_any_cut(
        cuts in prop::collection::vec(0_usize..30_000, 1..6),
        message_bytes in 1_usize..5_000,
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        static LOG: LazyLock<Vec<u8>> = LazyLock::new(|| log(60_000));
        runtime.block_on(async {
            let server = TestServer::start(ServerOptions::default()).await;
            send_with_cuts(&server, &LOG, &cuts, message_bytes).await;
        });
    }
}

#[tokio::test]
async fn only_bytes_reset_the_stall_timer() {
    let options = ServerOptions::default();
    let stall = options.stall;
    let server = TestServer::start(options).await;
    let id = server.create_session().await;
    let mut upload = server.upload(&id).await;
    upload.begin("a", 1_000).await;
    // An empty binary message and an unsolicited pong.
    let frames = [0x82, 0x80, 0, 0, 0, 0, 0x8A, 0x80, 0, 0, 0, 0];
    for _ in 0..4 {
        upload.sender.send_raw(&frames).await.expect("the server reads");
        skip(stall / 4).await;
    }
    let refused = within(upload.receiver.next()).await;
    assert!(
        matches!(&refused, Ok(Some(Message::Text(text))) if text.contains("stalled")),
        "{refused:?}"
    );
    drop(upload);
    server.stop().await;
}

/// Locks the values, so that parsers cannot proceed.
fn stop_parsers(data: Arc<DataSet>) -> (mpsc::Sender<()>, JoinHandle<()>) {
    let (release, released) = mpsc::channel::<()>();
    let (ready, is_ready) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let values = data.values();
        ready.send(()).expect("the test waits");
        let _ = released.recv();
        drop(values);
    });
    is_ready.recv().expect("the thread runs");
    (release, thread)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn acknowledged_means_parsed() {
    // Longer than the pauses of a busy machine, which stall the upload too.
    let stall = Duration::from_secs(2);
    let (server, session) =
        TestServer::start_pinned(ServerOptions { jobs: 1, stall, ..ServerOptions::default() })
            .await;
    let log = log(1 << 20).repeat(20);
    // Encoded in advance, because an upload stalls if the page pauses.
    let rest = encode_binary(&log[100_000..], 131_000);
    let mut upload = server.upload(session.id()).await;
    upload.begin("a", log.len()).await;
    // The format is known after this.
    upload.send(&log[..100_000], 10_000).await;
    upload.wait_for_ack(99_000).await;
    let pipeline = session.pipeline().expect("the session is open");
    let (release, thread) = stop_parsers(pipeline.data().clone());
    let mut sender = upload.sender;
    let sending = tokio::spawn(async move {
        sender.send_raw(&rest).await.expect("the server reads");
        sender
    });
    // The stall timer does not fire while the page waits for the server.
    let quiet = tokio::time::timeout(stall * 3 / 2, upload.receiver.next()).await;
    assert!(quiet.is_err(), "nothing is acknowledged before it is parsed: {quiet:?}");
    assert_eq!(pipeline.data().sources()[0].end(), None);
    drop(pipeline);

    release.send(()).expect("the thread waits");
    thread.join().expect("the thread ends");
    upload.sender = within(sending).await.expect("everything was sent");
    upload.sent = log.len() as u64;
    upload.finish("a").await;
    assert_eq!(server.report(session.id()).await["bytes_read"], log.len());
    drop(upload);
    server.stop().await;
}

/// A pinned session, which is also viewed, with the file `a`, of which a part was sent.
struct UnfinishedUpload {
    server: TestServer,
    session: SessionHandle,
    live: Live,
    upload: Uploader,
    /// The part that was sent. It ends within a line.
    sent: Vec<u8>,
}

impl UnfinishedUpload {
    const FILE_BYTES: usize = 50_000;

    async fn start(options: ServerOptions) -> Self {
        let (server, session) = TestServer::start_pinned(options).await;
        let live = server.live(session.id()).await;
        let mut upload = server.upload(session.id()).await;
        upload.begin("a", Self::FILE_BYTES).await;
        let mut sent = log(Self::FILE_BYTES as u64);
        sent.truncate(20_000);
        upload.send(&sent, 1_000).await;
        Self { server, session, live, upload, sent }
    }
}

#[tokio::test]
async fn a_stalled_upload_ends() {
    let options = ServerOptions::default();
    let stall = options.stall;
    let UnfinishedUpload { server, mut live, mut upload, sent, .. } =
        UnfinishedUpload::start(options).await;
    upload.wait_for_ack(whole_lines(&sent)).await;
    skip(stall / 2).await;
    let early = tokio::time::timeout(Duration::from_millis(5), upload.receiver.next()).await;
    assert!(early.is_err(), "half of the stall time has passed: {early:?}");
    skip(stall / 2).await;
    assert_eq!(upload.error().await, "stalled");
    let view = live.view_where(|view| view.complete).await;
    assert_eq!(view.sources[0].state, SourceState::Failed);
    let lines = sent.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(
        view.report.lines, lines as u64,
        "whole lines are kept, the partial one does not count"
    );
    // An idle connection ends too.
    skip(stall).await;
    assert_eq!(upload.error().await, "stalled");
    assert_eq!(upload.close_code().await, 1000);
    drop((live, upload));
    server.stop().await;
}

#[tokio::test]
async fn a_file_that_is_not_resumed_fails() {
    let options = ServerOptions::default();
    let grace = options.grace;
    let UnfinishedUpload { server, session, mut live, upload, .. } =
        UnfinishedUpload::start(options).await;
    drop(upload);
    live.view_where(|view| {
        view.sources.first().is_some_and(|source| source.state == SourceState::Interrupted)
    })
    .await;
    skip(grace).await;
    let view = live.view_where(|view| view.sources[0].state == SourceState::Failed).await;
    assert!(view.sources[0].message.as_ref().is_some_and(|why| why.contains("not resumed")));
    assert_eq!(view.sources[0].file, "a");
    let mut upload = server.upload(session.id()).await;
    upload.request_begin("a", UnfinishedUpload::FILE_BYTES).await;
    assert_eq!(upload.error().await, "file_over");
    drop((live, upload));
    server.stop().await;
}

/// Waits until the data is freed.
async fn wait_until_freed(data: &std::sync::Weak<DataSet>) {
    let started = Instant::now();
    while data.strong_count() > 0 {
        assert!(started.elapsed() < PATIENCE, "the memory is not freed");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn an_unused_session_is_freed() {
    let options = ServerOptions::default();
    let grace = options.grace;
    let server = weir_server::Server::bind(options).await.expect("a free port");
    let session = server.new_session(false).expect("a session");
    let data = Arc::downgrade(session.pipeline().expect("the session is open").data());
    let kept = server.new_session(true).expect("a session");
    let serving = tokio::spawn(server.serve(std::future::pending()));
    skip(grace).await;
    within(session.ended()).await;
    assert!(session.pipeline().is_none());
    wait_until_freed(&data).await;
    assert!(kept.pipeline().is_some(), "a pinned session is kept");
    serving.abort();
}

#[tokio::test]
async fn viewers_and_uploads_keep_a_session() {
    // Shorter than the stall time of the upload.
    let grace = Duration::from_secs(10);
    let server = TestServer::start(ServerOptions { grace, ..ServerOptions::default() }).await;
    let viewed = server.create_session().await;
    let mut live = server.live(&viewed).await;
    let uploaded = server.create_session().await;
    let mut upload = server.upload(&uploaded).await;
    live.view().await;
    upload.begin("a", 10).await;
    let unused = server.create_session().await;
    skip(grace).await;
    let status = async |id: &str| server.request("GET", &format!("/s/{id}"), &[]).await.status;
    within(async {
        while status(&unused).await == 200 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    assert_eq!((status(&viewed).await, status(&uploaded).await), (200, 200));
    drop((live, upload));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delete_frees_a_session_in_use() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let log = log(200_000);
    let mut live = server.live(session.id()).await;
    let mut upload = server.upload(session.id()).await;
    upload.begin("a", 1 << 30).await;
    upload.send(&log, 10_000).await;
    live.view_where(|view| view.report.records > 0).await;
    // This file waits to be resumed.
    let mut lost = server.upload(session.id()).await;
    lost.begin("b", 1 << 30).await;
    drop(lost);
    let data = Arc::downgrade(session.pipeline().expect("the session is open").data());
    let path = format!("/api/sessions/{}", session.id());
    assert_eq!(server.request("DELETE", &path, &[]).await.status, 204);
    assert_eq!(upload.error().await, "session_ended");
    assert_eq!(upload.close_code().await, 1001);
    assert_eq!(close(&mut live.receiver).await.0, 1001);
    wait_until_freed(&data).await;
    assert_eq!(server.request("DELETE", &path, &[]).await.status, 404);
    drop((live, upload));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_closes_its_connections() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let mut live = server.live(session.id()).await;
    let mut upload = server.upload(session.id()).await;
    upload.begin("a", 100).await;
    live.view().await;
    let closes = tokio::spawn(async move {
        let of_upload = close(&mut upload.receiver).await;
        (of_upload, close(&mut live.receiver).await)
    });
    server.stop().await;
    let stopping = || (1001, "stopping".to_owned());
    assert_eq!(within(closes).await.expect("both closed"), (stopping(), stopping()));
    within(session.ended()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_memory_ends_the_file_and_keeps_its_lines() {
    let options = ServerOptions { memory_bytes_max: 600_000, jobs: 1, ..ServerOptions::default() };
    let (server, session) = TestServer::start_pinned(options).await;
    let log = log(1 << 20).repeat(20);
    let mut upload = server.upload(session.id()).await;
    upload.begin("a", log.len()).await;
    let mut sender = upload.sender;
    let sending = tokio::spawn(async move {
        sender.send_binary(&log).await.expect("the server reads");
        sender
    });
    let failure = loop {
        match within(upload.receiver.next()).await.expect("a message") {
            Some(Message::Text(text)) => match serde_json::from_str(&text).expect("a reply") {
                UploadReply::Ack { .. } => {}
                UploadReply::Error { error } => break error,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(failure.name, "memory_full");
    within(sending).await.expect("the server ignores the rest");
    let mut live = server.live(session.id()).await;
    let view = live.view_where(|view| view.complete).await;
    assert!(view.report.records > 1_000);
    assert!(view.notes.iter().any(|note| note.contains("memory limit")), "{:?}", view.notes);
    drop((upload.receiver, live));
    server.stop().await;
}
