//! The counter of HAProxy's rates.

use super::limit::Limit;

/// The counter of HAProxy, with times in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrequencyCounter {
    tick: i64,
    current: u64,
    previous: u64,
    /// Whether periods begin at odd milliseconds since 1970.
    is_odd: bool,
}

impl FrequencyCounter {
    pub(super) fn new(is_odd: bool) -> Self {
        Self { tick: i64::MIN / 4, current: 0, previous: 0, is_odd }
    }

    /// The period of a limit, in milliseconds.
    pub(super) fn period_ms(limit: &Limit) -> i64 {
        (limit.window_ns / 1_000_000) as i64
    }

    /// Counts a request and returns the rate with it: `update_freq_ctr_period` and
    /// `read_freq_ctr_period`.
    pub(super) fn count(&mut self, now: i64, period: i64) -> u64 {
        match now - self.tick {
            age if age < period => self.current += 1,
            age if age < 2 * period => self.begin(self.tick + period, self.current),
            _ => self.begin(now, 0),
        }
        self.rate(now, period)
    }

    /// The rate within the period of the last request.
    pub(super) fn rate(&self, now: i64, period: i64) -> u64 {
        let remain = (self.tick + period - now).max(0) as u128;
        let part = u128::from(self.previous) * remain / period.max(1) as u128;
        self.current + part as u64
    }

    /// Whether both periods are over.
    pub(super) fn is_over(&self, now: i64, period: i64) -> bool {
        now - self.tick >= 2 * period
    }

    /// The first time at which so many more requests make a rate of `limit` at most, if no other
    /// comes before; the end of both periods if there is none.
    pub(super) fn time_of_rate(&self, more: u64, limit: u64, period: i64) -> i64 {
        let end = self.tick + period;
        // The part of the count before that may remain: `previous * remain / period`, rounded down,
        // is at most the room.
        let remain = |counted: u64, previous: u64| {
            let room = u128::from(limit.checked_sub(counted)?);
            let most = ((room + 1) * period.max(1) as u128 - 1) / u128::from(previous.max(1));
            Some(i64::try_from(most).unwrap_or(i64::MAX).min(period))
        };
        if let Some(remain) = remain(self.current.saturating_add(more), self.previous) {
            return end - remain;
        }
        end + period - remain(more, self.current).unwrap_or(0)
    }

    /// Begins a period with a request. `curr_tick & ~1` cuts its beginning to an even millisecond
    /// of HAProxy's clock.
    fn begin(&mut self, tick: i64, previous: u64) {
        self.tick = tick - (tick - i64::from(self.is_odd)).rem_euclid(2);
        (self.previous, self.current) = (previous, 1);
    }
}
