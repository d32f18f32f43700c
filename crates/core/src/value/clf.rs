//! The time of the common log format.
//!
//! Source: the default of `%t` in Apache's mod_log_config, `[%d/%b/%Y:%H:%M:%S %z]` in the C
//! locale. It always has 26 bytes, so each part is at a fixed offset:
//!
//! ```text
//! 17/Dec/2025:09:03:01 +0000
//! 0  3   7    12 15 18 21
//! ```
//!
//! The month is an English abbreviation in any case. An hour of 24 and a day that the month does
//! not have are refused; a leap second, `:60`, is the first second of the next minute. The offset
//! is always present.
//!
//! Nearly every line of an access log has such a time. Lines come in the order of time, so two
//! lines in succession usually agree in everything but the second. [`ClfTimeCache`] makes use of
//! that.

use super::calendar::{Date, month_by_name};
use super::number::SECOND_NS;
use super::rfc3339::parse_rfc3339;
use super::time_text::{parse_offset, second_of_day, two_digits};
use super::timestamp::Timestamp;

/// Length of a common log format time, `17/Dec/2025:09:03:01 +0000`.
pub(crate) const CLF_LENGTH: usize = 26;

/// Reads the time of the common log format, `17/Dec/2025:09:03:01 +0000`, which is
/// nginx's `$time_local` and, in brackets, Apache's `%t`.
///
/// Returns `None` if a part is not of that form, if there is no such day, or if the year is not in
/// 1678 to 2261.
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

/// Reads what some servers write in the place of a common log format time: an RFC 3339 time, a
/// fraction of the second before the offset, the month first, or a space before the time of day.
/// Without an offset it is UTC.
///
/// ```text
/// 2025-12-17T09:03:01.250+01:00
/// 17/Dec/2025:09:03:01.250 +0000
/// Dec/17/2025:09:03:01 +0000
/// 17/Dec/2025 09:03:01
/// 2025-12-17 09:03:01.250 +0100
/// 2025/12/17:09:03:01 +0100
/// 2025-12-17 09:03:01.649153142 +0000 UTC
/// ```
pub(crate) fn parse_clf_variant(text: &[u8]) -> Option<Timestamp> {
    const TIME_LENGTH: usize = 20;
    let text = text.strip_suffix(b" UTC").unwrap_or(text);
    if matches!(text.get(4), Some(b'-' | b'/')) {
        return parse_rfc3339(text).or_else(|| parse_iso_variant(text));
    }
    let (time, rest) = text.split_at_checked(TIME_LENGTH)?;
    let mut usual = *b"00/Jan/0000:00:00:00 +0000";
    usual[..TIME_LENGTH].copy_from_slice(time);
    if let [a, b, c, b'/', d, e, b'/', ..] = *time {
        usual[..6].copy_from_slice(&[d, e, b'/', a, b, c]);
    }
    if usual[11] == b' ' {
        usual[11] = b':';
    }
    let (fraction_ns, offset) = match rest {
        [b'.' | b',', rest @ ..] => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            (fraction_ns(&rest[..digits])?, &rest[digits..])
        }
        _ => (0, rest),
    };
    match offset {
        b"" | b" UTC" | b" GMT" => {}
        [b' ', offset @ ..] if offset.len() == 5 => usual[21..].copy_from_slice(offset),
        _ => return None,
    }
    let time = parse_clf(&usual)?;
    Some(Timestamp { unix_ns: time.unix_ns.checked_add(fraction_ns)?, ..time })
}

/// Reads an RFC 3339 time with slashes in its date, a colon after it or a space before the offset.
fn parse_iso_variant(text: &[u8]) -> Option<Timestamp> {
    const DATE_LENGTH: usize = 10;
    let (mut usual, mut length) = ([0; 48], 0);
    for (at, byte) in text.iter().enumerate() {
        let byte = match byte {
            b'/' if at < DATE_LENGTH => b'-',
            b':' if at == DATE_LENGTH => b'T',
            b' ' if at > DATE_LENGTH => continue,
            byte => *byte,
        };
        *usual.get_mut(length)? = byte;
        length += 1;
    }
    parse_rfc3339(&usual[..length])
}

/// The nanoseconds of the digits after a point; those after the ninth are ignored.
fn fraction_ns(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() {
        return None;
    }
    let padded = digits.iter().copied().chain(std::iter::repeat(b'0')).take(9);
    Some(padded.fold(0, |all, digit| all * 10 + i64::from(digit - b'0')))
}

/// Caches the last minute in the common log format: a log has many lines per minute, and
/// comparing 24 bytes is cheaper than parsing them. The second is parsed each time, because a
/// branch on whether it has changed could not be predicted.
///
/// The cache has one entry. A line of another minute, as in the merged log of two servers, costs
/// the parsing of a time and two more, once for each such change.
///
/// An entry for a text that is not a time has no `start`, so it is never taken.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClfTimeCache {
    /// The result of [`Self::minute`].
    ///
    /// The middle parts overlap by six bytes, so that there is no remainder.
    minute: [u64; 4],
    /// The first second of the minute, with the offset.
    start: Option<Timestamp>,
}

