//! A leaky bucket in whole nanoseconds.
//!
//! CrowdSec counts tokens with floating-point numbers and rounds the missing time down to a
//! nanosecond (golang.org/x/time/rate, `AllowN`). A bucket therefore overflows exactly if a
//! nanosecond or more is missing. Counting whole nanoseconds gives the same result without
//! rounding.

/// The tokens of a bucket. Each token is room for one event, and takes `leak_ns` to come back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tokens {
    /// The tokens left, in nanoseconds of leaking.
    left_ns: i128,
    /// The time of the last event.
    last_ns: i64,
}

impl Tokens {
    /// The tokens of a new bucket.
    pub(super) fn full(capacity: u32, leak_ns: i64, now_ns: i64) -> Self {
        Self { left_ns: i128::from(capacity) * i128::from(leak_ns), last_ns: now_ns }
    }

    /// Takes a token for an event and returns whether there was one. An event older than the last
    /// one adds no tokens, and its time becomes the last time.
    pub(super) fn take(&mut self, capacity: u32, leak_ns: i64, now_ns: i64) -> bool {
        let leak_ns = i128::from(leak_ns);
        let elapsed_ns = (i128::from(now_ns) - i128::from(self.last_ns)).max(0);
        self.left_ns = (self.left_ns + elapsed_ns).min(i128::from(capacity) * leak_ns);
        self.last_ns = now_ns;
        let is_allowed = self.left_ns >= leak_ns;
        if is_allowed {
            self.left_ns -= leak_ns;
        }
        is_allowed
    }
}

/// The number of events in a bucket without a limit.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Level {
    /// In nanoseconds of leaking.
    held_ns: i128,
    last_ns: i64,
}

impl Level {
    /// Adds an event and returns the number of events in the bucket, including the new one.
    pub(super) fn add(&mut self, leak_ns: i64, now_ns: i64) -> f64 {
        let leak_ns = i128::from(leak_ns);
        let elapsed_ns = (i128::from(now_ns) - i128::from(self.last_ns)).max(0);
        self.held_ns = (self.held_ns - elapsed_ns).max(0) + leak_ns;
        self.last_ns = now_ns;
        self.held_ns as f64 / leak_ns as f64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Level, Tokens};

    /// The limiter of golang.org/x/time/rate, as directly as it can be written.
    fn naive(capacity: u32, leak_ns: i64, times: &[i64]) -> Vec<bool> {
        let limit = 1e9 / leak_ns as f64;
        let burst = f64::from(capacity);
        let (mut tokens, mut last) = (burst, times.first().copied().unwrap_or(0));
        let mut allowed = Vec::new();
        for now in times {
            let elapsed = (now - last).max(0);
            tokens = (tokens + elapsed as f64 / 1e9 * limit).min(burst) - 1.0;
            last = *now;
            let missing_ns = if tokens < 0.0 { (-tokens / limit * 1e9) as i64 } else { 0 };
            if missing_ns > 0 {
                tokens += 1.0;
            }
            allowed.push(missing_ns == 0);
        }
        allowed
    }

    proptest! {
        #[test]
        fn tokens_are_those_of_the_limiter(
            capacity in 1_u32..12,
            leak_s in 1_i64..20,
            gaps in proptest::collection::vec(-2_i64..15, 1..60),
        ) {
            // Whole seconds, which make ties.
            let mut now = 1_700_000_000;
            let times: Vec<i64> = gaps
                .iter()
                .map(|gap| {
                    now += gap;
                    now * 1_000_000_000
                })
                .collect();
            let leak_ns = leak_s * 1_000_000_000;
            let mut tokens = Tokens::full(capacity, leak_ns, times[0]);
            let taken: Vec<bool> =
                times.iter().map(|time| tokens.take(capacity, leak_ns, *time)).collect();
            prop_assert_eq!(taken, naive(capacity, leak_ns, &times));
        }

        #[test]
        fn a_bucket_overflows_first_when_the_level_is_over_its_capacity(
            capacity in 1_u32..12,
            gaps in proptest::collection::vec(0_i64..15, 1..60),
        ) {
            let leak_ns = 7_000_000_000;
            let mut now = 0;
            let mut tokens = Tokens::full(capacity, leak_ns, 0);
            let mut level = Level::default();
            for gap in gaps {
                now += gap * 1_000_000_000;
                let is_over = level.add(leak_ns, now) > f64::from(capacity);
                let is_allowed = tokens.take(capacity, leak_ns, now);
                prop_assert_eq!(is_over, !is_allowed);
                if is_over {
                    break;
                }
            }
        }
    }
}
