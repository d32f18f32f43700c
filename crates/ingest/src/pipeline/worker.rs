//! One parser thread.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_core::Block;
use weir_observe::mark;

use super::product::{BlockPlace, Product, Turn};
use super::stage_times::{Stage, StageClock};
use crate::queue::{BlockQueue, PullSource, Task, Ticket};

/// Parses blocks as they arrive and appends them in order. While it waits to append one, it parses
/// more.
#[derive(Debug)]
pub(super) struct Worker<P: Product> {
    queue: Arc<BlockQueue>,
    product: P,
    /// Parsed blocks that wait to be appended, oldest first.
    parsed: VecDeque<PendingBlock<P::Parsed>>,
    /// The buffer that it pulls blocks into.
    buffer: Option<Vec<u8>>,
    clock: Arc<StageClock>,
    /// Whether it has memory that it can free while no block comes.
    may_rest: bool,
}

/// A worker that gets no block for this time frees what it remembers, which may be 64 MiB for each
/// format. Blocks of a file come much faster, and those of a source that trickles cost little.
const REST_AFTER: Duration = Duration::from_millis(250);

/// The most blocks that a worker parses before it may append them. The queue's bound does not
/// include parsed blocks, so they need their own. A few even out differences in parse time.
const PARSED_MAX: usize = 4;

#[derive(Debug)]
struct PendingBlock<T> {
    place: BlockPlace,
    /// `None` if the source was cancelled before its block was parsed.
    parsed: Option<T>,
}

impl<P: Product> Worker<P> {
    pub(super) fn new(queue: &Arc<BlockQueue>, clock: &Arc<StageClock>, product: P) -> Self {
        let (queue, clock) = (queue.clone(), clock.clone());
        Self { queue, product, parsed: VecDeque::new(), buffer: None, clock, may_rest: false }
    }

    /// Works until the queue ends.
    pub(super) fn run(mut self) {
        let mut now = Instant::now();
        loop {
            if self.parsed.is_empty() {
                self.clock.begin_wait(Stage::WaitToAppend, now);
                self.product.wait_for_room();
                now = self.clock.add(Stage::WaitToAppend, now);
            }
            let oldest = self.parsed.front().map(|pending| pending.place.ticket);
            let waited = if oldest.is_none() { Stage::WaitForBlocks } else { Stage::WaitToAppend };
            self.clock.begin_wait(waited, now);
            let rest_after = self.may_rest.then_some(REST_AFTER);
            let task = self.queue.next_task(oldest, self.must_append(), rest_after);
            now = self.clock.add(waited, now);
            self.may_rest = !matches!(task, Task::Rest);
            now = match task {
                Task::Parse(mut ticket) => {
                    now = self.read(&mut ticket, now);
                    if let Some(block) = self.parse(ticket) {
                        self.queue.release(block.memory_bytes(), Some(block.into_buffer()));
                    }
                    self.clock.add(Stage::Parse, now)
                }
                Task::Pull(source) => self.pull(source, now),
                Task::TakeTurn => {
                    self.take_turn();
                    self.clock.add(Stage::Append, now)
                }
                Task::Rest => {
                    self.product.rest();
                    self.buffer = None;
                    self.queue.free_spare();
                    now
                }
                Task::End => return,
            };
        }
    }

    /// Whether the worker must append a block before it parses another.
    fn must_append(&self) -> bool {
        self.parsed.len() >= PARSED_MAX || (!self.parsed.is_empty() && self.product.must_append())
    }

    /// Pulls a block from a source and parses it, always in the same buffer. The work began at
    /// `begun`. Returns when it ended.
    fn pull(&mut self, mut source: Box<dyn PullSource>, begun: Instant) -> Instant {
        let jobs = {
            let _call = mark!("PullSource::pull").enter();
            source.pull(self.buffer.take())
        };
        let mut now = self.clock.add(Stage::Read, begun);
        let ticket = self.queue.complete_pull(source, jobs);
        if let Some(mut ticket) = ticket {
            now = self.read(&mut ticket, now);
            if let Some(block) = self.parse(ticket) {
                self.queue.release(block.memory_bytes(), None);
                self.buffer = Some(block.into_buffer());
            }
        }
        self.clock.add(Stage::Parse, now)
    }

    /// Reads the bytes of a block that was handed on without them. The work began at `begun`.
    /// Returns when it ended.
    fn read(&self, Ticket { job, .. }: &mut Ticket, begun: Instant) -> Instant {
        if job.source.is_cancelled() || !job.read() {
            return begun;
        }
        self.clock.add(Stage::Read, begun)
    }

    /// Parses a block. Returns it, unless it is kept until its turn.
    fn parse(&mut self, Ticket { number, job }: Ticket) -> Option<Block> {
        let _call = mark!("Worker::parse").enter();
        let place = BlockPlace {
            ticket: number,
            source: job.source.clone(),
            offset_end: job.block.offset_end,
            is_live: job.is_live,
        };
        let (parsed, block) = match place.source.is_cancelled() {
            true => (None, Some(job.block)),
            false => {
                let (parsed, block) = self.product.parse(job);
                (Some(parsed), block)
            }
        };
        self.parsed.push_back(PendingBlock { place, parsed });
        block
    }

    /// Appends the oldest parsed block while it is this worker's turn.
    fn take_turn(&mut self) {
        let _call = mark!("Worker::take_turn").enter();
        let Some(PendingBlock { place, parsed }) = self.parsed.pop_front() else { return };
        let turn = Turn::new(&self.queue);
        let appended = match parsed {
            Some(parsed) => self.product.append(place, parsed, turn),
            None => self.product.append_dropped(place, turn),
        };
        self.queue.note_appended(appended);
    }
}

impl<P: Product> Drop for Worker<P> {
    /// Stops everything after a panic. Otherwise the other workers would wait for this one's turn,
    /// and its sources for blocks that are never parsed.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.product.fail_sources();
            self.queue.abort();
        }
    }
}
