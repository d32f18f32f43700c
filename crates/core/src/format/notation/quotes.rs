//! Quotes that are not closed in the text of a format.

use super::positioned::Positioned;
use crate::format::error::FormatError;

/// Refuses a text with an odd number of quotes: a value after the one that lacks its partner would
/// be read as a part of another. `mark` is the byte that begins a value.
pub(super) fn check_quotes(
    definition: &str,
    text: &[Positioned],
    mark: u8,
) -> Result<(), FormatError> {
    let count = text.iter().filter(|(byte, _)| *byte == b'"').count();
    match unclosed(text, mark) {
        Some(at) if count % 2 == 1 => {
            let message = "this quote has no partner; write `\"` before and after its value";
            Err(FormatError::new(definition, at, message))
        }
        _ => Ok(()),
    }
}

/// The offset in the definition of the first quote after which another one opens, or of the last
/// one if it is open.
fn unclosed(text: &[Positioned], mark: u8) -> Option<usize> {
    let mut open = None;
    for (index, (byte, at)) in text.iter().enumerate() {
        if *byte != b'"' {
            continue;
        }
        let byte_at = |index: usize| text.get(index).map(|(byte, _)| *byte);
        let is_after_value =
            index.checked_sub(1).and_then(byte_at).is_some_and(|byte| byte != b' ');
        let opens = byte_at(index + 1) == Some(mark) && !is_after_value;
        open = match open {
            Some(open) if opens => return Some(open),
            Some(_) => None,
            None => Some(*at),
        };
    }
    open
}
