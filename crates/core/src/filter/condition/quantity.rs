//! Numbers with units.

use crate::field::Unit;

/// Units of sizes. The letters alone are decimal, as the sizes that Weir shows are.
const SIZES: [(&str, f64); 14] = [
    ("", 1.0),
    ("b", 1.0),
    ("k", 1e3),
    ("kb", 1e3),
    ("m", 1e6),
    ("mb", 1e6),
    ("g", 1e9),
    ("gb", 1e9),
    ("t", 1e12),
    ("tb", 1e12),
    ("kib", 1024.0),
    ("mib", 1_048_576.0),
    ("gib", 1_073_741_824.0),
    ("tib", 1_099_511_627_776.0),
];

/// Units of durations, in nanoseconds. A number alone is seconds, as servers log them.
const DURATIONS: [(&str, f64); 9] = [
    ("", 1e9),
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("h", 3_600e9),
    ("d", 86_400e9),
];

/// Returns a number in the unit of a column, rounded to a whole one. `None` if the text is not
/// a number with a unit of this kind, or the result does not fit 64 bits.
pub(super) fn parse(text: &str, unit: Unit) -> Option<u64> {
    let units: &[(&str, f64)] = match unit {
        Unit::Bytes | Unit::Count => &SIZES,
        Unit::Nanoseconds => &DURATIONS,
    };
    let end = text.find(|next: char| !next.is_ascii_digit() && next != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let suffix = suffix.trim_start();
    let (_, factor) = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(suffix))?;
    if *factor == 1.0 && !number.contains('.') {
        // Every whole number is exact.
        return number.parse().ok();
    }
    let scaled = (number.parse::<f64>().ok()? * factor).round();
    (0.0..1.8e19).contains(&scaled).then_some(scaled as u64)
}

/// Examples of numbers in a unit, for messages.
pub(super) fn examples(unit: Unit) -> &'static str {
    match unit {
        Unit::Bytes => "500, 10kB or 1MiB",
        Unit::Count => "400 or 10k",
        Unit::Nanoseconds => "0.5, 200ms or 1.5s",
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::field::Unit;

    #[test]
    fn sizes_have_decimal_and_binary_units() {
        let cases = [
            ("0", Some(0)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("1k", Some(1_000)),
            ("1.5MB", Some(1_500_000)),
            ("1MiB", Some(1_048_576)),
            ("2 gb", Some(2_000_000_000)),
            ("1.5", Some(2)),
            ("1e3", None),
            ("-1", None),
            ("k", None),
            ("1.2.3", None),
            ("1s", None),
            ("99999999999TB", None),
        ];
        for (text, number) in cases {
            assert_eq!(parse(text, Unit::Bytes), number, "{text}");
        }
    }

    #[test]
    fn durations_are_seconds_or_have_a_unit() {
        let cases = [
            ("0.5", Some(500_000_000)),
            ("200ms", Some(200_000_000)),
            ("1.5s", Some(1_500_000_000)),
            ("250us", Some(250_000)),
            ("250µs", Some(250_000)),
            ("2min", Some(120_000_000_000)),
            ("1 h", Some(3_600_000_000_000)),
            ("7ns", Some(7)),
            ("1MB", None),
            ("", None),
        ];
        for (text, number) in cases {
            assert_eq!(parse(text, Unit::Nanoseconds), number, "{text}");
        }
    }
}
