//! The idle time of a connection: the time in which it has completed no line.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// The idle time of a connection. The worker records completed lines; the reader checks the limit.
#[derive(Debug)]
pub(crate) struct IdleClock {
    start: Instant,
    /// When the last line was completed, in milliseconds from the start.
    last_line_ms: AtomicU64,
    /// Whether lines wait for the sink. That time does not count, because the sender cannot help
    /// it.
    is_held_back: AtomicBool,
}

impl IdleClock {
    pub(crate) fn new() -> Self {
        let (last_line_ms, is_held_back) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { start: Instant::now(), last_line_ms, is_held_back }
    }

    /// Records that lines wait for the sink.
    pub(crate) fn hold_back(&self) {
        self.is_held_back.store(true, Ordering::Relaxed);
    }

    /// Records that the sink took lines.
    pub(crate) fn complete_line(&self) {
        self.last_line_ms.store(self.start.elapsed().as_millis() as u64, Ordering::Relaxed);
        self.is_held_back.store(false, Ordering::Release);
    }

    /// Returns the time left until the connection has been idle for `limit`; zero if it has.
    pub(crate) fn time_left(&self, limit: Duration) -> Duration {
        if self.is_held_back.load(Ordering::Acquire) {
            return limit;
        }
        let last_line = Duration::from_millis(self.last_line_ms.load(Ordering::Relaxed));
        (last_line + limit).saturating_sub(self.start.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_lines_and_a_busy_sink_reset_the_clock() {
        const LIMIT: Duration = Duration::from_secs(10);
        let clock = IdleClock::new();
        tokio::time::advance(Duration::from_secs(7)).await;
        assert_eq!(clock.time_left(LIMIT), Duration::from_secs(3));
        clock.complete_line();
        tokio::time::advance(Duration::from_secs(7)).await;
        assert_eq!(clock.time_left(LIMIT), Duration::from_secs(3));
        clock.hold_back();
        tokio::time::advance(Duration::from_secs(70)).await;
        assert_eq!(clock.time_left(LIMIT), LIMIT);
        clock.complete_line();
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(clock.time_left(LIMIT), Duration::ZERO);
    }
}
