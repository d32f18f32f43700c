//! Keeps no segment.

use std::sync::Arc;

use weir_core::{PendingSegment, SegmentList, SnapshotSegment};

use super::{DepartedSegments, RetentionPolicy};
use crate::pipeline::subscribers::Subscribers;

/// Drops each segment as soon as the subscribers have it.
#[derive(Debug)]
pub(super) struct KeepNothing;

impl RetentionPolicy for KeepNothing {
    fn append(&self, segment: PendingSegment, _is_live: bool, subscribers: &Subscribers) {
        subscribers.push(&Arc::new(segment.into_segment()));
    }

    fn restore(&self, _segments: Vec<SnapshotSegment>) {}

    fn remove_source(&self, _source: u32) {}

    fn segments(&self) -> (SegmentList, DepartedSegments) {
        Default::default()
    }

    fn memory_bytes(&self) -> usize {
        0
    }
}
