//! Keeps the segments of a sliding window, or only those that wait for a consumer.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use weir_core::{
    LiveIds, PendingSegment, PendingSweep, Segment, SegmentList, SnapshotSegment, Sweep, Values,
};
use weir_sync::{Lock, ReadWriteLock};

use super::evictor::Evictor;
use super::window::{ReadAt, Window, WindowLimits};
use super::{DepartedSegments, MachineClock, RetentionPolicy, WindowReach};
use crate::pipeline::subscribers::Subscribers;

/// Keeps the segments of a window, and evicts the values that occur in none of them.
///
/// The window is locked before the values, never after them. Segments arrive while the window
/// is locked, so that an eviction cannot miss one.
pub(super) struct KeepWindow {
    window: Lock<Window>,
    values: Arc<ReadWriteLock<Values>>,
    subscribers: Arc<Subscribers>,
    limits: WindowLimits,
    machine_clock: MachineClock,
    evictor: Arc<Evictor>,
    /// Memory of the segments when the window last changed.
    bytes: AtomicUsize,
    /// Memory that is left to others.
    reserved_bytes: AtomicUsize,
}

impl KeepWindow {
    /// A policy without segments yet, and the thread that evicts values for it. The thread ends
    /// when the policy is dropped.
    pub(super) fn start(
        width: Option<Duration>,
        limits: WindowLimits,
        values: Arc<ReadWriteLock<Values>>,
        subscribers: Arc<Subscribers>,
        machine_clock: MachineClock,
    ) -> Arc<Self> {
        let policy = Arc::new(Self {
            window: Lock::new(Window::new(width)),
            values,
            subscribers,
            limits,
            machine_clock,
            evictor: Arc::default(),
            bytes: AtomicUsize::new(0),
            reserved_bytes: AtomicUsize::new(0),
        });
        policy.evictor.start(&policy);
        policy
    }

    pub(super) fn limits(&self) -> WindowLimits {
        self.limits
    }

    pub(super) fn values(&self) -> RwLockReadGuard<'_, Values> {
        self.values.read()
    }

    fn values_mut(&self) -> RwLockWriteGuard<'_, Values> {
        self.values.write()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.window.lock().is_empty()
    }

    /// Drops the quarter of the segments that was read first.
    pub(super) fn shrink_by_a_quarter(&self) {
        let mut window = self.window.lock();
        window.shrink_by_a_quarter();
        self.bytes.store(window.memory_bytes(), Ordering::Relaxed);
    }

    /// The segments whose values must not be evicted, and the number of the next segment.
    pub(super) fn segments_for_eviction(&self) -> (Vec<Arc<Segment>>, u64) {
        self.window.lock().segments_for_eviction()
    }

    /// Begins to evict all values except the live ones, those of the segments from number `next`
    /// on, and those that subscribers have yet to process. See [`Values::begin_sweep`].
    pub(super) fn begin_sweep(&self, mut live: LiveIds, next: u64) -> Option<PendingSweep> {
        let window = self.window.lock();
        let mut values = self.values_mut();
        window.segments_since(next).for_each(|segment| live.mark(segment));
        self.subscribers.for_each_pending(|segment| live.mark(segment));
        values.begin_sweep(live)
    }

    /// Does a part of a sweep, on up to `ids_max` ids. Returns whether work is left.
    pub(super) fn advance(&self, sweep: &mut Sweep, ids_max: usize) -> bool {
        sweep.advance(&mut self.values_mut(), ids_max)
    }

    /// Whether the values leave room for those of more blocks.
    pub(super) fn has_room(&self) -> bool {
        self.values().used_bytes() < self.limits.values_bytes_pressed
    }

    /// The consumers of the segments.
    pub(super) fn subscribers(&self) -> &Subscribers {
        &self.subscribers
    }

    /// Requests an eviction if it would free enough memory.
    fn request_eviction(&self, used_bytes: usize, has_moved_on: bool) {
        let is_worthwhile = used_bytes >= self.limits.values_bytes_light && has_moved_on;
        if is_worthwhile || used_bytes >= self.limits.values_bytes_heavy {
            self.evictor.request(used_bytes >= self.limits.values_bytes_pressed);
        }
    }
}

impl RetentionPolicy for KeepWindow {
    fn append(&self, segment: PendingSegment, is_live: bool, subscribers: &Subscribers) {
        let mut window = self.window.lock();
        let admitted = self.values().admit(segment);
        let segment = admitted.unwrap_or_else(|late| self.values_mut().admit_late(late));
        let (values_bytes, used_bytes) = {
            let values = self.values();
            (values.memory_bytes(), values.used_bytes())
        };
        let segment = Arc::new(segment);
        subscribers.push(&segment);
        if !self.limits.keeps_segments {
            self.request_eviction(used_bytes, true);
            return;
        }
        window.push(segment, ReadAt { machine_ns: (self.machine_clock)(), is_live });
        let others_bytes = values_bytes + self.reserved_bytes.load(Ordering::Relaxed);
        window.shrink_to(self.limits.segment_bytes_max(others_bytes));
        self.bytes.store(window.memory_bytes(), Ordering::Relaxed);
        self.request_eviction(used_bytes, window.has_moved_on());
    }

    fn restore(&self, segments: Vec<SnapshotSegment>) {
        let mut window = self.window.lock();
        let at = ReadAt { machine_ns: (self.machine_clock)(), is_live: false };
        segments.into_iter().for_each(|segment| window.restore(segment, at));
        window.shrink_to(self.limits.segment_bytes_max(self.values().memory_bytes()));
        self.bytes.store(window.memory_bytes(), Ordering::Relaxed);
    }

    fn remove_source(&self, source: u32) {
        let mut window = self.window.lock();
        window.remove_source(source);
        self.bytes.store(window.memory_bytes(), Ordering::Relaxed);
    }

    fn segments(&self) -> (SegmentList, DepartedSegments) {
        let window = self.window.lock();
        (window.segments(), window.departed())
    }

    fn memory_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed) + self.reserved_bytes.load(Ordering::Relaxed)
    }

    fn reserve(&self, bytes: usize) {
        self.reserved_bytes.store(bytes, Ordering::Relaxed);
    }

    fn reach(&self) -> WindowReach {
        self.window.lock().reach()
    }

    fn note_resolved(&self) {
        if !self.has_room() {
            self.evictor.request(true);
        }
    }

    fn must_pause(&self) -> bool {
        self.evictor.must_pause()
    }

    fn wait_for_room(&self) {
        self.evictor.wait_for_room();
    }
}

impl Drop for KeepWindow {
    fn drop(&mut self) {
        self.evictor.stop();
    }
}
