//! The summary of a replay: counts by key, peaks and trips.

use super::LimitReq;
use super::bucket::REQUEST;
use super::configuration::Limit;
use super::replay::{NO_KEY, Request};
use super::unlimited::BoundedExcess;
use crate::interner::Interner;
use crate::key_lists::KeyLists;
use crate::report::{RequestCounts, RuleReport, Step, Trip, Verdict};

/// The excess at a request if none had been rejected, in thousandths of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peak {
    /// The excess according to the replay.
    excess: i64,
    lowest: i64,
    highest: i64,
    /// The position of the request in the log.
    position: u32,
}

impl Peak {
    /// The excess at a request that would be rejected by no limit.
    pub(super) fn new(excess: BoundedExcess, position: u32) -> Self {
        let BoundedExcess { replayed, lowest, highest } = excess;
        Self { excess: replayed, lowest, highest, position }
    }
}

/// The summary of a key of a zone.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KeySummary {
    requests: RequestCounts,
    /// The peak that is closest to its limit, or farthest over it, and that limit.
    peak: Option<(Peak, i64)>,
    /// The highest margins that requests surely have, and may have.
    margins: Option<(i64, i64)>,
    /// The position of the first rejected request in the log.
    trip: Option<u32>,
}

/// The memory of the summary of a key, in bytes.
pub(super) const KEY_BYTES: usize = size_of::<KeySummary>();

/// The summary of a replay.
pub(super) struct Summary<'r> {
    rule: &'r LimitReq,
    /// The summaries by zone and key.
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

    /// Counts a request in total and for each of its keys.
    pub(super) fn count(&mut self, limits: &[Limit], keys: &[u32], verdict: Verdict) {
        self.requests.count(verdict);
        for (limit, key) in limits.iter().zip(keys).filter(|(_, key)| **key != NO_KEY) {
            self.keys[limit.zone][*key as usize].requests.count(verdict);
        }
    }

    /// Updates the peak of a key with the excess at a request.
    pub(super) fn peak(&mut self, limit: &Limit, key: u32, peak: Peak) {
        self.keys[limit.zone][key as usize].peak(limit.burst, peak);
    }

    /// Notes that the request at a position was rejected.
    pub(super) fn trip(&mut self, limit: &Limit, key: u32, position: u32) {
        self.keys[limit.zone][key as usize].trip(position);
    }

    /// Counts requests without a key.
    pub(super) fn pass_unkeyed(&mut self, requests: usize) {
        self.requests.passed += requests as u64;
    }

    /// Stores the finished summary of a key, and counts its requests.
    pub(super) fn put(&mut self, limit: &Limit, key: u32, summary: KeySummary) {
        self.requests += summary.requests;
        self.keys[limit.zone][key as usize] = summary;
    }

    /// Makes the report about these requests. The replay adds exactness and notes.
    pub(super) fn finish(self, zones: &[Interner], requests: &[Request]) -> RuleReport {
        let mut lists = KeyLists::default();
        let has_several = self.rule.zones().len() > 1;
        let is_alone = self.rule.limit_sets().iter().all(|set| set.limits.len() == 1);
        let in_doubt = is_alone && !self.is_exact;
        for ((zone, keys), texts) in self.rule.zones().iter().zip(&self.keys).zip(zones) {
            for (number, key) in keys.iter().enumerate() {
                let Some(verdict) = key.verdict(in_doubt) else { continue };
                let text = texts.text(number as u32);
                let limit = has_several.then(|| zone.name.clone());
                lists.put(verdict, key.entry(requests, text, limit, verdict));
            }
        }
        let steps = self.steps();
        lists.into_report(self.requests, steps)
    }

    /// The keys that half and twice the burst would have caught, if there is only one limit.
    fn steps(&self) -> Vec<Step> {
        let Some(limit) = self.rule.single_limit() else { return Vec::new() };
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
    /// Counts a request.
    #[inline]
    pub(super) fn count(&mut self, verdict: Verdict) {
        self.requests.count(verdict);
    }

    /// Updates the peak with the excess at a request of a limit with this burst.
    #[inline]
    pub(super) fn peak(&mut self, burst: i64, peak: Peak) {
        let margin = peak.excess - burst;
        if self.peak.is_none_or(|(known, burst)| margin > known.excess - burst) {
            self.peak = Some((peak, burst));
        }
        let margins = (peak.lowest - burst, peak.highest - burst);
        self.margins = Some(match self.margins {
            Some(known) => (known.0.max(margins.0), known.1.max(margins.1)),
            None => margins,
        });
    }

    /// Notes that the request at a position was rejected.
    #[inline]
    pub(super) fn trip(&mut self, position: u32) {
        self.trip.get_or_insert(position);
    }

    /// Counts undecided requests as rejected.
    pub(super) fn reject_undecided(&mut self, requests: u64) {
        self.requests.rejected += requests;
        self.requests.undecided -= requests;
    }

    /// The verdict about the key; `None` if it has no requests. If it is `in_doubt`, the margins
    /// decide, unless another limit may have rejected requests before.
    fn verdict(&self, in_doubt: bool) -> Option<Verdict> {
        let (lowest, highest) = self.margins?;
        Some(match (self.trip.is_some() || in_doubt && lowest > 0, highest > 0) {
            (true, _) => Verdict::Rejected,
            (false, true) if self.requests.undecided > 0 || in_doubt => Verdict::Undecided,
            (false, _) => Verdict::Passed,
        })
    }

    fn entry(
        &self,
        requests: &[Request],
        key: &[u8],
        limit: Option<String>,
        verdict: Verdict,
    ) -> Option<Trip> {
        let (peak, burst) = self.peak?;
        let (lowest, highest) = self.margins?;
        let request = requests.get(self.trip.unwrap_or(peak.position) as usize)?;
        let in_requests = |count: i64| count as f64 / REQUEST as f64;
        Some(Trip {
            key: key.to_vec(),
            limit,
            verdict,
            time_ns: request.arrival_ms().saturating_mul(1_000_000),
            source: request.source,
            line: request.line,
            peak: in_requests(peak.excess),
            peak_range: (in_requests(lowest + burst), in_requests(highest + burst)),
            margin: in_requests(peak.excess - burst),
            requests: self.requests,
        })
    }
}
