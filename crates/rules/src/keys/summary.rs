//! The summary of a replay: the requests of each key by verdict, its peak and its trip.

use super::{Interner, KeyLists};
use crate::arrivals::{Arrival, ZoneLimit, applying};
use crate::report::{RequestCounts, Step, Trip, Verdict};

/// The units of a replay.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Units {
    /// One request, in the unit of counts.
    pub(crate) request: i64,
    /// The step of the clock, in nanoseconds.
    pub(crate) clock_ns: i64,
}

impl Units {
    fn in_requests(self, count: i64) -> f64 {
        count as f64 / self.request as f64
    }
}

/// The count of a key at a request, including this one, if none had been rejected.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peak {
    /// The count according to the replay.
    pub(crate) count: i64,
    pub(crate) lowest: i64,
    pub(crate) highest: i64,
    /// The position of the request in the log.
    pub(crate) position: u32,
}

impl Peak {
    /// A count that is known.
    pub(crate) fn known(count: i64, position: u32) -> Self {
        Self { count, lowest: count, highest: count, position }
    }
}

/// The count that came closest to its limit, or is farthest over it.
#[derive(Debug, Clone, Copy)]
struct ClosestCount {
    count: i64,
    limit: i64,
    position: u32,
}

/// The summary of a key.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KeySummary {
    pub(crate) requests: RequestCounts,
    closest: Option<ClosestCount>,
    /// The highest margins that requests surely have, and may have.
    margins: Option<(i64, i64)>,
    /// The position of the first rejected request in the log.
    trip: Option<u32>,
    /// Whether a limit of the key has rejected a request, although it is not known which.
    has_surely_rejected: bool,
    /// Whether a limit of the key may have rejected a request.
    may_have_tripped: bool,
    /// The likeliest number of rejected requests, and the position of the first one; unless all
    /// verdicts are known.
    likely: Option<(u64, Option<u32>)>,
}

impl KeySummary {
    /// Counts a request.
    #[inline]
    pub(crate) fn count(&mut self, verdict: Verdict) {
        self.requests.count(verdict);
        self.may_have_tripped |= verdict == Verdict::Undecided;
    }

    /// Updates the peak with the count at a request of this limit.
    #[inline]
    pub(crate) fn peak(&mut self, limit: i64, peak: Peak) {
        self.peak_within(limit, (limit, limit), peak);
    }

    /// Updates the peak with the count at a request of this limit. As far as the log tells, it may
    /// have been a request of another one, between the two.
    #[inline]
    pub(crate) fn peak_within(&mut self, limit: i64, (least, most): (i64, i64), peak: Peak) {
        let margin = peak.count - limit;
        if self.closest.is_none_or(|known| margin > known.count - known.limit) {
            let Peak { count, position, .. } = peak;
            self.closest = Some(ClosestCount { count, limit, position });
        }
        let margins = (peak.lowest - most, peak.highest - least);
        self.margins = Some(match self.margins {
            Some(known) => (known.0.max(margins.0), known.1.max(margins.1)),
            None => margins,
        });
    }

    /// Notes that the request at a position was rejected.
    #[inline]
    pub(crate) fn trip(&mut self, position: u32) {
        self.trip.get_or_insert(position);
    }

    /// Whether a request is known to be rejected.
    pub(crate) fn has_tripped(&self) -> bool {
        self.trip.is_some()
    }

    /// Counts undecided requests as rejected until there are at least so many rejected ones: one, if
    /// the peak is surely over a limit. Returns how many these are.
    pub(crate) fn reject_at_least(&mut self, rejected: u64) -> u64 {
        let is_over = self.margins.is_some_and(|(lowest, _)| lowest > 0);
        self.has_surely_rejected |= is_over || rejected > 0;
        let RequestCounts { rejected: known, undecided, .. } = self.requests;
        let more = rejected.max(u64::from(is_over)).saturating_sub(known).min(undecided);
        self.reject_undecided(more);
        more
    }

    /// Whether an estimate would say more: verdicts are undecided, or the peak may be on either side
    /// of a limit.
    pub(crate) fn is_uncertain(&self, limit: i64, other_limit: i64) -> bool {
        let (lowest, highest) = self.margins.unwrap_or_default();
        self.requests.undecided > 0 || lowest < highest && highest + limit > other_limit
    }

    /// Whether every request of the key passes each limit, whatever the arrivals.
    pub(crate) fn surely_passes(&self) -> bool {
        let RequestCounts { rejected, undecided, .. } = self.requests;
        let is_within = self.margins.is_none_or(|(_, highest)| highest <= 0);
        rejected == 0 && undecided == 0 && is_within
    }

