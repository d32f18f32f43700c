//! Percent encoding (RFC 3986 section 2.1).

use std::borrow::Cow;

/// Encodes a text for a form or a part of a URL.
///
/// ```
/// use weir_net::percent_encode;
///
/// assert_eq!(percent_encode("a b/é"), "a%20b%2F%C3%A9");
/// ```
pub fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// Decodes percent encoding: `%41` becomes `A`. An invalid sequence stays as it is. The result is
/// not necessarily UTF-8.
///
/// ```
/// use weir_net::percent_decode;
///
/// assert_eq!(&*percent_decode(b"a%20b, 100%"), b"a b, 100%");
/// ```
pub fn percent_decode(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(start) = text.iter().position(|byte| *byte == b'%') else {
        return Cow::Borrowed(text);
    };
    let (plain, mut rest) = text.split_at(start);
    let mut decoded = Vec::with_capacity(text.len());
    decoded.extend_from_slice(plain);
    while let [first, tail @ ..] = rest {
        let byte = match tail.first_chunk() {
            Some(digits) if *first == b'%' => byte_of(*digits),
            _ => None,
        };
        decoded.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &tail[2..] } else { tail };
    }
    Cow::Owned(decoded)
}

/// Returns the byte with these hexadecimal digits.
fn byte_of([high, low]: [u8; 2]) -> Option<u8> {
    Some(hex_digit(high)? << 4 | hex_digit(low)?)
}

/// Returns the value of a hexadecimal digit in upper or lower case; `None` if it is another byte.
///
/// ```
/// use weir_net::hex_digit;
///
/// assert_eq!(hex_digit(b'F'), Some(15));
/// assert_eq!(hex_digit(b'g'), None);
/// ```
pub fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::{hex_digit, percent_decode};

    #[test]
    fn digits_are_those_of_the_standard_library() {
        for byte in 0..=u8::MAX {
            let expected = char::from(byte).to_digit(16);
            assert_eq!(hex_digit(byte).map(u32::from), expected, "{byte:#x}");
        }
    }

    #[test]
    fn valid_sequences_are_decoded() {
        for (text, expected) in [
            (&b""[..], &b""[..]),
            (b"a+b", b"a+b"),
            (b"%41", b"A"),
            (b"a%20b%2fc%2F", b"a b/c/"),
            (b"%C3%A9%ff%00", b"\xc3\xa9\xff\0"),
            (b"%2541", b"%41"),
            (b"%%41%", b"%A%"),
            (b"%4", b"%4"),
            (b"%4g%g4%+1", b"%4g%g4%+1"),
            (b"\xff%41", b"\xffA"),
        ] {
            assert_eq!(&*percent_decode(text), expected, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn a_text_without_sequences_is_not_copied() {
        assert!(matches!(percent_decode(b"/a/b?c=d"), Cow::Borrowed(b"/a/b?c=d")));
    }
}
