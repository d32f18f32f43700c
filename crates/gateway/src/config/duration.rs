//! Durations in the configuration.

use std::time::Duration;

/// Parses a whole number with its unit: `ms`, `s`, `m`, `h` or `d`. Returns `None` beyond 100
/// years.
pub(super) fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let unit_ms = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let milliseconds = number.parse::<u64>().ok()?.checked_mul(unit_ms)?;
    (milliseconds <= MILLISECONDS_MAX).then(|| Duration::from_millis(milliseconds))
}

const MILLISECONDS_MAX: u64 = 100 * 366 * 86_400_000;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parse_duration;

    #[test]
    fn durations_need_a_number_and_a_unit() {
        for (text, expected) in [
            ("500ms", Some(500)),
            ("60s", Some(60_000)),
            ("2m", Some(120_000)),
            ("1h", Some(3_600_000)),
            ("1d", Some(86_400_000)),
            ("0s", Some(0)),
            ("", None),
            ("60", None),
            ("s", None),
            ("-1s", None),
            ("1.5s", None),
            ("1 s", None),
            ("1w", None),
            ("40000d", None),
            ("99999999999999999999s", None),
        ] {
            assert_eq!(parse_duration(text), expected.map(Duration::from_millis), "{text:?}");
        }
    }
}
