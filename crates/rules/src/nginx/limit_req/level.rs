//! The level of a key: its excess plus all that the rate has drained so far.
//!
//! Levels are in millionths of a request, and times are relative to the first of the log.

use std::ops::{Add, Mul, Sub};

use super::bucket::{IDLE_MS, REQUEST, Rate, drained};
use crate::keys::Peak;

/// A thousandth of a request, in the unit of levels.
pub(super) const THOUSANDTH: i64 = 1_000;

/// A request, in the unit of levels.
pub(super) const WHOLE: i64 = REQUEST * THOUSANDTH;

/// The integer type of levels. The levels of nearly all logs fit into 64 bits, whose arithmetic is
/// much faster than that of 128; see [`fits_64_bits`].
pub(super) trait LevelNumber:
    Copy + Ord + From<i64> + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    /// Divides by a positive number and rounds down, clamped to 64 bits.
    fn div_floor(self, divisor: i64) -> i64;
}

impl LevelNumber for i64 {
    #[inline]
    fn div_floor(self, divisor: i64) -> i64 {
        self.div_euclid(divisor)
    }
}

impl LevelNumber for i128 {
    #[inline]
    fn div_floor(self, divisor: i64) -> i64 {
        // Nearly all levels fit into 64 bits, whose division is much faster.
        match i64::try_from(self) {
            Ok(level) => level.div_euclid(divisor),
            Err(_) => {
                let most = i128::from(i64::MAX / 4);
                self.div_euclid(i128::from(divisor)).clamp(-most, most) as i64
            }
        }
    }
}

/// Whether the levels of a log of this length fit into 64 bits, with a burst in thousandths of a
/// request.
pub(super) fn fits_64_bits(rate: Rate, burst: i64, length_ms: i64) -> bool {
    let drained = length_ms.checked_add(2 * IDLE_MS).and_then(|ms| ms.checked_mul(rate.0));
    let allowed = burst.checked_mul(THOUSANDTH);
    // The rest is for the requests themselves, of which there are less than 2^32.
    let max = i64::MAX / 4;
    drained.is_some_and(|drained| drained < max) && allowed.is_some_and(|allowed| allowed < max)
}

/// The amount that drains in a time, in millionths of a request.
#[inline]
pub(super) fn rate_times<N: LevelNumber>(rate: Rate, time_ms: i64) -> N {
    N::from(rate.0) * N::from(time_ms)
}

/// The bounds of a request's arrival, in milliseconds since the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeRange {
    pub(super) earliest_ms: i64,
    pub(super) latest_ms: i64,
}

impl TimeRange {
    /// An arrival at this time, or up to `spread_ms` later.
    pub(super) fn within(earliest_ms: i64, spread_ms: i64) -> Self {
        Self { earliest_ms, latest_ms: earliest_ms + spread_ms }
    }
}

/// The bounds of an excess, in thousandths of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Excess {
    pub(super) lowest: i64,
    pub(super) highest: i64,
}

/// The bounds of a level.
#[derive(Debug, Clone, Copy)]
pub(super) struct Level<N> {
    pub(super) lowest: N,
    highest: N,
    /// The highest possible excess after the last request, in thousandths of a request.
    excess: i64,
    /// The earliest arrival of the last request, in milliseconds.
    last_ms: i64,
}

impl<N: LevelNumber> Level<N> {
    /// The excess that a request would make.
    #[inline]
    pub(super) fn excess_at(&self, arrival: TimeRange, rate: Rate) -> Excess {
        let drained = |time_ms: i64| rate_times::<N>(rate, time_ms);
        let lowest = (self.lowest - drained(arrival.latest_ms)).div_floor(THOUSANDTH) + REQUEST;
        let highest = self.highest - drained(arrival.earliest_ms) + N::from(THOUSANDTH - 1);
        // The excess cannot grow by more than the request itself.
        let highest = highest.div_floor(THOUSANDTH) + REQUEST;
        let highest = highest.min(self.excess + REQUEST).max(0);
        let is_new = self.may_be_forgotten(arrival, rate);
        Excess { lowest: if is_new { 0 } else { lowest.clamp(0, highest) }, highest }
    }

    /// Whether nginx may have forgotten the key.
    #[inline]
    pub(super) fn may_be_forgotten(&self, arrival: TimeRange, rate: Rate) -> bool {
        let is_idle = arrival.latest_ms - self.last_ms >= IDLE_MS;
        is_idle && self.lowest <= rate_times(rate, arrival.latest_ms)
    }

