//! Parts of written times: dates, times of day, offsets.
//!
//! The forms have fixed widths, so a part is found by its offset. Functions return `None` if the
//! text is too short, too long, or has another byte in the place of a digit or separator. None of
//! them depends on a zone.

use super::calendar::{DAY_S, Date};
use super::number::SECOND_NS;

/// Days from 1970-01-01 to a date.
///
/// `None` if there is no such day.
pub(crate) fn days_of(year: i32, month: u32, day: u32) -> Option<i64> {
    Some(Date::new(year, month, day)?.days())
}

/// The year of an instant in seconds since 1970, limited to the years of a
/// [`super::Timestamp`].
///
/// In UTC.
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

/// Days from 1970-01-01 to a date such as `2025-12-17`.
pub(crate) fn parse_day(text: &[u8]) -> Option<i64> {
    let text: &[u8; 10] = text.try_into().ok()?;
    if [text[4], text[7]] != *b"--" {
        return None;
    }
    let year = two_digits(text, 0)? * 100 + two_digits(text, 2)?;
    Some(Date::new(year as i32, two_digits(text, 5)?, two_digits(text, 8)?)?.days())
}

/// Seconds since midnight; a leap second (60) is accepted and counts as the next second.
///
/// So the result is at most 86,400, the end of the day.
pub(crate) fn second_of_day(hour: u32, minute: u32, second: u32) -> Option<i64> {
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(i64::from(hour * 3600 + minute * 60 + second))
}

/// Reads `+hhmm`, `-hhmm`, `+hh:mm`, `+hh` or `Z` into seconds east of UTC.
///
/// `None` for other forms, and for more than 23 hours or 59 minutes.
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

/// The number of the two digits at offset `at`.
#[inline]
pub(crate) fn two_digits(text: &[u8], at: usize) -> Option<u32> {
    let tens = text.get(at)?.wrapping_sub(b'0');
    let ones = text.get(at + 1)?.wrapping_sub(b'0');
    if tens > 9 || ones > 9 {
        return None;
    }
    Some(u32::from(tens) * 10 + u32::from(ones))
}
