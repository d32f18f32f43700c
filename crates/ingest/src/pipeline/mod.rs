//! The pipeline: a queue that is bounded in bytes, one parser per core, and ordered appends.

mod block_parser;
mod columns;
mod data_set;
mod fold_parts;
mod product;
mod read_totals;
mod records;
mod reorder;
mod request_tally;
mod request_totals;
mod retention;
mod stage_times;
mod stored;
mod subscribers;
mod total_memory;
mod worker;

pub use data_set::DataSet;
pub use read_totals::ReadTotals;
pub use records::{
    BlockStart, FormatMap, FoundRecord, LineSink, LogLine, LogLines, Records, VisitedBlock,
};
pub use request_totals::{RequestGroup, RequestTotals, RequestsBy, RequestsByError};
pub use retention::{MachineClock, Retention, WindowReach};
pub use stage_times::StageTimes;
pub use subscribers::OrderedSegments;
pub use total_memory::TotalMemory;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use weir_core::{BlockLimits, Fold, Format, FormatChoice, RecordLayout};

use crate::clock::SystemClock;
use crate::progress::SourceProgress;
use crate::queue::{BlockQueue, LateCompanions};
use crate::restored_place::RestoredPlace;
use crate::writer::{Destination, Intake, RecordWriter, SourceOptions, SourceWriter, Submitter};
use columns::Columns;
use fold_parts::FoldParts;
use stage_times::StageClock;
use worker::Worker;

/// Options of a pipeline: threads, memory and retention.
#[derive(Debug, Clone)]
pub struct PipelineOptions {
    /// Parser threads; at least one.
    pub jobs: usize,
    /// The most bytes of blocks that wait or are being parsed. One block is always admitted.
    pub queue_bytes_max: usize,
    /// Memory for the data set, in bytes: distinct values and, if kept, segments.
    pub memory_bytes_max: usize,
    /// Sizes of blocks and lines.
    pub limits: BlockLimits,
    /// Which segments are kept.
    pub retention: Retention,
}

impl PipelineOptions {
    /// Blocks for each parser: one at work, one waiting, one being received.
    const BLOCKS_PER_JOB: usize = 3;

    /// The defaults for a machine with n cores.
    pub fn new(jobs: usize, retention: Retention) -> Self {
        let jobs = jobs.max(1);
        let limits = BlockLimits::default();
        Self {
            jobs,
            queue_bytes_max: Self::queue_bytes_max(jobs, limits),
            memory_bytes_max: 4 << 30,
            limits,
            retention,
        }
    }

    fn queue_bytes_max(jobs: usize, limits: BlockLimits) -> usize {
        jobs * Self::BLOCKS_PER_JOB * (limits.block_bytes + limits.line_bytes_max)
    }
}

/// Threads that parse the blocks of its sources, and the data set that they fill.
///
/// A pipeline can run a [`Fold`] over the segments while they are read, such as a
/// [`weir_core::Evaluation`]: see [`Self::start_with`].
///
/// Dropping the pipeline ends its threads at once. The data set lives as long as it is shared.
#[derive(Debug)]
pub struct Pipeline {
    queue: Arc<BlockQueue>,
    data: Arc<DataSet>,
    limits: BlockLimits,
    workers: Vec<JoinHandle<()>>,
    clock: Arc<StageClock>,
}

impl Pipeline {
    /// Starts the threads.
    pub fn start(options: &PipelineOptions, data: Arc<DataSet>) -> Self {
        Self::spawn(options, data, |start| start.run::<()>(None))
    }

