//! Times that are written in parts, or more than once in a line.
//!
//! Three things may come from different values of one line: the day, the second of the day, and the
//! fraction of the second; and the zone offset may come from a fourth. A format is only accepted if
//! its values together determine an instant ([`TimeContent::is_instant`]).
//!
//! If a line has several complete times, the finest is taken, and of equally fine ones the last.
//! Its offset is that of the last value that has one: `$msec` has none, so the local time of a line
//! with `$msec` and `$time_local` is that of `$time_local`.

use super::calendar::DAY_S;
use super::clf::{CLF_LENGTH, parse_clf};
use super::number::{SECOND_NS, parse_decimal_ns, parse_digits};
use super::rfc3339::parse_rfc3339;
use super::time_text::{days_of, parse_day, second_of_day_at};
use super::timestamp::Timestamp;

/// How a time is written in a line, apart from the patterns of strftime.
///
/// A format fixes the kind of each value when it is compiled. Only [`Self::Any`] looks at each
/// text.
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
    /// Any time that JSON encoders write: a number since 1970, or one of the texts above.
    ///
    /// Decided by the digits and separators at the start.
    Any,
}

impl TimeKind {
    /// Which parts of a time such a value has.
    pub(crate) fn content(self) -> TimeContent {
        let part = matches!(self, Self::FractionMilliseconds | Self::FractionMicroseconds);
        TimeContent { day: !part, second: !part }
    }
}

/// Which parts of a time a value has.
///
/// Both false for a value that has only a fraction or an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TimeContent {
    /// The date, year included.
    pub(crate) day: bool,
    /// At least the hour; missing minutes and seconds are 0.
    pub(crate) second: bool,
}

impl TimeContent {
    /// The parts that either value has.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { day: self.day || other.day, second: self.second || other.second }
    }

    /// Whether the parts determine an instant.
    pub(crate) fn is_instant(self) -> bool {
        self.day && self.second
    }
}

/// The time of one line, collected from its values. A line may log its time more than once
/// (`$time_local` and `$msec`) or in parts (`%{%F %T}t.%{msec_frac}t %{%z}t`).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TimeParts {
    /// The finest instant so far, and whether it has a fraction of its own.
    instant: Option<(Timestamp, bool)>,
    /// Days since 1970 on the local calendar.
    pub(crate) local_day: Option<i64>,
    /// Seconds since local midnight.
    pub(crate) local_second: Option<i64>,
    /// The part below a second, from a value of its own.
    pub(crate) fraction_ns: Option<u32>,
    /// In seconds east of UTC. `None` if no value has one.
    pub(crate) offset_s: Option<i32>,
}

impl TimeParts {
    /// Adds a time of the common log format.
    #[inline]
    pub(crate) fn set_clf(&mut self, time: Timestamp) {
        self.set_instant(time, false, true);
    }

    /// Adds the value `text`. Returns `None` if it is not of this kind.
    ///
    /// Parts that were added before stay if the value is refused.
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

    /// Adds a value whose form its first bytes show.
    fn add_any(&mut self, text: &[u8]) -> Option<()> {
        // Apache writes its time in brackets.
        if let [b'[', inside @ .., b']'] = text {
            return self.add(TimeKind::Clf, inside);
        }
        let kind = match text.first()? {
            b'0'..=b'9' if text.get(4) == Some(&b'-') => TimeKind::Iso8601,
            b'0'..=b'9' if text.get(4) == Some(&b'/') => return self.add_with_slashes(text),
            b'0'..=b'9' if text.get(2) == Some(&b'/') && text.len() != CLF_LENGTH => {
                return self.add_clf_without_zone(text);
            }
            b'0'..=b'9' if text.get(2) == Some(&b'/') => TimeKind::Clf,
            _ => return self.add_unix(text, unix_unit_ns(text)?),
        };
        self.add(kind, text)
    }

    /// `17/Dec/2025:09:03:01.250`, which HAProxy writes without a zone.
    fn add_clf_without_zone(&mut self, text: &[u8]) -> Option<()> {
        const LENGTH: usize = 20;
        let (second, fraction) = text.split_at_checked(LENGTH)?;
        let mut whole = *b"00/Jan/1970:00:00:00 +0000";
        whole[..LENGTH].copy_from_slice(second);
        self.set_instant(parse_clf(&whole)?, false, true);
        match fraction {
            [] => Some(()),
            [b'.', digits @ ..] => self.add_fraction(digits, 3),
            _ => None,
        }
    }

    /// `2025/12/17 09:03:01`, which Caddy calls a wall clock.
    ///
    /// Other encoders write it too. Read as RFC 3339 with the slashes replaced.
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

    /// The parts of `2025-12-17 09:03:01`, with or without a fraction.
    pub(crate) fn of_date_and_time(text: &[u8]) -> Option<Self> {
        let (date, time_of_day) = text.split_at_checked(10)?;
        let mut time = Self::default();
        time.add_date(date)?;
        time.add_time_of_day(time_of_day.strip_prefix(b" ")?)?;
        Some(time)
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

    /// Adds a number of units since 1970, with or without a fraction. It has no zone, so the offset
    /// of another value stays.
    fn add_unix(&mut self, text: &[u8], unit_ns: u64) -> Option<()> {
        let unix_ns = i64::try_from(parse_decimal_ns(text, unit_ns)?).ok()?;
        let fraction = unix_ns % SECOND_NS as i64 != 0 || unit_ns < SECOND_NS;
        self.set_instant(Timestamp { unix_ns, offset_s: 0 }, fraction, false);
        Some(())
    }

    /// Adds the part below a second, which has exactly `digits` digits.
    fn add_fraction(&mut self, text: &[u8], digits: u32) -> Option<()> {
        if text.len() != digits as usize {
            return None;
        }
        self.fraction_ns = Some(parse_digits(text)? as u32 * 10u32.pow(9 - digits));
        Some(())
    }

    /// Adds a complete time. `fraction` is whether it is finer than a second, `has_offset` whether
    /// its zone offset was logged.
    fn set_instant(&mut self, time: Timestamp, fraction: bool, has_offset: bool) {
        if has_offset {
            self.offset_s = Some(time.offset_s);
        }
        // Keep the finer one: $msec over $time_local, whichever comes first.
        if self.instant.is_none_or(|(_, had_fraction)| fraction || !had_fraction) {
            self.instant = Some((time, fraction));
        }
    }

    /// The time that the parts determine, if they do.
    ///
    /// Local time without an offset is taken as UTC. A fraction that stands alone is added unless
    /// the instant has one of its own.
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
///
/// The rule is certain for times from 1973 to 5138, whichever unit a log has. `None` if the text
/// does not begin with a digit.
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
    use super::{TimeKind, TimeParts, Timestamp};

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
