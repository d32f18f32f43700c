//! The replay of a configuration: stores requests until the end of the log, then sorts them by
//! arrival.

use std::cell::OnceCell;

use weir_core::{RowReader, Segment, Selection, Values};

use super::LimitReq;
use super::bucket::REQUEST;
use super::by_key::ByKey;
use super::columns::{LimitColumns, LimitedRow};
use super::configuration::Limit;
use super::idle_queue::IdleQueue;
use super::summary::{self, Summary};
use super::{bounded, bounded_by_key, exact, exact_by_key};
use crate::event::Event;
use crate::interner::Interner;
use crate::report::{Decision, Exactness, RuleReport, Verdict};
use crate::rule::Replay;
use crate::stamps::Stamps;
use crate::sweep::LimitSweep;

/// Nanoseconds in a millisecond.
pub(super) const NS_IN_MS: i64 = 1_000_000;

/// The key of a limit that does not apply.
pub(super) const NO_KEY: u32 = u32::MAX;

/// The largest delay of an arrival after a time stamp in whole seconds, in milliseconds.
const SECOND_SPREAD_MS: i64 = 999;

/// The number of requests that are copied before they are replayed.
const COPIED_AT_ONCE: usize = 32;

/// A request that has limits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Request {
    /// Its arrival, or the earliest possible one, in nanoseconds since 1970. Only the order of
    /// requests depends on more than milliseconds.
    pub(super) arrival_ns: i64,
    pub(super) line: u64,
    pub(super) source: u32,
    /// The number of its limit set.
    pub(super) set: u32,
    /// The start of its keys in [`Requests::keys`], one for each limit.
    pub(super) keys_start: u32,
}

impl Request {
    /// Its arrival in milliseconds since 1970, the unit of nginx.
    #[inline]
    pub(super) fn arrival_ms(&self) -> i64 {
        self.arrival_ns.div_euclid(NS_IN_MS)
    }
}

/// The requests of a log, in the order of the log.
#[derive(Debug, Default)]
pub(super) struct Requests {
    pub(super) list: Vec<Request>,
    /// The numbers of keys in their zones.
    pub(super) keys: Vec<u32>,
    stamps: Stamps,
    range_ms: Option<(i64, i64)>,
}

impl Requests {
    /// Reserves memory for some requests with one key each.
    fn reserve(&mut self, requests: usize) {
        self.list.reserve(requests);
        self.keys.reserve(requests);
    }

    /// Adds a request with a time stamp and a duration, in nanoseconds, and the keys of its limits.
    /// Returns false if there are too many keys.
    #[inline]
    fn push(
        &mut self,
        source: u32,
        line: u64,
        time_ns: i64,
        duration_ns: u64,
        set: u32,
        keys: &[u32],
    ) -> bool {
        self.stamps.count(source, time_ns);
        let Ok(keys_start) = u32::try_from(self.keys.len()) else { return false };
        match keys {
            // Avoids a function call to copy 4 bytes.
            [key] => self.keys.push(*key),
            keys => self.keys.extend_from_slice(keys),
        }
        let duration_ns = i64::try_from(duration_ns).unwrap_or(i64::MAX);
        let arrival_ns = time_ns.saturating_sub(duration_ns);
        let request = Request { arrival_ns, line, source, set, keys_start };
        self.list.push(request);
        let arrival_ms = request.arrival_ms();
        let (first_ms, last_ms) = self.range_ms.unwrap_or((arrival_ms, arrival_ms));
        self.range_ms = Some((first_ms.min(arrival_ms), last_ms.max(arrival_ms)));
        true
    }

    /// The keys of a request.
    pub(super) fn keys_of(&self, request: &Request, limits: usize) -> &[u32] {
        let start = request.keys_start as usize;
        &self.keys[start..start + limits]
    }

    /// Calls `each` with the requests in `order`, each with its position and its keys, one for each
    /// limit in its set.
    ///
    /// The requests are scattered in memory. Some are copied before they are passed on, so that the
    /// processor fetches them in parallel, which takes half the time.
    pub(super) fn each(
        &self,
        rule: &LimitReq,
        order: &[u32],
        mut take: impl FnMut(usize, &Request, &[u32]),
    ) {
        let mut copied = [(Request::default(), NO_KEY); COPIED_AT_ONCE];
        for positions in order.chunks(COPIED_AT_ONCE) {
            for (position, (request, first_key)) in positions.iter().zip(&mut copied) {
                *request = self.list[*position as usize];
                let first = self.keys.get(request.keys_start as usize);
                *first_key = first.copied().unwrap_or(NO_KEY);
            }
            for (position, (request, first_key)) in positions.iter().zip(&copied) {
                let limits = rule.limit_sets()[request.set as usize].limits.len();
                let keys = match limits {
                    1 => std::slice::from_ref(first_key),
                    _ => self.keys_of(request, limits),
                };
                take(*position as usize, request, keys);
            }
        }
    }

