//! The replay of a configuration: stores requests until the end of the log, then decides them in
//! the order of their arrival.

use super::doubt::Doubt;
use super::limit::ConnectionLimit;
use super::observer::Tag;
use super::{LimitConn, bounded, exact};
use crate::arrivals::{Arrival, Arrivals, NS_IN_MS, ZoneLimit};
use crate::engine::{Outcome, not_replayed, whole_seconds};
use crate::event::Event;
use crate::keys::{Interner, Units, ZoneSummary, number_keys, other_settings};
use crate::nginx::configuration::LimitKind;
use crate::report::{Decision, Exactness, RuleReport, Step, Verdict};
use crate::rule::Replay;

/// The reason why a verdict may be undecided although all times are known.
const ORDER_NOTE: &str = "of requests of a key that arrive and end in the same millisecond, the order \
                          cannot be told, and so which of them are over the limit";

/// Connections are counted one by one, and nginx's clock has milliseconds.
const UNITS: Units = Units { request: 1, clock_ns: NS_IN_MS };

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConnectionOutcome {
    pub(super) verdict: Verdict,
    /// The position of the deciding limit in the limit set.
    pub(super) limit: u32,
    /// Whether it is sure that this limit decided.
    pub(super) limit_is_sure: bool,
    /// The connections of the key, including this request, if known.
    pub(super) connections: Option<u64>,
}

impl ConnectionOutcome {
    /// The outcome of a request that cannot be decided.
    pub(super) const UNDECIDED: Self =
        Self { verdict: Verdict::Undecided, limit: 0, limit_is_sure: false, connections: None };

    /// Counts a request with this outcome, in total and for each of its keys.
    pub(super) fn count(
        self,
        summary: &mut ZoneSummary,
        limits: &[ConnectionLimit],
        keys: &[u32],
        position: u32,
    ) {
        summary.count(limits, keys, self.verdict);
        if self.verdict != Verdict::Rejected {
            return;
        }
        if self.limit_is_sure {
            let number = self.limit as usize;
            summary.key(limits[number].zone(), keys[number]).trip(position);
        } else {
            summary.doubt(limits, keys);
        }
    }
}

impl From<ConnectionOutcome> for Outcome {
    fn from(outcome: ConnectionOutcome) -> Self {
        let ConnectionOutcome { verdict, limit, connections, .. } = outcome;
        let delay_ms = (verdict == Verdict::Passed).then_some(0);
        Self { verdict, limit, delay_ms, count: connections.map(|count| count as f64) }
    }
}

/// The replay of a configuration.
///
/// # Memory
///
/// 40 bytes for each request, 4 for each of its keys if it has several, and the text of each
/// distinct key. At the end of the log, up to 44 bytes more for each request, 240 for each key of it
/// and 400 for each distinct key, which [`memory_bytes`](Replay::memory_bytes) counts from the
/// beginning.
#[derive(Debug)]
pub(super) struct ConnectionReplay<'r> {
    rule: &'r LimitConn,
    arrivals: Arrivals,
    /// The keys of each zone.
    zones: Vec<Interner>,
    /// The keys of the present event.
    keys: Vec<u32>,
    /// Requests without a time, or without a request time.
    untimed: u64,
}

impl<'r> ConnectionReplay<'r> {
    pub(super) fn new(rule: &'r LimitConn) -> Self {
        let zones = rule.zones().iter().map(|_| Interner::default()).collect();
        Self { rule, arrivals: Arrivals::default(), zones, keys: Vec::new(), untimed: 0 }
    }

    /// The keys that half and twice the limit would have caught, if there is only one limit.
    fn steps(&self, summary: &ZoneSummary) -> Vec<Step> {
        let Some(limit) = self.rule.single_limit() else { return Vec::new() };
        let connections = limit.connections as i64;
        let setting = |other: i64| {
            let other = ConnectionLimit { connections: other.unsigned_abs(), ..limit.clone() };
            other.text(self.rule.zones())
        };
        summary.steps(limit.zone(), connections, other_settings(connections, 1), setting)
    }
}

impl Replay for ConnectionReplay<'_> {
    fn take(&mut self, source: u32, line: u64, event: &Event<'_>) {
        let tag = Tag::from(event.tag);
        if tag.set as usize >= self.rule.limit_sets().len() {
            return;
        }
        let Some(time_ns) = event.time_ns else {
            self.untimed += 1;
            return;
        };
        number_keys(self.rule.limits(tag.set), event.texts, &mut self.zones, &mut self.keys);
        let duration_ns = i64::try_from(event.duration_ns).unwrap_or(i64::MAX);
        let (begin_ns, end_ns) = if tag.stamp_is_arrival {
            (time_ns, time_ns.saturating_add(duration_ns))
        } else {
            (time_ns.saturating_sub(duration_ns), time_ns)
        };
        // Arrivals in the same millisecond are in the order of the log.
        let begin_ns = begin_ns.div_euclid(NS_IN_MS).saturating_mul(NS_IN_MS);
        let arrival = Arrival::new(begin_ns, source, line, tag.set);
        if self.arrivals.push(time_ns, arrival, &self.keys) {
            self.arrivals.push_end(source, duration_ns, end_ns);
        } else {
            self.untimed += 1;
        }
    }

    fn memory_bytes(&self) -> usize {
        let keys: usize = self.zones.iter().map(Interner::len).sum();
        let of_key = exact::KEY_BYTES.max(bounded::KEY_BYTES) + ZoneSummary::KEY_BYTES;
        self.arrivals.memory_bytes()
            + self.arrivals.list.len() * (size_of::<u32>() + size_of::<Outcome>())
            + self.arrivals.key_count() * exact::REQUEST_BYTES.max(bounded::REQUEST_BYTES)
            + self.zones.iter().map(Interner::memory_bytes).sum::<usize>()
            + keys * of_key
    }

    fn finish(self: Box<Self>, decide: Option<&mut dyn FnMut(&Decision<'_>)>) -> RuleReport {
        let Self { rule, arrivals, zones, untimed, .. } = &*self;
        let mut summary = ZoneSummary::new(zones);
        let doubt = Doubt::of(arrivals);
        let mut outcomes = Vec::new();
        if decide.is_some() || doubt.is_some() {
            outcomes.resize(arrivals.list.len(), Outcome::UNDECIDED);
        }
        match doubt {
            None => exact::replay(rule, arrivals, &mut summary, &mut outcomes),
            Some(doubt) => bounded::replay(rule, arrivals, doubt, &mut summary, &mut outcomes),
        }
        if let Some(decide) = decide {
            rule.decide(arrivals, zones, &outcomes, decide);
        }
        let peaks_decide = rule.peaks_decide();
        if peaks_decide {
            summary.reject_at_peaks();
        }
        let lists = summary.lists(rule.zone_keys(zones), &arrivals.list, UNITS, peaks_decide);
        let mut report = lists.into_report(summary.requests, self.steps(&summary));
        let depends_on_order = doubt.is_none() && report.requests.undecided > 0;
        report.requests.undecided += untimed;
        report.notes.extend(not_replayed(*untimed, "no time or no request time"));
        if depends_on_order {
            report.notes.push(ORDER_NOTE.to_owned());
        }
        if doubt.is_some() {
            report.notes.push(whole_seconds("nearly all verdicts are"));
        }
        if report.requests.undecided > 0 || doubt.is_some() {
            report.exactness = Exactness::Bounded;
        }
        report
    }
}
