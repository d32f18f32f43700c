//! Numbers as decimal text.

use super::number::SECOND_NS;

/// The most digits of a number.
const DIGITS_MAX: usize = u64::MAX.ilog10() as usize + 1;

/// Adds a number to a text, in decimal digits.
///
/// ```
/// let mut text = b"bytes=".to_vec();
/// weir_core::push_decimal(&mut text, 512);
/// assert_eq!(text, b"bytes=512");
/// ```
pub fn push_decimal(output: &mut Vec<u8>, number: u64) {
    push_digits(output, number, 1);
}

/// Adds a duration to a text, in seconds with as many decimals as it needs.
///
/// ```
/// let mut text = Vec::new();
/// weir_core::push_seconds(&mut text, 1_250_000_000);
/// assert_eq!(text, b"1.25");
/// ```
pub fn push_seconds(output: &mut Vec<u8>, nanoseconds: u64) {
    let (whole, mut part) = (nanoseconds / SECOND_NS, nanoseconds % SECOND_NS);
    push_decimal(output, whole);
    if part == 0 {
        return;
    }
    let mut decimals = 9;
    while part.is_multiple_of(10) {
        part /= 10;
        decimals -= 1;
    }
    output.push(b'.');
    push_digits(output, part, decimals);
}

/// Adds a number in at least `digits_min` digits.
fn push_digits(output: &mut Vec<u8>, mut number: u64, digits_min: usize) {
    let mut digits = [b'0'; DIGITS_MAX];
    let mut length = 0;
    // From the last digit to the first.
    for digit in digits.iter_mut().rev() {
        if number == 0 {
            break;
        }
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        length += 1;
    }
    let start = digits.len() - length.max(digits_min).min(digits.len());
    output.extend_from_slice(digits.get(start..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::{push_decimal, push_seconds};

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        let powers = (0..20).map(|power| 10u64.pow(power));
        for number in powers.flat_map(|it| [it - 1, it, it + 7]).chain([u64::MAX]) {
            let mut text = b"=".to_vec();
            push_decimal(&mut text, number);
            assert_eq!(text, format!("={number}").as_bytes());
        }
    }

    #[test]
    fn durations_are_seconds_without_trailing_zeros() {
        for (nanoseconds, text) in [
            (0, "0"),
            (1_250_000_000, "1.25"),
            (10_000_000_000, "10"),
            (1_000_500_000, "1.0005"),
            (1, "0.000000001"),
            (u64::MAX, "18446744073.709551615"),
        ] {
            let mut written = Vec::new();
            push_seconds(&mut written, nanoseconds);
            assert_eq!(written, text.as_bytes());
        }
    }
}
