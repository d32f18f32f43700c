//! Sums over all records.
//!
//! Sums can be subtracted, extremes cannot. So the sums are kept in a form that never saturates,
//! from which the shown numbers follow, and the extremes of a smaller set of rows are read again.
//! That is rarely much work: a segment whose range lies within the range so far cannot widen it.

use super::visit::Sum;
use crate::column::{RowBits, Segment, Selection};

/// Sums and extremes over the selected records.
///
/// The sums are exact: bytes are added and removed in 128 bits, and only the member that is shown
/// is limited to 64. The extremes cannot be reduced by removing a record; a [`crate::Recount`]
/// reads them again from the segments that may contain them.
///
/// # Examples
///
/// ```
/// use weir_core::{Evaluation, Question, Totals};
///
/// let nothing = Evaluation::new(&Question::default());
/// assert_eq!(nothing.totals(), &Totals::default());
/// assert_eq!(nothing.totals().time_range_ns, None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// The number of records.
    ///
    /// Records without a time or a size are counted too.
    pub records: u64,
    /// The sum of the response sizes in bytes, or 2^64 - 1 if it is larger.
    ///
    /// A record without a size adds nothing.
    pub bytes_sent: u64,
    /// The number of records with a status of 400 to 599.
    ///
    /// 0 for records without a status, such as those of a firewall.
    pub errors: u64,
    /// The earliest and the latest time, in nanoseconds since 1970.
    ///
    /// Both are times of a record. `None` if no record has a time.
    pub time_range_ns: Option<(i64, i64)>,
    /// The smallest and the largest zone offset, in seconds east of UTC.
    ///
    /// If they differ, the log was written in more than one zone or across a change of the clock.
    pub offset_range_s: Option<(i32, i32)>,
    /// The sums without saturation.
    sum: Sum,
}

impl Totals {
    /// Returns totals with these sums and without extremes.
    pub(super) fn of_sum(sum: Sum) -> Self {
        let mut totals = Self::default();
        totals.add(sum);
        totals
    }

    /// Adds sums over other records.
    pub(super) fn add(&mut self, other: Sum) {
        self.sum.add(other);
        self.show();
    }

    /// Subtracts sums over records that were added before.
    pub(super) fn remove(&mut self, other: Sum) {
        self.sum.remove(other);
        self.show();
    }

    /// Sets the public members from the exact sums.
    fn show(&mut self) {
        (self.records, self.errors) = (self.sum.records, self.sum.errors);
        self.bytes_sent = self.sum.bytes_shown();
    }

    /// Returns the sums.
    pub(super) fn sum(&self) -> Sum {
        self.sum
    }

    /// Widens the ranges by the selected rows of a segment.
    pub(super) fn widen(&mut self, segment: &Segment, selection: &Selection) {
        let times = match selection {
            Selection::All(_) => segment.time_range_ns(),
            Selection::Rows(_) => segment.times().and_then(|times| times.range_ns_of(selection)),
        };
        widen(&mut self.time_range_ns, times);
        let offsets = segment.times().and_then(|times| times.offset_range_s_of(selection));
        widen(&mut self.offset_range_s, offsets);
    }

    /// Widens the ranges as [`Self::widen`] does, but reads the rows only if they might change the
    /// ranges.
    pub(super) fn widen_by_bits(&mut self, segment: &Segment, bits: &RowBits) {
        let is_known = segment.time_range_ns().is_none_or(|(first, last)| {
            self.time_range_ns.is_some_and(|(min, max)| min <= first && last <= max)
        });
        let is_offset_known = segment.times().is_none_or(|times| {
            let is_inside = |offset| {
                self.offset_range_s.is_some_and(|(min, max)| (min..=max).contains(&offset))
            };
            times.constant_offset_s().is_some_and(is_inside)
        });
        if bits.is_empty() || is_known && is_offset_known {
            return;
        }
        self.widen(segment, &bits.selection());
    }

    /// Adds the totals of other records.
    ///
    /// No record may be in both.
    pub fn merge(&mut self, other: &Self) {
        self.add(other.sum);
        widen(&mut self.time_range_ns, other.time_range_ns);
        widen(&mut self.offset_range_s, other.offset_range_s);
    }
}

/// The smallest range that contains both; `None` is an empty range.
#[inline]
fn widen<T: Ord + Copy>(range: &mut Option<(T, T)>, other: Option<(T, T)>) {
    *range = match (*range, other) {
        (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
        (one, None) | (None, one) => one,
    };
}
