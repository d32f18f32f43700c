//! Characters of byte strings, as Go decodes them: each byte that is not valid UTF-8 counts as one
//! character.

/// The characters of a text, each with its bytes. An invalid byte is U+FFFD.
pub(super) fn characters(text: &[u8]) -> impl Iterator<Item = (char, &[u8])> {
    text.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid();
        let known = valid.char_indices().map(move |(start, character)| {
            (character, &valid.as_bytes()[start..start + character.len_utf8()])
        });
        let unknown = chunk.invalid().chunks(1).map(|byte| (char::REPLACEMENT_CHARACTER, byte));
        known.chain(unknown)
    })
}

/// The number of characters.
pub(super) fn count(text: &[u8]) -> usize {
    text.utf8_chunks().map(|chunk| chunk.valid().chars().count() + chunk.invalid().len()).sum()
}

/// Removes the characters at both ends of a text for which `is_cut` returns true.
pub(super) fn trimmed(text: &[u8], is_cut: impl Fn(char) -> bool) -> &[u8] {
    let mut kept = 0..0;
    let mut end = 0;
    for (character, bytes) in characters(text) {
        let start = end;
        end += bytes.len();
        if is_cut(character) {
            continue;
        }
        kept = if kept.is_empty() { start..end } else { kept.start..end };
    }
    &text[kept]
}

/// Splits a text at white space.
pub(super) fn words(text: &[u8]) -> Vec<&[u8]> {
    let mut words = Vec::new();
    let (mut start, mut end) = (0, 0);
    for (character, bytes) in characters(text) {
        if character.is_whitespace() {
            words.push(&text[start..end]);
            start = end + bytes.len();
        }
        end += bytes.len();
    }
    words.push(&text[start..]);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{characters, count, trimmed, words};

    #[test]
    fn bytes_that_are_no_characters_count_as_one_each() {
        // The first two bytes of a character of three, and a surrogate.
        for (text, expected) in [(&b"a\xe2\x82b"[..], 4), (b"\xed\xa0\x80", 3), (b"\xff", 1)] {
            assert_eq!(count(text), expected, "{text:?}");
        }
    }

    #[test]
    fn white_space_is_that_of_go() {
        let text = "\u{b}\u{85} a\u{a0}b\u{2003}\u{3000}".as_bytes();
        assert_eq!(trimmed(text, char::is_whitespace), "a\u{a0}b".as_bytes());
        assert_eq!(words(text), [b"a", b"b"]);
        assert!(words(b" \x0b ").is_empty());
    }

    proptest! {
        #[test]
        fn texts_are_the_same_as_by_their_characters(text in "[aé€ \u{b}😀]{0,12}", set in "[aé ]{0,2}") {
            let bytes = text.as_bytes();
            prop_assert_eq!(count(bytes), text.chars().count());
            let joined: Vec<u8> = characters(bytes).flat_map(|(_, bytes)| bytes.to_vec()).collect();
            prop_assert_eq!(&joined, bytes);
            let is_cut = |character| set.contains(character);
            prop_assert_eq!(trimmed(bytes, is_cut), text.trim_matches(is_cut).as_bytes());
            let expected: Vec<&[u8]> = text.split_whitespace().map(str::as_bytes).collect();
            prop_assert_eq!(words(bytes), expected);
        }

        #[test]
        fn no_byte_is_lost(text in proptest::collection::vec(any::<u8>(), 0..20)) {
            let joined: Vec<u8> = characters(&text).flat_map(|(_, bytes)| bytes.to_vec()).collect();
            prop_assert_eq!(joined, text.clone());
            prop_assert_eq!(count(&text), characters(&text).count());
        }
    }
}
