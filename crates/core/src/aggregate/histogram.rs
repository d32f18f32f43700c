//! Counts over time.
//!
//! The steps are 1, 5, 15 and 30 seconds; 1, 5, 15 and 30 minutes; 1, 3, 6 and 12 hours; 1 day, 1
//! week, and longer. Each divides the next, so a histogram that becomes too long is made coarser by
//! adding buckets together, and the result is the same as if it had been counted in the coarser
//! step.

use crate::column::{Segment, Selection, Times};
use crate::value::Zone;

/// The lengths of a bucket, in seconds of local time. Each divides the next, so a histogram becomes
/// coarser by adding buckets together. Steps longer than a day are weeks and multiples of weeks.
const STEPS_S: [i64; 19] = [
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
    // A century and a millennium: two buckets are enough for every possible time.
    36_400 * 86_400,
    364_000 * 86_400,
];

const WEEK_S: i64 = 7 * 86_400;

/// 1970 began on a Thursday; weeks begin on Monday.
const THURSDAY_S: i64 = 3 * 86_400;

const SECOND_NS: i64 = 1_000_000_000;

/// Counts of records in equal steps of a zone's calendar. Each bucket is divided into groups.
///
/// The step is the smallest that fits the range from the first record to the last into
/// `buckets_max` buckets. It depends on the set of records, but not on their order.
///
/// Steps up to the zone's even step, an hour in nearly all zones, follow elapsed time. When a clock
/// is set back, the repeated hour has separate buckets for each pass. When a clock is set forward,
/// no bucket is empty because of it. Longer steps follow the calendar: the bucket with the clock
/// change is longer or shorter than the others.
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Block, BlockLimits, BlockReader, Evaluation, Fold, Format, Question, Values};
///
/// let format = Arc::new(Format::parse("[$time_local] $status")?);
/// let lines = "[17/Dec/2025:09:00:00 +0000] 200\n[17/Dec/2025:09:00:02 +0000] 404\n";
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let segment = reader.read_segment(&Block::new(lines.into()), 0, &mut values);
///
/// let mut evaluation = Evaluation::new(&Question::default());
/// evaluation.refresh(&values);
/// evaluation.update(&segment);
/// let histogram = evaluation.histogram().unwrap();
/// assert_eq!(histogram.step_s(), 1);
/// let records: Vec<u64> = histogram.buckets().map(|bucket| bucket.counts.iter().sum()).collect();
/// assert_eq!(records, [1, 0, 1]);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
///
/// # Memory
///
/// 8 bytes for each bucket and group: 19 kB for 400 buckets of six status classes. With steps up to
/// a millennium two buckets suffice for any time.
///
/// # Examples
///
/// Hours in a zone with summer time: on the day of the change the clock skips an hour, and no
/// bucket is missing or empty because of it.
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{
///     Block, BlockLimits, BlockReader, Evaluation, Fold, Format, Question, Values, Zone,
/// };
///
/// let format = Arc::new(Format::parse("$msec $status")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let change_s = 1_743_296_400; // 2025-03-30T01:00:00Z, when 02:00 becomes 03:00
/// let lines = format!("{} 200\n{} 200\n", change_s - 1, change_s);
/// let segment = reader.read_segment(&Block::new(lines.into()), 0, &mut values);
///
/// let zone = Zone::from_transitions("CET", 3_600, [(change_s, 7_200)]);
/// let question = Question { zone: Some(zone), buckets_max: 2, ..Question::default() };
/// let mut evaluation = Evaluation::new(&question);
/// evaluation.refresh(&values);
/// evaluation.update(&segment);
/// let starts: Vec<i64> = evaluation.histogram().unwrap().buckets().map(|b| b.start_s).collect();
/// assert_eq!(starts, [change_s - 1, change_s]);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    zone: Zone,
    /// See [`Zone::even_step_s`].
    even_step_s: i64,
    buckets_max: usize,
    groups: usize,
    /// Index into [`STEPS_S`].
    step: usize,
    /// The number of the first bucket; see [`Self::bucket`].
    first: i64,
    /// `groups` counts for each bucket.
    counts: Vec<u64>,
}

