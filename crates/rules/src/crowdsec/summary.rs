//! The summary of a replay: alerts, and how close each key came to one.

use super::bucket::Level;
use super::scenario::{BucketKind, Scenario};
use crate::keys::{Interner, KeyLists};
use crate::report::{Alert, Ban, Decision, RequestCounts, RuleReport, Step, Trip, Verdict};

/// The time and the line of an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) time_ns: i64,
    pub(super) source: u32,
    pub(super) line: u64,
}

/// The summary of a key.
#[derive(Debug, Clone, Copy)]
struct KeySummary {
    level: Level,
    /// The highest level, in events, and its time.
    peak: f64,
    peak_place: Place,
    /// The first alert.
    trip: Option<Place>,
    requests: RequestCounts,
}

/// The decision about an event, kept until the end.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    key: u32,
    source: u32,
    line: u64,
    level: f32,
    is_banned: bool,
}

/// The memory of an alert about a subject and of the resulting ban, without the lines.
pub(super) fn alert_bytes(scenario: &Scenario, subject: &[u8]) -> usize {
    let alert = size_of::<Alert>() + scenario.name.len() + subject.len();
    let ban = size_of::<Ban>() + subject.len();
    alert + if scenario.ban_ns.is_some() { ban } else { 0 }
}

/// The summary of a replay. Its memory is 120 bytes for each key, 24 for each event, and the alerts
/// and bans with their texts and lines.
#[derive(Debug, Default)]
pub(super) struct Summary {
    keys: Vec<KeySummary>,
    outcomes: Vec<Outcome>,
    alerts: Vec<Alert>,
    bans: Vec<Ban>,
    /// The memory of the texts and lines of alerts and bans.
    alert_bytes: usize,
    /// Events without a time.
    pub(super) untimed: u64,
    /// Overflows of events without a client's address.
    pub(super) without_address: u64,
    failures: u64,
    first_failure: Vec<u8>,
}

impl Summary {
    /// Counts an event of a key. `is_banned` is whether its client was banned.
    pub(super) fn count(&mut self, kind: BucketKind, key: u32, place: Place, is_banned: bool) {
        let index = key as usize;
        if index >= self.keys.len() {
            let new = KeySummary {
                level: Level::default(),
                peak: 0.0,
                peak_place: place,
                trip: None,
                requests: RequestCounts::default(),
            };
            self.keys.resize(index + 1, new);
        }
        let summary = &mut self.keys[index];
        let level = match kind {
            BucketKind::Leaky { leak_ns, .. } => summary.level.add(leak_ns, place.time_ns),
            _ => 1.0,
        };
        if level > summary.peak {
            (summary.peak, summary.peak_place) = (level, place);
        }
        summary.requests.rejected += u64::from(is_banned);
        summary.requests.passed += u64::from(!is_banned);
        let Place { source, line, .. } = place;
        self.outcomes.push(Outcome { key, source, line, level: level as f32, is_banned });
    }

    /// Records an alert of a key.
    pub(super) fn trip(&mut self, key: u32, place: Place) {
        if let Some(summary) = self.keys.get_mut(key as usize) {
            summary.trip.get_or_insert(place);
        }
    }

    pub(super) fn raise(&mut self, alert: Alert) {
        self.alert_bytes += alert.scenario.len() + alert.subject.len();
        self.alerts.push(alert);
    }

    pub(super) fn ban(&mut self, ban: Ban) {
        self.alert_bytes += ban.key.len() + size_of_val(&ban.matches[..]);
        self.bans.push(ban);
    }

