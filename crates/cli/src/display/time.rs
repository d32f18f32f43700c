//! Times and lengths of time for people, from the RFC 3339 stamps of a report.

use jiff::civil::DateTime;
pub(crate) use weir_view::span;

use super::separated;

/// The local time of a stamp, without its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LocalTime(DateTime);

impl LocalTime {
    /// The local time of an RFC 3339 stamp.
    pub(crate) fn parse(stamp: &str) -> Option<Self> {
        Some(Self(stamp.get(..19)?.parse().ok()?))
    }

    /// Returns the seconds since 1970 by the local clock.
    pub(crate) fn local_s(&self) -> i64 {
        self.0.to_zoned(jiff::tz::TimeZone::UTC).map_or(0, |zoned| zoned.timestamp().as_second())
    }

    /// Months since the year 0.
    pub(crate) fn months(&self) -> i64 {
        i64::from(self.0.year()) * 12 + i64::from(self.0.month()) - 1
    }

    /// Whether it is the midnight at which a month begins.
    pub(crate) fn is_start_of_month(&self) -> bool {
        self.0.day() == 1 && self.0.time() == jiff::civil::Time::midnight()
    }

    /// `09:03`
    pub(crate) fn hour_minute(&self) -> String {
        self.0.strftime("%H:%M").to_string()
    }

    /// `09:03:01`
    pub(crate) fn hour_minute_second(&self) -> String {
        self.0.strftime("%H:%M:%S").to_string()
    }

    /// `17 Dec`
    pub(crate) fn day_month(&self) -> String {
        self.0.strftime("%-d %b").to_string()
    }

    /// `Dec 2025`
    pub(crate) fn month_year(&self) -> String {
        self.0.strftime("%b %Y").to_string()
    }

    /// `2025`
    pub(crate) fn year(&self) -> String {
        self.0.strftime("%Y").to_string()
    }

    /// `2025-12-17 09:03:01`
    pub(crate) fn full(&self) -> String {
        self.0.strftime("%F %T").to_string()
    }
}

/// Formats the length of a histogram's step, to follow "per": `5 minutes`, `day`.
pub(crate) fn step(step_s: u64) -> String {
    const UNITS: [(u64, &str); 7] = [
        (31_536_000, "year"),
        (2_592_000, "month"),
        (604_800, "week"),
        (86_400, "day"),
        (3_600, "hour"),
        (60, "minute"),
        (1, "second"),
    ];
    for (unit_s, name) in UNITS {
        if step_s == unit_s {
            return name.to_owned();
        }
        if step_s > unit_s && step_s.is_multiple_of(unit_s) {
            return format!("{} {name}s", step_s / unit_s);
        }
    }
    format!("{step_s} seconds")
}

/// What follows the title of a chart that lacks records: `; 3 of times before 1990 are left out`.
pub(crate) fn left_out_text(records: u64) -> String {
    match records {
        0 => String::new(),
        1 => "; 1 of a time before 1990 is left out".to_owned(),
        _ => format!("; {} of times before 1990 are left out", separated(records)),
    }
}

#[cfg(test)]
mod tests {
    use super::{LocalTime, span, step};

    #[test]
    fn times_for_people() {
        let local = LocalTime::parse("2025-12-07T09:03:01.25+01:00").unwrap();
        assert_eq!(local.full(), "2025-12-07 09:03:01");
        assert_eq!(local.day_month(), "7 Dec");
        assert_eq!(local.month_year(), "Dec 2025");
        assert_eq!(local.local_s(), 1_765_098_181);
        assert_eq!(LocalTime::parse("2025"), None);
    }

    #[test]
    fn lengths_of_time() {
        assert_eq!(step(1), "second");
        assert_eq!(step(300), "5 minutes");
        assert_eq!(step(86_400), "day");
        assert_eq!(step(28 * 86_400), "4 weeks");
        assert_eq!(step(30 * 86_400), "month");
        assert_eq!(step(90 * 86_400), "3 months");
        assert_eq!(step(3_650 * 86_400), "10 years");
        assert_eq!(span(0), "0 s");
        assert_eq!(span(59), "59 s");
        assert_eq!(span(3_600), "1 h");
        assert_eq!(span(86_400 * 17 + 3 * 3600 + 5), "17 days 3 h");
        assert_eq!(span(86_400 + 59), "1 day");
    }
}