    /// Takes the counts of a replay at the likeliest times, as far as they are within what is
    /// certain.
    pub(crate) fn estimate(&mut self, likely: &Self) {
        let RequestCounts { rejected, undecided, .. } = self.requests;
        let likely_rejected = likely.requests.rejected.clamp(rejected, rejected + undecided);
        self.likely = (undecided > 0).then_some((likely_rejected, likely.trip));
        if let (Some(closest), Some((lowest, highest))) = (likely.closest, self.margins) {
            let margin = (closest.count - closest.limit).clamp(lowest, highest);
            self.closest = Some(ClosestCount { count: closest.limit + margin, ..closest });
        }
    }

    /// The likeliest number of rejected requests.
    fn likely_rejected(&self) -> u64 {
        self.likely.map_or(self.requests.rejected, |(rejected, _)| rejected)
    }

    /// Counts undecided requests as rejected.
    pub(crate) fn reject_undecided(&mut self, requests: u64) {
        self.requests.rejected += requests;
        self.requests.undecided -= requests;
    }

    /// Whether a request was rejected; `None` if the key has no requests. If `peaks_decide`, a peak
    /// that is surely over the limit means a rejection.
    pub(crate) fn verdict(&self, peaks_decide: bool) -> Option<Verdict> {
        let (lowest, highest) = self.margins?;
        let has_rejected = self.has_tripped() || self.has_surely_rejected;
        let has_tripped = has_rejected || peaks_decide && lowest > 0;
        Some(match (has_tripped, highest > 0) {
            (true, _) => Verdict::Rejected,
            (false, true) if self.may_have_tripped || peaks_decide => Verdict::Undecided,
            (false, _) => Verdict::Passed,
        })
    }

    /// The entry of the key in a list; `None` if it has no requests.
    pub(crate) fn entry(
        &self,
        key: &[u8],
        limit: Option<String>,
        verdict: Verdict,
        arrivals: &[Arrival],
        units: Units,
    ) -> Option<Trip> {
        let closest = self.closest?;
        let (lowest, highest) = self.margins?;
        let likely_trip = self.likely.and_then(|(_, position)| position);
        let position = self.trip.or(likely_trip).unwrap_or(closest.position);
        let arrival = arrivals.get(position as usize)?;
        let ticks = arrival.time_ns.div_euclid(units.clock_ns);
        Some(Trip {
            key: key.to_vec(),
            limit,
            verdict,
            time_ns: ticks.saturating_mul(units.clock_ns),
            source: arrival.source,
            line: arrival.line,
            peak: units.in_requests(closest.count),
            peak_range: (
                units.in_requests(lowest + closest.limit),
                units.in_requests(highest + closest.limit),
            ),
            margin: units.in_requests(closest.count - closest.limit),
            requests: self.requests,
            likely_rejected: self.likely.map(|(rejected, _)| rejected),
        })
    }
}

/// The summaries of the keys of several zones.
#[derive(Debug)]
pub(crate) struct ZoneSummary {
    /// The summaries by zone and key.
    zones: Vec<Vec<KeySummary>>,
    pub(crate) requests: RequestCounts,
    /// The likeliest number of rejected requests, if there is an estimate.
    likely_rejected: Option<u64>,
}

impl ZoneSummary {
    /// The memory of the summary of a key, in bytes.
    pub(crate) const KEY_BYTES: usize = size_of::<KeySummary>();

    /// Begins a summary of the keys of each zone.
    pub(crate) fn new(zones: &[Interner]) -> Self {
        let zones = zones.iter().map(|zone| vec![KeySummary::default(); zone.len()]).collect();
        Self { zones, requests: RequestCounts::default(), likely_rejected: None }
    }

    /// The summary of a key of a zone.
    #[inline]
    pub(crate) fn key(&mut self, zone: usize, key: u32) -> &mut KeySummary {
        &mut self.zones[zone][key as usize]
    }

    /// Counts a request in total and for each of its keys.
    pub(crate) fn count<L: ZoneLimit>(&mut self, limits: &[L], keys: &[u32], verdict: Verdict) {
        self.requests.count(verdict);
        for (limit, key) in applying(limits, keys) {
            self.key(limit.zone(), key).count(verdict);
        }
    }

    /// Notes that the limits of a request may have rejected it, although it is not known which.
    pub(crate) fn doubt<L: ZoneLimit>(&mut self, limits: &[L], keys: &[u32]) {
        for (limit, key) in applying(limits, keys) {
            self.key(limit.zone(), key).may_have_tripped = true;
        }
    }

    /// Stores the finished summary of a key, and counts its requests.
    pub(crate) fn put(&mut self, zone: usize, key: u32, summary: KeySummary) {
        self.requests += summary.requests;
        *self.key(zone, key) = summary;
    }

