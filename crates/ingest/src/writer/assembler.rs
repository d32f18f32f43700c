//! Assembles blocks from pieces of any size.

use std::sync::Arc;
use std::time::Duration;

use weir_core::{Block, BlockCutter, BlockLimits, JoinerWait, RecordJoiner};

use crate::clock::Clock;

/// The number of bytes of a source up to which a block is submitted as soon as the parsers are
/// idle. After that, only full blocks and those before a pause are submitted. Parsers that are
/// faster than the source are idle whenever bytes arrive: a fast source would otherwise be cut into
/// blocks of a few reads, each of which wakes a parser and becomes a segment for every view to
/// process.
const EARLY_BYTES_MAX: u64 = BlockLimits::BLOCK_BYTES as u64;

/// The longest wait for a block to fill. A source that delivers a line every few milliseconds never
/// pauses, so a block could take minutes.
const BLOCK_PATIENCE: Duration = Duration::from_millis(100);

/// How long the lines of a record whose end does not come are kept back, in a source that pauses. A
/// server writes a record in one go, so this is only for what others have cut off.
const RECORD_PATIENCE: Duration = Duration::from_secs(1);

/// Assembles the bytes of one source into blocks, and decides when a partly filled block may be
/// submitted.
#[derive(Debug)]
pub(super) struct BlockAssembler {
    /// Takes the bytes. Its blocks are cut by this assembler only.
    pub(super) cutter: BlockCutter,
    /// Joins records of several lines before they are cut off.
    joiner: RecordJoiner,
    /// Since when lines are kept back, and up to which offset bytes had come by then.
    kept_back: Option<(Duration, u64)>,
    clock: Arc<dyn Clock>,
    /// The end of the last block that was cut.
    end: u64,
    /// When cutting a block was last attempted.
    cut_at: Duration,
}

impl BlockAssembler {
    /// An assembler of a source that goes on at `start`. `joins` states that its format may have records
    /// of several lines.
    pub(super) fn new(limits: BlockLimits, clock: Arc<dyn Clock>, start: u64, joins: bool) -> Self {
        let cut_at = clock.elapsed();
        let cutter = BlockCutter::new(limits).starting_at(start);
        let joiner = match joins {
            true => RecordJoiner::new(limits.block_bytes),
            false => RecordJoiner::passing(),
        };
        Self { cutter, joiner, kept_back: None, clock, end: start, cut_at }
    }

    /// The end of the last block that was cut, skipped bytes included.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Whether a partly filled block may be submitted to idle parsers.
    pub(super) fn may_flush_early(&self) -> bool {
        self.end < EARLY_BYTES_MAX
            || self.clock.elapsed().saturating_sub(self.cut_at) >= BLOCK_PATIENCE
    }

    /// Whether a block can depend on the bytes before it, because lines may be joined.
    pub(super) fn may_join(&self) -> bool {
        self.joiner.may_join()
    }

    /// Cuts a block of all whole lines, but for a record at their end whose lines have not all come.
    /// `spare` is a buffer to continue in. `is_full` states that the source does not pause.
    pub(super) fn cut(&mut self, spare: Option<Vec<u8>>, is_full: bool) -> Option<Block> {
        self.cut_at = self.clock.elapsed();
        if let Some(buffer) = spare {
            self.cutter.recycle(buffer);
        }
        let wait = self.joiner_wait(is_full);
        let mut is_kept_back = false;
        let block = self.cutter.cut_some(|bytes, lines_end| {
            let chosen = self.joiner.join(bytes, lines_end, wait);
            is_kept_back = chosen < lines_end;
            chosen
        });
        self.note_kept_back(is_kept_back);
        self.with_skipped(block)
    }

    /// What the lines that are cut next are waiting for.
    fn joiner_wait(&self, is_full: bool) -> JoinerWait {
        let offset = self.cutter.offset();
        let is_over = |(since, end): (Duration, u64)| {
            end == offset && self.cut_at.saturating_sub(since) >= RECORD_PATIENCE
        };
        match self.kept_back.is_some_and(is_over) {
            true => JoinerWait::Nothing,
            false if is_full => JoinerWait::Bytes,
            false => JoinerWait::Pause,
        }
    }

    fn note_kept_back(&mut self, is_kept_back: bool) {
        let offset = self.cutter.offset();
        let before = self.kept_back.filter(|(_, end)| *end == offset);
        self.kept_back = is_kept_back.then(|| before.unwrap_or((self.cut_at, offset)));
    }

    /// Cuts a block of this many bytes, which are read later.
    pub(super) fn cut_unread(&mut self, length: usize, buffer: Option<Vec<u8>>) -> Block {
        self.cut_at = self.clock.elapsed();
        let block = self.cutter.take_unread(length, buffer);
        self.end = block.offset_end;
        block
    }

    /// Cuts the last block, which includes a last line without a line feed.
    pub(super) fn finish(&mut self) -> Option<Block> {
        let pending = self.cutter.pending_mut();
        let length = pending.len();
        self.joiner.join(pending, length, JoinerWait::Nothing);
        let block = self.cutter.finish();
        self.with_skipped(block)
    }

    /// Returns the block, or an empty one that stands for skipped bytes. So progress also covers
    /// the middle of a line over the limit and a run of NULs.
    fn with_skipped(&mut self, block: Option<Block>) -> Option<Block> {
        let block = block.or_else(|| {
            let consumed = self.cutter.offset() - self.cutter.pending_bytes() as u64;
            let mut empty = Block::new(Vec::new());
            (empty.offset, empty.offset_end) = (consumed, consumed);
            (consumed > self.end).then_some(empty)
        });
        if let Some(block) = &block {
            self.end = block.offset_end;
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use weir_core::BlockLimits;

    use super::{BLOCK_PATIENCE, BlockAssembler, EARLY_BYTES_MAX};
    use crate::clock::{Clock, ManualClock};

    #[test]
    fn flushes_early_at_the_start_and_after_a_pause() {
        let clock = Arc::new(ManualClock::default());
        let mut assembler = BlockAssembler::new(BlockLimits::default(), clock.clone(), 0, true);
        assert!(assembler.may_flush_early());
        let line = [b'a'; 1_000];
        while assembler.end() < EARLY_BYTES_MAX {
            assert!(assembler.may_flush_early());
            while !assembler.cutter.is_full() {
                assembler.cutter.push(&line);
                assembler.cutter.push(b"\n");
            }
            assembler.cut(None, false);
        }
        assert!(!assembler.may_flush_early());
        clock.sleep(BLOCK_PATIENCE - Duration::from_millis(1));
        assert!(!assembler.may_flush_early());
        clock.sleep(Duration::from_millis(1));
        assert!(assembler.may_flush_early());
        assembler.cut(None, false);
        assert!(!assembler.may_flush_early(), "an attempt counts");
    }

    #[test]
    fn skipped_bytes_have_an_empty_block() {
        let clock = Arc::new(ManualClock::default());
        let mut assembler = BlockAssembler::new(BlockLimits::default(), clock, 0, true);
        let mut written = 0;
        let block = loop {
            written += assembler.cutter.push(&[0; 4_096]) as u64;
            if let Some(block) = assembler.cut(None, false) {
                break block;
            }
            assert!(written < 64 << 20, "a run of NULs is skipped");
        };
        assert!(block.bytes().is_empty());
        assert_eq!((block.offset_end, assembler.end()), (written, written));
        assert!(assembler.cut(None, false).is_none());
    }
}
