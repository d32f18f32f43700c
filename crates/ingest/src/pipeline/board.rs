//! Who parses which block, and whose turn it is to append.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use weir_core::{Block, Format};

use super::Stopped;
use crate::source::SourceProgress;

/// A block to parse.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) source: Arc<SourceProgress>,
    pub(crate) source_index: u32,
    pub(crate) format: Arc<Format>,
    /// Index of the format among those of the data set.
    pub(crate) format_index: usize,
    pub(crate) block: Block,
    /// True where its lines had just been written when they were read.
    pub(crate) is_live: bool,
}

/// A source whose blocks the parsers fetch themselves, one parser at a time: what a core has
/// just read it parses while it is in its cache.
pub(crate) trait Fetch: Send {
    /// The next blocks, in their order; none where there are no more. By then whoever waits
    /// for the source's end has heard of it. `buffer` is one of the parser's to read into.
    fn fetch(&mut self, buffer: Option<Vec<u8>>) -> Vec<Job>;
}

/// A job with its place in the order of all blocks.
#[derive(Debug)]
pub(super) struct Ticket {
    pub(super) number: u64,
    pub(super) job: Job,
}

/// What a worker is to do next.
pub(super) enum Task {
    /// Parse this block.
    Parse(Ticket),
    /// Fetch the next block of this source, and [give it back](Board::fetched).
    Fetch(Box<dyn Fetch>),
    /// It is the turn of the oldest block that this worker has parsed.
    TakeTurn,
    /// Nothing more will come.
    End,
}

/// The queue of blocks, bounded in bytes, and the turns in which parsed blocks are
/// appended. One lock, taken a few times a block.
pub(crate) struct Board {
    state: Mutex<State>,
    /// Something to do for a worker.
    work: Condvar,
    /// Room in the queue, for threads and for tasks.
    room: Condvar,
    room_async: Notify,
    queue_bytes_max: usize,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Ticket>,
    /// Sources to fetch blocks from, which are in no parser's hands.
    fetches: VecDeque<Box<dyn Fetch>>,
    /// Memory of the blocks that wait or are being parsed.
    queue_bytes: usize,
    /// Number of the next ticket.
    tickets: u64,
    /// The ticket whose turn it is.
    turn: u64,
    /// No source will come any more.
    closing: bool,
    /// Everything ends now.
    aborted: bool,
    /// Used buffers.
    spare: Vec<Vec<u8>>,
}

/// Buffers kept for use again: enough for the sources of one session to take turns.
const SPARE_BUFFERS_MAX: usize = 4;

impl Board {
    pub(super) fn new(queue_bytes_max: usize) -> Self {
        Self {
            state: Mutex::default(),
            work: Condvar::new(),
            room: Condvar::new(),
            room_async: Notify::new(),
            queue_bytes_max,
        }
    }

    /// Takes a job if there is room; gives it back if not.
    ///
    /// # Errors
    /// Where the pipeline is gone.
    pub(crate) fn try_push(&self, job: Job) -> Result<Option<Job>, Stopped> {
        self.try_push_locked(&mut self.lock(), job)
    }

    /// Takes a job, and waits for room before.
    pub(crate) fn push(&self, mut job: Job) -> Result<(), Stopped> {
        let mut state = self.lock();
        while let Some(refused) = self.try_push_locked(&mut state, job)? {
            job = refused;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    /// As [`Self::push`], for tasks. A future that is dropped while it waits loses the
    /// job, so it is to be awaited to its end.
    pub(crate) async fn push_async(&self, mut job: Job) -> Result<(), Stopped> {
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

    /// Takes a source to fetch blocks from.
    ///
    /// # Errors
    /// Where the pipeline is gone.
    pub(crate) fn offer(&self, source: Box<dyn Fetch>) -> Result<(), Stopped> {
        let mut state = self.lock();
        if state.aborted {
            return Err(Stopped::Cancelled);
        }
        state.fetches.push_back(source);
        drop(state);
        self.work.notify_one();
        Ok(())
    }

    /// Takes back a source and the blocks that were fetched from it, and gives the first of
    /// them to be parsed by whoever has fetched it. They are within the bound all the same: a
    /// parser fetches when nothing waits, and holds what it fetches alone.
    pub(super) fn fetched(&self, source: Box<dyn Fetch>, jobs: Vec<Job>) -> Option<Ticket> {
        let mut state = self.lock();
        if state.aborted || jobs.is_empty() {
            return None;
        }
        for job in jobs {
            state.enqueue(job);
        }
        state.fetches.push_back(source);
        let first = state.jobs.pop_front();
        drop(state);
        self.work.notify_all();
        first
    }

    /// True where the parsers have nothing to do but what they are at.
    pub(crate) fn is_idle(&self) -> bool {
        self.lock().jobs.is_empty()
    }

    /// A used buffer, if there is one.
    pub(crate) fn take_spare(&self) -> Option<Vec<u8>> {
        self.lock().spare.pop()
    }

    /// Gives a worker something to do; waits until there is.
    /// `oldest` is the ticket of the oldest block that it has parsed and not appended;
    /// where it has parsed too many of those, it `must_append` before it may parse more.
    pub(super) fn next_task(&self, oldest: Option<u64>, must_append: bool) -> Task {
        let mut state = self.lock();
        loop {
            if state.aborted {
                return Task::End;
            }
            if oldest == Some(state.turn) {
                return Task::TakeTurn;
            }
            if !must_append && let Some(ticket) = state.jobs.pop_front() {
                return Task::Parse(ticket);
            }
            if !must_append && let Some(source) = state.fetches.pop_front() {
                return Task::Fetch(source);
            }
            if state.closing && oldest.is_none() {
                return Task::End;
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A block of so much memory is parsed; its buffer, if the parser does not keep it.
    pub(super) fn parsed(&self, memory_bytes: usize, buffer: Option<Vec<u8>>) {
        let mut state = self.lock();
        state.queue_bytes -= memory_bytes;
        if state.spare.len() < SPARE_BUFFERS_MAX {
            state.spare.extend(buffer);
        }
        drop(state);
        self.room.notify_all();
        self.room_async.notify_waiters();
    }

    /// The one whose turn it was has finished it.
    pub(super) fn end_turn(&self) {
        self.lock().turn += 1;
        self.work.notify_all();
    }

    /// Lets the workers end when all is parsed.
    pub(super) fn close_when_idle(&self) {
        self.lock().closing = true;
        self.work.notify_all();
    }

    /// Ends everything now and frees what waits.
    pub(super) fn abort(&self) {
        let mut state = self.lock();
        state.aborted = true;
        state.jobs.clear();
        state.fetches.clear();
        state.spare.clear();
        drop(state);
        self.work.notify_all();
        self.room.notify_all();
        self.room_async.notify_waiters();
    }

    fn try_push_locked(&self, state: &mut State, job: Job) -> Result<Option<Job>, Stopped> {
        if state.aborted {
            return Err(Stopped::Cancelled);
        }
        let bytes = job.block.memory_bytes();
        if state.queue_bytes > 0 && state.queue_bytes + bytes > self.queue_bytes_max {
            return Ok(Some(job));
        }
        state.enqueue(job);
        self.work.notify_one();
        Ok(None)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn enqueue(&mut self, job: Job) {
        self.queue_bytes += job.block.memory_bytes();
        self.jobs.push_back(Ticket { number: self.tickets, job });
        self.tickets += 1;
    }
}

impl fmt::Debug for Board {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes_max = self.queue_bytes_max;
        formatter.debug_struct("Board").field("queue_bytes_max", &bytes_max).finish_non_exhaustive()
    }
}
