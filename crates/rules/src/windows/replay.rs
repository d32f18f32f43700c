//! The replay of a limit: stores requests until the end of the log, then decides them key by key in
//! the order of their arrival.

use super::limit::{Algorithm, Limit};
use super::observer::STAMP_IS_ARRIVAL;
use super::summary::Summary;
use super::{bounded, exact};
use crate::event::Event;
use crate::interner::Interner;
use crate::report::{Decision, Exactness, RuleReport, Verdict};
use crate::rule::Replay;
use crate::stamps::Stamps;

/// How far the time may lie behind a stamp without a fraction of a second, in nanoseconds.
pub(super) const SECOND_SPREAD_NS: i64 = 999_999_999;

/// The reason why a verdict of the two periods may be undecided although all times are known.
const EVEN_NOTE: &str = "HAProxy begins periods at even milliseconds of its own clock, which is not in \
                         the log; a verdict that depends on this millisecond cannot be told";

/// The most requests that are held.
const REQUESTS_MAX: usize = u32::MAX as usize;

/// A request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Request {
    /// Its arrival, or the earliest that it can be, in nanoseconds since 1970.
    pub(super) arrival_ns: i64,
    pub(super) duration_ns: i64,
    pub(super) line: u64,
    pub(super) source: u32,
    key: u32,
}

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outcome {
    pub(super) verdict: Verdict,
    pub(super) delay_ms: Option<u64>,
    /// The count that was compared with the limit, if it is known.
    pub(super) count: Option<f64>,
}

impl Outcome {
    /// A request that is let through at once, or rejected.
    pub(super) fn of(is_rejected: bool, count: f64) -> Self {
        let verdict = if is_rejected { Verdict::Rejected } else { Verdict::Passed };
        let delay_ms = (!is_rejected).then_some(0);
        Self { verdict, delay_ms, count: Some(count) }
    }

    /// A verdict alone.
    pub(super) fn verdict(verdict: Verdict) -> Self {
        Self { verdict, delay_ms: None, count: None }
    }

    /// Rejected or passed if that is sure, or else undecided.
    pub(super) fn bounded(is_surely_rejected: bool, has_surely_passed: bool) -> Self {
        Self::verdict(match (is_surely_rejected, has_surely_passed) {
            (true, _) => Verdict::Rejected,
            (_, true) => Verdict::Passed,
            _ => Verdict::Undecided,
        })
    }
}

/// The highest count of a key if none of its requests had been rejected.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Peak {
    /// As replayed.
    pub(super) count: f64,
    pub(super) lowest: f64,
    pub(super) highest: f64,
    /// The position of the request that reached it.
    pub(super) at: usize,
}

impl Peak {
    /// Takes a count into account that is known.
    pub(super) fn take(&mut self, at: usize, count: f64) {
        self.take_range(at, count, count, count);
    }

    /// Takes a count into account, and the least and the most that it can be.
    pub(super) fn take_range(&mut self, at: usize, count: f64, lowest: f64, highest: f64) {
        if count > self.count {
            (self.count, self.at) = (count, at);
        }
        self.lowest = self.lowest.max(lowest);
        self.highest = self.highest.max(highest);
    }
}

/// The replay of a limit.
///
/// # Memory
///
/// 36 bytes for each request, and 40 more with decisions; the text of each distinct key with about
/// 20 bytes more.
#[derive(Debug)]
pub(super) struct WindowReplay<'r> {
    limit: &'r Limit,
    requests: Vec<Request>,
    keys: Interner,
    stamps: Stamps,
    /// Requests without a time.
    untimed: u64,
    /// Requests that came after the most that are held.
    not_held: u64,
}

impl<'r> WindowReplay<'r> {
    pub(super) fn new(limit: &'r Limit) -> Self {
        let (requests, keys, stamps) = Default::default();
        Self { limit, requests, keys, stamps, untimed: 0, not_held: 0 }
    }

