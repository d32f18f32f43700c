//! The offsets from UTC that the times of a log have on each day.
//!
//! A zone changes its offset at most once a day. So it has all offsets of a log if it has each one at
//! the first and the last time of each day at which the log has it. It does not change it twice within
//! two weeks either, so that of times with one offset in so short a time the ends suffice.

use std::collections::{BTreeMap, BTreeSet};

use super::times::Times;

const DAY_S: i64 = 86_400;
const SECOND_NS: i64 = 1_000_000_000;

/// No zone changes its offset twice within this time: the shortest are the months without summer time
/// in some years of Morocco and Egypt.
const CHANGES_S: i64 = 14 * DAY_S;

/// The most entries: a log of 40 years has half as many.
const ENTRIES_MAX: usize = 32_768;

/// On which days the times of a log have which offsets from UTC.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Block, BlockLimits, BlockReader, Format, OffsetDays, Values};
///
/// let format = Arc::new(Format::parse("$time_iso8601 $status")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let lines = "2016-03-13T01:59:59-05:00 200\n2016-03-13T03:00:00-04:00 200\n";
/// let segment = reader.read_segment(&Block::new(lines.into()), 0, &mut values);
///
/// let mut days = OffsetDays::default();
/// days.add(segment.times().unwrap());
/// assert_eq!(days.offsets_s(), [-18_000, -14_400]);
/// assert_eq!(days.last_offset_s(), Some(-14_400));
/// assert_eq!(days.changes_s(), [(1_457_852_399, 1_457_852_400)]);
/// let new_york = |unix_s| if unix_s < 1_457_852_400 { -18_000 } else { -14_400 };
/// assert!(days.are_all(new_york) && !days.are_all(|_| -18_000));
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OffsetDays {
    /// The first and the last time, in seconds since 1970, by day since 1970 and offset in seconds.
    times_s: BTreeMap<(i64, i32), (i64, i64)>,
    /// Whether some were left out, because there are too many.
    is_partial: bool,
}

impl OffsetDays {
    /// Returns the days with their offsets: the day since 1970, the offset in seconds, and the first
    /// and the last time with both, in seconds since 1970.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = [i64; 4]> {
        let entry = |((day, offset_s), (first_s, last_s)): (&(i64, i32), &(i64, i64))| {
            [*day, i64::from(*offset_s), *first_s, *last_s]
        };
        self.times_s.iter().map(entry)
    }

    /// Returns whether days were left out, because there are too many.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// The days of [`Self::entries`]. Entries whose day is not that of their times are left out, and
    /// the result is then partial.
    pub fn of_entries(entries: impl Iterator<Item = [i64; 4]>, is_partial: bool) -> Self {
        let mut days = Self { is_partial, ..Self::default() };
        for [day, offset_s, first_s, last_s] in entries {
            let is_of_day = [first_s, last_s].iter().all(|unix_s| unix_s.div_euclid(DAY_S) == day);
            match i32::try_from(offset_s).ok().filter(|it| it.unsigned_abs() <= DAY_S as u32) {
                Some(offset_s) if is_of_day => days.widen((day, offset_s), (first_s, last_s)),
                _ => days.is_partial = true,
            }
        }
        days
    }

    /// Adds the times of a segment.
    ///
    /// In constant time if all have the same offset and are of two weeks.
    pub fn add(&mut self, times: &Times) {
        let (first_ns, last_ns) = times.range_ns();
        let (first_s, last_s) = (first_ns.div_euclid(SECOND_NS), last_ns.div_euclid(SECOND_NS));
        let is_short = last_s - first_s < CHANGES_S;
        if let Some(offset_s) = times.constant_offset_s().filter(|_| is_short) {
            for unix_s in [first_s, last_s] {
                self.widen((unix_s.div_euclid(DAY_S), offset_s), (unix_s, unix_s));
            }
            return;
        }
        // Most rows are of the same day as the row before.
        let mut own: Option<((i64, i32), (i64, i64))> = None;
        for row in 0..times.offsets().codes().rows() {
            let Some(time) = times.get(row) else { continue };
            let unix_s = time.unix_ns.div_euclid(SECOND_NS);
            let key = (unix_s.div_euclid(DAY_S), time.offset_s);
            match &mut own {
                Some((own, (first, last))) if *own == key => {
                    (*first, *last) = (unix_s.min(*first), unix_s.max(*last));
                }
                _ => {
                    if let Some((key, range)) = own.replace((key, (unix_s, unix_s))) {
                        self.widen(key, range);
                    }
                }
            }
        }
        if let Some((key, range)) = own {
            self.widen(key, range);
        }
    }

    /// Adds those of other times.
    pub fn merge(&mut self, other: &Self) {
        self.is_partial |= other.is_partial;
        for (key, range) in &other.times_s {
            self.widen(*key, *range);
        }
    }

    fn widen(&mut self, key: (i64, i32), (from, until): (i64, i64)) {
        if self.times_s.len() == ENTRIES_MAX && !self.times_s.contains_key(&key) {
            self.is_partial = true;
            return;
        }
        let (first, last) = self.times_s.entry(key).or_insert((from, until));
        (*first, *last) = ((*first).min(from), (*last).max(until));
    }

    /// Whether there are several offsets.
    pub fn has_several(&self) -> bool {
        let mut offsets = self.times_s.keys().map(|(_, offset_s)| offset_s);
        let first = offsets.next();
        offsets.any(|offset_s| Some(offset_s) != first)
    }

    /// The distinct offsets in seconds east of UTC, ascending.
    pub fn offsets_s(&self) -> Vec<i32> {
        let distinct: BTreeSet<i32> = self.times_s.keys().map(|(_, offset_s)| *offset_s).collect();
        distinct.into_iter().collect()
    }

    /// The offset of the latest time.
    pub fn last_offset_s(&self) -> Option<i32> {
        let latest = self.times_s.iter().max_by_key(|(_, (_, last_s))| *last_s);
        latest.map(|((_, offset_s), _)| *offset_s)
    }

    /// The last time before and the first after each change of the offset, in the order of time.
    pub fn changes_s(&self) -> Vec<(i64, i64)> {
        let mut times: Vec<(i64, i64, i32)> = self
            .times_s
            .iter()
            .map(|((_, offset_s), (first, last))| (*first, *last, *offset_s))
            .collect();
        times.sort_unstable();
        let is_change = |pair: &&[(i64, i64, i32)]| pair[0].2 != pair[1].2;
        times.windows(2).filter(is_change).map(|pair| (pair[0].1, pair[1].0)).collect()
    }

    /// Whether all offsets are those of a zone, which has `offset_s` at a time in seconds since 1970.
    ///
    /// `false` if there were too many days.
    pub fn are_all(&self, offset_s: impl Fn(i64) -> i32) -> bool {
        let is_own = |((_, own_s), (first_s, last_s)): (&(i64, i32), &(i64, i64))| {
            offset_s(*first_s) == *own_s && offset_s(*last_s) == *own_s
        };
        !self.is_partial && self.times_s.iter().all(is_own)
    }
}

