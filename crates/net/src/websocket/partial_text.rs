//! The text of a message that has not arrived completely.

use std::str::from_utf8;

use super::violation::Violation;

/// A text that arrives in pieces, which may end within a character. Each piece is checked when it
/// arrives, so a text fails at its first byte that cannot be UTF-8 (RFC 6455 section 8.1).
#[derive(Debug, Default)]
pub(super) struct PartialText {
    text: String,
    /// The beginning of a character after `text`.
    character: Vec<u8>,
}

impl PartialText {
    /// Returns the number of bytes so far.
    pub(super) fn bytes(&self) -> usize {
        self.text.len() + self.character.len()
    }

    /// Adds a piece.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Result<(), Violation> {
        while let (false, Some((byte, rest))) = (self.character.is_empty(), bytes.split_first()) {
            self.character.push(*byte);
            bytes = rest;
            if valid_start(&self.character)?.len() == self.character.len() {
                self.text.push_str(valid_start(&self.character)?);
                self.character.clear();
            }
        }
        let valid = valid_start(bytes)?;
        self.text.push_str(valid);
        self.character.extend_from_slice(&bytes[valid.len()..]);
        Ok(())
    }

    /// Ends the text and swaps it into `text`. The next text reuses the memory of the old `text`.
    pub(super) fn finish_into(&mut self, text: &mut String) -> Result<(), Violation> {
        if !self.character.is_empty() {
            return Err(Violation::NotUtf8);
        }
        std::mem::swap(&mut self.text, text);
        self.text.clear();
        Ok(())
    }
}

/// Returns the complete characters at the start of `bytes`. Fails unless the rest is empty or the
/// beginning of one character.
fn valid_start(bytes: &[u8]) -> Result<&str, Violation> {
    from_utf8(bytes).or_else(|error| match error.error_len() {
        None => from_utf8(&bytes[..error.valid_up_to()]).map_err(|_| Violation::NotUtf8),
        Some(_) => Err(Violation::NotUtf8),
    })
}

#[cfg(test)]
mod tests {
    use super::PartialText;

    /// The number of bytes, pushed one at a time, after which the text fails; `None` if it is
    /// valid.
    fn fails_after(bytes: &[u8]) -> Option<usize> {
        let mut partial = PartialText::default();
        for (index, byte) in bytes.iter().enumerate() {
            if partial.push(&[*byte]).is_err() {
                return Some(index + 1);
            }
            assert_eq!(partial.bytes(), index + 1);
        }
        let mut text = String::new();
        if partial.finish_into(&mut text).is_err() {
            return Some(bytes.len());
        }
        assert_eq!(text.as_bytes(), bytes);
        None
    }

    #[test]
    fn a_text_fails_at_its_first_bad_byte() {
        assert_eq!(fails_after("grüße, 世界 🌊".as_bytes()), None);
        assert_eq!(fails_after(b"a\xff"), Some(2));
        assert_eq!(fails_after(b"\xf4\x90\x80\x80"), Some(2), "above U+10FFFF");
        assert_eq!(fails_after(b"\xed\xa0\x80"), Some(2), "a surrogate");
        assert_eq!(fails_after(b"\xc0\x80"), Some(1), "longer than it has to be");
        assert_eq!(fails_after(b"\xe4\xb8a"), Some(3), "cut by another character");
        assert_eq!(fails_after(b"a\xe4\xb8"), Some(3), "cut by the end");
    }

    #[test]
    fn pieces_may_end_anywhere() {
        let whole = "a ü 世 🌊 b";
        for first in 0..=whole.len() {
            for second in first..=whole.len() {
                let mut partial = PartialText::default();
                let bytes = whole.as_bytes();
                for piece in [&bytes[..first], &bytes[first..second], &bytes[second..]] {
                    partial.push(piece).unwrap();
                }
                let mut text = "the one before".to_owned();
                partial.finish_into(&mut text).unwrap();
                assert_eq!((text.as_str(), partial.bytes()), (whole, 0));
            }
        }
    }
}
