//! Segments on their way into a data set.

use super::generation::InFlightGuard;
use super::store::Values;
use crate::column::Segment;

/// A segment between its reader and its data set.
///
/// Until it is admitted, a sweep frees no id that it uses. [`Values::admit`] makes it a
/// [`Segment`].
#[derive(Debug)]
pub struct PendingSegment {
    segment: Segment,
    guard: InFlightGuard,
}

impl PendingSegment {
    pub(crate) fn new(segment: Segment, guard: InFlightGuard) -> Self {
        Self { segment, guard }
    }

    /// The segment, for a look at it before it is admitted.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// The segment, for a data set that never evicts values.
    pub fn into_segment(self) -> Segment {
        self.segment
    }
}

impl Values {
    /// Admits a segment to the data set. The caller must put it where the next
    /// [`LiveIds`](super::LiveIds) find it, before another sweep begins.
    ///
    /// # Errors
    /// If the segment was read before the last sweep began: [`Self::admit_late`] takes it, which
    /// needs the values for itself.
    pub fn admit(&self, pending: PendingSegment) -> Result<Segment, PendingSegment> {
        if pending.guard.generation() == self.generations.present() {
            Ok(pending.segment)
        } else {
            Err(pending)
        }
    }

    /// Admits a segment that may have been read before the last sweep began: protects its values
    /// from that sweep.
    pub fn admit_late(&mut self, pending: PendingSegment) -> Segment {
        for (id, codes) in pending.segment.text_columns() {
            if let Some(column) = self.columns.get_mut(id.index()) {
                column.dictionary.keep_codes(codes);
            }
        }
        pending.segment
    }
}
