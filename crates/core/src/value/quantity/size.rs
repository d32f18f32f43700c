//! Sizes in bytes.

use super::amount::Amount;
use super::error::{Kind, QuantityError, QuantityProblem};

const SIZE: Kind = Kind { name: "size", examples: "500, 10kB, 512MiB or 2G" };

const COUNT: Kind = Kind { name: "number", examples: "400 or 10kB" };

/// The letters of the units, each a thousand or 1024 of the one before.
const LETTERS: &str = "kmgtp";

/// Parses a size such as `4096`, `512MiB`, `1.5GB` or `2G`, and returns bytes.
///
/// K, M, G, T and P are powers of 1024, alone and with `iB`; with `B` they are powers of 1000. A
/// number without a unit is in bytes. Case is ignored. A part of a byte is dropped.
///
/// ```
/// use weir_core::parse_size;
///
/// assert_eq!(parse_size("1K"), parse_size("1KiB"));
/// assert_eq!(parse_size("1.5 kB"), Ok(1_500));
/// let error = parse_size("5XB").unwrap_err();
/// assert_eq!(error.range, 1..3);
/// ```
///
/// # Errors
/// If the text is not a size, or not below 2^64 bytes.
pub fn parse_size(text: &str) -> Result<u64, QuantityError> {
    let (amount, unit) = amount(text, &SIZE)?;
    Ok(amount.times(unit)?.whole)
}

/// Like [`parse_size`], but refuses a size that is not a whole number of bytes.
pub(crate) fn parse_whole_size(text: &str) -> Result<u64, QuantityError> {
    let (amount, unit) = amount(text, &SIZE)?;
    amount.whole_times(unit, "bytes")
}

/// Parses a number that may be a size. So a letter alone is refused: it would be a thousand in a
/// count.
pub(crate) fn parse_count(text: &str) -> Result<u64, QuantityError> {
    let (amount, unit) = amount(text, &COUNT)?;
    if let [letter] = amount.unit().as_bytes()
        && !letter.eq_ignore_ascii_case(&b'b')
    {
        let (number, letter) = (amount.number(), amount.unit().to_uppercase());
        let decimal = if letter == "K" { "k" } else { &letter };
        let sizes = [format!("{number}{decimal}B"), format!("{number}{letter}iB")];
        let problem = QuantityProblem::AmbiguousUnit { text: amount.text().to_owned(), sizes };
        return Err(amount.error(problem));
    }
    amount.whole_times(unit, "units")
}

/// The amount that is the whole text, and its unit in bytes.
fn amount<'t>(text: &'t str, kind: &Kind) -> Result<(Amount<'t>, u64), QuantityError> {
    let amount = Amount::at(text, text.len() - text.trim_start().len());
    let amount = amount.filter(|amount| text[amount.end()..].trim().is_empty());
    let amount = amount.ok_or_else(|| kind.error(text))?;
    let unit = unit_bytes(amount.unit()).ok_or_else(|| {
        let remedy = "write B, kB, KiB, MB, MiB, GB, GiB, TB or TiB".to_owned();
        amount.unknown_unit(kind, remedy)
    })?;
    Ok((amount, unit))
}

fn unit_bytes(unit: &str) -> Option<u64> {
    let unit = unit.to_ascii_lowercase();
    if matches!(unit.as_str(), "" | "b") {
        return Some(1);
    }
    let (letter, rest) = unit.split_at_checked(1)?;
    let power = LETTERS.find(letter)? as u32 + 1;
    match rest {
        "" | "ib" => Some(1024u64.pow(power)),
        "b" => Some(1000u64.pow(power)),
        _ => None,
    }
}
