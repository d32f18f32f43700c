//! Hands blocks to parsers and keeps the order in which they are appended.

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use weir_sync::{Condition, Lock};

use super::job::{Job, PullSource, Task, Ticket};
use crate::error::StopReason;

/// A queue of blocks that is bounded in bytes, and the sequencer that lets parsed blocks be
/// appended in their order. It has one lock, which is taken a few times per block.
pub(crate) struct BlockQueue {
    state: Lock<State>,
    /// Tells workers that there is a task.
    work: Condition,
    /// Tells waiting writers, in threads and in tasks, that there is room.
    room: Condition,
    room_async: Notify,
    queue_bytes_max: usize,
    /// No worker gets a block to parse while this many wait to be appended.
    unappended_max: u64,
    spare_buffers_max: usize,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Ticket>,
    /// Sources to pull blocks from that no parser is reading.
    pull_sources: VecDeque<Box<dyn PullSource>>,
    /// Memory of the blocks that wait or are being parsed, in bytes.
    queue_bytes: usize,
    /// Number of the next ticket.
    tickets: u64,
    /// The number of the ticket whose turn it is.
    turn: u64,
    /// The blocks that were appended to the data set: at most those whose turn is over.
    appended: u64,
    /// Set when no more blocks will be pushed.
    is_closing: bool,
    /// Set when workers and writers have to stop at once.
    is_aborted: bool,
    /// Buffers of parsed blocks, for reuse.
    spare: Vec<Vec<u8>>,
}

/// The blocks whose turn may be over before they are appended, for each worker. Nothing else bounds
/// them: while one worker is kept from appending its block, the others could parse the whole log.
/// Twice what a worker has parsed when it must append, so that short delays stop nobody.
const UNAPPENDED_MAX: usize = 8;

/// The least number of buffers kept for reuse: enough for the few sources that a session reads at
/// the same time. Workers that keep their blocks until they are appended need one each.
const SPARE_BUFFERS_MIN: usize = 4;

impl BlockQueue {
    /// A queue for this number of workers. Its blocks take at most `queue_bytes_max` bytes.
    pub(crate) fn new(queue_bytes_max: usize, workers: usize) -> Self {
        Self {
            state: Lock::default(),
            work: Condition::new(),
            room: Condition::new(),
            room_async: Notify::new(),
            queue_bytes_max,
            unappended_max: (workers * UNAPPENDED_MAX) as u64,
            spare_buffers_max: workers.max(SPARE_BUFFERS_MIN),
        }
    }

    /// Pushes a job if there is room; otherwise returns it.
    ///
    /// # Errors
    /// If the queue was aborted.
    pub(crate) fn try_push(&self, job: Job) -> Result<Option<Job>, StopReason> {
        self.try_push_locked(&mut self.state.lock(), job)
    }

    /// Waits for room and pushes a job.
    ///
    /// # Errors
    /// If the queue was aborted.
    pub(crate) fn push(&self, mut job: Job) -> Result<(), StopReason> {
        let mut state = self.state.lock();
        while let Some(refused) = self.try_push_locked(&mut state, job)? {
            job = refused;
            state = self.room.wait(state);
        }
        Ok(())
    }

    /// [`Self::push`] for tasks. The future has to be awaited to its end: dropping it while it
    /// waits loses the job.
    pub(crate) async fn push_async(&self, mut job: Job) -> Result<(), StopReason> {
        loop {
            // Registered before the attempt, so that room made in between is not missed.
            let mut room = std::pin::pin!(self.room_async.notified());
            room.as_mut().enable();
            match self.try_push(job)? {
                None => return Ok(()),
                Some(refused) => job = refused,
            }
            room.await;
        }
    }

    /// Adds a source to pull blocks from.
    ///
    /// # Errors
    /// If the queue was aborted.
    pub(crate) fn add_pull_source(&self, source: Box<dyn PullSource>) -> Result<(), StopReason> {
        let mut state = self.state.lock();
        if state.is_aborted {
            return Err(StopReason::Cancelled);
        }
        state.pull_sources.push_back(source);
        drop(state);
        self.work.notify_one();
        Ok(())
    }

    /// Returns a source to the queue with the blocks pulled from it. Returns the first of them for
    /// the caller to parse. The bound on bytes holds: a parser pulls only if no block waits, and it
    /// alone holds the blocks that it pulled.
    pub(crate) fn complete_pull(
        &self,
        source: Box<dyn PullSource>,
        jobs: Vec<Job>,
    ) -> Option<Ticket> {
        let mut state = self.state.lock();
        if state.is_aborted || jobs.is_empty() {
            return None;
        }
        for job in jobs {
            state.enqueue(job);
        }
        state.pull_sources.push_back(source);
        let first = state.jobs.pop_front();
        drop(state);
        self.work.notify_all();
        first
    }

    /// Returns the memory of the blocks that wait or are being parsed, and its limit, in bytes.
    pub(crate) fn bytes(&self) -> (usize, usize) {
        (self.state.lock().queue_bytes, self.queue_bytes_max)
    }

    /// Whether the queue was aborted.
    pub(crate) fn is_aborted(&self) -> bool {
        self.state.lock().is_aborted
    }

