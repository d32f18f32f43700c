//! Memory that several threads share.

use std::sync::atomic::{AtomicI64, Ordering};

/// A number of bytes that may be taken, and given back.
#[derive(Debug)]
pub(crate) struct Budget {
    left: AtomicI64,
}

impl Budget {
    /// So many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self { left: AtomicI64::new(i64::try_from(bytes).unwrap_or(i64::MAX)) }
    }

    /// Takes bytes; false where fewer are left, of which none are taken then.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        if self.left.load(Ordering::Relaxed) < bytes {
            return false;
        }
        // Threads that do so at the same time may take a value each too many.
        self.left.fetch_sub(bytes, Ordering::Relaxed);
        true
    }

    /// Gives back what was taken.
    pub(crate) fn give_back(&self, bytes: usize) {
        self.left.fetch_add(i64::try_from(bytes).unwrap_or(0), Ordering::Relaxed);
    }
}
