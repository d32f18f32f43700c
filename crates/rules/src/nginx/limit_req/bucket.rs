//! The arithmetic of one key of a zone.
//!
//! Follows `ngx_http_limit_req_lookup` and `ngx_http_limit_req_account`. Counts are in thousandths
//! of a request, times in milliseconds.

/// One request, in the unit of all counts.
pub(super) const REQUEST: i64 = 1_000;

/// How long a node must be idle before nginx frees it, in milliseconds.
pub(super) const IDLE_MS: i64 = 60_000;

/// A larger step back of the clock, in milliseconds, counts as one millisecond forward.
const CLOCK_STEP_MS_MAX: i64 = 60_000;

/// The rate of a zone, in thousandths of a request per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Rate(pub(super) i64);

/// The state of a key in a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bucket {
    excess: i64,
    last_ms: i64,
}

impl Bucket {
    /// The bucket after the first request of a key, which always passes.
    pub(super) fn first(now_ms: i64) -> Self {
        Self { excess: 0, last_ms: now_ms }
    }

    /// The excess that a request would make.
    #[inline]
    pub(super) fn excess_at(&self, now_ms: i64, rate: Rate) -> i64 {
        (self.excess - drained(self.elapsed_ms(now_ms), rate) + REQUEST).max(0)
    }

    /// Counts a request that caused this excess.
    #[inline]
    pub(super) fn count(&mut self, now_ms: i64, excess: i64) {
        if self.elapsed_ms(now_ms) != 0 {
            self.last_ms = now_ms;
        }
        self.excess = excess;
    }

    /// Whether the key has been idle for this time, and its count has drained.
    pub(super) fn is_idle(&self, now_ms: i64, idle_ms: i64, rate: Rate) -> bool {
        let elapsed_ms = (now_ms - self.last_ms).abs();
        elapsed_ms >= idle_ms && self.excess <= drained(elapsed_ms, rate)
    }

    fn elapsed_ms(&self, now_ms: i64) -> i64 {
        match now_ms - self.last_ms {
            elapsed if elapsed < -CLOCK_STEP_MS_MAX => 1,
            elapsed => elapsed.max(0),
        }
    }
}

/// The count that drains in a time, rounded down.
#[inline]
pub(super) fn drained(elapsed_ms: i64, rate: Rate) -> i64 {
    rate.0.saturating_mul(elapsed_ms) / 1_000
}

/// The delay of a request with this excess, in milliseconds, if the excess over `delay` waits.
#[inline]
pub(super) fn delay_ms(excess: i64, delay: i64, rate: Rate) -> i64 {
    if excess > delay { (excess - delay) * 1_000 / rate.0.max(1) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::{Bucket, Rate, delay_ms};

    /// The excess after each of some requests that all pass.
    fn excesses(rate: i64, times_ms: &[i64]) -> Vec<i64> {
        let mut bucket = Bucket::first(times_ms[0]);
        let mut excesses = vec![0];
        for time_ms in &times_ms[1..] {
            let excess = bucket.excess_at(*time_ms, Rate(rate));
            bucket.count(*time_ms, excess);
            excesses.push(excess);
        }
        excesses
    }

    #[test]
    fn excess_grows_by_one_request_and_drains_at_the_rate() {
        assert_eq!(excesses(10_000, &[0, 0, 0, 100, 100]), [0, 1_000, 2_000, 2_000, 3_000]);
        assert_eq!(excesses(1_000, &[0, 1, 3, 60_000]), [0, 999, 1_997, 0]);
    }

    #[test]
    fn drained_counts_are_rounded_down() {
        // 1r/m is 16 thousandths per second, not 16.67; 62 ms drain 0.99 of a thousandth.
        assert_eq!(excesses(16, &[0, 62, 125, 60_125]), [0, 1_000, 1_999, 2_039]);
    }

    #[test]
    fn a_clock_that_goes_back_drains_nothing() {
        assert_eq!(excesses(1_000, &[100_000, 90_000, 100_500]), [0, 1_000, 1_500]);
        // A step back by more than a minute counts as one millisecond, and sets the clock back.
        assert_eq!(excesses(1_000, &[100_000, 30_000, 30_500]), [0, 999, 1_499]);
    }

    #[test]
    fn delays_are_for_the_excess_over_the_delay() {
        assert_eq!(delay_ms(2_500, 0, Rate(10_000)), 250);
        assert_eq!(delay_ms(2_500, 2_000, Rate(10_000)), 50);
        assert_eq!(delay_ms(2_000, 2_000, Rate(10_000)), 0);
        assert_eq!(delay_ms(9, 0, Rate(10_000)), 0);
    }
}
