//! Growing files: sources whose size is unknown until `end`.

use std::time::Duration;

use crate::common::{TestServer, compare, log, within};
use weir_net::websocket::client::Message;
use weir_server::ServerOptions;
use weir_view::SourceState;

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_shown_as_they_arrive_and_a_partial_one_at_the_end() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let mut live = server.live(&id).await;
    let mut upload = server.upload(&id).await;
    upload.request_begin_of("a", None, None).await;
    assert_eq!(upload.ready().await, 0);
    let log = log(20_000);
    let ends: Vec<usize> = ends_of_lines(&log);
    let mut from = 0;
    for lines in [1, 2, 40] {
        // A part of the next line is sent too, and does not count before its end.
        let to = ends[lines - 1] + 10;
        upload.send(&log[from..to], 1 << 16).await;
        let view = live.view_where(|view| view.report.lines == lines as u64).await;
        assert!(!view.complete);
        assert_eq!(
            (view.sources[0].state, view.sources[0].bytes_total),
            (SourceState::Reading, None)
        );
        from = to;
    }
    upload.finish("a").await;
    let view = live.view_where(|view| view.complete).await;
    assert_eq!((view.report.lines, view.sources[0].state), (41, SourceState::Done));
    compare(&log[..from], &server.report(&id).await);
    // The server would wait for these connections when it ends.
    drop((upload, live));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_is_not_a_stall_and_a_resumed_file_has_no_duplicates() {
    // Longer than the pauses of a busy machine, because it also limits the steps of this test.
    let options = ServerOptions { stall: Duration::from_secs(1), ..ServerOptions::default() };
    let server = TestServer::start(options).await;
    let id = server.create_session().await;
    let log = log(20_000);
    let half = ends_of_lines(&log)[50];
    let mut upload = server.upload(&id).await;
    upload.request_begin_of("a", None, None).await;
    assert_eq!(upload.ready().await, 0);
    upload.send(&log[..half + 20], 1 << 16).await;
    upload.wait_for_ack(half).await;
    // While nothing is acknowledged, the server pings and the client answers.
    for _ in 0..2 {
        match within(upload.receiver.next()).await.expect("a message") {
            Some(Message::Ping(payload)) => {
                upload.sender.send_pong(&payload).await.expect("the server reads");
            }
            other => panic!("a ping was expected, not {other:?}"),
        }
    }
    drop(upload);
    let mut upload = server.upload(&id).await;
    upload.request_begin_of("a", None, None).await;
    assert_eq!(upload.ready().await, half, "the partial line is sent again");
    upload.send(&log[half..], 1 << 16).await;
    upload.finish("a").await;
    compare(&log, &server.report(&id).await);
    drop(upload);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_continued_file_has_the_format_of_the_first() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    // These lines alone would not identify the format.
    let rest =
        b"not a log line\n192.0.2.2 - - [02/Nov/2026:00:00:01 +0000] \"GET /b HTTP/1.1\" 404 7\n";
    server.upload(&id).await.send_file("a", &log(20_000), 1 << 16).await;
    let format = server.report(&id).await["format"]["name"].clone();
    assert_eq!(format, "COMBINED");
    let mut upload = server.upload(&id).await;
    upload.request_begin_of("b", None, Some("a")).await;
    assert_eq!(upload.ready().await, 0);
    upload.send(rest, 1 << 16).await;
    upload.finish("b").await;
    let view = server.live(&id).await.view_where(|view| view.sources.len() == 2).await;
    let source = &view.sources[1];
    assert_eq!(source.format.as_ref().map(|format| format.name.as_str()), Some("COMBINED"));
    assert_eq!((source.lines, source.records, source.format_share), (2, 0, None));
    drop(upload);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_continued_file_has_all_formats_of_the_first() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let common = b"192.0.2.2 - - [02/Nov/2026:00:00:01 +0000] \"GET /b HTTP/1.1\" 404 7\n";
    // One line alone might be a fragment of a combined one.
    let first = [&log(20_000)[..], common, common].concat();
    server.upload(&id).await.send_file("a", &first, 1 << 16).await;
    let mut upload = server.upload(&id).await;
    upload.request_begin_of("b", None, Some("a")).await;
    assert_eq!(upload.ready().await, 0);
    upload.send(&[common, &log(10)[..]].concat(), 1 << 16).await;
    upload.finish("b").await;
    let view = server.live(&id).await.view_where(|view| view.sources.len() == 2).await;
    let source = &view.sources[1];
    assert_eq!((source.lines, source.records), (2, 2));
    drop(upload);
    server.stop().await;
}

/// The offsets after the line feeds of a log.
fn ends_of_lines(log: &[u8]) -> Vec<usize> {
    log.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect()
}
