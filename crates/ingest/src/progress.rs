//! The progress of a source.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use weir_core::{Format, LogSource, ReadCounts, UnparsedLine};

use crate::error::StopReason;
use crate::error::{ReadError, SourceError};
use crate::plain_file::{FileParts, PlainFile};

/// The state of one source, shared by its writer, the parsers and all observers.
#[derive(Debug)]
pub struct SourceProgress {
    /// Its number in the data set, once it is there.
    number: AtomicU32,
    name: String,
    bytes_total: Option<u64>,
    /// Bytes read of the input. If it is compressed, these are compressed bytes.
    bytes_taken: AtomicU64,
    /// The lines before this offset, in bytes, are all parsed, skipped, or dropped because the
    /// source was cancelled.
    parsed: watch::Sender<u64>,
    /// How long it has waited for room in the queue, in nanoseconds.
    wait_ns: AtomicU64,
    cancelled: AtomicBool,
    removed: AtomicBool,
    /// The files with its lines, if they can be read again.
    parts: Mutex<FileParts>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    counts: Counts,
    /// A block was dropped, so the blocks after it do not count.
    has_gap: bool,
    format: Option<(Arc<Format>, Option<f64>)>,
    /// The records of each format that lines were read in.
    by_format: Vec<(Arc<Format>, u64)>,
    /// The number of those formats that the first block with records has.
    first_formats: usize,
    /// The zone offset of its first record with a time, in seconds, and the number of the block
    /// with that record among those of all sources.
    first_offset: Option<(u64, i32)>,
    /// All formats that its lines were read with.
    formats: Vec<Arc<Format>>,
    compressed: bool,
    samples: Vec<SourceSample>,
    end: Option<SourceEnd>,
    /// The end of the source, which takes effect once it is parsed up to this offset.
    ending: Option<(u64, SourceEnd)>,
    note: Option<String>,
    /// How its format has changed.
    format_note: Option<String>,
    news: Option<String>,
    /// How often the file was truncated while it was followed, and the longest time in which lines
    /// may have been written that were not read before.
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

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    /// The end of the last block that was counted.
    bytes: u64,
    lines: u64,
    records: u64,
    unparsed_lines: u64,
    too_long_lines: u64,
}

impl Counts {
    fn read_counts(&self) -> ReadCounts {
        ReadCounts {
            lines: self.lines,
            records: self.records,
            unparsed_lines: self.unparsed_lines,
            too_long_lines: self.too_long_lines,
            bytes_read: self.bytes,
        }
    }
}

/// What one block adds to its source.
#[derive(Debug, Default)]
pub(crate) struct BlockCounts {
    pub(crate) lines: u64,
    pub(crate) records: u64,
    pub(crate) unparsed_lines: u64,
    pub(crate) too_long_lines: u64,
    pub(crate) samples: Vec<UnparsedLine>,
    /// The records of each format.
    pub(crate) by_format: Vec<(Arc<Format>, u64)>,
}

/// How a source ended. Lines that were read are kept in every case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceEnd {
    /// Read to its end.
    Done,
    /// Failed before its end.
    Failed(SourceError),
    /// Ended by the user.
    Cancelled,
}

impl From<StopReason> for SourceEnd {
    fn from(reason: StopReason) -> Self {
        match reason {
            StopReason::Cancelled => Self::Cancelled,
            StopReason::MemoryFull => Self::Failed(SourceError::MemoryFull),
        }
    }
}

impl From<&ReadError> for SourceEnd {
    fn from(error: &ReadError) -> Self {
        match error {
            ReadError::Open(error) => Self::Failed(SourceError::Open(error.to_string())),
            ReadError::Stream(error) => Self::Failed(SourceError::Stream(error.clone())),
            ReadError::Refused(why) => Self::Failed(SourceError::Refused(why.clone())),
            ReadError::Stopped(reason) => (*reason).into(),
        }
    }
}

/// A line that could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSample {
    /// The line's number in the source, from 1.
    pub line: u64,
    /// The column of the parse failure, in bytes from 1.
    pub column: u64,
    /// What the parser expected there.
    pub reason: String,
    /// The line, truncated.
    pub text: Vec<u8>,
}

