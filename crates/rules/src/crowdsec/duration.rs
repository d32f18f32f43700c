//! Durations as Go writes them: `10s`, `1m30s`, `1.5h`.

use weir_core::parse_go_duration_ns;

/// The nanoseconds of a duration; `None` if it is not valid, negative or longer than 2^63 ns.
pub(super) fn parse_duration_ns(text: &str) -> Option<i64> {
    let text = text.strip_prefix('+').unwrap_or(text);
    // Go's parser needs no unit after zero.
    if text == "0" {
        return Some(0);
    }
    i64::try_from(parse_go_duration_ns(text.as_bytes())?).ok()
}

#[cfg(test)]
mod tests {
    use super::parse_duration_ns;

    #[test]
    fn durations_are_those_of_go() {
        for (text, ns) in [
            ("10s", Some(10_000_000_000)),
            ("1m30s", Some(90_000_000_000)),
            ("1.5h", Some(5_400_000_000_000)),
            ("500ms", Some(500_000_000)),
            ("2µs", Some(2_000)),
            ("0", Some(0)),
            ("", None),
            ("10", None),
            ("s", None),
            (".s", None),
            ("-1s", None),
            ("1d", None),
            ("9999999999h", None),
        ] {
            assert_eq!(parse_duration_ns(text), ns, "{text}");
        }
    }
}
