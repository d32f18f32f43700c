//! The writing end of a source: bytes become blocks, get their formats, and go to the parsers.

mod assembler;
mod intake;
mod options;
mod pull;
mod pull_file;
mod records;
mod submitter;

pub use self::intake::Intake;
pub use self::options::SourceOptions;
pub use self::records::RecordWriter;
pub(crate) use self::submitter::{Destination, Submitter};

use std::sync::Arc;

use weir_core::{BlockLimits, FormatChoice, FormatTracker, TrackerOptions};

use self::assembler::BlockAssembler;
use crate::clock::Clock;
use crate::error::StopReason;
use crate::log_year::year_of_log;
use crate::progress::{SourceEnd, SourceProgress};
use crate::queue::{BlockQueue, Job, LateCompanions};

/// Writes the bytes of one source.
///
/// Write to [`Self::space`] and [`Self::advance`], or copy with [`Self::push`]. Call
/// [`Self::flush`] when [`Self::is_full`], and whenever the source pauses. Dropping a writer does
/// not end its source, so that another reader of the same source can continue.
#[derive(Debug)]
pub struct SourceWriter {
    assembler: BlockAssembler,
    tracker: FormatTracker,
    submitter: Submitter,
    clock: Arc<dyn Clock>,
}

/// The name of the format whose records may have several lines.
const JOINED: &str = "NGINXERROR";

/// Whether lines of a source may be joined. Otherwise its blocks do not depend on those before them, so
/// they can be read at once.
fn may_join(format: &FormatChoice) -> bool {
    !matches!(format, FormatChoice::Forced(format) if format.name() != JOINED)
}

impl SourceWriter {
    /// A writer at the start of source number `index`.
    pub(crate) fn new(
        options: SourceOptions,
        (progress, index): (Arc<SourceProgress>, u32),
        queue: Arc<BlockQueue>,
        destination: Arc<dyn Destination>,
        limits: BlockLimits,
    ) -> Self {
        let SourceOptions { name, format, last_time, watches_drift, clock, .. } = options;
        let year = year_of_log(&name, last_time);
        let joins = may_join(&format);
        let tracker_options = TrackerOptions { year, watches_drift };
        let tracker = FormatTracker::new(format, tracker_options, clock.unix_s());
        let start = *progress.parsed().borrow();
        if tracker.is_known() && start == 0 {
            progress.set_format(tracker.format().clone(), None);
        }
        let late_companions = Arc::new(LateCompanions::new(year, clock.clone()));
        Self {
            assembler: BlockAssembler::new(limits, clock.clone(), start, joins),
            tracker,
            submitter: Submitter::new(queue, destination, (progress, index), late_companions),
            clock,
        }
    }

    /// Writes packed records instead of bytes. Nothing was written before, and the format of the
    /// source is forced: it is that of the records.
    pub(crate) fn into_records(self) -> RecordWriter {
        RecordWriter::of_file(self.tracker.format().clone(), self.submitter)
    }

    /// The progress of the source.
    pub fn progress(&self) -> &Arc<SourceProgress> {
        &self.submitter.progress
    }

    /// Bytes written so far.
    pub fn offset(&self) -> u64 {
        self.assembler.cutter.offset()
    }

    /// Bytes submitted so far: whole lines, and skipped bytes.
    pub fn submitted(&self) -> u64 {
        self.assembler.end()
    }

    /// Room for more bytes, never empty.
    pub fn space(&mut self) -> &mut [u8] {
        let detection_room = self.detection_room();
        let space = self.assembler.cutter.space();
        let room = space.len().min(detection_room);
        &mut space[..room]
    }

    /// Takes the first `length` bytes of [`Self::space`].
    pub fn advance(&mut self, length: usize) {
        let offset = self.assembler.cutter.offset();
        self.submitter.progress.sum(offset, &self.assembler.cutter.space()[..length]);
        self.assembler.cutter.advance(length);
    }

    /// Copies as much of `piece` as fits, and returns its length.
    pub fn push(&mut self, piece: &[u8]) -> usize {
        let room = piece.len().min(self.detection_room());
        let offset = self.assembler.cutter.offset();
        let pushed = self.assembler.cutter.push(&piece[..room]);
        self.submitter.progress.sum(offset, &piece[..pushed]);
        pushed
    }

    /// Whether [`Self::flush`] has to be called before more is written.
    pub fn is_full(&self) -> bool {
        let is_sample = !self.is_format_decided()
            && self.assembler.cutter.pending_bytes() >= FormatTracker::DETECTION_BYTES;
        is_sample || self.assembler.cutter.is_full()
    }

    /// Whether the format is decided; see [`FormatTracker::is_decided`].
    pub(crate) fn is_format_decided(&self) -> bool {
        self.tracker.is_decided()
    }

    /// The room until the format is detected. Detection examines the same bytes whatever the sizes
    /// of the pieces in which they arrive.
    fn detection_room(&self) -> usize {
        if self.is_format_decided() {
            return usize::MAX;
        }
        FormatTracker::detection_room(self.assembler.cutter.pending_bytes())
    }

    /// Whether a partly filled block should be flushed without waiting for more bytes: if the
    /// parsers are idle, and the source has just begun or its last block was cut a while ago. Never
    /// before the format is decided, which must not depend on the pieces in which a log arrives.
    pub fn may_flush_early(&self) -> bool {
        self.is_format_decided() && self.submitter.is_idle() && self.assembler.may_flush_early()
    }

