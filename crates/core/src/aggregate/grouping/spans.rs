//! Spans of time that records are grouped by.

use super::FIRST_ID;
use crate::column::{ABSENT, Segment, Selection, Times};

/// Spans of time, each of which ends where the next one begins.
///
/// # Examples
///
/// ```
/// use weir_core::TimeSpans;
///
/// let spans = TimeSpans::new(vec![10, 20, 40]);
/// assert_eq!(spans.len(), 2);
/// assert_eq!([9, 10, 39, 40].map(|time_ns| spans.find(time_ns)), [None, Some(0), Some(1), None]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeSpans(Vec<i64>);

impl TimeSpans {
    /// The spans between these bounds, in nanoseconds since 1970 and in ascending order.
    pub fn new(mut bounds_ns: Vec<i64>) -> Self {
        bounds_ns.sort_unstable();
        bounds_ns.dedup();
        Self(bounds_ns)
    }

    /// The number of spans.
    pub fn len(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    /// Whether there is no span.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the span of a time, counted from 0.
    pub fn find(&self, time_ns: i64) -> Option<usize> {
        let after = self.0.partition_point(|bound| *bound <= time_ns);
        after.checked_sub(1).filter(|span| *span < self.len())
    }

    /// Calls `visit` with the span of each selected row, in order.
    pub fn for_each(
        &self,
        segment: &Segment,
        selection: &Selection,
        mut visit: impl FnMut(Option<usize>),
    ) {
        let Some(times) = segment.times() else {
            return selection.for_each(|_| visit(None));
        };
        // Neighbouring rows are mostly in the same span.
        let mut last = (i64::MAX..i64::MAX, None);
        times.instants().for_each(selection, |number| {
            let Some(time_ns) = number.map(Times::decode_instant) else { return visit(None) };
            if !last.0.contains(&time_ns) {
                let span = self.find(time_ns);
                let bounds = span.map_or(i64::MAX..i64::MAX, |at| self.0[at]..self.0[at + 1]);
                last = (bounds, span);
            }
            visit(last.1);
        });
    }

    /// Replaces `ids` by the ids of the spans of the selected rows.
    pub(super) fn ids_of(&self, segment: &Segment, selection: &Selection, ids: &mut Vec<u32>) {
        ids.clear();
        self.for_each(segment, selection, |span| {
            ids.push(span.map_or(ABSENT, |span| FIRST_ID + span as u32));
        });
    }
}
