//! Points in time as text: in conditions on `time`, and as bounds of a period.

mod notation;

use jiff::civil;
use jiff::{Span, Timestamp, Zoned};
use weir_core::Zone;

use notation::{WrittenTime, local_clock};

/// The current time, to which `now` and `2h ago` are relative.
#[derive(Debug, Clone)]
pub struct Now(Zoned);

impl Now {
    /// Returns the time of this machine's clock, in its zone.
    pub fn read() -> Self {
        Self(Zoned::now())
    }

    /// Returns a later time, at which every text that depends on the present means another moment.
    #[must_use]
    pub fn much_later(&self) -> Self {
        // More than a year, because syslog times lack the year. At the end of time there is no
        // later time.
        let later = self.0.checked_add(Span::new().days(400));
        Self(later.unwrap_or_else(|_| self.0.clone()))
    }
}

/// A point in time, or a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// An instant, in nanoseconds since 1970.
    Instant(i64),
    /// A local time: seconds since 1970 by the local clock, and nanoseconds of the second. It
    /// becomes an instant in a zone.
    Local(i64, i64),
    /// A day of the local clock, as its start in seconds since 1970 by that clock.
    Day(i64),
    /// A day relative to the day of an instant in the zone: the instant in seconds since 1970, and
    /// the number of days before.
    DayOf(i64, i64),
}

/// The seconds of a day on a local clock, ignoring daylight saving time.
const DAY_S: i64 = 86_400;

/// The maximum number of seconds before or after 1970 whose nanoseconds fit 64 bits, minus one,
/// because the outermost second cannot be written as a time.
const UNIX_S_MAX: i64 = i64::MAX / 1_000_000_000 - 1;

impl Moment {
    /// Examples of valid texts, for error messages.
    pub const EXAMPLES: &str = "2025-12-17, yesterday, 2025-12-17T09:03:01+01:00, \
                                17/Dec/2025:09:03:01 +0100 or 30min for 30 minutes ago";

    /// Parses a date, a time with or without an offset, `now`, `today`, `yesterday`, a time ago
    /// such as `-3d`, `2h 30min` or `30 min ago`, seconds since 1970, or a time as logs write it:
    /// `17/Dec/2025:09:03:01 +0100`, `2025/12/17 09:03:01`, `Wed Dec 17 09:03:01 2025`,
    /// `Dec 17 09:03:01`, also in square brackets. Returns `None` for other texts.
    ///
    /// A number of 12 to 14 digits is in milliseconds since 1970, one of 15 to 17 in microseconds,
    /// and one of more in nanoseconds. `@` before a number makes shorter ones seconds too.
    pub fn parse(text: &str, Now(now): &Now) -> Option<Self> {
        let text = text.trim();
        let now_s = now.timestamp().as_second();
        match text.to_ascii_lowercase().as_str() {
            "now" => return instant(now.timestamp()),
            "today" => return Some(Self::DayOf(now_s, 0)),
            "yesterday" => return Some(Self::DayOf(now_s, 1)),
            _ => {}
        }
        if let Some(written) = notation::parse(text, now) {
            return match written {
                WrittenTime::Instant(timestamp) => instant(timestamp),
                WrittenTime::Local(datetime) => local(datetime),
                WrittenTime::Day(datetime) => {
                    local_clock(datetime).map(|(start_s, _)| Self::Day(start_s))
                }
            };
        }
        // Instants and dates come before spans, because a year also looks like the start of one.
        if let Ok(timestamp) = text.parse::<Timestamp>() {
            return instant(timestamp);
        }
        // A date also parses as a date and time, so they are distinguished by length.
        if text.len() <= "2025-12-17".len()
            && let Ok(date) = text.parse::<civil::Date>()
        {
            let start = local_clock(date.to_datetime(civil::Time::midnight()));
            return start.map(|(start_s, _)| Self::Day(start_s));
        }
        if let Ok(datetime) = text.parse::<civil::DateTime>() {
            return local(datetime);
        }
        ago(text, now)
    }

    /// Returns its first instant, in nanoseconds since 1970. `zone` is called only if needed.
    pub fn first_ns(&self, zone: impl FnOnce() -> Zone) -> i64 {
        self.range_ns(zone).0
    }

    /// Returns its last instant, in nanoseconds since 1970.
    pub fn last_ns(&self, zone: impl FnOnce() -> Zone) -> i64 {
        let (first_ns, next_ns) = self.range_ns(zone);
        first_ns.max(next_ns - 1)
    }

    /// Returns the exclusive end of a period up to this moment, in nanoseconds since 1970: the end
    /// of a day, or the instant itself.
    pub fn until_ns(&self, zone: impl FnOnce() -> Zone) -> i64 {
        self.range_ns(zone).1
    }