    /// Takes the counts of a replay at the likeliest times, as far as they are within what is
    /// certain.
    pub(crate) fn estimate(&mut self, likely: &Self) {
        for (keys, likely) in self.zones.iter_mut().zip(&likely.zones) {
            // Of keys that surely pass, the replay has only the requests that concern others.
            let doubtful = keys.iter_mut().zip(likely).filter(|(key, _)| !key.surely_passes());
            doubtful.for_each(|(key, likely)| key.estimate(likely));
        }
        let RequestCounts { rejected, undecided, .. } = self.requests;
        let likely = likely.requests.rejected.clamp(rejected, rejected + undecided);
        self.likely_rejected = Some(likely);
    }

    /// Adds up the estimates of the keys of the only zone.
    pub(crate) fn sum_estimates(&mut self) {
        let rejected = self.zones.iter().flatten().map(KeySummary::likely_rejected);
        self.likely_rejected = Some(rejected.sum());
    }

    /// The likeliest number of rejected requests, if there is an estimate.
    pub(crate) fn likely_rejected(&self) -> Option<u64> {
        self.likely_rejected
    }

    /// Counts undecided requests of a key as rejected.
    pub(crate) fn reject_undecided(&mut self, zone: usize, key: u32, requests: u64) {
        self.requests.rejected += requests;
        self.requests.undecided -= requests;
        self.key(zone, key).reject_undecided(requests);
    }

    /// Counts undecided requests as rejected until each key has at least so many; `rejected` has the
    /// numbers by zone and key. Requests may have keys in several zones, so in total only those of
    /// one zone are added.
    pub(crate) fn reject_at_least<Keys: Iterator<Item = u64>>(
        &mut self,
        rejected: impl Iterator<Item = Keys>,
    ) {
        let mut most = 0;
        for (summaries, rejected) in self.zones.iter_mut().zip(rejected) {
            let mut more = 0;
            for (summary, rejected) in summaries.iter_mut().zip(rejected) {
                more += summary.reject_at_least(rejected);
            }
            most = most.max(more);
        }
        self.requests.rejected += most;
        self.requests.undecided -= most;
    }

    /// Counts the undecided requests that cannot have passed as rejected: all that are present at
    /// the peak and over the limit.
    pub(crate) fn reject_at_peaks(&mut self) {
        for zone in 0..self.zones.len() {
            for key in 0..self.zones[zone].len() {
                let KeySummary { requests, margins, .. } = self.zones[zone][key];
                let over = margins.map_or(0, |(lowest, _)| u64::try_from(lowest).unwrap_or(0));
                let more = over.saturating_sub(requests.rejected).min(requests.undecided);
                self.reject_undecided(zone, key as u32, more);
            }
        }
    }

    /// The lists of keys. `zones` are the names and keys of the zones; a list has the names if there
    /// are several.
    pub(crate) fn lists<'z>(
        &self,
        zones: impl ExactSizeIterator<Item = (&'z str, &'z Interner)>,
        arrivals: &[Arrival],
        units: Units,
        peaks_decide: bool,
    ) -> KeyLists {
        let mut lists = KeyLists::default();
        let has_several = zones.len() > 1;
        for (keys, (name, texts)) in self.zones.iter().zip(zones) {
            for (number, key) in keys.iter().enumerate() {
                let Some(verdict) = key.verdict(peaks_decide) else { continue };
                let text = texts.text(number as u32);
                let limit = has_several.then(|| name.to_owned());
                lists.put(verdict, key.entry(text, limit, verdict, arrivals, units));
            }
        }
        lists
    }

    /// The keys of a zone that other values of a limit would have caught. `setting` writes one.
    pub(crate) fn steps(
        &self,
        zone: usize,
        limit: i64,
        others: [i64; 2],
        setting: impl Fn(i64) -> String,
    ) -> Vec<Step> {
        let margins = || self.zones[zone].iter().filter_map(|key| key.margins);
        let step = |other: i64| {
            let more = other - limit;
            let tripped = margins().filter(|(lowest, _)| *lowest > more).count() as u64;
            let may_trip = margins().filter(|(_, highest)| *highest > more).count() as u64;
            let closest = self.zones[zone].iter().filter_map(|key| key.closest);
            let likely = closest.filter(|it| it.count - it.limit > more).count() as u64;
            let likely = self.likely_rejected.map(|_| likely);
            Step { setting: setting(other), tripped, undecided: may_trip - tripped, likely }
        };
        others.into_iter().map(step).collect()
    }
}

/// The other values of a setting that a report shows: half and twice of it, or the next ones if it
/// is the lowest.
pub(crate) fn other_settings(setting: i64, lowest: i64) -> [i64; 2] {
    if setting <= lowest { [lowest + 1, 5] } else { [setting / 2, setting * 2] }
}
