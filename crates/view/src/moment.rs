//! Points in time as text: in conditions on `time`, and in the bounds of a period.

use jiff::civil;
use jiff::{Span, Timestamp, Zoned};
use weir_core::Zone;

/// The current time, from which `now` and `2h ago` are counted.
#[derive(Debug, Clone)]
pub struct Now(Zoned);

impl Now {
    /// The time of this machine's clock, in its zone.
    pub fn read() -> Self {
        Self(Zoned::now())
    }
}

/// A point in time, or a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// An instant, in nanoseconds since 1970.
    Instant(i64),
    /// A local time, in seconds since 1970 of the local clock: an instant only in a zone.
    Local(i64),
    /// A day of the local clock, by its start in seconds since 1970 of that clock.
    Day(i64),
}

/// Seconds of a day on a local clock. Changes of daylight saving time do not count.
const DAY_S: i64 = 86_400;

/// The most seconds before or after 1970 whose nanoseconds fit 64 bits, less one: the outermost
/// second cannot be written as a time.
const UNIX_S_MAX: i64 = i64::MAX / 1_000_000_000 - 1;

impl Moment {
    /// Examples of valid texts, for error messages.
    pub const EXAMPLES: &str = "2025-12-17, 2025-12-17T09:03:01+01:00 or 30min for 30 minutes ago";

    /// Parses a date, a time with or without an offset, `now`, or a time ago such as `-3d`,
    /// `2h 30min` or `30 min ago`. Returns `None` for other texts.
    pub fn parse(text: &str, Now(now): &Now) -> Option<Self> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("now") {
            return instant(now.timestamp());
        }
        // Dates are tried first, because the number of a year also begins a span.
        if let Ok(timestamp) = text.parse::<Timestamp>() {
            return instant(timestamp);
        }
        // A date also parses as a date and time, so the length tells them apart.
        if text.len() <= "2025-12-17".len()
            && let Ok(date) = text.parse::<civil::Date>()
        {
            return local_s(date.to_datetime(civil::Time::midnight())).map(Self::Day);
        }
        if let Ok(datetime) = text.parse::<civil::DateTime>() {
            return local_s(datetime).map(Self::Local);
        }
        ago(text, now)
    }

    /// Its first instant, in nanoseconds since 1970. `zone` is called only if it is needed.
    pub fn first_ns(&self, zone: impl FnOnce() -> Zone) -> i64 {
        match self {
            Self::Instant(unix_ns) => *unix_ns,
            Self::Local(local_s) | Self::Day(local_s) => unix_ns(*local_s, &zone()),
        }
    }

    /// Its last instant, in nanoseconds since 1970.
    pub fn last_ns(&self, zone: impl FnOnce() -> Zone) -> i64 {
        match self {
            Self::Day(start_s) => unix_ns(start_s + DAY_S, &zone()) - 1,
            Self::Instant(_) | Self::Local(_) => self.first_ns(zone),
        }
    }

    /// The end of a period up to this point, in nanoseconds since 1970, which the period does not
    /// include: the end of a day, or the instant itself.
    pub fn until_ns(&self, zone: impl FnOnce() -> Zone) -> i64 {
        match self {
            Self::Day(start_s) => unix_ns(start_s + DAY_S, &zone()),
            Self::Instant(_) | Self::Local(_) => self.first_ns(zone),
        }
    }
}

/// The instant of a local time. Times beyond 64 bits are cut to the limits, which lie before and
/// after the time of every record.
fn unix_ns(local_s: i64, zone: &Zone) -> i64 {
    zone.instant_of_local(local_s).clamp(-UNIX_S_MAX, UNIX_S_MAX) * 1_000_000_000
}

/// A span before now. Its sign is ignored, because no request was logged in the future.
fn ago(text: &str, now: &Zoned) -> Option<Moment> {
    let span: Span = text.parse().ok()?;
    instant(now.checked_sub(span.abs()).ok()?.timestamp())
}

fn instant(timestamp: Timestamp) -> Option<Moment> {
    Some(Moment::Instant(i64::try_from(timestamp.as_nanosecond()).ok()?))
}

fn local_s(datetime: civil::DateTime) -> Option<i64> {
    let zoned = datetime.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_second())
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
        for text in ["", "yesterdayish", "3", "2025-13-01", "3 parsecs", "9999999999999y"] {
            assert_eq!(parse(text), None, "{text}");
        }
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
