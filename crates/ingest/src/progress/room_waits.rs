//! The waits of a source for room in the queue.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time of all waits of one source. A wait in progress counts too, because it may take for
/// ever.
#[derive(Debug, Default)]
pub(super) struct RoomWaits(Mutex<WaitTimes>);

/// Both are under one lock, so that a wait that ends is never counted twice or not at all.
#[derive(Debug, Default)]
struct WaitTimes {
    /// The time of the waits that have ended.
    ended: Duration,
    /// When the wait in progress began.
    begun: Option<Instant>,
}

impl RoomWaits {
    /// Begins a wait, which ends when the guard is dropped.
    pub(super) fn begin(&self) -> RoomWait<'_> {
        self.lock().begun = Some(Instant::now());
        RoomWait(self)
    }

    pub(super) fn total(&self) -> Duration {
        let times = self.lock();
        times.ended + times.begun.map_or(Duration::ZERO, |begun| begun.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, WaitTimes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait in progress.
#[derive(Debug)]
pub(super) struct RoomWait<'w>(&'w RoomWaits);

impl Drop for RoomWait<'_> {
    fn drop(&mut self) {
        let mut times = self.0.lock();
        if let Some(begun) = times.begun.take() {
            times.ended += begun.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::RoomWaits;

    #[test]
    fn a_wait_counts_from_its_beginning() {
        let waits = RoomWaits::default();
        assert_eq!(waits.total(), Duration::ZERO);
        let begun = Instant::now();
        let wait = waits.begin();
        while waits.total() < Duration::from_millis(5) && begun.elapsed() < Duration::from_secs(20)
        {
            std::thread::yield_now();
        }
        let so_far = waits.total();
        assert!(so_far >= Duration::from_millis(5) && so_far <= begun.elapsed(), "{so_far:?}");
        drop(wait);
        let ended = waits.total();
        assert!(ended >= so_far && ended <= begun.elapsed(), "{ended:?}");
        assert_eq!(waits.total(), ended, "nothing waits any more");
    }
}
