//! Formats numbers for people, in the form that docs/vocabulary.md describes and the page uses too.

use weir_view::{percent, rounded};
pub(crate) use weir_view::{separated, share};

use super::time::span;

/// A count that may be too low by up to `uncounted_max`: `≥1,234,567`.
pub(crate) fn at_least(count: u64, uncounted_max: u64) -> String {
    let mark = if uncounted_max > 0 { "≥" } else { "" };
    format!("{mark}{}", separated(count))
}

/// A total that may be a lower bound: `at least 1,234,567`.
pub(crate) fn lower_bound(total: u64, is_lower_bound: bool) -> String {
    let words = if is_lower_bound { "at least " } else { "" };
    format!("{words}{}", separated(total))
}

/// Bytes in a decimal unit with three significant digits: `1.25 GB`.
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut scaled = number as f64;
    let mut unit = 0;
    // 999.5 and more would be rounded to 1000 of the smaller unit.
    while scaled >= 999.5 && unit + 1 < UNITS.len() {
        scaled /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => format!("{number} B"),
        _ => {
            let bound = if number == SUM_MAX { "≥ " } else { "" };
            format!("{bound}{} {}", three_digits(scaled), UNITS[unit])
        }
    }
}

/// The greatest sum of sizes, which also stands for any greater one.
pub(crate) const SUM_MAX: u64 = u64::MAX;

/// A speed: `12.5 MB/s`.
pub(crate) fn rate(bytes_per_s: f64) -> String {
    format!("{}/s", bytes(bytes_per_s.round() as u64))
}

/// A duration in seconds with three significant digits, or above a minute in two units:
/// `850 µs`, `12.5 ms`, `1.20 s`, `2 min 5 s`.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        0.0 => "0 s".to_owned(),
        s if s < 0.000_999_5 => format!("{} µs", three_digits(s * 1e6)),
        s if s < 0.999_5 => format!("{} ms", three_digits(s * 1e3)),
        s if s < 59.95 => format!("{} s", three_digits(s)),
        s => span(s.round() as u64),
    }
}

/// A difference with its sign and grouped digits: `+1,234`, `-5`.
pub(crate) fn signed(difference: i64) -> String {
    let sign = if difference < 0 { '-' } else { '+' };
    format!("{sign}{}", separated(difference.unsigned_abs()))
}

/// A change in percent of the previous number: `+4.9%`, `-100.0%`; `new` if that was 0.
pub(crate) fn change(now: u64, before: u64) -> String {
    match percent(now, before) {
        Some(percent) if percent.abs() < 999.95 => format!("{percent:+.1}%"),
        // A factor is easier to read than such a large percentage.
        Some(_) => format!("×{}", three_digits(now as f64 / before as f64)),
        None if now == 0 => String::new(),
        None => "new".to_owned(),
    }
}

fn three_digits(number: f64) -> String {
    match number {
        n if n < 9.995 => rounded(n, 2),
        n if n < 99.95 => rounded(n, 1),
        n => rounded(n, 0),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_core::{parse_duration_ns, parse_size};

    use super::{SUM_MAX, at_least, bytes, change, duration, rate, separated, share, signed};

    #[test]
    fn a_sum_that_stopped_is_a_bound() {
        assert_eq!(bytes(SUM_MAX), "≥ 18447 PB");
        assert_eq!(bytes(SUM_MAX - 1), "18447 PB");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_size_that_is_shown_can_be_typed(shift in 1u32..64, number: u64) {
            let shown = bytes(number >> shift);
            prop_assert_eq!(bytes(parse_size(&shown).expect("a size")), shown);
        }

        #[test]
        fn a_duration_that_is_shown_can_be_typed(shift in 5u32..64, number: u64) {
            // Less than a microsecond has fewer than three digits.
            let shown = duration((number >> shift).max(1_000) as f64 / 1e9);
            let typed_ns = parse_duration_ns(&shown).expect("a duration");
            prop_assert_eq!(duration(typed_ns as f64 / 1e9), shown);
        }
    }

    #[test]
    fn changes_for_people() {
        assert_eq!(signed(1_234), "+1,234");
        assert_eq!(signed(-5), "-5");
        assert_eq!(signed(0), "+0");
        assert_eq!(change(3, 2), "+50.0%");
        assert_eq!(change(0, 2), "-100.0%");
        assert_eq!(change(2_000, 2), "×1000");
        assert_eq!(change(7, 0), "new");
        assert_eq!(change(0, 0), "");
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(separated(0), "0");
        assert_eq!(separated(999), "999");
        assert_eq!(separated(1_234_567), "1,234,567");
        assert_eq!((at_least(1_234, 0), at_least(1_234, 1)), ("1,234".into(), "≥1,234".into()));
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_500), "1.50 kB");
        assert_eq!(bytes(999_600), "1.00 MB");
        assert_eq!(bytes(u64::MAX), "≥ 18447 PB");
        assert_eq!(rate(12_540_000.4), "12.5 MB/s");
        assert_eq!(duration(0.00085), "850 µs");
        assert_eq!(duration(0.0125), "12.5 ms");
        assert_eq!(duration(1.2), "1.20 s");
        assert_eq!(duration(0.9999), "1.00 s");
        assert_eq!(duration(125.4), "2 min 5 s");
        assert_eq!(share(1, 3), "33.3%");
        assert_eq!(share(1, 100_000), "<0.1%");
        assert_eq!(share(99_999, 100_000), ">99.9%");
        assert_eq!(share(7, 10_000), "0.1%");
        assert_eq!(share(1_745, 2_000), "87.3%");
        assert_eq!(bytes(1_125), "1.13 kB");
        assert_eq!(duration(0.1125), "113 ms");
        assert_eq!(share(5, 5), "100%");
        assert_eq!(share(0, 5), "0%");
        assert_eq!(share(0, 0), "–");
    }
}
