//! Every segment is kept until the memory is full.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_core::{PendingSegment, SegmentList, SnapshotSegment, TimeBounds};

use super::{Departed, RetentionPolicy};
use crate::pipeline::subscribers::Subscribers;

/// Keeps every segment.
#[derive(Debug)]
pub(super) struct KeepAll {
    segments: Mutex<SegmentList>,
    bytes: AtomicUsize,
    bytes_max: usize,
}

impl KeepAll {
    /// A policy without segments yet, for `bytes_max` bytes of them.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { segments: Mutex::default(), bytes: AtomicUsize::new(0), bytes_max }
    }

    fn lock(&self) -> MutexGuard<'_, SegmentList> {
        self.segments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RetentionPolicy for KeepAll {
    fn append(&self, segment: PendingSegment, _is_live: bool, subscribers: &Subscribers) {
        let segment = segment.into_segment();
        self.bytes.fetch_add(segment.memory_bytes(), Ordering::Relaxed);
        let segment = Arc::new(segment);
        subscribers.push(&segment);
        let mut segments = self.lock();
        let number = segments.len() as u64;
        segments.push(SnapshotSegment { number, segment, bounds: TimeBounds::ALL });
    }

    fn segments(&self) -> (SegmentList, Departed) {
        (self.lock().clone(), Departed::new())
    }

    fn memory_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    fn is_full(&self) -> bool {
        self.memory_bytes() >= self.bytes_max
    }
}
