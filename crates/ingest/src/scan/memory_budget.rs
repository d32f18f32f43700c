//! A memory limit that several threads share.

use std::sync::atomic::{AtomicI64, Ordering};

/// A number of bytes that threads take from and give back to.
///
/// The limit is soft: threads that take at the same moment may each take one value too many.
#[derive(Debug)]
pub struct MemoryBudget {
    left: AtomicI64,
}

impl MemoryBudget {
    /// A budget of `bytes`.
    pub fn new(bytes: usize) -> Self {
        Self { left: AtomicI64::new(i64::try_from(bytes).unwrap_or(i64::MAX)) }
    }

    /// Takes bytes. Returns false, and takes none, if fewer are left.
    pub fn take(&self, bytes: usize) -> bool {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        if self.left.load(Ordering::Relaxed) < bytes {
            return false;
        }
        self.left.fetch_sub(bytes, Ordering::Relaxed);
        true
    }

    /// Gives back bytes that were taken.
    pub fn give_back(&self, bytes: usize) {
        self.left.fetch_add(i64::try_from(bytes).unwrap_or(0), Ordering::Relaxed);
    }
}
