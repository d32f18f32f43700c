//! The memory of several data sets together.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// A limit on the memory that several data sets take together. Clones share it.
///
/// A data set is counted from [`DataSet::count_in`](super::DataSet::count_in) until it is dropped,
/// with the memory that it took after its last appended block. At the limit
/// [another data set may be dropped](Self::make_room_with). Otherwise the sources stop with
/// [`StopReason::MemoryFull`](crate::StopReason::MemoryFull), unless their data set keeps a window:
/// the oldest records of a window expire, and stopping a live feed would lose its newest. Blocks
/// that were being parsed when the limit was reached are appended beyond it, so each data set may
/// exceed it by the memory of its queue.
#[derive(Debug, Clone)]
pub struct TotalMemory(Arc<Total>);

struct Total {
    bytes: AtomicUsize,
    bytes_max: usize,
    room_maker: OnceLock<RoomMaker>,
}

/// Drops a data set that may go. Returns false if there is none.
type RoomMaker = Box<dyn Fn() -> bool + Send + Sync>;

impl fmt::Debug for Total {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Total")
            .field("bytes", &self.bytes)
            .field("bytes_max", &self.bytes_max)
            .finish_non_exhaustive()
    }
}

impl TotalMemory {
    /// A limit of `bytes_max` bytes, with nothing counted yet.
    pub fn new(bytes_max: usize) -> Self {
        let (bytes, room_maker) = (AtomicUsize::new(0), OnceLock::new());
        Self(Arc::new(Total { bytes, bytes_max, room_maker }))
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

    /// Sets the function that is called when a source is about to stop because nothing is left. It
    /// drops a data set that may go, with [`DataSet::leave_total`](super::DataSet::leave_total),
    /// and returns false if there is none. Only the first function counts.
    pub fn make_room_with(&self, room_maker: impl Fn() -> bool + Send + Sync + 'static) {
        let _is_first = self.0.room_maker.set(Box::new(room_maker));
    }

    /// Whether something is left, after data sets that may go were dropped as far as needed.
    pub(super) fn has_room(&self) -> bool {
        let make_room = || self.0.room_maker.get().is_some_and(|make_room| make_room());
        while self.is_full() {
            if !make_room() {
                return false;
            }
        }
        true
    }
}

/// The share of one data set in a total.
#[derive(Debug)]
pub(super) struct CountedMemory {
    total: TotalMemory,
    bytes: AtomicUsize,
    /// Whether the data set is being dropped, so that its memory does not count any more.
    has_left: AtomicBool,
}

impl CountedMemory {
    pub(super) fn new(total: TotalMemory) -> Self {
        Self { total, bytes: AtomicUsize::new(0), has_left: AtomicBool::new(false) }
    }

    pub(super) fn total(&self) -> &TotalMemory {
        &self.total
    }

    /// Sets the memory that the data set takes now.
    pub(super) fn set(&self, bytes: usize) {
        let has_left = || self.has_left.load(Ordering::SeqCst);
        self.replace(if has_left() { 0 } else { bytes });
        // The data set may have left since the check. Then the last of the two that replace the
        // number finds that out.
        if has_left() {
            self.replace(0);
        }
    }

    /// Counts nothing from now on.
    pub(super) fn leave(&self) {
        self.has_left.store(true, Ordering::SeqCst);
        self.set(0);
    }

    fn replace(&self, bytes: usize) {
        let before = self.bytes.swap(bytes, Ordering::SeqCst);
        // A negative difference wraps around, and so does the sum, so the total is right.
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
    use std::sync::{Arc, Mutex};

    use super::{CountedMemory, TotalMemory};

    #[test]
    fn the_total_is_the_sum_of_the_shares() {
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

    #[test]
    fn data_sets_leave_until_there_is_room() {
        let total = TotalMemory::new(100);
        let sets = [60, 0, 70].map(|bytes| {
            let counted = CountedMemory::new(total.clone());
            counted.set(bytes);
            Arc::new(counted)
        });
        assert!(!total.has_room(), "nothing makes room");
        let leaving = Mutex::new(sets.to_vec());
        total.make_room_with(move || {
            let next = leaving.lock().unwrap().pop();
            next.is_some_and(|set| {
                set.leave();
                true
            })
        });
        assert!(total.has_room());
        assert_eq!(total.bytes(), 60, "the last one was enough");
        sets[2].set(10);
        sets[0].set(100);
        assert_eq!(total.bytes(), 100, "one that has left does not count again");
        assert!(total.has_room());
        assert_eq!(total.bytes(), 0);
    }
}
