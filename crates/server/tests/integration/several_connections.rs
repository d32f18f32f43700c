//! One file over several connections: its bytes are put in order, and no line is lost or
//! duplicated if a connection breaks.

use std::sync::LazyLock;
use std::time::Duration;

use crate::common::{TestServer, Uploader, compare, log, within};
use proptest::prelude::{ProptestConfig, prop, proptest};
use weir_net::websocket::CloseCode;
use weir_net::websocket::client::{Message, encode_binary};
use weir_server::ServerOptions;
use weir_view::{SourceState, UploadReply, UploadRequest, View};

const MIB: usize = 1 << 20;

async fn join(server: &TestServer, id: &str, file: &str) -> Uploader {
    let mut upload = server.upload(id).await;
    upload.request(&UploadRequest::Join { file: file.to_owned() }).await;
    assert_eq!(upload.reply().await, UploadReply::Joined { file: file.to_owned() });
    upload
}

/// Sends the offset of the next bytes.
async fn block(upload: &mut Uploader, file: &str, offset: usize) {
    let request = UploadRequest::Block { file: file.to_owned(), offset: offset as u64 };
    upload.request(&request).await;
}

async fn send_block(upload: &mut Uploader, file: &str, log: &[u8], offset: usize, length: usize) {
    block(upload, file, offset).await;
    let bytes = &log[offset..log.len().min(offset + length)];
    upload.sender.send_binary(bytes).await.expect("the server reads");
}

/// Waits until the server has read everything from the connection: it answers pings in order.
async fn wait_until_read(upload: &mut Uploader) {
    upload.sender.send_ping(b"").await.expect("the server reads");
    let answer = within(upload.receiver.next()).await;
    assert!(matches!(answer, Ok(Some(Message::Pong(_)))), "{answer:?}");
}

/// One attempt to send the file.
#[derive(Debug, Clone)]
struct Attempt {
    /// The number of joined connections.
    joined: usize,
    /// The sizes of the blocks, repeated.
    block_bytes: Vec<usize>,
    /// The connection of each block, repeated.
    order: Vec<usize>,
    /// Which connection breaks, and after how many blocks.
    breaks: (usize, usize),
}

async fn send(server: &TestServer, log: &[u8], attempts: &[Attempt]) {
    let id = server.create_session().await;
    let mut first = server.upload(&id).await;
    for (at, attempt) in attempts.iter().enumerate() {
        let offset = first.begin("a", log.len()).await;
        assert!(offset == 0 || log[offset - 1] == b'\n', "the offset is the end of a line");
        let is_last = at + 1 == attempts.len();
        let broken = send_once(server, &id, &mut first, log, offset, attempt, is_last).await;
        if is_last {
            break;
        }
        // If the owner's connection was lost, a new one resumes the file without an error.
        if broken > 0 {
            assert_eq!(first.error().await, "interrupted");
        }
    }
    first.sent = log.len() as u64;
    first.finish("a").await;
    compare(log, &server.report(&id).await);
    server.request("DELETE", &format!("/api/sessions/{id}"), &[]).await;
}

/// Sends the rest of the file, or until a connection breaks. Returns which one breaks.
async fn send_once(
    server: &TestServer,
    id: &str,
    first: &mut Uploader,
    log: &[u8],
    mut offset: usize,
    attempt: &Attempt,
    is_last: bool,
) -> usize {
    let mut others = Vec::new();
    for _ in 0..attempt.joined {
        others.push(join(server, id, "a").await);
    }
    let (broken, after) = (attempt.breaks.0 % (attempt.joined + 1), attempt.breaks.1);
    let sizes = attempt.block_bytes.iter().cycle();
    let owners = attempt.order.iter().cycle();
    for (number, (size, owner)) in sizes.zip(owners).enumerate() {
        if offset >= log.len() || (!is_last && number == after) {
            break;
        }
        match owner % (attempt.joined + 1) {
            0 => send_block(first, "a", log, offset, *size).await,
            other => send_block(&mut others[other - 1], "a", log, offset, *size).await,
        }
        offset += size;
    }
    first.sent = log.len() as u64;
    if !is_last {
        match broken {
            0 => *first = server.upload(id).await,
            other => drop(others.swap_remove(other - 1)),
        }
        return broken;
    }
    // Bytes on a connection that ends with a close frame count.
    for mut other in others {
        other.sender.close(CloseCode::NORMAL, "").await.expect("the server reads");
        tokio::spawn(async move { while let Ok(Some(_)) = other.receiver.next().await {} });
    }
    broken
}