#[cfg(test)]
mod tests {
    use super::{DAY_S, ENTRIES_MAX, OffsetDays, SECOND_NS};
    use crate::column::Times;

    fn times(rows: &[(i64, i32)]) -> Times {
        let instants: Vec<u64> =
            rows.iter().map(|(unix_s, _)| Times::encode_instant(unix_s * SECOND_NS)).collect();
        let offsets: Vec<u64> = rows.iter().map(|(_, it)| Times::encode_offset(*it)).collect();
        Times::pack(&instants, &offsets).expect("times")
    }

    /// Every split of the rows into segments tells of the same zones.
    #[test]
    fn the_segments_of_a_log_do_not_matter() {
        let rows: Vec<(i64, i32)> = (0..600)
            .map(|row| {
                let unix_s = row * 7_001 - 40_000;
                (unix_s, if (30..290).contains(&row) || row == 450 { 3_600 } else { 7_200 })
            })
            .collect();
        let mut whole = OffsetDays::default();
        whole.add(&times(&rows));
        assert_eq!((whole.offsets_s(), whole.has_several()), (vec![3_600, 7_200], true));
        // Zones of two changes, and the odd row alone.
        let zone = |from: usize, until: usize, odd_s: i32| {
            let (from_s, until_s, own_s) = (rows[from].0, rows[until].0, rows[450].0);
            move |unix_s| match unix_s {
                _ if unix_s == own_s => odd_s,
                _ if (from_s..until_s).contains(&unix_s) => 3_600,
                _ => 7_200,
            }
        };
        let zones = [(30, 290, 3_600), (30, 290, 7_200), (31, 290, 3_600), (30, 289, 3_600)];
        let tells = |days: &OffsetDays| zones.map(|(a, b, odd_s)| days.are_all(zone(a, b, odd_s)));
        assert_eq!(tells(&whole), [true, false, false, false]);
        for size in [1, 2, 3, 50, 100] {
            let mut parts = OffsetDays::default();
            for rows in rows.chunks(size) {
                let mut part = OffsetDays::default();
                part.add(&times(rows));
                parts.merge(&part);
            }
            assert_eq!(tells(&parts), tells(&whole), "{size}");
            assert_eq!(parts.offsets_s(), whole.offsets_s());
            assert_eq!(parts.last_offset_s(), Some(7_200));
        }
    }

    #[test]
    fn days_survive_as_entries() {
        let mut days = OffsetDays::default();
        days.add(&times(&[(-5, 3_600), (DAY_S, 3_600), (DAY_S + 7, -7_200)]));
        assert_eq!(OffsetDays::of_entries(days.entries(), false), days);
        let wrong = [[0, 0, 5, DAY_S], [0, 1 << 40, 5, 5]].into_iter();
        let wrong = OffsetDays::of_entries(wrong, false);
        assert_eq!((wrong.entries().len(), wrong.is_partial()), (0, true));
    }

    #[test]
    fn a_log_of_too_many_days_has_no_zone() {
        let days = |count: i64| {
            let mut days = OffsetDays::default();
            (0..count).for_each(|day| days.add(&times(&[(day * DAY_S, 0)])));
            days
        };
        let most = ENTRIES_MAX as i64;
        assert!(days(most).are_all(|_| 0));
        assert!(!days(most + 1).are_all(|_| 0));
        assert!(!days(1).has_several());
        assert_eq!(OffsetDays::default().last_offset_s(), None);
    }
}
