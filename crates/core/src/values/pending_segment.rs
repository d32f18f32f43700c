//! Segments on their way into a data set.
//!
//! Between sealing and appending, a segment is in neither of the two sets that protect ids: it is
//! not in the list of the data set, and its block is read. So it carries the guard of its block,
//! which keeps the generation of its ids from ending, until [`Values::admit`] has handed it over.

use super::generation::InFlightGuard;
use super::store::Values;
use crate::column::Segment;

/// A segment that was read but is not yet in its data set.
///
/// Until it is admitted, a sweep frees none of its ids. [`Values::admit`] makes it a [`Segment`].
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Block, BlockLimits, BlockReader, Format, Values};
///
/// let format = Arc::new(Format::parse("$remote_addr $status")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let read = reader.read(&Block::new(b"192.0.2.7 200\n".to_vec()), 0);
/// let resolved = reader.resolve(read, || &mut values);
/// let pending = reader.seal(resolved);
///
/// let segment = match values.admit(pending) {
///     Ok(segment) => segment,
///     Err(late) => values.admit_late(late),
/// };
/// assert_eq!(segment.rows(), 1);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
///
/// Dropping it without admitting it is harmless: its ids are then free for the next sweep, unless
/// other segments have them.
#[derive(Debug)]
pub struct PendingSegment {
    segment: Segment,
    guard: InFlightGuard,
}

impl PendingSegment {
    pub(crate) fn new(segment: Segment, guard: InFlightGuard) -> Self {
        Self { segment, guard }
    }

    /// Returns the segment, to inspect it before it is admitted.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Returns the segment, for a data set that never evicts values.
    pub fn into_segment(self) -> Segment {
        self.segment
    }
}

impl Values {
    /// Admits a segment to the data set. Before another sweep begins, the caller must put it in the
    /// list from which the next [`LiveIds`](super::LiveIds) are made.
    ///
    /// # Errors
    /// If the segment was read before the last sweep began. Pass it to [`Self::admit_late`], which
    /// needs exclusive access to the values.
    ///
    /// Takes constant time, so many threads can do it with shared access.
    pub fn admit(&self, pending: PendingSegment) -> Result<Segment, PendingSegment> {
        if pending.guard.generation() == self.generations.present() {
            Ok(pending.segment)
        } else {
            Err(pending)
        }
    }

    /// Admits a segment that may have been read before the last sweep began, and protects its
    /// values from that sweep.
    ///
    /// Takes time for each row. Needed only for the few segments that were in flight when a sweep
    /// began.
    pub fn admit_late(&mut self, pending: PendingSegment) -> Segment {
        for (id, codes) in pending.segment.text_columns() {
            if let Some(column) = self.columns.get_mut(id.index()) {
                column.dictionary.keep_codes(codes);
            }
        }
        pending.segment
    }
}
