//! Submits the blocks of one source to the parsers.

use std::fmt::Debug;
use std::sync::Arc;

use memchr::memchr_iter;
use weir_core::{Block, BlockFormats, Format, FormatFinding, FormatSpan, RecordLayout};

use crate::error::StopReason;
use crate::progress::{Phase, SourceEnd, SourceProgress};
use crate::queue::{BlockQueue, Job, LateCompanions};

/// The destination of parsed blocks.
pub(crate) trait Destination: Debug + Send + Sync {
    /// Returns the index of a format, and registers it if it is new.
    fn format_index(&self, format: &Arc<weir_core::Format>) -> usize;

    /// Whether the memory limit is reached, and nothing else can make room.
    fn is_full(&self) -> bool;

    /// Notifies observers that the state of a source has changed.
    fn notify(&self);

    /// Whether the lines before each block are counted.
    fn numbers_lines(&self) -> bool {
        false
    }
}

/// Submits the blocks of one source, and ends it.
#[derive(Debug)]
pub(crate) struct Submitter {
    pub(crate) queue: Arc<BlockQueue>,
    pub(crate) destination: Arc<dyn Destination>,
    pub(crate) progress: Arc<SourceProgress>,
    /// The index of the source in the data set.
    pub(crate) index: u32,
    pub(crate) late_companions: Arc<LateCompanions>,
    /// The number of lines in the blocks so far, if they are counted.
    lines: u64,
}

impl Submitter {
    /// A submitter of source number `index`.
    pub(crate) fn new(
        queue: Arc<BlockQueue>,
        destination: Arc<dyn Destination>,
        (progress, index): (Arc<SourceProgress>, u32),
        late_companions: Arc<LateCompanions>,
    ) -> Self {
        Self { queue, destination, progress, index, late_companions, lines: 0 }
    }

    /// Fails if the source has to stop.
    pub(super) fn check(&self) -> Result<(), StopReason> {
        if self.progress.is_cancelled() {
            return Err(StopReason::Cancelled);
        }
        if self.destination.is_full() {
            return Err(StopReason::MemoryFull);
        }
        Ok(())
    }

    /// Whether no block waits for a parser.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_idle()
    }

    /// A buffer to reuse, if there is one.
    pub(super) fn take_spare(&self) -> Option<Vec<u8>> {
        self.queue.take_spare()
    }

    /// Returns the jobs of a block, one for each format of its lines, because jobs are parsed in
    /// parallel. If the source `may_be_mixed`, other formats may appear among its lines.
    pub(super) fn jobs(
        &mut self,
        block: Block,
        formats: BlockFormats,
        is_format_known: bool,
        may_be_mixed: bool,
    ) -> Vec<Job> {
        for finding in formats.findings {
            self.report(finding, block.offset);
        }
        self.progress.note_cut(block.offset_end);
        let starts: Vec<usize> = formats.spans.iter().skip(1).map(|span| span.start).collect();
        let blocks = block.split(starts).into_iter();
        let is_live = self.progress.phase() != Phase::Reading;
        let job = |(block, FormatSpan { format, companions, .. })| {
            let lines_before = self.count_lines(&block, &format);
            Job {
                source: self.progress.clone(),
                source_index: self.index,
                format_index: self.destination.format_index(&format),
                format,
                is_format_known,
                companions,
                late_companions: may_be_mixed.then(|| self.late_companions.clone()),
                lines_before,
                block,
                unread: None,
                is_live,
            }
        };
        blocks.zip(formats.spans).map(job).collect()
    }

    /// Counts the lines or packed records of the next block, if they are counted. Returns the number
    /// before it.
    fn count_lines(&mut self, block: &Block, format: &Format) -> u64 {
        let before = self.lines;
        if self.destination.numbers_lines() {
            let lines = match format.is_packed() {
                true => RecordLayout::records(block.bytes()).count(),
                // A line without a line feed is the last one of its source.
                false => memchr_iter(b'\n', block.bytes()).count(),
            };
            self.lines += block.too_long_lines + lines as u64;
        }
        before
    }

    /// Reports a format that was detected in the block at `offset`.
    fn report(&self, finding: FormatFinding, offset: u64) {
        let FormatFinding { start, format, parsed_share, is_change } = finding;
        if is_change {
            self.progress.change_format(format, parsed_share, offset + start as u64);
        } else {
            self.progress.set_format(format, Some(parsed_share));
        }
    }

    /// Pushes jobs in order, and waits for room.
    pub(super) fn push(&self, jobs: Vec<Job>) -> Result<(), StopReason> {
        let _wait = self.progress.begin_wait();
        jobs.into_iter().try_for_each(|job| self.queue.push(job))
    }

    /// [`Self::push`] for tasks. The future has to be awaited to its end.
    pub(super) async fn push_async(&self, jobs: Vec<Job>) -> Result<(), StopReason> {
        let _wait = self.progress.begin_wait();
        for job in jobs {
            self.queue.push_async(job).await?;
        }
        Ok(())
    }

    /// Ends the source once it is parsed up to `offset`. If its last blocks could not be pushed, it
    /// ends with the reason for that.
    pub(super) fn end(&self, offset: u64, end: SourceEnd, pushed: &Result<(), StopReason>) {
        match (pushed, end) {
            // The submitted blocks are dropped, so there is nothing to wait for.
            (Err(StopReason::Cancelled), _) => self.progress.set_end(SourceEnd::Cancelled),
            (Err(reason), SourceEnd::Done) => self.progress.end_at(offset, (*reason).into()),
            (_, end) => self.progress.end_at(offset, end),
        }
        self.destination.notify();
    }
}
