//! Counts over time.
//!
//! The steps are 1, 5, 15 and 30 seconds; 1, 5, 15 and 30 minutes; 1, 3, 6 and 12 hours; 1 day, 1
//! week, 1 month, 1 year, and longer. A histogram that becomes too long is made coarser by adding
//! buckets together, and the result is the same as if it had been counted in the coarser step.
//! For that, counts by week are kept by day: see [`Step::grain`].

mod counting;
mod early;
mod room;

use std::borrow::Cow;

use self::early::split_range_s;
use super::step::Step;
use crate::value::Zone;

const SECOND_NS: i64 = 1_000_000_000;

/// Counts of records in equal steps of a zone's calendar. Each bucket is divided into groups.
///
/// The step is the smallest that fits the range from the first record to the last into
/// `buckets_max` buckets. It depends on the set of records, but not on their order.
///
/// Records of times before 1990 are left out ([`Self::left_out`]), if there are later ones: there was no
/// web, and one line of a machine whose clock was not set would make steps of years.
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
/// 8 bytes for each bucket and group: 19 kB for 400 buckets of six status classes, and seven times
/// as much for weeks, whose days are counted. With steps up to a millennium two buckets suffice for
/// any time.
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
/// let zone = Zone::from_transitions("CET", 3_600, [(change_s, 7_200)]).unwrap();
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
    /// The length of the buckets that are shown. Those in `counts` have that of its grain.
    step: Step,
    /// The step of a histogram of few records.
    shortest: Step,
    /// The number of the first bucket in `counts`; see [`Self::bucket`].
    first: i64,
    /// `groups` counts for each bucket.
    counts: Vec<u64>,
    /// The records of times before the web, of which few are real; see `early`.
    early: Option<Box<Self>>,
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
    pub counts: Cow<'a, [u64]>,
}

impl Histogram {
    /// Returns an empty histogram with `groups` groups and at most `buckets_max` buckets (at least
    /// 2).
    ///
    /// `groups` must not be 0. The first step is a second.
    pub fn new(zone: Zone, buckets_max: usize, groups: usize) -> Self {
        let buckets_max = buckets_max.max(2);
        let even_step_s = zone.even_step_s();
        let (counts, early) = (Vec::new(), None);
        let (step, shortest) = (Step::MIN, Step::MIN);
        Self { zone, even_step_s, buckets_max, groups, step, shortest, first: 0, counts, early }
    }

    /// Returns the empty histogram with this step, one of [`crate::histogram_steps_s`], or the next longer
    /// one. It becomes longer only if there are more buckets than the histogram may have.
    #[must_use]
    pub fn with_step_s(mut self, step_s: u64) -> Self {
        let steps = std::iter::successors(Some(Step::MIN), |step| step.next());
        let mut steps = steps.skip_while(|step| (step.nominal_s() as u64) < step_s);
        self.shortest = steps.next().unwrap_or(Step::MIN);
        self.step = self.shortest;
        self
    }

    /// Returns the zone whose calendar the buckets follow.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Returns the length of a bucket in seconds of local time. Calendar months count as 30 days,
    /// and calendar years as 365.
    pub fn step_s(&self) -> u64 {
        self.shown_part().step.nominal_s() as u64
    }

