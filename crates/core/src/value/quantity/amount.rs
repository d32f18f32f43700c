//! A decimal number and its unit, as written.

use std::ops::Range;

use super::error::{Kind, QuantityError, QuantityProblem};

/// The most digits before the decimal point, without leading zeros: 2^64 has 20.
const WHOLE_DIGITS_MAX: usize = 20;

/// The most digits after the decimal point, without trailing zeros. With a unit of less than 2^60,
/// the products of both parts fit 128 bits.
const DECIMALS_MAX: usize = 19;

/// A number with the text of its unit, such as `1.5` and `h`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Amount<'t> {
    text: &'t str,
    start: usize,
    number_end: usize,
    unit_start: usize,
    end: usize,
}

/// The product of a number and a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Product {
    /// Its whole part.
    pub(super) whole: u64,
    /// Whether there is no other part.
    pub(super) is_whole: bool,
}

impl<'t> Amount<'t> {
    /// The amount at the start of `text[start..]`. Its unit may be empty. `None` if there is no
    /// number.
    pub(super) fn at(text: &'t str, start: usize) -> Option<Self> {
        let skip = |from: usize, is_part: fn(char) -> bool| {
            let rest = &text[from..];
            from + rest.find(|next| !is_part(next)).unwrap_or(rest.len())
        };
        let is_part_of_number = |next: char| next.is_ascii_digit() || next == '.';
        let number_end = skip(start, is_part_of_number);
        let unit_start = skip(number_end, char::is_whitespace);
        let end =
            skip(unit_start, |next| !next.is_whitespace() && next != '.' && !next.is_ascii_digit());
        let amount = Self { text, start, number_end, unit_start, end };
        decimal_parts(amount.number()).map(|_| amount)
    }

    /// The number.
    pub(super) fn number(&self) -> &'t str {
        &self.text[self.start..self.number_end]
    }

    /// The unit, or nothing.
    pub(super) fn unit(&self) -> &'t str {
        &self.text[self.unit_start..self.end]
    }

    /// The number and its unit.
    pub(super) fn text(&self) -> &'t str {
        &self.text[self.range()]
    }

    /// Where they are.
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Where the text goes on.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// An error at the number and its unit.
    pub(super) fn error(&self, problem: QuantityProblem) -> QuantityError {
        QuantityError { range: self.range(), problem }
    }

    /// The error that its unit does not exist, at the unit.
    pub(super) fn unknown_unit(&self, kind: &Kind, remedy: String) -> QuantityError {
        let (unit, kind) = (self.unit().to_owned(), kind.name);
        let problem = QuantityProblem::UnknownUnit { unit, kind, remedy };
        QuantityError { range: self.unit_start..self.end, problem }
    }

    /// The number in units of `unit`.
    ///
    /// # Errors
    /// If it does not fit 64 bits, or has too many decimals.
    pub(super) fn times(&self, unit: u64) -> Result<Product, QuantityError> {
        product(self.number(), unit)
            .ok_or_else(|| self.error(QuantityProblem::TooLarge { text: self.text().to_owned() }))
    }

    /// The number in units of `unit`, as a whole number of `base`.
    ///
    /// # Errors
    /// If it is not whole, or does not fit 64 bits.
    pub(super) fn whole_times(&self, unit: u64, base: &'static str) -> Result<u64, QuantityError> {
        let product = self.times(unit)?;
        if !product.is_whole {
            let (text, below) = (self.text().to_owned(), product.whole);
            return Err(self.error(QuantityProblem::NotWhole { text, base, below }));
        }
        Ok(product.whole)
    }
}

/// The digits before and after the point. `None` if it is not a number.
fn decimal_parts(number: &str) -> Option<(&str, &str)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    (has_digits && !fraction.contains('.')).then_some((whole, fraction))
}

fn product(number: &str, unit: u64) -> Option<Product> {
    let (whole, fraction) = decimal_parts(number)?;
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    if whole.len() > WHOLE_DIGITS_MAX || fraction.len() > DECIMALS_MAX {
        return None;
    }
    let times_unit = |digits: &str| {
        let number = digits.bytes().fold(0, |sum, digit| sum * 10 + u128::from(digit - b'0'));
        number.checked_mul(u128::from(unit))
    };
    let scale = 10u128.pow(fraction.len() as u32);
    let part = times_unit(fraction)?;
    Some(Product {
        whole: u64::try_from(times_unit(whole)?.checked_add(part / scale)?).ok()?,
        is_whole: part.is_multiple_of(scale),
    })
}
