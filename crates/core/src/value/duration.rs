//! Durations with units, as Go writes them.
//!
//! Traefik, Caddy and other servers in Go may log a duration in this form instead of a number: one
//! or more decimal numbers with a unit each, from hours down to nanoseconds. A sign, which Go
//! writes for negative durations, is not accepted: a request takes no negative time.
//!
//! | text | nanoseconds |
//! |---|---|
//! | `0s` | 0 |
//! | `1.234ms` | 1,234,000 |
//! | `1m2.5s` | 62,500,000,000 |
//! | `1h` | 3,600,000,000,000 |
//! | `1.5` | refused: no unit |

use super::number::parse_decimal_ns;

/// Parses a duration such as `1.234ms`, `1m2.5s` or `0s` into nanoseconds.
///
/// Source: `Duration.String` and `ParseDuration` of Go's package time. The micro sign may also be
/// the letter u, or be escaped as in JSON. A space may stand before a unit, as people write it.
///
/// Returns `None` if the text is empty, if a number or a unit is missing or unknown, or if the sum
/// does not fit 64 bits. Parts below a nanosecond are dropped.
pub fn parse_go_duration_ns(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    let mut sum = 0u64;
    let mut rest = text;
    while !rest.is_empty() {
        let is_number = |byte: &&u8| byte.is_ascii_digit() || **byte == b'.';
        let length = rest.iter().take_while(is_number).count();
        let (number, after) = rest.split_at(length);
        let after = after.strip_prefix(b" ").unwrap_or(after);
        let (unit_length, unit_ns) = unit(after)?;
        sum = sum.checked_add(parse_decimal_ns(number, unit_ns)?)?;
        rest = &after[unit_length..];
    }
    Some(sum)
}

/// The unit at the start of `text`: its length and its nanoseconds.
fn unit(text: &[u8]) -> Option<(usize, u64)> {
    // Longer names first: `ms` is not `m`.
    const UNITS: [(&str, u64); 9] = [
        ("ns", 1),
        ("us", 1_000),
        ("\u{b5}s", 1_000),
        ("\u{3bc}s", 1_000),
        ("\\u00b5s", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    let (name, unit_ns) = UNITS.iter().find(|(name, _)| text.starts_with(name.as_bytes()))?;
    Some((name.len(), *unit_ns))
}

#[cfg(test)]
mod tests {
    use super::parse_go_duration_ns;

    #[test]
    fn reads_durations_of_go() {
        let parse = |text: &str| parse_go_duration_ns(text.as_bytes());
        assert_eq!(parse("0s"), Some(0));
        assert_eq!(parse("1.234ms"), Some(1_234_000));
        assert_eq!(parse("12\u{b5}s"), Some(12_000));
        assert_eq!(parse("12us"), Some(12_000));
        assert_eq!(parse("12.5 ms"), Some(12_500_000));
        assert_eq!(parse(r"12\u00b5s"), Some(12_000));
        assert_eq!(parse("2h1m2.5s"), Some(7_262_500_000_000));
        for bad in ["", "1", "s", "1d", "-1s", "1s ", "1  s", ".s"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
