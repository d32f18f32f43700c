//! Consumers that see every segment in the order of the log.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use weir_core::Segment;
use weir_sync::{Condition, Lock};

/// The segments of a data set in the order of the log, from the moment of
/// [`DataSet::subscribe`](super::DataSet::subscribe) on.
///
/// The iterator blocks until the next segment arrives, and ends with the pipeline. If more segments
/// than its capacity wait here, the parsers pause, so a slow consumer slows the sources. Blocks
/// that are already parsed are still delivered, so a few more segments per parser may wait.
/// Dropping the iterator lets the pipeline continue without it.
///
/// Values of segments that wait here are not evicted, so in a window the capacity should be small
/// compared to the memory. If values fill the memory, new ones are only counted in the remainder.
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
    state: Lock<QueueState>,
    arrival: Condition,
    room: Condition,
}

#[derive(Debug, Default)]
struct QueueState {
    pending: VecDeque<Arc<Segment>>,
    /// The segments that the consumer is processing.
    taken: Vec<Arc<Segment>>,
    /// Parsed blocks that wait for the one before them. They will arrive together with it.
    reordered: usize,
    is_over: bool,
}

/// All consumers of a data set.
#[derive(Debug, Default)]
pub(super) struct Subscribers {
    queues: Lock<Vec<Arc<SegmentQueue>>>,
    /// The number of queues. A data set without consumers reads only this, and takes no lock.
    count: AtomicUsize,
    /// How many times a consumer has finished segments, or left.
    finishes: AtomicU64,
}

impl Subscribers {
    /// Adds a consumer.
    pub(super) fn add(self: &Arc<Self>, capacity: usize) -> OrderedSegments {
        let queue = Arc::new(SegmentQueue {
            capacity: capacity.max(1),
            state: Lock::default(),
            arrival: Condition::new(),
            room: Condition::new(),
        });
        let mut queues = self.queues.lock();
        queues.push(queue.clone());
        self.count.store(queues.len(), Ordering::Release);
        drop(queues);
        OrderedSegments { queue, subscribers: self.clone() }
    }

    /// Hands the next segment to every consumer, without waiting.
    pub(super) fn push(&self, segment: &Arc<Segment>) {
        for queue in self.queues() {
            queue.state.lock().pending.push_back(segment.clone());
            queue.arrival.notify_one();
        }
    }

    /// Sets the number of parsed blocks that wait for the one before them.
    pub(super) fn set_reordered(&self, blocks: usize) {
        for queue in self.queues() {
            queue.state.lock().reordered = blocks;
            queue.room.notify_all();
        }
    }

    /// Calls `visit` with every segment that a consumer has yet to finish.
    pub(super) fn for_each_pending(&self, mut visit: impl FnMut(&Segment)) {
        for queue in self.queues() {
            let state = queue.state.lock();
            state.taken.iter().chain(&state.pending).for_each(|segment| visit(segment));
        }
    }

    /// Whether a consumer has yet to finish a segment.
    pub(super) fn have_pending(&self) -> bool {
        let is_pending = |state: &QueueState| !state.taken.is_empty() || !state.pending.is_empty();
        self.queues().iter().any(|queue| is_pending(&queue.state.lock()))
    }

    /// How many times a consumer has finished segments, or left.
    pub(super) fn finishes(&self) -> u64 {
        self.finishes.load(Ordering::Acquire)
    }

    /// Whether a consumer has more segments to process than its capacity.
    pub(super) fn must_pause(&self) -> bool {
        self.queues().iter().any(|queue| queue.is_full(&queue.state.lock()))
    }

    /// Waits until all consumers have room. A thread must not wait while it holds a parsed block
    /// that is not appended, because another thread may need that block to come first.
    pub(super) fn wait_for_room(&self) {
        for queue in self.queues() {
            let is_full = |state: &mut QueueState| queue.is_full(state);
            drop(queue.room.wait_while(queue.state.lock(), is_full));
        }
    }

    /// Ends all consumers after the segments that wait for them.
    pub(super) fn finish(&self) {
        for queue in self.queues() {
            queue.finish();
        }
    }

    fn remove(&self, queue: &Arc<SegmentQueue>) {
        let mut queues = self.queues.lock();
        queues.retain(|other| !Arc::ptr_eq(other, queue));
        self.count.store(queues.len(), Ordering::Release);
        drop(queues);
        self.finishes.fetch_add(1, Ordering::Release);
    }

    fn queues(&self) -> Vec<Arc<SegmentQueue>> {
        if self.count.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        self.queues.lock().clone()
    }
}

impl SegmentQueue {
    fn is_full(&self, state: &QueueState) -> bool {
        !state.is_over && state.pending.len() + state.reordered >= self.capacity
    }

    fn finish(&self) {
        self.state.lock().is_over = true;
        self.arrival.notify_all();
        self.room.notify_all();
    }
}

impl OrderedSegments {
    /// Waits for the next segment. Returns it with those that are already queued after it, at most
    /// `max` in all and at least one. The result is empty only at the end of the pipeline.
    ///
    /// The ids of these segments stand for the same values until the next call.
    pub fn next_some(&mut self, max: usize) -> Vec<Arc<Segment>> {
        let mut state = self.queue.state.lock();
        // The consumer has finished the previous segments, even if no other one follows.
        if !state.taken.is_empty() {
            state.taken.clear();
            self.subscribers.finishes.fetch_add(1, Ordering::Release);
        }
        let is_waiting = |state: &mut QueueState| !state.is_over && state.pending.is_empty();
        let mut state = self.queue.arrival.wait_while(state, is_waiting);
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
