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
/// text, so that one is made at a time while others wait for room, and turns limit it otherwise.
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
    /// Held by the text that is made while others wait for room.
    crowded_work: Arc<Semaphore>,
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
            crowded_work: Arc::new(Semaphore::new(1)),
            report: Arc::new(Semaphore::new(1)),
        })
    }

    /// Returns the bytes that texts and evaluators may each take now; 0 after the data set is gone.
    pub(crate) fn bytes_max(&self) -> usize {
        let Some(data) = self.data.upgrade() else { return 0 };
        let own_limit = data.memory_bytes_max();
        let limit = own_limit.min(self.total.bytes_max());
        let free = own_limit.saturating_sub(data.memory_bytes()).min(self.total.free_bytes());
        (free / REST_SHARE).max(limit / LIMIT_SHARE_MIN)
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

    /// Waits until no other text is made, if texts wait for room. Call it without a turn or a lock,
    /// and keep the permit until the text is made.
    pub(crate) async fn crowded_turn(&self) -> Option<OwnedSemaphorePermit> {
        if !self.is_crowded() {
            return None;
        }
        // This cannot fail, because the semaphore is never closed.
        self.crowded_work.clone().acquire_owned().await.ok()
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
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::time::{Instant, timeout};
    use weir_ingest::{
        DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd, TotalMemory,
    };

    use super::{BEYOND_MAX, CROWDED_SEND_TIMEOUT, ROOM_TIMEOUT, ViewMemory};

    fn memory() -> (Arc<DataSet>, Arc<ViewMemory>) {
        let data = DataSet::new(Retention::Segments, 16_000, &[]);
        let memory = ViewMemory::new(&data, &TotalMemory::new(usize::MAX));
        (data, memory)
    }

    fn text(bytes: usize) -> String {
        "x".repeat(bytes)
    }

    #[tokio::test(start_paused = true)]
    async fn texts_count_until_their_last_copy_is_gone() {
        let (_data, memory) = memory();
        let bytes_max = memory.bytes_max();
        assert!(bytes_max >= 1_000, "a sixteenth of the limit");
        let first = memory.room(0).await.keep(text(bytes_max)).expect("it just fits");
        let copy = first.clone();
        let crowded_out = || timeout(Duration::from_secs(60), memory.crowded_out());
        assert!(crowded_out().await.is_err(), "nothing waits");
        assert!(memory.free_room(1).is_none());
        drop(first);
        assert!(memory.free_room(1).is_none(), "a copy is left");
        drop(copy);
        let room = memory.free_room(bytes_max).expect("room");
        assert!(memory.free_room(1).is_none(), "the next text may be as large");
        let second = room.keep("y".to_owned()).expect("it is smaller");
        assert_eq!((memory.text_bytes(), &second[..]), (1, &b"y"[..]));
        drop(second);
        assert_eq!(memory.text_bytes(), 0);
    }

    /// Their lengths are known only after they are made, so all of them begin.
    #[tokio::test]
    async fn texts_that_are_made_at_the_same_time_do_not_exceed_the_limit() {
        let (_data, memory) = memory();
        let bytes = memory.bytes_max() / 3;
        let rooms: Vec<_> = (0..50).filter_map(|_| memory.free_room(0)).collect();
        assert_eq!(rooms.len(), 50);
        let made = rooms.into_iter().map(|room| room.keep(text(bytes)));
        let (kept, refused): (Vec<_>, Vec<_>) = made.partition(Result::is_ok);
        assert_eq!((kept.len(), memory.text_bytes()), (3, 3 * bytes));
        assert!(refused.iter().all(|refused| *refused == Err(bytes)));
        drop(kept);
        let alone = memory.free_room(0).map(|room| room.keep(text(9 * bytes)));
        assert!(alone.is_some_and(|kept| kept.is_ok()), "one text always has room");
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_text_waits_for_room_and_slow_readers_are_told() {
        let (_data, memory) = memory();
        let kept = memory.room(0).await.keep(text(memory.bytes_max()));
        let begun = Instant::now();
        let reader = async {
            memory.crowded_out().await;
            drop(kept);
        };
        let (room, ()) = tokio::join!(memory.room(1), reader);
        assert_eq!(begun.elapsed(), CROWDED_SEND_TIMEOUT);
        assert!(!memory.is_crowded());
        drop(room);
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_texts_are_made_beyond_the_limit() {
        let (_data, memory) = memory();
        let bytes_max = memory.bytes_max();
        let _stuck = memory.room(0).await.keep(text(bytes_max));
        let begun = Instant::now();
        let mut beyond = Vec::new();
        for _ in 0..BEYOND_MAX {
            beyond.push(memory.room(bytes_max).await.keep(text(bytes_max)).expect("it may"));
        }
        assert!(begun.elapsed() >= ROOM_TIMEOUT);
        let more = || timeout(Duration::from_secs(3_600), memory.room(1));
        assert!(more().await.is_err());
        beyond.pop();
        assert!(more().await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn one_report_has_room_beside_texts_that_are_not_read() {
        let (_data, memory) = memory();
        let _stuck = memory.room(0).await.keep(text(memory.bytes_max() + 1));
        let begun = Instant::now();
        let room = memory.report_room(0).await.expect("room for one");
        assert_eq!(begun.elapsed(), Duration::ZERO);
        let first = room.keep(text(9)).expect("it may exceed the limit");
        assert!(memory.report_room(0).await.is_none(), "the first is not read");
        let reader = async {
            memory.crowded_out().await;
            drop(first);
        };
        let (room, ()) = tokio::join!(memory.report_room(0), reader);
        assert!(room.is_some(), "the first reader was cut off");
    }

    /// Its length is known only after it is made.
    #[tokio::test(start_paused = true)]
    async fn a_report_that_does_not_fit_is_made_again() {
        let (_data, memory) = memory();
        let bytes_max = memory.bytes_max();
        let _unread = memory.room(0).await.keep(text(bytes_max - 9));
        assert!(!memory.is_crowded(), "there is room for a short one");
        let room = memory.report_room(0).await.expect("room");
        let bytes = room.keep(text(100)).expect_err("it does not fit");
        let begun = Instant::now();
        let room = memory.report_room(bytes).await.expect("room for one");
        assert_eq!(begun.elapsed(), Duration::ZERO);
        let kept = room.keep(text(bytes)).expect("it may exceed the limit");
        assert!(memory.report_room(bytes).await.is_none(), "one at a time");
        drop(kept);
        assert!(memory.report_room(bytes).await.is_some());
    }

    /// What is being made is not counted, and takes more than its text.
    #[tokio::test]
    async fn one_text_is_made_at_a_time_while_others_wait_for_room() {
        let data = DataSet::new(Retention::Segments, 4 << 20, &[]);
        let memory = ViewMemory::new(&data, &TotalMemory::new(usize::MAX));
        let kept = memory.room(0).await.keep(text(memory.bytes_max())).expect("there is room");
        assert!(memory.crowded_turn().await.is_none(), "nobody waits");
        let waiting = tokio::spawn({
            let memory = memory.clone();
            async move { memory.room(1).await }
        });
        while !memory.is_crowded() {
            tokio::task::yield_now().await;
        }
        let turn = memory.crowded_turn().await;
        assert!(turn.is_some());
        assert!(timeout(Duration::from_millis(50), memory.crowded_turn()).await.is_err());
        drop(turn);
        assert!(memory.crowded_turn().await.is_some());
        drop(kept);
        waiting.await.expect("there is room now");
        assert!(memory.crowded_turn().await.is_none(), "nobody waits any longer");
    }

    /// The limit follows the current size of the data, not that at the last text.
    #[tokio::test]
    async fn texts_are_crowded_once_the_data_has_grown() {
        let data = DataSet::new(Retention::Segments, 4 << 20, &[]);
        let memory = ViewMemory::new(&data, &TotalMemory::new(usize::MAX));
        let _text = memory.room(0).await.keep(text(memory.bytes_max()));
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
        timeout(Duration::from_secs(20), memory.crowded_out()).await.expect("crowded");
        pipeline.finish();
    }
}
