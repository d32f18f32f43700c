//! The replay of a configuration: stores requests until the end of the log, then decides them in
//! the order of their arrival.

use std::cell::OnceCell;

use weir_core::{RowReader, Segment, Selection, Values};

use super::LimitReq;
use super::bucket::REQUEST;
use super::columns::LimitColumns;
use super::limit::Limit;
use super::nodes::ZoneNodes;
use super::{bounded, bounded_by_key, exact, exact_by_key};
use crate::arrivals::{
    Arrival, Arrivals, ByKey, MS_IN_SECOND, NO_KEY, NS_IN_MS, applying, arrival_ns, likely_arrivals,
};
use crate::engine::{Outcome, not_replayed, whole_seconds};
use crate::event::Event;
use crate::keys::{Interner, Units, ZoneSummary, number_keys, other_settings};
use crate::report::{Decision, Exactness, RuleReport, Step, Verdict};
use crate::rule::Replay;
use crate::sweep::LimitSweep;

/// nginx counts in thousandths of a request, and its clock has milliseconds.
const UNITS: Units = Units { request: REQUEST, clock_ns: NS_IN_MS };

/// The replay of a configuration.
///
/// # Memory
///
/// 32 bytes for each request, 4 for each of its keys if it has several, and the text of each
/// distinct key. At the end of the log, 12 bytes more for each request (60 for several limits over
/// whole seconds) and about 400 for each key, which [`memory_bytes`](Replay::memory_bytes) counts
/// from the beginning. Over rows of a data set, 4 bytes more for each distinct path and client, or
/// whatever field the keys are made of.
#[derive(Debug)]
pub(super) struct LimitReplay<'r> {
    rule: &'r LimitReq,
    arrivals: Arrivals,
    /// The requests so far by key, computed at the first use.
    by_key: OnceCell<ByKey>,
    /// Set if the replay takes rows.
    columns: Option<LimitColumns>,
    /// The keys of each zone.
    zones: Vec<Interner>,
    /// The keys of the present event.
    keys: Vec<u32>,
    /// Requests without a time.
    untimed: u64,
}

impl<'r> LimitReplay<'r> {
    pub(super) fn new(rule: &'r LimitReq) -> Self {
        Self {
            rule,
            arrivals: Arrivals::default(),
            by_key: OnceCell::new(),
            columns: None,
            zones: rule.zones().iter().map(|_| Interner::default()).collect(),
            keys: Vec::new(),
            untimed: 0,
        }
    }

    /// The keys by zone, and the requests.
    #[cfg(test)]
    pub(super) fn parts(&self) -> (&[Interner], &Arrivals) {
        (&self.zones, &self.arrivals)
    }

    /// The requests of the single limit by key.
    pub(super) fn by_key(&self, limit: &Limit) -> &ByKey {
        let keys = self.zones[limit.zone].len();
        self.by_key.get_or_init(|| ByKey::new(&self.arrivals, keys).in_ms())
    }

    /// The positions of the requests in an order for the replay: by arrival, or by key and then by
    /// arrival if keys are independent, which keeps a key in the cache.
    pub(super) fn order(&self) -> Vec<u32> {
        let ([zone], true) = (&self.zones[..], self.rule.limits_are_alone()) else {
            return self.arrivals.by_arrival();
        };
        let mut zones = self.rule.zones_with_bursts();
        if zones.any(|(zone, burst)| ZoneNodes::may_forget(zone.parameters.rate, burst)) {
            return self.arrivals.by_arrival();
        }
        let mut order = ByKey::new(&self.arrivals, zone.len()).positions().to_vec();
        let numbered = self.arrivals.list.iter().zip(0..);
        order.extend(numbered.filter(|(it, _)| it.only_key() == NO_KEY).map(|(_, at)| at));
        order
    }

