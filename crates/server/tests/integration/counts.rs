//! The statistics of a running server.

use weir_server::{ServerOptions, SessionViewCounts};
use weir_view::UploadRequest;

use crate::common::{TestServer, log, within};

#[tokio::test(flavor = "multi_thread")]
async fn only_data_sets_with_an_open_source_have_running_parsers() {
    let server = TestServer::start(ServerOptions { jobs: 2, ..ServerOptions::default() }).await;
    let log = log(200_000);
    for _ in 0..3 {
        assert_eq!(server.put("a.log", &log).await.status, 201);
    }
    let counts = server.handle.counts();
    assert_eq!(counts.sources.len(), 3);
    assert!(counts.sources.iter().all(|source| source.has_ended), "{counts:?}");
    assert_eq!((counts.threads, counts.running_queue_bytes_max), (0, 0));
    let id = server.create_session().await;
    let mut upload = server.upload(&id).await;
    upload.begin("a.log", log.len()).await;
    upload.send(&log[..100_000], 10_000).await;
    let counts = server.handle.counts();
    assert_eq!(counts.threads, 2, "those of the open upload");
    assert_eq!(counts.sources.iter().filter(|source| !source.has_ended).count(), 1);
    assert!(counts.running_queue_bytes_max < counts.queue_bytes_max, "{counts:?}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn views_are_counted_for_each_data_set_and_stay_in_the_sum() {
    let server = TestServer::start(ServerOptions::default()).await;
    let sum = |views: &[SessionViewCounts]| views.iter().map(|it| it.counts.views).sum::<u64>();
    let mut ids = Vec::new();
    let mut pages = Vec::new();
    for _ in 0..3 {
        let id = server.create_session().await;
        let mut live = server.live(&id).await;
        live.view().await;
        ids.push(id);
        pages.push(live);
    }
    server.create_session().await;
    let all_counted = async {
        let mut last = Vec::new();
        loop {
            let views = server.handle.counts().views;
            let are_sent = views.len() == 3 && views.iter().all(|it| it.counts.views > 0);
            // The times of work in progress grow, so two equal reads mean that there is none.
            if are_sent && views == last {
                return views;
            }
            last = views;
            tokio::task::yield_now().await;
        }
    };
    let before = within(all_counted).await;
    assert!(before.is_sorted_by(|one, other| one.session < other.session), "{before:?}");
    assert!(before.iter().all(|it| it.session.is_some() && it.counts.connections == 1));
    let path = format!("/api/sessions/{}", ids[0]);
    assert_eq!(server.request("DELETE", &path, &[]).await.status, 204);
    drop(pages.remove(0));
    let ended = async {
        loop {
            let views = server.handle.counts().views;
            assert!(sum(&views) >= sum(&before), "{views:?}");
            if views.last().is_some_and(|others| others.session.is_none()) {
                return views;
            }
            tokio::task::yield_now().await;
        }
    };
    let after = within(ended).await;
    assert_eq!(after[..2], before[1..], "nothing has changed for the two others");
    assert_eq!(after[2].counts.connections, 0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn live_views_are_counted() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let mut live = server.live(&id).await;
    let view = live.view().await;
    assert_eq!(view.report.records, 0);
    // A view is counted only after it is sent, so its reader may be earlier.
    let counted = async {
        while server.handle.counts().views.iter().all(|views| views.counts.views == 0) {
            tokio::task::yield_now().await;
        }
    };
    within(counted).await;
    let [SessionViewCounts { session, counts }] = server.handle.counts().views[..] else {
        panic!("one data set is shown")
    };
    assert!(session.is_some());
    assert_eq!(counts.connections, 1);
    assert!(counts.bytes > 100, "{counts:?}");
    assert!(!counts.evaluating.is_zero(), "{counts:?}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_wait_are_counted_for_each_source() {
    let server = TestServer::start(ServerOptions::default()).await;
    let log = log(2_000);
    let id = server.create_session().await;
    let held = || {
        let sources = server.handle.counts().sources;
        sources.iter().map(|source| (source.name.clone(), source.held_bytes)).collect::<Vec<_>>()
    };
    let reached = async |expected: u64| {
        while held() != [("a.log".to_owned(), expected)] {
            tokio::task::yield_now().await;
        }
    };
    let mut upload = server.upload(&id).await;
    assert_eq!(upload.begin("a", log.len()).await, 0);
    assert_eq!(held(), [("a.log".to_owned(), 0)]);
    let mut joined = server.upload(&id).await;
    joined.request(&UploadRequest::Join { file: "a".to_owned() }).await;
    joined.reply().await;
    // The second half arrives before the first.
    let half = log.len() / 2;
    joined.request(&UploadRequest::Block { file: "a".to_owned(), offset: half as u64 }).await;
    joined.sender.send_binary(&log[half..]).await.expect("the server reads");
    within(reached((log.len() - half) as u64)).await;
    upload.sender.send_binary(&log[..half]).await.expect("the server reads");
    within(reached(0)).await;
    server.stop().await;
}
