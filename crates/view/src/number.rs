//! Numbers for people, and what JSON leaves out.

/// A number with its digits grouped: `1,234,567`.
pub fn separated(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

// The signature is that of serde.
#[expect(clippy::trivially_copy_pass_by_ref)]
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}
