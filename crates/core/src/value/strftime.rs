//! Parses times that were formatted with a strftime pattern.
//!
//! Source: POSIX.1-2024 `strftime` and the manual of the GNU C library, in the C locale, which
//! servers run in. A pattern is refused if it has a conversion that cannot be parsed: `%E` and
//! `%O` (other eras and digits), `%C`, `%g` and `%G` (parts of a year that are ambiguous alone),
//! `%N` and `%f` (no libc writes them; in Apache a fraction is `%{usec_frac}t`) or an unknown
//! one.
//!
//! | conversions | read as |
//! |---|---|
//! | `%Y` `%y` `%m` `%d` `%e` `%j` | parts of the date; `%y` from 69 on is of the 20th century |
//! | `%b` `%h` `%B` | names of months in English |
//! | `%H` `%k` `%I` `%l` `%M` `%S` `%p` `%P` | parts of the time of day |
//! | `%z` `%s` | the offset from UTC, `+0100` or `+01:00`; seconds since 1970 |
//! | `%F` `%D` `%x` `%T` `%X` `%R` `%r` `%c` | the compositions that POSIX defines |
//! | `%a` `%A` `%Z` `%U` `%V` `%W` `%u` `%w` | checked for their form, then ignored |
//! | `%n` `%t` `%%` | a line feed, a tab, a percent sign |
//!
//! A pattern is compiled into steps, one for each literal byte and conversion, with composed
//! conversions taken apart. A text is then read from left to right without going back: each step
//! knows from the text where it ends, because numbers have a fixed width and names end with their
//! letters. glibc pads them to that width, with zeros or, for `%e`, `%k` and `%l`, with a space.
//!
//! A pattern may have only some parts of a time, as in Apache's `%{%d/%b/%Y %T}t.%{msec_frac}t`:
//! the parts of all values of a line are collected in [`TimeParts`].

use super::calendar::{Date, month_by_name};
use super::number::parse_digits;
use super::time_parts::{TimeContent, TimeParts};
use super::time_text::{parse_offset, second_of_day};

/// A compiled pattern.
///
/// Reading takes time in proportion to the steps and allocates nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Strftime {
    steps: Box<[Step]>,
}

/// Why a pattern is refused.
///
/// The text names the conversion and, if there is one, another way to log the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StrftimeError {
    /// The offset in the pattern, in bytes.
    pub(crate) at: usize,
    pub(crate) message: String,
}

/// A step reads a prefix of the rest of the text, or fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A byte of the pattern.
    Literal(u8),
    /// A number of this many digits, of which the first may be a space.
    Number(Part, usize),
    MonthName {
        full: bool,
    },
    /// Letters without further information: the names of week days and zones.
    Letters,
    /// `AM` or `PM`, in any case.
    HalfOfDay,
    /// A sign, two digits, an optional colon and two digits.
    Offset,
    /// Up to ten digits.
    UnixSeconds,
}

/// The meaning of a number in the pattern.
///
/// Each has its range, which is checked when the number is read or, for days, when the date is
/// known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Year,
    YearOfCentury,
    Month,
    Day,
    DayOfYear,
    Hour,
    HourOfHalf,
    Minute,
    Second,
    /// Numbers of weeks and week days, which follow from the date.
    Ignored,
}

/// The parts of a time that have been read so far.
///
/// If a conversion occurs twice, the last value counts.
#[derive(Debug, Default)]
struct Parts {
    year: Option<u32>,
    month: Option<u32>,
    day: Option<u32>,
    /// From 1, 1 January.
    day_of_year: Option<u32>,
    hour: Option<u32>,
    /// 0 to 11: twelve o'clock is 0.
    hour_of_half: Option<u32>,
    is_afternoon: bool,
    minute: u32,
    second: u32,
    offset_s: Option<i32>,
    unix_s: Option<i64>,
}

