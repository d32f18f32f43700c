//! Counts over time.

use crate::column::{Numbers, Segment, decode_time};
use crate::filter::Selection;
use crate::value::Zone;

/// The lengths of a bucket, in seconds of local time. Each divides the next, so that a
/// histogram can be made coarser by adding buckets up. After the day come weeks, and
/// multiples of weeks.
const STEPS_S: [i64; 17] = [
    1,
    5,
    15,
    30,
    60,
    300,
    900,
    1_800,
    3_600,
    10_800,
    21_600,
    43_200,
    86_400,
    7 * 86_400,
    28 * 86_400,
    364 * 86_400,
    3_640 * 86_400,
];

const WEEK_S: i64 = 7 * 86_400;

/// 1970 began on a Thursday; weeks begin on Monday.
const THURSDAY_S: i64 = 3 * 86_400;

const SECOND_NS: i64 = 1_000_000_000;

/// Counts of records in equal steps of a zone's calendar, each divided into groups.
///
/// The step is the smallest that keeps the whole range from the first record to the last
/// within `buckets_max` buckets, so it depends on the records alone and not on their
/// order. Where a clock is put back, the hour that comes twice falls into one bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    zone: Zone,
    buckets_max: usize,
    groups: usize,
    /// Index into [`STEPS_S`].
    step: usize,
    /// Number of the first bucket: local time divided by the step.
    first: i64,
    /// `groups` counts for each bucket.
    counts: Vec<u64>,
}

/// One bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket<'a> {
    /// The first instant, in seconds since 1970.
    pub start_s: i64,
    /// Records by group.
    pub counts: &'a [u64],
}

impl Histogram {
    /// An empty histogram of at most `buckets_max` buckets (at least 2) and so many groups.
    pub fn new(zone: Zone, buckets_max: usize, groups: usize) -> Self {
        let buckets_max = buckets_max.max(2);
        Self { zone, buckets_max, groups, step: 0, first: 0, counts: Vec::new() }
    }

    /// The zone whose calendar it follows.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Length of a bucket in seconds of local time.
    pub fn step_s(&self) -> u64 {
        STEPS_S[self.step] as u64
    }

