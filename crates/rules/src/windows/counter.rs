//! The state of a key for each algorithm. Requests are counted one after another, in the order of
//! their arrival.

use std::collections::VecDeque;

use super::frequency::FrequencyCounter;
use super::limit::{Algorithm, Limit};
use crate::engine::Outcome;
use crate::gate::KeyState;
use crate::report::Verdict;

/// Counts the requests of one key. Times do not go back.
pub(super) trait Counter: KeyState + 'static {
    /// The settings that all keys of a limit share.
    type Settings: Copy + Send;

    /// The settings of a limit.
    fn settings(limit: &Limit) -> Self::Settings;

    /// Decides about a request that arrives, in nanoseconds since 1970, and counts it.
    fn decide(&mut self, settings: Self::Settings, now_ns: i64) -> Outcome;

    /// After a decision: how many more requests would pass at this moment, and after how many
    /// nanoseconds, to the nanosecond, one more than that.
    fn remaining(&self, settings: Self::Settings, now_ns: i64) -> (u64, u64);

    /// Whether a new counter would decide the same about all requests from now on.
    fn is_like_new(&self, settings: Self::Settings, now_ns: i64) -> bool;
}

/// A count of requests and a window in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    count: u64,
    window_ns: i64,
    /// The most times that are kept for a key.
    times_max: usize,
}

impl Window {
    fn new(limit: &Limit) -> Self {
        // A limit is at most a year.
        let window_ns = (limit.window_ns as i64).max(1);
        let times_max = usize::try_from(limit.count).unwrap_or(usize::MAX).saturating_add(1);
        Self { count: limit.count, window_ns, times_max }
    }

    fn has_left(self, time_ns: i64, now_ns: i64) -> bool {
        now_ns.saturating_sub(time_ns) > self.window_ns
    }

    /// How long it takes until a time leaves the window, which it has a nanosecond later.
    fn until_left(self, time_ns: i64, now_ns: i64) -> u64 {
        until(i128::from(time_ns) + i128::from(self.window_ns), now_ns)
    }

    /// When the window of a time begins if windows begin at multiples of their length since 1970.
    fn aligned_start(self, now_ns: i64) -> i64 {
        now_ns.saturating_sub(now_ns.rem_euclid(self.window_ns))
    }
}

/// The nanoseconds until a time.
fn until(time_ns: i128, now_ns: i64) -> u64 {
    u64::try_from((time_ns - i128::from(now_ns)).max(0)).unwrap_or(u64::MAX)
}

/// The times of the requests within the window.
///
/// Without rejected requests, this is `allowed` of caddy-ratelimit: a request passes if the `count`
/// last ones that passed are not all within the window. With them, it is a sliding log; in a list of
/// `xt_recent`, a rejected request is two hits. It stores no more times than it needs to decide, so
/// the count of a request far over the limit may be too low.
#[derive(Debug, Default)]
pub(super) struct SlidingTimes<const HITS_OF_REJECTED: usize> {
    times: VecDeque<i64>,
}

/// The counter of [`Algorithm::SlidingRing`].
pub(super) type SlidingRing = SlidingTimes<0>;

/// The counter of [`Algorithm::SlidingLog`].
pub(super) type SlidingLog = SlidingTimes<1>;

/// The counter of [`Algorithm::RecentHits`].
pub(super) type RecentHits = SlidingTimes<2>;

impl<const HITS_OF_REJECTED: usize> Counter for SlidingTimes<HITS_OF_REJECTED> {
    type Settings = Window;

    fn settings(limit: &Limit) -> Window {
        Window::new(limit)
    }

    fn decide(&mut self, window: Window, now_ns: i64) -> Outcome {
        while self.times.front().is_some_and(|first| window.has_left(*first, now_ns)) {
            self.times.pop_front();
        }
        while HITS_OF_REJECTED > 0 && self.times.len() >= window.times_max {
            self.times.pop_front();
        }
        let count = self.times.len() as u64 + 1;
        let is_rejected = count > window.count;
        let hits = if is_rejected { HITS_OF_REJECTED } else { 1 };
        self.times.extend(std::iter::repeat_n(now_ns, hits));
        Outcome::of(is_rejected, count as f64)
    }

    fn remaining(&self, window: Window, now_ns: i64) -> (u64, u64) {
        let count = self.times.len() as u64;
        // All but `count - 1` have to leave the window before one more passes.
        let last_leaving =
            usize::try_from(count.saturating_sub(window.count)).unwrap_or(usize::MAX);
        let time = self.times.get(last_leaving).or(self.times.back());
        let wait_ns = time.map_or(0, |time| window.until_left(*time, now_ns));
        (window.count.saturating_sub(count), wait_ns)
    }

    fn is_like_new(&self, window: Window, now_ns: i64) -> bool {
        self.times.back().is_none_or(|last| window.has_left(*last, now_ns))
    }
}