    /// How much later than [`Request::arrival_ns`] a request may have arrived, in milliseconds.
    ///
    /// If one source has whole seconds, the doubt applies to all sources: the replay needs the
    /// earliest and the latest arrivals in the same order.
    pub(super) fn spread_ms(&self) -> i64 {
        if self.stamps.have_fractions() { 0 } else { SECOND_SPREAD_MS }
    }

    /// The first and the last arrival, in milliseconds; 0 without requests.
    pub(super) fn range_ms(&self) -> (i64, i64) {
        self.range_ms.unwrap_or_default()
    }

    /// The positions in the list by arrival; requests at the same time stay in the order of the
    /// log.
    pub(super) fn by_arrival(&self) -> Vec<u32> {
        let arrival = |position: &u32| self.list[*position as usize].arrival_ns;
        let mut order: Vec<u32> = (0..self.list.len() as u32).collect();
        if !order.is_sorted_by_key(arrival) {
            order.sort_by_key(arrival);
        }
        order
    }

    /// The positions in an order for the replay: by arrival, or by key and then by arrival if keys
    /// are independent, which keeps a key in the cache.
    pub(super) fn replay_order(&self, rule: &LimitReq) -> Vec<u32> {
        let order = self.by_arrival();
        let is_alone = rule.limit_sets().iter().all(|set| set.limits.len() == 1)
            && rule.zones().len() == 1
            && !rule
                .zones_with_bursts()
                .any(|(zone, burst)| IdleQueue::is_needed(zone.rate, burst));
        if !is_alone {
            return order;
        }
        let key = |position: u32| self.keys[self.list[position as usize].keys_start as usize];
        let keys = self.keys.iter().filter(|key| **key != NO_KEY).max();
        // Requests without a key come last.
        let keys = keys.map_or(0, |key| *key as usize + 1);
        let bucket = |position: u32| (key(position) as usize).min(keys);
        let mut next = vec![0u32; keys + 2];
        for position in &order {
            next[bucket(*position) + 1] += 1;
        }
        for bucket in 0..=keys {
            next[bucket + 1] += next[bucket];
        }
        let mut by_key = vec![0; order.len()];
        for position in order {
            let place = &mut next[bucket(position)];
            by_key[*place as usize] = position;
            *place += 1;
        }
        by_key
    }
}

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) verdict: Verdict,
    /// The position of the deciding limit in the limit set.
    pub(super) limit: u32,
    pub(super) delay_ms: Option<u64>,
    pub(super) excess: Option<i64>,
}

/// The replay of a configuration.
///
/// # Memory
///
/// 32 bytes for each request, 4 for each of its keys, and the text of each distinct key. At the end
/// of the log, 12 bytes more for each request and about 400 for each key, which
/// [`memory_bytes`](Replay::memory_bytes) counts from the beginning. Over rows of a data set, 4
/// bytes more for each distinct path and client, or whatever field the keys are made of.
#[derive(Debug)]
pub(super) struct LimitReplay<'r> {
    rule: &'r LimitReq,
    requests: Requests,
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
        let zones = rule.zones().iter().map(|_| Interner::default()).collect();
        Self {
            rule,
            requests: Requests::default(),
            by_key: OnceCell::new(),
            columns: None,
            zones,
            keys: Vec::new(),
            untimed: 0,
        }
    }

    /// The keys by zone, the requests, and whether their times are exact.
    #[cfg(test)]
    pub(super) fn parts(&self) -> (&[Interner], &Requests, bool) {
        (&self.zones, &self.requests, self.requests.stamps.have_fractions())
    }

    /// The requests of the single limit by key.
    pub(super) fn by_key(&self, limit: &Limit) -> &ByKey {
        let keys = self.zones[limit.zone].len();
        self.by_key.get_or_init(|| ByKey::new(&self.requests, keys))
    }

    /// Replays the requests, and keeps their outcomes if asked to.
    pub(super) fn replay(&self, summary: &mut Summary<'_>, outcomes: Option<&mut Vec<Outcome>>) {
        let is_exact = self.requests.stamps.have_fractions();
        let limit = self.rule.single_limit().filter(|limit| {
            // A zone that forgets keys is replayed in the order of arrivals.
            let zone = &self.rule.zones()[limit.zone];
            !is_exact || !IdleQueue::is_needed(zone.rate, limit.burst)
        });
        match limit {
            Some(limit) => self.replay_by_key(limit, summary, outcomes),
            None => {
                let replay = if is_exact { exact::replay } else { bounded::replay };
                replay(self.rule, &self.requests, summary, outcomes);
            }
        }
    }

    /// Replays the requests of a single limit whose keys are independent.
    fn replay_by_key(
        &self,
        limit: &Limit,
        summary: &mut Summary<'_>,
        outcomes: Option<&mut Vec<Outcome>>,
    ) {
        let by_key = self.by_key(limit);
        let rate = self.rule.zones()[limit.zone].rate;
        let is_exact = self.requests.stamps.have_fractions();
        // No limit applies to a request without a key.
        summary.pass_unkeyed(self.requests.list.len() - by_key.requests());
        let unkeyed = Outcome {
            verdict: Verdict::Passed,
            limit: 0,
            delay_ms: is_exact.then_some(0),
            excess: is_exact.then_some(0),
        };
        let outcomes = outcomes.map(|outcomes| {
            outcomes.resize(self.requests.list.len(), unkeyed);
            &mut outcomes[..]
        });
        if is_exact {
            exact_by_key::replay(limit, rate, by_key, summary, outcomes);
        } else {
            bounded_by_key::replay(limit, rate, &self.requests, by_key, summary, outcomes);
        }
    }
}

