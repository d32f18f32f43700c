//! RFC 3339 time stamps, read and written.

use crate::value::calendar::{DAY_S, Date};
use crate::value::number::{SECOND_NS, parse_digits};
use crate::value::time::{Timestamp, parse_offset, second_of_day, two_digits};

/// Reads `2025-12-17T09:03:01.250+01:00`. A space may stand for the `T`, a comma for the
/// point, `+0100` for `+01:00`; digits of the fraction after the ninth are dropped. Without
/// an offset the time is taken as UTC.
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

fn parse_fraction(text: &[u8]) -> Option<(u32, &[u8])> {
    let [b'.' | b',', rest @ ..] = text else { return Some((0, text)) };
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let kept = length.min(9);
    let value = parse_digits(&rest[..kept])?;
    Some((value as u32 * 10u32.pow(9 - kept as u32), &rest[length..]))
}

/// Writes an instant as local time `offset_s` ahead of UTC, with as many digits of the
/// fraction as it needs in groups of three: `2025-12-17T09:03:01.250+01:00`, `...Z` for UTC.
/// RFC 3339 has no seconds in offsets, which a few zones had once: they are left out of the
/// local time too, so that the instant is the same.
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

/// Writes an offset as `Z` or `+hh:mm`.
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
