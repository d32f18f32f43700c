//! Times of the segments of a data set.

use std::collections::BTreeSet;

use weir_core::{Segment, Snapshot, SnapshotSegment, TimeBounds};

/// The times of each segment of the last snapshot, so that only new segments are read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extents(Vec<Extent>);

#[derive(Debug, Clone, Copy)]
struct Extent {
    number: u64,
    /// Offsets from UTC of the first and the last record, in seconds.
    offsets_s: [Option<i32>; 2],
    range_ns: Option<(i64, i64)>,
}

impl Extents {
    /// Forgets the segments that left, and adds the new ones.
    pub(crate) fn update<S>(&mut self, snapshot: &Snapshot<S>) {
        let mut numbers = snapshot.segments.iter().map(|segment| segment.number).peekable();
        self.0.retain(|extent| {
            while numbers.next_if(|number| *number < extent.number).is_some() {}
            numbers.next_if_eq(&extent.number).is_some()
        });
        // Numbers only grow, so the new segments are the last ones.
        self.0.extend(snapshot.segments.iter_from(self.0.len()).map(Extent::of));
    }

    /// The offsets from UTC of the first and the last record of each segment, in seconds.
    pub(crate) fn offsets_s(&self) -> Vec<i32> {
        let mut offsets_s: Vec<[Option<i32>; 2]> =
            self.0.iter().map(|extent| extent.offsets_s).collect();
        offsets_s.dedup();
        let distinct: BTreeSet<i32> = offsets_s.into_iter().flatten().flatten().collect();
        distinct.into_iter().collect()
    }

    /// The first and the last time of all rows that have not expired, in nanoseconds since 1970.
    pub(crate) fn time_range_ns<S>(&self, snapshot: &Snapshot<S>) -> Option<(i64, i64)> {
        let range = |(extent, segment): (&Extent, &SnapshotSegment)| match segment.bounds {
            TimeBounds::ALL => extent.range_ns,
            bounds => bounds.time_range_ns(&segment.segment),
        };
        let ranges = self.0.iter().zip(snapshot.segments.iter()).filter_map(range);
        ranges.reduce(|(first, last), (from, to)| (first.min(from), last.max(to)))
    }
}

impl Extent {
    fn of(segment: &SnapshotSegment) -> Self {
        let SnapshotSegment { number, segment, .. } = segment;
        let last = segment.rows().checked_sub(1);
        Self {
            number: *number,
            offsets_s: [last.map(|_| 0), last].map(|row| offset_s(segment, row)),
            range_ns: segment.time_range_ns(),
        }
    }
}

fn offset_s(segment: &Segment, row: Option<usize>) -> Option<i32> {
    Some(segment.time(row?)?.offset_s)
}
