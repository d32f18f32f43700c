//! The summary of a replay: counts by key, peaks and trips.

use super::LimitConn;
use super::limit::ConnectionLimit;
use super::replay::Outcome;
use super::requests::{NO_KEY, Request};
use crate::interner::Interner;
use crate::key_lists::KeyLists;
use crate::limit_req::configuration::LimitKind;
use crate::report::{RequestCounts, RuleReport, Step, Trip, Verdict};

/// The connections of a key at a request, including this one, if none had been rejected.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peak {
    /// The number according to the replay.
    connections: u64,
    lowest: u64,
    highest: u64,
    time_ms: i64,
    source: u32,
    line: u64,
}

impl Peak {
    /// Makes a peak from the replayed value and its bounds.
    pub(super) fn new(connections: u64, lowest: u64, highest: u64, request: &Request) -> Self {
        let Request { source, line, begin_ms, .. } = *request;
        Self { connections, lowest, highest, time_ms: begin_ms, source, line }
    }
}

/// The summary of a key of a zone.
#[derive(Debug, Clone, Copy, Default)]
struct KeySummary {
    requests: RequestCounts,
    /// The peak that is closest to its limit, or farthest over it, and that limit.
    peak: Option<(Peak, u64)>,
    /// The highest margins that requests surely have, and may have.
    margins: Option<(i64, i64)>,
    /// The first rejected request: its time, source and line.
    trip: Option<(i64, u32, u64)>,
    /// Whether a limit of the key may have rejected a request.
    may_have_tripped: bool,
}

/// The memory of the summary of a key, in bytes.
pub(super) const KEY_BYTES: usize = size_of::<KeySummary>();

/// The summary of a replay.
pub(super) struct Summary<'r> {
    rule: &'r LimitConn,
    /// The summaries by zone and key.
    keys: Vec<Vec<KeySummary>>,
    requests: RequestCounts,
    peaks_decide: bool,
}

impl<'r> Summary<'r> {
    pub(super) fn new(rule: &'r LimitConn, zones: &[Interner]) -> Self {
        let keys = zones.iter().map(|zone| vec![KeySummary::default(); zone.len()]).collect();
        let peaks_decide = rule.peaks_decide();
        Self { rule, keys, requests: RequestCounts::default(), peaks_decide }
    }

    /// Counts a request in total and for each of its keys.
    pub(super) fn count(
        &mut self,
        limits: &[ConnectionLimit],
        keys: &[u32],
        outcome: Outcome,
        request: &Request,
    ) {
        let Outcome { verdict, limit_is_sure, .. } = outcome;
        self.requests.count(verdict);
        for (limit, key) in limits.iter().zip(keys).filter(|(_, key)| **key != NO_KEY) {
            let summary = &mut self.keys[limit.zone][*key as usize];
            summary.requests.count(verdict);
            summary.may_have_tripped |= !limit_is_sure;
        }
        if verdict == Verdict::Rejected && limit_is_sure {
            let limit = outcome.limit as usize;
            self.trip(limits[limit].zone, keys[limit], request);
        }
    }

    /// Updates the peak of a key with the connections at a request.
    pub(super) fn peak(&mut self, limit: &ConnectionLimit, key: u32, peak: Peak) {
        let summary = &mut self.keys[limit.zone][key as usize];
        let margin = margin(peak.connections, limit.connections);
        if summary.peak.is_none_or(|(known, limit)| margin > self::margin(known.connections, limit))
        {
            summary.peak = Some((peak, limit.connections));
        }
        let margins = (
            self::margin(peak.lowest, limit.connections),
            self::margin(peak.highest, limit.connections),
        );
        summary.margins = Some(match summary.margins {
            Some(known) => (known.0.max(margins.0), known.1.max(margins.1)),
            None => margins,
        });
    }

    /// Counts undecided requests of a key as rejected; `request` may be one of them. The key's
    /// requests have no other limit.
    pub(super) fn reject_undecided(
        &mut self,
        zone: usize,
        key: u32,
        requests: u64,
        request: &Request,
    ) {
        if requests == 0 {
            return;
        }
        self.move_undecided(zone, key, requests);
        self.trip(zone, key, request);
    }

