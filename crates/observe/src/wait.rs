//! Waits that count while they last.

use std::ops::Deref;
use std::time::{Duration, Instant};

use weir_sync::Lock;

/// The time of concurrent waits or pieces of work. One in progress counts too, because it may last
/// forever.
#[derive(Debug)]
pub struct WaitClock {
    origin: Instant,
    waits: Lock<Waits>,
}

/// All are under one lock, so that a wait that ends is never counted twice or not at all.
#[derive(Debug, Default)]
struct Waits {
    /// The total time of the waits that have ended.
    ended: Duration,
    /// The number of waits in progress.
    open: u64,
    /// The sum of their beginnings, each since the origin.
    begun_sum: Duration,
}

/// The waits of a clock at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaitTimes {
    /// The total time of the waits that have ended.
    pub ended: Duration,
    /// The number of waits in progress.
    pub open: u64,
    /// How long they have lasted, all together.
    pub open_time: Duration,
}

/// A wait in progress, which ends when this is dropped.
#[derive(Debug)]
pub struct OpenWait<C: Deref<Target = WaitClock>> {
    clock: C,
    begun: Instant,
}

impl Default for WaitClock {
    fn default() -> Self {
        Self { origin: Instant::now(), waits: Lock::default() }
    }
}

impl WaitClock {
    /// Begins a wait now, until the returned value is dropped.
    pub fn time<C: Deref<Target = Self>>(clock: C) -> OpenWait<C> {
        let begun = Instant::now();
        clock.begin(begun);
        OpenWait { clock, begun }
    }

    /// Begins a wait. [`Self::end`] or [`Self::withdraw`] with the same instant ends it.
    pub fn begin(&self, begun: Instant) {
        let mut waits = self.waits.lock();
        waits.open += 1;
        waits.begun_sum += self.since_origin(begun);
    }

    /// Ends the wait that began at this instant.
    pub fn end(&self, begun: Instant, ended: Instant) {
        let mut waits = self.waits.lock();
        waits.close(self.since_origin(begun));
        waits.ended += ended.saturating_duration_since(begun);
    }

    /// Ends the wait that began at this instant. Its time does not count any more.
    pub fn withdraw(&self, begun: Instant) {
        self.waits.lock().close(self.since_origin(begun));
    }

    /// Returns the time of all waits so far.
    pub fn total(&self) -> Duration {
        let times = self.times();
        times.ended + times.open_time
    }

    /// Returns the waits so far.
    pub fn times(&self) -> WaitTimes {
        let waits = self.waits.lock();
        // Read under the lock, so that no wait began later.
        waits.times(self.origin.elapsed())
    }

    fn since_origin(&self, time: Instant) -> Duration {
        time.saturating_duration_since(self.origin)
    }
}

impl Waits {
    fn close(&mut self, begun: Duration) {
        self.open = self.open.saturating_sub(1);
        self.begun_sum = self.begun_sum.saturating_sub(begun);
    }

    /// Returns the waits at a time since the origin.
    fn times(&self, now: Duration) -> WaitTimes {
        let open_now = now.as_nanos() * u128::from(self.open);
        let open_ns = open_now.saturating_sub(self.begun_sum.as_nanos());
        let open_time = Duration::from_nanos_u128(open_ns);
        WaitTimes { ended: self.ended, open: self.open, open_time }
    }
}

impl<C: Deref<Target = WaitClock>> Drop for OpenWait<C> {
    fn drop(&mut self) {
        self.clock.end(self.begun, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{WaitClock, WaitTimes};

    #[test]
    fn a_wait_counts_from_its_beginning() {
        let clock = WaitClock::default();
        assert_eq!(clock.times(), WaitTimes::default());
        let begun = Instant::now();
        let both = [WaitClock::time(&clock), WaitClock::time(&clock)];
        while clock.total() < Duration::from_millis(10) && begun.elapsed() < Duration::from_secs(60)
        {
            std::thread::yield_now();
        }
        let so_far = clock.times();
        assert_eq!((so_far.open, so_far.ended), (2, Duration::ZERO));
        assert!(so_far.open_time >= Duration::from_millis(10), "{so_far:?}");
        assert!(so_far.open_time <= 2 * begun.elapsed(), "{so_far:?}");
        drop(both);
        let ended = clock.total();
        assert!(ended >= so_far.open_time && ended <= 2 * begun.elapsed(), "{ended:?}");
        assert_eq!(clock.total(), ended, "nothing waits any more");
    }

    #[test]
    fn many_waits_for_days_are_exact() {
        let clock = WaitClock::default();
        let day = Duration::from_secs(86_400);
        let at = |days: u32| clock.origin + days * day;
        (0..100_000).for_each(|_| clock.begin(at(100)));
        let times = clock.waits.lock().times(101 * day);
        assert_eq!((times.open, times.open_time), (100_000, 100_000 * day));
        (0..99_999).for_each(|_| clock.withdraw(at(100)));
        clock.end(at(100), at(103));
        let times = clock.waits.lock().times(104 * day);
        assert_eq!(times, WaitTimes { ended: 3 * day, ..WaitTimes::default() });
    }
}
