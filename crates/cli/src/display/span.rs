//! Lengths of time on the local clock and in its calendar.

use super::LocalTime;

const DAY_S: u64 = 86_400;
const WEEK_S: u64 = 7 * DAY_S;

/// The time from Monday, on which weeks begin, to Thursday, on which 1970 began.
const THURSDAY_S: i64 = 3 * DAY_S as i64;

/// The nominal lengths of a calendar month and of a calendar year, as a report counts them.
const MONTH_S: u64 = 30 * DAY_S;
const YEAR_S: u64 = 365 * DAY_S;

/// The length of a bucket, or the distance between two labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Span {
    /// Seconds of the local clock. Weeks begin on Monday.
    Seconds(u64),
    /// Calendar months.
    Months(u64),
}

impl Span {
    /// The span of a histogram's `step_s`.
    pub(crate) fn of_step(step_s: u64) -> Self {
        match step_s {
            _ if step_s >= YEAR_S && step_s.is_multiple_of(YEAR_S) => {
                Self::Months(12 * (step_s / YEAR_S))
            }
            _ if step_s >= MONTH_S && step_s.is_multiple_of(MONTH_S) => {
                Self::Months(step_s / MONTH_S)
            }
            _ => Self::Seconds(step_s),
        }
    }

    /// Returns the nominal length in seconds, by which spans are compared. It equals the `step_s`
    /// of a histogram.
    pub(crate) fn nominal_s(self) -> u64 {
        match self {
            Self::Seconds(seconds) => seconds,
            Self::Months(months) if months.is_multiple_of(12) => months / 12 * YEAR_S,
            Self::Months(months) => months * MONTH_S,
        }
    }

    /// Whether every span of this length consists of whole spans of another length.
    pub(crate) fn is_made_of(self, part: Self) -> bool {
        match (self, part) {
            (Self::Seconds(own), Self::Seconds(part)) => own > part && own.is_multiple_of(part),
            (Self::Months(own), Self::Months(part)) => own > part && own.is_multiple_of(part),
            (Self::Months(_), Self::Seconds(part)) => DAY_S.is_multiple_of(part),
            (Self::Seconds(_), Self::Months(_)) => false,
        }
    }

    /// Returns the number of the span that contains a time, counted from a fixed one.
    pub(crate) fn number(self, time: &LocalTime) -> i64 {
        match self {
            Self::Seconds(seconds) => self.number_of(time.local_s(), seconds),
            Self::Months(months) => time.months().div_euclid(months as i64),
        }
    }

    /// Whether a span begins exactly at a time.
    pub(crate) fn begins_at(self, time: &LocalTime) -> bool {
        match self {
            Self::Seconds(seconds) => {
                let local_s = time.local_s();
                self.number_of(local_s - 1, seconds) != self.number_of(local_s, seconds)
            }
            Self::Months(months) => {
                time.is_start_of_month() && time.months().rem_euclid(months as i64) == 0
            }
        }
    }

    fn number_of(self, local_s: i64, seconds: u64) -> i64 {
        let bias_s = if seconds >= WEEK_S { THURSDAY_S } else { 0 };
        (local_s + bias_s).div_euclid(seconds.max(1) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::{LocalTime, Span};

    #[test]
    fn steps_are_read_as_spans() {
        for span in [Span::Seconds(1), Span::Seconds(604_800), Span::Months(1), Span::Months(120)] {
            assert_eq!(Span::of_step(span.nominal_s()), span);
        }
        assert_eq!(Span::of_step(28 * 86_400), Span::Seconds(28 * 86_400));
    }

    #[test]
    fn months_begin_with_their_first_day() {
        let local = |stamp: &str| LocalTime::parse(stamp).unwrap();
        let (january, may) = (local("2016-01-01T00:00:00Z"), local("2016-05-01T00:00:00Z"));
        assert!(Span::Months(12).begins_at(&january) && !Span::Months(12).begins_at(&may));
        assert!(Span::Months(1).begins_at(&may));
        assert!(!Span::Months(1).begins_at(&local("2016-05-01T00:00:01Z")));
        assert_eq!(Span::Months(1).number(&may) - Span::Months(1).number(&january), 4);
        assert!(Span::Seconds(604_800).begins_at(&local("2016-05-02T00:00:00Z")), "a Monday");
    }

    #[test]
    fn weeks_are_not_parts_of_months() {
        let (day, week) = (Span::Seconds(86_400), Span::Seconds(604_800));
        assert!(Span::Months(1).is_made_of(day) && !Span::Months(1).is_made_of(week));
        assert!(week.is_made_of(day) && Span::Months(12).is_made_of(Span::Months(3)));
    }
}
