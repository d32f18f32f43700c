//! The end of the plain part of a JSON string.

/// The offset of the first quote, backslash or control character, or the length of the text.
///
/// Most strings of a log have a dozen bytes, so a search that has to be set up costs more than it saves.
/// Eight bytes are compared at once: in `word ^ quotes` a byte that is equal is 0, and subtracting 1 from
/// each byte sets the high bit of a 0. A borrow can set that of a byte above the first, never below it.
pub(super) fn string_end(text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    let mut at = 0;
    while let Some(bytes) = text.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()) {
        let word = u64::from_le_bytes(bytes);
        let (quotes, slashes) = (word ^ (ONES * b'"' as u64), word ^ (ONES * b'\\' as u64));
        let found = (quotes.wrapping_sub(ONES) & !quotes)
            | (slashes.wrapping_sub(ONES) & !slashes)
            | (word.wrapping_sub(ONES * b' ' as u64) & !word);
        match found & HIGH {
            0 => at += 8,
            found => return at + found.trailing_zeros() as usize / 8,
        }
    }
    let is_end = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..b' ');
    at + text[at..].iter().position(is_end).unwrap_or(text.len() - at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::string_end;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn is_that_of_a_search_byte_by_byte(
            text in prop::collection::vec(prop_oneof![any::<u8>(), b' '..b'$', Just(b'a')], 0..40),
        ) {
            let is_end = |byte: &u8| *byte == b'"' || *byte == b'\\' || *byte < b' ';
            let expected = text.iter().position(is_end).unwrap_or(text.len());
            prop_assert_eq!(string_end(&text), expected);
        }
    }
}
