//! The escapes of JSON strings (RFC 8259, section 7).
//!
//! A record borrows its values from the line. A string with escapes has other bytes than the line,
//! so it is copied without them into a buffer that lives as long as the line ([`DecodeBuffer`]).
//! Strings without a backslash are borrowed from the line itself.
//!
//! Every escape is decoded, those of control characters too. Half of a surrogate pair becomes
//! U+FFFD. `\\x22` is the byte 0x22: nginx writes it in JSON without `escape=json`, and JSON has no
//! escape of this form. The scanner refuses lines with invalid escapes before.

use memchr::memchr;

/// Passes the parts of a string without its escapes to `push`, in order. They are at most as long
/// as `string` together: an escape is at least as long as what it stands for.
pub(in crate::format) fn unescape(string: &[u8], mut push: impl FnMut(&[u8])) {
    let mut rest = string;
    while let Some(at) = memchr(b'\\', rest) {
        push(&rest[..at]);
        let length = match rest.get(at + 1) {
            Some(b'u') => {
                let (letter, length) = unicode(&rest[at..]);
                push(letter.encode_utf8(&mut [0; 4]).as_bytes());
                length
            }
            Some(b'x') => {
                let digits =
                    rest.get(at + 2..at + 4).and_then(|text| std::str::from_utf8(text).ok());
                let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                push(&[byte.unwrap_or_default()]);
                4
            }
            Some(escaped) => {
                push(&[match escaped {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'b' => 8,
                    b'f' => 12,
                    byte => *byte,
                }]);
                2
            }
            None => 1,
        };
        rest = &rest[(at + length).min(rest.len())..];
    }
    push(rest);
}

/// The character of an escape such as `\u00e9`, or of the two escapes of a surrogate pair, and
/// the length of the escapes.
fn unicode(text: &[u8]) -> (char, usize) {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let first = unit(0).unwrap_or_default();
    if let Some(letter) = char::from_u32(u32::from(first)) {
        return (letter, 6);
    }
    let pair = unit(6).map(|second| char::decode_utf16([first, second]).next());
    match pair {
        Some(Some(Ok(letter))) => (letter, 12),
        _ => (char::REPLACEMENT_CHARACTER, 6),
    }
}

/// Memory for the values of lines that are not the bytes of the line.
///
/// Records borrow from it as they borrow from their lines. As a decoded string is shorter than its
/// bytes in the line, the values of some lines need at most as many bytes as the lines have.
#[derive(Debug, Default)]
pub(crate) struct DecodeBuffer<'a> {
    free: &'a mut [u8],
}

impl<'a> DecodeBuffer<'a> {
    /// Room for the values of lines that have `bytes` bytes together. `memory` grows to the next
    /// power of two; its content does not matter.
    pub(crate) fn with_room(memory: &'a mut Vec<u8>, bytes: usize) -> Self {
        if memory.len() < bytes {
            // Zeroed memory that is not written to costs nothing.
            *memory = vec![0; bytes.next_power_of_two()];
        }
        Self { free: memory }
    }

    /// Texts one behind the other; `None` if there is no room.
    pub(in crate::format) fn join<const N: usize>(
        &mut self,
        texts: [&[u8]; N],
    ) -> Option<&'a [u8]> {
        let length = texts.iter().map(|text| text.len()).sum();
        if self.free.len() < length {
            return None;
        }
        let (joined, free) = std::mem::take(&mut self.free).split_at_mut(length);
        self.free = free;
        let mut rest = &mut *joined;
        for text in texts {
            let (part, after) = rest.split_at_mut(text.len());
            part.copy_from_slice(text);
            rest = after;
        }
        Some(joined)
    }

    /// The string without its escapes. If there is no room, the string as it is.
    pub(in crate::format) fn decode(&mut self, string: &'a [u8]) -> &'a [u8] {
        if memchr(b'\\', string).is_none() {
            return string;
        }
        if self.free.len() < string.len() {
            return string;
        }
        let mut length = 0;
        unescape(string, |part| {
            self.free[length..length + part.len()].copy_from_slice(part);
            length += part.len();
        });
        let (decoded, free) = std::mem::take(&mut self.free).split_at_mut(length);
        self.free = free;
        decoded
    }

    /// The bytes of a list of their numbers, as journald writes a text that is not UTF-8. If it is no such
    /// list, or there is no room, the list as it is.
    pub(in crate::format) fn decode_list(&mut self, list: &'a [u8]) -> &'a [u8] {
        let inside = list.strip_prefix(b"[").and_then(|list| list.strip_suffix(b"]"));
        let number = |text: &[u8]| std::str::from_utf8(text.trim_ascii()).ok()?.parse::<u8>().ok();
        let mut length = 0;
        for text in inside.unwrap_or_default().split(|byte| *byte == b',') {
            let (Some(byte), Some(free)) = (number(text), self.free.get_mut(length)) else {
                return list;
            };
            *free = byte;
            length += 1;
        }
        let (decoded, free) = std::mem::take(&mut self.free).split_at_mut(length);
        self.free = free;
        decoded
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{DecodeBuffer, unescape};

    fn unescaped(string: &str) -> Vec<u8> {
        let mut text = Vec::new();
        unescape(string.as_bytes(), |part| text.extend_from_slice(part));
        text
    }

    #[test]
    fn every_escape_is_decoded() {
        for (string, expected) in [
            ("plain", "plain"),
            (r#"\"GET \\x\/ \t\b\f\r\n"#, "\"GET \\x/ \t\u{8}\u{c}\r\n"),
            (r"\u003c\u00e9\ud83d\ude00\ud83d.\ude00", "<é😀\u{fffd}.\u{fffd}"),
            (r"\\n", "\\n"),
            (r"a\x22\xc3\xA9\\x22", "a\"é\\x22"),
            ("", ""),
        ] {
            assert_eq!(unescaped(string), expected.as_bytes(), "{string}");
        }
    }

    #[test]
    fn a_string_for_which_there_is_no_room_stays() {
        let mut memory = Vec::new();
        let mut buffer = DecodeBuffer::with_room(&mut memory, 4);
        assert_eq!(buffer.decode(br"a\/b"), b"a/b");
        assert_eq!(buffer.decode(br"\/"), br"\/");
        assert_eq!(buffer.decode(br"c"), b"c");
    }

    /// A string of JSON with a random choice among the ways to write each character.
    fn json_string() -> impl Strategy<Value = String> {
        let character = any::<char>()
            .prop_filter("must be escaped", |c| !matches!(c, '"' | '\\') && !c.is_control());
        let short = "[\"/\\\\bfnrt]".prop_map(|letter| format!("\\{letter}"));
        let written = prop_oneof![
            character.prop_map(|c| c.to_string()),
            short,
            any::<char>().prop_map(|c| {
                let units = c.encode_utf16(&mut [0; 2]).to_vec();
                units.iter().map(|unit| format!("\\u{unit:04x}")).collect()
            }),
        ];
        prop::collection::vec(written, 0..20).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn strings_are_decoded_as_serde_json_does(string in json_string()) {
            let expected: String = serde_json::from_str(&format!("\"{string}\"")).expect("JSON");
            prop_assert_eq!(unescaped(&string), expected.as_bytes());
            let mut memory = Vec::new();
            let mut buffer = DecodeBuffer::with_room(&mut memory, string.len());
            prop_assert_eq!(buffer.decode(string.as_bytes()), expected.as_bytes());
        }

        #[test]
        fn nothing_is_longer_than_its_escapes(string in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut bytes = 0;
            unescape(&string, |part| bytes += part.len());
            prop_assert!(bytes <= string.len());
        }
    }
}
