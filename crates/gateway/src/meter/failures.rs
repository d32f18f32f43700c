//! Failed requests of a backend.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the failed requests of a backend. A request that succeeds only reads, unless the one
/// before it has failed.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    total: AtomicU64,
    in_row: AtomicU64,
}

/// The failed requests of a backend.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FailureCounts {
    /// All of them.
    pub total: u64,
    /// Those since the last request that did not fail.
    pub in_row: u64,
}

impl Failures {
    pub(crate) fn count_failure(&self) {
        self.total.fetch_add(1, Ordering::Relaxed);
        self.in_row.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn note_success(&self) {
        if self.in_row.load(Ordering::Relaxed) > 0 {
            self.in_row.store(0, Ordering::Relaxed);
        }
    }

    pub(crate) fn read(&self) -> FailureCounts {
        FailureCounts {
            total: self.total.load(Ordering::Relaxed),
            in_row: self.in_row.load(Ordering::Relaxed),
        }
    }
}
