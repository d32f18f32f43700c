//! The requests of a log that have limits, and when they arrived.
//!
//! [`Arrivals`] stores them in the order of the log until its end. They are then decided in the
//! order of their arrival, or one key after another ([`ByKey`]). [`Stamps`] finds out how precise
//! the times are: of a log with whole seconds, only bounds of the arrivals are known.

mod by_key;
mod likely;
mod stamps;

pub(crate) use self::by_key::ByKey;
pub(crate) use self::likely::likely_arrivals;
pub(crate) use self::stamps::Stamps;
use crate::engine::Outcome;
use crate::report::Decision;

/// Nanoseconds in a millisecond.
pub(crate) const NS_IN_MS: i64 = 1_000_000;

/// Milliseconds in a second.
pub(crate) const MS_IN_SECOND: i64 = 1_000;

/// The most by which a request may have arrived after its stamp in whole seconds, in nanoseconds.
pub(crate) const SECOND_SPREAD_NS: i64 = 999_999_999;

/// The key of a limit that does not apply to a request.
pub(crate) const NO_KEY: u32 = u32::MAX;

/// The number of arrivals that are copied before they are replayed.
const COPIED_AT_ONCE: usize = 32;

/// A request that has limits.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Arrival {
    /// When it arrived, or the earliest possible time, in nanoseconds since 1970.
    pub(crate) time_ns: i64,
    pub(crate) line: u64,
    pub(crate) source: u32,
    /// The number of its limit set.
    pub(crate) set: u32,
    /// Its key if its set has one limit, otherwise the start of its keys in [`Arrivals::keys`].
    key: u32,
}

impl Arrival {
    /// Makes an arrival whose key is not set yet.
    #[inline]
    pub(crate) fn new(time_ns: i64, source: u32, line: u64, set: u32) -> Self {
        Self { time_ns, line, source, set, key: NO_KEY }
    }

    /// When it arrived, in milliseconds since 1970.
    #[inline]
    pub(crate) fn time_ms(&self) -> i64 {
        self.time_ns.div_euclid(NS_IN_MS)
    }

    /// Its key, if its limit set has one limit.
    #[inline]
    pub(crate) fn only_key(&self) -> u32 {
        self.key
    }
}

/// The arrival of a request whose time stamp is that of its end, in nanoseconds since 1970.
#[inline]
pub(crate) fn arrival_ns(stamp_ns: i64, duration_ns: u64) -> i64 {
    stamp_ns.saturating_sub(i64::try_from(duration_ns).unwrap_or(i64::MAX))
}

/// A limit of the requests of a key in a zone.
pub(crate) trait ZoneLimit {
    /// The number of its zone.
    fn zone(&self) -> usize;
}

/// The limits that apply to a request, with its keys in their zones.
pub(crate) fn applying<'a, L>(
    limits: &'a [L],
    keys: &'a [u32],
) -> impl Iterator<Item = (&'a L, u32)> {
    let keyed = limits.iter().zip(keys.iter().copied());
    keyed.filter(|(_, key)| *key != NO_KEY)
}

/// The requests of a log that have limits, in the order of the log.
///
/// # Memory
///
/// 32 bytes for each request, 4 for each of its keys if it has several, and 8 for its end if that
/// is stored.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    pub(crate) list: Vec<Arrival>,
    /// The keys of the requests whose limit sets have several limits.
    keys: Vec<u32>,
    /// The number of those requests.
    several: usize,
    /// By position: when the request ended, in nanoseconds since 1970; empty if ends do not matter.
    ends_ns: Vec<i64>,
    stamps: Stamps,
    /// The precision of the durations other than zero; only counted with ends.
    durations: Stamps,
}

impl Arrivals {
    /// Reserves memory for some requests with one key each.
    pub(crate) fn reserve(&mut self, requests: usize) {
        self.list.reserve(requests);
    }

    /// Adds a request with the time stamp of its line and the keys of its limits. Returns false if
    /// there are too many requests or keys.
    #[inline]
    pub(crate) fn push(&mut self, stamp_ns: i64, mut arrival: Arrival, keys: &[u32]) -> bool {
        if self.list.len().max(self.keys.len()) >= u32::MAX as usize {
            return false;
        }
        self.stamps.count(arrival.source, stamp_ns);
        arrival.key = match keys {
            [key] => *key,
            keys => {
                let start = self.keys.len() as u32;
                self.keys.extend_from_slice(keys);
                self.several += 1;
                start
            }
        };
        self.list.push(arrival);
        true
    }

