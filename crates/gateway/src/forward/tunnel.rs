//! A tunnel: copies bytes between client and backend after an upgrade.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::answer_body::AnswerEnd;
use super::tunnel_capture::TunnelCapture;

/// The size of the read buffer of one direction.
const BUFFER_BYTES: usize = 16 << 10;

/// The capture's names for the steps of a direction.
struct Direction {
    read: &'static str,
    written: &'static str,
    end: &'static str,
}

const UP: Direction = Direction {
    read: "wait for the client",
    written: "write to the server",
    end: "end of the client",
};

const DOWN: Direction = Direction {
    read: "wait for the server",
    written: "write to the client",
    end: "end of the server",
};

/// Copies bytes in both directions until both sides have ended, or no bytes have moved for `idle`.
pub(crate) async fn run(client: OnUpgrade, backend: OnUpgrade, idle: Duration, mut end: AnswerEnd) {
    let (Ok(client), Ok(backend)) = (client.await, backend.await) else {
        return end.record.break_off("tunnel_failed");
    };
    end.record.note_tunnel();
    let capture = TunnelCapture::new(&end.record);
    let counted = CountedEnd { end: Some(end), bytes: AtomicU64::new(0) };
    let (client_read, client_write) = tokio::io::split(TokioIo::new(client));
    let (backend_read, backend_write) = tokio::io::split(TokioIo::new(backend));
    let activity = Activity::default();
    let up = copy(client_read, backend_write, &UP, &capture, |_| activity.note());
    let down = copy(backend_read, client_write, &DOWN, &capture, |bytes| {
        counted.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        activity.note();
    });
    let both = async { tokio::join!(up, down) };
    let has_ended = tokio::select! {
        _ = both => true,
        () = activity.wait_idle(idle) => false,
    };
    let Some(end) = counted.finish() else { return };
    if has_ended {
        return end.record.complete();
    }
    capture.note_end("end", || format!("nothing has moved for {} s", idle.as_secs_f64()));
    end.record.break_off("tunnel_idle");
}

/// The end of a tunnel, and the bytes that its client has received. They are added to the record
/// however the tunnel ends, also if its task is dropped.
struct CountedEnd {
    end: Option<AnswerEnd>,
    bytes: AtomicU64,
}

impl CountedEnd {
    fn finish(mut self) -> Option<AnswerEnd> {
        self.add();
        self.end.take()
    }

    fn add(&mut self) {
        let bytes = std::mem::take(self.bytes.get_mut());
        if let Some(end) = &mut self.end {
            end.record.add_bytes(usize::try_from(bytes).unwrap_or(usize::MAX));
        }
    }
}

impl Drop for CountedEnd {
    fn drop(&mut self) {
        self.add();
    }
}

/// Signals each transfer of bytes in either direction.
#[derive(Debug, Default)]
struct Activity(tokio::sync::Notify);

impl Activity {
    fn note(&self) {
        self.0.notify_one();
    }

    /// Waits until no bytes have moved for `idle`.
    async fn wait_idle(&self, idle: Duration) {
        while timeout(idle, self.0.notified()).await.is_ok() {}
    }
}

/// Copies until the reading side ends, then shuts down the writing side. `note` gets the number of
/// bytes of each transfer.
async fn copy(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    direction: &Direction,
    capture: &TunnelCapture,
    note: impl Fn(usize),
) {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let started_at = capture.begin();
        let length = match from.read(&mut buffer).await {
            Ok(0) => {
                capture.note_end(direction.end, || "it sends no more".to_owned());
                break;
            }
            Ok(length) => length,
            Err(error) => {
                capture.note_end(direction.end, || format!("its connection broke: {error}"));
                break;
            }
        };
        capture.note(direction.read, started_at, length);
        let started_at = capture.begin();
        if let Err(error) = to.write_all(&buffer[..length]).await {
            capture.note_end(direction.end, || format!("the other side takes no more: {error}"));
            break;
        }
        capture.note(direction.written, started_at, length);
        note(length);
    }
    // An error means that the other side has disconnected.
    let _ = to.shutdown().await;
}
