//! Permits that bound the number of captures in progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most captures in progress at a time. If all are full and their requests have long heads, they
/// take 40 MB.
pub(super) const OPEN_MAX: usize = 128;

/// The permits for captures in progress. They are lock-free: ten thousand feeds may request one at
/// each of their steps, and most are denied.
#[derive(Debug, Default)]
pub(super) struct CapturePermits(Arc<AtomicUsize>);

/// The permit of one capture. Dropping it returns the permit.
#[derive(Debug)]
pub(super) struct CapturePermit(Arc<AtomicUsize>);

impl CapturePermits {
    /// Takes a permit; `None` if there is none left.
    pub(super) fn take(&self) -> Option<CapturePermit> {
        let taken = |count| (count < OPEN_MAX).then_some(count + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).ok()?;
        Some(CapturePermit(self.0.clone()))
    }
}

impl Drop for CapturePermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