/// One bucket.
///
/// It ends where the next one begins, or at [`Histogram::end_s`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket<'a> {
    /// The first instant, in seconds since 1970.
    pub start_s: i64,
    /// The number of records, by group.
    ///
    /// [`crate::Stack`] says which group is which.
    pub counts: &'a [u64],
}

impl Histogram {
    /// Returns an empty histogram with `groups` groups and at most `buckets_max` buckets (at least
    /// 2).
    ///
    /// `groups` must not be 0. The first step is a second.
    pub fn new(zone: Zone, buckets_max: usize, groups: usize) -> Self {
        let buckets_max = buckets_max.max(2);
        let even_step_s = zone.even_step_s();
        Self { zone, even_step_s, buckets_max, groups, step: 0, first: 0, counts: Vec::new() }
    }

    /// Returns the zone whose calendar the buckets follow.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Returns the length of a bucket in seconds of local time.
    pub fn step_s(&self) -> u64 {
        STEPS_S[self.step] as u64
    }

    /// Returns the buckets from the first record's to the last's. Empty buckets are included,
    /// except those that do not exist in the zone's calendar.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket<'_>> {
        let counts = self.counts.chunks_exact(self.groups).zip(self.first..);
        counts.filter_map(|(counts, bucket)| {
            let start_s = self.start_s(bucket);
            (start_s < self.start_s(bucket + 1)).then_some(Bucket { start_s, counts })
        })
    }

    /// Returns the end of the last bucket, in seconds since 1970. `None` if there are no buckets.
    pub fn end_s(&self) -> Option<i64> {
        let buckets = self.len() as i64;
        (buckets > 0).then(|| self.start_s(self.first + buckets))
    }

    /// Adds the selected rows of a segment. `groups` has the group of each selected row, in row
    /// order.
    pub(super) fn update(&mut self, segment: &Segment, selection: &Selection, groups: &[u8]) {
        let Some(times) = segment.times() else { return };
        if !self.count_in_one_bucket(times, groups) {
            self.count(times, selection, groups);
        }
    }

    /// Makes room for all buckets in a range of times, so that adding rows within the range moves
    /// no counts.
    pub(super) fn make_room(&mut self, (first_ns, last_ns): (i64, i64)) {
        self.cover(first_ns.div_euclid(SECOND_NS), last_ns.div_euclid(SECOND_NS));
    }

    /// Returns whether `fresh`, after it has made room for this range of times, would have the same
    /// zone, limit, groups and step as this histogram.
    pub(super) fn is_like(&self, mut fresh: Self, range_ns: (i64, i64)) -> bool {
        fresh.make_room(range_ns);
        (&self.zone, self.buckets_max, self.groups, self.step)
            == (&fresh.zone, fresh.buckets_max, fresh.groups, fresh.step)
    }

    /// Counts the rows if all of them fall into one bucket, as in most short segments. Returns
    /// false and counts nothing if they may not.
    fn count_in_one_bucket(&mut self, times: &Times, groups: &[u8]) -> bool {
        let (first_ns, last_ns) = times.range_ns();
        let unix_s = first_ns.div_euclid(SECOND_NS);
        let is_inside = |own: &Self| {
            let (from_ns, until_ns) = own.bounds_ns(unix_s, own.bucket(unix_s, own.step));
            from_ns <= first_ns && last_ns < until_ns
        };
        if groups.is_empty() || !is_inside(self) || times.has_absent() {
            return false;
        }
        self.cover(unix_s, unix_s);
        let row = self.row(self.bucket(unix_s, self.step));
        let Some(counts) = self.counts.get_mut(row..row + self.groups) else { return false };
        // Neighbours often have the same group: see `count_in_lanes` in `packed_tally`.
        let mut lanes = [[0u32; 256]; 4];
        let (fours, rest) = groups.as_chunks::<4>();
        for four in fours {
            for (lane, group) in lanes.iter_mut().zip(four) {
                lane[usize::from(*group)] += 1;
            }
        }
        rest.iter().for_each(|group| lanes[0][usize::from(*group)] += 1);
        for lane in lanes {
            counts.iter_mut().zip(lane).for_each(|(sum, count)| *sum += u64::from(count));
        }
        true
    }

    fn count(&mut self, times: &Times, selection: &Selection, groups: &[u8]) {
        let mut groups = groups.iter();
        // Neighbouring records often fall into the same bucket, so its bounds are kept.
        let (mut from_ns, mut until_ns, mut row) = (0i64, 0i64, 0usize);
        times.instants().for_each(selection, |number| {
            let (Some(group), Some(number)) = (groups.next(), number) else { return };
            let time_ns = Times::decode_instant(number);
            if !(from_ns..until_ns).contains(&time_ns) {
                let unix_s = time_ns.div_euclid(SECOND_NS);
                // If a clock is set back across the border of a bucket, a time within the range can
                // have a local time outside it.
                self.cover(unix_s, unix_s);
                let bucket = self.bucket(unix_s, self.step);
                row = self.row(bucket);
                (from_ns, until_ns) = self.bounds_ns(unix_s, bucket);
            }
            self.counts[row + usize::from(*group)] += 1;
        });
    }

    /// Adds the counts of another histogram with the same zone, limit and groups.
    ///
    /// The result has the step that one histogram over all records would have.
    pub fn merge(&mut self, other: &Self) {
        let (Some((first, _)), Some((last, _))) = (other.rows().next(), other.rows().last()) else {
            return;
        };
        self.coarsen_to(other.step);
        let [first, last] =
            [first, last].map(|bucket| self.rebucket(bucket, other.step, self.step));
        self.cover_buckets(first, last);
        for (bucket, counts) in other.rows() {
            self.add(self.rebucket(bucket, other.step, self.step), counts);
        }
    }

    /// Returns copies of two histograms of the same zone and limit that have the same buckets: the
    /// smallest step that fits the records of both. Their groups may differ.
    ///
    /// For a chart that overlays the two.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{Histogram, Zone};
    ///
    /// let one = Histogram::new(Zone::utc(), 100, 6);
    /// let (one, other) = one.aligned(&Histogram::new(Zone::utc(), 100, 256));
    /// assert_eq!(one.step_s(), other.step_s());
    /// assert_eq!((one.buckets().count(), one.end_s()), (0, None));
    /// ```
    pub fn aligned(&self, other: &Self) -> (Self, Self) {
        let (mut one, mut other) = (self.clone(), other.clone());
        one.coarsen_to(other.step);
        other.coarsen_to(one.step);
        if let Some((first, last)) = other.bucket_range() {
            one.cover_buckets(first, last);
        }
        other.coarsen_to(one.step);
        if let Some((first, last)) = one.bucket_range() {
            other.cover_buckets(first, last);
        }
        (one, other)
    }

    /// Returns the numbers of the first and the last bucket.
    fn bucket_range(&self) -> Option<(i64, i64)> {
        let buckets = self.len() as i64;
        (buckets > 0).then(|| (self.first, self.first + buckets - 1))
    }

    /// Subtracts the counts of records that were added before. Removes the empty buckets before the
    /// first remaining record and after the last.
    pub(super) fn remove(&mut self, other: &Self) {
        for (bucket, counts) in other.rows() {
            let row = self.row(self.rebucket(bucket, other.step, self.step));
            for (sum, count) in self.counts.iter_mut().skip(row).zip(counts) {
                *sum -= count;
            }
        }
        let groups = self.groups;
        let is_left = |counts: &[u64]| counts.iter().any(|count| *count > 0);
        let rows = || self.counts.chunks_exact(groups);
        let first = rows().position(is_left).unwrap_or(self.len());
        let end = rows().rposition(is_left).map_or(first, |last| last + 1);
        self.counts.truncate(end * groups);
        self.counts.drain(..first * groups);
        self.first += first as i64;
    }

    /// Returns whether no record was counted.
    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Returns each bucket's number and counts.
    fn rows(&self) -> impl Iterator<Item = (i64, &[u64])> {
        (self.first..).zip(self.counts.chunks_exact(self.groups))
    }

    /// Returns the index in `counts` at which a bucket's counts begin.
    #[inline]
    fn row(&self, bucket: i64) -> usize {
        (bucket - self.first) as usize * self.groups
    }

    fn add(&mut self, bucket: i64, counts: &[u64]) {
        self.extend(bucket, bucket);
        let row = self.row(bucket);
        for (sum, count) in self.counts[row..].iter_mut().zip(counts) {
            *sum += count;
        }
    }

    fn len(&self) -> usize {
        self.counts.len() / self.groups
    }

    #[inline]
    fn is_even(&self, step: usize) -> bool {
        STEPS_S[step] <= self.even_step_s
    }

    /// Returns the number of the bucket that contains an instant. Even steps are numbered by
    /// elapsed time, as on a clock that never changes; longer steps by local time.
    fn bucket(&self, unix_s: i64, step: usize) -> i64 {
        let offset_s = match self.is_even(step) {
            true => self.zone.initial_offset_s(),
            false => self.zone.offset_s(unix_s),
        };
        (unix_s + i64::from(offset_s) + bias_s(step)).div_euclid(STEPS_S[step])
    }

    /// Converts a bucket number of one step to that of another step that is at least as long.
    fn rebucket(&self, bucket: i64, from: usize, to: usize) -> i64 {
        if self.is_even(from) {
            return self.bucket(self.start_of(bucket, from), to);
        }
        let local_s = bucket * STEPS_S[from] - bias_s(from);
        (local_s + bias_s(to)).div_euclid(STEPS_S[to])
    }

    /// Returns the first instant of a bucket.
    fn start_s(&self, bucket: i64) -> i64 {
        self.start_of(bucket, self.step)
    }

    fn start_of(&self, bucket: i64, step: usize) -> i64 {
        let local_s = bucket * STEPS_S[step] - bias_s(step);
        match self.is_even(step) {
            true => local_s - i64::from(self.zone.initial_offset_s()),
            false => self.zone.instant_of_local(local_s),
        }
    }

    /// Returns a range of instants around `unix_s` that all fall into the same bucket. The range is
    /// the bucket, cut off at the nearest changes of the zone offset.
    fn bounds_ns(&self, unix_s: i64, bucket: i64) -> (i64, i64) {
        let step_s = STEPS_S[self.step];
        let (from, until) = if self.is_even(self.step) {
            let start = self.start_s(bucket);
            (start, start + step_s)
        } else {
            let (span_from, span_until, offset_s) = self.zone.span(unix_s);
            let start = bucket * step_s - bias_s(self.step) - i64::from(offset_s);
            (start.max(span_from), (start + step_s).min(span_until))
        };
        (from.saturating_mul(SECOND_NS), until.saturating_mul(SECOND_NS))
    }

    /// Makes room for a range of instants, with coarser steps if necessary.
    fn cover(&mut self, first_s: i64, last_s: i64) {
        self.cover_with(|own, step| (own.bucket(first_s, step), own.bucket(last_s, step)));
    }

    /// Makes room for a range of buckets of the current step, with coarser steps if necessary.
    fn cover_buckets(&mut self, first: i64, last: i64) {
        let from = self.step;
        self.cover_with(|own, step| {
            (own.rebucket(first, from, step), own.rebucket(last, from, step))
        });
    }

    /// `range` returns the numbers of two buckets for a step, in any order. The loop ends with the
    /// longest step at the latest.
    fn cover_with(&mut self, range: impl Fn(&Self, usize) -> (i64, i64)) {
        let mut step = self.step;
        let (first, last) = loop {
            let (a, b) = range(self, step);
            let (mut first, mut last) = (a.min(b), a.max(b));
            if !self.counts.is_empty() {
                let own_last = self.first + self.len() as i64 - 1;
                first = first.min(self.rebucket(self.first, self.step, step));
                last = last.max(self.rebucket(own_last, self.step, step));
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
        let old_first = self.first;
        let old = std::mem::take(&mut self.counts);
        for (bucket, counts) in (old_first..).zip(old.chunks_exact(self.groups)) {
            self.add(self.rebucket(bucket, old_step, step), counts);
        }
    }
}

/// Returns the seconds to add to local time so that weeks begin on Monday.
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
