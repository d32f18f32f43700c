//! The summary of a replay: counts by key, peaks and trips.

use super::limit::{Algorithm, Limit};
use super::replay::{Outcome, Peak, Request};
use crate::key_lists::KeyLists;
use crate::report::{RequestCounts, RuleReport, Step, Trip, Verdict};

/// The summary of a replay.
pub(super) struct Summary<'r> {
    limit: &'r Limit,
    keys: KeyLists,
    requests: RequestCounts,
    /// Other values of the setting, and the keys that surely exceed them and that may.
    steps: Vec<(u64, u64, u64)>,
}

impl<'r> Summary<'r> {
    pub(super) fn new(limit: &'r Limit) -> Self {
        let setting = limit.setting();
        let others = match setting {
            1 => vec![2, 5],
            setting => vec![setting / 2, setting * 2],
        };
        Self {
            limit,
            keys: KeyLists::default(),
            requests: RequestCounts::default(),
            steps: others.into_iter().map(|other| (other, 0, 0)).collect(),
        }
    }

    /// Takes the requests of a key, which are not empty. `more_rejected` of those that are
    /// undecided were rejected, it is not known which.
    pub(super) fn take(
        &mut self,
        key: &[u8],
        requests: &[Request],
        outcomes: &[Outcome],
        peak: Peak,
        more_rejected: u64,
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
        self.count_steps(peak);
        let first = |verdict| outcomes.iter().position(|outcome| outcome.verdict == verdict);
        let over = match verdict {
            Verdict::Passed | Verdict::Delayed => None,
            _ => first(Verdict::Rejected).or_else(|| first(Verdict::Undecided)),
        };
        let request = requests.get(over.unwrap_or(peak.at));
        let trip = request.map(|request| Trip {
            key: key.to_vec(),
            limit: None,
            verdict,
            time_ns: request.arrival_ns,
            source: request.source,
            line: request.line,
            peak: peak.count,
            peak_range: (peak.lowest, peak.highest),
            margin: peak.count - self.limit.threshold(),
            requests: counts,
        });
        self.keys.put(verdict, trip);
    }

    fn verdict(&self, counts: RequestCounts, peak: Peak) -> Verdict {
        let threshold = self.limit.threshold();
        let is_published = !matches!(self.limit.algorithm, Algorithm::Unpublished { .. });
        match (is_published && peak.lowest > threshold, peak.highest > threshold) {
            _ if counts.rejected > 0 => Verdict::Rejected,
            (true, _) => Verdict::Rejected,
            (_, true) => Verdict::Undecided,
            _ => Verdict::Passed,
        }
    }

    fn count_steps(&mut self, peak: Peak) {
        let more = self.limit.threshold() - self.limit.setting() as f64;
        let is_published = !matches!(self.limit.algorithm, Algorithm::Unpublished { .. });
        for (value, tripped, may_trip) in &mut self.steps {
            let threshold = *value as f64 + more;
            *tripped += u64::from(is_published && peak.lowest > threshold);
            *may_trip += u64::from(peak.highest > threshold);
        }
    }

    /// The report. Exactness and notes are added by the replay.
    pub(super) fn finish(self) -> RuleReport {
        let step = |(value, tripped, may_trip): &(u64, u64, u64)| Step {
            setting: self.limit.setting_text(*value),
            tripped: *tripped,
            undecided: may_trip - tripped,
        };
        let steps = self.steps.iter().map(step).collect();
        self.keys.into_report(self.requests, steps)
    }
}
