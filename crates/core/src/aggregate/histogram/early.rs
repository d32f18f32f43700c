//! Records of times before the web.
//!
//! A machine that starts without a clock writes 1970 until its clock is set. One such line in a log of today
//! would make steps of a year. So records of times before 1990, when there were no servers, have buckets of
//! their own, which are shown if there are no other records.

use super::{Histogram, SECOND_NS};
use crate::column::{Selection, Times};

/// The start of 1990, in seconds since 1970.
const WEB_S: i64 = 631_152_000;

/// Divides a range of times, in nanoseconds since 1970, into its parts before the web and since. The parts
/// are in seconds. If there are both, only the start of the first is known, and the end of the second.
pub(super) fn split_range_s((first_ns, last_ns): (i64, i64)) -> (Part, Part) {
    let (first_s, last_s) = (first_ns.div_euclid(SECOND_NS), last_ns.div_euclid(SECOND_NS));
    let early_last_s = if last_s >= WEB_S { first_s } else { last_s };
    let early = (first_s < WEB_S).then_some((first_s, early_last_s));
    let own_first_s = if first_s < WEB_S { last_s } else { first_s };
    let own = (last_s >= WEB_S).then_some((own_first_s, last_s));
    (early, own)
}

/// The first and the last second of a part of a range; `None` if it is empty.
type Part = Option<(i64, i64)>;

impl Histogram {
    /// Returns the number of records that are in no bucket, because their times are before 1990 and others
    /// are not.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{Histogram, Zone};
    ///
    /// assert_eq!(Histogram::new(Zone::utc(), 100, 6).left_out(), 0);
    /// ```
    pub fn left_out(&self) -> u64 {
        let early = self.early.as_ref().filter(|_| !self.shows_early());
        early.map_or(0, |early| early.counts.iter().sum())
    }

    /// Returns the histogram with buckets in the same part of the times as another one: before 1990, or since.
    ///
    /// For a chart that overlays the two: without it, one may show a line of 1970, and the other today's.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{Histogram, Zone};
    ///
    /// let early = Histogram::new(Zone::utc(), 100, 6).covering((0, 2_000_000_000));
    /// let both = early.clone().covering((0, 1_800_000_000_000_000_000));
    /// assert_eq!(both.end_s(), Some(1_800_000_001));
    /// assert_eq!(both.in_part_of(&early).end_s(), Some(3));
    /// ```
    #[must_use]
    pub fn in_part_of(mut self, other: &Self) -> Self {
        match other.shows_early() {
            true => {
                self.early_part();
                self.counts.clear();
            }
            false => self.early = None,
        }
        self
    }

    /// Returns the histogram of the records before the web.
    pub(super) fn early_part(&mut self) -> &mut Self {
        let (zone, buckets_max, groups) = (&self.zone, self.buckets_max, self.groups);
        let step_s = self.shortest.nominal_s() as u64;
        let early = || Self::new(zone.clone(), buckets_max, groups).with_step_s(step_s).into();
        self.early.get_or_insert_with(early)
    }

    /// Returns the part whose buckets are shown.
    pub(super) fn shown_part(&self) -> &Self {
        match &self.early {
            Some(early) if self.shows_early() => early,
            _ => self,
        }
    }

    /// Returns whether the buckets before the web are shown: there are no others, or no records in them.
    fn shows_early(&self) -> bool {
        let has_records = |part: &Self| part.counts.iter().any(|count| *count > 0);
        self.early
            .as_ref()
            .is_some_and(|early| self.counts.is_empty() || !has_records(self) && has_records(early))
    }

    /// Counts the rows of a segment that has both parts, one by one: there are few such segments.
    #[cold]
    pub(super) fn count_both(&mut self, times: &Times, selection: &Selection, groups: &[u8]) {
        let instants = times.instants();
        let mut index = 0;
        instants.codes().for_each(selection, |code| {
            if let (Some(number), Some(group)) = (instants.decode(code), groups.get(index)) {
                let unix_s = Times::decode_instant(number).div_euclid(SECOND_NS);
                let part = if unix_s < WEB_S { self.early_part() } else { &mut *self };
                part.cover(unix_s, unix_s);
                let row = part.row(part.bucket(unix_s, part.grain()));
                part.counts[row + usize::from(*group)] += 1;
            }
            index += 1;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{Histogram, WEB_S};
    use crate::value::Zone;

    /// A histogram of records at these times.
    fn of(times_s: &[i64]) -> Histogram {
        let mut histogram = Histogram::new(Zone::utc(), 100, 1);
        for time_s in times_s {
            let mut one = Histogram::new(Zone::utc(), 100, 1);
            one.make_room((time_s * 1_000_000_000, time_s * 1_000_000_000));
            let part = if *time_s < WEB_S { one.early_part() } else { &mut one };
            part.counts[0] = 1;
            histogram.merge(&one);
        }
        histogram
    }

    #[test]
    fn a_line_of_1970_makes_no_steps_of_a_year() {
        let today_s = 1_765_962_181;
        let times_s = [today_s, 5, today_s + 3, 0];
        let histogram = of(&times_s);
        assert_eq!((histogram.step_s(), histogram.left_out()), (1, 2));
        let counts: Vec<u64> = histogram.buckets().map(|bucket| bucket.counts[0]).collect();
        assert_eq!(counts, [1, 0, 0, 1]);
        assert_eq!(histogram.end_s(), Some(today_s + 4));
        // In any order.
        assert_eq!(of(&[5, 0, today_s + 3, today_s]), histogram);
        // The range of the log has the early times, too.
        let covering = histogram.clone().covering((0, (today_s + 3) * 1_000_000_000));
        assert_eq!(covering.buckets().count(), 4);

        let mut rest = histogram;
        rest.remove(&of(&[today_s, today_s + 3]));
        assert_eq!((rest.left_out(), rest.buckets().count(), rest.is_empty()), (0, 6, false));
        rest.remove(&of(&[5, 0]));
        assert!(rest.is_empty());
    }

    #[test]
    fn records_of_1970_among_others_are_shown_alone() {
        let today_s = 1_765_962_181;
        let all = of(&[5, 8, today_s]);
        // The range is that of all records, and a filter has left those of 1970.
        let chosen = of(&[5, 5]).covering((5_000_000_000, today_s * 1_000_000_000));
        let counts = |histogram: &Histogram| -> Vec<(i64, u64)> {
            histogram.buckets().map(|bucket| (bucket.start_s, bucket.counts[0])).collect()
        };
        assert_eq!((counts(&chosen), chosen.left_out()), (vec![(5, 2)], 0));
        let (chosen, all) = chosen.aligned(&all);
        assert_eq!(counts(&chosen), [(5, 2), (6, 0), (7, 0), (8, 0)]);
        assert_eq!(counts(&all.clone().in_part_of(&chosen)), [(5, 1), (6, 0), (7, 0), (8, 1)]);
        assert_eq!(counts(&chosen.in_part_of(&all)), [(today_s, 0)]);
        // Without records the range is shown.
        let none = of(&[]).covering((5_000_000_000, today_s * 1_000_000_000));
        assert_eq!(counts(&none), [(today_s, 0)]);
    }

    #[test]
    fn a_log_of_1970_is_shown() {
        let histogram = of(&[0, 2]);
        assert_eq!((histogram.left_out(), histogram.buckets().count()), (0, 3));
        let (one, other) = histogram.aligned(&of(&[WEB_S]));
        assert_eq!((one.step_s(), other.step_s()), (1, 1));
        assert_eq!((one.buckets().count(), one.left_out()), (3, 0));
        assert_eq!(one.in_part_of(&other).buckets().count(), 1);
    }
}