impl Strftime {
    /// Compiles a pattern such as `%Y-%m-%d %H:%M:%S`.
    ///
    /// # Errors
    /// If a conversion is unknown or cannot be parsed, or if the pattern ends with `%`.
    pub(crate) fn parse(pattern: &str) -> Result<Self, StrftimeError> {
        let mut steps = Vec::new();
        let mut letters = pattern.bytes().enumerate();
        while let Some((at, byte)) = letters.next() {
            if byte != b'%' {
                steps.push(Step::Literal(byte));
                continue;
            }
            let Some((letter_at, letter)) = letters.next() else {
                let message = "a letter must follow this `%`; a percent sign is `%%`".to_owned();
                return Err(StrftimeError { at, message });
            };
            conversion(letter, &mut steps).ok_or_else(|| StrftimeError {
                at: letter_at,
                message: refusal(pattern, letter_at),
            })?;
        }
        Ok(Self { steps: steps.into() })
    }

    /// The length in bytes of the time at the start of `text`, or `None` if there is none.
    ///
    /// For a pattern that is followed by more of the line.
    pub(crate) fn length(&self, text: &[u8]) -> Option<usize> {
        self.walk(text).map(|(_, length)| length)
    }

    /// Adds the parts of `text` to `time`. Returns `None` if `text` is not such a time or has
    /// more bytes after it.
    pub(crate) fn read(&self, text: &[u8], time: &mut TimeParts) -> Option<()> {
        let (parts, length) = self.walk(text)?;
        if length < text.len() {
            return None;
        }
        parts.add_to(time)
    }

    /// Which parts of a time the pattern has.
    ///
    /// A pattern without year, month and day has no day, and one without an hour no second of the
    /// day. A format needs both, from one value or from several.
    pub(crate) fn content(&self) -> TimeContent {
        let has = |part| {
            self.steps.iter().any(|step| matches!(step, Step::Number(found, _) if *found == part))
        };
        let has_year = has(Part::Year) || has(Part::YearOfCentury);
        let has_month = has(Part::Month)
            || self.steps.iter().any(|step| matches!(step, Step::MonthName { .. }));
        let unix = self.steps.contains(&Step::UnixSeconds);
        TimeContent {
            day: unix || has_year && (has_month && has(Part::Day) || has(Part::DayOfYear)),
            second: unix || has(Part::Hour) || has(Part::HourOfHalf),
        }
    }

    /// Reads the time at the start of `text`, and returns its parts and its length.
    fn walk(&self, text: &[u8]) -> Option<(Parts, usize)> {
        let mut parts = Parts::default();
        let mut rest = text;
        for step in &self.steps {
            rest = step.read(rest, &mut parts)?;
        }
        Some((parts, text.len() - rest.len()))
    }
}

/// Adds the steps of one conversion. Returns `None` if it is refused.
///
/// `%c`, `%x`, `%X` and `%r` have the meaning of the C locale.
fn conversion(letter: u8, steps: &mut Vec<Step>) -> Option<()> {
    let composed: &[u8] = match letter {
        b'T' | b'X' => b"H:M:S",
        b'R' => b"H:M",
        b'F' => b"Y-m-d",
        b'D' | b'x' => b"m/d/y",
        b'c' => b"a b e T Y",
        b'r' => b"I:M:S p",
        _ => {
            steps.push(simple(letter)?);
            return Some(());
        }
    };
    for byte in composed {
        match byte {
            b':' | b'/' | b'-' | b' ' => steps.push(Step::Literal(*byte)),
            letter => conversion(*letter, steps)?,
        }
    }
    Some(())
}

/// The step of a conversion that is not composed of others.
fn simple(letter: u8) -> Option<Step> {
    Some(match letter {
        b'Y' => Step::Number(Part::Year, 4),
        b'y' => Step::Number(Part::YearOfCentury, 2),
        b'm' => Step::Number(Part::Month, 2),
        b'd' | b'e' => Step::Number(Part::Day, 2),
        b'j' => Step::Number(Part::DayOfYear, 3),
        b'H' | b'k' => Step::Number(Part::Hour, 2),
        b'I' | b'l' => Step::Number(Part::HourOfHalf, 2),
        b'M' => Step::Number(Part::Minute, 2),
        b'S' => Step::Number(Part::Second, 2),
        b'U' | b'V' | b'W' => Step::Number(Part::Ignored, 2),
        b'u' | b'w' => Step::Number(Part::Ignored, 1),
        b'b' | b'h' => Step::MonthName { full: false },
        b'B' => Step::MonthName { full: true },
        b'a' | b'A' | b'Z' => Step::Letters,
        b'p' | b'P' => Step::HalfOfDay,
        b'z' => Step::Offset,
        b's' => Step::UnixSeconds,
        b'n' => Step::Literal(b'\n'),
        b't' => Step::Literal(b'\t'),
        b'%' => Step::Literal(b'%'),
        _ => return None,
    })
}