/// The state of a source at one moment.
#[derive(Debug, Clone)]
pub struct SourceSnapshot {
    /// Its number in the data set, which no other source ever has.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// Its size in bytes, if known; the compressed size if it is compressed.
    pub bytes_total: Option<u64>,
    /// Bytes of that size that are done: parsed or, for a compressed source, read.
    pub bytes_done: u64,
    /// Bytes of the lines that are parsed.
    pub bytes_parsed: u64,
    /// Lines read.
    pub lines: u64,
    /// Lines that were parsed into records.
    pub records: u64,
    /// Lines that could not be parsed.
    pub unparsed_lines: u64,
    /// Lines over the length limit.
    pub too_long_lines: u64,
    /// The format, once it is known.
    pub format: Option<Arc<Format>>,
    /// The records of each format, in the order in which the formats appeared. Usually there is one.
    pub by_format: Vec<(Arc<Format>, u64)>,
    /// The share of the first lines that the format can parse, 0 to 1; `None` if it was forced.
    pub parsed_share: Option<f64>,
    /// The first few lines that could not be parsed.
    pub samples: Vec<SourceSample>,
    /// How it ended; `None` while it is being read.
    pub end: Option<SourceEnd>,
    /// A note on anything unusual about it.
    pub note: Option<String>,
    /// Its phase, unless it has ended.
    pub phase: Phase,
}

impl SourceSnapshot {
    /// The note on a source whose times are in a zone that it does not name; it is part of `note`.
    pub fn local_times_note(&self) -> Option<&'static str> {
        local_times_note(&self.by_format)
    }
}

fn local_times_note(by_format: &[(Arc<Format>, u64)]) -> Option<&'static str> {
    let are_local = by_format.iter().any(|(format, _)| format.has_local_times());
    are_local.then_some(
        "its times are local to the machine that wrote them, in a zone that the log does not name; \
         they are taken as UTC",
    )
}

impl LogSource for SourceSnapshot {
    fn read_counts(&self) -> ReadCounts {
        ReadCounts {
            lines: self.lines,
            records: self.records,
            unparsed_lines: self.unparsed_lines,
            too_long_lines: self.too_long_lines,
            bytes_read: self.bytes_parsed,
        }
    }

