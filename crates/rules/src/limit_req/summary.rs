//! What a replay comes to: counts by key, peaks and trips.

use super::LimitReq;
use super::bucket::REQUEST;
use super::configuration::Limit;
use super::replay::{NO_KEY, Request};
use crate::interner::Interner;
use crate::report::{Exactness, KeyCounts, RequestCounts, RuleReport, Step, Trip, Verdict};

/// The most keys within the limit that are listed.
const CLOSEST_MAX: usize = 100;

/// The most keys over the limit that are listed; the others are only counted.
const TRIPS_MAX: usize = 1_000_000;

/// The excess at a request if none had been rejected, in thousandths of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peak {
    /// As replayed.
    pub(super) excess: i64,
    pub(super) lowest: i64,
    pub(super) highest: i64,
    time_ms: i64,
    source: u32,
    line: u64,
}

impl Peak {
    /// A peak as replayed, and the least and most that it can be.
    pub(super) fn between(
        (excess, lowest, highest): (i64, i64, i64),
        time_ms: i64,
        request: &Request,
    ) -> Self {
        let Request { source, line, .. } = *request;
        Self { excess, lowest, highest, time_ms, source, line }
    }
}

/// What is known of a key of a zone.
#[derive(Debug, Clone, Copy, Default)]
struct KeySummary {
    requests: RequestCounts,
    /// The peak that is closest to its limit, or farthest over it, and that limit.
    peak: Option<(Peak, i64)>,
    /// The highest margins that any request surely has, and may have.
    margins: Option<(i64, i64)>,
    /// The first rejected request: its time, source and line.
    trip: Option<(i64, u32, u64)>,
}

/// The memory that the summary of a key takes.
pub(super) const KEY_BYTES: usize = size_of::<KeySummary>();

/// The summary of a replay.
pub(super) struct Summary<'r> {
    rule: &'r LimitReq,
    /// By zone and key.
    keys: Vec<Vec<KeySummary>>,
    requests: RequestCounts,
    /// Whether every verdict is known.
    is_exact: bool,
}

impl<'r> Summary<'r> {
    pub(super) fn new(rule: &'r LimitReq, zones: &[Interner], is_exact: bool) -> Self {
        let keys = zones.iter().map(|zone| vec![KeySummary::default(); zone.len()]).collect();
        Self { rule, keys, requests: RequestCounts::default(), is_exact }
    }

    /// Counts a request, once and for each of its keys.
    pub(super) fn count(&mut self, limits: &[Limit], keys: &[u32], verdict: Verdict) {
        add(&mut self.requests, verdict);
        for (limit, key) in limits.iter().zip(keys).filter(|(_, key)| **key != NO_KEY) {
            add(&mut self.keys[limit.zone][*key as usize].requests, verdict);
        }
    }

    /// Takes the excess at a request into account.
    pub(super) fn peak(&mut self, limit: &Limit, key: u32, peak: Peak) {
        let summary = &mut self.keys[limit.zone][key as usize];
        let margin = peak.excess - limit.burst;
        if summary.peak.is_none_or(|(known, burst)| margin > known.excess - burst) {
            summary.peak = Some((peak, limit.burst));
        }
        let margins = (peak.lowest - limit.burst, peak.highest - limit.burst);
        summary.margins = Some(match summary.margins {
            Some(known) => (known.0.max(margins.0), known.1.max(margins.1)),
            None => margins,
        });
    }

    /// Counts undecided requests of a key as rejected.
    pub(super) fn reject_undecided(&mut self, limit: &Limit, key: u32, requests: u64) {
        let of_key = &mut self.keys[limit.zone][key as usize].requests;
        for counts in [&mut self.requests, of_key] {
            counts.rejected += requests;
            counts.undecided -= requests;
        }
    }

    /// Notes that a request was rejected.
    pub(super) fn trip(&mut self, limit: &Limit, key: u32, request: &Request) {
        let summary = &mut self.keys[limit.zone][key as usize];
        summary.trip.get_or_insert((request.arrival_ms, request.source, request.line));
    }

