//! A memory limit for distinct values.

/// The memory that the distinct values of some tallies may take, and a reserve for values that come
/// late; see [`weir_core::LateValues`].
#[derive(Debug)]
pub struct MemoryBudget {
    left: usize,
    reserve: usize,
}

/// The part of the memory that is the reserve: an eighth.
const RESERVE_SHARE: usize = 8;

/// The part of the reserve that one tally takes. There are as many kinds of records, each of which
/// has a tally.
const RESERVE_SHARE_OF_TALLY: usize = weir_core::RecordKind::ALL.len();

impl MemoryBudget {
    /// A budget of `bytes`.
    pub fn new(bytes: usize) -> Self {
        let reserve = bytes / RESERVE_SHARE;
        Self { left: bytes - reserve, reserve }
    }

    /// Whether `bytes` are left, without the reserve.
    pub(super) fn has(&self, bytes: usize) -> bool {
        bytes <= self.left
    }

    /// Takes bytes. Returns false, and takes none, if fewer are left.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let has_room = self.has(bytes);
        if has_room {
            self.left -= bytes;
        }
        has_room
    }

    /// Gives back bytes that were taken.
    pub(super) fn give_back(&mut self, bytes: usize) {
        self.left += bytes;
    }

    /// The part of the reserve for one tally, in bytes.
    pub(super) fn reserve_of_tally(&self) -> usize {
        self.reserve / RESERVE_SHARE_OF_TALLY
    }
}