    fn format(&self) -> Option<&Arc<Format>> {
        self.format.as_ref()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn defect(&self) -> Option<String> {
        match self.end.as_ref()? {
            SourceEnd::Done => None,
            SourceEnd::Failed(error) => Some(error.to_string()),
            SourceEnd::Cancelled => Some("it was cancelled before its end".to_owned()),
        }
    }

    fn records_by_format(&self) -> &[(Arc<Format>, u64)] {
        &self.by_format
    }
}

/// The most samples kept of a source, as many as a person would read.
const SAMPLES_MAX: usize = 20;

impl SourceProgress {
    pub(crate) fn new(name: &str, bytes_total: Option<u64>) -> Self {
        Self {
            number: AtomicU32::new(0),
            name: name.to_owned(),
            bytes_total,
            bytes_taken: AtomicU64::new(0),
            parsed: watch::Sender::new(0),
            wait_ns: AtomicU64::new(0),
            cancelled: AtomicBool::new(false),
            removed: AtomicBool::new(false),
            parts: Mutex::default(),
            state: Mutex::default(),
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

    /// The plain file that has the line at an offset of the source, and the line's offset in it.
    /// `None` if the line comes from elsewhere or was unpacked, or if the file was truncated since.
    pub fn place_of(&self, offset: u64) -> Option<(PlainFile, u64)> {
        self.lock_parts().find(offset)
    }

    /// Notes that the bytes from an offset on are those of a file from another offset on.
    pub(crate) fn add_part(&self, start: u64, file: &PlainFile, file_start: u64) {
        self.lock_parts().add(start, file, file_start);
    }

    /// Forgets the parts of a file that was truncated.
    pub(crate) fn forget_parts(&self, file: &PlainFile) {
        self.lock_parts().forget(file);
    }

    fn lock_parts(&self) -> MutexGuard<'_, FileParts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether its bytes are unpacked, so that the offsets of its lines are not those of the bytes
    /// that arrive.
    pub fn is_packed(&self) -> bool {
        self.lock().compressed
    }

    /// A snapshot of the source.
    pub fn snapshot(&self) -> SourceSnapshot {
        let state = self.lock();
        let bytes_parsed = state.counts.bytes;
        let bytes_done = match (state.compressed, &state.end) {
            (true, _) => self.bytes_taken.load(Ordering::Relaxed),
            (false, _) => bytes_parsed,
        };
        SourceSnapshot {
            number: self.number(),
            name: self.name.clone(),
            bytes_total: self.bytes_total,
            bytes_done,
            bytes_parsed,
            lines: state.counts.lines,
            records: state.counts.records,
            unparsed_lines: state.counts.unparsed_lines,
            too_long_lines: state.counts.too_long_lines,
            format: state.format.as_ref().map(|(format, _)| format.clone()),
            by_format: state.by_format.clone(),
            parsed_share: state.format.as_ref().and_then(|(_, parsed_share)| *parsed_share),
            samples: state.samples.clone(),
            end: state.end.clone(),
            note: joined(
                &joined(&joined(&state.note, &state.format_note), &state.truncation_note()),
                &local_times_note(&state.by_format).map(str::to_owned),
            ),
            phase: state.phase,
        }
    }

    /// What was read of the source so far.
    pub fn read_counts(&self) -> ReadCounts {
        self.lock().counts.read_counts()
    }

    /// How long it has waited for room in the queue so far. A wait counts when it ends.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.wait_ns.load(Ordering::Relaxed))
    }

    pub(crate) fn add_wait(&self, wait: Duration) {
        self.wait_ns.fetch_add(wait.as_nanos() as u64, Ordering::Relaxed);
    }

    /// A receiver for the number of bytes of parsed lines, which can wait for more.
    pub fn parsed(&self) -> watch::Receiver<u64> {
        self.parsed.subscribe()
    }

    /// How the source ended; `None` while it is being read.
    pub fn end(&self) -> Option<SourceEnd> {
        self.lock().end.clone()
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

    /// Cancels the source for good: what was read of it leaves the data set too.
    pub(crate) fn remove(&self) {
        self.removed.store(true, Ordering::Relaxed);
        self.cancel();
    }

    /// Whether the source was removed from its data set.
    pub fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Relaxed)
    }

    /// Notes the zone offset of the first record with a time of block number `block`, unless an
    /// earlier block had one.
    pub(crate) fn note_offset(&self, block: u64, offset_s: impl FnOnce() -> Option<i32>) {
        let mut state = self.lock();
        if state.first_offset.is_none() {
            state.first_offset = offset_s().map(|offset_s| (block, offset_s));
        }
    }

    /// The number of the block with its first record that has a time, and the zone offset of that
    /// record in seconds.
    pub(crate) fn first_offset(&self) -> Option<(u64, i32)> {
        self.lock().first_offset
    }

    /// Whether some of its lines were read with a format of this name and definition.
    pub(crate) fn has_used(&self, format: &Format) -> bool {
        let is_same = |used: &Arc<Format>| {
            used.name() == format.name() && used.definition() == format.definition()
        };
        let state = self.lock();
        let counted = state.by_format.iter().map(|(format, _)| format);
        state.formats.iter().chain(counted).any(is_same)
    }

    /// The formats of the records in its first block with some, in the order in which they appeared. They do
    /// not depend on how far the source is read.
    pub fn first_formats(&self) -> Vec<Arc<Format>> {
        let state = self.lock();
        let first = state.by_format.iter().take(state.first_formats);
        first.map(|(format, _)| format.clone()).collect()
    }

    /// Sets how the source ended, unless it has already ended.
    pub fn set_end(&self, end: SourceEnd) {
        self.lock().end.get_or_insert(end);
    }

    /// Sets how the source ends once it is parsed up to `offset`. Until then it has not ended, so
    /// an ended source never grows.
    pub(crate) fn end_at(&self, offset: u64, end: SourceEnd) {
        let mut state = self.lock();
        if *self.parsed.borrow() >= offset {
            state.end.get_or_insert(end);
        } else {
            state.ending = Some((offset, end));
        }
    }

    /// Sets the note on anything unusual about the source.
    pub fn set_note(&self, note: Option<String>) {
        self.lock().note = note;
    }

