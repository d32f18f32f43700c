//! Durations in nanoseconds.

use super::amount::Amount;
use super::error::{Kind, QuantityError, QuantityProblem};

const SECOND_NS: u64 = 1_000_000_000;

/// Units from the largest to the smallest: nanoseconds, and names. The first name is written.
const UNITS: [(u64, &[&str]); 8] = [
    (7 * 86_400 * SECOND_NS, &["w", "week", "weeks"]),
    (86_400 * SECOND_NS, &["d", "day", "days"]),
    (3_600 * SECOND_NS, &["h", "hour", "hours"]),
    (60 * SECOND_NS, &["m", "min", "minute", "minutes"]),
    (SECOND_NS, &["s", "sec", "second", "seconds"]),
    (1_000_000, &["ms"]),
    // The micro sign, and the Greek letter.
    (1_000, &["us", "\u{b5}s", "\u{3bc}s"]),
    (1, &["ns"]),
];

const DURATION: Kind = Kind { name: "duration", examples: "200ms, 90s, 15min, 1.5h or 7d" };

/// Parses a duration such as `200ms`, `90s`, `15m`, `1.5h`, `2w` or `1h 30min`, and returns
/// nanoseconds.
///
/// The units are `ns`, `us` or `µs`, `ms`, `s`, `m` or `min`, `h`, `d` and `w`; those from a second
/// up may be words, as in `2 hours`. A day has 24 hours. Larger units come first. Only zero needs
/// no unit.
///
/// ```
/// use weir_core::parse_duration_ns;
///
/// assert_eq!(parse_duration_ns("1h30m"), Ok(5_400_000_000_000));
/// assert_eq!(parse_duration_ns("5m"), parse_duration_ns("5 min"));
/// let error = parse_duration_ns("90").unwrap_err();
/// assert_eq!(error.to_string(), "`90` lacks a unit; write 90s or 90min");
/// ```
///
/// # Errors
/// If the text is not a duration, not a whole number of nanoseconds, or not below 2^64 of them.
pub fn parse_duration_ns(text: &str) -> Result<u64, QuantityError> {
    parse(text, None)
}

/// Like [`parse_duration_ns`], but a number without a unit is in seconds, as servers log them.
pub(crate) fn parse_seconds_ns(text: &str) -> Result<u64, QuantityError> {
    parse(text, Some(SECOND_NS))
}

/// Writes a duration in the largest unit of which it is a multiple, up to days: `90m`.
///
/// ```
/// assert_eq!(weir_core::format_duration(90_000_000_000), "90s");
/// ```
pub fn format_duration(nanoseconds: u64) -> String {
    let is_unit = |unit_ns: u64| nanoseconds >= unit_ns && nanoseconds.is_multiple_of(unit_ns);
    // Weeks are read, but not written.
    match UNITS[1..].iter().find(|(unit_ns, _)| is_unit(*unit_ns)) {
        Some((unit_ns, names)) => format!("{}{}", nanoseconds / unit_ns, names[0]),
        None => format!("{nanoseconds}ns"),
    }
}

/// Parses a duration. `plain_ns` is the unit of a number without one.
fn parse(text: &str, plain_ns: Option<u64>) -> Result<u64, QuantityError> {
    let mut sum: u64 = 0;
    let mut smallest_ns = u64::MAX;
    let mut at = text.len() - text.trim_start().len();
    loop {
        let amount = Amount::at(text, at).ok_or_else(|| DURATION.error(text))?;
        let is_all = smallest_ns == u64::MAX && text[amount.end()..].trim().is_empty();
        let unit_ns = match plain_ns {
            Some(plain_ns) if is_all && amount.unit().is_empty() => plain_ns,
            _ if is_all && amount.text() == "0" => return Ok(0),
            _ => unit_ns(&amount)?,
        };
        if unit_ns >= smallest_ns {
            return Err(amount.error(QuantityProblem::Order { text: amount.text().to_owned() }));
        }
        smallest_ns = unit_ns;
        sum = sum.checked_add(amount.whole_times(unit_ns, "nanoseconds")?).ok_or_else(|| {
            let text = text.to_owned();
            QuantityError { range: 0..text.len(), problem: QuantityProblem::TooLarge { text } }
        })?;
        at = amount.end();
        at += text[at..].len() - text[at..].trim_start().len();
        if at == text.len() {
            return Ok(sum);
        }
    }
}

fn unit_ns(amount: &Amount<'_>) -> Result<u64, QuantityError> {
    let unit = amount.unit();
    if unit.is_empty() {
        let (number, examples) = (amount.number().to_owned(), ["s", "min"]);
        return Err(amount.error(QuantityProblem::NoUnit { number, examples }));
    }
    let by_name = |unit: &str| UNITS.iter().find(|(_, names)| names.contains(&unit));
    by_name(unit).map(|(unit_ns, _)| *unit_ns).ok_or_else(|| {
        let lower = unit.to_lowercase();
        let remedy = match by_name(&lower) {
            Some(_) => format!("write {lower}"),
            None => "write ns, us, ms, s, min, h, d or w".to_owned(),
        };
        amount.unknown_unit(&DURATION, remedy)
    })
}
