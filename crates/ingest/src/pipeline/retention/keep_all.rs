//! Keeps every segment until the memory is full.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weir_core::{PendingSegment, SegmentList, SnapshotSegment, TimeBounds};
use weir_sync::Lock;

use super::{DepartedSegments, RetentionPolicy};
use crate::pipeline::subscribers::Subscribers;

/// Keeps every segment.
#[derive(Debug)]
pub(super) struct KeepAll {
    kept: Lock<KeptSegments>,
    bytes: AtomicUsize,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct KeptSegments {
    segments: SegmentList,
    /// The number of the next segment.
    next: u64,
}

impl KeepAll {
    /// A policy without segments yet, for `bytes_max` bytes of them.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { kept: Lock::default(), bytes: AtomicUsize::new(0), bytes_max }
    }
}

impl RetentionPolicy for KeepAll {
    fn append(&self, segment: PendingSegment, _is_live: bool, subscribers: &Subscribers) {
        let segment = segment.into_segment();
        self.bytes.fetch_add(segment.memory_bytes(), Ordering::Relaxed);
        let segment = Arc::new(segment);
        subscribers.push(&segment);
        let mut kept = self.kept.lock();
        let number = kept.next;
        kept.next += 1;
        kept.segments.push(SnapshotSegment { number, segment, bounds: TimeBounds::ALL });
    }

    fn restore(&self, segments: Vec<SnapshotSegment>) {
        let bytes = segments.iter().map(|segment| segment.segment.memory_bytes()).sum();
        self.bytes.store(bytes, Ordering::Relaxed);
        let mut kept = self.kept.lock();
        kept.next = segments.last().map_or(0, |last| last.number + 1);
        kept.segments = segments.into_iter().collect();
    }

    fn remove_source(&self, source: u32) {
        let mut kept = self.kept.lock();
        let is_of_source = |segment: &&SnapshotSegment| segment.segment.source() == source;
        let removed = kept.segments.iter().filter(is_of_source);
        let bytes: usize = removed.map(|segment| segment.segment.memory_bytes()).sum();
        let others = kept.segments.iter().filter(|segment| !is_of_source(segment));
        kept.segments = others.cloned().collect();
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn segments(&self) -> (SegmentList, DepartedSegments) {
        (self.kept.lock().segments.clone(), DepartedSegments::new())
    }

    fn memory_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    fn is_full(&self) -> bool {
        self.memory_bytes() >= self.bytes_max
    }
}
