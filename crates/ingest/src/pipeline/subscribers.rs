//! Consumers that see every segment in the order of the log.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use weir_core::Segment;

/// The segments of a data set in the order of the log, from the moment of
/// [`DataSet::subscribe`](super::DataSet::subscribe) on.
///
/// The iterator blocks until the next segment is there, and ends with the pipeline. While more
/// segments than its capacity wait here, the parsers pause: a consumer that is slow slows the
/// sources. Blocks that were parsed before they pause are still delivered, so that a few more
/// segments for each parser may wait. Dropping it lets the pipeline continue without it.
///
/// Values of segments that wait here are not evicted, so in a window the capacity should be small
/// compared to the memory: when that is full of values, new ones fall into the remainder.
///
/// The ids of a segment stand for the same values until the next ones are taken. Code that
/// caches names of ids has to refresh them when [`Values::reuses`](weir_core::Values::reuses)
/// has grown.
#[derive(Debug)]
pub struct OrderedSegments {
    queue: Arc<SegmentQueue>,
    subscribers: Arc<Subscribers>,
}

/// The queue between the parsers and one consumer.
#[derive(Debug)]
struct SegmentQueue {
    capacity: usize,
    state: Mutex<QueueState>,
    arrival: Condvar,
    room: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    pending: VecDeque<Arc<Segment>>,
    /// The segments at which the consumer works.
    taken: Vec<Arc<Segment>>,
    /// Blocks that are parsed but wait for the one before them, and come together with it.
    reordered: usize,
    is_over: bool,
}

/// All consumers of a data set.
#[derive(Debug, Default)]
pub(super) struct Subscribers {
    queues: Mutex<Vec<Arc<SegmentQueue>>>,
    /// Number of queues, so that a data set without consumers takes no lock for them.
    count: AtomicUsize,
}

impl Subscribers {
    /// Adds a consumer.
    pub(super) fn add(self: &Arc<Self>, capacity: usize) -> OrderedSegments {
        let queue = Arc::new(SegmentQueue {
            capacity: capacity.max(1),
            state: Mutex::default(),
            arrival: Condvar::new(),
            room: Condvar::new(),
        });
        let mut queues = self.lock();
        queues.push(queue.clone());
        self.count.store(queues.len(), Ordering::Release);
        drop(queues);
        OrderedSegments { queue, subscribers: self.clone() }
    }

    /// Hands the next segment to every consumer, without waiting.
    pub(super) fn push(&self, segment: &Arc<Segment>) {
        for queue in self.queues() {
            queue.lock().pending.push_back(segment.clone());
            queue.arrival.notify_one();
        }
    }

    /// Sets the number of blocks that are parsed but wait for the one before them.
    pub(super) fn set_reordered(&self, blocks: usize) {
        for queue in self.queues() {
            queue.lock().reordered = blocks;
            queue.room.notify_all();
        }
    }

    /// Calls `visit` with every segment that a consumer has yet to finish.
    pub(super) fn for_each_pending(&self, mut visit: impl FnMut(&Segment)) {
        for queue in self.queues() {
            let state = queue.lock();
            state.taken.iter().chain(&state.pending).for_each(|segment| visit(segment));
        }
    }

    /// Whether a consumer has more segments to see than its capacity.
    pub(super) fn is_pressed(&self) -> bool {
        self.queues().iter().any(|queue| queue.is_full(&queue.lock()))
    }

    /// Waits until all consumers have room. A thread that has parsed a block which is not
    /// appended must not wait: another one may need that block to come first.
    pub(super) fn wait_for_room(&self) {
        for queue in self.queues() {
            let is_full = |state: &mut QueueState| queue.is_full(state);
            drop(queue.room.wait_while(queue.lock(), is_full));
        }
    }

    /// Ends all consumers after the segments that wait for them.
    pub(super) fn finish(&self) {
        for queue in self.queues() {
            queue.finish();
        }
    }

    fn remove(&self, queue: &Arc<SegmentQueue>) {
        let mut queues = self.lock();
        queues.retain(|other| !Arc::ptr_eq(other, queue));
        self.count.store(queues.len(), Ordering::Release);
    }

    fn queues(&self) -> Vec<Arc<SegmentQueue>> {
        if self.count.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<SegmentQueue>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SegmentQueue {
    fn is_full(&self, state: &QueueState) -> bool {
        !state.is_over && state.pending.len() + state.reordered >= self.capacity
    }

    fn finish(&self) {
        self.lock().is_over = true;
        self.arrival.notify_all();
        self.room.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OrderedSegments {
    /// Waits for the next segment, and takes it and those that follow it and are there already, at most
    /// `max`, but at least one. Returns none at the end of the pipeline.
    ///
    /// The ids of all of them stand for the same values until the next call.
    pub fn next_some(&mut self, max: usize) -> Vec<Arc<Segment>> {
        let mut state = self.queue.lock();
        // The segments before are finished, whether or not there is another one.
        state.taken.clear();
        let is_waiting = |state: &mut QueueState| !state.is_over && state.pending.is_empty();
        let state = self.queue.arrival.wait_while(state, is_waiting);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let count = state.pending.len().min(max.max(1));
        let segments: Vec<_> = state.pending.drain(..count).collect();
        state.taken.clone_from(&segments);
        drop(state);
        self.queue.room.notify_all();
        segments
    }
}

impl Iterator for OrderedSegments {
    type Item = Arc<Segment>;

    fn next(&mut self) -> Option<Arc<Segment>> {
        self.next_some(1).pop()
    }
}

impl Drop for OrderedSegments {
    fn drop(&mut self) {
        self.subscribers.remove(&self.queue);
        // Parsers may already wait for room here.
        self.queue.finish();
    }
}
