//! Read counts, summed over several data sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_core::ReadCounts;

use crate::progress::BlockCounts;

/// Read counts, summed over data sets. Clones share the sums. They never decrease, even if a source
/// or a data set is removed.
#[derive(Debug, Clone, Default)]
pub struct ReadTotals(Arc<Totals>);

#[derive(Debug, Default)]
struct Totals {
    bytes: AtomicU64,
    lines: AtomicU64,
    records: AtomicU64,
    unparsed_lines: AtomicU64,
    too_long_lines: AtomicU64,
}

impl ReadTotals {
    /// Returns the sums so far.
    pub fn read_counts(&self) -> ReadCounts {
        let Totals { bytes, lines, records, unparsed_lines, too_long_lines } = &*self.0;
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        ReadCounts {
            lines: load(lines),
            records: load(records),
            unparsed_lines: load(unparsed_lines),
            too_long_lines: load(too_long_lines),
            bytes_read: load(bytes),
        }
    }

    /// Adds the counts of a block.
    pub(super) fn add(&self, bytes: u64, block: &BlockCounts) {
        for (sum, number) in [
            (&self.0.bytes, bytes),
            (&self.0.lines, block.lines),
            (&self.0.records, block.records),
            (&self.0.unparsed_lines, block.unparsed_lines),
            (&self.0.too_long_lines, block.too_long_lines),
        ] {
            sum.fetch_add(number, Ordering::Relaxed);
        }
    }
}
