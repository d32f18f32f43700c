//! Uploads over WebSockets: every byte counts once, for messages of any size.

use std::time::{Duration, Instant};

use crate::common::{TestServer, compare, log};
use weir_net::websocket::client::ClientOptions;
use weir_server::ServerOptions;
use weir_view::{SourceState, UploadReply, UploadRequest};

const MIB: usize = 1 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_any_size_make_the_same_report() {
    let server = TestServer::start(ServerOptions::default()).await;
    let (small, large) = (log(150_000), log(3 * MIB as u64));
    let cases = [
        (&small, 1),
        (&small, 3),
        (&small, 100),
        (&large, 4_096),
        (&large, 131_001),
        (&large, MIB),
        (&large, 64 * MIB),
    ];
    for (log, message_bytes) in cases {
        let id = server.create_session().await;
        server.upload(&id).await.send_file("a", log, message_bytes).await;
        compare(log, &server.report(&id).await);
        assert_eq!(server.request("DELETE", &format!("/api/sessions/{id}"), &[]).await.status, 204);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cost_is_linear_in_the_bytes() {
    let server = TestServer::start(ServerOptions::default()).await;
    let log = log(400_000);
    let mut durations = Vec::new();
    for bytes in [100_000, 400_000] {
        let mut shortest = Duration::MAX;
        // Other processes may slow down some of the runs.
        for _ in 0..3 {
            let id = server.create_session().await;
            let mut upload = server.upload(&id).await;
            let started = Instant::now();
            upload.send_file("a", &log[..bytes], 1).await;
            shortest = shortest.min(started.elapsed());
        }
        durations.push(shortest);
    }
    // There are four times the bytes, so a quadratic cost would take sixteen times as long.
    let limit = durations[0] * 10 + Duration::from_millis(300);
    assert!(durations[1] < limit, "{durations:?}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_files_at_once_make_one_data_set() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let log = log(400_000);
    let middle =
        log.iter().skip(200_000).position(|byte| *byte == b'\n').expect("a line") + 200_001;
    let (first, second) = log.split_at(middle);
    let (mut one, mut two) = (server.upload(&id).await, server.upload(&id).await);
    tokio::join!(one.send_file("1", first, 5_000), two.send_file("2", second, 999));
    compare(&log, &server.report(&id).await);
    one.send_file("3", b"", 1).await;
    compare(&log, &server.report(&id).await);
    drop((one, two));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn compressed_files_are_read_and_acknowledged_in_their_own_bytes() {
    use std::io::Write;
    let server = TestServer::start(ServerOptions::default()).await;
    let log = log(2 * MIB as u64);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&log).expect("memory");
    let gzip = gzip.finish().expect("memory");
    let zstd = zstd::encode_all(&log[..], 1).expect("memory");
    for (packed, message_bytes) in [(&gzip, 10_000), (&zstd, 64 * MIB), (&gzip, 7)] {
        let id = server.create_session().await;
        let mut upload = server.upload(&id).await;
        // The connection is lost after half of the file.
        upload.begin("a", packed.len()).await;
        upload.send(&packed[..packed.len() / 2], message_bytes).await;
        drop(upload);
        let mut upload = server.upload(&id).await;
        let offset = upload.begin("a", packed.len()).await;
        assert!(offset <= packed.len() / 2);
        upload.send(&packed[offset..], message_bytes).await;
        upload.finish("a").await;
        compare(&log, &server.report(&id).await);
    }
    let id = server.create_session().await;
    let mut upload = server.upload(&id).await;
    let cut = &gzip[..gzip.len() - 9];
    upload.begin("cut", cut.len()).await;
    upload.send(cut, MIB).await;
    upload.end("cut").await;
    assert_eq!(upload.error().await, "damaged");
    let report = server.report(&id).await;
    assert!(
        report["lines"].as_u64() > Some(5_000),
        "the lines read before are kept: {}",
        report["lines"]
    );
    // The connection can send another file.
    upload.send_file("whole", &zstd, MIB).await;
    drop(upload);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_packed_file_is_parsed_and_acknowledged_while_its_sender_pauses() {
    let server = TestServer::start(ServerOptions::default()).await;
    let log = log(2 * MIB as u64);
    // A frame of 128 KiB blocks, whose beginning can be unpacked.
    let packed = zstd::encode_all(&log[..], 1).expect("memory");
    let id = server.create_session().await;
    let mut upload = server.upload(&id).await;
    upload.begin("a", packed.len()).await;
    let half = packed.len() / 2;
    upload.send(&packed[..half], 10_000).await;
    upload.wait_for_ack(half).await;
    let lines = server.report(&id).await["lines"].as_u64();
    assert!(lines > Some(1_000), "{lines:?}");
    upload.send(&packed[half..], 10_000).await;
    upload.finish("a").await;
    compare(&log, &server.report(&id).await);
    drop(upload);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_packing_that_is_not_read_is_refused_at_once() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let mut upload = server.upload(&id).await;
    upload.begin("a", 100 * MIB).await;
    // The refusal does not wait for the end, but for more bytes.
    upload.send(&[&b"\x1f\x9d\x90"[..], &[b'x'; 9 * MIB]].concat(), 100_000).await;
    assert_eq!(upload.error().await, "unsupported_packing");
    // The connection can send another file.
    let log = log(100_000);
    upload.send_file("b", &log, MIB).await;
    compare(&log, &server.report(&id).await);
    drop(upload);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_layer_of_packing_is_removed() {
    use std::io::Write;
    let gzip = |bytes: &[u8]| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(bytes).expect("memory");
        gzip.finish().expect("memory")
    };
    let server = TestServer::start(ServerOptions::default()).await;
    // Only UTF-8 can be converted to UTF-16.
    let text = String::from_utf8_lossy(&log(2 * MIB as u64)).into_owned();
    let log = text.clone().into_bytes();
    let units = ["\u{feff}", &text].concat();
    let utf16: Vec<u8> = units.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let zstd = zstd::encode_all(&gzip(&log)[..], 1).expect("memory");
    let padded = [gzip(&log), vec![0; 512]].concat();
    for packed in [gzip(&gzip(&log)), zstd, padded, gzip(&utf16), utf16] {
        for message_bytes in [7_777, 64 * MIB] {
            let id = server.create_session().await;
            let mut upload = server.upload(&id).await;
            // The connection is lost after half of the file.
            upload.begin("a", packed.len()).await;
            upload.send(&packed[..packed.len() / 2], message_bytes).await;
            drop(upload);
            let mut upload = server.upload(&id).await;
            let offset = upload.begin("a", packed.len()).await;
            upload.send(&packed[offset..], message_bytes).await;
            upload.finish("a").await;
            compare(&log, &server.report(&id).await);
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn skipped_bytes_are_acknowledged_and_large_messages_are_received() {
    let server = TestServer::start(ServerOptions::default()).await;
    let log = log(100_000);
    // Longer than the window, so it ends only if skipped bytes are acknowledged.
    for (byte, too_long) in [(b'x', 1), (0, 0)] {
        let id = server.create_session().await;
        let run = [&vec![byte; 66 * MIB], &b"\n"[..], &log].concat();
        server.upload(&id).await.send_file("a", &run, 64 * MIB).await;
        let report = server.report(&id).await;
        assert_eq!(report["too_long_lines"], too_long);
        assert_eq!(report["bytes_read"], run.len());
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_piece_is_parsed_after_a_pause() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let log = log(10_000);
    let mut upload = server.upload(&id).await;
    upload.begin("a", log.len()).await;
    let line = log.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
    upload.send(&log[..line + 5], 3).await;
    loop {
        match upload.reply().await {
            UploadReply::Ack { offset, .. } if offset == line as u64 => break,
            UploadReply::Ack { offset, .. } => assert!(offset < line as u64),
            other => panic!("{other:?}"),
        }
    }
    drop(upload);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_another_length_than_announced_is_an_error() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let log = log(50_000);
    let mut upload = server.upload(&id).await;
    upload.begin("short", log.len() + 1).await;
    upload.send(&log, 1_000).await;
    upload.end("short").await;
    assert_eq!(upload.error().await, "wrong_length");
    compare(&log, &server.report(&id).await);
    upload.begin("long", 10).await;
    upload.send(&log, 1_000).await;
    assert_eq!(upload.error().await, "wrong_length");
    // The rest of the file is ignored, with its end, and the connection can send another file.
    upload.end("long").await;
    upload.send_file("right", &log, 1_000).await;
    drop(upload);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_has_one_owner() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let log = log(50_000);
    let mut first = server.upload(&id).await;
    first.begin("a", log.len()).await;
    let mut second = server.upload(&id).await;
    second.request_begin("a", log.len()).await;
    assert_eq!(second.error().await, "file_busy");
    second.request_begin("a", log.len() + 1).await;
    assert_eq!(second.error().await, "file_changed");
    first.send(&log, 10_000).await;
    first.finish("a").await;
    // The end is repeated for a page that did not receive it.
    second.request_begin("a", log.len()).await;
    let done = UploadReply::Done { file: "a".to_owned(), offset: log.len() as u64 };
    assert_eq!(second.reply().await, done);
    compare(&log, &server.report(&id).await);
    drop((first, second));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_file_keeps_its_parsed_lines() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let log = log(50_000);
    let mut live = server.live(session.id()).await;
    let mut upload = server.upload(session.id()).await;
    upload.begin("a", 1 << 30).await;
    upload.send(&log, 1_000).await;
    live.view_where(|view| view.report.records > 0).await;
    upload.request(&UploadRequest::Cancel { file: "a".to_owned() }).await;
    let cancelled = |view: &weir_view::View| view.sources[0].state == SourceState::Cancelled;
    let view = live.view_where(cancelled).await;
    assert!(view.complete && view.report.records > 0);
    upload.send_file("b", &log, 1_000).await;
    let mut other = server.upload(session.id()).await;
    other.request_begin("a", 1 << 30).await;
    assert_eq!(other.error().await, "file_over");
    drop((live, upload, other));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn violations_of_the_protocol_close_the_connection() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    for (message, name) in [
        ("no JSON", "bad_request"),
        (r#"{"type":"begin","file":"","name":"a","bytes_total":1}"#, "bad_request"),
        (r#"{"type":"begin","file":"a","name":"a","bytes_total":-1}"#, "bad_request"),
    ] {
        let mut upload = server.upload(&id).await;
        upload.sender.send_text(message).await.expect("the server reads");
        assert_eq!(upload.error().await, name, "{message}");
        assert_eq!(upload.close_code().await, 1008);
    }
    let mut upload = server.upload(&id).await;
    upload.sender.send_binary(b"no file").await.expect("the server reads");
    assert_eq!(upload.error().await, "no_file");
    let mut upload = server.upload(&id).await;
    upload.begin("a", 10).await;
    upload.request_begin("b", 10).await;
    assert_eq!(upload.error().await, "bad_request");
    assert_eq!(upload.close_code().await, 1008);
    drop(upload);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_pages_cannot_connect() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let foreign =
        ClientOptions { origin: Some("http://evil.example".to_owned()), ..Default::default() };
    let refused = server.try_upload(&id, foreign).await.err().map(|error| error.to_string());
    assert!(refused.is_some_and(|text| text.contains("403")));
    let own = format!("http://localhost:{}", server.address.port());
    let own = ClientOptions { origin: Some(own), ..Default::default() };
    assert!(server.try_upload(&id, own).await.is_ok());
    let unknown = server.try_upload("0123", ClientOptions::default()).await.err();
    assert!(unknown.is_some_and(|error| error.to_string().contains("404")));
    server.stop().await;
}
