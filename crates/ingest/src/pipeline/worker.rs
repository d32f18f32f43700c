//! One parser thread.

use std::collections::VecDeque;
use std::sync::Arc;

use weir_core::{Block, BlockLimits, BlockReader, Fold, ReadBlock};

use super::data_set::DataSet;
use super::reorder::ParsedBlock;
use crate::error::SourceError;
use crate::progress::{BlockCounts, SourceEnd, SourceProgress};
use crate::queue::{BlockQueue, Job, PullSource, Task, Ticket};

/// Parses blocks as they arrive and appends them in order. While it waits to append one, it parses
/// more.
#[derive(Debug)]
pub(super) struct Worker {
    queue: Arc<BlockQueue>,
    data: Arc<DataSet>,
    limits: BlockLimits,
    /// By index of the format.
    readers: Vec<Option<BlockReader>>,
    /// Parsed blocks that wait to be appended, oldest first.
    parsed: VecDeque<PendingBlock>,
    /// The buffer that it pulls blocks into.
    buffer: Option<Vec<u8>>,
}

/// The most blocks that a worker parses before it may append them. The queue's bound does not
/// include parsed blocks, so they need their own. A few even out differences in parse time.
const PARSED_MAX: usize = 4;

#[derive(Debug)]
struct PendingBlock {
    ticket: u64,
    source: Arc<SourceProgress>,
    format_index: usize,
    offset_end: u64,
    is_live: bool,
    /// `None` if the source was cancelled before its block was parsed.
    read: Option<ReadBlock>,
}

impl Worker {
    pub(super) fn new(queue: &Arc<BlockQueue>, data: &Arc<DataSet>, limits: BlockLimits) -> Self {
        Self {
            queue: queue.clone(),
            data: data.clone(),
            limits,
            readers: Vec::new(),
            parsed: VecDeque::new(),
            buffer: None,
        }
    }

    /// Works until the queue ends, and adds the segments that it produced to the fold.
    pub(super) fn run<F: Fold>(mut self, mut fold: Option<&mut F>) {
        loop {
            if self.parsed.is_empty() {
                self.data.wait_for_room();
            }
            let oldest = self.parsed.front().map(|parsed| parsed.ticket);
            match self.queue.next_task(oldest, self.must_append()) {
                Task::Parse(ticket) => {
                    let block = self.parse(ticket);
                    self.queue.release(block.memory_bytes(), Some(block.into_buffer()));
                }
                Task::Pull(source) => self.pull(source),
                Task::TakeTurn => self.take_turn(fold.as_deref_mut()),
                Task::End => return,
            }
        }
    }

    /// Whether the worker must append a block before it parses another. A large reader can only
    /// shrink when none of its blocks wait, which might otherwise never happen.
    fn must_append(&self) -> bool {
        let is_large = || self.readers.iter().flatten().any(BlockReader::is_large);
        self.parsed.len() >= PARSED_MAX
            || (!self.parsed.is_empty() && (is_large() || self.data.is_pressed()))
    }

    /// Pulls a block from a source and parses it, always in the same buffer.
    fn pull(&mut self, mut source: Box<dyn PullSource>) {
        let jobs = source.pull(self.buffer.take());
        if let Some(ticket) = self.queue.complete_pull(source, jobs) {
            let block = self.parse(ticket);
            self.queue.release(block.memory_bytes(), None);
            self.buffer = Some(block.into_buffer());
        }
    }

    fn parse(&mut self, Ticket { number, job }: Ticket) -> Block {
        let read = (!job.source.is_cancelled()).then(|| {
            let source_index = job.source_index;
            let data = Arc::clone(&self.data);
            let reader = self.reader(&job);
            let read = reader.read(&job.block, source_index);
            // Done outside the ordered part, so that little remains to be done there.
            reader.look_up(&read, &data.values());
            read
        });
        self.parsed.push_back(PendingBlock {
            ticket: number,
            source: job.source,
            format_index: job.format_index,
            offset_end: job.block.offset_end,
            is_live: job.is_live,
            read,
        });
        job.block
    }

    fn reader(&mut self, job: &Job) -> &mut BlockReader {
        if self.readers.len() <= job.format_index {
            self.readers.resize_with(job.format_index + 1, || None);
        }
        let reader = self.readers[job.format_index].get_or_insert_with(|| {
            BlockReader::new(job.format.clone(), self.limits, &mut self.data.values_mut())
        });
        // Two logs of one format may be years apart.
        reader.set_year_reference(job.format.year_reference());
        reader
    }

    /// Resolves the oldest parsed block while it is this worker's turn, then packs and appends it.
    fn take_turn<F: Fold>(&mut self, fold: Option<&mut F>) {
        let Some(parsed) = self.parsed.pop_front() else { return };
        let reader = self.readers.get_mut(parsed.format_index).and_then(Option::as_mut);
        let (Some(mut read), Some(reader)) = (parsed.read, reader) else {
            self.queue.end_turn();
            let PendingBlock { ticket, source, offset_end, is_live, .. } = parsed;
            let counts = BlockCounts::default();
            self.data
                .append(ticket, ParsedBlock { source, offset_end, counts, is_live, segment: None });
            return;
        };
        let counts = BlockCounts {
            lines: read.lines,
            records: read.records,
            unparsed_lines: read.unparsed_lines,
            too_long_lines: read.too_long_lines,
            samples: std::mem::take(&mut read.samples),
        };
        let resolved = reader.resolve(read, || self.data.values_mut());
        self.queue.end_turn();

        let segment = reader.seal(resolved);
        if let Some(fold) = fold {
            fold.refresh(&self.data.values());
            fold.update(segment.segment());
        }
        let PendingBlock { ticket, source, offset_end, is_live, .. } = parsed;
        self.data.append(
            ticket,
            ParsedBlock { source, offset_end, counts, is_live, segment: Some(segment) },
        );
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