    /// Records an expression that could not be evaluated.
    pub(super) fn fail(&mut self, message: &[u8]) {
        self.failures += 1;
        if self.first_failure.is_empty() {
            self.first_failure = message.to_vec();
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.keys.capacity() * size_of::<KeySummary>()
            + self.outcomes.capacity() * size_of::<Outcome>()
            + self.alerts.capacity() * size_of::<Alert>()
            + self.bans.capacity() * size_of::<Ban>()
            + self.alert_bytes
    }

    /// Makes the report. `pending` is the number of counters whose deadline had not passed.
    pub(super) fn finish(
        self,
        scenario: &Scenario,
        keys: &Interner,
        pending: usize,
        decide: Option<&mut dyn FnMut(&Decision<'_>)>,
    ) -> RuleReport {
        if let Some(decide) = decide {
            self.decide(scenario, keys, decide);
        }
        let mut requests = RequestCounts { undecided: self.untimed, ..RequestCounts::default() };
        let steps = self.steps(scenario);
        let mut lists = KeyLists::ordered_by(|one, other| {
            one.time_ns.cmp(&other.time_ns).then(one.line.cmp(&other.line))
        });
        for (key, summary) in self.keys.iter().enumerate() {
            requests += summary.requests;
            let trip = summary.as_trip(scenario, keys.text(key as u32));
            lists.put(trip.verdict, Some(trip));
        }
        RuleReport {
            notes: scenario.capacity_warning.iter().cloned().chain(self.notes(pending)).collect(),
            bans: self.bans,
            alerts: self.alerts,
            ..lists.into_report(requests, steps)
        }
    }

    fn decide(&self, scenario: &Scenario, keys: &Interner, decide: &mut dyn FnMut(&Decision<'_>)) {
        for outcome in &self.outcomes {
            let verdict = if outcome.is_banned { Verdict::Rejected } else { Verdict::Passed };
            let is_leaky = matches!(scenario.kind, BucketKind::Leaky { .. });
            decide(&Decision {
                source: outcome.source,
                line: outcome.line,
                key: keys.text(outcome.key),
                verdict,
                delay_ms: None,
                excess: is_leaky.then_some((f64::from(outcome.level) * 1e3).round() / 1e3),
                matched: None,
            });
        }
    }

    fn notes(&self, pending: usize) -> Vec<String> {
        let mut notes = Vec::new();
        let mut add = |number: u64, one: &str, many: &str| {
            if number > 0 {
                let text = if number == 1 { one } else { many };
                notes.push(format!("{number} {text}"));
            }
        };
        add(
            self.untimed,
            "event has no time and was not replayed",
            "events have no time and were not replayed",
        );
        add(
            self.without_address,
            "overflow is not an alert, because its client is not an address",
            "overflows are not alerts, because their clients are not addresses",
        );
        add(
            pending as u64,
            "counter had not ended at the end of the log",
            "counters had not ended at the end of the log",
        );
        if self.failures > 0 {
            let (number, reason) = (self.failures, String::from_utf8_lossy(&self.first_failure));
            notes.push(format!("an expression has no value for {number} events, first: {reason}"));
        }
        notes
    }

    /// The keys that half and twice the capacity would have caught. With distinct values, other
    /// capacities cannot be derived from this replay, because the distinct values depend on how
    /// long a bucket lives.
    fn steps(&self, scenario: &Scenario) -> Vec<Step> {
        let Some((capacity, _)) = scenario.plain_bucket() else { return Vec::new() };
        let settings = [capacity / 2, capacity, capacity.saturating_mul(2)];
        let settings = settings.into_iter().filter(|setting| *setting > 0);
        let step = |setting: u32| Step {
            setting: format!("capacity: {setting}"),
            tripped: self.keys.iter().filter(|key| key.peak > f64::from(setting)).count() as u64,
            undecided: 0,
            likely: None,
        };
        settings.map(step).collect()
    }
}

impl Scenario {
    /// The capacity and the time of a leak, if nothing else decides when the bucket overflows.
    pub(super) fn plain_bucket(&self) -> Option<(u32, i64)> {
        let depends_on_more = self.distinct.is_some()
            || self.cancel.is_some()
            || self.condition.is_some()
            || self.overflow_filter.is_some();
        match self.kind {
            BucketKind::Leaky { capacity, leak_ns } if !depends_on_more => {
                Some((capacity, leak_ns))
            }
            _ => None,
        }
    }
}

impl KeySummary {
    fn as_trip(&self, scenario: &Scenario, key: &[u8]) -> Trip {
        let place = self.trip.unwrap_or(self.peak_place);
        let limit = match scenario.kind {
            BucketKind::Leaky { capacity, .. } => f64::from(capacity),
            BucketKind::Trigger => 0.0,
            BucketKind::Counter { .. } | BucketKind::Conditional { .. } => self.peak,
        };
        Trip {
            key: key.to_vec(),
            limit: None,
            verdict: if self.trip.is_some() { Verdict::Rejected } else { Verdict::Passed },
            time_ns: place.time_ns,
            source: place.source,
            line: place.line,
            peak: self.peak,
            peak_range: (self.peak, self.peak),
            margin: self.peak - limit,
            requests: self.requests,
            likely_rejected: None,
        }
    }
}
