//! One parser thread.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use weir_core::{Block, BlockLimits, BlockReader, Fold};
use weir_observe::mark;

use super::block_parser::{BlockParser, PartRead, RemainingWork};
use super::data_set::DataSet;
use super::reorder::ParsedBlock;
use super::stage_times::{Stage, StageClock};
use crate::error::SourceError;
use crate::progress::{BlockCounts, SourceEnd, SourceProgress};
use crate::queue::{BlockQueue, PullSource, Task, Ticket};

/// Parses blocks as they arrive and appends them in order. While it waits to append one, it parses
/// more.
#[derive(Debug)]
pub(super) struct Worker {
    queue: Arc<BlockQueue>,
    data: Arc<DataSet>,
    parser: BlockParser,
    /// Parsed blocks that wait to be appended, oldest first.
    parsed: VecDeque<PendingBlock>,
    /// The buffer that it pulls blocks into.
    buffer: Option<Vec<u8>>,
    clock: Arc<StageClock>,
}

/// The most blocks that a worker parses before it may append them. The queue's bound does not
/// include parsed blocks, so they need their own. A few even out differences in parse time.
const PARSED_MAX: usize = 4;

#[derive(Debug)]
struct PendingBlock {
    ticket: u64,
    source: Arc<SourceProgress>,
    offset_end: u64,
    is_live: bool,
    /// A part for each format of its lines, and the remaining work; `None` if the source was
    /// cancelled before its block was parsed.
    parts: Option<(Vec<PartRead>, RemainingWork)>,
}

impl Worker {
    pub(super) fn new(
        queue: &Arc<BlockQueue>,
        data: &Arc<DataSet>,
        limits: BlockLimits,
        clock: &Arc<StageClock>,
    ) -> Self {
        Self {
            queue: queue.clone(),
            data: data.clone(),
            parser: BlockParser::new(data, limits),
            parsed: VecDeque::new(),
            buffer: None,
            clock: clock.clone(),
        }
    }

    /// Works until the queue ends, and adds the segments that it produced to the fold.
    pub(super) fn run<F: Fold>(mut self, mut fold: Option<&mut F>) {
        let mut now = Instant::now();
        loop {
            if self.parsed.is_empty() {
                self.clock.begin_wait(Stage::WaitToAppend, now);
                self.data.wait_for_room();
                now = self.clock.add(Stage::WaitToAppend, now);
            }
            let oldest = self.parsed.front().map(|parsed| parsed.ticket);
            let waited = if oldest.is_none() { Stage::WaitForBlocks } else { Stage::WaitToAppend };
            self.clock.begin_wait(waited, now);
            let task = self.queue.next_task(oldest, self.must_append());
            now = self.clock.add(waited, now);
            now = match task {
                Task::Parse(ticket) => {
                    if let Some(block) = self.parse(ticket) {
                        self.queue.release(block.memory_bytes(), Some(block.into_buffer()));
                    }
                    self.clock.add(Stage::Parse, now)
                }
                Task::Pull(source) => self.pull(source, now),
                Task::TakeTurn => {
                    self.take_turn(fold.as_deref_mut());
                    self.clock.add(Stage::Append, now)
                }
                Task::End => return,
            };
        }
    }

    /// Whether the worker must append a block before it parses another. A large reader can shrink
    /// only while none of its blocks wait, and otherwise that might never happen.
    fn must_append(&self) -> bool {
        let is_large = || self.parser.readers().any(BlockReader::is_large);
        self.parsed.len() >= PARSED_MAX
            || (!self.parsed.is_empty() && (is_large() || self.data.must_pause()))
    }

    /// Pulls a block from a source and parses it, always in the same buffer. The work began at
    /// `begun`. Returns when it ended.
    fn pull(&mut self, mut source: Box<dyn PullSource>, begun: Instant) -> Instant {
        let jobs = {
            let _call = mark!("PullSource::pull").enter();
            source.pull(self.buffer.take())
        };
        let read = self.clock.add(Stage::Read, begun);
        let ticket = self.queue.complete_pull(source, jobs);
        if let Some(block) = ticket.and_then(|ticket| self.parse(ticket)) {
            self.queue.release(block.memory_bytes(), None);
            self.buffer = Some(block.into_buffer());
        }
        self.clock.add(Stage::Parse, read)
    }

    /// Parses a block. Returns it, unless it is kept until its turn.
    fn parse(&mut self, Ticket { number, job }: Ticket) -> Option<Block> {
        let _call = mark!("Worker::parse").enter();
        let (source, offset_end) = (job.source.clone(), job.block.offset_end);
        let is_live = job.is_live;
        let (parts, block) = match source.is_cancelled() {
            true => (None, Some(job.block)),
            false => {
                let (parts, remaining, block) = self.parser.parse(job);
                (Some((parts, remaining)), block)
            }
        };
        self.parsed.push_back(PendingBlock { ticket: number, source, offset_end, is_live, parts });
        block
    }

    /// Resolves the oldest parsed block while it is this worker's turn, then packs and appends it.
    fn take_turn<F: Fold>(&mut self, fold: Option<&mut F>) {
        let _call = mark!("Worker::take_turn").enter();
        let Some(parsed) = self.parsed.pop_front() else { return };
        let PendingBlock { ticket, source, offset_end, is_live, parts } = parsed;
        let Some((mut parts, remaining)) = parts else {
            self.queue.end_turn();
            let counts = BlockCounts::default();
            let block = ParsedBlock { source, offset_end, counts, is_live, segments: None };
            self.append(ticket, block);
            return;
        };
        if let Some(block) = self.parser.finish(remaining, &mut parts) {
            self.queue.release(block.memory_bytes(), Some(block.into_buffer()));
        }
        let counts = BlockParser::counts(&mut parts);
        let resolved = self.parser.resolve(parts);
        self.data.note_resolved();
        self.queue.end_turn();

        let segments = self.parser.seal(resolved);
        if let Some(fold) = fold {
            fold.refresh(&self.data.values());
            segments.iter().for_each(|pending| fold.update(pending.segment()));
        }
        let segments = Some(segments);
        self.append(ticket, ParsedBlock { source, offset_end, counts, is_live, segments });
    }

    fn append(&self, ticket: u64, block: ParsedBlock) {
        self.queue.note_appended(self.data.append(ticket, block));
    }
}

impl Drop for Worker {
    /// Stops everything after a panic. Otherwise the other workers would wait for this one's turn,
    /// and its sources for blocks that are never parsed.
    fn drop(&mut self) {
        if std::thread::panicking() {
            for source in self.data.sources() {
                source.set_end(SourceEnd::Failed(SourceError::ParserFailed));
            }
            self.queue.abort();
            self.data.cancel_sources();
        }
    }
}
