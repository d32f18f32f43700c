//! Time stamps of log lines.

use crate::value::calendar::{DAY_S, Date, month_by_name};
use crate::value::number::{SECOND_NS, parse_digits, parse_duration_ns};
use crate::value::rfc3339::parse_rfc3339;

/// An instant and the offset from UTC with which it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp {
    /// Nanoseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
    pub unix_ns: i64,
    /// Seconds that local time is ahead of UTC.
    pub offset_s: i32,
}

impl Timestamp {
    /// The instant of a local date and time of day. `None` outside the years that
    /// nanoseconds in an `i64` can hold (1678 to 2261).
    pub(crate) fn from_local(
        date: Date,
        second_of_day: i64,
        nanos: u32,
        offset_s: i32,
    ) -> Option<Self> {
        let unix_s = date.days() * DAY_S + second_of_day - i64::from(offset_s);
        Self::from_unix(unix_s, nanos, offset_s)
    }

    /// The instant `nanos` after `unix_s`.
    pub(crate) fn from_unix(unix_s: i64, nanos: u32, offset_s: i32) -> Option<Self> {
        let unix_ns = unix_s.checked_mul(SECOND_NS as i64)?.checked_add(i64::from(nanos))?;
        // The extremes stay free, so that any two instants lie less than 2^64 - 1 apart.
        (unix_ns.unsigned_abs() < i64::MAX as u64).then_some(Self { unix_ns, offset_s })
    }
}

/// Length of a common log format time, `17/Dec/2025:09:03:01 +0000`.
pub(crate) const CLF_LENGTH: usize = 26;

/// Reads the time of the common log format, `17/Dec/2025:09:03:01 +0000`, which is
/// nginx's `$time_local` and, in brackets, Apache's `%t`.
pub(crate) fn parse_clf(text: &[u8; CLF_LENGTH]) -> Option<Timestamp> {
    let separators = [text[2], text[6], text[11], text[14], text[17], text[20]] == *b"//::: ";
    if !separators {
        return None;
    }
    let day = two_digits(text, 0)?;
    let month = month_by_name(&text[3..6])?;
    let year = two_digits(text, 7)? * 100 + two_digits(text, 9)?;
    let date = Date::new(year as i32, month, day)?;
    let second_of_day =
        second_of_day(two_digits(text, 12)?, two_digits(text, 15)?, two_digits(text, 18)?)?;
    let offset_s = parse_offset(&text[21..])?;
    Timestamp::from_local(date, second_of_day, 0, offset_s)
}

/// Remembers the last minute in common log format: traffic has many lines a minute, and
/// comparing 24 bytes is cheaper than reading them. The second is read each time, because
/// nobody could foresee whether it is the last one again.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClfTimeCache {
    /// As [`Self::minute`] gives it.
    minute: [u128; 2],
    /// Its first second, and the offset.
    start: Option<Timestamp>,
}

impl ClfTimeCache {
    /// As [`parse_clf`].
    #[inline]
    pub(crate) fn parse(&mut self, text: &[u8; CLF_LENGTH]) -> Option<Timestamp> {
        let minute = Self::minute(text);
        let [tens, ones] = [text[18], text[19]].map(|digit| digit.wrapping_sub(b'0'));
        if minute == self.minute
            && let Some(start) = self.start
            && tens < 6
            && ones < 10
        {
            let second_ns = (i64::from(tens) * 10 + i64::from(ones)) * SECOND_NS as i64;
            return Some(Timestamp { unix_ns: start.unix_ns + second_ns, ..start });
        }
        self.parse_anew(text)
    }

    #[cold]
    fn parse_anew(&mut self, text: &[u8; CLF_LENGTH]) -> Option<Timestamp> {
        let mut first_second = *text;
        first_second[18..20].copy_from_slice(b"00");
        let mut last_second = *text;
        last_second[18..20].copy_from_slice(b"59");
        self.minute = Self::minute(text);
        // At the ends of time not all of a minute can be told.
        self.start = parse_clf(&last_second).and_then(|_| parse_clf(&first_second));
        parse_clf(text)
    }