fn attempts() -> impl proptest::strategy::Strategy<Value = Vec<Attempt>> {
    use proptest::strategy::Strategy;
    let sizes = prop::collection::vec(1_usize..9_000, 1..5);
    let order = prop::collection::vec(0_usize..4, 1..7);
    let one = (0_usize..4, sizes, order, (0_usize..4, 0_usize..12));
    let one = one.prop_map(|(joined, block_bytes, order, breaks)| Attempt {
        joined,
        block_bytes,
        order,
        breaks,
    });
    prop::collection::vec(one, 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_line_is_lost_or_duplicated_if_a_connection_breaks(attempts in attempts()) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        static LOG: LazyLock<Vec<u8>> = LazyLock::new(|| log(60_000));
        runtime.block_on(async {
            let server = TestServer::start(ServerOptions::default()).await;
            send(&server, &LOG, &attempts).await;
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_file_can_use_two_connections() {
    let server = TestServer::start(ServerOptions::default()).await;
    let log = log(2 * MIB as u64);
    let packed = zstd::encode_all(&log[..], 1).expect("memory");
    let id = server.create_session().await;
    let mut first = server.upload(&id).await;
    first.begin("a", packed.len()).await;
    let mut second = join(&server, &id, "a").await;
    let step = 10_001;
    for (number, offset) in (0..packed.len()).step_by(step).enumerate() {
        let upload = if number % 2 == 0 { &mut first } else { &mut second };
        send_block(upload, "a", &packed, offset, step).await;
    }
    first.sent = packed.len() as u64;
    first.finish("a").await;
    compare(&log, &server.report(&id).await);
    // The second connection can send a file of its own.
    second.send_file("b", &log, MIB).await;
    drop((first, second));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_out_of_order_are_bounded_and_then_received() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    // More than the buffers of both sockets may hold: 32 MiB and 4 MiB are usual limits.
    let log = log(MIB as u64).repeat(100);
    let mut first = server.upload(&id).await;
    first.begin("a", log.len()).await;
    let mut second = join(&server, &id, "a").await;
    block(&mut second, "a", MIB).await;
    let rest = encode_binary(&log[MIB..], 131_000);
    let mut sending = tokio::spawn(async move {
        second.sender.send_raw(&rest).await.expect("the server reads");
        second
    });
    let patience = Duration::from_millis(500);
    let early = tokio::time::timeout(patience, &mut sending).await;
    assert!(early.is_err(), "more bytes were read than may wait");
    send_block(&mut first, "a", &log, 0, MIB).await;
    let second = within(sending).await.expect("the rest is received");
    first.sent = log.len() as u64;
    first.finish("a").await;
    assert_eq!(server.report(&id).await["bytes_read"], log.len());
    drop((first, second));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_can_begin_a_file_again() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let log = log(100_000);
    let mut upload = server.upload(&id).await;
    upload.begin("a", log.len()).await;
    upload.send(&log[..50_000], 7_000).await;
    let offset = upload.begin("a", log.len()).await;
    assert!(offset > 0 && log[offset - 1] == b'\n');
    upload.send(&log[offset..], 7_000).await;
    upload.finish("a").await;
    compare(&log, &server.report(&id).await);
    drop(upload);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_block_is_a_stall() {
    // Longer than the pauses of a busy machine, because it also limits the steps before the gap.
    let stall = Duration::from_secs(2);
    let server = TestServer::start(ServerOptions { stall, ..ServerOptions::default() }).await;
    let id = server.create_session().await;
    let log = log(50_000);
    let mut first = server.upload(&id).await;
    first.begin("a", log.len()).await;
    let mut second = join(&server, &id, "a").await;
    send_block(&mut second, "a", &log, 20_000, 30_000).await;
    send_block(&mut first, "a", &log, 0, 10_000).await;
    first.sent = 50_000;
    first.end("a").await;
    assert_eq!(first.error().await, "stalled");
    drop((first, second));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_behind_a_gap_is_a_wrong_length_at_once() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let log = log(50_000);
    for (file, bytes_total, error) in
        [("a", Some(50_000), "wrong_length"), ("b", None, "bad_request")]
    {
        let mut upload = server.upload(&id).await;
        upload.request_begin_of(file, bytes_total, None).await;
        upload.reply().await;
        send_block(&mut upload, file, &log, 0, 10_000).await;
        send_block(&mut upload, file, &log, 20_000, 30_000).await;
        upload.end(file).await;
        assert_eq!(upload.error().await, error);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_by_another_connection_is_told() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let log = log(100_000);
    let mut sender = server.upload(&id).await;
    sender.begin("a", log.len()).await;
    sender.send(&log[..50_000], 10_000).await;
    let mut other = server.upload(&id).await;
    other.request(&UploadRequest::Cancel { file: "a".to_owned() }).await;
    within(async {
        let is_cancelled = |view: &View| view.sources[0].state == SourceState::Cancelled;
        while !is_cancelled(&server.live(&id).await.view().await) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    sender.send(&log[50_000..], 10_000).await;
    assert_eq!(sender.error().await, "file_over");
    drop((sender, other));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn violations_by_joined_connections_are_refused() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let log = log(50_000);
    let mut stray = server.upload(&id).await;
    stray.request(&UploadRequest::Join { file: "a".to_owned() }).await;
    assert_eq!(stray.error().await, "not_begun");

    let mut first = server.upload(&id).await;
    first.begin("a", log.len()).await;
    let mut others = Vec::new();
    for _ in 1..4 {
        others.push(join(&server, &id, "a").await);
    }
    stray.request(&UploadRequest::Join { file: "a".to_owned() }).await;
    assert_eq!(stray.error().await, "too_many_connections");
    for mut other in others {
        other.sender.close(CloseCode::NORMAL, "").await.expect("the server reads");
        assert_eq!(other.close_code().await, 1000);
    }

    // Bytes without an offset, decreasing offsets, and blocks of another file.
    for case in 0..3 {
        let mut other = join(&server, &id, "a").await;
        match case {
            0 => other.sender.send_binary(b"abc").await.expect("the server reads"),
            1 => {
                send_block(&mut other, "a", &log, 10, 10).await;
                block(&mut other, "a", 19).await;
            }
            _ => block(&mut other, "b", 0).await,
        }
        assert_eq!(other.error().await, "bad_request");
        assert_eq!(other.close_code().await, 1008);
        drop(other);
        assert_eq!(first.error().await, "interrupted");
        first.begin("a", log.len()).await;
        first.sent = log.len() as u64;
    }
    // Two overlapping blocks.
    let mut other = join(&server, &id, "a").await;
    send_block(&mut other, "a", &log, 900, 100).await;
    wait_until_read(&mut other).await;
    send_block(&mut first, "a", &log, 0, 950).await;
    assert_eq!(first.error().await, "bad_request");
    assert_eq!(first.close_code().await, 1008);
    drop((first, other, stray));
    server.stop().await;
}
