//! The order of the lines of a data set: by source, and by offset within a source.

use std::ops::Range;
use std::sync::Arc;

use weir_core::{RowBits, Segment, SnapshotSegment};

/// Segments of one source whose lines interleave. Usually there is only one, and never more than
/// one block's segments.
pub(crate) type SegmentGroup<'a> = Vec<&'a SnapshotSegment>;

/// Groups segments and puts the groups in line order.
pub(crate) fn in_line_order<'a>(
    segments: impl IntoIterator<Item = &'a SnapshotSegment>,
) -> Vec<SegmentGroup<'a>> {
    let mut ordered: Vec<&SnapshotSegment> =
        segments.into_iter().filter(|segment| segment.segment.rows() > 0).collect();
    ordered.sort_by_key(|it| (it.segment.source(), it.segment.line_offset(0)));
    let mut groups: Vec<SegmentGroup<'a>> = Vec::new();
    let mut last_line = (0, 0);
    for segment in ordered {
        let (source, first) = (segment.segment.source(), segment.segment.line_offset(0));
        let end = (source, segment.segment.line_offset(segment.segment.rows() - 1));
        match groups.last_mut() {
            Some(group) if (source, first) < last_line => group.push(segment),
            _ => groups.push(vec![segment]),
        }
        last_line = last_line.max(end);
    }
    groups
}

/// Returns the selected rows of a group with these numbers, in line order. Each row is given as the
/// index of its segment in the group and its row number there.
pub(crate) fn rows_in_line_order(
    group: &[(&Segment, Arc<RowBits>)],
    numbers: Range<usize>,
) -> Vec<(usize, usize)> {
    let mut places: Vec<(usize, usize)> = Vec::new();
    let alone = group.len() == 1;
    for (index, (_, rows)) in group.iter().enumerate() {
        let mut number = 0;
        rows.selection().for_each(|row| {
            // All rows have to be sorted, unless there is only one segment.
            if !alone || numbers.contains(&number) {
                places.push((index, row));
            }
            number += 1;
        });
    }
    if alone {
        return places;
    }
    places.sort_by_key(|(index, row)| group[*index].0.line_offset(*row));
    places.drain(numbers).collect()
}
