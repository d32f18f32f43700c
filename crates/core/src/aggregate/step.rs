//! The lengths of a histogram's buckets.

use crate::value::{DAY_S, Date};

/// The length of a bucket: an index into [`STEPS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step(usize);

/// A length in units of the local clock or of its calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Seconds(i64),
    /// Weeks from Monday to Sunday.
    Weeks(i64),
    /// Calendar months.
    Months(i64),
}

use Length::{Months, Seconds, Weeks};

/// The steps, from the shortest to the longest. Each divides the next, except the week: weeks do
/// not divide months, and are counted in days.
const STEPS: [Length; 19] = [
    Seconds(1),
    Seconds(5),
    Seconds(15),
    Seconds(30),
    Seconds(60),
    Seconds(300),
    Seconds(900),
    Seconds(1_800),
    Seconds(3_600),
    Seconds(10_800),
    Seconds(21_600),
    Seconds(43_200),
    Seconds(DAY_S),
    Weeks(1),
    Months(1),
    Months(12),
    Months(120),
    // A century and a millennium: two buckets are enough for every possible time.
    Months(1_200),
    Months(12_000),
];

const DAY: Step = Step(12);
const WEEK_S: i64 = 7 * DAY_S;

/// 1970 began on a Thursday; weeks begin on Monday.
const THURSDAY_S: i64 = 3 * DAY_S;

/// The nominal length of a month, in seconds: 30 days.
const MONTH_S: i64 = 30 * DAY_S;

/// The nominal length of a year, in seconds: 365 days.
const YEAR_S: i64 = 365 * DAY_S;

impl Step {
    /// The shortest step.
    pub(super) const MIN: Self = Self(0);

    /// The next longer step.
    pub(super) fn next(self) -> Option<Self> {
        (self.0 + 1 < STEPS.len()).then_some(Self(self.0 + 1))
    }

    /// The step in which counts are kept so that every longer step is a sum of them.
    pub(super) fn grain(self) -> Self {
        match STEPS[self.0] {
            Weeks(_) => DAY,
            Seconds(_) | Months(_) => self,
        }
    }

    /// The length in seconds of local time. Months count as 30 days and years as 365.
    pub(super) fn nominal_s(self) -> i64 {
        match STEPS[self.0] {
            Seconds(seconds) => seconds,
            Weeks(weeks) => weeks * WEEK_S,
            Months(months) if months % 12 == 0 => months / 12 * YEAR_S,
            Months(months) => months * MONTH_S,
        }
    }

    /// The number of the bucket that contains a local time, in seconds since 1970.
    #[inline]
    pub(super) fn bucket(self, local_s: i64) -> i64 {
        match STEPS[self.0] {
            Seconds(seconds) => local_s.div_euclid(seconds),
            Weeks(weeks) => (local_s + THURSDAY_S).div_euclid(weeks * WEEK_S),
            Months(months) => {
                let date = Date::from_days(local_s.div_euclid(DAY_S));
                let month = i64::from(date.year) * 12 + i64::from(date.month) - 1;
                month.div_euclid(months)
            }
        }
    }

    /// The local time at which a bucket begins, in seconds since 1970.
    #[inline]
    pub(super) fn start_s(self, bucket: i64) -> i64 {
        match STEPS[self.0] {
            Seconds(seconds) => bucket * seconds,
            Weeks(weeks) => bucket * weeks * WEEK_S - THURSDAY_S,
            Months(months) => {
                let month = bucket * months;
                let (year, month) = (month.div_euclid(12) as i32, month.rem_euclid(12) as u32 + 1);
                Date { year, month, day: 1 }.days() * DAY_S
            }
        }
    }
}

/// Returns the lengths that the buckets of a [`crate::Histogram`] may have, in seconds, in ascending order.
/// Months count as 30 days and years as 365.
pub fn histogram_steps_s() -> impl Iterator<Item = u64> {
    (0..STEPS.len()).map(|step| Step(step).nominal_s() as u64)
}

#[cfg(test)]
mod tests {
    use super::{DAY_S, Step};

    fn all() -> impl Iterator<Item = Step> {
        std::iter::successors(Some(Step::MIN), |step| step.next())
    }

    #[test]
    fn each_grain_divides_the_longer_steps() {
        for step in all() {
            let longer = std::iter::successors(step.next(), |step| step.next());
            for longer in longer {
                for bucket in -30..30 {
                    let start_s = longer.start_s(bucket);
                    let grain = step.grain();
                    assert_eq!(
                        grain.start_s(grain.bucket(start_s)),
                        start_s,
                        "{step:?} {longer:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_bucket_contains_its_start() {
        for step in all() {
            for bucket in -3..3 {
                let (start_s, end_s) = (step.start_s(bucket), step.start_s(bucket + 1));
                assert_eq!([start_s, end_s - 1].map(|at| step.bucket(at)), [bucket; 2], "{step:?}");
            }
        }
    }

    #[test]
    fn months_are_those_of_the_calendar() {
        let month = all().find(|step| step.nominal_s() == 30 * DAY_S).unwrap();
        let lengths: Vec<i64> = (0..12)
            .map(|number| {
                let bucket = 2_024 * 12 + number;
                (month.start_s(bucket + 1) - month.start_s(bucket)) / DAY_S
            })
            .collect();
        assert_eq!(lengths, [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]);
    }
}
