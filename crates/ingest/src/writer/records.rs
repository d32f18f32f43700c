//! The writing end of a source whose records were never text.

use std::sync::Arc;

use weir_core::{Block, BlockFormats, Format, FormatSpan, RecordLayout};

use super::submitter::Submitter;
use crate::error::StopReason;
use crate::progress::{Phase, SourceEnd, SourceProgress};
use crate::queue::Job;

/// Writes blocks of packed records; see [`RecordLayout`].
///
/// The producer of the records, such as a gateway that answers requests, must not wait for their
/// consumers. So the writer has no room to write into: the caller packs a block itself, decides
/// what to do if it grows too large, and submits it where it may wait.
#[derive(Debug)]
pub struct RecordWriter {
    format: Arc<Format>,
    submitter: Submitter,
    /// Bytes submitted so far.
    end: u64,
}

impl RecordWriter {
    pub(crate) fn new(layout: &RecordLayout, submitter: Submitter) -> Self {
        let format = Arc::new(layout.format());
        submitter.progress.set_format(format.clone(), None);
        submitter.progress.set_phase(Phase::Listening);
        Self { format, submitter, end: 0 }
    }

    /// The writer of a source whose records are all there already, such as the rows of a file.
    pub(super) fn of_file(format: Arc<Format>, submitter: Submitter) -> Self {
        Self { format, submitter, end: 0 }
    }

    /// The progress of the source.
    pub fn progress(&self) -> &Arc<SourceProgress> {
        &self.submitter.progress
    }

    /// Submits whole packed records, and waits for room in the queue. The future has to be awaited
    /// to its end.
    ///
    /// # Errors
    /// If the source has to stop.
    pub async fn submit(&mut self, packed: Vec<u8>) -> Result<(), StopReason> {
        let jobs = self.jobs(packed, 0)?;
        self.submitter.push_async(jobs).await
    }

    /// [`Self::submit`] for threads. So many records before these were too long.
    ///
    /// # Errors
    /// If the source has to stop.
    pub(crate) fn submit_waiting(
        &mut self,
        packed: Vec<u8>,
        too_long: u64,
    ) -> Result<(), StopReason> {
        let jobs = self.jobs(packed, too_long)?;
        self.submitter.push(jobs)
    }

    /// Ends the source once it is parsed.
    pub(crate) fn finish(self, end: SourceEnd, pushed: &Result<(), StopReason>) {
        self.submitter.end(self.end, end, pushed);
    }

    fn jobs(&mut self, packed: Vec<u8>, too_long: u64) -> Result<Vec<Job>, StopReason> {
        self.submitter.check()?;
        let mut block = Block::new(packed);
        block.too_long_lines = too_long;
        (block.offset, block.offset_end) = (self.end, self.end + block.offset_end);
        self.end = block.offset_end;
        let span = FormatSpan { start: 0, format: self.format.clone(), companions: Arc::default() };
        let formats = BlockFormats { spans: vec![span], findings: Vec::new() };
        Ok(self.submitter.jobs(block, formats, true, false))
    }

    /// A buffer to pack into, for reuse.
    pub fn take_spare(&self) -> Vec<u8> {
        let mut spare = self.submitter.take_spare().unwrap_or_default();
        spare.clear();
        spare
    }
}
