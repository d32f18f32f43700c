//! One parser thread.

use std::collections::VecDeque;
use std::sync::Arc;

use weir_core::{Block, BlockLimits, BlockReader, Fold, ReadBlock};

use super::data_set::DataSet;
use super::reorder::ParsedBlock;
use crate::error::SourceError;
use crate::progress::{BlockCounts, SourceEnd, SourceProgress};
use crate::queue::{BlockQueue, Job, PullSource, Task, Ticket};

/// Parses blocks as they come and appends them in their turn. Between the two, while
/// another's turn is awaited, it goes on parsing.
#[derive(Debug)]
pub(super) struct Worker {
    queue: Arc<BlockQueue>,
    data: Arc<DataSet>,
    limits: BlockLimits,
    /// By index of the format.
    readers: Vec<Option<BlockReader>>,
    /// Parsed blocks that wait for their turn, oldest first.
    parsed: VecDeque<Parsed>,
    /// The buffer that it pulls blocks into.
    buffer: Option<Vec<u8>>,
}

/// Blocks that a worker parses ahead of its turn. Parsed blocks are outside the queue's
/// bound, so there is one of their own; a few even out what blocks take.
const PARSED_MAX: usize = 4;

#[derive(Debug)]
struct Parsed {
    ticket: u64,
    source: Arc<SourceProgress>,
    format_index: usize,
    offset_end: u64,
    is_live: bool,
    /// `None` where the source was cancelled before.
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

    /// Works until the queue ends, and adds the segments that it sealed to the fold.
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

    /// True where it has parsed enough ahead of its turn. A reader that has grown large
    /// forgets only when nothing it has read waits, which may otherwise never happen.
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
            // Beside the others, so that little is left for its turn.
            reader.look_up(&read, &data.values());
            read
        });
        self.parsed.push_back(Parsed {
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
        // Logs of one format may be years apart.
        reader.set_year_reference(job.format.year_reference());
        reader
    }

    /// Resolves the oldest parsed block while it is its turn; packs and appends it after.
    fn take_turn<F: Fold>(&mut self, fold: Option<&mut F>) {
        let Some(parsed) = self.parsed.pop_front() else { return };
        let reader = self.readers.get_mut(parsed.format_index).and_then(Option::as_mut);
        let (Some(mut read), Some(reader)) = (parsed.read, reader) else {
            self.queue.end_turn();
            let Parsed { ticket, source, offset_end, is_live, .. } = parsed;
            let counts = BlockCounts::default();
            self.data
                .append(ticket, ParsedBlock { source, offset_end, counts, is_live, segment: None });
            return;
        };
        let counts = BlockCounts {
            lines: read.lines,
            records: read.records,
            unmatched: read.unmatched,
            too_long: read.too_long,
            samples: std::mem::take(&mut read.samples),
        };
        let resolved = reader.resolve(read, || self.data.values_mut());
        self.queue.end_turn();

        let segment = reader.seal(resolved);
        if let Some(fold) = fold {
            fold.learn(&self.data.values());
            fold.update(segment.segment());
        }
        let Parsed { ticket, source, offset_end, is_live, .. } = parsed;
        self.data.append(
            ticket,
            ParsedBlock { source, offset_end, counts, is_live, segment: Some(segment) },
        );
    }
}

impl Drop for Worker {
    /// A parser that panics would leave all others waiting for its turn, and its sources
    /// for what it was to parse.
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
