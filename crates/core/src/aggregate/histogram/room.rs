//! The numbers of buckets, and room for them.

use super::{Histogram, SECOND_NS};
use crate::aggregate::step::Step;

impl Histogram {
    pub(super) fn len(&self) -> usize {
        self.counts.len() / self.groups
    }

    /// The length of the buckets in `counts`.
    #[inline]
    pub(super) fn grain(&self) -> Step {
        self.step.grain()
    }

    #[inline]
    fn is_even(&self, step: Step) -> bool {
        step.nominal_s() <= self.even_step_s
    }

    /// Returns the number of the bucket that contains an instant. Even steps are numbered by
    /// elapsed time, as on a clock that never changes; longer steps by local time.
    pub(super) fn bucket(&self, unix_s: i64, step: Step) -> i64 {
        let offset_s = match self.is_even(step) {
            true => self.zone.initial_offset_s(),
            false => self.zone.offset_s(unix_s),
        };
        step.bucket(unix_s + i64::from(offset_s))
    }

    /// Converts a bucket number of a grain to that of a step that is at least as long.
    pub(super) fn rebucket(&self, bucket: i64, from: Step, to: Step) -> i64 {
        if from == to {
            return bucket;
        }
        if self.is_even(from) {
            return self.bucket(self.start_of(bucket, from), to);
        }
        to.bucket(from.start_s(bucket))
    }

    /// Returns the first instant of a bucket.
    pub(super) fn start_of(&self, bucket: i64, step: Step) -> i64 {
        let local_s = step.start_s(bucket);
        match self.is_even(step) {
            true => local_s - i64::from(self.zone.initial_offset_s()),
            false => self.zone.instant_of_local(local_s),
        }
    }

    /// Returns a range of instants around `unix_s` that all fall into the same bucket of `counts`.
    /// The range is the bucket, cut off at the nearest changes of the zone offset.
    pub(super) fn bounds_ns(&self, unix_s: i64, bucket: i64) -> (i64, i64) {
        let grain = self.grain();
        let [start_s, end_s] = [bucket, bucket + 1].map(|bucket| grain.start_s(bucket));
        let (from, until) = if self.is_even(grain) {
            let offset_s = i64::from(self.zone.initial_offset_s());
            (start_s - offset_s, end_s - offset_s)
        } else {
            let (span_from, span_until, offset_s) = self.zone.span(unix_s);
            let offset_s = i64::from(offset_s);
            ((start_s - offset_s).max(span_from), (end_s - offset_s).min(span_until))
        };
        (from.saturating_mul(SECOND_NS), until.saturating_mul(SECOND_NS))
    }

    /// Makes room for a range of instants, with coarser steps if necessary.
    pub(super) fn cover(&mut self, first_s: i64, last_s: i64) {
        self.cover_with(|own, step| (own.bucket(first_s, step), own.bucket(last_s, step)));
    }

    /// Makes room for a range of buckets of the current grain, with coarser steps if necessary.
    pub(super) fn cover_buckets(&mut self, first: i64, last: i64) {
        let from = self.grain();
        self.cover_with(|own, step| {
            (own.rebucket(first, from, step), own.rebucket(last, from, step))
        });
    }

    /// Makes room for a range, with coarser steps if necessary. `range` returns the numbers of its
    /// first and last bucket in a step.
    fn cover_with(&mut self, range: impl Fn(&Self, Step) -> (i64, i64)) {
        let range_in = |own: &Self, step: Step| {
            let (a, b) = range(own, step);
            (a.min(b), a.max(b))
        };
        let fits = |own: &Self, step: Step| {
            let (mut first, mut last) = range_in(own, step);
            if let Some((own_first, own_last)) = own.bucket_range() {
                first = first.min(own.rebucket(own_first, own.grain(), step));
                last = last.max(own.rebucket(own_last, own.grain(), step));
            }
            last - first < own.buckets_max as i64
        };
        let steps = std::iter::successors(Some(self.step), |step| step.next());
        let step = steps.take_while(|step| !fits(self, *step)).last();
        // The longest step has room for every possible time.
        let step = step.map_or(self.step, |short| short.next().unwrap_or(short));
        let (first, last) = range_in(self, step.grain());
        self.coarsen_to(step);
        self.extend(first, last);
    }

    pub(super) fn extend(&mut self, first: i64, last: i64) {
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

    pub(super) fn coarsen_to(&mut self, step: Step) {
        if step <= self.step {
            return;
        }
        let from = self.grain();
        self.step = step;
        if self.grain() == from {
            return;
        }
        let old_first = self.first;
        let old = std::mem::take(&mut self.counts);
        for (bucket, counts) in (old_first..).zip(old.chunks_exact(self.groups)) {
            self.add(self.rebucket(bucket, from, self.grain()), counts);
        }
    }
}