    /// Replays the requests, and keeps their outcomes if asked to.
    pub(super) fn replay(&self, summary: &mut ZoneSummary, outcomes: Option<&mut [Outcome]>) {
        let is_exact = self.arrivals.have_fractions();
        let limit = self.rule.single_limit().filter(|limit| {
            // A zone that forgets keys is replayed in the order of arrivals.
            let zone = &self.rule.zones()[limit.zone];
            !is_exact || !ZoneNodes::may_forget(zone.parameters.rate, limit.burst)
        });
        if let Some(limit) = limit {
            return self.replay_by_key(limit, summary, outcomes);
        }
        if is_exact {
            return exact::replay(self.rule, &self.arrivals, &self.order(), summary, outcomes);
        }
        bounded::replay(self.rule, &self.arrivals, &self.order(), summary, outcomes);
        // A key that passes whatever the arrivals does not influence others.
        let mut of_zone = |(zone, keys): (usize, &Interner)| {
            let keys = 0..keys.len() as u32;
            keys.map(|key| !summary.key(zone, key).surely_passes()).collect()
        };
        let are_doubtful: Vec<Vec<bool>> =
            self.zones.iter().enumerate().map(&mut of_zone).collect();
        let mut doubtful = self.order();
        doubtful.retain(|position| {
            let arrival = &self.arrivals.list[*position as usize];
            let limits = self.rule.limits(arrival.set);
            let mut keys = applying(limits, self.arrivals.keys_of(arrival, limits.len()));
            keys.any(|(limit, key)| are_doubtful[limit.zone][key as usize])
        });
        let finest_key = |arrival: &Arrival| self.finest_key(arrival);
        let (likely, order) = self.arrivals.at_likely_times(doubtful, finest_key);
        let mut likely_summary = ZoneSummary::new(&self.zones);
        exact::replay(self.rule, &likely, &order, &mut likely_summary, None);
        summary.estimate(&likely_summary);
    }

    /// A number for the key of a request in the zone with the most keys in which it has one: the
    /// client rather than the server.
    fn finest_key(&self, arrival: &Arrival) -> u32 {
        let limits = self.rule.limits(arrival.set);
        let keys = applying(limits, self.arrivals.keys_of(arrival, limits.len()));
        let finest = keys.max_by_key(|(limit, _)| self.zones[limit.zone].len());
        let Some((limit, key)) = finest else { return NO_KEY };
        let before: usize = self.zones[..limit.zone].iter().map(Interner::len).sum();
        before as u32 + key
    }

    /// Replays the requests of a single limit whose keys are independent.
    fn replay_by_key(
        &self,
        limit: &Limit,
        summary: &mut ZoneSummary,
        mut outcomes: Option<&mut [Outcome]>,
    ) {
        let by_key = self.by_key(limit);
        let rate = self.rule.zones()[limit.zone].parameters.rate;
        let is_exact = self.arrivals.have_fractions();
        // No limit applies to a request without a key.
        summary.requests.passed += (self.arrivals.list.len() - by_key.requests()) as u64;
        if let Some(outcomes) = &mut outcomes {
            outcomes.fill(if is_exact {
                Outcome::of(false, 0.0)
            } else {
                Outcome::verdict(Verdict::Passed)
            });
        }
        if is_exact {
            exact_by_key::replay(limit, rate, by_key, summary, outcomes);
        } else {
            bounded_by_key::replay(limit, rate, &self.arrivals, by_key, summary, outcomes);
        }
    }

    /// The report. The caller adds exactness and notes.
    pub(super) fn report(&self, summary: &ZoneSummary) -> RuleReport {
        let zones = self.rule.zone_keys(&self.zones);
        // Whether a peak over the limit means a rejection although the requests are undecided.
        let peaks_decide = self.rule.limits_are_alone() && !self.arrivals.have_fractions();
        let lists = summary.lists(zones, &self.arrivals.list, UNITS, peaks_decide);
        let estimate = summary.likely_rejected().map(|rejected| lists.estimate(rejected));
        let report = lists.into_report(summary.requests, self.steps(summary));
        RuleReport { estimate, ..report }
    }

    /// The keys that half and twice the burst would have caught, if there is only one limit.
    fn steps(&self, summary: &ZoneSummary) -> Vec<Step> {
        let Some(limit) = self.rule.single_limit() else { return Vec::new() };
        let others = other_settings(limit.burst / REQUEST, 0).map(|other| other * REQUEST);
        let setting = |burst: i64| format!("burst={}", burst / REQUEST);
        summary.steps(limit.zone, limit.burst, others, setting)
    }
}

