//! The pipeline: a queue bounded in bytes, one parser a core, ordered append.

mod data_set;
mod reorder;
mod retention;
mod subscribers;
mod worker;

pub use data_set::DataSet;
pub use retention::{Keep, MachineClock};
pub use subscribers::OrderedSegments;

use std::sync::Arc;
use std::thread::JoinHandle;

use weir_core::{BlockLimits, Evaluation, Format, FormatChoice, Question};

use crate::progress::SourceProgress;
use crate::queue::BlockQueue;
use crate::writer::{Destination, SourceOptions, SourceWriter};
use worker::Worker;

/// How a pipeline works and what it may take.
#[derive(Debug, Clone)]
pub struct PipelineOptions {
    /// Parser threads; at least one.
    pub jobs: usize,
    /// Bytes of blocks that wait or are being parsed, at the most (one block is always let
    /// in).
    pub queue_bytes_max: usize,
    /// Memory for the data set, in bytes: distinct values and, where kept, segments.
    pub memory_bytes_max: usize,
    /// Sizes of blocks and lines.
    pub limits: BlockLimits,
    /// What becomes of the segments.
    pub keep: Keep,
}

impl PipelineOptions {
    /// Blocks for each parser: one at work, one waiting, one being received.
    const BLOCKS_PER_JOB: usize = 3;

    /// The defaults for a machine with so many cores.
    pub fn new(jobs: usize, keep: Keep) -> Self {
        let jobs = jobs.max(1);
        let limits = BlockLimits::default();
        let block_memory = limits.block_bytes + limits.line_bytes_max;
        Self {
            jobs,
            queue_bytes_max: jobs * Self::BLOCKS_PER_JOB * block_memory,
            memory_bytes_max: 4 << 30,
            limits,
            keep,
        }
    }
}

/// Threads that parse what its sources bring, and the data set they fill.
///
/// Dropping the pipeline ends its threads at once; the data set lives as long as somebody
/// holds it.
#[derive(Debug)]
pub struct Pipeline {
    queue: Arc<BlockQueue>,
    data: Arc<DataSet>,
    limits: BlockLimits,
    workers: Vec<JoinHandle<Option<Evaluation>>>,
}

impl Pipeline {
    /// Starts the threads. Where `question` is given, each folds what it parses into an
    /// answer, which [`Self::finish`] gives; the data set has to know the question's
    /// columns, see [`DataSet::new`].
    pub fn start(
        options: &PipelineOptions,
        data: Arc<DataSet>,
        question: Option<&Question>,
    ) -> Self {
        let queue = Arc::new(BlockQueue::new(options.queue_bytes_max));
        let workers: Vec<_> = (0..options.jobs.max(1))
            .map(|index| {
                let evaluation = question.map(Evaluation::new);
                let worker = Worker::new(&queue, &data, options.limits, evaluation);
                std::thread::Builder::new()
                    .name(format!("weir-parse-{index}"))
                    .spawn(move || worker.run())
            })
            .filter_map(Result::ok)
            .collect();
        if workers.is_empty() {
            // Sources would wait for ever for somebody to parse what they bring.
            queue.abort();
        }
        Self { queue, data, limits: options.limits, workers }
    }

    /// The data set.
    pub fn data(&self) -> &Arc<DataSet> {
        &self.data
    }

    /// Opens a source of `bytes_total` bytes, if that is known; see [`Self::open`].
    pub fn source(
        &self,
        name: &str,
        bytes_total: Option<u64>,
        format: FormatChoice,
    ) -> SourceWriter {
        self.open(SourceOptions::new(name, format).bytes_total(bytes_total))
    }

    /// Opens a source. Sources are independent of one another and may be written to at the same
    /// time.
    pub fn open(&self, options: SourceOptions) -> SourceWriter {
        let progress = Arc::new(SourceProgress::new(&options.name, options.bytes_total));
        let index = self.data.add_source(&progress);
        let (queue, data) = (self.queue.clone(), self.data.clone());
        SourceWriter::new(options, (progress, index), queue, data, self.limits)
    }

    /// Ends everything now, whoever else still holds the pipeline: its sources have to stop,
    /// and what waits to be parsed is dropped.
    pub fn cancel(&self) {
        self.queue.abort();
        self.data.cancel_sources();
    }

    /// Waits until all that was handed on is parsed, ends the threads, and gives the answer
    /// to the question the pipeline was started with. `None` where there was no question, and
    /// where a thread failed: the answer of the others would be wrong.
    pub fn finish(mut self) -> Option<Evaluation> {
        self.queue.close_when_idle();
        let mut answer: Option<Evaluation> = None;
        for worker in self.workers.drain(..) {
            match (&mut answer, worker.join().ok()?) {
                (Some(answer), Some(part)) => answer.merge(&part),
                (None, part) => answer = part,
                (Some(_), None) => {}
            }
        }
        answer
    }
}

impl Destination for DataSet {
    fn format_index(&self, format: &Arc<Format>) -> usize {
        self.add_format(format)
    }

    fn is_full(&self) -> bool {
        Self::is_full(self)
    }

    fn notify(&self) {
        self.touch();
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        // After `finish` nothing is left to be cancelled.
        if !self.workers.is_empty() {
            self.cancel();
        }
        self.data.finish_subscribers();
    }
}
