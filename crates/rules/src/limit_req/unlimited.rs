//! The excess of each key as if no request were rejected, from which the effect of every burst
//! follows.
//!
//! nginx forgets a key that is idle for a minute and has drained when it adds another node. Whether
//! it does depends on the burst, because a smaller burst lets less excess build up in earlier
//! nodes. A forgotten key starts with an excess of 0, and a drained one with up to a request. So
//! after such a pause, the excess at other bursts is only known within bounds.

use std::collections::HashMap;

use super::bucket::{Bucket, Rate};
use super::idle_queue::IDLE_MS;

/// The buckets of a zone that rejects nothing.
#[derive(Debug)]
pub(super) struct UnlimitedBuckets {
    rate: Rate,
    /// The buckets by key; a bucket is forgotten when the replayed burst forgets it.
    replayed: Vec<Option<Bucket>>,
    /// The bounds of the keys that may have been forgotten at another burst.
    bounds: HashMap<u32, Bounds>,
}

/// The buckets of a key if it is forgotten as early as possible, and if it is never forgotten.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    lowest: Bucket,
    highest: Bucket,
}

/// An excess according to the replay, and its bounds for all bursts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct BoundedExcess {
    pub(super) replayed: i64,
    pub(super) lowest: i64,
    pub(super) highest: i64,
}

/// The most memory of the state of a key, in bytes.
pub(super) const KEY_BYTES: usize =
    size_of::<Option<Bucket>>() + 2 * (size_of::<u32>() + size_of::<Bounds>());

impl UnlimitedBuckets {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, replayed: Vec::new(), bounds: HashMap::new() }
    }

    /// Counts a request and returns its excess.
    pub(super) fn count(&mut self, key: u32, now_ms: i64) -> BoundedExcess {
        let index = key as usize;
        if index >= self.replayed.len() {
            self.replayed.resize(index + 1, None);
        }
        let before = self.replayed[index];
        let replayed = count(&mut self.replayed[index], now_ms, self.rate);
        let may_be_forgotten = |bucket: Bucket| bucket.is_idle(now_ms, IDLE_MS, self.rate);
        let begins = replayed > 0 && before.is_some_and(may_be_forgotten);
        if !begins && self.bounds.is_empty() {
            return BoundedExcess { replayed, lowest: replayed, highest: replayed };
        }
        let new = || before.filter(|_| begins).map(|lowest| Bounds { lowest, highest: lowest });
        let Some(bounds) = self.bounds.get(&key).copied().or_else(new) else {
            return BoundedExcess { replayed, lowest: replayed, highest: replayed };
        };
        let (lowest, highest, bounds) = bounds.count(now_ms, self.rate);
        match bounds {
            Some(bounds) => self.bounds.insert(key, bounds),
            None => self.bounds.remove(&key),
        };
        BoundedExcess { replayed, lowest, highest }
    }

    /// Forgets a key because the replayed burst does, if it has also drained in this bucket.
    pub(super) fn forget(&mut self, key: u32, now_ms: i64) {
        let Some(bucket) = self.replayed.get_mut(key as usize) else { return };
        if let Some(freed) = bucket.take_if(|bucket| bucket.is_idle(now_ms, 0, self.rate)) {
            self.bounds.entry(key).or_insert(Bounds { lowest: freed, highest: freed });
        }
    }
}

/// The bucket of a key that rejects nothing, in a zone that forgets no key at the replayed burst.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnlimitedBucket {
    replayed: Bucket,
    /// Set if the key may have been forgotten at another burst.
    bounds: Option<Bounds>,
}

impl UnlimitedBucket {
    /// The bucket after the first request of a key.
    pub(super) fn first(now_ms: i64) -> Self {
        Self { replayed: Bucket::first(now_ms), bounds: None }
    }

    /// Counts a request and returns its excess.
    #[inline]
    pub(super) fn count(&mut self, now_ms: i64, rate: Rate) -> BoundedExcess {
        let before = self.replayed;
        let replayed = before.excess_at(now_ms, rate);
        self.replayed.count(now_ms, replayed);
        if replayed > 0 && self.bounds.is_none() && before.is_idle(now_ms, IDLE_MS, rate) {
            self.bounds = Some(Bounds { lowest: before, highest: before });
        }
        let Some(bounds) = self.bounds else {
            return BoundedExcess { replayed, lowest: replayed, highest: replayed };
        };
        let (lowest, highest, bounds) = bounds.count(now_ms, rate);
        self.bounds = bounds;
        BoundedExcess { replayed, lowest, highest }
    }
}

impl Bounds {
    /// Counts a request. Returns its excesses, and the bounds after it if they do not agree.
    fn count(self, now_ms: i64, rate: Rate) -> (i64, i64, Option<Self>) {
        let may_be_forgotten = self.lowest.is_idle(now_ms, IDLE_MS, rate);
        let mut lowest_bucket = Some(self.lowest).filter(|_| !may_be_forgotten);
        let mut highest_bucket = Some(self.highest);
        let lowest = count(&mut lowest_bucket, now_ms, rate);
        let highest = count(&mut highest_bucket, now_ms, rate);
        let buckets = lowest_bucket.zip(highest_bucket).filter(|(one, other)| one != other);
        (lowest, highest, buckets.map(|(lowest, highest)| Self { lowest, highest }))
    }
}

/// Counts a request in a bucket and returns its excess.
#[inline]
fn count(bucket: &mut Option<Bucket>, now_ms: i64, rate: Rate) -> i64 {
    match bucket {
        Some(bucket) => {
            let excess = bucket.excess_at(now_ms, rate);
            bucket.count(now_ms, excess);
            excess
        }
        None => {
            *bucket = Some(Bucket::first(now_ms));
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BoundedExcess, UnlimitedBuckets};
    use crate::limit_req::bucket::Rate;

    /// A key with an excess of 3 requests that has drained to the last thousandth after a minute.
    fn drained() -> UnlimitedBuckets {
        let mut buckets = UnlimitedBuckets::new(Rate(50));
        for _ in 0..4 {
            buckets.count(0, 1);
        }
        buckets
    }

    #[test]
    fn after_a_pause_the_excess_lies_within_a_request() {
        let mut buckets = drained();
        let excess = buckets.count(0, 60_001);
        assert_eq!(excess, BoundedExcess { replayed: 1_000, lowest: 0, highest: 1_000 });
        let excess = buckets.count(0, 60_001);
        assert_eq!(excess, BoundedExcess { replayed: 2_000, lowest: 1_000, highest: 2_000 });
        // After both have drained, they agree again.
        let excess = buckets.count(0, 110_001);
        assert_eq!(excess, BoundedExcess { replayed: 500, lowest: 0, highest: 500 });
        let excess = buckets.count(0, 150_001);
        assert_eq!(excess, BoundedExcess { replayed: 0, lowest: 0, highest: 0 });
        assert!(buckets.bounds.is_empty());
    }

    #[test]
    fn a_forgotten_key_may_be_remembered_at_another_burst() {
        let mut buckets = drained();
        buckets.forget(0, 60_001);
        let excess = buckets.count(0, 60_001);
        assert_eq!(excess, BoundedExcess { replayed: 0, lowest: 0, highest: 1_000 });
    }

    #[test]
    fn a_shorter_pause_forgets_nothing() {
        let mut buckets = UnlimitedBuckets::new(Rate(50));
        for _ in 0..3 {
            buckets.count(0, 0);
        }
        let excess = buckets.count(0, 59_999);
        assert_eq!(excess, BoundedExcess { replayed: 1, lowest: 1, highest: 1 });
    }
}
