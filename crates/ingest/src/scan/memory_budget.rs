//! A memory limit for distinct values.

/// The memory that the distinct values of some tallies may take, with a reserve for values that
/// come late; see [`weir_core::LateValues`].
#[derive(Debug)]
pub struct MemoryBudget {
    left: usize,
    reserve: usize,
}

/// The divisor of the memory for the reserve: an eighth.
const RESERVE_SHARE: usize = 8;

/// The divisor of the reserve for one tally. There is one tally for each kind of records.
const RESERVE_SHARE_OF_TALLY: usize = weir_core::RecordKind::ALL.len();

impl MemoryBudget {
    /// A budget of `bytes`.
    pub fn new(bytes: usize) -> Self {
        let reserve = bytes / RESERVE_SHARE;
        Self { left: bytes - reserve, reserve }
    }

    /// Whether `bytes` are left besides the reserve.
    pub(super) fn has(&self, bytes: usize) -> bool {
        bytes <= self.left
    }

    /// Takes bytes from the budget. Returns false and takes none if fewer are left.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let has_room = self.has(bytes);
        if has_room {
            self.left -= bytes;
        }
        has_room
    }

    /// Returns bytes to the budget.
    pub(super) fn give_back(&mut self, bytes: usize) {
        self.left += bytes;
    }

    /// Returns the part of the reserve for one tally, in bytes.
    pub(super) fn reserve_of_tally(&self) -> usize {
        self.reserve / RESERVE_SHARE_OF_TALLY
    }
}
