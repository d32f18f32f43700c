//! The lists of keys in a report: those over a limit, and those that came closest to it.

use crate::report::{Exactness, KeyCounts, RequestCounts, RuleReport, Step, Trip, Verdict};

/// The most keys within the limit that are listed.
pub(crate) const CLOSEST_MAX: usize = 100;

/// The most keys over the limit that are listed; the others are only counted.
pub(crate) const TRIPS_MAX: usize = 1_000_000;

/// Collects the keys of a replay for its report.
#[derive(Debug, Default)]
pub(crate) struct KeyLists {
    counts: KeyCounts,
    trips: Vec<Trip>,
    closest: Vec<Trip>,
}

impl KeyLists {
    /// Adds a key with its verdict, and its list entry if it has one.
    pub(crate) fn put(&mut self, verdict: Verdict, entry: Option<Trip>) {
        self.counts.seen += 1;
        self.counts.tripped += u64::from(verdict == Verdict::Rejected);
        self.counts.undecided += u64::from(verdict == Verdict::Undecided);
        let (list, max) = match verdict {
            Verdict::Passed => (&mut self.closest, CLOSEST_MAX),
            _ => (&mut self.trips, TRIPS_MAX),
        };
        list.extend(entry);
        if list.len() > 2 * max {
            sort_by_margin(list, max);
        }
    }

    /// Makes the report. The caller sets exactness and notes.
    pub(crate) fn into_report(mut self, requests: RequestCounts, steps: Vec<Step>) -> RuleReport {
        sort_by_margin(&mut self.trips, TRIPS_MAX);
        sort_by_margin(&mut self.closest, CLOSEST_MAX);
        RuleReport {
            exactness: Exactness::Exact,
            notes: Vec::new(),
            keys: self.counts,
            requests,
            trips: self.trips,
            closest: self.closest,
            steps,
            bans: Vec::new(),
            alerts: Vec::new(),
        }
    }
}

/// Sorts keys by margin, the highest first, then by key, and keeps the first `max`.
fn sort_by_margin(trips: &mut Vec<Trip>, max: usize) {
    trips.sort_by(|one, other| {
        other.margin.total_cmp(&one.margin).then_with(|| one.key.cmp(&other.key))
    });
    trips.truncate(max);
}
