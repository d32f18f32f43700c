//! The replay of a configuration: stores requests until the end of the log, then sorts them by
//! arrival.

use super::LimitConn;
use super::observer::Tag;
use super::requests::{NO_KEY, Request, Requests};
use super::summary::Summary;
use super::{bounded, exact, summary};
use crate::event::Event;
use crate::interner::Interner;
use crate::report::{Decision, Exactness, RuleReport, Verdict};
use crate::rule::Replay;

/// The reason why a verdict may be undecided although all times are known.
const ORDER_NOTE: &str = "of requests of a key that arrive and end in the same millisecond, the order \
                          cannot be told, and so which of them are over the limit";

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) verdict: Verdict,
    /// The position of the deciding limit in the limit set.
    pub(super) limit: u32,
    /// Whether it is sure that this limit decided.
    pub(super) limit_is_sure: bool,
    /// The connections of the key, including this request, if known.
    pub(super) connections: Option<u64>,
}

impl Outcome {
    /// The outcome of a request that cannot be decided.
    pub(super) const UNDECIDED: Self =
        Self { verdict: Verdict::Undecided, limit: 0, limit_is_sure: false, connections: None };
}

/// The replay of a configuration.
///
/// # Memory
///
/// 40 bytes for each request, 4 for each of its keys, and the text of each distinct key. At the end
/// of the log, up to 40 bytes more for each request, 240 for each key of it and 450 for each
/// distinct key, which [`memory_bytes`](Replay::memory_bytes) counts from the beginning.
#[derive(Debug)]
pub(super) struct ConnectionReplay<'r> {
    rule: &'r LimitConn,
    requests: Requests,
    /// The keys of each zone.
    zones: Vec<Interner>,
    /// Requests without a time, or without a request time.
    untimed: u64,
}

impl<'r> ConnectionReplay<'r> {
    pub(super) fn new(rule: &'r LimitConn) -> Self {
        let zones = rule.zones().iter().map(|_| Interner::default()).collect();
        Self { rule, requests: Requests::default(), zones, untimed: 0 }
    }

    /// Calls `decide` with the decisions in the order of the log.
    fn decide(&self, outcomes: &[Outcome], decide: &mut dyn FnMut(&Decision<'_>)) {
        for (request, outcome) in self.requests.list.iter().zip(outcomes) {
            let limits = &self.rule.limit_sets()[request.set as usize].limits;
            let keys = self.requests.keys_of(request, limits.len());
            let zone = limits[outcome.limit as usize].zone;
            let key = keys[outcome.limit as usize];
            decide(&Decision {
                source: request.source,
                line: request.line,
                key: if key == NO_KEY { b"" } else { self.zones[zone].text(key) },
                verdict: outcome.verdict,
                delay_ms: (outcome.verdict == Verdict::Passed).then_some(0),
                excess: outcome.connections.map(|connections| connections as f64),
            });
        }
    }
}

impl Replay for ConnectionReplay<'_> {
    fn take(&mut self, source: u32, line: u64, event: &Event<'_>) {
        let tag = Tag::from(event.tag);
        let Some(set) = self.rule.limit_sets().get(tag.set as usize) else { return };
        let keys_start = u32::try_from(self.requests.keys.len());
        let (Some(time_ns), Ok(keys_start)) = (event.time_ns, keys_start) else {
            self.untimed += 1;
            return;
        };
        for (limit, text) in set.limits.iter().zip(event.texts) {
            let number = match text {
                b"" => None,
                text => self.zones[limit.zone].number(text),
            };
            self.requests.keys.push(number.unwrap_or(NO_KEY));
        }
        let duration_ns = i64::try_from(event.duration_ns).unwrap_or(i64::MAX);
        self.requests.count_precision(source, time_ns, duration_ns);
        let (begin_ns, end_ns) = if tag.stamp_is_arrival {
            (time_ns, time_ns.saturating_add(duration_ns))
        } else {
            (time_ns.saturating_sub(duration_ns), time_ns)
        };
        let (begin_ms, end_ms) = (begin_ns.div_euclid(1_000_000), end_ns.div_euclid(1_000_000));
        let request = Request { begin_ms, end_ms, line, source, set: tag.set, keys_start };
        self.requests.list.push(request);
    }

    fn memory_bytes(&self) -> usize {
        let keys: usize = self.zones.iter().map(Interner::len).sum();
        self.requests.list.capacity() * size_of::<Request>()
            + self.requests.list.len() * (size_of::<u32>() + size_of::<Outcome>())
            + self.requests.keys.capacity() * size_of::<u32>()
            + self.requests.keys.len() * exact::REQUEST_BYTES.max(bounded::REQUEST_BYTES)
            + self.zones.iter().map(Interner::memory_bytes).sum::<usize>()
            + keys * (exact::KEY_BYTES.max(bounded::KEY_BYTES) + summary::KEY_BYTES)
    }

    fn finish(self: Box<Self>, decide: Option<&mut dyn FnMut(&Decision<'_>)>) -> RuleReport {
        let mut summary = Summary::new(self.rule, &self.zones);
        let mut outcomes = Vec::new();
        let doubt = self.requests.doubt();
        match doubt {
            None => {
                let keeps = decide.is_some().then_some(&mut outcomes);
                exact::replay(self.rule, &self.requests, &mut summary, keeps);
            }
            Some(doubt) => {
                bounded::replay(self.rule, &self.requests, doubt, &mut summary, &mut outcomes);
            }
        }
        if let Some(decide) = decide {
            self.decide(&outcomes, decide);
        }
        let mut report = summary.finish(&self.zones);
        let depends_on_order = doubt.is_none() && report.requests.undecided > 0;
        report.requests.undecided += self.untimed;
        if self.untimed > 0 {
            report.notes.push(format!(
                "{} requests have no time or no request time and were not replayed",
                self.untimed
            ));
        }
        if depends_on_order {
            report.notes.push(ORDER_NOTE.to_owned());
        }
        if doubt.is_some() {
            report.notes.push(
                "the log's times are whole seconds; with $msec and $request_time in log_format \
                 nearly all verdicts are exact"
                    .to_owned(),
            );
        }
        if report.requests.undecided > 0 || doubt.is_some() {
            report.exactness = Exactness::Bounded;
        }
        report
    }
}