    /// Adds the end of the request that was added last.
    pub(crate) fn push_end(&mut self, source: u32, duration_ns: i64, end_ns: i64) {
        if duration_ns != 0 {
            self.durations.count(source, duration_ns);
        }
        self.ends_ns.push(end_ns);
    }

    /// When the request at a position ended, in nanoseconds since 1970.
    #[inline]
    pub(crate) fn end_ns(&self, position: u32) -> i64 {
        self.ends_ns[position as usize]
    }

    /// The number of all keys of all requests.
    pub(crate) fn key_count(&self) -> usize {
        self.list.len() - self.several + self.keys.len()
    }

    /// The keys of a request whose limit set has this number of limits.
    #[inline]
    pub(crate) fn keys_of<'a>(&'a self, arrival: &'a Arrival, limits: usize) -> &'a [u32] {
        match limits {
            1 => std::slice::from_ref(&arrival.key),
            _ => {
                let start = arrival.key as usize;
                &self.keys[start..start + limits]
            }
        }
    }

    /// Whether all times are known to the fraction of a second that the log has.
    ///
    /// If one source has whole seconds, the doubt applies to all sources: a replay needs the
    /// earliest and the latest arrivals in the same order.
    pub(crate) fn have_fractions(&self) -> bool {
        self.stamps.have_fractions()
    }

    /// Whether durations have fractions of a second. If all are zero, they may be whole seconds.
    pub(crate) fn durations_have_fractions(&self) -> bool {
        !self.durations.is_empty() && self.durations.have_fractions()
    }

    /// The first and the last arrival, in milliseconds; 0 without requests.
    pub(crate) fn range_ms(&self) -> (i64, i64) {
        let times = || self.list.iter().map(|arrival| arrival.time_ns);
        let ms = |time_ns: Option<i64>| time_ns.unwrap_or(0).div_euclid(NS_IN_MS);
        (ms(times().min()), ms(times().max()))
    }

    /// The positions in the list by arrival; requests at the same time stay in the order of the
    /// log.
    pub(crate) fn by_arrival(&self) -> Vec<u32> {
        let time = |position: &u32| self.list[*position as usize].time_ns;
        let mut order: Vec<u32> = (0..self.list.len() as u32).collect();
        if !order.is_sorted_by_key(time) {
            order.sort_by_key(time);
        }
        order
    }

    /// The same requests, those in `order` at their likeliest arrivals, and the order of these.
    /// `group` returns the key whose requests are spread together.
    pub(crate) fn at_likely_times(
        &self,
        order: Vec<u32>,
        group: impl Fn(&Arrival) -> u32,
    ) -> (Self, Vec<u32>) {
        let mut list = self.list.clone();
        // What is compared is copied: looking it up while sorting takes several times as long.
        let arrival = |rank: u32| &self.list[order[rank as usize] as usize];
        let ranks = 0..order.len() as u32;
        let mut grouped: Vec<(u32, u32)> = ranks.map(|rank| (group(arrival(rank)), rank)).collect();
        grouped.sort_unstable();
        let (mut earliest_ns, mut likely_ns) = (Vec::new(), Vec::new());
        for ranks in grouped.chunk_by(|one, other| one.0 == other.0) {
            earliest_ns.clear();
            earliest_ns.extend(ranks.iter().map(|(_, rank)| arrival(*rank).time_ns));
            likely_arrivals(&earliest_ns, SECOND_SPREAD_NS + 1, &mut likely_ns);
            for ((_, rank), likely_ns) in ranks.iter().zip(&likely_ns) {
                list[order[*rank as usize] as usize].time_ns = *likely_ns;
            }
        }
        drop(grouped);
        let timed = |position: u32| (list[position as usize].time_ns, position);
        let mut timed: Vec<(i64, u32)> = order.into_iter().map(timed).collect();
        timed.sort_unstable();
        let order = timed.into_iter().map(|(_, position)| position).collect();
        let likely =
            Self { list, keys: self.keys.clone(), several: self.several, ..Self::default() };
        (likely, order)
    }

