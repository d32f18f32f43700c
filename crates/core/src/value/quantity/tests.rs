//! Tables of valid and refused texts, and round trips.

use proptest::prelude::*;

use super::{
    QuantityError, format_duration, parse_count, parse_duration_ns, parse_seconds_ns, parse_size,
    parse_whole_size,
};

const SECOND_NS: u64 = 1_000_000_000;
const MINUTE_NS: u64 = 60 * SECOND_NS;
const HOUR_NS: u64 = 60 * MINUTE_NS;
const DAY_NS: u64 = 24 * HOUR_NS;

#[test]
fn sizes_are_binary_unless_b_makes_them_decimal() {
    for (text, bytes) in [
        ("0", 0),
        ("4096", 4096),
        ("12b", 12),
        ("1K", 1 << 10),
        ("1k", 1 << 10),
        ("1KiB", 1 << 10),
        ("1kB", 1_000),
        ("1KB", 1_000),
        ("512MiB", 512 << 20),
        ("1.5MB", 1_500_000),
        ("2 gb", 2_000_000_000),
        ("2G", 2 << 30),
        (" 1tib ", 1 << 40),
        ("1.25 PB", 1_250_000_000_000_000),
        (".5K", 512),
        ("0.0009765625K", 1),
        ("18446744073709551615", u64::MAX),
        ("00018446744073709551.615kB", u64::MAX),
    ] {
        assert_eq!(parse_size(text), Ok(bytes), "{text}");
        assert_eq!(parse_whole_size(text), Ok(bytes), "{text}");
    }
    assert_eq!(parse_size("1.1K"), Ok(1_126), "a part of a byte is dropped");
}

#[test]
fn durations_have_units() {
    for (text, nanoseconds) in [
        ("0", 0),
        ("0s", 0),
        ("7ns", 7),
        ("250us", 250_000),
        ("250\u{b5}s", 250_000),
        ("250\u{3bc}s", 250_000),
        ("200ms", 200_000_000),
        ("1.5s", 1_500_000_000),
        ("5m", 5 * MINUTE_NS),
        ("5min", 5 * MINUTE_NS),
        ("5 min", 5 * MINUTE_NS),
        ("5\u{a0}min", 5 * MINUTE_NS),
        ("1.5h", 90 * MINUTE_NS),
        ("1h30m", 90 * MINUTE_NS),
        ("7d", 7 * DAY_NS),
        ("2w", 14 * DAY_NS),
        ("17 days 3 h", 17 * DAY_NS + 3 * HOUR_NS),
        ("2 min 5 s", 125 * SECOND_NS),
        ("1 hour", HOUR_NS),
        ("18446744073709551615ns", u64::MAX),
        ("0.1w", DAY_NS * 7 / 10),
    ] {
        assert_eq!(parse_duration_ns(text), Ok(nanoseconds), "{text}");
        assert_eq!(parse_seconds_ns(text), Ok(nanoseconds), "{text}");
    }
    assert_eq!(parse_seconds_ns("0.5"), Ok(SECOND_NS / 2), "servers log seconds");
    assert_eq!(parse_seconds_ns("0.1"), Ok(SECOND_NS / 10));
}

/// Checks the place and the message of errors.
fn check_refusals(parse: fn(&str) -> Result<u64, QuantityError>, cases: &[(&str, &str, &str)]) {
    for (text, place, message) in cases {
        let error = parse(text).expect_err(text);
        assert_eq!(&text[error.range.clone()], *place, "{text}");
        assert_eq!(error.to_string(), *message);
    }
}

#[test]
fn wrong_sizes_are_refused_at_their_place() {
    let examples = "write it as 500, 10kB, 512MiB or 2G";
    for text in ["", "G", "-1", "1.2.3", ".", "1e3", "1,5", "+1", "1 2", "٣"] {
        assert_eq!(parse_size(text).expect_err(text).range, 0..text.len(), "{text}");
    }
    let units = "is not a unit of a size; write B, kB, KiB, MB, MiB, GB, GiB, TB or TiB";
    check_refusals(
        parse_whole_size,
        &[
            ("much", "much", &format!("`much` is not a valid size; {examples}")),
            ("5XB", "XB", &format!("`XB` {units}")),
            ("1é", "é", &format!("`é` {units}")),
            ("1s", "s", &format!("`s` {units}")),
            ("1.1K", "1.1K", "`1.1K` is not a whole number of bytes; write 1126 or 1127"),
            ("1.5", "1.5", "`1.5` is not a whole number of bytes; write 1 or 2"),
            (
                "18446744073709551616",
                "18446744073709551616",
                "`18446744073709551616` is too large, or has more than 19 decimals",
            ),
            ("99999999P", "99999999P", "`99999999P` is too large, or has more than 19 decimals"),
        ],
    );
    check_refusals(
        parse_count,
        &[
            (
                "1.5k",
                "1.5k",
                "`1.5k` may count in thousands or in steps of 1024; write 1.5kB, 1.5KiB or all \
                 digits",
            ),
            ("x", "x", "`x` is not a valid number; write it as 400 or 10kB"),
        ],
    );
    assert_eq!(parse_count("10kB"), Ok(10_000));
    assert_eq!(parse_count("400"), Ok(400));
}

