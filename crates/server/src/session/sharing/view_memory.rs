//! Limits the memory of unsent answers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use weir_ingest::{DataSet, TotalMemory};

/// Views may take at least 1/n of the session's memory limit, and all memory that the data set does
/// not need.
const SHARE_MIN: usize = 8;

/// How long a new text waits for room while slow readers are disconnected. After that it may exceed
/// the limit.
const ROOM_TIMEOUT: Duration = Duration::from_secs(3);

/// The maximum number of texts that exceed the limit, so that a few readers that cannot be
/// disconnected do not block all others.
const BEYOND_MAX: usize = 2;

/// Counts the unsent texts of a session's views and reports.
///
/// Texts and evaluators may each take half of the free memory: the session's limit minus the data
/// set, or the total limit minus all data sets, whichever is less. They may always take a sixteenth
/// of the smaller limit, so that a full data set can still be viewed. A text is made if there is
/// room for the largest so far. Without room, slow readers are disconnected. After
/// [`ROOM_TIMEOUT`], up to [`BEYOND_MAX`] texts may exceed the limit.
#[derive(Debug)]
pub(crate) struct ViewMemory {
    data: Weak<DataSet>,
    /// The limit of all sessions together.
    total: TotalMemory,
    /// The bytes of all texts, including those that will be made.
    text_bytes: AtomicUsize,
    /// Notified when `text_bytes` or `waiting` changes.
    changes: watch::Sender<()>,
    largest_bytes: AtomicUsize,
    /// The number of texts that wait for room.
    waiting: AtomicUsize,
    beyond: Arc<Semaphore>,
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
            largest_bytes: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            beyond: Arc::new(Semaphore::new(BEYOND_MAX)),
            report: Arc::new(Semaphore::new(1)),
        })
    }

    /// Returns the bytes that texts and evaluators may each take now; 0 after the data set is gone.
    pub(crate) fn bytes_max(&self) -> usize {
        let Some(data) = self.data.upgrade() else { return 0 };
        let own_limit = data.memory_bytes_max();
        let limit = own_limit.min(self.total.bytes_max());
        let free = own_limit.saturating_sub(data.memory_bytes()).min(self.total.free_bytes());
        free.max(limit / SHARE_MIN) / 2
    }

    /// Returns room for a new text, if there is some. The first text always has room.
    pub(crate) fn free_room(self: &Arc<Self>) -> Option<Room> {
        let (bytes, bytes_max) = (self.largest_bytes.load(Ordering::Relaxed), self.bytes_max());
        let add = |taken: usize| {
            let sum = taken.saturating_add(bytes);
            (taken == 0 || sum <= bytes_max).then_some(sum)
        };
        let added = self.text_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        added.ok().map(|_| Room { memory: self.clone(), bytes, beyond: None })
    }

    /// Returns room for a report: what is free, or else beyond the limit, if no other report has
    /// such room.
    pub(crate) fn report_room(self: &Arc<Self>) -> Option<Room> {
        let beyond = || {
            let permit = self.report.clone().try_acquire_owned().ok()?;
            Some(self.room_beyond(Some(permit)))
        };
        self.free_room().or_else(beyond)
    }

    /// Waits for room for a new text.
    pub(crate) async fn room(self: &Arc<Self>) -> Room {
        if let Some(room) = self.free_room() {
            return room;
        }
        let _waiting = WaitingText::begin(self);
        let mut room = None;
        let has_room = || {
            room = self.free_room();
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
        room.unwrap_or_else(|| self.room_beyond(permit))
    }

    fn room_beyond(self: &Arc<Self>, permit: Option<OwnedSemaphorePermit>) -> Room {
        let bytes = self.largest_bytes.load(Ordering::Relaxed);
        self.text_bytes.fetch_add(bytes, Ordering::Relaxed);
        Room { memory: self.clone(), bytes, beyond: permit }
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

    /// Waits until [`Self::is_crowded`] is true.
    pub(crate) async fn crowded(&self) {
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
    /// Whether the text may exceed the limit.
    pub(crate) fn is_beyond(&self) -> bool {
        self.beyond.is_some()
    }

    /// Counts a text until its last copy is dropped.
    pub(crate) fn keep(mut self, text: String) -> Bytes {
        let memory = &self.memory;
        memory.text_bytes.fetch_add(text.len(), Ordering::Relaxed);
        memory.text_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        memory.largest_bytes.fetch_max(text.len(), Ordering::Relaxed);
        memory.changes.send_replace(());
        self.bytes = text.len();
        Bytes::from_owner(KeptText { text, _room: self })
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
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::time::{Instant, timeout};
    use weir_ingest::{
        DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd, TotalMemory,
    };

    use super::{BEYOND_MAX, ROOM_TIMEOUT, ViewMemory};

    fn memory() -> (Arc<DataSet>, Arc<ViewMemory>) {
        let data = DataSet::new(Retention::Segments, 16_000, &[]);
        let memory = ViewMemory::new(&data, &TotalMemory::new(usize::MAX));
        (data, memory)
    }

    #[tokio::test(start_paused = true)]
    async fn texts_count_until_their_last_copy_is_gone() {
        let (_data, memory) = memory();
        let bytes_max = memory.bytes_max();
        assert!(bytes_max >= 1_000, "a sixteenth of the limit");
        let first = memory.room().await.keep("x".repeat(bytes_max));
        let copy = first.clone();
        let crowded = || timeout(Duration::from_secs(1), memory.crowded());
        assert!(crowded().await.is_err(), "it just fits");
        assert!(memory.free_room().is_none());
        drop(first);
        assert!(memory.free_room().is_none(), "a copy is left");
        drop(copy);
        let room = memory.free_room().expect("room");
        assert!(memory.free_room().is_none(), "the next text may be as large");
        let second = room.keep("y".to_owned());
        assert_eq!((memory.text_bytes(), &second[..]), (1, &b"y"[..]));
        drop(second);
        assert_eq!(memory.text_bytes(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_text_waits_for_room_and_slow_readers_are_told() {
        let (_data, memory) = memory();
        let text = memory.room().await.keep("x".repeat(memory.bytes_max()));
        let reader = async {
            memory.crowded().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            drop(text);
        };
        let begun = Instant::now();
        let (room, ()) = tokio::join!(memory.room(), reader);
        assert_eq!(begun.elapsed().as_secs(), 1);
        assert!(!memory.is_crowded());
        drop(room);
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_texts_are_made_beyond_the_limit() {
        let (_data, memory) = memory();
        let bytes_max = memory.bytes_max();
        let _stuck = memory.room().await.keep("x".repeat(bytes_max));
        let begun = Instant::now();
        let mut beyond = Vec::new();
        for _ in 0..BEYOND_MAX {
            beyond.push(memory.room().await.keep("x".repeat(bytes_max)));
        }
        assert!(begun.elapsed() >= ROOM_TIMEOUT);
        let more = || timeout(Duration::from_secs(3_600), memory.room());
        assert!(more().await.is_err());
        beyond.pop();
        assert!(more().await.is_ok());
    }

    #[tokio::test]
    async fn one_report_has_room_beside_texts_that_are_not_read() {
        let (_data, memory) = memory();
        let _stuck = memory.room().await.keep("x".repeat(memory.bytes_max()));
        let first = memory.report_room().expect("room for one").keep("x".to_owned());
        assert!(memory.report_room().is_none(), "the first is not read");
        drop(first);
        assert!(memory.report_room().is_some_and(|room| room.is_beyond()));
    }

    /// The limit follows the current size of the data, not that at the last text.
    #[tokio::test]
    async fn texts_are_crowded_once_the_data_has_grown() {
        let data = DataSet::new(Retention::Segments, 4 << 20, &[]);
        let memory = ViewMemory::new(&data, &TotalMemory::new(usize::MAX));
        let _text = memory.room().await.keep("x".repeat(memory.bytes_max()));
        assert!(!memory.is_crowded());
        let pipeline = Pipeline::start(&PipelineOptions::new(1, Retention::Segments), data);
        let mut source = pipeline.source("a.log", None, FormatChoice::Detect);
        for number in 0..1_000 {
            let line = format!(
                "192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET /{number} HTTP/1.1\" 200 17\n"
            );
            source.write_all(line.as_bytes()).expect("room for the lines");
        }
        source.finish(SourceEnd::Done).expect("room for the lines");
        timeout(Duration::from_secs(20), memory.crowded()).await.expect("crowded");
        pipeline.finish();
    }
}
