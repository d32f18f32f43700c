//! The lists of keys in a report: those over a limit, and those that came closest to it.

use std::cmp::Ordering;

use crate::report::{
    Estimate, Exactness, KeyCounts, RequestCounts, RuleReport, Step, Trip, Verdict,
};

/// The most keys within the limit that are listed.
const CLOSEST_MAX: usize = 100;

/// The most keys over the limit that are listed; the others are only counted.
const TRIPS_MAX: usize = 1_000_000;

/// Collects the keys of a replay for its report.
#[derive(Debug)]
pub(crate) struct KeyLists {
    /// The order of keys with the same margin.
    order: fn(&Trip, &Trip) -> Ordering,
    counts: KeyCounts,
    /// The keys with a rejected request, for certain or likely.
    likely: u64,
    trips: Vec<Trip>,
    closest: Vec<Trip>,
}

impl Default for KeyLists {
    fn default() -> Self {
        Self::ordered_by(|one, other| one.key.cmp(&other.key))
    }
}

impl KeyLists {
    /// Makes lists with this order of keys with the same margin.
    pub(crate) fn ordered_by(order: fn(&Trip, &Trip) -> Ordering) -> Self {
        let (counts, likely, trips, closest) = Default::default();
        Self { order, counts, likely, trips, closest }
    }

    /// Adds a key with its verdict, and its list entry if it has one.
    pub(crate) fn put(&mut self, verdict: Verdict, entry: Option<Trip>) {
        self.counts.seen += 1;
        self.counts.tripped += u64::from(verdict == Verdict::Rejected);
        self.counts.undecided += u64::from(verdict == Verdict::Undecided);
        let likely = entry.as_ref().and_then(|entry| entry.likely_rejected);
        self.likely += u64::from(verdict == Verdict::Rejected || likely > Some(0));
        let (list, max) = match verdict {
            Verdict::Passed => (&mut self.closest, CLOSEST_MAX),
            _ => (&mut self.trips, TRIPS_MAX),
        };
        list.extend(entry);
        if list.len() > 2 * max {
            sort_by_margin(list, max, self.order);
        }
    }

    /// The estimate with so many rejected requests.
    pub(crate) fn estimate(&self, rejected: u64) -> Estimate {
        Estimate { keys: self.likely, rejected }
    }

    /// Makes the report. The caller sets exactness, notes and an estimate.
    pub(crate) fn into_report(mut self, requests: RequestCounts, steps: Vec<Step>) -> RuleReport {
        sort_by_margin(&mut self.trips, TRIPS_MAX, self.order);
        sort_by_margin(&mut self.closest, CLOSEST_MAX, self.order);
        RuleReport {
            exactness: Exactness::Exact,
            notes: Vec::new(),
            keys: self.counts,
            requests,
            estimate: None,
            trips: self.trips,
            closest: self.closest,
            steps,
            bans: Vec::new(),
            alerts: Vec::new(),
        }
    }
}

/// Sorts keys by margin, the highest first, then in an order, and keeps the first `max`.
fn sort_by_margin(trips: &mut Vec<Trip>, max: usize, order: fn(&Trip, &Trip) -> Ordering) {
    trips.sort_by(|one, other| other.margin.total_cmp(&one.margin).then_with(|| order(one, other)));
    trips.truncate(max);
}