    /// The buckets from the first record's to the last's, empty ones included.
    pub fn buckets(&self) -> impl ExactSizeIterator<Item = Bucket<'_>> {
        self.counts.chunks_exact(self.groups).enumerate().map(|(index, counts)| Bucket {
            start_s: self.start_s(self.first + index as i64),
            counts,
        })
    }

    /// The end of the last bucket, in seconds since 1970. `None` where there is none.
    pub fn end_s(&self) -> Option<i64> {
        let buckets = self.len() as i64;
        (buckets > 0).then(|| self.start_s(self.first + buckets))
    }

    /// Adds the selected rows of a segment, whose groups come in the same order.
    pub(super) fn update(
        &mut self,
        segment: &Segment,
        selection: &Selection,
        range_ns: Option<(i64, i64)>,
        groups: &[u8],
    ) {
        let (Some(times), Some((first_ns, last_ns))) = (&segment.time, range_ns) else { return };
        self.cover(self.local_s(first_ns), self.local_s(last_ns));
        self.count(times, selection, groups);
    }

    fn count(&mut self, times: &Numbers, selection: &Selection, groups: &[u8]) {
        let mut groups = groups.iter();
        // Neighbouring records fall into the same bucket: keep its bounds at hand.
        let (mut from_ns, mut until_ns, mut row) = (0i64, 0i64, 0usize);
        times.for_each(selection, |code| {
            let (Some(group), Some(code)) = (groups.next(), code) else { return };
            let time_ns = decode_time(code);
            if !(from_ns..until_ns).contains(&time_ns) {
                let bucket = self.bucket(self.local_s(time_ns), self.step);
                row = (bucket - self.first) as usize * self.groups;
                (from_ns, until_ns) = self.bounds_ns(time_ns, bucket);
            }
            self.counts[row + usize::from(*group)] += 1;
        });
    }

    /// Adds another histogram of the same zone, limit and groups.
    pub fn merge(&mut self, other: &Self) {
        if other.counts.is_empty() {
            return;
        }
        let last = other.first + other.len() as i64 - 1;
        let step = STEPS_S[other.step];
        let bias = bias_s(other.step);
        self.coarsen_to(other.step);
        self.cover(other.first * step - bias, last * step - bias);
        for (index, counts) in other.counts.chunks_exact(self.groups).enumerate() {
            let local_s = (other.first + index as i64) * step - bias;
            let row = (self.bucket(local_s, self.step) - self.first) as usize * self.groups;
            for (sum, count) in self.counts[row..row + self.groups].iter_mut().zip(counts) {
                *sum += count;
            }
        }
    }

    fn len(&self) -> usize {
        self.counts.len() / self.groups
    }

    #[inline]
    fn local_s(&self, time_ns: i64) -> i64 {
        let unix_s = time_ns.div_euclid(SECOND_NS);
        unix_s + i64::from(self.zone.offset_s(unix_s))
    }

    #[inline]
    fn bucket(&self, local_s: i64, step: usize) -> i64 {
        (local_s + bias_s(step)).div_euclid(STEPS_S[step])
    }

    /// The first instant of a bucket.
    fn start_s(&self, bucket: i64) -> i64 {
        self.zone.instant_of_local(bucket * STEPS_S[self.step] - bias_s(self.step))
    }

    /// Instants around `time_ns` that fall into the same bucket: the bucket itself, less
    /// what lies beyond a change of the offset.
    fn bounds_ns(&self, time_ns: i64, bucket: i64) -> (i64, i64) {
        let unix_s = time_ns.div_euclid(SECOND_NS);
        let (span_from, span_until, offset_s) = self.zone.span(unix_s);
        let start = bucket * STEPS_S[self.step] - bias_s(self.step) - i64::from(offset_s);
        let from = start.max(span_from);
        let until = (start + STEPS_S[self.step]).min(span_until);
        (from.saturating_mul(SECOND_NS), until.saturating_mul(SECOND_NS))
    }

    /// Makes room for a range of local time, in coarser steps if need be.
    fn cover(&mut self, first_s: i64, last_s: i64) {
        let mut step = self.step;
        let (first, last) = loop {
            let mut first = self.bucket(first_s, step);
            let mut last = self.bucket(last_s, step);
            if !self.counts.is_empty() {
                let (own_first, own_last) = self.own_range(step);
                (first, last) = (first.min(own_first), last.max(own_last));
            }
            let fits = last - first < self.buckets_max as i64;
            if fits || step + 1 == STEPS_S.len() {
                break (first, last);
            }
            step += 1;
        };
        self.coarsen_to(step);
        self.extend(first, last);
    }

    /// The numbers of the first and the last bucket, if the step were another.
    fn own_range(&self, step: usize) -> (i64, i64) {
        let local_s = |bucket: i64| bucket * STEPS_S[self.step] - bias_s(self.step);
        let last = self.first + self.len() as i64 - 1;
        (self.bucket(local_s(self.first), step), self.bucket(local_s(last), step))
    }

    fn extend(&mut self, first: i64, last: i64) {
        if self.counts.is_empty() {
            self.first = first;
        }
        let before = (self.first - first).max(0) as usize * self.groups;
        if before > 0 {
            self.counts.splice(0..0, std::iter::repeat_n(0, before));
            self.first = first;
        }
        let buckets = (last - self.first + 1).max(0) as usize;
        if buckets > self.len() {
            self.counts.resize(buckets * self.groups, 0);
        }
    }

    fn coarsen_to(&mut self, step: usize) {
        if step <= self.step {
            return;
        }
        let old_step = std::mem::replace(&mut self.step, step);
        if self.counts.is_empty() {
            return;
        }
        let old_first = self.first;
        let old = std::mem::take(&mut self.counts);
        for (index, counts) in old.chunks_exact(self.groups).enumerate() {
            let local_s = (old_first + index as i64) * STEPS_S[old_step] - bias_s(old_step);
            let bucket = self.bucket(local_s, step);
            self.extend(bucket, bucket);
            let row = (bucket - self.first) as usize * self.groups;
            for (sum, count) in self.counts[row..].iter_mut().zip(counts) {
                *sum += count;
            }
        }
    }
}

/// What is added to local time so that weeks begin on Monday.
#[inline]
fn bias_s(step: usize) -> i64 {
    if STEPS_S[step] >= WEEK_S { THURSDAY_S } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::{STEPS_S, THURSDAY_S};

    #[test]
    fn each_step_divides_the_next() {
        for pair in STEPS_S.windows(2) {
            assert_eq!(pair[1] % pair[0], 0);
        }
        assert_eq!(THURSDAY_S % 86_400, 0);
    }
}
