//! The waits of a source for room in the queue.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time of all waits of one source. A wait in progress counts too, because it may take for ever.
#[derive(Debug)]
pub(super) struct RoomWaits {
    origin: Instant,
    /// The time of those that have ended.
    ended_ns: AtomicU64,
    /// When the wait in progress began, since the origin, plus one; zero if there is none.
    begun_ns: AtomicU64,
}

impl Default for RoomWaits {
    fn default() -> Self {
        Self { origin: Instant::now(), ended_ns: AtomicU64::new(0), begun_ns: AtomicU64::new(0) }
    }
}

impl RoomWaits {
    /// Begins a wait, which ends when the guard is dropped.
    pub(super) fn begin(&self) -> RoomWait<'_> {
        let begun_ns = self.now_ns();
        self.begun_ns.store(begun_ns + 1, Ordering::Relaxed);
        RoomWait { waits: self, begun_ns }
    }

    pub(super) fn total(&self) -> Duration {
        let in_progress = match self.begun_ns.load(Ordering::Relaxed) {
            0 => 0,
            begun_ns => self.now_ns().saturating_sub(begun_ns - 1),
        };
        Duration::from_nanos(self.ended_ns.load(Ordering::Relaxed) + in_progress)
    }

    fn now_ns(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }
}

/// A wait in progress.
#[derive(Debug)]
pub(super) struct RoomWait<'w> {
    waits: &'w RoomWaits,
    begun_ns: u64,
}

impl Drop for RoomWait<'_> {
    fn drop(&mut self) {
        let time_ns = self.waits.now_ns().saturating_sub(self.begun_ns);
        self.waits.begun_ns.store(0, Ordering::Relaxed);
        self.waits.ended_ns.fetch_add(time_ns, Ordering::Relaxed);
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
