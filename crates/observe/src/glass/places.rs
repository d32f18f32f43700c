//! The room for journals.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Journals at a time. With all of them full, of requests with long heads, they have 40 MB.
pub(super) const JOURNALS_MAX: usize = 128;

/// The places for journals. Whether one is free is known without a lock, because of ten thousand feeds all but a few
/// ask in vain, and each of them at each of its steps.
#[derive(Debug, Default)]
pub(super) struct Places(Arc<AtomicUsize>);

/// The place of a journal. It is free when it is dropped.
#[derive(Debug)]
pub(super) struct Place(Arc<AtomicUsize>);

impl Places {
    /// Takes a place, if one is free.
    pub(super) fn take(&self) -> Option<Place> {
        let taken = |count| (count < JOURNALS_MAX).then_some(count + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).ok()?;
        Some(Place(self.0.clone()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
