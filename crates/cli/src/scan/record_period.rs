//! The period of the records that were read.

use weir_core::{Timestamp, Zone};

/// The first and the last time of some records, for a note if none of them is in the requested
/// period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RecordPeriod(Option<(Timestamp, Timestamp)>);

impl RecordPeriod {
    /// Adds the time of a record.
    pub(crate) fn add(&mut self, time: Timestamp) {
        self.merge(Self(Some((time, time))));
    }

    /// Adds the records of another part of the log.
    pub(crate) fn merge(&mut self, other: Self) {
        let Some((other_first, other_last)) = other.0 else { return };
        let (first, last) = self.0.get_or_insert((other_first, other_last));
        if other_first.unix_ns < first.unix_ns {
            *first = other_first;
        }
        if other_last.unix_ns > last.unix_ns {
            *last = other_last;
        }
    }

    /// The first and the last time, in nanoseconds since 1970, and the zone of the first.
    pub(crate) fn range_ns(self) -> Option<((i64, i64), Zone)> {
        let (first, last) = self.0?;
        Some(((first.unix_ns, last.unix_ns), Zone::fixed(first.offset_s)))
    }
}
