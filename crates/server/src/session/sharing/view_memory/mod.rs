//! Limits the memory of unsent answers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use weir_ingest::{DataSet, TotalMemory};

/// Texts and evaluators may each take 1/n of the memory that the data set does not need.
const REST_SHARE: usize = 8;

/// They may each take at least 1/n of the memory limit, so that a full data set can be viewed.
const LIMIT_SHARE_MIN: usize = 16;

/// How long a new text waits for room while slow readers are disconnected. After that it may exceed
/// the limit.
const ROOM_TIMEOUT: Duration = Duration::from_secs(3);

/// The maximum number of texts that exceed the limit, so that a few readers that cannot be
/// disconnected do not block all others.
const BEYOND_MAX: usize = 2;

/// How long a report waits for room while slow readers are disconnected.
const REPORT_ROOM_TIMEOUT: Duration = Duration::from_secs(3);

/// With less room than this for all texts, they are made one at a time. To make one takes some 10 MiB
/// for a list of ten thousand rows.
const PARALLEL_BYTES_MIN: usize = 16 << 20;

/// How long a text then waits for another that takes long to make.
const MAKING_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a reader may take none of a text while the texts take too much memory.
const CROWDED_SEND_TIMEOUT: Duration = Duration::from_secs(2);

/// Counts the unsent texts of a session's views and reports.
///
/// Texts and evaluators may each take an eighth of the free memory: the session's limit minus the
/// data set, or the total limit minus all data sets, whichever is less. They may always take a
/// sixteenth of the smaller limit. The length of a text is known only after it has been made, so a
/// text that does not fit is dropped, and made again once there is room for its length. Without
/// room, slow readers are disconnected. After [`ROOM_TIMEOUT`], up to [`BEYOND_MAX`] texts may
/// exceed the limit. What is being made is not counted: it takes several times the memory of its
/// text, so that one is made at a time while others wait for room or there is little of it, and turns
/// limit it otherwise.
#[derive(Debug)]
pub(crate) struct ViewMemory {
    data: Weak<DataSet>,
    /// The limit of all sessions together.
    total: TotalMemory,
    /// The bytes of all texts, including those for which there is room.
    text_bytes: AtomicUsize,
    /// Notified when `text_bytes` or `waiting` changes.
    changes: watch::Sender<()>,
    /// The number of texts that wait for room.
    waiting: AtomicUsize,
    beyond: Arc<Semaphore>,
    /// Held by the text that is made while others wait for room, or while there is little.
    making: Arc<Semaphore>,
    /// One report at a time may exceed the limit, so that readers that are stuck do not refuse those
    /// of others.
    report: Arc<Semaphore>,
}

impl ViewMemory {
    pub(crate) fn new(data: &Arc<DataSet>, total: &TotalMemory) -> Arc<Self> {
        Arc::new(Self {
            data: Arc::downgrade(data),
            total: total.clone(),
            text_bytes: AtomicUsize::new(0),
            changes: watch::Sender::default(),
            waiting: AtomicUsize::new(0),
            beyond: Arc::new(Semaphore::new(BEYOND_MAX)),
            making: Arc::new(Semaphore::new(1)),
            report: Arc::new(Semaphore::new(1)),
        })
    }

    /// Returns the bytes that texts and evaluators may each take now; 0 after the data set is gone.
    pub(crate) fn bytes_max(&self) -> usize {
        let Some(data) = self.data.upgrade() else { return 0 };
        let (own_limit, limit) = (data.memory_bytes_max(), self.limit_bytes());
        let free = own_limit.saturating_sub(data.memory_bytes()).min(self.total.free_bytes());
        (free / REST_SHARE).max(limit / LIMIT_SHARE_MIN)
    }

    /// Returns the memory limit: that of the session, or that of all, whichever is less; 0 after the
    /// data set is gone. It never changes before.
    pub(crate) fn limit_bytes(&self) -> usize {
        let Some(data) = self.data.upgrade() else { return 0 };
        data.memory_bytes_max().min(self.total.bytes_max())
    }

    /// Returns room for a new text of about this many bytes, if there is some. If there are no other
    /// texts, there always is.
    pub(crate) fn free_room(self: &Arc<Self>, bytes: usize) -> Option<Room> {
        self.replace(0, bytes).then(|| Room { memory: self.clone(), bytes, beyond: None })
    }

