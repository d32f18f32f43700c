//! Points in time, as people write them: `--since` and `--until`.

use jiff::civil;
use jiff::{Span, Timestamp, Zoned};
use weir_core::Zone;

/// Which end of a range a moment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// A date stands for the start of its day.
    Since,
    /// A date stands for the end of its day, so that the day is within the range.
    Until,
}

/// A point in time that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Moment {
    /// An instant, in nanoseconds since 1970.
    Instant(i64),
    /// A local time, in seconds since 1970 of the local clock: an instant only in a zone.
    Local(i64),
}

/// Seconds whose nanoseconds fit 64 bits on either side of 1970, and not by a hair: times at
/// the very border cannot be written.
const UNIX_S_MAX: i64 = i64::MAX / 1_000_000_000 - 1;

impl Moment {
    /// Reads a date, a time with an offset or without, `now`, or how long ago it is, such as
    /// `-3d`, `2h 30min` or `30 min ago`. `None` where it is none of these.
    pub(crate) fn parse(text: &str, bound: Bound, now: &Zoned) -> Option<Self> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("now") {
            return instant(now.timestamp());
        }
        // Dates first: a year alone would do for a number of something.
        if let Ok(timestamp) = text.parse::<Timestamp>() {
            return instant(timestamp);
        }
        // A date parses as a date and time too, so tell them apart by length.
        if text.len() <= "2025-12-17".len()
            && let Ok(date) = text.parse::<civil::Date>()
        {
            return match bound {
                Bound::Since => local(date.to_datetime(civil::Time::midnight())),
                Bound::Until => local(date.tomorrow().ok()?.to_datetime(civil::Time::midnight())),
            };
        }
        if let Ok(datetime) = text.parse::<civil::DateTime>() {
            return local(datetime);
        }
        ago(text, now)
    }

    /// The instant in nanoseconds since 1970. `zone` is asked only where it is needed.
    pub(crate) fn unix_ns(&self, zone: impl FnOnce() -> Zone) -> i64 {
        match self {
            Self::Instant(unix_ns) => *unix_ns,
            // A record's time lies well inside what 64 bits hold, so before or after all of
            // them is as good as the year that was meant, and can be written as a time.
            Self::Local(local_s) => {
                zone().instant_of_local(*local_s).clamp(-UNIX_S_MAX, UNIX_S_MAX) * 1_000_000_000
            }
        }
    }

    /// True where it takes a zone to know the instant.
    pub(crate) fn needs_zone(&self) -> bool {
        matches!(self, Self::Local(_))
    }
}

/// Whatever its sign, a span lies in the past: nothing was logged in the future.
fn ago(text: &str, now: &Zoned) -> Option<Moment> {
    let span: Span = text.parse().ok()?;
    instant(now.checked_sub(span.abs()).ok()?.timestamp())
}

fn instant(timestamp: Timestamp) -> Option<Moment> {
    Some(Moment::Instant(i64::try_from(timestamp.as_nanosecond()).ok()?))
}

fn local(datetime: civil::DateTime) -> Option<Moment> {
    let zoned = datetime.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(Moment::Local(zoned.timestamp().as_second()))
}

#[cfg(test)]
mod tests {
    use jiff::Zoned;

    use super::{Bound, Moment};

    const NOW_S: i64 = 1_765_962_000; // 2025-12-17T09:00:00Z

    fn parse(text: &str, bound: Bound) -> Option<i64> {
        let now: Zoned = "2025-12-17T09:00:00[UTC]".parse().unwrap();
        match Moment::parse(text, bound, &now)? {
            Moment::Instant(unix_ns) => Some(unix_ns / 1_000_000_000 - NOW_S),
            Moment::Local(local_s) => Some(local_s - NOW_S),
        }
    }

    #[test]
    fn reads_moments() {
        let since = |text| parse(text, Bound::Since);
        assert_eq!(since("now"), Some(0));
        assert_eq!(since("2025-12-17T09:00:01Z"), Some(1));
        assert_eq!(since("2025-12-17T10:00:00+01:00"), Some(0));
        assert_eq!(since("2025-12-17T10:00:00.5+0100"), Some(0));
        assert_eq!(since("2025-12-17 08:00"), Some(-3600));
        assert_eq!(since("2025-12-17T08:00:00"), Some(-3600));
        assert_eq!(since("2025-12-17"), Some(-9 * 3600));
        assert_eq!(parse("2025-12-16", Bound::Until), Some(-9 * 3600), "the end of that day");
        for text in ["2h", "-2h", "2 hours ago", "120 min", "-120m", "1h 60min ago"] {
            assert_eq!(since(text), Some(-7200), "{text}");
        }
        assert_eq!(since("-3d"), Some(-3 * 86_400));
        assert_eq!(since("1w"), Some(-7 * 86_400));
        for text in ["", "yesterdayish", "3", "2025-13-01", "3 parsecs", "9999999999999y"] {
            assert_eq!(since(text), None, "{text}");
        }
    }
}
