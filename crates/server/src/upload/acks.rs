//! Telling the page what is parsed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;
use weir_net::websocket::{Stream, Writer};
use weir_view::UploadReply;

use super::marks::Marks;

/// Acknowledgements of this time are merged into one, while the sender finds its pace.
const ACK_INTERVAL: Duration = Duration::from_millis(10);

/// The same for one that has so much in flight that it need not be told so often. Each
/// acknowledgement wakes three processes of a browser.
const ACK_INTERVAL_LATER: Duration = Duration::from_millis(40);

/// A sender has found its pace after so many bytes.
const PACE_BYTES: u64 = 64 << 20;

/// What the side that reads and the side that acknowledges know of each other.
#[derive(Debug)]
pub(crate) struct Flow {
    /// The last offset that the page was told.
    acked: AtomicU64,
    acked_at: Mutex<Instant>,
}

impl Flow {
    pub(crate) fn new(offset: u64) -> Self {
        Self { acked: AtomicU64::new(offset), acked_at: Mutex::new(Instant::now()) }
    }

    pub(crate) fn acked(&self) -> u64 {
        self.acked.load(Ordering::Acquire)
    }

    pub(crate) fn acked_at(&self) -> Instant {
        *self.acked_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Noted before it is sent: the page may answer faster than sending returns.
    fn note(&self, offset: u64) {
        self.acked.store(offset, Ordering::Release);
        *self.acked_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// The task that tells the page what is parsed. It is one of its own, because the reading
/// side may be busy for as long as the page sends.
pub(crate) struct Acks(JoinHandle<()>);

impl Acks {
    pub(crate) fn start(
        file: &str,
        marks: &Arc<Marks>,
        writer: &Writer<Stream>,
        flow: &Arc<Flow>,
        patience: Duration,
    ) -> Self {
        let (file, marks) = (file.to_owned(), marks.clone());
        let (writer, flow) = (writer.clone(), flow.clone());
        let begun_at = flow.acked();
        Self(tokio::spawn(async move {
            loop {
                let offset = marks.wait_past(flow.acked()).await;
                flow.note(offset);
                let reply = UploadReply::Ack { file: file.clone(), offset };
                let text = serde_json::to_string(&reply).unwrap_or_default();
                // The reading side hears of a broken connection too, and ends it.
                match tokio::time::timeout(patience, writer.send_text(&text)).await {
                    Ok(Ok(())) => tokio::time::sleep(interval(offset - begun_at)).await,
                    _ => return,
                }
            }
        }))
    }

    /// Waits until the task is gone, so that no acknowledgement follows the file's end.
    pub(crate) async fn stop(mut self) {
        self.0.abort();
        let _ = (&mut self.0).await;
    }
}

/// From one acknowledgement to the next, after so many bytes.
fn interval(acked_bytes: u64) -> Duration {
    if acked_bytes < PACE_BYTES { ACK_INTERVAL } else { ACK_INTERVAL_LATER }
}

impl Drop for Acks {
    fn drop(&mut self) {
        self.0.abort();
    }
}
