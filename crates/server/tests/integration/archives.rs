//! Uploads of archives: each member is a source.

use std::io::Write;

use crate::common::{TestServer, compare, log};
use serde_json::Value;
use weir_server::ServerOptions;
use weir_testkit::archive::tar;
use weir_view::{SourceState, UploadReply, View};

const MIB: usize = 1 << 20;

/// A zip archive of these files, uncompressed, followed by a part of a directory.
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, content) in files {
        let mut crc = flate2::Crc::new();
        crc.update(content);
        archive.extend_from_slice(b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0");
        for number in [crc.sum(), content.len() as u32, content.len() as u32] {
            archive.extend_from_slice(&number.to_le_bytes());
        }
        archive.extend_from_slice(&(name.len() as u32).to_le_bytes());
        archive.extend_from_slice(name.as_bytes());
        archive.extend_from_slice(content);
    }
    archive.extend_from_slice(b"PK\x01\x02");
    archive.resize(archive.len() + 1_000, 0);
    archive
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// Uploads an archive in messages of this size; returns the last reply, the last view and the
/// report.
async fn upload(archive: &[u8], message_bytes: usize) -> (UploadReply, View, Value) {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let mut upload = server.upload(&id).await;
    assert_eq!(upload.begin("a", archive.len()).await, 0);
    upload.send(archive, message_bytes).await;
    upload.end("a").await;
    let reply = upload.reply_after_acks().await;
    // The server would wait for this connection when it ends.
    drop(upload);
    let view = server.live(&id).await.view_where(|view| view.complete).await;
    let report = server.report(&id).await;
    server.stop().await;
    (reply, view, report)
}

fn done(archive: &[u8]) -> UploadReply {
    UploadReply::Done { file: "a".to_owned(), offset: archive.len() as u64 }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_member_is_a_source_for_messages_of_any_size() {
    let log = log(MIB as u64);
    let middle =
        log.len() / 2 + log[log.len() / 2..].iter().position(|b| *b == b'\n').expect("a line") + 1;
    let (first, second) = log.split_at(middle);
    let packed = gzip(second);
    let files = [
        ("a.log", first),
        ("old/b.log.gz", &packed[..]),
        ("picture.png", b"\x89PNG\0\x01\x02\0\x03"),
    ];
    for archive in [tar(&files), zip(&files), gzip(&tar(&files))] {
        for message_bytes in [10_000, MIB] {
            let (reply, view, report) = upload(&archive, message_bytes).await;
            assert_eq!(reply, done(&archive));
            compare(&log, &report);
            let names: Vec<&str> = view.sources.iter().map(|source| source.name.as_str()).collect();
            assert_eq!(names, ["a.log", "a.log/a.log", "a.log/old/b.log.gz"]);
            assert!(view.sources.iter().all(|source| source.state == SourceState::Done));
            let row = &view.sources[0];
            assert_eq!((row.lines, row.bytes_done), (0, archive.len() as u64));
            let note = row.message.as_deref().unwrap_or_default();
            assert!(note.contains("1 file that is not text"), "{note}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_archive_keeps_its_lines_and_fails() {
    let log = log(200_000);
    let archive = tar(&[("a.log", &log), ("b.log", &log)]);
    let cut = &archive[..log.len() + 512 + 100_000];
    let (reply, view, report) = upload(cut, MIB).await;
    // All bytes of the archive arrived, so only its truncated member fails.
    assert_eq!(reply, done(cut));
    assert!(report["records"].as_u64() > Some(1_000));
    let states: Vec<SourceState> = view.sources.iter().map(|source| source.state).collect();
    assert_eq!(states[1..], [SourceState::Done, SourceState::Failed], "{:?}", view.sources);
    let why = view.sources[2].message.as_deref().unwrap_or_default();
    assert!(why.contains("cut short"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_is_resumed_after_a_lost_connection() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let log = log(2 * MIB as u64);
    let archive = tar(&[("a.log", &log)]);
    let mut first = server.upload(&id).await;
    assert_eq!(first.begin("a", archive.len()).await, 0);
    first.send(&archive[..MIB], 10_000).await;
    first.wait_for_ack(MIB).await;
    drop(first);
    let mut second = server.upload(&id).await;
    assert_eq!(second.begin("a", archive.len()).await, MIB);
    second.send(&archive[MIB..], 10_000).await;
    second.finish("a").await;
    drop(second);
    compare(&log, &server.report(&id).await);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_archive_ends_the_current_member() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let log = log(2 * MIB as u64);
    let archive = tar(&[("a.log", &log)]);
    let mut upload = server.upload(&id).await;
    assert_eq!(upload.begin("a", archive.len()).await, 0);
    upload.send(&archive[..MIB], 100_000).await;
    upload.request(&weir_view::UploadRequest::Cancel { file: "a".to_owned() }).await;
    let view = server.live(&id).await.view_where(|view| view.complete).await;
    assert_eq!(view.sources[0].state, SourceState::Cancelled);
    if let Some(member) = view.sources.get(1) {
        assert_eq!(member.state, SourceState::Failed, "{member:?}");
    }
    drop(upload);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_members_of_all_archives_of_a_session_are_limited() {
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let line = b"::1 - - [17/Dec/2025:09:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n";
    let one = tar(&[("a.log", line)]);
    let archive = [&one[..1024].repeat(6_000), &one[1024..]].concat();
    let mut upload = server.upload(&id).await;
    for file in ["a", "b"] {
        assert_eq!(upload.begin(file, archive.len()).await, 0);
        upload.send(&archive, MIB).await;
        upload.end(file).await;
        upload.reply_after_acks().await;
    }
    drop(upload);
    let view = server.live(&id).await.view_where(|view| view.complete).await;
    assert_eq!((view.sources.len(), view.report.records), (10_002, 10_000));
    let archives: Vec<_> = view.sources.iter().filter(|source| !source.file.is_empty()).collect();
    assert_eq!(archives[0].state, SourceState::Done);
    assert_eq!(archives[1].state, SourceState::Failed);
    let why = archives[1].message.as_deref().unwrap_or_default();
    let expected = "2000 of its files were left out: a session reads at most 10000 files from archives; \
                    open the archive in another session";
    assert_eq!(why, expected);
    server.stop().await;
}

/// Held by a test that counts the threads of the process, or that has many.
static MANY_THREADS: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// A tar archive with a file of 128 GiB that is not a log, compressed twice: a few hundred
/// kilobytes that take minutes to unpack.
#[cfg(target_os = "linux")]
fn bomb() -> Vec<u8> {
    const PIECE_BYTES: usize = MIB;
    const TURNS: usize = 128;
    const TURN_PIECES: usize = 1024;
    let mut start = tar(&[("disk.img", &[1; 512])])[..1024].to_vec();
    // The length does not fit into octal digits, so it has GNU's binary form.
    start[124..136].fill(0);
    start[124] = 0x80;
    start[128..136].copy_from_slice(&((PIECE_BYTES * TURNS * TURN_PIECES) as u64).to_be_bytes());
    start[148..156].fill(b' ');
    let sum: u32 = start[..512].iter().map(|byte| u32::from(*byte)).sum();
    start[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let turn = gzip(&gzip(&vec![1; PIECE_BYTES]).repeat(TURN_PIECES));
    // Concatenated gzip streams are one stream.
    [gzip(&gzip(&start)), turn.repeat(TURNS)].concat()
}

/// A zip archive with a file of the same size, whose length it does not contain.
#[cfg(target_os = "linux")]
fn zip_bomb() -> Vec<u8> {
    let mut start = b"PK\x03\x04\x14\0\x08\0\x08\0".to_vec();
    start.resize(26, 0);
    start.extend_from_slice(b"\x08\0\0\0disk.img");
    let mut block = Vec::with_capacity(MIB);
    let mut deflate = flate2::Compress::new(flate2::Compression::best(), false);
    // After a full flush, blocks can be repeated any number of times.
    let flush = flate2::FlushCompress::Full;
    deflate.compress_vec(&vec![1; MIB], &mut block, flush).expect("memory");
    [gzip(&start), gzip(&block.repeat(1024)).repeat(128)].concat()
}

/// The number of threads of this process that unpack files.
#[cfg(target_os = "linux")]
fn unpacking_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("a thread");
    let names = tasks.flatten().filter_map(|task| std::fs::read(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with(b"weir-unpack")).count()
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn unpacking_stops_when_its_upload_ends() {
    let _alone = MANY_THREADS.lock().await;
    let bomb = tar(&[("disk.tar.gz.gz", &bomb())]);
    let zip_bomb = tar(&[("disk.zip.gz", &zip_bomb())]);
    let cases = [
        ("the file is cancelled", &bomb),
        ("the session is ended", &bomb),
        ("the file is not resumed", &bomb),
        ("the file is cancelled", &zip_bomb),
    ];
    for (case, bomb) in cases {
        assert!(bomb.len() < MIB, "it fits the queues, so sending it does not block");
        // It also limits the time between `create_session` and `upload`.
        let grace = std::time::Duration::from_secs(2);
        let server = TestServer::start(ServerOptions { grace, ..ServerOptions::default() }).await;
        let id = server.create_session().await;
        let mut upload = server.upload(&id).await;
        assert_eq!(upload.begin("a", bomb.len()).await, 0);
        upload.send(bomb, MIB).await;
        crate::common::within(async {
            while unpacking_threads() == 0 {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        })
        .await;
        match case {
            "the file is cancelled" => {
                upload.request(&weir_view::UploadRequest::Cancel { file: "a".to_owned() }).await;
            }
            "the session is ended" => {
                server.request("DELETE", &format!("/api/sessions/{id}"), &[]).await;
            }
            _ => drop(upload),
        }
        crate::common::within(async {
            while unpacking_threads() > 0 {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        })
        .await;
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_packed_files_have_few_threads() {
    let _alone = MANY_THREADS.lock().await;
    const THREADS_MAX: usize = 64;
    let server = TestServer::start(ServerOptions::default()).await;
    let id = server.create_session().await;
    let log = log(100_000);
    let packed = gzip(&log);
    for number in 0..THREADS_MAX {
        let mut upload = server.upload(&id).await;
        upload.begin(&number.to_string(), packed.len()).await;
        upload.send(&packed[..100], 100).await;
        upload.wait_for_ack(100).await;
    }
    // One more waits until another one has ended.
    let mut next = server.upload(&id).await;
    next.begin("next", packed.len()).await;
    next.send(&packed[..100], 100).await;
    let ack = tokio::time::timeout(std::time::Duration::from_millis(100), next.reply()).await;
    assert!(ack.is_err(), "{ack:?}");
    let mut resumed = server.upload(&id).await;
    let offset = resumed.begin("0", packed.len()).await;
    resumed.send(&packed[offset..], MIB).await;
    resumed.finish("0").await;
    next.send(&packed[100..], MIB).await;
    next.finish("next").await;
    drop((next, resumed));
    server.stop().await;
}