    /// Returns the buckets from the first record's to the last's, or those of the range that
    /// [`Self::covering`] has added. Empty buckets are included, except those that do not exist in
    /// the zone's calendar.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket<'_>> {
        let part = self.shown_part();
        let buckets = part.bucket_range().into_iter().flat_map(|(first, last)| {
            let [first, last] = [first, last].map(|bucket| part.shown(bucket));
            first..=last
        });
        buckets.filter_map(|bucket| {
            let start_s = part.start_of(bucket, part.step);
            let is_real = start_s < part.start_of(bucket + 1, part.step);
            is_real.then(|| Bucket { start_s, counts: part.counts_of(bucket) })
        })
    }

    /// Returns the end of the last bucket, in seconds since 1970. `None` if there are no buckets.
    pub fn end_s(&self) -> Option<i64> {
        let part = self.shown_part();
        let (_, last) = part.bucket_range()?;
        Some(part.start_of(part.shown(last) + 1, part.step))
    }

    /// Returns the histogram with buckets for a range of times, both ends included, in nanoseconds
    /// since 1970. The step becomes longer if the range needs it. Records outside the range remain.
    ///
    /// Of a range from before 1990 until later, only the later part is added: the records before have
    /// buckets of their own.
    #[must_use]
    pub fn covering(mut self, range_ns: (i64, i64)) -> Self {
        match split_range_s(range_ns) {
            (Some(_), Some((first_s, last_s))) => self.cover(first_s, last_s),
            _ => self.make_room(range_ns),
        }
        self
    }

    /// Returns the number of the shown bucket that contains a bucket of `counts`.
    fn shown(&self, bucket: i64) -> i64 {
        let grain = self.grain();
        if grain == self.step { bucket } else { self.rebucket(bucket, grain, self.step) }
    }

    /// Returns the counts of a shown bucket.
    fn counts_of(&self, bucket: i64) -> Cow<'_, [u64]> {
        let grain = self.grain();
        if grain == self.step {
            let row = self.row(bucket);
            return Cow::Borrowed(&self.counts[row..row + self.groups]);
        }
        let starts_s = [bucket, bucket + 1].map(|bucket| self.step.start_s(bucket));
        let [from, until] = starts_s.map(|local_s| grain.bucket(local_s) - self.first);
        let mut sums = vec![0; self.groups];
        let rows = from.max(0) as usize..until.clamp(0, self.len() as i64) as usize;
        for counts in self.counts.chunks_exact(self.groups).take(rows.end).skip(rows.start) {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        Cow::Owned(sums)
    }
    /// Makes room for all buckets in a range of times, so that adding rows within the range moves
    /// no counts.
    pub(super) fn make_room(&mut self, range_ns: (i64, i64)) {
        let (early, own) = split_range_s(range_ns);
        if let Some((first_s, last_s)) = early {
            self.early_part().cover(first_s, last_s);
        }
        if let Some((first_s, last_s)) = own {
            self.cover(first_s, last_s);
        }
    }

    /// Returns whether `fresh`, after it has made room for this range of times, would have the same
    /// zone, limit, groups and step as this histogram.
    pub(super) fn is_like(&self, mut fresh: Self, range_ns: (i64, i64)) -> bool {
        fresh.make_room(range_ns);
        let early_step = |one: &Self| one.early.as_ref().map(|early| early.step);
        (&self.zone, self.buckets_max, self.groups, self.step, early_step(self))
            == (&fresh.zone, fresh.buckets_max, fresh.groups, fresh.step, early_step(&fresh))
    }

    /// Adds the counts of another histogram with the same zone, limit and groups.
    ///
    /// The result has the step that one histogram over all records would have.
    pub fn merge(&mut self, other: &Self) {
        if let Some(early) = &other.early {
            self.early_part().merge(early);
        }
        let (Some((first, _)), Some((last, _))) = (other.rows().next(), other.rows().last()) else {
            return;
        };
        self.coarsen_to(other.step);
        let from = other.grain();
        let [first, last] = [first, last].map(|bucket| self.rebucket(bucket, from, self.grain()));
        self.cover_buckets(first, last);
        for (bucket, counts) in other.rows() {
            self.add(self.rebucket(bucket, from, self.grain()), counts);
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
        if one.early.is_some() || other.early.is_some() {
            let (of_one, of_other) = one.early_part().aligned(other.early_part());
            (one.early, other.early) = (Some(of_one.into()), Some(of_other.into()));
        }
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

    /// Returns a copy in which all records are `by_s` seconds later, to the nearest bucket.
    ///
    /// For a chart that overlays records of a clock that is known to be wrong. With steps of a day
    /// or longer, a shift of less than half a step changes nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{Histogram, Zone};
    ///
    /// let covered = Histogram::new(Zone::utc(), 100, 6).covering((0, 9_000_000_000));
    /// let shifted = covered.shifted(-3_600);
    /// assert_eq!(shifted.buckets().next().map(|bucket| bucket.start_s), Some(-3_600));
    /// assert_eq!(shifted.buckets().count(), 10);
    /// ```
    pub fn shifted(&self, by_s: i64) -> Self {
        let grain = self.grain();
        let half_s = grain.nominal_s() / 2;
        let later = |bucket: i64| {
            let start_s = self.start_of(bucket, grain);
            self.bucket(start_s.saturating_add(by_s).saturating_add(half_s), grain)
        };
        let early = self.early.as_ref().map(|early| Box::new(early.shifted(by_s)));
        let mut shifted = Self { counts: Vec::new(), early, ..self.clone() };
        if let Some((first, last)) = self.bucket_range() {
            // The step may become coarser, if the calendar divides the other time differently.
            shifted.cover_buckets(later(first), later(last));
        }
        for (bucket, counts) in self.rows() {
            shifted.add(shifted.rebucket(later(bucket), grain, shifted.grain()), counts);
        }
        shifted
    }

    /// Returns the numbers of the first and the last bucket in `counts`.
    fn bucket_range(&self) -> Option<(i64, i64)> {
        let buckets = self.len() as i64;
        (buckets > 0).then(|| (self.first, self.first + buckets - 1))
    }

    /// Subtracts the counts of records that were added before. Removes the empty buckets before the
    /// first remaining record and after the last.
    pub(super) fn remove(&mut self, other: &Self) {
        if let (Some(own), Some(other)) = (&mut self.early, &other.early) {
            own.remove(other);
        }
        self.early.take_if(|early| early.is_empty());
        for (bucket, counts) in other.rows() {
            let row = self.row(self.rebucket(bucket, other.grain(), self.grain()));
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
        self.counts.is_empty() && self.early.as_ref().is_none_or(|early| early.is_empty())
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
}
