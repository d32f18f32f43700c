//! What the requests of a key must have done together.
//!
//! With times to the second, nothing may be known about any single request of a busy second. But
//! within a span of time, a limit lets no more through than its burst, one request, and what the
//! rate drains meanwhile. If the span holds more requests, the others were rejected, wherever in
//! their seconds they arrived. That also holds if further limits apply to them: a request that
//! passes all limits raises the level of each.

use super::bucket::Rate;
use super::level::{Level, LevelNumber, THOUSANDTH, TimeRange, WHOLE, rate_times};

/// The requests of a key that were rejected for certain, by the sums over spans of its requests.
/// No request is in two of the spans.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spans<N> {
    /// The least number of rejected requests so far.
    rejected: u64,
    /// The most that follows from a span that ends with the last request: the requests that were
    /// rejected before it, and those in it that cannot have passed; in the unit of levels.
    open: N,
    /// The stamp of the last request.
    last_ms: i64,
}

impl<N: LevelNumber> Default for Spans<N> {
    fn default() -> Self {
        Self { rejected: 0, open: N::from(0), last_ms: 0 }
    }
}

impl<N: LevelNumber> Spans<N> {
    /// The least number of rejected requests.
    pub(super) fn rejected(&self) -> u64 {
        self.rejected
    }

    /// Counts the next request of the key, with the level before it. `burst` is at least that of
    /// each limit with this key, in thousandths of a request.
    #[inline]
    pub(super) fn count(
        &mut self,
        before: Option<Level<N>>,
        time: TimeRange,
        burst: i64,
        rate: Rate,
    ) {
        let request = N::from(WHOLE);
        let before = before.filter(|level| !level.may_be_forgotten(time, rate));
        // Each request that passes raises the level by one, up to the burst. A new key begins one
        // below what has drained.
        let new = rate_times::<N>(rate, time.earliest_ms) - request;
        let lowest = before.map_or(new, |level| level.lowest.max(new));
        let most = N::from(burst) * N::from(THOUSANDTH) + rate_times(rate, time.latest_ms);
        let begun = N::from(self.rejected as i64) * request + request + lowest - most;
        let drained = rate_times::<N>(rate, time.earliest_ms - self.last_ms);
        // nginx may have forgotten the key in the middle of a longer span.
        let longer = before.map(|_| self.open + request - drained);
        self.open = longer.map_or(begun, |longer| longer.max(begun));
        self.last_ms = time.earliest_ms;
        let rejected = (self.open + N::from(WHOLE - 1)).div_floor(WHOLE);
        self.rejected = self.rejected.max(u64::try_from(rejected).unwrap_or(0));
    }
}
