//! Uploads at the same time share the machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::task::JoinHandle;
use weir_server::ServerOptions;

use crate::common::{TestServer, Uploader, log, within};

/// The number of uploads that never end.
const GREEDY: usize = 7;

/// After this many bytes an upload has begun.
const BEGUN: u64 = 1 << 20;

/// The size of the upload that is compared with them: large enough that its start and its end take
/// a small part of the time.
const BYTES: u64 = 32 << 20;

/// The most that another upload may get while this one is sent, and the least, as multiples of its
/// size. They get about the same.
const SHARE_MAX: u64 = 5;
const SHARE_MIN_DIVISOR: u64 = 5;

/// An upload that sends for as long as this exists.
struct Greedy {
    sent: Arc<AtomicU64>,
    ends: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Greedy {
    async fn start(server: &TestServer) -> Self {
        let session = server.create_session().await;
        let upload = server.upload(&session).await;
        let (sent, ends) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let task = tokio::spawn(send_on(upload, sent.clone(), ends.clone()));
        Self { sent, ends, task }
    }

    fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

async fn send_on(mut upload: Uploader, sent: Arc<AtomicU64>, ends: Arc<AtomicBool>) {
    let log = log(1 << 20);
    upload.request_begin_of("greedy", None, None).await;
    upload.ready().await;
    for piece in log.chunks(64 << 10).cycle() {
        if ends.load(Ordering::Relaxed) {
            break;
        }
        upload.send(piece, 64 << 10).await;
        sent.fetch_add(piece.len() as u64, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_gets_its_share_beside_uploads_that_never_end() {
    let server = TestServer::start(ServerOptions { jobs: 1, ..ServerOptions::default() }).await;
    let mut all = Vec::new();
    for _ in 0..GREEDY {
        all.push(Greedy::start(&server).await);
    }
    within(async {
        while all.iter().any(|greedy| greedy.sent() < BEGUN) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let (log, session) = (log(BYTES), server.create_session().await);
    let mut upload = server.upload(&session).await;
    let before: Vec<u64> = all.iter().map(Greedy::sent).collect();
    upload.send_file("a", &log, 64 << 10).await;
    let others: Vec<u64> =
        all.iter().zip(before).map(|(greedy, before)| greedy.sent() - before).collect();
    for greedy in all {
        greedy.ends.store(true, Ordering::Relaxed);
        within(greedy.task).await.expect("no panic");
    }
    let shares = log.len() as u64 / SHARE_MIN_DIVISOR..=log.len() as u64 * SHARE_MAX;
    assert!(others.iter().all(|bytes| shares.contains(bytes)), "{others:?} beside {}", log.len());
    server.stop().await;
}