    /// The positions of the requests by key, those of a key by arrival, those at the same time in
    /// the order of the log; and where each key ends.
    fn by_key(&self) -> (Vec<u32>, Vec<u32>) {
        let mut ends = vec![0; self.keys.len()];
        for request in &self.requests {
            ends[request.key as usize] += 1;
        }
        let mut starts = ends.clone();
        let mut sum = 0;
        for (start, end) in starts.iter_mut().zip(&mut ends) {
            *start = sum;
            sum += *end;
            *end = sum;
        }
        let mut order = vec![0; self.requests.len()];
        for (position, request) in self.requests.iter().enumerate() {
            let place = &mut starts[request.key as usize];
            order[*place as usize] = position as u32;
            *place += 1;
        }
        let arrival = |position: &u32| self.requests[*position as usize].arrival_ns;
        let mut start = 0;
        for end in &ends {
            let of_key = &mut order[start..*end as usize];
            start = *end as usize;
            if !of_key.is_sorted_by_key(arrival) {
                of_key.sort_by_key(arrival);
            }
        }
        (order, ends)
    }

    fn notes(&self, is_exact: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if self.untimed > 0 {
            notes.push(format!("{} requests have no time and were not replayed", self.untimed));
        }
        if self.not_held > 0 {
            notes.push(format!("{} requests are over the most that are held", self.not_held));
        }
        if let Algorithm::Unpublished { note, .. } = self.limit.algorithm {
            notes.push(note.to_owned());
        }
        if !is_exact {
            notes.push(
                "the log's times are whole seconds; with $msec and $request_time in log_format \
                 every verdict is exact"
                    .to_owned(),
            );
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
        let key = texts.next().and_then(|text| self.keys.number(text));
        let Some(key) = key.filter(|_| self.requests.len() < REQUESTS_MAX) else {
            self.not_held += 1;
            return;
        };
        self.stamps.count(source, time_ns);
        let duration_ns = i64::try_from(event.duration_ns).unwrap_or(i64::MAX);
        let before_ns = if event.tag == STAMP_IS_ARRIVAL { 0 } else { duration_ns };
        let arrival_ns = time_ns.saturating_sub(before_ns);
        self.requests.push(Request { arrival_ns, duration_ns, line, source, key });
    }

    fn memory_bytes(&self) -> usize {
        self.requests.capacity() * (size_of::<Request>() + size_of::<u32>())
            + self.keys.memory_bytes()
    }

    fn finish(self: Box<Self>, decide: Option<&mut dyn FnMut(&Decision<'_>)>) -> RuleReport {
        let (order, ends) = self.by_key();
        let is_exact = self.stamps.have_fractions();
        let is_published = !matches!(self.limit.algorithm, Algorithm::Unpublished { .. });
        let mut summary = Summary::new(self.limit);
        let mut all = Vec::new();
        if decide.is_some() {
            all.resize(self.requests.len(), Outcome::verdict(Verdict::Undecided));
        }
        let (mut of_key, mut outcomes) = (Vec::new(), Vec::new());
        let mut start = 0;
        for (key, end) in ends.iter().enumerate() {
            let positions = &order[start..*end as usize];
            start = *end as usize;
            of_key.clear();
            of_key.extend(positions.iter().map(|position| self.requests[*position as usize]));
            outcomes.clear();
            let (peak, more_rejected) = if is_exact {
                (exact::evaluate(self.limit, &of_key, &mut outcomes), 0)
            } else {
                bounded::evaluate(self.limit, &of_key, &mut outcomes)
            };
            summary.take(self.keys.text(key as u32), &of_key, &outcomes, peak, more_rejected);
            if !all.is_empty() {
                for (position, outcome) in positions.iter().zip(&outcomes) {
                    all[*position as usize] = *outcome;
                }
            }
        }
        if let Some(decide) = decide {
            for (request, outcome) in self.requests.iter().zip(&all) {
                decide(&Decision {
                    source: request.source,
                    line: request.line,
                    key: self.keys.text(request.key),
                    verdict: outcome.verdict,
                    delay_ms: outcome.delay_ms,
                    excess: outcome.count,
                });
            }
        }
        let mut report = summary.finish();
        report.requests.undecided += self.untimed + self.not_held;
        report.notes = self.notes(is_exact);
        let is_even_known =
            self.limit.algorithm != Algorithm::TwoPeriods || report.requests.undecided == 0;
        if is_exact && !is_even_known {
            report.notes.push(EVEN_NOTE.to_owned());
        }
        report.exactness = match (is_published, is_exact && is_even_known) {
            (false, _) => Exactness::Band,
            (true, false) => Exactness::Bounded,
            (true, true) => Exactness::Exact,
        };
        report
    }
}