    /// Submits all whole lines, and waits for room in the queue.
    ///
    /// # Errors
    /// If the source has to stop.
    pub fn flush(&mut self) -> Result<(), StopReason> {
        let jobs = self.cut()?;
        self.submitter.push(jobs)
    }

    /// [`Self::flush`] for tasks. The future has to be awaited to its end.
    ///
    /// # Errors
    /// If the source has to stop.
    pub async fn flush_async(&mut self) -> Result<(), StopReason> {
        let jobs = self.cut()?;
        self.submitter.push_async(jobs).await
    }

    /// Writes all of `bytes`, and submits blocks as they fill.
    ///
    /// # Errors
    /// If the source has to stop.
    pub fn write_all(&mut self, mut bytes: &[u8]) -> Result<(), StopReason> {
        while !bytes.is_empty() {
            bytes = &bytes[self.push(bytes)..];
            if self.is_full() {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// [`Self::write_all`] for tasks.
    ///
    /// # Errors
    /// If the source has to stop.
    pub async fn write_all_async(&mut self, mut bytes: &[u8]) -> Result<(), StopReason> {
        while !bytes.is_empty() {
            bytes = &bytes[self.push(bytes)..];
            if self.is_full() {
                self.flush_async().await?;
            }
        }
        Ok(())
    }

    /// Lets the state be stored although no lines were added.
    pub(crate) fn note_change(&self) {
        self.submitter.destination.notify();
    }

    /// Gives back the buffers that hold no bytes, because the source pauses. Thousands of sources
    /// can pause, and each buffer has the size of a block and a line.
    pub(crate) fn rest(&mut self) {
        while let Some(buffer) = self.assembler.cutter.take_spare() {
            self.submitter.queue.keep_spare(buffer);
        }
    }

    /// Submits the rest, including a last line without a line feed, and ends the source. It has
    /// ended when the rest is parsed.
    ///
    /// # Errors
    /// If the source has to stop.
    pub fn finish(mut self, end: SourceEnd) -> Result<(), StopReason> {
        let result = self.cut_rest().and_then(|jobs| self.submitter.push(jobs));
        self.submitter.end(self.submitted(), end, &result);
        result
    }

    /// [`Self::finish`] for tasks. It waits until the rest is parsed.
    ///
    /// # Errors
    /// If the source has to stop.
    pub async fn finish_async(&mut self, end: SourceEnd) -> Result<(), StopReason> {
        let result = match self.cut_rest() {
            Ok(jobs) => self.submitter.push_async(jobs).await,
            Err(reason) => Err(reason),
        };
        if result.is_ok() {
            self.wait_until_parsed().await;
        }
        self.submitter.end(self.submitted(), end, &result);
        result
    }

    /// Waits until every submitted byte is parsed, or the source is cancelled.
    pub async fn wait_until_parsed(&self) {
        self.progress().wait_until_parsed(self.submitted()).await;
    }

    /// Submits all whole lines, waits until they are parsed, and drops the incomplete line after
    /// them. Returns the offset from which the source has to be sent again.
    ///
    /// # Errors
    /// If the source has to stop.
    pub async fn rewind(&mut self) -> Result<u64, StopReason> {
        self.flush_async().await?;
        self.wait_until_parsed().await;
        self.assembler.cutter.forget_tail();
        Ok(self.assembler.cutter.offset())
    }

    /// Cuts all whole lines into jobs.
    fn cut(&mut self) -> Result<Vec<Job>, StopReason> {
        self.submitter.check()?;
        let is_full = self.is_full();
        let block = self.assembler.cut(self.submitter.take_spare(), is_full);
        Ok(self.jobs(block))
    }

    /// Cuts everything, including a last line without a line feed, into jobs.
    fn cut_rest(&mut self) -> Result<Vec<Job>, StopReason> {
        self.submitter.check()?;
        let block = self.assembler.finish();
        Ok(self.jobs(block))
    }

    /// Where the next block begins, if it can be handed on before its bytes are read: nothing that
    /// is decided in the order of the source depends on them.
    fn unread_start(&self) -> Option<u64> {
        let is_ordered = !self.tracker.is_settled()
            || self.assembler.may_join()
            || self.submitter.destination.numbers_lines()
            || self.progress().keeps_sums();
        self.assembler.cutter.block_start().filter(|_| !is_ordered)
    }

    /// Cuts a block of this many bytes, which are read later.
    fn cut_unread(&mut self, length: usize, buffer: Option<Vec<u8>>) -> Result<Job, StopReason> {
        self.submitter.check()?;
        let buffer = buffer.or_else(|| self.submitter.take_spare());
        let block = self.assembler.cut_unread(length, buffer);
        let formats = self.tracker.track(&[], self.clock.unix_s());
        let (is_known, may_be_mixed) = (self.tracker.is_known(), self.tracker.may_be_mixed());
        let jobs = self.submitter.jobs(block, formats, is_known, may_be_mixed);
        jobs.into_iter().next().ok_or(StopReason::Cancelled)
    }

    fn jobs(&mut self, block: Option<weir_core::Block>) -> Vec<Job> {
        let Some(block) = block else { return Vec::new() };
        let formats = self.tracker.track(block.bytes(), self.clock.unix_s());
        let (is_known, may_be_mixed) = (self.tracker.is_known(), self.tracker.may_be_mixed());
        self.submitter.jobs(block, formats, is_known, may_be_mixed)
    }
}
