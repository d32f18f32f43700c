//! The progress of a source.

mod block_counts;
mod early_bytes;
mod formats;
mod misfit;
mod parts;
mod source_end;
mod source_snapshot;
mod stored;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::watch;
use weir_core::{Format, OffsetDays, ReadCounts};
use weir_observe::WaitClock;
use weir_store::StoredPlace;
use weir_sync::Lock;

pub(crate) use self::block_counts::BlockCounts;
pub use self::early_bytes::{EarlyBytes, HeldBytes};
pub use self::source_end::SourceEnd;
use self::source_snapshot::format_note;
pub use self::source_snapshot::{SourceSample, SourceSnapshot};
use crate::file_parts::FileParts;
use crate::packed_file::PackedFile;

/// The state of one source, shared by its writer, the parsers and all observers.
#[derive(Debug)]
pub struct SourceProgress {
    /// The number of the source in the data set, set when it is added.
    number: AtomicU32,
    name: String,
    bytes_total: Option<u64>,
    /// Bytes read from the input: compressed bytes if it is compressed.
    bytes_taken: AtomicU64,
    /// The lines before this offset, in bytes, are all parsed, skipped, or dropped because the
    /// source was cancelled.
    parsed: watch::Sender<u64>,
    /// The bytes of the text of a packed upload that its writer has.
    written: AtomicU64,
    /// The end of the last block that was cut, in bytes. Blocks before it wait, are being parsed,
    /// or are parsed.
    cut: AtomicU64,
    early: EarlyBytes,
    /// The waits for room in the queue.
    waits: WaitClock,
    cancelled: AtomicBool,
    /// Whether its consumer needs no more of it.
    satisfied: AtomicBool,
    removed: AtomicBool,
    /// Whether some of it was read by another process.
    is_restored: bool,
    /// Whether it goes on here, if it is restored.
    resumed: AtomicBool,
    /// Whether it is kept in the folder of a state.
    kept: AtomicBool,
    /// Where its last lines were read by another process.
    places: Lock<Vec<StoredPlace>>,
    /// The plain files that contain its lines and can be read again.
    parts: Lock<FileParts>,
    /// The file on the disk that it was unpacked from.
    packed: OnceLock<Arc<PackedFile>>,
    state: Lock<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Of the blocks that were counted; `bytes_read` is the end of the last one.
    counts: ReadCounts,
    /// A block was dropped, so the blocks after it do not count.
    has_gap: bool,
    /// Where the first lines begin that could not be read, in bytes.
    torn_at: Option<u64>,
    format: Option<(Arc<Format>, Option<f64>)>,
    /// The number of records in each format.
    by_format: Vec<(Arc<Format>, u64)>,
    /// The number of formats in the first block that has records. They are the first ones of
    /// `by_format`.
    first_formats: usize,
    /// The number of the block with its first record that has a time, counted over all sources, and
    /// the zone offset of that record in seconds.
    first_offset: Option<(u64, i32)>,
    /// The offsets of its requests.
    offset_days: OffsetDays,
    /// All formats that its lines were read with.
    formats: Vec<Arc<Format>>,
    compressed: bool,
    samples: Vec<SourceSample>,
    end: Option<SourceEnd>,
    /// The end of the source, which takes effect once it is parsed up to this offset.
    ending: Option<(u64, SourceEnd)>,
    note: Option<String>,
    /// A note on changes of its format.
    format_note: Option<String>,
    /// The latest sentence to report to a person, until it is taken.
    news: Option<String>,
    /// Whether it was said that most of its lines do not fit.
    has_told_misfit: bool,
    /// The number of truncations of a followed file, and the longest time before one in which lines
    /// may have been lost.
    truncations: Option<(u64, Duration)>,
    phase: Phase,
}

/// The phase of a source that has not ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phase {
    /// Reads existing bytes.
    #[default]
    Reading,
    /// Has read all existing bytes, and reads those that are appended.
    Following,
    /// Waits for senders.
    Listening,
}