impl Replay for LimitReplay<'_> {
    fn take(&mut self, source: u32, line: u64, event: &Event<'_>) {
        let Some(time_ns) = event.time_ns else {
            self.untimed += 1;
            return;
        };
        let Some(set) = self.rule.limit_sets().get(event.tag as usize) else { return };
        self.by_key.take();
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        let mut texts = event.texts;
        for limit in &set.limits {
            let number = match texts.next() {
                None | Some(b"") => None,
                Some(text) => self.zones[limit.zone].number(text),
            };
            keys.push(number.unwrap_or(NO_KEY));
        }
        let duration_ns = event.duration_ns;
        let is_new = self.requests.push(source, line, time_ns, duration_ns, event.tag, &keys);
        self.untimed += u64::from(!is_new);
        self.keys = keys;
    }

    fn bind_rows(&mut self, rows: &RowReader) -> bool {
        self.columns = LimitColumns::new(&self.rule.configuration, rows);
        self.columns.is_some()
    }

    fn take_rows(&mut self, segment: &Segment, selection: &Selection, values: &Values) -> u64 {
        let Self { columns, requests, zones, untimed, .. } = self;
        self.by_key.take();
        let Some(columns) = columns else { return 0 };
        let source = segment.source();
        requests.reserve(selection.len());
        columns.each((segment, selection), values, zones, |row| {
            let LimitedRow { line, set, keys, duration_ns, .. } = row;
            let is_new = row.time_ns.is_some_and(|time_ns| {
                requests.push(source, line, time_ns, duration_ns, set, keys)
            });
            *untimed += u64::from(!is_new);
        })
    }

    fn memory_bytes(&self) -> usize {
        let order_bytes = ByKey::REQUEST_BYTES.max(2 * size_of::<u32>());
        let keys: usize = self.zones.iter().map(Interner::len).sum();
        self.requests.list.capacity() * size_of::<Request>()
            + self.requests.list.len() * order_bytes
            + self.requests.keys.capacity() * size_of::<u32>()
            + self.columns.as_ref().map_or(0, LimitColumns::memory_bytes)
            + self.zones.iter().map(Interner::memory_bytes).sum::<usize>()
            + keys * (bounded::KEY_BYTES.max(exact::KEY_BYTES) + summary::KEY_BYTES)
    }

    fn sweep(&self) -> Option<LimitSweep> {
        let limit = self.rule.single_limit()?;
        let rate = self.rule.zones()[limit.zone].rate.0;
        let burst = u32::try_from(limit.burst / REQUEST).ok()?;
        let by_key = self.by_key(limit);
        let keys = by_key.iter().map(|(_, (arrivals_ms, _))| arrivals_ms);
        Some(LimitSweep::new(rate, burst, by_key.requests(), keys))
    }

    fn sweep_key(&self, number: u32) -> Option<&[u8]> {
        let keys = &self.zones[self.rule.single_limit()?.zone];
        ((number as usize) < keys.len()).then(|| keys.text(number))
    }

    fn finish(self: Box<Self>, decide: Option<&mut dyn FnMut(&Decision<'_>)>) -> RuleReport {
        let is_exact = self.requests.stamps.have_fractions();
        let mut summary = Summary::new(self.rule, &self.zones, is_exact);
        let mut outcomes = Vec::new();
        let keeps = decide.is_some();
        self.replay(&mut summary, keeps.then_some(&mut outcomes));
        if let Some(decide) = decide {
            self.decide(&outcomes, decide);
        }
        let mut report = summary.finish(&self.zones, &self.requests.list);
        report.requests.undecided += self.untimed;
        if self.untimed > 0 {
            report
                .notes
                .push(format!("{} requests have no time and were not replayed", self.untimed));
        }
        if !is_exact {
            report.exactness = Exactness::Bounded;
            report.notes.push(
                "the log's times are whole seconds; with $msec and $request_time in log_format \
                 every verdict is exact"
                    .to_owned(),
            );
        }
        report
    }
}

impl LimitReplay<'_> {
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
                delay_ms: outcome.delay_ms,
                excess: outcome.excess.map(|excess| excess as f64 / 1_000.0),
            });
        }
    }
}
