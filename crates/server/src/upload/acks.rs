//! Acknowledgements: which bytes are parsed, and the task that tells the page.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use weir_net::websocket::{Stream, Writer};
use weir_view::UploadReply;

use crate::message;

/// The time between two acknowledgements while the sender increases its rate.
const ACK_INTERVAL: Duration = Duration::from_millis(10);

/// The same after [`RAMP_UP_BYTES`]. The sender then has enough bytes in flight to wait longer,
/// and each acknowledgement wakes three processes of a browser.
const ACK_INTERVAL_LATER: Duration = Duration::from_millis(40);

/// The bytes of a connection after which its sender has reached its full rate.
const RAMP_UP_BYTES: u64 = 64 << 20;

/// Maps the parsed bytes of a source to the sent bytes that may be acknowledged.
///
/// The two are equal for a plain file. The sender of a compressed file counts compressed bytes,
/// so each compressed piece adds a pair of offsets: its own end, and the end of its lines.
#[derive(Debug)]
pub(crate) struct AckOffsets {
    parsed: watch::Receiver<u64>,
    state: Mutex<OffsetMap>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct OffsetMap {
    is_compressed: bool,
    /// The pairs that are not parsed yet. Both offsets never decrease.
    pairs: VecDeque<OffsetPair>,
    /// The `piece_end` of the last pair that was parsed.
    acknowledgeable: u64,
}

#[derive(Debug)]
struct OffsetPair {
    /// In decompressed bytes.
    lines_end: u64,
    /// In compressed bytes.
    piece_end: u64,
}

impl AckOffsets {
    /// Offsets of a plain file with this number of parsed bytes.
    pub(crate) fn new(parsed: watch::Receiver<u64>) -> Self {
        Self { parsed, state: Mutex::default(), changed: Notify::new() }
    }

    /// Counts compressed bytes from now on, as [`Self::record`] maps them.
    pub(crate) fn set_compressed(&self) {
        self.lock().is_compressed = true;
    }

    /// Records that the compressed bytes before `piece_end` contain the bytes before `lines_end`.
    pub(crate) fn record(&self, lines_end: u64, piece_end: u64) {
        let mut state = self.lock();
        match state.pairs.back_mut() {
            Some(last) if last.lines_end == lines_end => last.piece_end = piece_end,
            _ => state.pairs.push_back(OffsetPair { lines_end, piece_end }),
        }
    }

    /// Records that all whole lines are submitted to the parsers, which are the bytes before
    /// `submitted`. The bytes after it are the beginning of a line, and are not parsed before
    /// the line ends. So the pieces that contain them may be acknowledged once `submitted`
    /// bytes are parsed.
    pub(crate) fn clamp(&self, submitted: u64) {
        let mut state = self.lock();
        while let Some(last) = state.pairs.pop_back_if(|pair| pair.lines_end > submitted) {
            let piece_end = last.piece_end;
            match state.pairs.back_mut() {
                Some(before) if before.lines_end >= submitted => {
                    before.piece_end = before.piece_end.max(piece_end);
                }
                _ => state.pairs.push_back(OffsetPair { lines_end: submitted, piece_end }),
            }
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Wakes the task that waits for a greater offset. An archive needs this, because its own
    /// bytes are never parsed.
    pub(crate) fn notify(&self) {
        self.changed.notify_waiters();
    }

    /// The offset before which everything is parsed, in the sender's bytes.
    pub(crate) fn offset(&self) -> u64 {
        let parsed = *self.parsed.borrow();
        let mut state = self.lock();
        if !state.is_compressed {
            return parsed;
        }
        while let Some(pair) = state.pairs.pop_front_if(|pair| pair.lines_end <= parsed) {
            state.acknowledgeable = pair.piece_end;
        }
        state.acknowledgeable
    }

    /// Waits until [`Self::offset`] is greater than `after`, and returns it.
    pub(crate) async fn wait_past(&self, after: u64) -> u64 {
        let mut parsed = self.parsed.clone();
        loop {
            let mut notified = std::pin::pin!(self.changed.notified());
            notified.as_mut().enable();
            parsed.mark_unchanged();
            let offset = self.offset();
            if offset > after {
                return offset;
            }
            tokio::select! {
                () = notified => {}
                // An error means that the source is gone, so nothing more will be parsed.
                changed = parsed.changed() => if changed.is_err() { std::future::pending().await },
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, OffsetMap> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The last acknowledgement, shared by the task that sends it and the task that receives bytes.
#[derive(Debug)]
pub(crate) struct LastAck {
    offset: AtomicU64,
    sent_at: Mutex<Instant>,
}

impl LastAck {
    /// Starts at `offset`, which the page knows already.
    pub(crate) fn new(offset: u64) -> Self {
        Self { offset: AtomicU64::new(offset), sent_at: Mutex::new(Instant::now()) }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset.load(Ordering::Acquire)
    }

    pub(crate) fn sent_at(&self) -> Instant {
        *self.sent_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Must be called before the acknowledgement is sent: the page may send more bytes before
    /// the call that sends it returns.
    fn set(&self, offset: u64) {
        self.offset.store(offset, Ordering::Release);
        *self.sent_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// The task that sends acknowledgements. It is separate from the task that receives bytes,
/// because that one may be busy for as long as the page sends.
pub(crate) struct AckTask(JoinHandle<()>);

impl AckTask {
    /// Starts the task. It ends if one message cannot be sent within `timeout`.
    pub(crate) fn start(
        file: &str,
        offsets: &Arc<AckOffsets>,
        writer: &Writer<Stream>,
        last_ack: &Arc<LastAck>,
        timeout: Duration,
    ) -> Self {
        let (file, offsets) = (file.to_owned(), offsets.clone());
        let (writer, last_ack) = (writer.clone(), last_ack.clone());
        let first = last_ack.offset();
        Self(tokio::spawn(async move {
            loop {
                let offset = offsets.wait_past(last_ack.offset()).await;
                last_ack.set(offset);
                let reply = UploadReply::Ack { file: file.clone(), offset };
                let sending = message::send(&writer, weir_view::to_json(&reply));
                // If the connection is broken, the receiving task notices and ends it.
                match tokio::time::timeout(timeout, sending).await {
                    Ok(Ok(())) => tokio::time::sleep(interval(offset - first)).await,
                    _ => return,
                }
            }
        }))
    }

    /// Waits until the task has ended, so that no acknowledgement follows the end of the file.
    pub(crate) async fn stop(mut self) {
        self.0.abort();
        let _ = (&mut self.0).await;
    }
}

/// The time to the next acknowledgement, after this number of acknowledged bytes.
fn interval(acked_bytes: u64) -> Duration {
    if acked_bytes < RAMP_UP_BYTES { ACK_INTERVAL } else { ACK_INTERVAL_LATER }
}

impl Drop for AckTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}
