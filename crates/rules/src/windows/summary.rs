//! The summary of a replay: counts by key, peaks and trips.

use super::estimator::Likely;
use super::limit::Limit;
use crate::arrivals::Arrival;
use crate::engine::Outcome;
use crate::keys::{KeyLists, other_settings};
use crate::report::{RequestCounts, RuleReport, Step, Trip, Verdict};

/// The highest count of a key if none of its requests had been rejected.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Peak {
    /// As replayed.
    pub(super) count: f64,
    pub(super) lowest: f64,
    pub(super) highest: f64,
    /// The position of the request that reached it.
    pub(super) at: usize,
}

impl Peak {
    /// Takes a count into account that is known.
    pub(super) fn take(&mut self, at: usize, count: f64) {
        self.take_range(at, count, count, count);
    }

    /// Takes a count into account, and the least and the most that it can be.
    pub(super) fn take_range(&mut self, at: usize, count: f64, lowest: f64, highest: f64) {
        if count > self.count {
            (self.count, self.at) = (count, at);
        }
        self.lowest = self.lowest.max(lowest);
        self.highest = self.highest.max(highest);
    }
}

/// Another value of the setting of a limit.
#[derive(Debug, Clone, Copy, Default)]
struct OtherSetting {
    value: u64,
    /// The keys that surely exceed it, and those that may.
    tripped: u64,
    may_trip: u64,
    likely: u64,
}

/// The summary of a replay.
pub(super) struct Summary<'r> {
    limit: &'r Limit,
    keys: KeyLists,
    requests: RequestCounts,
    /// The likeliest number of rejected requests, if each key has an estimate.
    likely_rejected: Option<u64>,
    others: [OtherSetting; 2],
}

impl<'r> Summary<'r> {
    pub(super) fn new(limit: &'r Limit) -> Self {
        let others = other_settings(limit.setting() as i64, 1);
        let other =
            |value: i64| OtherSetting { value: value.unsigned_abs(), ..OtherSetting::default() };
        Self {
            limit,
            keys: KeyLists::default(),
            requests: RequestCounts::default(),
            likely_rejected: Some(0),
            others: others.map(other),
        }
    }

    /// Takes the outcomes of the requests of a key, which are not empty. `place` returns the request
    /// at a position among them. `more_rejected` of those that are undecided were rejected; it is
    /// not known which. `likely` is the outcome at the likeliest times, of which counts what is
    /// within the bounds.
    pub(super) fn take(
        &mut self,
        key: &[u8],
        place: impl Fn(usize) -> Arrival,
        outcomes: &[Outcome],
        peak: Peak,
        more_rejected: u64,
        likely: Option<Likely>,
    ) {
        let mut counts = RequestCounts::default();
        for outcome in outcomes {
            counts.count(outcome.verdict);
        }
        let more_rejected = more_rejected.min(counts.undecided);
        counts.rejected += more_rejected;
        counts.undecided -= more_rejected;
        self.requests += counts;
        let verdict = self.verdict(counts, peak);
        let likely_rejected = likely.map(|likely| {
            likely.rejected.clamp(counts.rejected, counts.rejected + counts.undecided)
        });
        self.likely_rejected =
            self.likely_rejected.zip(likely_rejected).map(|(sum, rejected)| sum + rejected);
        let peak = match likely {
            Some(Likely { peak: Peak { count, at, .. }, .. }) => {
                Peak { count: count.clamp(peak.lowest, peak.highest), at, ..peak }
            }
            None => peak,
        };
        self.count_steps(peak);
        let first = |verdict| outcomes.iter().position(|outcome| outcome.verdict == verdict);
        let over = match verdict {
            Verdict::Passed | Verdict::Delayed => None,
            _ => first(Verdict::Rejected)
                .or(likely.and_then(|likely| likely.trip))
                .or_else(|| first(Verdict::Undecided)),
        };
        let arrival = place(over.unwrap_or(peak.at));
        let trip = Trip {
            key: key.to_vec(),
            limit: None,
            verdict,
            time_ns: arrival.time_ns,
            source: arrival.source,
            line: arrival.line,
            peak: peak.count,
            peak_range: (peak.lowest, peak.highest),
            margin: peak.count - self.limit.threshold(),
            requests: counts,
            likely_rejected: likely_rejected.filter(|_| counts.undecided > 0),
        };
        self.keys.put(verdict, Some(trip));
    }

    fn verdict(&self, counts: RequestCounts, peak: Peak) -> Verdict {
        let threshold = self.limit.threshold();
        match (peak.lowest > threshold, peak.highest > threshold) {
            _ if counts.rejected > 0 => Verdict::Rejected,
            _ if !self.limit.effect.is_plain() => match counts.undecided {
                0 => Verdict::Passed,
                _ => Verdict::Undecided,
            },
            (true, _) => Verdict::Rejected,
            (_, true) => Verdict::Undecided,
            _ => Verdict::Passed,
        }
    }

    fn count_steps(&mut self, peak: Peak) {
        let more = self.limit.threshold() - self.limit.setting() as f64;
        for other in &mut self.others {
            let threshold = other.value as f64 + more;
            other.tripped += u64::from(peak.lowest > threshold);
            other.may_trip += u64::from(peak.highest > threshold);
            other.likely += u64::from(peak.count > threshold);
        }
    }

    /// The report. Exactness and notes are added by the replay.
    pub(super) fn finish(self) -> RuleReport {
        let step = |other: OtherSetting| Step {
            setting: self.limit.setting_text(other.value),
            tripped: other.tripped,
            undecided: other.may_trip - other.tripped,
            likely: self.likely_rejected.map(|_| other.likely),
        };
        let estimate = self.likely_rejected.map(|rejected| self.keys.estimate(rejected));
        // Peaks tell which keys another setting catches only if all over it are rejected.
        let others = self.limit.effect.is_plain().then_some(self.others);
        let steps = others.into_iter().flatten().map(step).collect();
        RuleReport { estimate, ..self.keys.into_report(self.requests, steps) }
    }
}
