//! Permits that bound the number of journals.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most journals at a time. If all are full and their requests have long heads, they take 40
/// MB.
pub(super) const JOURNALS_MAX: usize = 128;

/// The permits for journals. They are lock-free: ten thousand feeds may request one at each of
/// their steps, and most are denied.
#[derive(Debug, Default)]
pub(super) struct JournalPermits(Arc<AtomicUsize>);

/// The permit of one journal. Dropping it returns the permit.
#[derive(Debug)]
pub(super) struct JournalPermit(Arc<AtomicUsize>);

impl JournalPermits {
    /// Takes a permit; `None` if there is none left.
    pub(super) fn take(&self) -> Option<JournalPermit> {
        let taken = |count| (count < JOURNALS_MAX).then_some(count + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).ok()?;
        Some(JournalPermit(self.0.clone()))
    }
}

impl Drop for JournalPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