    /// Takes the sentence that should be reported to a person now, if there is a new one.
    pub fn take_news(&self) -> Option<String> {
        self.lock().news.take()
    }

    /// Sets the phase.
    pub fn set_phase(&self, phase: Phase) {
        self.lock().phase = phase;
    }

    /// The phase.
    pub(crate) fn phase(&self) -> Phase {
        self.lock().phase
    }

    /// Counts bytes read from a compressed input. From then on the progress of the source is
    /// measured in them.
    pub fn take_compressed(&self, bytes: u64) {
        self.bytes_taken.fetch_add(bytes, Ordering::Relaxed);
        self.lock().compressed = true;
    }

    pub(crate) fn set_format(&self, format: Arc<Format>, parsed_share: Option<f64>) {
        let mut state = self.lock();
        state.formats.push(format.clone());
        state.format = Some((format, parsed_share));
    }

    /// Changes the format of the lines from `offset` on.
    pub(crate) fn change_format(&self, format: Arc<Format>, parsed_share: f64, offset: u64) {
        let mut state = self.lock();
        let name = format.name();
        let mut note = format!("from byte {offset} on it is read as {name}");
        if let Some((before, _)) = &state.format {
            note = format!("its lines no longer fit {}; {note}", before.name());
        }
        state.format_note = Some(note.clone());
        state.news = Some(note);
        state.formats.push(format.clone());
        state.format = Some((format, Some(parsed_share)));
    }

    /// Notes that the file was truncated, and that it was last read this long before.
    pub(crate) fn note_truncation(&self, unread: Duration) {
        let mut state = self.lock();
        let (before, longest) = state.truncations.unwrap_or_default();
        let count = before + 1;
        state.truncations = Some((count, unread.max(longest)));
        // A file that is truncated with every line does not flood a terminal.
        if count.is_power_of_two() {
            state.news = state.truncation_note();
        }
    }

    /// Notes that a block was dropped.
    pub(crate) fn drop_rest(&self) {
        self.lock().has_gap = true;
    }

    /// Whether a block was dropped.
    pub(crate) fn has_gap(&self) -> bool {
        self.lock().has_gap
    }

    /// Adds the counts of a block that ends at `offset_end`. Blocks are counted in order, so that
    /// line numbers are right. Returns the bytes that the block adds.
    pub(crate) fn count(&self, read: &BlockCounts, offset_end: u64) -> u64 {
        let mut state = self.lock();
        let bytes = offset_end.saturating_sub(state.counts.bytes);
        state.counts.bytes = offset_end;
        let lines_before = state.counts.lines;
        for sample in &read.samples {
            if state.samples.len() == SAMPLES_MAX {
                break;
            }
            state.samples.push(SourceSample {
                line: lines_before + sample.line + 1,
                column: sample.at as u64 + 1,
                reason: sample.reason.clone(),
                text: sample.text.clone(),
            });
        }
        let is_first = state.by_format.is_empty();
        for (format, records) in &read.by_format {
            let is_same = |(known, _): &&mut (Arc<Format>, u64)| {
                known.name() == format.name() && known.definition() == format.definition()
            };
            match state.by_format.iter_mut().find(is_same) {
                Some((_, sum)) => *sum += records,
                None => state.by_format.push((format.clone(), *records)),
            }
        }
        if is_first {
            state.first_formats = state.by_format.len();
        }
        state.counts.lines += read.lines;
        state.counts.records += read.records;
        state.counts.unparsed_lines += read.unparsed_lines;
        state.counts.too_long_lines += read.too_long_lines;
        bytes
    }

    pub(crate) fn parsed_to(&self, offset: u64) {
        let mut state = self.lock();
        if let Some((_, end)) = state.ending.take_if(|(ending, _)| *ending <= offset) {
            state.end.get_or_insert(end);
        }
        // Sent under the lock, so that an end set in between is not missed.
        self.parsed.send_replace(offset);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A clause about truncations of a followed file.
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

/// Joins two optional notes.
fn joined(one: &Option<String>, other: &Option<String>) -> Option<String> {
    match (one, other) {
        (Some(one), Some(other)) => Some(format!("{one}; {other}")),
        (one, other) => one.clone().or_else(|| other.clone()),
    }
}
