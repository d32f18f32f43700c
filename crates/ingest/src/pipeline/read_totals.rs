//! Read counts, summed over several data sets.

use std::sync::Arc;

use weir_core::ReadCounts;
use weir_sync::Lock;

use crate::progress::BlockCounts;

/// Read counts, summed over data sets. Clones share the sums. They never decrease, even if a source
/// or a data set is removed.
///
/// One lock for all sums, so that each block is in all of them or in none. It is taken once for
/// each block.
#[derive(Debug, Clone, Default)]
pub struct ReadTotals(Arc<Lock<ReadCounts>>);

impl ReadTotals {
    /// Returns the sums so far.
    pub fn read_counts(&self) -> ReadCounts {
        *self.0.lock()
    }

    /// Adds the counts of a block.
    pub(super) fn add(&self, bytes: u64, block: &BlockCounts) {
        let mut sums = self.0.lock();
        sums.lines += block.lines;
        sums.records += block.records;
        sums.empty_lines += block.empty_lines;
        sums.unparsed_lines += block.unparsed_lines;
        sums.too_long_lines += block.too_long_lines;
        sums.bytes_read += bytes;
    }
}