impl<const HITS_OF_REJECTED: usize> KeyState for SlidingTimes<HITS_OF_REJECTED> {
    fn heap_bytes(&self) -> usize {
        self.times.capacity() * size_of::<i64>()
    }
}

/// The count of the present window. A window begins at a multiple of its length since 1970 if it is
/// aligned, otherwise with the first request after the last window.
#[derive(Debug, Default)]
pub(super) struct PresentWindow<const IS_ALIGNED: bool> {
    start_ns: Option<i64>,
    count: u64,
}

/// The counter of [`Algorithm::FixedWindow`].
pub(super) type FixedWindow = PresentWindow<true>;

/// The counter of [`Algorithm::FirstWindow`].
pub(super) type FirstWindow = PresentWindow<false>;

impl<const IS_ALIGNED: bool> KeyState for PresentWindow<IS_ALIGNED> {}

impl<const IS_ALIGNED: bool> Counter for PresentWindow<IS_ALIGNED> {
    type Settings = Window;

    fn settings(limit: &Limit) -> Window {
        Window::new(limit)
    }

    fn decide(&mut self, window: Window, now_ns: i64) -> Outcome {
        if self.is_like_new(window, now_ns) {
            let start_ns = if IS_ALIGNED { window.aligned_start(now_ns) } else { now_ns };
            (self.start_ns, self.count) = (Some(start_ns), 0);
        }
        self.count += 1;
        Outcome::of(self.count > window.count, self.count as f64)
    }

    fn remaining(&self, window: Window, now_ns: i64) -> (u64, u64) {
        let start_ns = i128::from(self.start_ns.unwrap_or(now_ns));
        let wait_ns = until(start_ns + i128::from(window.window_ns), now_ns);
        (window.count.saturating_sub(self.count), wait_ns)
    }

    fn is_like_new(&self, window: Window, now_ns: i64) -> bool {
        self.start_ns.is_none_or(|start_ns| match IS_ALIGNED {
            true => start_ns != window.aligned_start(now_ns),
            false => {
                let age_ns = now_ns.saturating_sub(start_ns).unsigned_abs();
                age_ns >= window.window_ns.unsigned_abs()
            }
        })
    }
}

/// The count since the last pause.
#[derive(Debug, Default)]
pub(super) struct SincePause {
    last_ns: Option<i64>,
    count: u64,
}

impl KeyState for SincePause {}

impl Counter for SincePause {
    type Settings = Window;

    fn settings(limit: &Limit) -> Window {
        Window::new(limit)
    }

    fn decide(&mut self, window: Window, now_ns: i64) -> Outcome {
        if self.is_like_new(window, now_ns) {
            self.count = 0;
        }
        self.last_ns = Some(now_ns);
        self.count += 1;
        Outcome::of(self.count > window.count, self.count as f64)
    }

    fn remaining(&self, window: Window, now_ns: i64) -> (u64, u64) {
        let last_ns = i128::from(self.last_ns.unwrap_or(now_ns));
        let wait_ns = until(last_ns + i128::from(window.window_ns), now_ns);
        (window.count.saturating_sub(self.count), wait_ns)
    }

    fn is_like_new(&self, window: Window, now_ns: i64) -> bool {
        self.last_ns.is_none_or(|last_ns| now_ns.saturating_sub(last_ns) >= window.window_ns)
    }
}

/// A number of requests in a period.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeriodLimit {
    count: u64,
    period_ms: i64,
}

/// The counter of HAProxy, assuming that its clock is even when that of the requests is.
#[derive(Debug)]
pub(super) struct TwoPeriods(FrequencyCounter);

impl Default for TwoPeriods {
    fn default() -> Self {
        Self(FrequencyCounter::new(false))
    }
}

impl KeyState for TwoPeriods {}

impl Counter for TwoPeriods {
    type Settings = PeriodLimit;

    fn settings(limit: &Limit) -> PeriodLimit {
        PeriodLimit { count: limit.count, period_ms: FrequencyCounter::period_ms(limit) }
    }

    fn decide(&mut self, limit: PeriodLimit, now_ns: i64) -> Outcome {
        let rate = self.0.count(now_ns.div_euclid(1_000_000), limit.period_ms);
        Outcome::of(rate > limit.count, rate as f64)
    }

    fn remaining(&self, limit: PeriodLimit, now_ns: i64) -> (u64, u64) {
        let PeriodLimit { count, period_ms } = limit;
        let now_ms = now_ns.div_euclid(1_000_000);
        let remaining = count.saturating_sub(self.0.rate(now_ms, period_ms));
        let time_ms = self.0.time_of_rate(remaining + 1, count, period_ms);
        (remaining, until(i128::from(time_ms) * 1_000_000, now_ns))
    }

