//! Durations as Go writes them: `10s`, `1m30s`, `1.5h`.

/// Units with their length in nanoseconds.
const UNITS: [(&str, f64); 8] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("μs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3_600e9),
];

/// The nanoseconds of a duration; `None` if it is not valid, negative or longer than 2^63 ns.
pub(super) fn parse_duration_ns(text: &str) -> Option<i64> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(0);
    }
    let mut total: i64 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let length = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(length);
        let length = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(length);
        let unit_ns = UNITS.iter().find(|(name, _)| *name == unit)?.1;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let fraction: f64 =
            if fraction.is_empty() { 0.0 } else { format!("0.{fraction}").parse().ok()? };
        let part = whole.checked_mul(unit_ns as i64)?;
        total = total.checked_add(part)?.checked_add((fraction * unit_ns) as i64)?;
        rest = after;
    }
    Some(total)
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
