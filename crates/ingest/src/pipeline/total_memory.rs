//! The memory of several data sets together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A limit on the memory that several data sets take together. Clones share it.
///
/// A data set is counted from [`DataSet::count_in`](super::DataSet::count_in) until it is dropped, with
/// what it took after the last block that was appended. At the limit its sources stop with
/// [`StopReason::MemoryFull`](crate::StopReason::MemoryFull), unless it keeps a window: the oldest
/// records of a window leave, and stopping a live feed would lose its newest. Blocks that were being
/// parsed when the limit was reached are appended beyond it, so each data set may exceed it by
/// [`PipelineOptions::queue_bytes_max`](super::PipelineOptions::queue_bytes_max).
#[derive(Debug, Clone)]
pub struct TotalMemory(Arc<Total>);

#[derive(Debug)]
struct Total {
    bytes: AtomicUsize,
    bytes_max: usize,
}

impl TotalMemory {
    /// A limit of `bytes_max` bytes, with nothing counted yet.
    pub fn new(bytes_max: usize) -> Self {
        Self(Arc::new(Total { bytes: AtomicUsize::new(0), bytes_max }))
    }

    /// The memory that the data sets take, in bytes.
    pub fn bytes(&self) -> usize {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// The memory that they may take, in bytes.
    pub fn bytes_max(&self) -> usize {
        self.0.bytes_max
    }

    /// The memory that is left, in bytes.
    pub fn free_bytes(&self) -> usize {
        self.bytes_max().saturating_sub(self.bytes())
    }

    /// Whether nothing is left.
    pub fn is_full(&self) -> bool {
        self.free_bytes() == 0
    }
}

/// The part of one data set in a total.
#[derive(Debug)]
pub(super) struct CountedMemory {
    total: TotalMemory,
    bytes: AtomicUsize,
}

impl CountedMemory {
    pub(super) fn new(total: TotalMemory) -> Self {
        Self { total, bytes: AtomicUsize::new(0) }
    }

    pub(super) fn total(&self) -> &TotalMemory {
        &self.total
    }

    /// States what the data set takes now.
    pub(super) fn set(&self, bytes: usize) {
        let before = self.bytes.swap(bytes, Ordering::Relaxed);
        // Wraps around for a difference below zero, and so does the sum.
        self.total.0.bytes.fetch_add(bytes.wrapping_sub(before), Ordering::Relaxed);
    }
}

impl Drop for CountedMemory {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::{CountedMemory, TotalMemory};

    #[test]
    fn the_total_is_the_sum_of_what_is_there() {
        let total = TotalMemory::new(100);
        let (first, second) =
            (CountedMemory::new(total.clone()), CountedMemory::new(total.clone()));
        for (bytes, expected) in [(70, 100), (20, 50), (0, 30), (71, 101)] {
            second.set(30);
            first.set(bytes);
            assert_eq!((total.bytes(), total.is_full()), (expected, expected >= 100));
            assert_eq!(total.free_bytes(), 100_usize.saturating_sub(expected));
        }
        drop(first);
        assert_eq!(total.bytes(), 30);
        drop(second);
        assert_eq!(total.bytes(), 0);
    }
}