    /// The text but for its second.
    #[inline]
    fn minute(text: &[u8; CLF_LENGTH]) -> [u128; 2] {
        // Bytes 18 and 19, of the last sixteen of 26 bytes the ninth and the tenth.
        const SECOND: u128 = 0xFFFF << (8 * 8);
        let [first, last] = [text.first_chunk(), text.last_chunk()]
            .map(|chunk| chunk.map_or(0, |chunk| u128::from_le_bytes(*chunk)));
        [first, last & !SECOND]
    }
}

/// Days from 1970 to a date in numbers.
pub(crate) fn days_of(year: i32, month: u32, day: u32) -> Option<i64> {
    Some(Date::new(year, month, day)?.days())
}

/// The year of an instant in seconds since 1970, within the years of [`Timestamp`].
pub(crate) fn year_of_unix(unix_s: i64) -> i32 {
    const LIMIT_S: i64 = i64::MAX / SECOND_NS as i64;
    Date::from_days(unix_s.clamp(-LIMIT_S, LIMIT_S).div_euclid(DAY_S)).year
}

/// Seconds since midnight of `09:03:01`.
pub(crate) fn second_of_day_at(text: &[u8]) -> Option<i64> {
    let text: &[u8; 8] = text.try_into().ok()?;
    if [text[2], text[5]] != *b"::" {
        return None;
    }
    second_of_day(two_digits(text, 0)?, two_digits(text, 3)?, two_digits(text, 6)?)
}

/// Days from 1970 to a date such as `2025-12-17`.
pub(crate) fn parse_day(text: &[u8]) -> Option<i64> {
    let text: &[u8; 10] = text.try_into().ok()?;
    if [text[4], text[7]] != *b"--" {
        return None;
    }
    let year = two_digits(text, 0)? * 100 + two_digits(text, 2)?;
    Some(Date::new(year as i32, two_digits(text, 5)?, two_digits(text, 8)?)?.days())
}

/// Seconds since midnight; a leap second (60) is accepted and counts as the next second.
pub(crate) fn second_of_day(hour: u32, minute: u32, second: u32) -> Option<i64> {
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(i64::from(hour * 3600 + minute * 60 + second))
}

/// Reads `+hhmm`, `-hhmm`, `+hh:mm`, `+hh` or `Z` into seconds east of UTC.
pub(crate) fn parse_offset(text: &[u8]) -> Option<i32> {
    let (sign, digits) = match text {
        b"Z" | b"z" => return Some(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = match digits.len() {
        2 => (two_digits(digits, 0)?, 0),
        4 => (two_digits(digits, 0)?, two_digits(digits, 2)?),
        5 if digits[2] == b':' => (two_digits(digits, 0)?, two_digits(digits, 3)?),
        _ => return None,
    };
    if hours > 23 || minutes > 59 {
        return None;
    }
    Some(sign * (hours * 3600 + minutes * 60) as i32)
}

/// The number of two digits at `at`.
#[inline]
pub(crate) fn two_digits(text: &[u8], at: usize) -> Option<u32> {
    let tens = text.get(at)?.wrapping_sub(b'0');
    let ones = text.get(at + 1)?.wrapping_sub(b'0');
    if tens > 9 || ones > 9 {
        return None;
    }
    Some(u32::from(tens) * 10 + u32::from(ones))
}

/// How a time is written in a line, apart from the patterns of strftime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeKind {
    /// `17/Dec/2025:09:03:01 +0000`.
    Clf,
    /// `2025-12-17T09:03:01+00:00`, with or without a fraction.
    Iso8601,
    /// Seconds since 1970, with or without a fraction (nginx `$msec`, `%{sec}t`).
    UnixSeconds,
    /// Milliseconds since 1970 (`%{msec}t`).
    UnixMilliseconds,
    /// Microseconds since 1970 (`%{usec}t`).
    UnixMicroseconds,
    /// The millisecond part alone (`%{msec_frac}t`).
    FractionMilliseconds,
    /// The microsecond part alone (`%{usec_frac}t`).
    FractionMicroseconds,
    /// Whatever a JSON encoder wrote: a number since 1970, or one of the texts above.
    Any,
}

impl TimeKind {
    /// How much of a time it tells.
    pub(crate) fn content(self) -> TimeContent {
        let part = matches!(self, Self::FractionMilliseconds | Self::FractionMicroseconds);
        TimeContent { day: !part, second: !part }
    }
}

/// Which parts of a time a value tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TimeContent {
    pub(crate) day: bool,
    pub(crate) second: bool,
}

