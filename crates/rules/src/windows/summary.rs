//! The summary of a replay: counts by key, peaks and trips.

use super::limit::{Algorithm, Limit};
use super::replay::{Outcome, Peak, Request};
use crate::key_lists::{CLOSEST_MAX, TRIPS_MAX, sort_by_margin};
use crate::report::{Exactness, KeyCounts, RequestCounts, RuleReport, Step, Trip, Verdict};

/// The summary of a replay.
pub(super) struct Summary<'r> {
    limit: &'r Limit,
    keys: KeyCounts,
    requests: RequestCounts,
    trips: Vec<Trip>,
    closest: Vec<Trip>,
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
            keys: KeyCounts::default(),
            requests: RequestCounts::default(),
            trips: Vec::new(),
            closest: Vec::new(),
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
            *counter(&mut counts, outcome.verdict) += 1;
        }
        let more_rejected = more_rejected.min(counts.undecided);
        counts.rejected += more_rejected;
        counts.undecided -= more_rejected;
        self.requests.passed += counts.passed;
        self.requests.delayed += counts.delayed;
        self.requests.rejected += counts.rejected;
        self.requests.undecided += counts.undecided;
        let verdict = self.verdict(counts, peak);
        self.keys.seen += 1;
        self.keys.tripped += u64::from(verdict == Verdict::Rejected);
        self.keys.undecided += u64::from(verdict == Verdict::Undecided);
        self.count_steps(peak);
        let first = |verdict| outcomes.iter().position(|outcome| outcome.verdict == verdict);
        let over = match verdict {
            Verdict::Passed | Verdict::Delayed => None,
            _ => first(Verdict::Rejected).or_else(|| first(Verdict::Undecided)),
        };
        let Some(request) = requests.get(over.unwrap_or(peak.at)) else { return };
        let trip = Trip {
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
        };
        let (list, max) = match verdict {
            Verdict::Passed => (&mut self.closest, CLOSEST_MAX),
            _ => (&mut self.trips, TRIPS_MAX),
        };
        list.push(trip);
        if list.len() >= 2 * max {
            sort_by_margin(list, max);
        }
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
    pub(super) fn finish(mut self) -> RuleReport {
        sort_by_margin(&mut self.trips, TRIPS_MAX);
        sort_by_margin(&mut self.closest, CLOSEST_MAX);
        let step = |(value, tripped, may_trip): &(u64, u64, u64)| Step {
            setting: self.limit.setting_text(*value),
            tripped: *tripped,
            undecided: may_trip - tripped,
        };
        RuleReport {
            exactness: Exactness::Exact,
            notes: Vec::new(),
            keys: self.keys,
            requests: self.requests,
            steps: self.steps.iter().map(step).collect(),
            trips: self.trips,
            closest: self.closest,
            bans: Vec::new(),
            alerts: Vec::new(),
        }
    }
}

fn counter(counts: &mut RequestCounts, verdict: Verdict) -> &mut u64 {
    match verdict {
        Verdict::Passed => &mut counts.passed,
        Verdict::Delayed => &mut counts.delayed,
        Verdict::Rejected => &mut counts.rejected,
        Verdict::Undecided => &mut counts.undecided,
    }
}