    fn is_like_new(&self, limit: PeriodLimit, now_ns: i64) -> bool {
        self.0.is_over(now_ns.div_euclid(1_000_000), limit.period_ms)
    }
}

/// The parameters of a bucket. Times are in nanoseconds multiplied by the count of the limit, so
/// that the interval between two requests at the rate is the window.
#[derive(Debug, Clone, Copy)]
pub(super) struct BucketScale {
    pub(super) request: i128,
    count: i128,
    /// The level up to which a request does not wait.
    pub(super) free: i128,
    /// The level over which it is rejected.
    pub(super) highest: i128,
    pub(super) forget_s: Option<u64>,
}

impl BucketScale {
    pub(super) fn new(limit: &Limit) -> Self {
        let (request, count) = (i128::from(limit.window_ns), i128::from(limit.count));
        let size = (i128::from(limit.burst) - 1) * request;
        let (free, delay_ns, forget_s) = match limit.algorithm {
            Algorithm::TokenBucket { delay_ns, forget_s } => (size, delay_ns, forget_s),
            _ => (0, 0, None),
        };
        // A wait is cut to nanoseconds before it is compared.
        let wait = if delay_ns > 0 { (i128::from(delay_ns) + 1) * count - 1 } else { 0 };
        Self { request, count, free, highest: size + wait, forget_s }
    }

    pub(super) fn time(&self, time_ns: i64) -> i128 {
        i128::from(time_ns) * self.count
    }

    /// A level with one more request, in requests.
    pub(super) fn requests(&self, level: i128) -> f64 {
        (level + self.request) as f64 / self.request as f64
    }

    fn delay_ms(&self, level: i128) -> u64 {
        let delay_ns = (level - self.free).max(0) / self.count;
        u64::try_from(delay_ns / 1_000_000).unwrap_or(u64::MAX)
    }
}

/// Whether a bucket that was last used at a time is forgotten at another one, which a map with
/// times to the second decides.
pub(super) fn is_forgotten(last_ns: i64, now_ns: i64, forget_s: Option<u64>) -> bool {
    let second = |time_ns: i64| time_ns.div_euclid(1_000_000_000);
    let elapsed_s = second(now_ns).saturating_sub(second(last_ns));
    forget_s.is_some_and(|forget_s| u64::try_from(elapsed_s).is_ok_and(|it| it >= forget_s))
}

/// The token bucket and the leaky bucket.
#[derive(Debug)]
pub(super) struct Bucket {
    /// When it is full of tokens again, in the unit of [`BucketScale`].
    full: i128,
    last_ns: Option<i64>,
}

impl Bucket {
    /// The level that a request finds, once a bucket that is forgotten is full again.
    fn level(&mut self, scale: BucketScale, now_ns: i64) -> i128 {
        let now = scale.time(now_ns);
        if self.last_ns.is_some_and(|last_ns| is_forgotten(last_ns, now_ns, scale.forget_s)) {
            self.full = now;
        }
        self.last_ns = Some(now_ns);
        (self.full - now).max(0)
    }

    fn add(&mut self, scale: BucketScale, now_ns: i64) {
        self.full = self.full.max(scale.time(now_ns)) + scale.request;
    }

    /// Counts a request without a limit, and returns the level that it found.
    pub(super) fn count_unlimited(&mut self, scale: BucketScale, now_ns: i64) -> i128 {
        let level = self.level(scale, now_ns);
        self.add(scale, now_ns);
        level
    }
}

impl Default for Bucket {
    fn default() -> Self {
        Self { full: i128::MIN / 4, last_ns: None }
    }
}

impl KeyState for Bucket {}

impl Counter for Bucket {
    type Settings = BucketScale;

    fn settings(limit: &Limit) -> BucketScale {
        BucketScale::new(limit)
    }

    fn decide(&mut self, scale: BucketScale, now_ns: i64) -> Outcome {
        let level = self.level(scale, now_ns);
        let mut outcome = Outcome::of(level > scale.highest, scale.requests(level));
        if level <= scale.highest {
            self.add(scale, now_ns);
            if level > scale.free {
                outcome.verdict = Verdict::Delayed;
                outcome.delay_ms = Some(scale.delay_ms(level));
            }
        }
        outcome
    }

    fn remaining(&self, scale: BucketScale, now_ns: i64) -> (u64, u64) {
        let level = (self.full - scale.time(now_ns)).max(0);
        let room = scale.highest - level;
        let remaining = if room < 0 { 0 } else { room / scale.request.max(1) + 1 };
        let over = level + remaining * scale.request - scale.highest;
        let wait_ns = (over.max(0) + scale.count - 1) / scale.count.max(1);
        (u64::try_from(remaining).unwrap_or(u64::MAX), u64::try_from(wait_ns).unwrap_or(u64::MAX))
    }

    fn is_like_new(&self, scale: BucketScale, now_ns: i64) -> bool {
        self.full <= scale.time(now_ns)
    }
}