#[test]
fn wrong_durations_are_refused_at_their_place() {
    let examples = "write it as 200ms, 90s, 15min, 1.5h or 7d";
    let units = "is not a unit of a duration; write";
    check_refusals(
        parse_duration_ns,
        &[
            ("", "", &format!("`` is not a valid duration; {examples}")),
            ("soon", "soon", &format!("`soon` is not a valid duration; {examples}")),
            ("-1h", "-1h", &format!("`-1h` is not a valid duration; {examples}")),
            (
                "1h and more",
                "1h and more",
                &format!("`1h and more` is not a valid duration; {examples}"),
            ),
            ("90", "90", "`90` lacks a unit; write 90s or 90min"),
            ("1h30", "30", "`30` lacks a unit; write 30s or 30min"),
            ("1y", "y", &format!("`y` {units} ns, us, ms, s, min, h, d or w")),
            ("2GiB", "GiB", &format!("`GiB` {units} ns, us, ms, s, min, h, d or w")),
            ("5M", "M", &format!("`M` {units} m")),
            ("200MS", "MS", &format!("`MS` {units} ms")),
            ("30m1h", "1h", "`1h` must be before smaller units, as in 1h30m"),
            ("1m 2min", "2min", "`2min` must be before smaller units, as in 1h30m"),
            ("0.5ns", "0.5ns", "`0.5ns` is not a whole number of nanoseconds; write 0 or 1"),
            ("600y", "y", &format!("`y` {units} ns, us, ms, s, min, h, d or w")),
            ("31000w", "31000w", "`31000w` is too large, or has more than 19 decimals"),
            ("30500w 7d", "30500w 7d", "`30500w 7d` is too large, or has more than 19 decimals"),
        ],
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_duration_that_is_written_is_read_alike(number: u64, unit in 0usize..7) {
        let unit_ns = [1, 1_000, 1_000_000, SECOND_NS, MINUTE_NS, HOUR_NS, DAY_NS][unit];
        let nanoseconds = number / unit_ns * unit_ns;
        prop_assert_eq!(parse_duration_ns(&format_duration(nanoseconds)), Ok(nanoseconds));
        prop_assert_eq!(parse_duration_ns(&format_duration(number)), Ok(number));
    }

    #[test]
    fn every_number_of_bytes_has_an_exact_decimal_size(bytes: u64, power in 1u32..=5) {
        let unit = 1000u64.pow(power);
        let (whole, part) = (bytes / unit, bytes % unit);
        let letter = ["", "k", "M", "G", "T", "P"][power as usize];
        let text = format!("{whole}.{part:0width$}{letter}B", width = 3 * power as usize);
        prop_assert_eq!(parse_whole_size(&text), Ok(bytes));
    }

    #[test]
    fn every_binary_unit_is_a_power_of_1024(number in 0u64..16_384, power in 1u32..=5) {
        let letter = ["", "K", "M", "G", "T", "P"][power as usize];
        let bytes = number.checked_mul(1024u64.pow(power)).expect("it fits 64 bits");
        for unit in [letter.to_owned(), format!("{letter}iB")] {
            prop_assert_eq!(parse_size(&format!("{number}{unit}")), Ok(bytes));
        }
    }

    #[test]
    fn an_error_is_within_the_text(text in "[0-9.]{0,30}[ a-zA-Zµé0-9.]{0,8}") {
        for parse in [parse_size, parse_count, parse_duration_ns, parse_seconds_ns] {
            if let Err(error) = parse(&text) {
                prop_assert!(text.get(error.range).is_some());
            }
        }
    }
}
