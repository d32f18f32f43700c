//! A tunnel: what client and backend say to one another after a handshake.

use std::time::Duration;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::answer_body::AnswerEnd;

/// What is read at a time.
const BUFFER_BYTES: usize = 16 << 10;

/// Carries bytes in both directions until both sides have ended, or neither says anything for `idle`.
pub(crate) async fn run(
    (client, backend): (OnUpgrade, OnUpgrade),
    idle: Duration,
    mut end: AnswerEnd,
) {
    let (Ok(client), Ok(backend)) = (client.await, backend.await) else {
        return end.record.break_off("tunnel_failed");
    };
    let (client_read, client_write) = tokio::io::split(TokioIo::new(client));
    let (backend_read, backend_write) = tokio::io::split(TokioIo::new(backend));
    let activity = Activity::default();
    let up = copy(client_read, backend_write, &activity);
    let down = copy(backend_read, client_write, &activity);
    let both = async { tokio::join!(up, down) };
    tokio::select! {
        (_, bytes) = both => {
            end.record.add_bytes(usize::try_from(bytes).unwrap_or(usize::MAX));
            end.record.complete();
        }
        () = activity.ceased(idle) => end.record.break_off("tunnel_idle"),
    }
}

/// When bytes last moved in either direction.
#[derive(Debug, Default)]
struct Activity(tokio::sync::Notify);

impl Activity {
    /// Waits until nothing has moved for `idle`.
    async fn ceased(&self, idle: Duration) {
        while timeout(idle, self.0.notified()).await.is_ok() {}
    }
}

/// Copies until the end of the reading side, and then ends the writing side. Returns the bytes.
async fn copy(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    activity: &Activity,
) -> u64 {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut bytes = 0;
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if to.write_all(&buffer[..length]).await.is_err() {
            break;
        }
        bytes += length as u64;
        activity.0.notify_one();
    }
    // An error means that the other side has gone.
    let _ = to.shutdown().await;
    bytes
}