impl TimeContent {
    /// What both tell together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { day: self.day || other.day, second: self.second || other.second }
    }

    /// True where an instant follows.
    pub(crate) fn is_instant(self) -> bool {
        self.day && self.second
    }
}

/// What the time fields of one line say together. A line may log its time more than once
/// (`$time_local` and `$msec`) or in parts (`%{%F %T}t.%{msec_frac}t %{%z}t`).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TimeParts {
    /// The finest instant so far, and whether it has a fraction of its own.
    instant: Option<(Timestamp, bool)>,
    /// Days since 1970 on the local calendar.
    pub(crate) local_day: Option<i64>,
    /// Seconds since local midnight.
    pub(crate) local_second: Option<i64>,
    pub(crate) fraction_ns: Option<u32>,
    pub(crate) offset_s: Option<i32>,
}

impl TimeParts {
    /// Adds a time of the common log format.
    #[inline]
    pub(crate) fn set_clf(&mut self, time: Timestamp) {
        self.set_instant(time, false, true);
    }

    /// Adds what `text` says. `None` where it is not of that kind.
    pub(crate) fn add(&mut self, kind: TimeKind, text: &[u8]) -> Option<()> {
        match kind {
            TimeKind::Clf => self.set_instant(parse_clf(text.try_into().ok()?)?, false, true),
            TimeKind::Iso8601 => {
                let fraction = text.len() > 19 && matches!(text[19], b'.' | b',');
                self.set_instant(parse_rfc3339(text)?, fraction, true);
            }
            TimeKind::UnixSeconds => self.add_unix(text, SECOND_NS)?,
            TimeKind::UnixMilliseconds => self.add_unix(text, 1_000_000)?,
            TimeKind::UnixMicroseconds => self.add_unix(text, 1_000)?,
            TimeKind::FractionMilliseconds => self.add_fraction(text, 3)?,
            TimeKind::FractionMicroseconds => self.add_fraction(text, 6)?,
            TimeKind::Any => return self.add_any(text),
        }
        Some(())
    }

    fn add_any(&mut self, text: &[u8]) -> Option<()> {
        let kind = match text.first()? {
            b'0'..=b'9' if text.get(4) == Some(&b'-') => TimeKind::Iso8601,
            b'0'..=b'9' if text.get(4) == Some(&b'/') => return self.add_with_slashes(text),
            b'0'..=b'9' if text.get(2) == Some(&b'/') => TimeKind::Clf,
            _ => return self.add_unix(text, unix_unit_ns(text)?),
        };
        self.add(kind, text)
    }

    /// `2025/12/17 09:03:01`, which Caddy calls a wall clock.
    fn add_with_slashes(&mut self, text: &[u8]) -> Option<()> {
        const LENGTH_MAX: usize = 40;
        let mut dashed = [0; LENGTH_MAX];
        let dashed = dashed.get_mut(..text.len())?;
        dashed.copy_from_slice(text);
        if *dashed.get(7)? != b'/' {
            return None;
        }
        (dashed[4], dashed[7]) = (b'-', b'-');
        self.add(TimeKind::Iso8601, dashed)
    }