impl Replay for LimitReplay<'_> {
    fn take(&mut self, source: u32, line: u64, event: &Event<'_>) {
        let Some(time_ns) = event.time_ns else {
            self.untimed += 1;
            return;
        };
        if event.tag as usize >= self.rule.limit_sets().len() {
            return;
        }
        self.by_key.take();
        number_keys(self.rule.limits(event.tag), event.texts, &mut self.zones, &mut self.keys);
        let arrival_ns = arrival_ns(time_ns, event.duration_ns);
        let arrival = Arrival::new(arrival_ns, source, line, event.tag);
        let is_new = self.arrivals.push(time_ns, arrival, &self.keys);
        self.untimed += u64::from(!is_new);
    }

    fn bind_rows(&mut self, rows: &RowReader) -> bool {
        self.columns = LimitColumns::new(&self.rule.configuration, rows);
        self.columns.is_some()
    }

    fn take_rows(&mut self, segment: &Segment, selection: &Selection, values: &Values) -> u64 {
        let Self { columns, arrivals, zones, untimed, .. } = self;
        self.by_key.take();
        let Some(columns) = columns else { return 0 };
        let source = segment.source();
        arrivals.reserve(selection.len());
        columns.each(segment, selection, values, zones, |row| {
            let is_new = row.time_ns.is_some_and(|time_ns| {
                let arrival_ns = arrival_ns(time_ns, row.duration_ns);
                arrivals.push(
                    time_ns,
                    Arrival::new(arrival_ns, source, row.line, row.set),
                    row.keys,
                )
            });
            *untimed += u64::from(!is_new);
        })
    }

    fn memory_bytes(&self) -> usize {
        let mut order_bytes = ByKey::REQUEST_BYTES.max(2 * size_of::<u32>());
        if self.rule.single_limit().is_none() && !self.arrivals.have_fractions() {
            order_bytes += size_of::<Arrival>() + size_of::<u32>() + size_of::<(i64, u32)>();
        }
        let keys: usize = self.zones.iter().map(Interner::len).sum();
        self.arrivals.memory_bytes()
            + self.arrivals.list.len() * order_bytes
            + self.columns.as_ref().map_or(0, LimitColumns::memory_bytes)
            + self.zones.iter().map(Interner::memory_bytes).sum::<usize>()
            + keys * (bounded::KEY_BYTES.max(exact::KEY_BYTES) + ZoneSummary::KEY_BYTES)
    }

    fn sweep(&self) -> Option<LimitSweep> {
        let limit = self.rule.single_limit()?;
        let rate = self.rule.zones()[limit.zone].parameters.rate.0;
        let burst = u32::try_from(limit.burst / REQUEST).ok()?;
        let by_key = self.by_key(limit);
        let mut sweep = LimitSweep::new(rate, burst, by_key.requests());
        let mut likely_ms = Vec::new();
        for (_, times_ms, _) in by_key.iter() {
            if self.arrivals.have_fractions() {
                sweep.push(times_ms);
            } else {
                likely_arrivals(times_ms, MS_IN_SECOND, &mut likely_ms);
                sweep.push(&likely_ms);
            }
        }
        Some(sweep)
    }

    fn sweep_key(&self, number: u32) -> Option<&[u8]> {
        let keys = &self.zones[self.rule.single_limit()?.zone];
        ((number as usize) < keys.len()).then(|| keys.text(number))
    }

    fn finish(self: Box<Self>, decide: Option<&mut dyn FnMut(&Decision<'_>)>) -> RuleReport {
        let mut summary = ZoneSummary::new(&self.zones);
        match decide {
            Some(decide) => {
                let mut outcomes = vec![Outcome::UNDECIDED; self.arrivals.list.len()];
                self.replay(&mut summary, Some(&mut outcomes));
                self.rule.decide(&self.arrivals, &self.zones, &outcomes, decide);
            }
            None => self.replay(&mut summary, None),
        }
        let mut report = self.report(&summary);
        report.requests.undecided += self.untimed;
        report.notes.extend(not_replayed(self.untimed, "no time"));
        if !self.arrivals.have_fractions() {
            report.exactness = Exactness::Bounded;
            report.notes.push(whole_seconds("every verdict is"));
        }
        report
    }
}
