//! The kinds and times of the segments of a data set.

use std::collections::{BTreeMap, BTreeSet};

use weir_core::{Segment, Snapshot, SnapshotSegment, TimeBounds};
use weir_view::{KindCount, RecordKind};

/// The kind and the times of each segment of the last snapshot. It is kept, so that an update reads
/// only new segments.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extents(Vec<Extent>);

#[derive(Debug, Clone, Copy)]
struct Extent {
    number: u64,
    kind: RecordKind,
    /// Offsets from UTC of the first and the last record, in seconds.
    offsets_s: [Option<i32>; 2],
    range_ns: Option<(i64, i64)>,
}

impl Extents {
    /// Removes the segments that left, and adds the new ones.
    pub(crate) fn update<S>(&mut self, snapshot: &Snapshot<S>) {
        let mut numbers = snapshot.segments.iter().map(|segment| segment.number).peekable();
        self.0.retain(|extent| {
            while numbers.next_if(|number| *number < extent.number).is_some() {}
            numbers.next_if_eq(&extent.number).is_some()
        });
        // Numbers only grow, so the new segments are the last ones.
        self.0.extend(snapshot.segments.iter_from(self.0.len()).map(Extent::of));
    }

    /// Returns the distinct offsets from UTC of the first and last record of each segment, in
    /// seconds.
    pub(crate) fn offsets_s(&self) -> Vec<i32> {
        let mut offsets_s: Vec<[Option<i32>; 2]> =
            self.0.iter().map(|extent| extent.offsets_s).collect();
        offsets_s.dedup();
        let distinct: BTreeSet<i32> = offsets_s.into_iter().flatten().flatten().collect();
        distinct.into_iter().collect()
    }

    /// Returns the number of unexpired rows of each kind.
    pub(crate) fn kinds<S>(&self, snapshot: &Snapshot<S>) -> Vec<KindCount> {
        let mut records = BTreeMap::<RecordKind, u64>::new();
        for (extent, segment) in self.0.iter().zip(snapshot.segments.iter()) {
            *records.entry(extent.kind).or_default() += segment.rows() as u64;
        }
        let count = |(kind, records): (RecordKind, u64)| KindCount { kind, records };
        records.into_iter().map(count).filter(|count| count.records > 0).collect()
    }

    /// Returns the first and the last time of the unexpired rows of a kind, in nanoseconds since
    /// 1970.
    pub(crate) fn time_range_ns<S>(
        &self,
        snapshot: &Snapshot<S>,
        kind: RecordKind,
    ) -> Option<(i64, i64)> {
        let range = |(extent, segment): (&Extent, &SnapshotSegment)| match segment.bounds {
            TimeBounds::ALL => extent.range_ns,
            bounds => bounds.time_range_ns(&segment.segment),
        };
        let is_of_kind = |(extent, _): &(&Extent, &SnapshotSegment)| extent.kind == kind;
        let extents = self.0.iter().zip(snapshot.segments.iter());
        let ranges = extents.filter(is_of_kind).filter_map(range);
        ranges.reduce(|(first, last), (from, to)| (first.min(from), last.max(to)))
    }
}

impl Extent {
    fn of(segment: &SnapshotSegment) -> Self {
        let SnapshotSegment { number, segment, .. } = segment;
        let last = segment.rows().checked_sub(1);
        Self {
            number: *number,
            kind: segment.kind().into(),
            offsets_s: [last.map(|_| 0), last].map(|row| offset_s(segment, row)),
            range_ns: segment.time_range_ns(),
        }
    }
}

fn offset_s(segment: &Segment, row: Option<usize>) -> Option<i32> {
    Some(segment.time(row?)?.offset_s)
}
