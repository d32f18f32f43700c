//! The clock for time and sleeping, which tests can replace.

use std::fmt::Debug;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A source of time.
pub trait Clock: Debug + Send + Sync {
    /// The time since a fixed instant. It never goes back.
    fn elapsed(&self) -> Duration;

    /// The time of day, in seconds since 1970.
    fn unix_s(&self) -> i64;

    /// Blocks the thread for this long.
    fn sleep(&self, duration: Duration);
}

/// The clock of this machine.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn unix_s(&self) -> i64 {
        seconds_since_1970(SystemTime::now())
    }

    fn sleep(&self, duration: Duration) {
        thread::sleep(duration);
    }
}

/// Converts a time to seconds since 1970. Earlier times become 0.
pub(crate) fn seconds_since_1970(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as i64
}

/// A clock for tests, in milliseconds. It advances only while a thread sleeps.
#[cfg(test)]
#[derive(Debug, Default)]
pub(crate) struct ManualClock(std::sync::atomic::AtomicU64);

#[cfg(test)]
impl Clock for ManualClock {
    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.0.load(std::sync::atomic::Ordering::Relaxed))
    }

    fn unix_s(&self) -> i64 {
        0
    }

    fn sleep(&self, duration: Duration) {
        let milliseconds = duration.as_millis() as u64;
        self.0.fetch_add(milliseconds, std::sync::atomic::Ordering::Relaxed);
    }
}
