//! A queue of spans that wait for the collector, as JSON.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use weir_sync::Lock;

/// The longest time that spans wait before they are sent.
const INTERVAL: Duration = Duration::from_secs(1);

/// This many waiting bytes are sent before the interval ends.
const BATCH_BYTES: usize = 256 << 10;

/// Spans beyond this many waiting bytes, about 2,000 requests, are dropped and counted. Collectors
/// accept requests of 20 MiB.
const WAITING_BYTES_MAX: usize = 4 << 20;

/// Waiting spans, and counters of all others.
#[derive(Debug, Default)]
pub(super) struct SpanQueue {
    waiting: Lock<Waiting>,
    /// Signalled when a batch is full or the queue is closed.
    is_ready: Notify,
    /// Signalled when no spans are waiting or being sent.
    is_empty: Notify,
    pub(super) sent: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) unanswered: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiting {
    batch: Batch,
    /// Whether a batch was taken and is not finished yet.
    is_sending: bool,
    is_closed: bool,
}

/// Spans that are sent together.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Batch {
    /// JSON objects separated by commas.
    pub(super) spans: Vec<u8>,
    /// The number of spans.
    pub(super) count: u64,
}

impl SpanQueue {
    /// Adds `count` spans, JSON objects separated by commas, or drops them if the queue is full.
    pub(super) fn put(&self, spans: &[u8], count: u64) {
        let mut waiting = self.waiting.lock();
        let batch = &mut waiting.batch;
        if batch.spans.len() + spans.len() >= WAITING_BYTES_MAX {
            drop(waiting);
            self.dropped.fetch_add(count, Ordering::Relaxed);
            return;
        }
        let before = batch.spans.len();
        if before > 0 {
            batch.spans.push(b',');
        }
        batch.spans.extend_from_slice(spans);
        batch.count += count;
        if before < BATCH_BYTES && batch.spans.len() >= BATCH_BYTES {
            drop(waiting);
            self.is_ready.notify_one();
        }
    }

    /// Waits for spans, and returns those of an interval. Returns `None` after the queue is closed
    /// and empty.
    pub(super) async fn next_batch(&self) -> Option<Batch> {
        loop {
            // The end of the interval is not an error.
            let _ = tokio::time::timeout(INTERVAL, self.is_ready.notified()).await;
            let mut waiting = self.waiting.lock();
            if waiting.batch.count > 0 {
                waiting.is_sending = true;
                return Some(std::mem::take(&mut waiting.batch));
            }
            if waiting.is_closed {
                return None;
            }
        }
    }

    /// Marks the batch that was taken as finished, sent or lost.
    pub(super) fn finish_batch(&self) {
        let mut waiting = self.waiting.lock();
        waiting.is_sending = false;
        if waiting.is_closed {
            self.is_ready.notify_one();
        }
        if waiting.batch.count == 0 {
            self.is_empty.notify_one();
        }
    }

    /// Waits until no spans are waiting or being sent, without waiting for the interval.
    pub(super) async fn flush(&self) {
        loop {
            self.is_ready.notify_one();
            {
                let waiting = self.waiting.lock();
                if waiting.batch.count == 0 && !waiting.is_sending {
                    return;
                }
            }
            self.is_empty.notified().await;
        }
    }

    /// Closes the queue. No spans are added after this.
    pub(super) fn close(&self) {
        self.waiting.lock().is_closed = true;
        self.is_ready.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::{Batch, SpanQueue, WAITING_BYTES_MAX};

    #[tokio::test(start_paused = true)]
    async fn spans_wait_for_others_until_the_end() {
        let queue = SpanQueue::default();
        queue.put(b"{},{}", 2);
        queue.put(b"{}", 1);
        let batch = Batch { spans: b"{},{},{}".to_vec(), count: 3 };
        assert_eq!(queue.next_batch().await, Some(batch));
        queue.finish_batch();
        queue.flush().await;
        queue.put(b"{}", 1);
        queue.close();
        assert_eq!(queue.next_batch().await.map(|it| it.count), Some(1));
        queue.finish_batch();
        assert_eq!(queue.next_batch().await, None);
    }

    #[tokio::test]
    async fn spans_beyond_the_limit_are_dropped_and_counted() {
        let queue = SpanQueue::default();
        let span = vec![b' '; WAITING_BYTES_MAX / 4];
        (0..10).for_each(|_| queue.put(&span, 2));
        let batch = queue.next_batch().await.expect("a batch");
        assert!(batch.spans.len() <= WAITING_BYTES_MAX);
        assert_eq!((batch.count, queue.dropped.load(Ordering::Relaxed)), (6, 14));
    }
}
