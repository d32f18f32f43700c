//! Decimal numbers as servers log them.
//!
//! | text | function | result |
//! |---|---|---|
//! | `512` | [`parse_digits`] | 512 |
//! | `0.123`, in seconds | [`parse_decimal_ns`] | 123,000,000 ns |
//! | `7.5e-05`, in seconds | [`parse_decimal_ns`] | 75,000 ns |
//! | `0.010, 0.020 : -` | [`parse_upstream_time_ns`] | 30,000,000 ns |
//! | `-`, `1,5` or nothing | each of them | `None`, except `-` as an upstream time |
//!
//! Numbers are parsed as decimal digits in integers, never as floating point, so `0.1` seconds are
//! exactly 100,000,000 ns. At least 26 significant digits are kept, more than 64 bits need, in 128
//! bits. A sign, digit grouping and a decimal comma are refused: no server writes them, and a text
//! with them is something else.

/// Nanoseconds in a second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// Parses an unsigned integer. Returns `None` if the text is empty, has a byte that is not a
/// digit, or does not fit 64 bits.
///
/// Leading zeros are accepted. The value is at most 2^64 - 1.
pub(crate) fn parse_digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    let mut value = 0u64;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// Parses a decimal number in units of `unit_ns` nanoseconds, such as `0.123` seconds, and
/// returns nanoseconds. Digits below a nanosecond are dropped. The number may have an exponent,
/// which JSON encoders write for small numbers (`7.5e-05`).
///
/// Returns `None` if the text has no digit, has a byte that does not belong to a number, or if the
/// result is 2^64 - 1 or more.
pub(crate) fn parse_decimal_ns(text: &[u8], unit_ns: u64) -> Option<u64> {
    let (mantissa, exponent) = match memchr::memchr2(b'e', b'E', text) {
        Some(at) => (&text[..at], parse_exponent(&text[at + 1..])?),
        None => (text, 0),
    };
    let (whole, fraction) = match memchr::memchr(b'.', mantissa) {
        Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
        None => (mantissa, &mantissa[mantissa.len()..]),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // The value is the digits of both parts times ten to the power of `scale`.
    let mut digits = 0u128;
    let mut scale = exponent - fraction.len() as i32;
    for byte in whole.iter().chain(fraction) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        if digits < 10u128.pow(26) {
            digits = digits * 10 + u128::from(digit);
        } else {
            scale += 1;
        }
    }
    let mut value = digits.checked_mul(u128::from(unit_ns))?;
    while scale > 0 && value != 0 {
        value = value.checked_mul(10)?;
        scale -= 1;
    }
    while scale < 0 && value != 0 {
        value /= 10;
        scale += 1;
    }
    u64::try_from(value).ok().filter(|value| *value < u64::MAX)
}

/// An exponent of more than 400 in either direction is refused, so that scaling takes few steps.
fn parse_exponent(text: &[u8]) -> Option<i32> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let value = parse_digits(digits).filter(|value| *value <= 400)? as i32;
    Some(if negative { -value } else { value })
}

/// nginx's `$upstream_response_time`: seconds, one number for each upstream tried,
/// separated by `, ` and ` : `, with `-` for an upstream without a time. Returns their sum,
/// `Some(None)` if no upstream has a time, or `None` if the text is not such a list.
///
/// Source: nginx, `ngx_http_upstream_response_time_variable`.
///
/// nginx writes `, ` after each upstream of a group that failed, and ` : ` after an internal
/// redirect to another group. The sum is the time that the request spent waiting for all of them.
pub(crate) fn parse_upstream_time_ns(text: &[u8]) -> Option<Option<u64>> {
    let mut sum = None;
    for part in text.split(|byte| matches!(byte, b',' | b':')) {
        match part.trim_ascii() {
            b"-" | b"" => {}
            number => {
                let value = parse_decimal_ns(number, SECOND_NS)?;
                sum = Some(sum.unwrap_or(0u64).checked_add(value)?);
            }
        }
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::{SECOND_NS, parse_decimal_ns, parse_digits, parse_upstream_time_ns};

    #[test]
    fn digits() {
        assert_eq!(parse_digits(b"0"), Some(0));
        assert_eq!(parse_digits(b"18446744073709551615"), Some(u64::MAX));
        for bad in [&b""[..], b"18446744073709551616", b"-1", b"+1", b"1 ", b"1.0", b"x"] {
            assert_eq!(parse_digits(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn durations() {
        let seconds = |text: &str| parse_decimal_ns(text.as_bytes(), SECOND_NS);
        assert_eq!(seconds("0.001"), Some(1_000_000));
        assert_eq!(seconds("12"), Some(12_000_000_000));
        assert_eq!(seconds("1."), Some(1_000_000_000));
        assert_eq!(seconds(".5"), Some(500_000_000));
        assert_eq!(seconds("7.5e-05"), Some(75_000));
        assert_eq!(seconds("1e3"), Some(1_000_000_000_000));
        assert_eq!(seconds("0.0175570191234567890123456789"), Some(17_557_019));
        assert_eq!(parse_decimal_ns(b"123", 1_000), Some(123_000));
        for bad in ["", ".", "-", "-1", "1e", "1e999", "1.2.3", "99999999999999999999"] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }

    #[test]
    fn upstream_times() {
        let parse = |text: &str| parse_upstream_time_ns(text.as_bytes());
        assert_eq!(parse("-"), Some(None));
        assert_eq!(parse("0.002"), Some(Some(2_000_000)));
        assert_eq!(parse("0.002, 0.003 : 1.000"), Some(Some(1_005_000_000)));
        assert_eq!(parse("-, 0.003"), Some(Some(3_000_000)));
        assert_eq!(parse("x"), None);
    }
}