    /// Returns the first instant of the moment, and of the next day if it is a day.
    fn range_ns(&self, zone: impl FnOnce() -> Zone) -> (i64, i64) {
        let (start_s, zone) = match self {
            Self::Instant(unix_ns) => return (*unix_ns, *unix_ns),
            Self::Local(local_s, nanoseconds) => {
                let unix_ns = unix_ns(*local_s, &zone()) + nanoseconds;
                return (unix_ns, unix_ns);
            }
            Self::Day(start_s) => (*start_s, zone()),
            Self::DayOf(unix_s, days_before) => {
                let zone = zone();
                (day_start_s(*unix_s, *days_before, &zone), zone)
            }
        };
        (unix_ns(start_s, &zone), unix_ns(start_s + DAY_S, &zone))
    }
}

/// Returns the start of the day that is `days_before` the day of an instant, in seconds of the
/// local clock.
fn day_start_s(unix_s: i64, days_before: i64, zone: &Zone) -> i64 {
    let local_s = unix_s + i64::from(zone.offset_s(unix_s));
    (local_s.div_euclid(DAY_S) - days_before) * DAY_S
}

/// Returns the instant of a local time. Times beyond 64 bits saturate at the limits, which no
/// record's time exceeds.
fn unix_ns(local_s: i64, zone: &Zone) -> i64 {
    zone.instant_of_local(local_s).clamp(-UNIX_S_MAX, UNIX_S_MAX) * 1_000_000_000
}

/// Parses a span before now. Its sign is ignored, because no request was logged in the future.
fn ago(text: &str, now: &Zoned) -> Option<Moment> {
    let span: Span = text.parse().ok()?;
    instant(now.checked_sub(span.abs()).ok()?.timestamp())
}

fn instant(timestamp: Timestamp) -> Option<Moment> {
    Some(Moment::Instant(i64::try_from(timestamp.as_nanosecond()).ok()?))
}

fn local(datetime: civil::DateTime) -> Option<Moment> {
    let (local_s, nanoseconds) = local_clock(datetime)?;
    Some(Moment::Local(local_s, nanoseconds))
}

#[cfg(test)]
mod tests {
    use weir_core::Zone;

    use super::{Moment, Now};

    const NOW_S: i64 = 1_765_962_000; // 2025-12-17T09:00:00Z
    const SECOND_NS: i64 = 1_000_000_000;

    fn parse(text: &str) -> Option<Moment> {
        Moment::parse(text, &Now("2025-12-17T09:00:00[UTC]".parse().unwrap()))
    }

    /// In seconds from now.
    fn since(text: &str) -> Option<i64> {
        Some(parse(text)?.first_ns(Zone::utc) / SECOND_NS - NOW_S)
    }

    fn until(text: &str) -> Option<i64> {
        Some(parse(text)?.until_ns(Zone::utc) / SECOND_NS - NOW_S)
    }

    #[test]
    fn texts_that_depend_on_the_present_are_another_moment_later() {
        let now = Now("2025-12-17T09:00:00[UTC]".parse().unwrap());
        let is_same =
            |text: &str| Moment::parse(text, &now) == Moment::parse(text, &now.much_later());
        for text in ["now", "today", "yesterday", "-7d", "2h ago", "Dec 17 09:03:01"] {
            assert!(!is_same(text), "{text}");
        }
        for text in
            ["2025-12-17", "2025-12-17T08:00:00", "17/Dec/2025:09:03:01 +0100", "@1765962000"]
        {
            assert!(is_same(text), "{text}");
        }
    }

