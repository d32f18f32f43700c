//! What a pipeline makes of the blocks of its sources.

use std::sync::Arc;

use weir_core::Block;

use crate::error::SourceError;
use crate::progress::{SourceEnd, SourceProgress};
use crate::queue::{BlockQueue, Job};

/// What one worker makes of blocks: [`Columns`](super::columns::Columns) of a data set, or what a
/// visitor makes of the [lines](super::records::LineProduct).
///
/// A block is parsed on any worker at any time, and appended in the order of the tickets.
pub(super) trait Product {
    /// A parsed block that waits for its turn.
    type Parsed;

    /// Parses a block. Returns it, unless it is kept until its turn.
    fn parse(&mut self, job: Job) -> (Self::Parsed, Option<Block>);

    /// Appends a parsed block. The turn has come, and lasts until it is dropped. Returns how many
    /// blocks were appended: none if an earlier one is missing, several if others waited for this
    /// one.
    fn append(&mut self, place: BlockPlace, parsed: Self::Parsed, turn: Turn<'_>) -> u64;

    /// Appends nothing for a block whose source was cancelled before it was parsed. Returns the
    /// same number.
    fn append_dropped(&mut self, place: BlockPlace, turn: Turn<'_>) -> u64;

    /// Waits while the parsers should pause. The worker has no parsed block meanwhile.
    fn wait_for_room(&self) {}

    /// Whether the worker must append its parsed blocks before it parses another.
    fn must_append(&self) -> bool {
        false
    }

    /// Frees what only the parsing of the next block needs. The worker has no parsed block.
    fn rest(&mut self) {}

    /// Ends the sources, because this worker has failed.
    fn fail_sources(&self);
}

/// The place of a block: its source, and its turn.
#[derive(Debug)]
pub(super) struct BlockPlace {
    pub(super) ticket: u64,
    pub(super) source: Arc<SourceProgress>,
    pub(super) offset_end: u64,
    /// Whether its lines had just been written.
    pub(super) is_live: bool,
}

/// The turn of a block. No other block has one until this is dropped.
#[derive(Debug)]
pub(super) struct Turn<'q>(&'q BlockQueue);

impl<'q> Turn<'q> {
    pub(super) fn new(queue: &'q BlockQueue) -> Self {
        Self(queue)
    }

    /// Releases the memory of a block that was kept until its turn.
    pub(super) fn release(&self, block: Block) {
        self.0.release(block.memory_bytes(), Some(block.into_buffer()));
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // After a panic the worker stops everything.
        if !std::thread::panicking() {
            self.0.end_turn();
        }
    }
}

/// Ends sources because a worker has failed.
pub(super) fn fail(sources: &[Arc<SourceProgress>]) {
    for source in sources {
        source.set_end(SourceEnd::Failed(SourceError::ParserFailed));
    }
}