    /// Calls `take` with the requests in `order`, each with its position and its keys. `limits`
    /// returns the number of limits in a set.
    ///
    /// The requests are scattered in memory. Some are copied before they are passed on, so that the
    /// processor fetches them in parallel, which takes half the time.
    pub(crate) fn each(
        &self,
        order: &[u32],
        limits: impl Fn(u32) -> usize,
        mut take: impl FnMut(usize, &Arrival, &[u32]),
    ) {
        let mut copied = [Arrival::default(); COPIED_AT_ONCE];
        for positions in order.chunks(COPIED_AT_ONCE) {
            for (position, arrival) in positions.iter().zip(&mut copied) {
                *arrival = self.list[*position as usize];
            }
            for (position, arrival) in positions.iter().zip(&copied) {
                let keys = self.keys_of(arrival, limits(arrival.set));
                take(*position as usize, arrival, keys);
            }
        }
    }

    /// Calls `decide` with the decisions in the order of the log. `key` returns the text of the key
    /// of a request's limit at a position in its set.
    pub(crate) fn decide<'k>(
        &self,
        outcomes: &[Outcome],
        key: impl Fn(&Arrival, usize) -> &'k [u8],
        decide: &mut dyn FnMut(&Decision<'_>),
    ) {
        for (arrival, outcome) in self.list.iter().zip(outcomes) {
            decide(&Decision {
                source: arrival.source,
                line: arrival.line,
                key: key(arrival, outcome.limit as usize),
                verdict: outcome.verdict,
                delay_ms: outcome.delay_ms,
                excess: outcome.count,
                matched: None,
            });
        }
    }

    /// The memory taken, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.list.capacity() * size_of::<Arrival>()
            + self.keys.capacity() * size_of::<u32>()
            + self.ends_ns.capacity() * size_of::<i64>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Arrival, Arrivals, MS_IN_SECOND, NS_IN_MS, likely_arrivals};

    proptest! {
        #[test]
        fn likely_times_are_those_of_each_group_alone(
            requests in prop::collection::vec((0..9i64, 0..4u32), 0..80),
            chosen in prop::collection::vec(any::<bool>(), 80),
        ) {
            const SECOND_NS: i64 = MS_IN_SECOND * NS_IN_MS;
            let mut arrivals = Arrivals::default();
            for ((second, key), line) in requests.iter().zip(0..) {
                let time_ns = second * SECOND_NS;
                prop_assert!(arrivals.push(time_ns, Arrival::new(time_ns, 0, line, 0), &[*key]));
            }
            let mut order = arrivals.by_arrival();
            order.retain(|position| chosen[*position as usize]);
            let mut expected: Vec<i64> = arrivals.list.iter().map(|it| it.time_ns).collect();
            for key in 0..4 {
                let is_of_key = |at: &&u32| arrivals.list[**at as usize].only_key() == key;
                let positions: Vec<u32> = order.iter().filter(is_of_key).copied().collect();
                let of_key = |at: &u32| arrivals.list[*at as usize].time_ns;
                let earliest_ns: Vec<i64> = positions.iter().map(of_key).collect();
                let mut likely_ns = Vec::new();
                likely_arrivals(&earliest_ns, SECOND_NS, &mut likely_ns);
                for (position, likely_ns) in positions.iter().zip(likely_ns) {
                    expected[*position as usize] = likely_ns;
                }
            }
            let (likely, likely_order) = arrivals.at_likely_times(order.clone(), Arrival::only_key);
            let times: Vec<i64> = likely.list.iter().map(|arrival| arrival.time_ns).collect();
            order.sort_by_key(|position| (expected[*position as usize], *position));
            prop_assert_eq!((times, likely_order), (expected, order));
        }

        #[test]
        fn requests_keep_their_keys_in_every_order(
            // The keys of more requests than are copied at once.
            requests in prop::collection::vec(
                (0..50i64, prop::collection::vec(0..9u32, 0..4)), 0..80,
            ),
        ) {
            let mut arrivals = Arrivals::default();
            for (line, (time_ns, keys)) in requests.iter().enumerate() {
                let arrival = Arrival::new(*time_ns, 0, line as u64, keys.len() as u32);
                prop_assert!(arrivals.push(*time_ns, arrival, keys));
            }
            let mut naive: Vec<usize> = (0..requests.len()).collect();
            naive.sort_by_key(|position| requests[*position].0);
            let mut found = Vec::new();
            arrivals.each(&arrivals.by_arrival(), |set| set as usize, |position, arrival, keys| {
                assert_eq!(arrival.line, position as u64);
                assert_eq!(keys, requests[position].1);
                found.push(position);
            });
            prop_assert_eq!(found, naive);
            let keys: usize = requests.iter().map(|(_, keys)| keys.len()).sum();
            prop_assert_eq!(arrivals.key_count(), keys);
        }
    }
}
