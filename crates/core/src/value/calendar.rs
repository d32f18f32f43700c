//! The proleptic Gregorian calendar in whole days.
//!
//! The algorithms are Howard Hinnant's `days_from_civil` and `civil_from_days`
//! ("chrono-Compatible Low-Level Date Algorithms").
//!
//! Days are numbered from 1970-01-01, negative before it. The algorithms count years from March, so
//! that the leap day is the last of its year, in eras of 400 years (146,097 days), after which the
//! calendar repeats. They use no table and no loop, and are exact for every day whose year fits 32
//! bits.

/// Seconds in a day without leap seconds, as Unix time counts them.
pub(crate) const DAY_S: i64 = 86_400;

/// A date of the proleptic Gregorian calendar.
///
/// ```
/// use weir_core::Date;
///
/// let leap_day = Date::new(2024, 2, 29).expect("it exists");
/// assert_eq!(leap_day.days(), 19_782);
/// assert_eq!(Date::from_days(19_783).month, 3);
/// assert_eq!(Date::new(2023, 2, 29), None);
/// ```
///
/// A value from [`Self::new`] or [`Self::from_days`] is a day that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    /// The year; 0 is 1 BC.
    pub year: i32,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31.
    pub day: u32,
}

impl Date {
    /// The date, or `None` if the month has no such day.
    pub fn new(year: i32, month: u32, day: u32) -> Option<Self> {
        if !(1..=12).contains(&month) || day == 0 || day > days_in_month(year, month) {
            return None;
        }
        Some(Self { year, month, day })
    }

    /// Days since 1970-01-01.
    ///
    /// 719,468 is the number of days from 0000-03-01 to 1970-01-01.
    pub fn days(self) -> i64 {
        let year = i64::from(self.year) - i64::from(self.month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let shifted_month = i64::from((self.month + 9) % 12);
        let day_of_year = (153 * shifted_month + 2) / 5 + i64::from(self.day) - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * 146_097 + day_of_era - 719_468
    }

    /// The date `days` days after 1970-01-01. The year fits an `i32` for every instant of a
    /// [`crate::Timestamp`].
    pub fn from_days(days: i64) -> Self {
        let days = days + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self { year: year as i32, month: month as u32, day: day as u32 }
    }
}

/// The number of days of a month.
///
/// `month` is 1 to 12.
pub(crate) fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The number (1 to 12) of the month whose English name begins with these three letters, in any
/// case.
pub(crate) fn month_by_name(name: &[u8]) -> Option<u32> {
    const NAMES: [&[u8; 3]; 12] = [
        b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov",
        b"dec",
    ];
    let name: [u8; 3] = name.try_into().ok()?;
    let lower = name.map(|byte| byte.to_ascii_lowercase());
    NAMES.iter().position(|candidate| **candidate == lower).map(|index| index as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::{Date, days_in_month};

    #[test]
    fn every_day_of_a_thousand_years_round_trips() {
        let mut days = Date { year: 1600, month: 1, day: 1 }.days();
        for year in 1600..2600 {
            for month in 1..=12 {
                for day in 1..=days_in_month(year, month) {
                    let date = Date { year, month, day };
                    assert_eq!(date.days(), days);
                    assert_eq!(Date::from_days(days), date);
                    days += 1;
                }
            }
        }
        assert_eq!(Date { year: 1970, month: 1, day: 1 }.days(), 0);
    }

    #[test]
    fn refuses_days_that_do_not_exist() {
        assert!(Date::new(2023, 2, 29).is_none());
        assert!(Date::new(2024, 2, 29).is_some());
        assert!(Date::new(2023, 13, 1).is_none());
        assert!(Date::new(2023, 4, 31).is_none());
        assert!(Date::new(2023, 4, 0).is_none());
    }
}