    #[test]
    fn parses_moments() {
        assert_eq!(since("now"), Some(0));
        assert_eq!(since("2025-12-17T09:00:01Z"), Some(1));
        assert_eq!(since("2025-12-17T10:00:00+01:00"), Some(0));
        assert_eq!(since("2025-12-17T10:00:00.5+0100"), Some(0));
        assert_eq!(since("2025-12-17 08:00"), Some(-3600));
        assert_eq!(since("2025-12-17T08:00:00"), Some(-3600));
        assert_eq!(until("2025-12-17T08:00:00"), Some(-3600));
        assert_eq!(since("2025-12-17"), Some(-9 * 3600));
        assert_eq!(until("2025-12-16"), Some(-9 * 3600), "the end of that day");
        for text in ["2h", "-2h", "2 hours ago", "120 min", "-120m", "1h 60min ago"] {
            assert_eq!(since(text), Some(-7200), "{text}");
            assert_eq!(until(text), Some(-7200), "{text}");
        }
        assert_eq!(since("-3d"), Some(-3 * 86_400));
        assert_eq!(since("1w"), Some(-7 * 86_400));
        for text in [
            "",
            "yesterdayish",
            "3",
            "2025-13-01",
            "3 parsecs",
            "9999999999999y",
            "17/Dez/2025:09:00:00 +0000",
            "32/Dec/2025",
            "Feb 30 09:00:00",
            "@",
            "@1.",
            "99999999999999999999",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn notations_of_logs_are_times() {
        for text in [
            "17/Dec/2025:10:00:00 +0100",
            "[17/Dec/2025:10:00:00 +0100]",
            "[17/dec/2025:10:00:00.0 +0100]",
            "2025-12-17 10:00:00 +0100",
            "Wed, 17 Dec 2025 09:00:00 GMT",
            "17/Dec/2025:09:00:00",
            "17/Dec/2025:09:00",
            "17/Dec/2025 09:00:00",
            "2025/12/17 09:00:00",
            "2025/12/17 09:00",
            "Wed Dec 17 09:00:00 2025",
            "[Wed Dec 17 09:00:00.000000 2025]",
            "Dec 17 09:00:00",
            "1765962000",
            "1765962000.0",
            "@1765962000",
            "1765962000000",
            "1765962000000000",
            "1765962000000000000",
        ] {
            assert_eq!(since(text), Some(0), "{text}");
            assert_eq!(until(text), Some(0), "{text}");
        }
        for text in ["17/Dec/2025", "2025/12/17", "[17/Dec/2025]"] {
            assert_eq!((since(text), until(text)), (Some(-9 * 3600), Some(15 * 3600)), "{text}");
        }
        assert_eq!(since("Dec  5 09:00:00"), Some(-12 * 86_400), "a day of one digit");
        assert_eq!(since("Dec 31 09:00:00"), Some(-351 * 86_400), "of the year before");
        assert_eq!(since("Feb 29 09:00:00"), Some(-657 * 86_400), "of the last leap year");
        assert_eq!(since("@0"), Some(-NOW_S));
    }

    #[test]
    fn fractions_of_a_second_count() {
        let half_ns = NOW_S * SECOND_NS + 500_000_000;
        for text in [
            "17/Dec/2025:09:00:00.5 +0000",
            "2025-12-17 09:00:00.5",
            "2025/12/17 09:00:00.5",
            "1765962000.5",
            "1765962000500",
            "1765962000500.0",
        ] {
            assert_eq!(
                parse(text).map(|moment| moment.first_ns(Zone::utc)),
                Some(half_ns),
                "{text}"
            );
        }
        let before = parse("1969-12-31 23:59:59.5").expect("a time");
        assert_eq!(before.first_ns(Zone::utc), -500_000_000);
    }

    #[test]
    fn today_and_yesterday_are_days_of_the_zone() {
        let hours = |text: &str, zone: fn() -> Zone| {
            let moment = parse(text).expect("a day");
            [moment.first_ns(zone), moment.until_ns(zone)].map(|ns| (ns / SECOND_NS - NOW_S) / 3600)
        };
        assert_eq!(hours("today", Zone::utc), [-9, 15]);
        assert_eq!(hours("Yesterday", Zone::utc), [-33, -9]);
        // In that zone it is still 23:00 of the 16th.
        let west = || Zone::fixed(-10 * 3600);
        assert_eq!(hours("today", west), [-23, 1]);
        assert_eq!(hours("yesterday", west), [-47, -23]);
        let last_ns = parse("yesterday").map(|moment| moment.last_ns(Zone::utc));
        assert_eq!(last_ns, Some((NOW_S - 9 * 3600) * SECOND_NS - 1));
    }

    #[test]
    fn a_day_begins_and_ends_in_the_zone() {
        let zone = || Zone::fixed(3600);
        let day = parse("2025-12-17").unwrap();
        let first_ns = (NOW_S - 10 * 3600) * SECOND_NS;
        assert_eq!(day.first_ns(zone), first_ns);
        assert_eq!(day.last_ns(zone), first_ns + 86_400 * SECOND_NS - 1);
        assert_eq!(day.until_ns(zone), first_ns + 86_400 * SECOND_NS);
        let noon = parse("2025-12-17 12:00").unwrap();
        assert_eq!(noon.first_ns(zone), first_ns + 12 * 3600 * SECOND_NS);
        assert_eq!(noon.last_ns(zone), noon.first_ns(zone));
        let no_zone = || -> Zone { panic!("an instant has no zone") };
        assert_eq!(parse("now").unwrap().last_ns(no_zone), NOW_S * SECOND_NS);
    }

    #[test]
    fn years_beyond_64_bits_do_not_overflow() {
        for text in ["9999-12-30", "0001-01-01", "9999-01-01T00:00", "0001-01-01 00:00"] {
            let moment = parse(text).unwrap();
            let first_ns = moment.first_ns(Zone::utc);
            assert!(first_ns.abs() > 9 * 1_000_000_000 * SECOND_NS, "{text}");
            assert!(moment.last_ns(Zone::utc).abs_diff(first_ns) <= 1, "{text}");
        }
    }
}