/// Why the conversion whose letter is at `at` is refused, and what to write instead.
fn refusal(pattern: &str, at: usize) -> String {
    let letter = pattern[at..].chars().next().unwrap_or_default();
    match letter {
        'f' | 'N' => {
            format!("`%{letter}` is not a strftime conversion; a fraction is %{{usec_frac}}t")
        }
        _ => format!("times with `%{letter}` cannot be parsed; use other strftime conversions"),
    }
}

impl Step {
    /// Reads the step from the start of `text` and returns the rest.
    fn read<'a>(self, text: &'a [u8], parts: &mut Parts) -> Option<&'a [u8]> {
        match self {
            Self::Literal(byte) => text.strip_prefix(&[byte]),
            Self::Number(part, width) => {
                let digits = text.get(..width)?;
                let padded = digits.strip_prefix(b" ").filter(|rest| !rest.is_empty());
                parts.set(part, parse_digits(padded.unwrap_or(digits))? as u32)?;
                Some(&text[width..])
            }
            Self::MonthName { full } => {
                parts.month = Some(month_by_name(text.get(..3)?)?);
                Some(if full { after_letters(text) } else { &text[3..] })
            }
            Self::Letters => Some(after_letters(text)),
            Self::HalfOfDay => {
                let half: [u8; 2] = text.get(..2)?.try_into().ok()?;
                parts.is_afternoon = match &half.map(|byte| byte.to_ascii_lowercase()) {
                    b"am" => false,
                    b"pm" => true,
                    _ => return None,
                };
                Some(&text[2..])
            }
            Self::Offset => {
                let length = if text.get(3) == Some(&b':') { 6 } else { 5 };
                parts.offset_s = Some(parse_offset(text.get(..length)?)?);
                Some(&text[length..])
            }
            Self::UnixSeconds => {
                // Ten digits are enough until the year 2286. The digits of a fraction may follow
                // without a separator.
                let length = text.iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
                parts.unix_s = Some(parse_digits(&text[..length])? as i64);
                Some(&text[length..])
            }
        }
    }
}

/// The rest of the text after its ASCII letters, of which there may be none.
fn after_letters(text: &[u8]) -> &[u8] {
    let length = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    &text[length..]
}

impl Parts {
    /// Stores a number. `None` if it is out of its range, as far as that does not depend on other
    /// parts.
    fn set(&mut self, part: Part, value: u32) -> Option<()> {
        let limit = match part {
            Part::Minute => 59,
            Part::Second => 60,
            Part::Hour => 23,
            _ => 9_999,
        };
        if value > limit {
            return None;
        }
        match part {
            Part::Year => self.year = Some(value),
            // POSIX: 69 to 99 are the years 1969 to 1999.
            Part::YearOfCentury => self.year = Some(value + if value < 69 { 2000 } else { 1900 }),
            Part::Month => self.month = Some(value),
            Part::Day => self.day = Some(value),
            Part::DayOfYear => self.day_of_year = Some(value),
            Part::Hour => self.hour = Some(value),
            Part::HourOfHalf => {
                self.hour_of_half = Some((1..=12).contains(&value).then_some(value % 12)?);
            }
            Part::Minute => self.minute = value,
            Part::Second => self.second = value,
            Part::Ignored => {}
        }
        Some(())
    }

    /// Seconds since 1970 determine the instant; a date beside them is the day on the local
    /// calendar. Without `%p`, an hour of `%I` is one of the morning.
    fn add_to(&self, time: &mut TimeParts) -> Option<()> {
        if let Some(unix_s) = self.unix_s {
            time.set_unix_seconds(unix_s)?;
        }
        if let Some(year) = self.year {
            time.local_day = self.local_day(year as i32)?.or(time.local_day);
        }
        let of_half = self.hour_of_half.map(|hour| hour + if self.is_afternoon { 12 } else { 0 });
        if let Some(hour) = self.hour.or(of_half) {
            time.local_second = Some(second_of_day(hour, self.minute, self.second)?);
        }
        time.offset_s = self.offset_s.or(time.offset_s);
        Some(())
    }