impl SourceProgress {
    pub(crate) fn new(name: &str, bytes_total: Option<u64>) -> Self {
        Self {
            number: AtomicU32::new(0),
            name: name.to_owned(),
            bytes_total,
            bytes_taken: AtomicU64::new(0),
            parsed: watch::Sender::new(0),
            written: AtomicU64::new(0),
            cut: AtomicU64::new(0),
            early: EarlyBytes::default(),
            waits: WaitClock::default(),
            cancelled: AtomicBool::new(false),
            satisfied: AtomicBool::new(false),
            removed: AtomicBool::new(false),
            is_restored: false,
            resumed: AtomicBool::new(false),
            kept: AtomicBool::new(false),
            places: Lock::default(),
            parts: Lock::default(),
            packed: OnceLock::new(),
            state: Lock::default(),
        }
    }

    pub(crate) fn set_number(&self, number: u32) {
        self.number.store(number, Ordering::Relaxed);
    }

    /// Its number in the data set.
    pub fn number(&self) -> u32 {
        self.number.load(Ordering::Relaxed)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether its input is packed, so that the offsets of its lines differ from those of the bytes
    /// that arrive.
    pub fn is_packed(&self) -> bool {
        self.state.lock().compressed
    }

    /// A snapshot of the source.
    pub fn snapshot(&self) -> SourceSnapshot {
        let state = self.state.lock();
        let bytes_parsed = state.counts.bytes_read;
        let bytes_done = match state.compressed {
            true => self.bytes_taken.load(Ordering::Relaxed),
            false => bytes_parsed,
        };
        let notes = [
            state.note.clone(),
            state.format_note.clone(),
            state.truncation_note(),
            format_note(&state.by_format),
        ];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        SourceSnapshot {
            number: self.number(),
            name: self.name.clone(),
            bytes_total: self.bytes_total,
            bytes_done,
            bytes_parsed,
            lines: state.counts.lines,
            records: state.counts.records,
            empty_lines: state.counts.empty_lines,
            unparsed_lines: state.counts.unparsed_lines,
            too_long_lines: state.counts.too_long_lines,
            format: state.format.as_ref().map(|(format, _)| format.clone()),
            by_format: state.by_format.clone(),
            parsed_share: state.format.as_ref().and_then(|(_, parsed_share)| *parsed_share),
            samples: state.samples.clone(),
            end: state.end.clone(),
            note: (!notes.is_empty()).then(|| notes.join("; ")),
            phase: state.phase,
        }
    }

    /// Returns the counts of everything read so far.
    pub fn read_counts(&self) -> ReadCounts {
        self.state.lock().counts
    }

    /// Returns how long the source has waited for room in the queue so far. A wait counts from its
    /// beginning.
    pub fn waited(&self) -> Duration {
        self.waits.total()
    }

    /// Begins to count a wait for room, until the returned value is dropped.
    pub(crate) fn begin_wait(&self) -> impl Drop {
        WaitClock::time(&self.waits)
    }

    /// Notes that all bytes before `offset` are in blocks.
    pub(crate) fn note_cut(&self, offset: u64) {
        self.cut.store(offset, Ordering::Relaxed);
    }

    /// The number of bytes that are in blocks: whole lines, and skipped bytes.
    pub fn submitted(&self) -> u64 {
        self.cut.load(Ordering::Relaxed)
    }

    pub(crate) fn note_written(&self, bytes: u64) {
        self.written.store(bytes, Ordering::Relaxed);
    }

    /// The number of bytes of a packed upload's text that its writer has.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// The count of its bytes that wait before its writer.
    pub fn early_bytes(&self) -> &EarlyBytes {
        &self.early
    }

    /// Returns the number of bytes that were received and are not parsed: those of its blocks, and
    /// those that wait before its writer. The block that is being filled does not count, which is
    /// less than one block.
    pub fn held_bytes(&self) -> u64 {
        if self.end().is_some() {
            // The blocks of a cancelled source are dropped.
            return 0;
        }
        self.submitted().saturating_sub(*self.parsed.borrow()) + self.early.bytes()
    }

    /// A receiver for the number of bytes of parsed lines, which can wait for more.
    pub fn parsed(&self) -> watch::Receiver<u64> {
        self.parsed.subscribe()
    }

    /// Waits until the source is parsed up to `offset`, or cancelled.
    pub async fn wait_until_parsed(&self, offset: u64) {
        let is_done = |parsed: &u64| *parsed >= offset || self.is_cancelled();
        // The sender lives in `self`, so this cannot fail.
        let _ = self.parsed().wait_for(is_done).await;
    }

    /// How the source ended; `None` while it is being read.
    pub fn end(&self) -> Option<SourceEnd> {
        self.state.lock().end.clone()
    }

    /// Cancels the source: blocks that wait to be parsed are dropped.
    pub fn cancel(&self) {
        // Set first, so that a thread that sees the end also sees the final counts.
        self.cancelled.store(true, Ordering::Relaxed);
        self.set_end(SourceEnd::Cancelled);
        // Wakes threads that wait for blocks of this source, since those may have been dropped.
        self.parsed.send_modify(|_| {});
    }

    /// Whether the source was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Cancels the source because its consumer needs no more of it. That is not an error, and the
    /// sources after it are read.
    pub fn satisfy(&self) {
        self.satisfied.store(true, Ordering::Relaxed);
        self.cancel();
    }

    /// Whether [`Self::satisfy`] was called.
    pub(crate) fn is_satisfied(&self) -> bool {
        self.satisfied.load(Ordering::Relaxed)
    }

    /// Cancels the source and marks it as removed from the data set.
    pub(crate) fn remove(&self) {
        self.removed.store(true, Ordering::Relaxed);
        self.cancel();
    }

    /// Whether the source was removed from its data set.
    pub fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Relaxed)
    }

    /// Returns whether some of it was read by another process, whose data set was loaded.
    pub fn is_restored(&self) -> bool {
        self.is_restored
    }

    /// Sets how the source ended, unless it has already ended.
    pub fn set_end(&self, end: SourceEnd) {
        self.state.lock().end.get_or_insert(end);
    }

    /// Sets how the source ends once it is parsed up to `offset`. Until then it has not ended, so
    /// an ended source never grows.
    pub(crate) fn end_at(&self, offset: u64, end: SourceEnd) {
        let mut state = self.state.lock();
        if *self.parsed.borrow() >= offset {
            state.end.get_or_insert(end);
        } else {
            state.ending = Some((offset, end));
        }
    }

    /// Sets the note on anything unusual about the source.
    pub fn set_note(&self, note: Option<String>) {
        self.state.lock().note = note;
    }

    /// Takes the latest sentence to report to a person, if there is a new one.
    pub fn take_news(&self) -> Option<String> {
        self.state.lock().news.take()
    }

    /// Sets the phase.
    pub fn set_phase(&self, phase: Phase) {
        self.state.lock().phase = phase;
    }

    /// The phase.
    pub(crate) fn phase(&self) -> Phase {
        self.state.lock().phase
    }

    /// Whether it does not read what its file had before it was followed.
    pub(crate) fn is_current(&self) -> bool {
        let waits_for_reader = self.is_restored && !self.resumed.load(Ordering::Relaxed);
        let is_followed = self.is_kept() && !waits_for_reader && self.end().is_none();
        !is_followed
            || match self.phase() {
                Phase::Reading => false,
                Phase::Following => self.held_bytes() == 0,
                Phase::Listening => true,
            }
    }

    /// Counts bytes read from a compressed input. From then on the progress of the source is
    /// measured in them.
    pub fn add_compressed(&self, bytes: u64) {
        self.bytes_taken.fetch_add(bytes, Ordering::Relaxed);
        self.state.lock().compressed = true;
    }

    /// Notes that the file was truncated, `unread` after it was last read.
    pub(crate) fn note_truncation(&self, unread: Duration) {
        let mut state = self.state.lock();
        let (before, longest) = state.truncations.unwrap_or_default();
        let count = before + 1;
        state.truncations = Some((count, unread.max(longest)));
        // A file that is truncated with every line does not flood a terminal.
        if count.is_power_of_two() {
            state.news = state.truncation_note();
        }
    }

    /// Sets the offset up to which the source is parsed. Ends the source if its end was set for
    /// this offset.
    pub(crate) fn set_parsed(&self, offset: u64) {
        let mut state = self.state.lock();
        if let Some((_, end)) = state.ending.take_if(|(ending, _)| *ending <= offset) {
            state.end.get_or_insert(end);
        }
        // Sent under the lock, so that an end set in between is not missed.
        self.parsed.send_replace(offset);
    }
}

impl State {
    /// Returns a clause about the truncations of a followed file.
    fn truncation_note(&self) -> Option<String> {
        let (count, unread) = self.truncations?;
        let times = match count {
            1 => "once".to_owned(),
            count => format!("{count} times"),
        };
        let ms = unread.as_millis() + 1;
        Some(format!(
            "it was truncated {times}; lines that were written in the {ms} ms before may be missing"
        ))
    }
}