    /// The report. Exactness and notes are added by the replay.
    pub(super) fn finish(self, zones: &[Interner]) -> RuleReport {
        let mut counts = KeyCounts::default();
        let (mut trips, mut closest) = (Vec::new(), Vec::new());
        let has_several = self.rule.zones().len() > 1;
        let is_alone = self.rule.limit_sets().iter().all(|set| set.limits.len() == 1);
        let in_doubt = is_alone && !self.is_exact;
        for ((zone, keys), texts) in self.rule.zones().iter().zip(&self.keys).zip(zones) {
            for (number, key) in keys.iter().enumerate() {
                let Some(verdict) = key.verdict(in_doubt) else { continue };
                counts.seen += 1;
                counts.tripped += u64::from(verdict == Verdict::Rejected);
                counts.undecided += u64::from(verdict == Verdict::Unknown);
                let text = texts.text(number as u32);
                let list = if verdict == Verdict::Passed { &mut closest } else { &mut trips };
                let limit = has_several.then(|| zone.name.clone());
                list.extend(key.entry(text, limit, verdict));
                if closest.len() > 2 * CLOSEST_MAX {
                    sort(&mut closest, CLOSEST_MAX);
                }
            }
        }
        let steps = self.steps();
        sort(&mut trips, TRIPS_MAX);
        sort(&mut closest, CLOSEST_MAX);
        RuleReport {
            exactness: Exactness::Exact,
            notes: Vec::new(),
            keys: counts,
            requests: self.requests,
            trips,
            closest,
            steps,
            bans: Vec::new(),
            alerts: Vec::new(),
        }
    }

    /// What half and twice the burst would have caught, if there is only one limit.
    fn steps(&self) -> Vec<Step> {
        let [set] = self.rule.limit_sets() else { return Vec::new() };
        let [limit] = &set.limits[..] else { return Vec::new() };
        let burst = limit.burst / REQUEST;
        let others = match burst {
            0 => vec![1, 5],
            burst => vec![burst / 2, burst * 2],
        };
        let keys = || self.keys[limit.zone].iter().filter_map(|key| key.margins);
        let step = |other: i64| {
            let more = (other - burst) * REQUEST;
            let tripped = keys().filter(|(lowest, _)| *lowest > more).count() as u64;
            let may_trip = keys().filter(|(_, highest)| *highest > more).count() as u64;
            Step { setting: format!("burst={other}"), tripped, undecided: may_trip - tripped }
        };
        others.into_iter().map(step).collect()
    }
}

impl KeySummary {
    /// Whether a request was rejected; `None` if the key has none. If that is `in_doubt`, the margins
    /// tell it; they cannot if another limit may have rejected requests before.
    fn verdict(&self, in_doubt: bool) -> Option<Verdict> {
        let (lowest, highest) = self.margins?;
        Some(match (self.trip.is_some() || in_doubt && lowest > 0, highest > 0) {
            (true, _) => Verdict::Rejected,
            (false, true) if self.requests.undecided > 0 || in_doubt => Verdict::Unknown,
            (false, _) => Verdict::Passed,
        })
    }

    fn entry(&self, key: &[u8], limit: Option<String>, verdict: Verdict) -> Option<Trip> {
        let (peak, burst) = self.peak?;
        let (lowest, highest) = self.margins?;
        let (time_ms, source, line) = self.trip.unwrap_or((peak.time_ms, peak.source, peak.line));
        let in_requests = |count: i64| count as f64 / REQUEST as f64;
        Some(Trip {
            key: key.to_vec(),
            limit,
            verdict,
            time_ns: time_ms.saturating_mul(1_000_000),
            source,
            line,
            peak: in_requests(peak.excess),
            peak_range: (in_requests(lowest + burst), in_requests(highest + burst)),
            margin: in_requests(peak.excess - burst),
            requests: self.requests,
        })
    }
}

/// Sorts keys by margin, the highest first, and then by key, and keeps the first of them.
fn sort(trips: &mut Vec<Trip>, max: usize) {
    trips.sort_by(|one, other| {
        other.margin.total_cmp(&one.margin).then_with(|| one.key.cmp(&other.key))
    });
    trips.truncate(max);
}

fn add(counts: &mut RequestCounts, verdict: Verdict) {
    match verdict {
        Verdict::Passed => counts.passed += 1,
        Verdict::Delayed => counts.delayed += 1,
        Verdict::Rejected => counts.rejected += 1,
        Verdict::Unknown => counts.undecided += 1,
    }
}
