//! The replay of a single limit over times to the second, one key after another.
//!
//! Levels and verdicts are those of [`bounded`](super::bounded), which replays any number of
//! limits. With a single limit, more is known about a second with many requests. No position may be
//! known to be rejected, because the requests may have been anywhere in the second. But only a
//! limited number can have passed ([`Second`]); the others count as rejected.

use super::bounded::{SPREAD_MS, agree};
use super::bucket::{REQUEST, Rate, delay_ms};
use super::level::{
    Level, LevelNumber, THOUSANDTH, TimeRange, UnlimitedLevel, WHOLE, fits_64_bits, rate_times,
};
use super::limit::Limit;
use crate::arrivals::{Arrivals, ByKey};
use crate::engine::Outcome;
use crate::keys::{KeySummary, ZoneSummary};
use crate::report::Verdict;

/// Replays the requests. Updates their outcomes by position in the log, if the caller stores them.
pub(super) fn replay(
    limit: &Limit,
    rate: Rate,
    arrivals: &Arrivals,
    by_key: &ByKey,
    summary: &mut ZoneSummary,
    outcomes: Option<&mut [Outcome]>,
) {
    let (start_ms, end_ms) = arrivals.range_ms();
    let length_ms = end_ms.saturating_sub(start_ms);
    let replay = if fits_64_bits(rate, limit.burst, length_ms) {
        replay_with::<i64>
    } else {
        replay_with::<i128>
    };
    replay(limit, rate, arrivals, by_key, summary, outcomes);
}

pub(super) fn replay_with<N: LevelNumber>(
    limit: &Limit,
    rate: Rate,
    arrivals: &Arrivals,
    by_key: &ByKey,
    summary: &mut ZoneSummary,
    mut outcomes: Option<&mut [Outcome]>,
) {
    let (start_ms, _) = arrivals.range_ms();
    for (key, times_ms, positions) in by_key.iter().filter(|(_, times, _)| !times.is_empty()) {
        let mut replay = KeyReplay::<N>::new(limit, rate);
        for (time_ms, position) in times_ms.iter().zip(positions) {
            let time = TimeRange::within(time_ms - start_ms, SPREAD_MS);
            let verdict = replay.count(time, *position);
            if let Some(outcomes) = &mut outcomes {
                outcomes[*position as usize] = Outcome::verdict(verdict);
            }
        }
        summary.put(limit.zone, key, replay.finish());
    }
    if let Some(outcomes) = outcomes {
        let verdicts: Vec<Verdict> = outcomes.iter().map(|outcome| outcome.verdict).collect();
        for (_, _, positions) in by_key.iter() {
            agree(arrivals, positions, &verdicts, outcomes);
        }
    }
}

/// The replay of one key.
struct KeyReplay<'r, N> {
    limit: &'r Limit,
    rate: Rate,
    level: Option<Level<N>>,
    unlimited: Option<UnlimitedLevel<N>>,
    second: Option<Second<N>>,
    summary: KeySummary,
}

/// The requests of a key that may have arrived at the same time.
#[derive(Debug, Clone, Copy)]
struct Second<N> {
    time: TimeRange,
    /// The least level before these requests.
    lowest: N,
    requests: u64,
    /// The requests known to be rejected.
    rejected: u64,
    undecided: u64,
}

impl<'r, N: LevelNumber> KeyReplay<'r, N> {
    fn new(limit: &'r Limit, rate: Rate) -> Self {
        let (level, unlimited, second) = (None, None, None);
        Self { limit, rate, level, unlimited, second, summary: KeySummary::default() }
    }

    /// Replays the request at a position in the log.
    fn count(&mut self, time: TimeRange, position: u32) -> Verdict {
        let before = self.level;
        let verdict = self.decide(time);
        self.summary.count(verdict);
        self.count_in_second(before, time, verdict);
        let peak = UnlimitedLevel::count(&mut self.unlimited, time, self.rate, position);
        self.summary.peak(self.limit.burst, peak);
        if verdict == Verdict::Rejected {
            self.summary.trip(position);
        }
        verdict
    }

    fn finish(mut self) -> KeySummary {
        self.end_second();
        self.summary
    }

    /// Decides about the next request of the key, and updates the level.
    fn decide(&mut self, time: TimeRange) -> Verdict {
        let Self { limit, rate, level: before, .. } = *self;
        let known = before.map(|level| level.excess_at(time, rate));
        let excess = known.unwrap_or_default();
        if excess.lowest > limit.burst {
            return Verdict::Rejected;
        }
        let passed = Level::passed(before, excess, limit.burst, time, rate);
        if excess.highest > limit.burst {
            let over = N::from((limit.burst - REQUEST) * THOUSANDTH);
            let over = over + rate_times(rate, time.earliest_ms);
            self.level = Level::either(before, passed, Some(over));
            return Verdict::Undecided;
        }
        self.level = Some(passed);
        let is_delayed = |excess: i64| delay_ms(excess, limit.delay, rate) > 0;
        match (is_delayed(excess.lowest), is_delayed(excess.highest)) {
            (true, _) => Verdict::Delayed,
            (false, false) => Verdict::Passed,
            (false, true) => Verdict::Undecided,
        }
    }

    /// Counts a request in the second of its key; `before` is the level before it.
    fn count_in_second(&mut self, before: Option<Level<N>>, time: TimeRange, verdict: Verdict) {
        if self.second.is_some_and(|second| second.time != time) {
            self.end_second();
        }
        let second = self.second.get_or_insert_with(|| {
            // The level after the first request is at least that at its time.
            let new = rate_times::<N>(self.rate, time.earliest_ms) - N::from(WHOLE);
            let lowest = match before {
                Some(level) if !level.may_be_forgotten(time, self.rate) => level.lowest.max(new),
                _ => new,
            };
            Second { time, lowest, requests: 0, rejected: 0, undecided: 0 }
        });
        second.requests += 1;
        second.rejected += u64::from(verdict == Verdict::Rejected);
        second.undecided += u64::from(verdict == Verdict::Undecided);
    }

    /// Counts the undecided requests of the last second that cannot all have passed as rejected.
    fn end_second(&mut self) {
        let second = self.second.take().filter(|second| second.undecided > 0);
        if let Some(second) = second {
            self.summary.reject_undecided(second.rejected_at_least(self.limit.burst, self.rate));
        }
    }
}

impl<N: LevelNumber> Second<N> {
    /// The least number of the undecided requests that were rejected: each request that passes
    /// raises the level by one, up to the burst.
    fn rejected_at_least(&self, burst: i64, rate: Rate) -> u64 {
        let most = N::from(burst) * N::from(THOUSANDTH) + rate_times(rate, self.time.latest_ms);
        let passed = (most - self.lowest).div_floor(WHOLE);
        let passed = u64::try_from(passed).unwrap_or(0);
        let rejected = self.requests.saturating_sub(passed);
        rejected.saturating_sub(self.rejected).min(self.undecided)
    }
}
