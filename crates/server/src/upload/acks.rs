//! Sends acknowledgements to the page.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;
use weir_net::websocket::{SocketWriter, UpgradedStream};
use weir_observe::capture::Capturable;
use weir_observe::task::{TaskKind, TaskName};
use weir_sync::Lock;
use weir_view::UploadReply;

use crate::file::AckOffsets;
use crate::message;

/// The time between two acknowledgements while the sender increases its rate.
const ACK_INTERVAL: Duration = Duration::from_millis(10);

/// The same after [`RAMP_UP_BYTES`]. The sender then has enough bytes in flight to wait longer, and
/// each acknowledgement wakes three processes of a browser.
const ACK_INTERVAL_LATER: Duration = Duration::from_millis(40);

/// The number of bytes on a connection after which its sender has reached its full rate.
const RAMP_UP_BYTES: u64 = 64 << 20;

/// The last acknowledgement, shared by the task that sends it and the task that receives bytes.
#[derive(Debug)]
pub(crate) struct LastAck {
    offset: AtomicU64,
    sent_at: Lock<Instant>,
}

impl LastAck {
    /// Starts at `offset`, which the page already knows.
    pub(crate) fn new(offset: u64) -> Self {
        Self { offset: AtomicU64::new(offset), sent_at: Lock::new(Instant::now()) }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset.load(Ordering::Acquire)
    }

    pub(crate) fn sent_at(&self) -> Instant {
        *self.sent_at.lock()
    }

    /// Must be called before the acknowledgement is sent: the page may send more bytes before
    /// the call that sends it returns.
    fn set(&self, offset: u64) {
        self.offset.store(offset, Ordering::Release);
        *self.sent_at.lock() = Instant::now();
    }
}

/// The task that sends acknowledgements. It is separate from the receiving task, because that may
/// be busy for as long as the page sends.
pub(crate) struct AckTask(JoinHandle<()>);

/// Tells a page how much of its file is parsed.
static ACKNOWLEDGEMENTS: TaskKind = TaskKind::new("acknowledgements");

impl AckTask {
    /// Starts the task. It ends if one message cannot be sent within `timeout`.
    pub(crate) fn start(
        file: &str,
        offsets: &Arc<AckOffsets>,
        writer: &SocketWriter<UpgradedStream>,
        last_ack: &Arc<LastAck>,
        timeout: Duration,
        capture: &Arc<Capturable>,
    ) -> Self {
        let capture = capture.clone();
        let (file, offsets) = (file.to_owned(), offsets.clone());
        let (writer, last_ack) = (writer.clone(), last_ack.clone());
        let first = last_ack.offset();
        Self(tokio::spawn(ACKNOWLEDGEMENTS.observe(TaskName::Unnamed, async move {
            loop {
                let offset = offsets.wait_past(last_ack.offset()).await;
                last_ack.set(offset);
                let begun = capture.begin();
                let reply = UploadReply::Ack { file: file.clone(), offset };
                let sending = message::send(&writer, weir_view::to_json(&reply));
                // If the connection is broken, the receiving task notices and ends it.
                let sent = tokio::time::timeout(timeout, sending).await;
                if let Some((capture, begun)) = begun {
                    capture.step("ack", begun..Instant::now().into_std(), up_to(offset));
                }
                match sent {
                    Ok(Ok(())) => tokio::time::sleep(interval(offset - first)).await,
                    _ => return,
                }
            }
        })))
    }

    /// Stops the task and waits for its end, so that no acknowledgement follows the end of the
    /// file.
    pub(crate) async fn stop(mut self) {
        self.0.abort();
        let _ = (&mut self.0).await;
    }
}

/// Describes the parsed bytes in a capture.
fn up_to(offset: u64) -> String {
    format!("all before byte {offset} are parsed")
}

/// Returns the time to the next acknowledgement, after this number of acknowledged bytes.
fn interval(acked_bytes: u64) -> Duration {
    if acked_bytes < RAMP_UP_BYTES { ACK_INTERVAL } else { ACK_INTERVAL_LATER }
}

impl Drop for AckTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}