impl ClfTimeCache {
    /// Returns the same as [`parse_clf`].
    #[inline]
    pub(crate) fn parse(&mut self, text: &[u8; CLF_LENGTH]) -> Option<Timestamp> {
        let minute = Self::minute(text);
        let [tens, ones] = [text[18], text[19]].map(|digit| digit.wrapping_sub(b'0'));
        // Without branches and in registers: wider values would be written to memory in halves and
        // read back whole, which costs twenty cycles.
        let difference =
            minute.iter().zip(self.minute).fold(0, |all, (part, cached)| all | (part ^ cached));
        if difference == 0
            && let Some(start) = self.start
            && tens < 6
            && ones < 10
        {
            let second_ns = (i64::from(tens) * 10 + i64::from(ones)) * SECOND_NS as i64;
            return Some(Timestamp { unix_ns: start.unix_ns + second_ns, ..start });
        }
        self.parse_uncached(text)
    }

    /// Both ends of the minute must be representable before the minute is cached.
    #[cold]
    fn parse_uncached(&mut self, text: &[u8; CLF_LENGTH]) -> Option<Timestamp> {
        let mut first_second = *text;
        first_second[18..20].copy_from_slice(b"00");
        let mut last_second = *text;
        last_second[18..20].copy_from_slice(b"59");
        self.minute = Self::minute(text);
        // A minute at the limit of `Timestamp` may be representable in part only.
        self.start = parse_clf(&last_second).and_then(|_| parse_clf(&first_second));
        parse_clf(text)
    }

    /// The text without its second.
    #[inline]
    fn minute(text: &[u8; CLF_LENGTH]) -> [u64; 4] {
        // Bytes 18 and 19 of 26 are the first two of the last eight.
        const SECOND: u64 = 0xFFFF;
        let part = |at: usize| {
            let bytes = text.get(at..).and_then(<[u8]>::first_chunk);
            bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        [part(0), part(8), part(10), part(18) & !SECOND]
    }
}

#[cfg(test)]
mod tests {
    use super::{ClfTimeCache, Timestamp, parse_clf, parse_clf_variant};

    #[test]
    fn reads_the_common_log_format() {
        let time = parse_clf(b"17/Dec/2025:09:03:01 +0330").unwrap();
        assert_eq!(time, Timestamp { unix_ns: 1_765_949_581_000_000_000, offset_s: 12_600 });
        let before_1970 = parse_clf(b"31/Dec/1969:23:59:59 +0000").unwrap();
        assert_eq!(before_1970.unix_ns, -1_000_000_000);
        assert!(parse_clf(b"29/Feb/2024:23:59:60 -0000").is_some());
    }

    #[test]
    fn refuses_invalid_times() {
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
    fn reads_variants() {
        let usual = parse_clf(b"17/Dec/2025:09:03:01 +0100").unwrap();
        let later = |ns| Some(Timestamp { unix_ns: usual.unix_ns + ns, ..usual });
        let utc = parse_clf(b"17/Dec/2025:09:03:01 +0000");
        for (text, expected) in [
            ("2025-12-17T09:03:01.250+01:00", later(250_000_000)),
            ("17/Dec/2025:09:03:01.25 +0100", later(250_000_000)),
            ("17/Dec/2025:09:03:01,123456789123 +0100", later(123_456_789)),
            ("Dec/17/2025:09:03:01 +0100", later(0)),
            ("17/Dec/2025 09:03:01", utc),
            ("2025-12-17 09:03:01 +0100", later(0)),
            ("2025-12-17 09:03:01,250 +0100", later(250_000_000)),
            ("2025/12/17:09:03:01 +0100", later(0)),
            ("2025/12/17 09:03:01", utc),
            ("2025-12-17 09:03:01.000000000 +0000 UTC", utc),
            ("2025/12/17 09:03:01 +0100 and much more text than a time ever has", None),
            ("2025-1", None),
            ("17/Dec/2025:09:03:01 UTC", utc),
            ("17/Dec/2025:09:03:01. +0100", None),
            (
                "17/Dec/2025:09:03:01.5",
                utc.map(|time| Timestamp { unix_ns: time.unix_ns + 500_000_000, ..time }),
            ),
            ("17/Dec/2025:09:03:61 +0100", None),
            ("17/Dec/2025:09:03:01 +01", None),
            ("17/17/2025:09:03:01 +0100", None),
            ("Dec", None),
            ("", None),
        ] {
            assert_eq!(parse_clf_variant(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn the_cache_changes_no_result() {
        let mut cache = ClfTimeCache::default();
        // `Timestamp` ends in the middle of 2262-04-11T23:47.
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
}
