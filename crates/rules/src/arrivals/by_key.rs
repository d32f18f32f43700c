//! The requests of a single limit, grouped by key.
//!
//! Keys that do not depend on one another can be replayed one after another. The requests of a key
//! are then adjacent in memory, and its state stays in registers.

use super::{Arrivals, NO_KEY, NS_IN_MS};

/// The requests of each key by arrival; requests at the same time are in the order of the log.
///
/// # Memory
///
/// 12 bytes for each request, and 4 for each key.
#[derive(Debug, Default)]
pub(crate) struct ByKey {
    /// By key: the start of its requests; followed by the end of the last key's.
    starts: Vec<u32>,
    /// The arrivals, in nanoseconds or milliseconds.
    times: Vec<i64>,
    /// The positions of the requests in the log.
    positions: Vec<u32>,
}

impl ByKey {
    /// The memory of a request, in bytes.
    pub(crate) const REQUEST_BYTES: usize = size_of::<i64>() + size_of::<u32>();

    /// Groups requests that have one limit each by their `keys` keys. Requests without a key are
    /// skipped.
    pub(crate) fn new(arrivals: &Arrivals, keys: usize) -> Self {
        let mut starts = vec![0u32; keys + 1];
        let keyed = || {
            let numbered = arrivals.list.iter().zip(0..);
            numbered.filter(|(arrival, _): &(_, u32)| arrival.only_key() != NO_KEY)
        };
        for (arrival, _) in keyed() {
            starts[arrival.only_key() as usize + 1] += 1;
        }
        for key in 0..keys {
            starts[key + 1] += starts[key];
        }
        let count = starts[keys] as usize;
        let (mut times, mut positions) = (vec![0; count], vec![0; count]);
        let mut next = starts.clone();
        for (arrival, position) in keyed() {
            let place = &mut next[arrival.only_key() as usize];
            times[*place as usize] = arrival.time_ns;
            positions[*place as usize] = position;
            *place += 1;
        }
        let mut by_key = Self { starts, times, positions };
        by_key.sort();
        by_key
    }

    /// Rounds the arrivals down to milliseconds; their order stays that of the nanoseconds.
    pub(crate) fn in_ms(mut self) -> Self {
        for time in &mut self.times {
            *time = time.div_euclid(NS_IN_MS);
        }
        self
    }

    /// Sorts the requests of the keys that did not arrive in the order of the log.
    fn sort(&mut self) {
        let mut sorted = Vec::new();
        for key in 0..self.keys() {
            let range = self.starts[key] as usize..self.starts[key + 1] as usize;
            let times = &mut self.times[range.clone()];
            if times.is_sorted() {
                continue;
            }
            let positions = &mut self.positions[range];
            sorted.clear();
            sorted.extend(times.iter().copied().zip(positions.iter().copied()));
            sorted.sort_unstable();
            for (index, (time, position)) in sorted.iter().enumerate() {
                times[index] = *time;
                positions[index] = *position;
            }
        }
    }

    /// The number of keys.
    fn keys(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The number of requests.
    pub(crate) fn requests(&self) -> usize {
        self.positions.len()
    }

    /// The positions of the requests, key by key.
    pub(crate) fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// The keys, each with the arrivals and the positions of its requests.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &[i64], &[u32])> {
        (0..self.keys()).map(|key| {
            let range = self.starts[key] as usize..self.starts[key + 1] as usize;
            (key as u32, &self.times[range.clone()], &self.positions[range])
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::ByKey;
    use crate::arrivals::{Arrival, Arrivals, NO_KEY};

    proptest! {
        #[test]
        fn requests_are_grouped_by_key_and_sorted_by_arrival(
            requests in prop::collection::vec((-3_000_000..3_000_000i64, 0..4u32), 0..60),
        ) {
            let keys = 3;
            let mut arrivals = Arrivals::default();
            for (line, (time_ns, key)) in requests.iter().enumerate() {
                let key = if *key == keys { NO_KEY } else { *key };
                prop_assert!(arrivals.push(0, Arrival::new(*time_ns, 0, line as u64, 0), &[key]));
            }
            let by_key = ByKey::new(&arrivals, keys as usize);
            let mut naive: Vec<(u32, Vec<i64>, Vec<u32>)> = Vec::new();
            for key in 0..keys {
                let mut own: Vec<(i64, u32)> = Vec::new();
                for ((time_ns, request_key), position) in requests.iter().zip(0..) {
                    if *request_key == key {
                        own.push((*time_ns, position));
                    }
                }
                own.sort();
                let (times, positions) = own.into_iter().unzip();
                naive.push((key, times, positions));
            }
            let found: Vec<_> = by_key
                .iter()
                .map(|(key, times, positions)| (key, times.to_vec(), positions.to_vec()))
                .collect();
            prop_assert_eq!(&found, &naive);
            for ((_, times, _), (_, times_ns, _)) in by_key.in_ms().iter().zip(&naive) {
                let expected: Vec<i64> = times_ns.iter().map(|it| it.div_euclid(1_000_000)).collect();
                prop_assert_eq!(times, expected);
            }
        }
    }
}
