//! RFC 3339 time stamps, read and written.
//!
//! The form is that of RFC 3339, section 5.6, a profile of ISO 8601. nginx's `$time_iso8601`,
//! Docker and most JSON encoders write it. It has its parts at fixed offsets:
//!
//! ```text
//! 2025-12-17T09:03:01.250+01:00
//! 0    5  8  11 14 17 19  after the digits of the fraction
//! ```

use super::calendar::{DAY_S, Date};
use super::number::{SECOND_NS, parse_digits};
use super::time_text::{parse_offset, second_of_day, two_digits};
use super::timestamp::Timestamp;

/// Parses an RFC 3339 time such as `2025-12-17T09:03:01.250+01:00`.
///
/// More is accepted than the RFC allows: a space instead of `T`, a comma instead of the point,
/// `+0100` instead of `+01:00`, and a missing offset, which means UTC. Digits of the fraction
/// after the ninth are ignored. Returns `None` if the text is not such a time, or if its year is
/// not in 1678 to 2261.
///
/// ```
/// use weir_core::parse_rfc3339;
///
/// let time = parse_rfc3339(b"1970-01-01 01:00:00,5+0100").unwrap();
/// assert_eq!((time.unix_ns, time.offset_s), (500_000_000, 3_600));
/// assert_eq!(parse_rfc3339(b"1970-01-32T00:00:00Z"), None);
/// ```
///
/// A second of 60 is the first second of the next minute. The offset is kept in the result
/// ([`Timestamp::offset_s`]) and does not change the instant.
pub fn parse_rfc3339(text: &[u8]) -> Option<Timestamp> {
    let year = two_digits(text, 0)? * 100 + two_digits(text, 2)?;
    let separators = [*text.get(4)?, *text.get(7)?, *text.get(13)?, *text.get(16)?] == *b"--::";
    if !separators || !matches!(text[10], b'T' | b't' | b' ') {
        return None;
    }
    let date = Date::new(year as i32, two_digits(text, 5)?, two_digits(text, 8)?)?;
    let second =
        second_of_day(two_digits(text, 11)?, two_digits(text, 14)?, two_digits(text, 17)?)?;
    let (nanos, rest) = parse_fraction(&text[19..])?;
    let offset_s = if rest.is_empty() { 0 } else { parse_offset(rest)? };
    Timestamp::from_local(date, second, nanos, offset_s)
}

/// The fraction at the start of `text` in nanoseconds, and the rest. A text without one has
/// fraction 0; `None` if no digit follows the point.
fn parse_fraction(text: &[u8]) -> Option<(u32, &[u8])> {
    let [b'.' | b',', rest @ ..] = text else { return Some((0, text)) };
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let kept = length.min(9);
    let value = parse_digits(&rest[..kept])?;
    Some((value as u32 * 10u32.pow(9 - kept as u32), &rest[length..]))
}

/// Formats an instant as an RFC 3339 time in its own offset, `2025-12-17T09:03:01.250+01:00`,
/// with `Z` for UTC.
///
/// The fraction has 0, 3, 6 or 9 digits, as few as are exact. RFC 3339 offsets have no seconds,
/// which a few historic zones need: they are removed from offset and local time, so that the
/// instant stays the same.
///
/// # Examples
///
/// ```
/// use weir_core::{Timestamp, format_rfc3339};
///
/// let time = Timestamp { unix_ns: 1_765_962_181_250_000_000, offset_s: 3_600 };
/// assert_eq!(format_rfc3339(time), "2025-12-17T10:03:01.250+01:00");
/// assert_eq!(format_rfc3339(Timestamp { offset_s: 0, ..time }), "2025-12-17T09:03:01.250Z");
/// ```
///
/// ```
/// use weir_core::{Timestamp, format_rfc3339};
///
/// let time = Timestamp { unix_ns: 1_500_000_000, offset_s: -5 * 3_600 };
/// assert_eq!(format_rfc3339(time), "1969-12-31T19:00:01.500-05:00");
/// ```
///
/// [`parse_rfc3339`] reads the text back as the same instant, for every year that it accepts:
///
/// ```
/// use weir_core::{Timestamp, format_rfc3339, parse_rfc3339};
///
/// for unix_ns in [-1, 0, 1_000, 1_765_962_181_250_000_000] {
///     let time = Timestamp { unix_ns, offset_s: 19_800 };
///     assert_eq!(parse_rfc3339(format_rfc3339(time).as_bytes()), Some(time));
/// }
/// ```
pub fn format_rfc3339(time: Timestamp) -> String {
    let second_ns = SECOND_NS as i64;
    let offset_s = time.offset_s - time.offset_s % 60;
    let local_s = time.unix_ns.div_euclid(second_ns) + i64::from(offset_s);
    let nanos = time.unix_ns.rem_euclid(second_ns);
    let date = Date::from_days(local_s.div_euclid(DAY_S));
    let second = local_s.rem_euclid(DAY_S);
    let fraction = match nanos {
        0 => String::new(),
        _ if nanos % 1_000_000 == 0 => format!(".{:03}", nanos / 1_000_000),
        _ if nanos % 1_000 == 0 => format!(".{:06}", nanos / 1_000),
        _ => format!(".{nanos:09}"),
    };
    let (hour, minute) = (second / 3600, second / 60 % 60);
    let Date { year, month, day } = date;
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}{fraction}{}",
        second % 60,
        format_offset(offset_s)
    )
}

/// Formats an offset as `Z` or `+hh:mm`.
///
/// Seconds of the offset are dropped.
pub(crate) fn format_offset(offset_s: i32) -> String {
    if offset_s == 0 {
        return "Z".to_owned();
    }
    let sign = if offset_s < 0 { '-' } else { '+' };
    let minutes = offset_s.unsigned_abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::{Timestamp, format_rfc3339, parse_rfc3339};

    #[test]
    fn round_trips() {
        for text in [
            "2025-12-17T09:03:01Z",
            "2025-12-17T09:03:01+03:30",
            "1969-12-31T23:59:59.250-05:00",
            "2025-12-17T09:03:01.000001Z",
            "2025-12-17T09:03:01.123456789+14:00",
        ] {
            assert_eq!(format_rfc3339(parse_rfc3339(text.as_bytes()).unwrap()), text);
        }
        let monrovia = Timestamp { unix_ns: 0, offset_s: -(44 * 60 + 30) };
        assert_eq!(format_rfc3339(monrovia), "1969-12-31T23:16:00-00:44");
        let same = parse_rfc3339(b"2025-12-17 09:03:01,5+0330");
        assert_eq!(same, parse_rfc3339(b"2025-12-17T09:03:01.500+03:30"));
        assert_eq!(parse_rfc3339(b"2025-12-17T09:03:01"), parse_rfc3339(b"2025-12-17T09:03:01Z"));
    }

    #[test]
    fn refuses_the_rest() {
        for text in [
            "",
            "2025-12-17",
            "2025-12-17T09:03",
            "2025-13-17T09:03:01Z",
            "2025-12-17T09:03:01.Z",
            "2025-12-17T09:03:01+1",
            "2025/12/17T09:03:01Z",
            "2025-12-17T09:03:01Zx",
        ] {
            assert_eq!(parse_rfc3339(text.as_bytes()), None, "{text}");
        }
    }
}
