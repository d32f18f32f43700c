//! The writing end of a source whose records were never text.

use std::sync::Arc;

use weir_core::{Block, BlockFormats, Format, FormatSpan, RecordLayout};

use super::submitter::Submitter;
use crate::error::StopReason;
use crate::progress::{Phase, SourceProgress};

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
        self.submitter.check()?;
        let mut block = Block::new(packed);
        (block.offset, block.offset_end) = (self.end, self.end + block.offset_end);
        self.end = block.offset_end;
        let span = FormatSpan { start: 0, format: self.format.clone(), companions: Arc::default() };
        let formats = BlockFormats { spans: vec![span], findings: Vec::new() };
        let jobs = self.submitter.jobs(block, formats, true, false);
        self.submitter.push_async(jobs).await
    }

    /// A buffer to pack into, for reuse.
    pub fn take_spare(&self) -> Vec<u8> {
        let mut spare = self.submitter.take_spare().unwrap_or_default();
        spare.clear();
        spare
    }
}
