//! The replay of a single limit over times to the second, one key after another.
//!
//! Levels and verdicts are those of [`bounded`](super::bounded), which replays any number of
//! limits.

use super::bounded::{SPREAD_MS, agree};
use super::bucket::{REQUEST, Rate, delay_ms};
use super::exact_by_key;
use super::level::{
    Level, LevelNumber, THOUSANDTH, TimeRange, UnlimitedLevel, fits_64_bits, rate_times,
};
use super::limit::Limit;
use super::spans::Spans;
use crate::arrivals::{Arrivals, ByKey, MS_IN_SECOND, likely_arrivals};
use crate::engine::Outcome;
use crate::keys::{KeySummary, ZoneSummary, other_settings};
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
    let [lower_burst, _] = other_settings(limit.burst / REQUEST, 0);
    let mut likely_ms = Vec::new();
    for (key, times_ms, positions) in by_key.iter().filter(|(_, times, _)| !times.is_empty()) {
        let mut replay = KeyReplay::<N>::new(limit, rate);
        for (time_ms, position) in times_ms.iter().zip(positions) {
            let time = TimeRange::within(time_ms - start_ms, SPREAD_MS);
            let verdict = replay.count(time, *position);
            if let Some(outcomes) = &mut outcomes {
                outcomes[*position as usize] = Outcome::verdict(verdict);
            }
        }
        let mut of_key = replay.finish();
        if of_key.is_uncertain(limit.burst, lower_burst * REQUEST) {
            likely_arrivals(times_ms, MS_IN_SECOND, &mut likely_ms);
            let likely = exact_by_key::replay_key(limit, rate, &likely_ms, positions, |_, _| {});
            of_key.estimate(&likely);
        }
        summary.put(limit.zone, key, of_key);
    }
    summary.sum_estimates();
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
    spans: Spans<N>,
    summary: KeySummary,
}

impl<'r, N: LevelNumber> KeyReplay<'r, N> {
    fn new(limit: &'r Limit, rate: Rate) -> Self {
        let (spans, summary) = (Spans::default(), KeySummary::default());
        Self { limit, rate, level: None, unlimited: None, spans, summary }
    }

    /// Replays the request at a position in the log.
    fn count(&mut self, time: TimeRange, position: u32) -> Verdict {
        self.spans.count(self.level, time, self.limit.burst, self.rate);
        let verdict = self.decide(time);
        self.summary.count(verdict);
        let peak = UnlimitedLevel::count(&mut self.unlimited, time, self.rate, position);
        self.summary.peak(self.limit.burst, peak);
        if verdict == Verdict::Rejected {
            self.summary.trip(position);
        }
        verdict
    }

    fn finish(mut self) -> KeySummary {
        self.summary.reject_at_least(self.spans.rejected());
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
}
