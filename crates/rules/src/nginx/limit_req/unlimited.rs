//! The excess of a key as if no request were rejected, from which the effect of every burst follows.
//!
//! nginx forgets a key that is idle for a minute and has drained when it adds another node. Whether
//! it does depends on the burst, because a smaller burst lets less excess build up in earlier
//! nodes. A forgotten key starts with an excess of 0, and a drained one with up to a request. So
//! after such a pause, the excess at other bursts is only known within bounds.

use super::bucket::{Bucket, IDLE_MS, Rate};
use crate::keys::Peak;

/// The bucket of a key that rejects nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct UnlimitedBucket {
    /// `None` before the first request, and after the replayed burst has forgotten the key.
    replayed: Option<Bucket>,
    /// Set if the key may have been forgotten at another burst.
    bounds: Option<Bounds>,
}

/// The buckets of a key if it is forgotten as early as possible, and if it is never forgotten.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    lowest: Bucket,
    highest: Bucket,
}

impl UnlimitedBucket {
    /// Counts the request at a position, and returns its excess.
    #[inline]
    pub(super) fn count(&mut self, now_ms: i64, rate: Rate, position: u32) -> Peak {
        let before = self.replayed;
        let replayed = count(&mut self.replayed, now_ms, rate);
        if replayed > 0 && self.bounds.is_none() {
            let may_be_forgotten = |bucket: &Bucket| bucket.is_idle(now_ms, IDLE_MS, rate);
            self.bounds = before.filter(may_be_forgotten).map(Bounds::of);
        }
        let Some(bounds) = self.bounds else { return Peak::known(replayed, position) };
        let (lowest, highest, bounds) = bounds.count(now_ms, rate);
        self.bounds = bounds;
        Peak { count: replayed, lowest, highest, position }
    }

    /// Forgets the key because the replayed burst does, if it has also drained in this bucket.
    pub(super) fn forget(&mut self, now_ms: i64, rate: Rate) {
        if let Some(freed) = self.replayed.take_if(|bucket| bucket.is_idle(now_ms, 0, rate)) {
            self.bounds.get_or_insert(Bounds::of(freed));
        }
    }
}

impl Bounds {
    fn of(bucket: Bucket) -> Self {
        Self { lowest: bucket, highest: bucket }
    }

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
    use super::UnlimitedBucket;
    use crate::nginx::limit_req::bucket::Rate;

    const RATE: Rate = Rate(50);

    /// The excess of a request: as replayed, the lowest and the highest.
    fn count(bucket: &mut UnlimitedBucket, now_ms: i64) -> (i64, i64, i64) {
        let peak = bucket.count(now_ms, RATE, 0);
        (peak.count, peak.lowest, peak.highest)
    }

    /// A key with an excess of 3 requests that has drained to the last thousandth after a minute.
    fn drained() -> UnlimitedBucket {
        let mut bucket = UnlimitedBucket::default();
        for _ in 0..4 {
            count(&mut bucket, 1);
        }
        bucket
    }

    #[test]
    fn after_a_pause_the_excess_lies_within_a_request() {
        let mut bucket = drained();
        assert_eq!(count(&mut bucket, 60_001), (1_000, 0, 1_000));
        assert_eq!(count(&mut bucket, 60_001), (2_000, 1_000, 2_000));
        // After both have drained, they agree again.
        assert_eq!(count(&mut bucket, 110_001), (500, 0, 500));
        assert_eq!(count(&mut bucket, 150_001), (0, 0, 0));
        assert!(bucket.bounds.is_none());
    }

    #[test]
    fn a_forgotten_key_may_be_remembered_at_another_burst() {
        let mut bucket = drained();
        bucket.forget(60_001, RATE);
        assert_eq!(count(&mut bucket, 60_001), (0, 0, 1_000));
    }

    #[test]
    fn a_shorter_pause_forgets_nothing() {
        let mut bucket = UnlimitedBucket::default();
        for _ in 0..3 {
            count(&mut bucket, 0);
        }
        assert_eq!(count(&mut bucket, 59_999), (1, 1, 1));
    }
}
