//! Lost connections, slow parsers and timers: nothing is lost, nothing is doubled, nothing
//! is kept for ever.

use std::sync::{Arc, LazyLock, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, Running, compare, log, within};
use proptest::prelude::{ProptestConfig, prop, proptest};
use weir_ingest::DataSet;
use weir_net::websocket::client::{Message, encode_binary};
use weir_server::Options;
use weir_view::{SourceState, UploadReply};

const SHORT: Duration = Duration::from_millis(150);

/// Sends a log over as many connections as there are cuts, and one more.
async fn send_with_cuts(server: &Running, log: &[u8], cuts: &[usize], message_bytes: usize) {
    let id = server.create_session().await;
    for cut in cuts {
        let mut upload = server.upload(&id).await;
        let offset = upload.begin("a", log.len()).await;
        assert!(offset == 0 || log[offset - 1] == b'\n', "at a line end");
        let until = (offset + cut).min(log.len());
        upload.send(&log[offset..until], message_bytes).await;
        // Some connections break with bytes on their way, some when all is acknowledged.
        if cut % 3 == 0 {
            let line = log[..until].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            while upload.acked < line as u64 {
                match upload.reply().await {
                    UploadReply::Ack { offset, .. } => upload.acked = offset,
                    other => panic!("{other:?}"),
                }
            }
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
    fn no_line_is_lost_or_doubled_wherever_the_connection_breaks(
        cuts in prop::collection::vec(0_usize..30_000, 1..6),
        message_bytes in 1_usize..5_000,
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        static LOG: LazyLock<Vec<u8>> = LazyLock::new(|| log(60_000));
        runtime.block_on(async {
            let server = Running::start(Options::default()).await;
            send_with_cuts(&server, &LOG, &cuts, message_bytes).await;
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_bytes_keep_an_upload_alive() {
    let options = Options { stall: SHORT, ..Options::default() };
    let server = Running::start(options).await;
    let id = server.create_session().await;
    let mut upload = server.upload(&id).await;
    upload.begin("a", 1_000).await;
    let mut sender = upload.sender;
    let knocking = tokio::spawn(async move {
        // An empty binary message and a pong that nobody asked for, until the server closes.
        let knock = [0x82, 0x80, 0, 0, 0, 0, 0x8A, 0x80, 0, 0, 0, 0];
        while sender.send_raw(&knock).await.is_ok() {
            tokio::time::sleep(SHORT / 5).await;
        }
    });
    let refused = within(upload.receiver.next()).await;
    assert!(
        matches!(&refused, Ok(Some(Message::Text(text))) if text.contains("stalled")),
        "{refused:?}"
    );
    knocking.abort();
    server.stop().await;
}

/// Holds the values, so that no parser can get on.
fn stop_parsers(data: Arc<DataSet>) -> (mpsc::Sender<()>, JoinHandle<()>) {
    let (release, released) = mpsc::channel::<()>();
    let (ready, is_ready) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let values = data.values();
        ready.send(()).expect("somebody waits");
        let _ = released.recv();
        drop(values);
    });
    is_ready.recv().expect("the thread runs");
    (release, thread)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn acknowledged_means_parsed() {
    let stall = Duration::from_millis(500);
    let (server, session) =
        Running::start_pinned(Options { jobs: 1, stall, ..Options::default() }).await;
    let log = log(1 << 20).repeat(20);
    // Encoded before, for a page that takes its time stalls.
    let rest = encode_binary(&log[100_000..], 131_000);
    let mut upload = server.upload(session.id()).await;
    upload.begin("a", log.len()).await;
    // The format is known after this.
    upload.send(&log[..100_000], 10_000).await;
    while upload.acked < 99_000 {
        match upload.reply().await {
            UploadReply::Ack { offset, .. } => upload.acked = offset,
            other => panic!("{other:?}"),
        }
    }
    let pipeline = session.pipeline().expect("it goes on");
    let (release, thread) = stop_parsers(pipeline.data().clone());
    let mut sender = upload.sender;
    let sending = tokio::spawn(async move {
        sender.send_raw(&rest).await.expect("it reads");
        sender
    });
    // The stall timer does not fire: the page waits for the server.
    let quiet = tokio::time::timeout(stall * 2, upload.receiver.next()).await;
    assert!(quiet.is_err(), "nothing is parsed and nothing acknowledged: {quiet:?}");
    assert_eq!(pipeline.data().sources()[0].end(), None);
    drop(pipeline);

    release.send(()).expect("the thread waits");
    thread.join().expect("the thread ends");
    upload.sender = within(sending).await.expect("it was sent");
    upload.sent = log.len() as u64;
    upload.finish("a").await;
    assert_eq!(server.report(session.id()).await["bytes_read"], log.len());
    drop(upload);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_stalls_ends() {
    let options = Options { stall: SHORT, ..Options::default() };
    let (server, session) = Running::start_pinned(options).await;
    let log = log(50_000);
    let mut live = server.live(session.id()).await;
    let mut upload = server.upload(session.id()).await;
    upload.begin("a", log.len()).await;
    upload.send(&log[..20_000], 1_000).await;
    let started = Instant::now();
    assert_eq!(upload.error().await, "stalled");
    assert!(started.elapsed() >= SHORT / 2);
    let view = live.view_where(|view| view.complete).await;
    assert_eq!(view.sources[0].state, SourceState::Failed);
    let lines = log[..20_000].iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(view.report.lines, lines as u64, "whole lines stand, the torn one does not count");
    // A connection that does nothing ends as well.
    assert_eq!(upload.error().await, "stalled");
    assert_eq!(upload.close_code().await, 1000);
    drop((live, upload));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_not_taken_up_again_is_abandoned() {
    let options = Options { grace: SHORT, ..Options::default() };
    let (server, session) = Running::start_pinned(options).await;
    let log = log(50_000);
    let mut live = server.live(session.id()).await;
    let mut upload = server.upload(session.id()).await;
    upload.begin("a", log.len()).await;
    upload.send(&log[..20_000], 1_000).await;
    drop(upload);
    live.view_where(|view| {
        view.sources.first().is_some_and(|source| source.state == SourceState::Interrupted)
    })
    .await;
    let view = live.view_where(|view| view.sources[0].state == SourceState::Failed).await;
    assert!(view.sources[0].message.as_ref().is_some_and(|why| why.contains("not taken up")));
    assert_eq!(view.sources[0].file, "a");
    let mut upload = server.upload(session.id()).await;
    upload.ask_to_begin("a", log.len()).await;
    assert_eq!(upload.error().await, "file_over");
    drop((live, upload));
    server.stop().await;
}

/// Waits until nobody holds the data any more.
async fn freed(data: &std::sync::Weak<DataSet>) {
    let started = Instant::now();
    while data.strong_count() > 0 {
        assert!(started.elapsed() < PATIENCE, "the memory is not given back");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_nobody_uses_is_freed() {
    let options =
        Options { grace: SHORT, address: "127.0.0.1:0".parse().unwrap(), ..Default::default() };
    let server = weir_server::Server::bind(options).await.expect("a free port");
    let session = server.new_session(false).expect("a session");
    let data = Arc::downgrade(session.pipeline().expect("it is new").data());
    let kept = server.new_session(true).expect("a session");
    let serving = tokio::spawn(server.serve(std::future::pending()));
    within(session.ended()).await;
    assert!(session.pipeline().is_none());
    freed(&data).await;
    assert!(kept.pipeline().is_some(), "a pinned one stays");
    serving.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_looks_or_uploads_keeps_a_session() {
    let server = Running::start(Options { grace: SHORT, ..Options::default() }).await;
    let (looked_at, fed, left) = (
        server.create_session().await,
        server.create_session().await,
        server.create_session().await,
    );
    let mut live = server.live(&looked_at).await;
    let mut upload = server.upload(&fed).await;
    live.view().await;
    upload.begin("a", 10).await;
    let started = Instant::now();
    let status = async |id: &str| server.request("GET", &format!("/s/{id}"), &[]).await.status;
    while status(&left).await == 200 {
        assert!(started.elapsed() < PATIENCE);
        tokio::time::sleep(SHORT / 10).await;
    }
    assert_eq!((status(&looked_at).await, status(&fed).await), (200, 200));
    drop((live, upload));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delete_frees_at_once_in_the_middle_of_everything() {
    let (server, session) = Running::start_pinned(Options::default()).await;
    let log = log(200_000);
    let mut live = server.live(session.id()).await;
    let mut upload = server.upload(session.id()).await;
    upload.begin("a", 1 << 30).await;
    upload.send(&log, 10_000).await;
    live.view_where(|view| view.report.records > 0).await;
    // One file waits to be taken up again.
    let mut lost = server.upload(session.id()).await;
    lost.begin("b", 1 << 30).await;
    drop(lost);
    let data = Arc::downgrade(session.pipeline().expect("it goes on").data());
    let path = format!("/api/sessions/{}", session.id());
    assert_eq!(server.request("DELETE", &path, &[]).await.status, 204);
    assert_eq!(upload.error().await, "session_ended");
    assert_eq!(upload.close_code().await, 1001);
    assert_eq!(crate::common::close_code(&mut live.receiver).await, 1001);
    freed(&data).await;
    assert_eq!(server.request("DELETE", &path, &[]).await.status, 404);
    drop((live, upload));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_server_is_told() {
    let (server, session) = Running::start_pinned(Options::default()).await;
    let mut live = server.live(session.id()).await;
    let mut upload = server.upload(session.id()).await;
    upload.begin("a", 100).await;
    live.view().await;
    let told = tokio::spawn(async move {
        let code = upload.close_code().await;
        (code, crate::common::close_code(&mut live.receiver).await)
    });
    server.stop().await;
    assert_eq!(within(told).await.expect("both closed"), (1001, 1001));
    within(session.ended()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_memory_ends_the_file_and_keeps_what_was_read() {
    let options = Options { memory_bytes_max: 600_000, jobs: 1, ..Options::default() };
    let (server, session) = Running::start_pinned(options).await;
    let log = log(1 << 20).repeat(20);
    let mut upload = server.upload(session.id()).await;
    upload.begin("a", log.len()).await;
    let mut sender = upload.sender;
    let sending = tokio::spawn(async move {
        sender.send_binary(&log).await.expect("it reads");
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
    within(sending).await.expect("the rest is passed over");
    let mut live = server.live(session.id()).await;
    let view = live.view_where(|view| view.complete).await;
    assert!(view.report.records > 1_000);
    assert!(view.notes.iter().any(|note| note.contains("memory limit")), "{:?}", view.notes);
    drop((upload.receiver, live));
    server.stop().await;
}