    /// The day in days since 1970-01-01; `None` if there is no such day, `Some(None)` if the
    /// pattern has no day.
    fn local_day(&self, year: i32) -> Option<Option<i64>> {
        match (self.month, self.day, self.day_of_year) {
            (Some(month), Some(day), _) => Some(Some(Date::new(year, month, day)?.days())),
            (_, _, Some(day_of_year)) => {
                let first = Date::new(year, 1, 1)?.days();
                let days = Date::new(year, 12, 31)?.days() - first + 1;
                let is_day = (1..=days).contains(&i64::from(day_of_year));
                is_day.then(|| Some(first + i64::from(day_of_year) - 1))
            }
            _ => Some(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Strftime, TimeParts};
    use crate::value::{format_rfc3339, parse_rfc3339};

    fn read(pattern: &str, text: &str) -> Option<String> {
        let mut parts = TimeParts::default();
        Strftime::parse(pattern).unwrap().read(text.as_bytes(), &mut parts)?;
        parts.finish().map(format_rfc3339)
    }

    #[test]
    fn reads_times() {
        for (pattern, text) in [
            ("%Y-%m-%dT%H:%M:%S%z", "2025-12-17T09:03:01+0330"),
            ("%F %T %z", "2025-12-17 09:03:01 +03:30"),
            ("%d/%b/%Y:%T %z", "17/Dec/2025:09:03:01 +0330"),
            ("%a, %e %B %Y %I:%M:%S %p %z", "Wed, 17 December 2025 09:03:01 AM +0330"),
            ("%A %j %y %R:%S %Z %z", "Wednesday 351 25 09:03:01 IRST +0330"),
            ("%D %r %z %u %V%%", "12/17/25 09:03:01 AM +0330 3 51%"),
            ("%c%n%t%z", "Wed Dec 17 09:03:01 2025\n\t+0330"),
            ("%s %z", "1765949581 +0330"),
        ] {
            assert_eq!(read(pattern, text).unwrap(), "2025-12-17T09:03:01+03:30", "{pattern}");
        }
        assert_eq!(read("%F %k:%M", "2025-12-07  9:03").unwrap(), "2025-12-07T09:03:00Z");
        assert_eq!(read("%F %I%p", "2025-12-07 12PM").unwrap(), "2025-12-07T12:00:00Z");
        assert_eq!(read("%F %I%p", "2025-12-07 12am").unwrap(), "2025-12-07T00:00:00Z");
        assert_eq!(read("%e %b %Y %T", " 7 Dec 1969 23:59:60").unwrap(), "1969-12-08T00:00:00Z");
    }

    #[test]
    fn refuses_times_of_another_form() {
        for (pattern, text) in [
            ("%F %T", "2025-12-17 24:03:01"),
            ("%F %T", "2025-02-29 09:03:01"),
            ("%F %T", "2025-12-17T09:03:01"),
            ("%F %T", "2025-12-17 09:03:01 "),
            ("%F %T", "2025-12-17 09:03"),
            ("%Y %j %T", "2025 366 09:03:01"),
            ("%F %I", "2025-12-17 13"),
            ("%T", "09:03:01"),
            ("%s", "x"),
        ] {
            assert_eq!(read(pattern, text), None, "{pattern}: {text}");
        }
    }

    #[test]
    fn refuses_unknown_conversions() {
        for (pattern, at) in [("%Y-%Ey", 4), ("%f", 1), ("%T %", 3), ("%T%é", 3), ("%G", 1)] {
            assert_eq!(Strftime::parse(pattern).unwrap_err().at, at, "{pattern}");
        }
    }

    #[test]
    fn length_is_that_of_the_time() {
        let pattern = Strftime::parse("%F %T").unwrap();
        assert_eq!(pattern.length(b"2025-12-17 09:03:01 more"), Some(19));
        assert!(pattern.content().is_instant());
        assert!(!Strftime::parse("%H:%M").unwrap().content().is_instant());
        assert!(parse_rfc3339(b"2025-12-17 09:03:01").is_some());
    }
}
