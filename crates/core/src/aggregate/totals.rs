//! Sums over all records.

use super::row_values::RowValues;
use crate::column::{Segment, decode_offset, decode_time};
use crate::filter::Selection;

/// Sums and extremes over the selected records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// Records.
    pub records: u64,
    /// Sum of the response sizes in bytes.
    pub bytes_sent: u64,
    /// Records with a status of 400 to 599.
    pub errors: u64,
    /// Earliest and latest time, in nanoseconds since 1970.
    pub time_range_ns: Option<(i64, i64)>,
    /// Smallest and largest zone offset, in seconds east of UTC.
    pub offset_range_s: Option<(i32, i32)>,
}

impl Totals {
    /// Adds the selected rows of a segment.
    pub(super) fn update(&mut self, segment: &Segment, selection: &Selection, rows: &RowValues) {
        self.records += rows.sum.count;
        self.bytes_sent = self.bytes_sent.saturating_add(rows.sum.bytes_sent);
        self.errors += rows.sum.errors;
        let times = match selection {
            Selection::All(_) => segment.time_range_ns(),
            Selection::Rows(_) => {
                let range = segment.time.as_ref().and_then(|times| times.range(selection));
                range.map(|(first, last)| (decode_time(first), decode_time(last)))
            }
        };
        widen(&mut self.time_range_ns, times);
        let offsets = segment.offset.as_ref().and_then(|offsets| offsets.range(selection));
        let offsets = offsets.map(|(min, max)| (decode_offset(min), decode_offset(max)));
        widen(&mut self.offset_range_s, offsets);
    }

    /// Adds the sums over other records.
    pub fn merge(&mut self, other: &Self) {
        self.records += other.records;
        self.bytes_sent = self.bytes_sent.saturating_add(other.bytes_sent);
        self.errors += other.errors;
        widen(&mut self.time_range_ns, other.time_range_ns);
        widen(&mut self.offset_range_s, other.offset_range_s);
    }
}

#[inline]
fn widen<T: Ord + Copy>(range: &mut Option<(T, T)>, other: Option<(T, T)>) {
    *range = match (*range, other) {
        (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
        (one, None) | (None, one) => one,
    };
}