    /// Adds a date alone, `2025-12-17`.
    pub(crate) fn add_date(&mut self, text: &[u8]) -> Option<()> {
        self.local_day = Some(parse_day(text)?);
        Some(())
    }

    /// Adds a time of day alone, `09:03:01` with or without a fraction.
    pub(crate) fn add_time_of_day(&mut self, text: &[u8]) -> Option<()> {
        const FRACTION_DIGITS_MAX: usize = 9;
        let (time, fraction) = text.split_at_checked(8)?;
        self.local_second = Some(second_of_day_at(time)?);
        self.fraction_ns = match fraction {
            [] => None,
            [b'.' | b',', digits @ ..] => {
                let kept = digits.len().min(FRACTION_DIGITS_MAX);
                let number = parse_digits(&digits[..kept])? as u32;
                Some(number * 10u32.pow((FRACTION_DIGITS_MAX - kept) as u32))
            }
            _ => return None,
        };
        Some(())
    }

    /// Adds a date in numbers.
    pub(crate) fn set_day(&mut self, year: i32, month: u32, day: u32) -> Option<()> {
        self.local_day = Some(days_of(year, month, day)?);
        Some(())
    }

    /// Adds an instant in whole seconds.
    pub(crate) fn set_unix_seconds(&mut self, unix_s: i64) -> Option<()> {
        self.set_instant(Timestamp::from_unix(unix_s, 0, 0)?, false, false);
        Some(())
    }

    fn add_unix(&mut self, text: &[u8], unit_ns: u64) -> Option<()> {
        let unix_ns = i64::try_from(parse_duration_ns(text, unit_ns)?).ok()?;
        let fraction = unix_ns % SECOND_NS as i64 != 0 || unit_ns < SECOND_NS;
        self.set_instant(Timestamp { unix_ns, offset_s: 0 }, fraction, false);
        Some(())
    }

    fn add_fraction(&mut self, text: &[u8], digits: u32) -> Option<()> {
        if text.len() != digits as usize {
            return None;
        }
        self.fraction_ns = Some(parse_digits(text)? as u32 * 10u32.pow(9 - digits));
        Some(())
    }

    fn set_instant(&mut self, time: Timestamp, fraction: bool, has_offset: bool) {
        if has_offset {
            self.offset_s = Some(time.offset_s);
        }
        // Keep the finer one: $msec over $time_local, whichever comes first.
        if self.instant.is_none_or(|(_, had_fraction)| fraction || !had_fraction) {
            self.instant = Some((time, fraction));
        }
    }

    /// The time that the parts make; `None` where they make none.
    pub(crate) fn finish(&self) -> Option<Timestamp> {
        let offset_s = self.offset_s.unwrap_or(0);
        let (unix_ns, has_fraction) = match (self.instant, self.local_day, self.local_second) {
            (Some((time, fraction)), _, _) => (time.unix_ns, fraction),
            (None, Some(day), Some(second)) => {
                let unix_s = day * DAY_S + second - i64::from(offset_s);
                (Timestamp::from_unix(unix_s, 0, 0)?.unix_ns, false)
            }
            _ => return None,
        };
        let fraction = if has_fraction { 0 } else { self.fraction_ns.unwrap_or(0) };
        Some(Timestamp { unix_ns: unix_ns.checked_add(i64::from(fraction))?, offset_s })
    }
}

/// The unit of a number since 1970 whose unit is not known: whole parts above 10^11 are
/// milliseconds (that many seconds end in 5138), above 10^14 microseconds, and above 10^17
/// nanoseconds.
fn unix_unit_ns(text: &[u8]) -> Option<u64> {
    let whole = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // An exponent hides the number's size: encoders use it for seconds.
    if text[whole..].iter().any(|byte| matches!(byte, b'e' | b'E')) {
        return Some(SECOND_NS);
    }
    Some(match parse_digits(&text[..whole])? {
        100_000_000_000_000_000.. => 1,
        100_000_000_000_000.. => 1_000,
        100_000_000_000.. => 1_000_000,
        _ => SECOND_NS,
    })
}