    /// The level after a request that passed with this excess, at most `burst`.
    #[inline]
    pub(super) fn passed(
        before: Option<Self>,
        excess: Excess,
        burst: i64,
        arrival: TimeRange,
        rate: Rate,
    ) -> Self {
        let drained = |time_ms: i64| rate_times::<N>(rate, time_ms);
        let TimeRange { earliest_ms, latest_ms } = arrival;
        let (mut lowest, mut highest) = (drained(earliest_ms), drained(latest_ms));
        if let Some(level) = before {
            let request = N::from(WHOLE);
            if excess.lowest > 0 {
                lowest = lowest.max(level.lowest + request);
            }
            // The amount that drains between two requests is rounded down to a thousandth, which is
            // exact for whole requests per second.
            let rounding = if rate.0 % REQUEST == 0 { 0 } else { THOUSANDTH };
            highest = highest.max(level.highest + request + N::from(rounding));
        }
        let excess = excess.highest.min(burst);
        let most = drained(latest_ms) + N::from(excess) * N::from(THOUSANDTH);
        Self { lowest: lowest.min(most), highest: highest.min(most), excess, last_ms: earliest_ms }
    }

    /// The level after a request that may have passed or not. If it was rejected, the level was at
    /// least `rejected`; `None` if another limit may have rejected it.
    pub(super) fn either(before: Option<Self>, passed: Self, rejected: Option<N>) -> Option<Self> {
        let before = before?;
        let lowest = rejected.map_or(before.lowest, |rejected| before.lowest.max(rejected));
        Some(Self {
            lowest: lowest.min(passed.lowest),
            highest: before.highest.max(passed.highest),
            excess: before.excess.max(passed.excess),
            last_ms: before.last_ms,
        })
    }

    /// The level of a new key that may have none: the lowest possible one.
    pub(super) fn new_or_nothing(passed: Self) -> Self {
        Self { lowest: passed.lowest - N::from(WHOLE), ..passed }
    }
}

/// The state of a key as if no request were rejected.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnlimitedLevel<N> {
    level: Level<N>,
    /// The excess as if each request arrived at its stamp, and the last stamp.
    stamped: (i64, i64),
    /// The same excess in the unit of levels, without rounding: the most that the requests of a
    /// span make together, but for what drains between the stamp and the arrival of its last one.
    together: N,
}

impl<N: LevelNumber> UnlimitedLevel<N> {
    /// The excess of the requests so far and one more, each at its stamp. Starts again if nginx may
    /// have forgotten the key.
    #[inline]
    fn together_at(&self, arrival: TimeRange, rate: Rate) -> N {
        let last_ms = self.stamped.1;
        let drained = |until_ms: i64| rate_times::<N>(rate, until_ms - last_ms);
        let is_idle = arrival.latest_ms - last_ms >= IDLE_MS;
        if is_idle && self.together <= drained(arrival.latest_ms) {
            return N::from(0);
        }
        (self.together + N::from(WHOLE) - drained(arrival.earliest_ms)).max(N::from(0))
    }

    /// Counts the request at a position, and returns its excess; the replayed one takes the stamps
    /// as times.
    #[inline]
    pub(super) fn count(
        key: &mut Option<Self>,
        arrival: TimeRange,
        rate: Rate,
        position: u32,
    ) -> Peak {
        let level = key.map(|key| key.level);
        let mut excess = level.map(|level| level.excess_at(arrival, rate)).unwrap_or_default();
        let now_ms = arrival.earliest_ms;
        let together = key.map_or(N::from(0), |key| key.together_at(arrival, rate));
        let spread = rate_times::<N>(rate, arrival.latest_ms - arrival.earliest_ms);
        let least = (together - spread).div_floor(THOUSANDTH);
        excess.lowest = excess.lowest.max(least).min(excess.highest);
        let stamped = match key {
            Some(Self { stamped: (last, last_ms), .. }) => {
                (*last - drained(now_ms - *last_ms, rate) + REQUEST).max(0)
            }
            None => 0,
        };
        let level = Level::passed(level, excess, i64::MAX, arrival, rate);
        *key = Some(Self { level, stamped: (stamped, now_ms), together });
        let Excess { lowest, highest } = excess;
        Peak { count: stamped.clamp(lowest, highest), lowest, highest, position }
    }
}