    /// Records that a request was rejected.
    fn trip(&mut self, zone: usize, key: u32, request: &Request) {
        let summary = &mut self.keys[zone][key as usize];
        summary.trip.get_or_insert((request.begin_ms, request.source, request.line));
    }

    fn move_undecided(&mut self, zone: usize, key: u32, requests: u64) {
        let of_key = &mut self.keys[zone][key as usize].requests;
        for counts in [&mut self.requests, of_key] {
            counts.rejected += requests;
            counts.undecided -= requests;
        }
    }

    /// Counts the undecided requests that cannot have passed as rejected: all that are present at
    /// the peak and over the limit.
    fn reject_at_peaks(&mut self) {
        if !self.peaks_decide {
            return;
        }
        for zone in 0..self.keys.len() {
            for key in 0..self.keys[zone].len() {
                let KeySummary { requests, margins, .. } = self.keys[zone][key];
                let over = margins.map_or(0, |(lowest, _)| u64::try_from(lowest).unwrap_or(0));
                let more = over.saturating_sub(requests.rejected).min(requests.undecided);
                self.move_undecided(zone, key as u32, more);
            }
        }
    }

    /// Makes the report. The replay adds exactness and notes.
    pub(super) fn finish(mut self, zones: &[Interner]) -> RuleReport {
        self.reject_at_peaks();
        let mut lists = KeyLists::default();
        let has_several = self.rule.zones().len() > 1;
        for ((zone, keys), texts) in self.rule.zones().iter().zip(&self.keys).zip(zones) {
            for (number, key) in keys.iter().enumerate() {
                let Some(verdict) = key.verdict(self.peaks_decide) else { continue };
                let text = texts.text(number as u32);
                let limit = has_several.then(|| zone.name.clone());
                lists.put(verdict, key.entry(text, limit, verdict));
            }
        }
        let steps = self.steps();
        lists.into_report(self.requests, steps)
    }

    /// The keys that half and twice the limit would have caught, if there is only one limit.
    fn steps(&self) -> Vec<Step> {
        let [set] = self.rule.limit_sets() else { return Vec::new() };
        let [limit] = &set.limits[..] else { return Vec::new() };
        let others = match limit.connections {
            1 => vec![2, 5],
            connections => vec![connections / 2, connections * 2],
        };
        let keys = || self.keys[limit.zone].iter().filter_map(|key| key.margins);
        let step = |other: u64| {
            let more = margin(other, limit.connections);
            let tripped = keys().filter(|(lowest, _)| *lowest > more).count() as u64;
            let may_trip = keys().filter(|(_, highest)| *highest > more).count() as u64;
            let setting = ConnectionLimit { connections: other, ..limit.clone() };
            let setting = setting.text(self.rule.zones());
            Step { setting, tripped, undecided: may_trip - tripped }
        };
        others.into_iter().map(step).collect()
    }
}

impl KeySummary {
    /// Whether a request was rejected; `None` if the key has none.
    fn verdict(&self, peaks_decide: bool) -> Option<Verdict> {
        let (lowest, highest) = self.margins?;
        Some(match (self.trip.is_some() || peaks_decide && lowest > 0, highest > 0) {
            (true, _) => Verdict::Rejected,
            (false, true) if self.may_have_tripped || peaks_decide => Verdict::Undecided,
            (false, _) => Verdict::Passed,
        })
    }

    fn entry(&self, key: &[u8], limit: Option<String>, verdict: Verdict) -> Option<Trip> {
        let (peak, connections) = self.peak?;
        let (lowest, highest) = self.margins?;
        let (time_ms, source, line) = self.trip.unwrap_or((peak.time_ms, peak.source, peak.line));
        Some(Trip {
            key: key.to_vec(),
            limit,
            verdict,
            time_ns: time_ms.saturating_mul(1_000_000),
            source,
            line,
            peak: peak.connections as f64,
            peak_range: (lowest as f64 + connections as f64, highest as f64 + connections as f64),
            margin: margin(peak.connections, connections) as f64,
            requests: self.requests,
        })
    }
}

/// The number of connections over a limit.
fn margin(connections: u64, limit: u64) -> i64 {
    connections as i64 - limit as i64
}
