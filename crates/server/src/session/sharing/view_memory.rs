//! The memory of answers that wait for their readers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::sync::watch;
use weir_ingest::DataSet;

/// Views may take at least one part in this many of the memory limit of the session, and all that
/// the data set does not need.
const SHARE_MIN: usize = 8;

/// Counts the texts of views and reports of a session that are not sent yet.
///
/// Texts and evaluators may each take half of what the data set leaves of the session's memory
/// limit, and at least a sixteenth of the limit, so that a full data set can still be viewed. A
/// text is always made; if there are too many, slow readers are disconnected.
#[derive(Debug)]
pub(crate) struct ViewMemory {
    text_bytes: AtomicUsize,
    text_bytes_max: AtomicUsize,
    is_crowded: watch::Sender<bool>,
}

impl ViewMemory {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            text_bytes: AtomicUsize::new(0),
            text_bytes_max: AtomicUsize::new(usize::MAX),
            is_crowded: watch::Sender::new(false),
        })
    }

    /// The bytes that texts and evaluators may each take.
    pub(crate) fn bytes_max(data: &DataSet) -> usize {
        let limit = data.memory_bytes_max();
        limit.saturating_sub(data.memory_bytes()).max(limit / SHARE_MIN) / 2
    }

    /// Counts a text until its last copy is dropped.
    pub(crate) fn keep(self: &Arc<Self>, text: String, data: &DataSet) -> Bytes {
        self.text_bytes_max.store(Self::bytes_max(data), Ordering::Relaxed);
        self.text_bytes.fetch_add(text.len(), Ordering::Relaxed);
        self.check();
        Bytes::from_owner(KeptText { text, memory: self.clone() })
    }

    /// The bytes of all texts that are kept.
    #[cfg(test)]
    pub(crate) fn text_bytes(&self) -> usize {
        self.text_bytes.load(Ordering::Relaxed)
    }

    /// Whether the texts take more memory than they may.
    pub(crate) fn is_crowded(&self) -> bool {
        *self.is_crowded.borrow()
    }

    /// Waits until the texts take more memory than they may.
    pub(crate) async fn crowded(&self) {
        // This cannot fail, because the sender lives in `self`.
        let _ = self.is_crowded.subscribe().wait_for(|is_crowded| *is_crowded).await;
    }

    fn check(&self) {
        let is_crowded =
            self.text_bytes.load(Ordering::Relaxed) > self.text_bytes_max.load(Ordering::Relaxed);
        self.is_crowded.send_if_modified(|value| {
            let has_changed = *value != is_crowded;
            *value = is_crowded;
            has_changed
        });
    }
}

/// A text that is counted until it is dropped.
struct KeptText {
    text: String,
    memory: Arc<ViewMemory>,
}

impl AsRef<[u8]> for KeptText {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

impl Drop for KeptText {
    fn drop(&mut self) {
        self.memory.text_bytes.fetch_sub(self.text.len(), Ordering::Relaxed);
        self.memory.check();
    }
}

#[cfg(test)]
mod tests {
    use weir_ingest::{DataSet, Retention};

    use super::ViewMemory;

    #[tokio::test(start_paused = true)]
    async fn texts_count_until_their_last_copy_is_gone() {
        let data = DataSet::new(Retention::Segments, 16_000, &[]);
        let bytes_max = ViewMemory::bytes_max(&data);
        assert!(bytes_max >= 1_000, "a sixteenth of the limit");
        let memory = ViewMemory::new();
        let first = memory.keep("x".repeat(bytes_max), &data);
        let copy = first.clone();
        let crowded = || tokio::time::timeout(std::time::Duration::from_secs(1), memory.crowded());
        assert!(crowded().await.is_err(), "it just fits");
        let second = memory.keep("y".to_owned(), &data);
        assert!(crowded().await.is_ok());
        drop(first);
        assert!(crowded().await.is_ok(), "a copy is left");
        drop(copy);
        assert!(crowded().await.is_err());
        assert_eq!((memory.text_bytes(), &second[..]), (1, &b"y"[..]));
    }
}