    /// Counts a text of one length in place of another, unless it exceeds the limit.
    fn replace(&self, before: usize, after: usize) -> bool {
        let bytes_max = self.bytes_max();
        let replaced = |taken: usize| {
            let others = taken.saturating_sub(before);
            let sum = others.saturating_add(after);
            (others == 0 || sum <= bytes_max).then_some(sum)
        };
        self.text_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, replaced).is_ok()
    }

    /// Waits for room for a report of about this many bytes; 0 if its length is not known. If it
    /// does not fit, it may exceed the limit, like one report at a time. Returns `None` if another
    /// has not been read meanwhile.
    pub(crate) async fn report_room(self: &Arc<Self>, bytes: usize) -> Option<Room> {
        if !self.is_crowded()
            && let Some(room) = self.free_room(bytes)
        {
            return Some(room);
        }
        let _waiting = WaitingText::begin(self);
        let permit = self.report.clone().acquire_owned();
        let permit = tokio::time::timeout(REPORT_ROOM_TIMEOUT, permit).await.ok()?.ok()?;
        Some(self.room_beyond(bytes, Some(permit)))
    }

    /// Waits for room for a new text of about this many bytes.
    pub(crate) async fn room(self: &Arc<Self>, bytes: usize) -> Room {
        if let Some(room) = self.free_room(bytes) {
            return room;
        }
        let _waiting = WaitingText::begin(self);
        let mut room = None;
        let has_room = || {
            room = self.free_room(bytes);
            room.is_some()
        };
        let beyond = async {
            tokio::time::sleep(ROOM_TIMEOUT).await;
            self.beyond.clone().acquire_owned().await.ok()
        };
        let permit = tokio::select! {
            () = self.wait_until(has_room) => None,
            permit = beyond => permit,
        };
        room.unwrap_or_else(|| self.room_beyond(bytes, permit))
    }

    fn room_beyond(self: &Arc<Self>, bytes: usize, beyond: Option<OwnedSemaphorePermit>) -> Room {
        self.text_bytes.fetch_add(bytes, Ordering::Relaxed);
        Room { memory: self.clone(), bytes, beyond }
    }

    /// Returns the bytes of all unsent texts.
    #[cfg(test)]
    pub(crate) fn text_bytes(&self) -> usize {
        self.text_bytes.load(Ordering::Relaxed)
    }

    /// Returns whether a text waits for room, or the texts exceed their limit.
    pub(crate) fn is_crowded(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
            || self.text_bytes.load(Ordering::Relaxed) > self.bytes_max()
    }

    /// Waits until no other text is made, if texts wait for room. If there is little room for texts,
    /// waits for [`MAKING_TIMEOUT`] at most, so that one that takes long does not keep others waiting.
    /// Call it without a turn or a lock, and keep the permit until the text is made.
    pub(crate) async fn making_turn(&self) -> Option<OwnedSemaphorePermit> {
        if !self.is_crowded() && self.bytes_max() >= PARALLEL_BYTES_MIN {
            return None;
        }
        let permit = self.making.clone().acquire_owned();
        // Acquiring cannot fail, because the semaphore is never closed.
        match self.is_crowded() {
            true => permit.await.ok(),
            false => tokio::time::timeout(MAKING_TIMEOUT, permit).await.ok()?.ok(),
        }
    }

    /// Waits until a reader has taken nothing for too long while the texts are crowded.
    pub(crate) async fn crowded_out(&self) {
        tokio::time::sleep(CROWDED_SEND_TIMEOUT).await;
        self.wait_until(|| self.is_crowded()).await;
    }

    /// Waits until a condition on the texts and the data set is met, or the data set is gone.
    async fn wait_until(&self, mut condition: impl FnMut() -> bool) {
        let mut changes = self.changes.subscribe();
        let Some(mut version) = self.data.upgrade().map(|data| data.version()) else { return };
        while !condition() {
            tokio::select! {
                // This cannot fail, because the sender lives in `self`.
                _ = changes.changed() => {}
                changed = version.changed() => if changed.is_err() { return },
            }
        }
    }
}

/// Room for one text, until it is dropped.
#[derive(Debug)]
pub(crate) struct Room {
    memory: Arc<ViewMemory>,
    bytes: usize,
    /// Held by a text that exceeds the limit.
    beyond: Option<OwnedSemaphorePermit>,
}

impl Room {
    /// Counts a text until its last copy is dropped.
    ///
    /// # Errors
    /// With its length if it does not fit. It is dropped.
    pub(crate) fn keep(mut self, mut text: String) -> Result<Bytes, usize> {
        text.shrink_to_fit();
        if self.beyond.is_some() {
            // The sum wraps around, so that it never counts both lengths.
            let more = text.len().wrapping_sub(self.bytes);
            self.memory.text_bytes.fetch_add(more, Ordering::Relaxed);
        } else if !self.memory.replace(self.bytes, text.len()) {
            return Err(text.len());
        }
        self.bytes = text.len();
        self.memory.changes.send_replace(());
        Ok(Bytes::from_owner(KeptText { text, _room: self }))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.memory.text_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        self.memory.changes.send_replace(());
    }
}

/// A text that waits for room, counted until it is dropped.
struct WaitingText<'a>(&'a ViewMemory);

impl<'a> WaitingText<'a> {
    fn begin(memory: &'a ViewMemory) -> Self {
        memory.waiting.fetch_add(1, Ordering::Relaxed);
        memory.changes.send_replace(());
        Self(memory)
    }
}

impl Drop for WaitingText<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
        self.0.changes.send_replace(());
    }
}

/// A text with the room that it occupies.
struct KeptText {
    text: String,
    _room: Room,
}

impl AsRef<[u8]> for KeptText {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

#[cfg(test)]
mod tests;