#[cfg(test)]
mod tests {
    use super::{ClfTimeCache, TimeKind, TimeParts, Timestamp, parse_clf};

    #[test]
    fn reads_the_common_log_format() {
        let time = parse_clf(b"17/Dec/2025:09:03:01 +0330").unwrap();
        assert_eq!(time, Timestamp { unix_ns: 1_765_949_581_000_000_000, offset_s: 12_600 });
        let before_1970 = parse_clf(b"31/Dec/1969:23:59:59 +0000").unwrap();
        assert_eq!(before_1970.unix_ns, -1_000_000_000);
        assert!(parse_clf(b"29/Feb/2024:23:59:60 -0000").is_some());
    }

    #[test]
    fn refuses_times_that_are_none() {
        for text in [
            b"31/Feb/2025:09:03:01 +0000",
            b"17/Dez/2025:09:03:01 +0000",
            b"17/Dec/2025:24:03:01 +0000",
            b"17/Dec/2025:09:60:01 +0000",
            b"17/Dec/2025:09:03:61 +0000",
            b"17/Dec/2025:09:03:01  0000",
            b"17-Dec-2025:09:03:01 +0000",
            b"1 /Dec/2025:09:03:01 +0000",
            b"17/Dec/9999:09:03:01 +0000",
            b"17/Dec/2025:09:03:01 +2460",
        ] {
            assert_eq!(parse_clf(text), None, "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn remembering_a_minute_changes_nothing() {
        let mut cache = ClfTimeCache::default();
        // The last minute that a time stamp can tell is cut off in its midst.
        for minute in
            ["17/Dec/2025:09:03", "17/Dec/2025:09:04", "11/Apr/2262:23:47", "17/Dez/2025:09:03"]
        {
            for offset in ["+0000", "+0330", "-0001", "+0x00"] {
                for second in (0..=61).chain([99]).map(|second| format!("{second:02}")) {
                    for second in [second, "5x".to_owned(), "x5".to_owned(), " 7".to_owned()] {
                        let text = format!("{minute}:{second} {offset}");
                        let text = text.as_bytes().try_into().unwrap();
                        assert_eq!(
                            cache.parse(text),
                            parse_clf(text),
                            "{minute}:{second} {offset}"
                        );
                    }
                }
            }
        }
        // Each byte counts.
        let text = *b"17/Dec/2025:09:03:01 +0330";
        for at in 0..text.len() {
            for byte in [b'0', b'2', b' ', 0xFF] {
                let mut other = text;
                other[at] = byte;
                assert_eq!(cache.parse(&text), parse_clf(&text));
                assert_eq!(cache.parse(&other), parse_clf(&other));
            }
        }
    }

    #[test]
    fn the_finest_time_wins() {
        let mut parts = TimeParts::default();
        parts.add(TimeKind::UnixSeconds, b"1765949581.250").unwrap();
        parts.add(TimeKind::Clf, b"17/Dec/2025:09:03:01 +0330").unwrap();
        let expected = Timestamp { unix_ns: 1_765_949_581_250_000_000, offset_s: 12_600 };
        assert_eq!(parts.finish(), Some(expected));
    }

    #[test]
    fn any_kind_of_json_time() {
        for text in [
            "1765949581.5",
            "1765949581500",
            "1765949581500000",
            "1765949581500000000",
            "1765949581500.000",
            "1.7659495815e9",
            "2025/12/17 05:33:01.500",
            "2025-12-17T05:33:01.5Z",
            "2025-12-17T05:33:01.500+00:00",
        ] {
            let mut parts = TimeParts::default();
            parts.add(TimeKind::Any, text.as_bytes()).unwrap();
            assert_eq!(parts.finish().unwrap().unix_ns, 1_765_949_581_500_000_000, "{text}");
        }
        assert!(TimeParts::default().add(TimeKind::Any, b"yesterday").is_none());
    }
}