    /// Starts the threads, which add each segment to one of several copies of `fold`, which has seen
    /// no segment. The data set must have the columns that the fold names, see [`DataSet::new`].
    ///
    /// The result is complete after [`Self::finish`].
    pub fn start_with<F: Fold + Clone + Send + Sync + 'static>(
        options: &PipelineOptions,
        data: Arc<DataSet>,
        fold: F,
    ) -> (Self, PipelineFold<F>) {
        let parts = Arc::new(FoldParts::new(fold));
        let ended = Arc::<AtomicUsize>::default();
        let (shared, counted) = (parts.clone(), ended.clone());
        let pipeline = Self::spawn(options, data, move |start| {
            start.run(Some(&*shared));
            counted.fetch_add(1, Ordering::Release);
        });
        let workers = pipeline.workers.len();
        (pipeline, PipelineFold { parts, ended, workers })
    }

    fn spawn(
        options: &PipelineOptions,
        data: Arc<DataSet>,
        run: impl Fn(WorkerStart) + Send + Sync + 'static,
    ) -> Self {
        let queue = Arc::new(BlockQueue::new(options.queue_bytes_max, options.jobs.max(1)));
        let run = Arc::new(run);
        let clock = Arc::<StageClock>::default();
        let workers: Vec<_> = (0..options.jobs.max(1))
            .map(|index| {
                let (queue, data, clock) = (queue.clone(), data.clone(), clock.clone());
                let start = WorkerStart { queue, data, clock, limits: options.limits };
                let run = run.clone();
                std::thread::Builder::new()
                    .name(format!("weir-parse-{index}"))
                    .spawn(move || run(start))
            })
            .filter_map(Result::ok)
            .collect();
        if workers.is_empty() {
            // Without a parser, sources would wait forever.
            queue.abort();
        }
        Self { queue, data, limits: options.limits, workers, clock }
    }

    /// Waits until all submitted blocks are parsed, and ends the threads.
    pub fn finish(mut self) {
        self.queue.close_when_idle();
        for worker in self.workers.drain(..) {
            // A thread that panicked has failed its sources, see `Worker`.
            let _ = worker.join();
        }
    }

    /// Returns the memory of the blocks that wait or are being parsed, and its limit, in bytes.
    pub fn queue_bytes(&self) -> (usize, usize) {
        self.queue.bytes()
    }

    /// Returns how the threads have spent their time so far. Work counts when its block is done, a
    /// wait from its beginning.
    pub fn stage_times(&self) -> StageTimes {
        self.clock.times()
    }

    /// Returns the number of parser threads.
    pub fn threads(&self) -> usize {
        self.workers.len()
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
        Intake::open(self, options)
    }

    /// Opens a source of packed records with this name.
    pub fn open_records(&self, name: &str, layout: &RecordLayout) -> RecordWriter {
        let progress = Arc::new(SourceProgress::new(name, None));
        let index = self.data.add_source(&progress);
        let late = Arc::new(LateCompanions::new(None, Arc::new(SystemClock::default())));
        let (queue, data) = (self.queue.clone(), self.data.clone());
        RecordWriter::new(layout, Submitter::new(queue, data, (progress, index), late))
    }

    /// Stops everything at once, even if the pipeline is shared: its sources must stop, and blocks
    /// that wait to be parsed are dropped.
    pub fn cancel(&self) {
        self.queue.abort();
        self.data.cancel_sources();
    }
}

impl Intake for Pipeline {
    fn open(&self, mut options: SourceOptions) -> SourceWriter {
        let (queue, data) = (self.queue.clone(), self.data.clone());
        let restored = options.is_kept.then(|| data.take_restored(&options.name)).flatten();
        if let Some(progress) = restored {
            options.format = progress.format_after(options.format);
            let index = progress.number();
            return SourceWriter::new(options, (progress, index), queue, data, self.limits);
        }
        let progress = Arc::new(SourceProgress::new(&options.name, options.bytes_total));
        if self.data.keeps_sums() {
            progress.keep_sums();
        }
        if options.is_kept {
            progress.set_kept(true);
        }
        let index = self.data.add_source(&progress);
        SourceWriter::new(options, (progress, index), queue, data, self.limits)
    }

    fn reserve(&self, bytes: usize) {
        self.data.reserve(bytes);
    }

    fn is_ended(&self) -> bool {
        self.queue.is_aborted()
    }

    fn is_watched(&self) -> bool {
        true
    }

    fn restored_places(&self) -> Vec<RestoredPlace> {
        self.data.restored_places()
    }

    fn format_after(&self, source: &str, choice: FormatChoice) -> FormatChoice {
        self.data.format_after(source, choice)
    }
}

impl Destination for DataSet {
    fn format_index(&self, format: &Arc<Format>) -> usize {
        self.add_format(format)
    }

    fn is_full(&self) -> bool {
        Self::is_full(self) || !self.has_room_in_total()
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

/// What a worker thread needs to start.
struct WorkerStart {
    queue: Arc<BlockQueue>,
    data: Arc<DataSet>,
    clock: Arc<StageClock>,
    limits: BlockLimits,
}

impl WorkerStart {
    /// Works until the queue ends, and adds the segments of this worker to the fold.
    fn run<F: Fold + Clone>(self, fold: Option<&FoldParts<F>>) {
        let columns = Columns::new(&self.data, self.limits, fold);
        Worker::new(&self.queue, &self.clock, columns).run();
    }
}

/// A fold over the segments that a pipeline reads, in parts.
#[derive(Debug)]
pub struct PipelineFold<F> {
    parts: Arc<FoldParts<F>>,
    /// The number of threads that have finished.
    ended: Arc<AtomicUsize>,
    workers: usize,
}

impl<F: Fold + Clone> PipelineFold<F> {
    /// Returns the fold over all segments, after [`Pipeline::finish`]. `None` if a thread failed,
    /// is still working, or could not be started: the fold of the others would be incomplete.
    pub fn merged(self) -> Option<F> {
        let ended = self.ended.load(Ordering::Acquire);
        if ended == 0 || ended != self.workers { None } else { self.parts.merged() }
    }
}
