//! The replay of a limit: stores requests until the end of the log, then decides them key by key in
//! the order of their arrival.

use super::estimator::Estimator;
use super::limit::{Algorithm, Limit};
use super::observer::{IS_SPARED, STAMP_IS_ARRIVAL};
use super::summary::Summary;
use super::{bounded, effect, exact};
use crate::arrivals::{Arrival, Arrivals, ByKey, arrival_ns};
use crate::engine::{Outcome, not_replayed, whole_seconds};
use crate::event::Event;
use crate::keys::Interner;
use crate::report::{Decision, Exactness, RuleReport};
use crate::rule::Replay;

/// The reason why a verdict of the two periods may be undecided although all times are known.
const EVEN_NOTE: &str = "HAProxy begins periods at even milliseconds of its own clock, and the log does \
                         not have the order of requests at one time; a verdict that depends on \
                         either cannot be told";

/// The requests of a key, in the order of their arrival.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyRequests<'r> {
    /// Their arrivals, or the earliest that they can be, in nanoseconds since 1970.
    pub(super) times_ns: &'r [i64],
    /// When they ended, for [`Algorithm::Concurrency`].
    pub(super) ends_ns: &'r [i64],
}

/// The replay of a limit.
///
/// # Memory
///
/// 44 bytes for each request, 8 more for a limit of requests at once, and 40 more with decisions;
/// the text of each distinct key with about 50 bytes more.
#[derive(Debug)]
pub(super) struct WindowReplay<'r> {
    limit: &'r Limit,
    arrivals: Arrivals,
    keys: Interner,
    /// Requests without a time.
    untimed: u64,
    /// Requests that came after the most that are held.
    not_held: u64,
}

impl<'r> WindowReplay<'r> {
    pub(super) fn new(limit: &'r Limit) -> Self {
        let (arrivals, keys) = Default::default();
        Self { limit, arrivals, keys, untimed: 0, not_held: 0 }
    }

    fn notes(&self, is_exact: bool) -> Vec<String> {
        let mut notes = Vec::from_iter(not_replayed(self.untimed, "no time"));
        if self.not_held > 0 {
            notes.push(format!("{} requests are over the most that are held", self.not_held));
        }
        if let Algorithm::Unpublished { note, .. } = self.limit.algorithm {
            notes.push(note.to_owned());
        }
        if !is_exact {
            notes.push(whole_seconds("every verdict is"));
        }
        notes
    }
}

impl Replay for WindowReplay<'_> {
    fn take(&mut self, source: u32, line: u64, event: &Event<'_>) {
        let (Some(time_ns), mut texts) = (event.time_ns, event.texts) else {
            self.untimed += 1;
            return;
        };
        let Some(key) = texts.next().and_then(|text| self.keys.number(text)) else {
            self.not_held += 1;
            return;
        };
        let is_arrival = event.tag & STAMP_IS_ARRIVAL != 0;
        let arrival_ns = if is_arrival { time_ns } else { arrival_ns(time_ns, event.duration_ns) };
        if !self.arrivals.push(
            time_ns,
            Arrival::new(arrival_ns, source, line, event.tag & IS_SPARED),
            &[key],
        ) {
            self.not_held += 1;
            return;
        }
        if self.limit.algorithm == Algorithm::Concurrency {
            let duration_ns = i64::try_from(event.duration_ns).unwrap_or(i64::MAX);
            let end_ns = arrival_ns.saturating_add(duration_ns);
            self.arrivals.push_end(source, duration_ns, end_ns);
        }
    }

    fn memory_bytes(&self) -> usize {
        self.arrivals.memory_bytes()
            + self.arrivals.list.len() * ByKey::REQUEST_BYTES
            + self.keys.memory_bytes()
    }

    fn finish(self: Box<Self>, decide: Option<&mut dyn FnMut(&Decision<'_>)>) -> RuleReport {
        let Self { limit, arrivals, keys, .. } = &*self;
        let is_exact = arrivals.have_fractions();
        let mut summary = Summary::new(limit);
        let mut all = Vec::new();
        if decide.is_some() {
            all.resize(arrivals.list.len(), Outcome::UNDECIDED);
        }
        let (mut ends_ns, mut outcomes) = (Vec::new(), Vec::new());
        let mut estimator = Estimator::default();
        for (key, times_ns, positions) in ByKey::new(arrivals, keys.len()).iter() {
            ends_ns.clear();
            if limit.algorithm == Algorithm::Concurrency {
                ends_ns.extend(positions.iter().map(|position| arrivals.end_ns(*position)));
            }
            let requests = KeyRequests { times_ns, ends_ns: &ends_ns };
            outcomes.clear();
            let (peak, more_rejected) = if is_exact {
                let peak = exact::evaluate(limit, requests, &mut outcomes);
                (peak, exact::undecide_order(limit, times_ns, &mut outcomes))
            } else {
                bounded::evaluate(limit, requests, &mut outcomes)
            };
            let place = |at: usize| arrivals.list[positions[at] as usize];
            let is_spared = |at: usize| place(at).set == IS_SPARED;
            let is_plain = limit.effect.is_plain();
            let more_rejected = match is_plain {
                true => more_rejected,
                false => effect::apply(
                    &limit.effect,
                    times_ns,
                    is_exact,
                    is_spared,
                    &mut outcomes,
                    more_rejected,
                ),
            };
            let has_estimate = !is_exact && is_plain;
            let likely = has_estimate.then(|| estimator.estimate(limit, times_ns)).flatten();
            summary.take(keys.text(key), place, &outcomes, peak, more_rejected, likely);
            if !all.is_empty() {
                for (position, outcome) in positions.iter().zip(&outcomes) {
                    all[*position as usize] = *outcome;
                }
            }
        }
        if let Some(decide) = decide {
            arrivals.decide(&all, |arrival, _| keys.text(arrival.only_key()), decide);
        }
        let mut report = summary.finish();
        report.requests.undecided += self.untimed + self.not_held;
        report.estimate = report.estimate.filter(|_| !is_exact);
        report.notes = self.notes(is_exact);
        let is_even_known = !limit.algorithm.is_of_haproxy() || report.requests.undecided == 0;
        if is_exact && !is_even_known {
            report.notes.push(EVEN_NOTE.to_owned());
        }
        report.exactness = match (limit.is_published(), is_exact && is_even_known) {
            (false, _) => Exactness::Band,
            (true, false) => Exactness::Bounded,
            (true, true) => Exactness::Exact,
        };
        report
    }
}
