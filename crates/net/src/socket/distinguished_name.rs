//! Distinguished names of certificates (X.501) as text.

use std::fmt::Write;

use crate::der::{DerElement, DerReader, OBJECT_IDENTIFIER, SEQUENCE, SET};

/// The object identifiers of attributes, in DER, with the names that OpenSSL gives them.
const ATTRIBUTES: [(&[u8], &str); 14] = [
    (&[0x55, 4, 3], "CN"),
    (&[0x55, 4, 4], "SN"),
    (&[0x55, 4, 5], "serialNumber"),
    (&[0x55, 4, 6], "C"),
    (&[0x55, 4, 7], "L"),
    (&[0x55, 4, 8], "ST"),
    (&[0x55, 4, 9], "street"),
    (&[0x55, 4, 10], "O"),
    (&[0x55, 4, 11], "OU"),
    (&[0x55, 4, 12], "title"),
    (&[0x55, 4, 42], "GN"),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1], "emailAddress"),
    (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 1], "UID"),
    (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25], "DC"),
];

/// Types of strings.
const UTF8_STRING: u8 = 0x0c;
const NUMERIC_STRING: u8 = 0x12;
const PRINTABLE_STRING: u8 = 0x13;
const TELETEX_STRING: u8 = 0x14;
const IA5_STRING: u8 = 0x16;
const VISIBLE_STRING: u8 = 0x1a;
const BMP_STRING: u8 = 0x1e;

/// Returns the text of a name (RFC 4514), given the content of its outer sequence. It is that of
/// nginx's `$ssl_client_s_dn`: visible ASCII and spaces, with all else escaped. Returns `None` if the
/// name is malformed.
pub(super) fn text_of(name: &[u8]) -> Option<String> {
    let mut parts = Vec::new();
    let mut sets = DerReader::new(name);
    while !sets.is_empty() {
        let mut set = DerReader::new(sets.element(SET)?);
        let mut separator = ",";
        while !set.is_empty() {
            let mut pair = DerReader::new(set.element(SEQUENCE)?);
            let (kind, value) = (pair.element(OBJECT_IDENTIFIER)?, pair.any_element()?);
            parts.push((part(kind, value)?, separator));
            separator = "+";
        }
    }
    // The most specific part comes first.
    let mut text = String::new();
    let mut separator = "";
    for (part, before) in parts.iter().rev() {
        text.push_str(separator);
        text.push_str(part);
        separator = before;
    }
    Some(text)
}

fn part(kind: &[u8], value: DerElement<'_>) -> Option<String> {
    let name = ATTRIBUTES.iter().find(|(known, _)| *known == kind).map(|(_, name)| *name);
    Some(match (name, string(value)) {
        (Some(name), Some(value)) => format!("{name}={}", escape(&value)),
        (name, _) => {
            let name = name.map_or_else(|| dotted(kind), |name| Some(name.to_owned()))?;
            let mut text = format!("{name}=#");
            for byte in value.whole {
                let _ = write!(text, "{byte:02X}");
            }
            text
        }
    })
}

/// The UTF-8 of a string, if its type is known.
fn string(value: DerElement<'_>) -> Option<String> {
    match value.tag {
        UTF8_STRING | NUMERIC_STRING | PRINTABLE_STRING | IA5_STRING | VISIBLE_STRING => {
            String::from_utf8(value.content.to_vec()).ok()
        }
        // Software that writes this type means Latin-1.
        TELETEX_STRING => Some(value.content.iter().copied().map(char::from).collect()),
        BMP_STRING => {
            let (units, rest) = value.content.as_chunks();
            let units: Vec<u16> = units.iter().copied().map(u16::from_be_bytes).collect();
            String::from_utf16(&units).ok().filter(|_| rest.is_empty())
        }
        _ => None,
    }
}

fn escape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for (index, byte) in value.bytes().enumerate() {
        let is_first = index == 0;
        let is_last = index + 1 == value.len();
        match byte {
            b',' | b'+' | b'"' | b'\\' | b'<' | b'>' | b';' => {
                text.push('\\');
                text.push(char::from(byte));
            }
            b'#' if is_first => text.push_str("\\#"),
            b' ' if is_first || is_last => text.push_str("\\ "),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => {
                let _ = write!(text, "\\{byte:02X}");
            }
        }
    }
    text
}

/// An object identifier with dots.
fn dotted(kind: &[u8]) -> Option<String> {
    let mut numbers = Vec::new();
    let mut number: u64 = 0;
    for byte in kind {
        number = number.checked_mul(128)? + u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            numbers.push(number);
            number = 0;
        }
    }
    let (first, rest) = numbers.split_first()?;
    let root = (first / 40).min(2);
    let mut text = format!("{root}.{}", first - root * 40);
    for number in rest {
        let _ = write!(text, ".{number}");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::text_of;

    fn element(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).expect("short");
        let long: &[u8] = if length > 0x7f { &[0x81] } else { &[] };
        [&[tag], long, &[length], content].concat()
    }

    fn attribute(kind: &[u8], tag: u8, value: &[u8]) -> Vec<u8> {
        element(0x30, &[element(6, kind), element(tag, value)].concat())
    }

    /// The texts are those of OpenSSL 3.0, `x509 -subject -nameopt RFC2253`.
    #[test]
    fn names_are_written_as_in_nginx() {
        let cn = |tag, value: &[u8]| element(0x31, &attribute(&[0x55, 4, 3], tag, value));
        let country = element(0x31, &attribute(&[0x55, 4, 6], 0x13, b"DE"));
        for (name, expected) in [
            (vec![], Some("")),
            ([country.clone(), cn(0x0c, b"billing")].concat(), Some("CN=billing,C=DE")),
            (
                cn(0x0c, " a,b+c\"d\\e<f>g;h=i ".as_bytes()),
                Some("CN=\\ a\\,b\\+c\\\"d\\\\e\\<f\\>g\\;h=i\\ "),
            ),
            (cn(0x0c, "#ü\n".as_bytes()), Some("CN=\\#\\C3\\BC\\0A")),
            (cn(0x14, b"\xfc"), Some("CN=\\C3\\BC")),
            (cn(0x1e, b"\x00a\x00b"), Some("CN=ab")),
            (cn(0x0c, b"\xff"), Some("CN=#0C01FF")),
            (
                element(
                    0x31,
                    &[attribute(&[0x55, 4, 10], 0x0c, b"o"), attribute(&[0x55, 4, 11], 0x0c, b"u")]
                        .concat(),
                ),
                Some("OU=u+O=o"),
            ),
            (
                element(0x31, &attribute(&[0x2a, 0x86, 0x48, 0x01], 0x0c, b"x")),
                Some("1.2.840.1=#0C0178"),
            ),
            (country[..5].to_vec(), None),
            (element(0x30, b""), None),
        ] {
            assert_eq!(text_of(&name).as_deref(), expected, "{name:x?}");
        }
    }

    proptest! {
        #[test]
        fn no_name_is_more_than_visible_characters(
            bytes in proptest::collection::vec(any::<u8>(), 0..100),
            value in proptest::collection::vec(any::<u8>(), 0..60),
            tag in any::<u8>(),
        ) {
            let named = element(0x31, &attribute(&[0x55, 4, 3], tag, &value));
            for name in [&bytes, &named] {
                let text = text_of(name).unwrap_or_default();
                prop_assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{text:?}");
            }
        }
    }
}
