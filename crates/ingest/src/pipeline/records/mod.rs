//! Records: each line of some sources is read once, and nothing is kept.
//!
//! A data set keeps columns, for questions that come later. [`Records`] is for one question that is
//! known in advance: which lines match, how often a value occurs, what a rule would have done. The
//! sources are those of a [`Pipeline`](crate::Pipeline), and so are the blocks, the detection of the
//! format, and the formats that come late. A [`LineSink`] makes something of each block, on all
//! cores, and the results are consumed in the order of the blocks.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use weir_ingest::{
//!     FormatChoice, FoundRecord, Intake, LineSink, LogLine, Records, SourceEnd, SourceOptions,
//! };
//!
//! /// Counts the records of each block.
//! struct Count;
//!
//! impl LineSink for Count {
//!     type Output = u64;
//!
//!     fn output(&mut self) -> u64 {
//!         0
//!     }
//!
//!     fn take(&mut self, _: &LogLine<'_>, found: Option<FoundRecord<'_>>, count: &mut u64) {
//!         *count += u64::from(found.is_some());
//!     }
//! }
//!
//! let records = Records::new(2);
//! let mut count = 0;
//! records.run(
//!     || Count,
//!     |block| {
//!         count += block.output;
//!         ControlFlow::Continue(())
//!     },
//!     || {
//!         let mut log = records.open(SourceOptions::new("access.log", FormatChoice::Detect));
//!         log.write_all(b"192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 404 17\n")?;
//!         log.finish(SourceEnd::Done)
//!     },
//! )?;
//! assert_eq!(count, 1);
//! # Ok::<(), weir_ingest::StopReason>(())
//! ```

mod format_map;
mod line_product;
mod raw_lines;
mod sink;

pub use format_map::FormatMap;
pub use sink::{BlockStart, FoundRecord, LineSink, LogLine, LogLines, VisitedBlock};

use std::ops::ControlFlow;
use std::sync::Arc;

use weir_core::{BlockLimits, Format};
use weir_sync::Lock;

use self::line_product::LineProduct;
use super::PipelineOptions;
use super::stage_times::StageClock;
use super::worker::Worker;
use crate::progress::SourceProgress;
use crate::queue::BlockQueue;
use crate::writer::{Destination, Intake, SourceOptions, SourceWriter};

/// Reads the lines of its sources once, and keeps nothing.
///
/// Sources may be opened from any thread or task while [`Self::run`] runs. Memory is that of the
/// blocks in flight, as in a [`Pipeline`](crate::Pipeline), and of the outputs that wait for their
/// turn: four for each thread at most.
#[derive(Debug)]
pub struct Records {
    queue: Arc<BlockQueue>,
    sources: Arc<RecordSources>,
    limits: BlockLimits,
    jobs: usize,
}

/// The sources of a [`Records`].
#[derive(Debug, Default)]
struct RecordSources {
    opened: Lock<Vec<Arc<SourceProgress>>>,
    numbers_lines: bool,
}

impl Records {
    /// Prepares to read on this number of threads, at least one.
    pub fn new(jobs: usize) -> Self {
        Self::with_limits(jobs, BlockLimits::default())
    }

    /// [`Self::new`] with other sizes of blocks and lines.
    pub fn with_limits(jobs: usize, limits: BlockLimits) -> Self {
        let jobs = jobs.max(1);
        let queue = BlockQueue::new(PipelineOptions::queue_bytes_max(jobs, limits), jobs);
        Self { queue: Arc::new(queue), sources: Arc::default(), limits, jobs }
    }

    /// Numbers the lines of each source. That costs another pass over the bytes.
    #[must_use]
    pub fn numbering_lines(mut self) -> Self {
        self.sources = Arc::new(RecordSources { numbers_lines: true, ..RecordSources::default() });
        self
    }

    /// Runs the threads while `read` opens and writes sources, and until their lines are consumed.
    /// Returns the result of `read`.
    ///
    /// Each thread has a sink of its own. The outputs of the sinks are passed to `consume` one at a
    /// time, in the order of the blocks: in the order of each source, and if sources are read one
    /// after the other, in their order. If it breaks, everything is [cancelled](Self::cancel).
    pub fn run<S: LineSink, T>(
        &self,
        sink: impl Fn() -> S + Sync,
        consume: impl FnMut(VisitedBlock<'_, S::Output>) -> ControlFlow<()> + Send,
        read: impl FnOnce() -> T,
    ) -> T {
        let (clock, consume) = (Arc::<StageClock>::default(), Lock::new(consume));
        std::thread::scope(|scope| {
            let close = Close(&self.queue);
            for _ in 0..self.jobs {
                scope.spawn(|| {
                    let product = LineProduct::new(self, sink(), &consume);
                    Worker::new(&self.queue, &clock, product).run();
                });
            }
            let result = read();
            drop(close);
            result
        })
    }

    /// The sources in the order in which they were opened.
    pub fn sources(&self) -> Vec<Arc<SourceProgress>> {
        self.sources.opened.lock().clone()
    }

    /// Stops everything at once, from any thread: the sources must stop, and blocks that wait are
    /// dropped.
    pub fn cancel(&self) {
        self.queue.abort();
        self.sources.opened.lock().iter().for_each(|source| source.cancel());
    }
}

impl Intake for Records {
    fn open(&self, options: SourceOptions) -> SourceWriter {
        let progress = Arc::new(SourceProgress::new(&options.name, options.bytes_total));
        let mut sources = self.sources.opened.lock();
        let index = sources.len() as u32;
        progress.set_number(index);
        sources.push(progress.clone());
        drop(sources);
        let (queue, sources) = (self.queue.clone(), self.sources.clone());
        SourceWriter::new(options, (progress, index), queue, sources, self.limits)
    }

    fn is_watched(&self) -> bool {
        false
    }
}

impl Destination for RecordSources {
    /// Formats have no index, because no columns are kept.
    fn format_index(&self, _: &Arc<Format>) -> usize {
        0
    }

    fn is_full(&self) -> bool {
        false
    }

    fn notify(&self) {}

    fn numbers_lines(&self) -> bool {
        self.numbers_lines
    }
}

/// Lets the threads end, even if reading panics.
struct Close<'q>(&'q BlockQueue);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.close_when_idle();
    }
}