    /// Whether no block waits for a parser.
    pub(crate) fn is_idle(&self) -> bool {
        self.state.lock().jobs.is_empty()
    }

    /// A buffer to reuse, if there is one.
    pub(crate) fn take_spare(&self) -> Option<Vec<u8>> {
        self.state.lock().spare.pop()
    }

    /// Keeps a buffer for reuse, if there are not enough of them.
    pub(crate) fn keep_spare(&self, buffer: Vec<u8>) {
        let mut state = self.state.lock();
        if state.spare.len() < self.spare_buffers_max && !state.is_aborted {
            state.spare.push(buffer);
        }
    }

    /// Waits for the next task of a worker. `oldest` is the ticket of the oldest block that the
    /// worker has parsed and not appended. With `must_append` the worker gets no block to parse
    /// before it has appended one. If it has none to append, and no block comes for `rest_after`, its
    /// task is to rest.
    pub(crate) fn next_task(
        &self,
        oldest: Option<u64>,
        must_append: bool,
        rest_after: Option<Duration>,
    ) -> Task {
        let rest_at = rest_after.filter(|_| oldest.is_none()).map(|after| Instant::now() + after);
        let mut state = self.state.lock();
        loop {
            if state.is_aborted {
                return Task::End;
            }
            if oldest == Some(state.turn) {
                return Task::TakeTurn;
            }
            let may_parse = !must_append && state.turn - state.appended < self.unappended_max;
            if may_parse && let Some(ticket) = state.jobs.pop_front() {
                return Task::Parse(ticket);
            }
            if may_parse && let Some(source) = state.pull_sources.pop_front() {
                return Task::Pull(source);
            }
            if state.is_closing && oldest.is_none() {
                return Task::End;
            }
            state = match rest_at.map(|at| at.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return Task::Rest,
                Some(rest) => self.work.wait_timeout(state, rest),
                None => self.work.wait(state),
            };
        }
    }

    /// Releases the memory of a parsed block, in bytes, and keeps its buffer for reuse if there is
    /// one.
    pub(crate) fn release(&self, memory_bytes: usize, buffer: Option<Vec<u8>>) {
        let mut state = self.state.lock();
        state.queue_bytes -= memory_bytes;
        if state.spare.len() < self.spare_buffers_max {
            state.spare.extend(buffer);
        }
        drop(state);
        self.room.notify_all();
        self.room_async.notify_waiters();
    }

    /// Frees the buffers that are kept for reuse.
    pub(crate) fn free_spare(&self) {
        let spare = std::mem::take(&mut self.state.lock().spare);
        drop(spare);
    }

    /// Ends the current turn.
    pub(crate) fn end_turn(&self) {
        self.state.lock().turn += 1;
        self.work.notify_all();
    }

    /// Notes that this many blocks were appended.
    pub(crate) fn note_appended(&self, blocks: u64) {
        let mut state = self.state.lock();
        let were_too_many = state.turn - state.appended >= self.unappended_max;
        state.appended += blocks;
        drop(state);
        if were_too_many {
            self.work.notify_all();
        }
    }

    /// Ends the workers after everything in the queue is parsed.
    pub(crate) fn close_when_idle(&self) {
        self.state.lock().is_closing = true;
        self.work.notify_all();
    }

    /// Ends workers and writers at once and drops all blocks that wait.
    pub(crate) fn abort(&self) {
        let mut state = self.state.lock();
        state.is_aborted = true;
        state.spare.clear();
        // Dropped below, because they may hold writers and files.
        let dropped = (std::mem::take(&mut state.jobs), std::mem::take(&mut state.pull_sources));
        drop(state);
        drop(dropped);
        self.work.notify_all();
        self.room.notify_all();
        self.room_async.notify_waiters();
    }

    fn try_push_locked(&self, state: &mut State, job: Job) -> Result<Option<Job>, StopReason> {
        if state.is_aborted {
            return Err(StopReason::Cancelled);
        }
        let bytes = job.block.memory_bytes();
        if state.queue_bytes > 0 && state.queue_bytes + bytes > self.queue_bytes_max {
            return Ok(Some(job));
        }
        state.enqueue(job);
        self.work.notify_one();
        Ok(None)
    }
}

impl State {
    fn enqueue(&mut self, job: Job) {
        self.queue_bytes += job.block.memory_bytes();
        self.jobs.push_back(Ticket { number: self.tickets, job });
        self.tickets += 1;
    }
}

impl fmt::Debug for BlockQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes_max = self.queue_bytes_max;
        formatter
            .debug_struct("BlockQueue")
            .field("queue_bytes_max", &bytes_max)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_rests_after_a_time_without_blocks() {
        let queue = BlockQueue::new(1 << 20, 1);
        let (after, begun) = (Duration::from_millis(20), Instant::now());
        assert!(matches!(queue.next_task(None, false, Some(after)), Task::Rest));
        assert!(begun.elapsed() >= after);
        // It appends first what it has parsed.
        assert!(matches!(queue.next_task(Some(0), true, Some(Duration::ZERO)), Task::TakeTurn));
        queue.close_when_idle();
        assert!(matches!(queue.next_task(None, false, Some(after)), Task::End));
    }
}
