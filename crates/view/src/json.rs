//! Converts the types of this crate to and from JSON.

use std::fmt;
use std::io::{self, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::ser::Error as _;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter};

use crate::characters::is_unsafe;

/// A value could not be serialised, or a text is not the JSON of the expected type.
#[derive(Debug)]
pub struct JsonError(serde_json::Error);

/// Returns a value as JSON on one line, without a line feed. Control characters and invisible ones
/// ([`is_invisible`](crate::is_invisible)) are escaped, so that a terminal may show the text.
///
/// ```
/// let id = "a\u{9b}2J\u{202e}b".to_owned();
/// let name = weir_view::SessionCreated { id, displaced: None };
/// assert_eq!(weir_view::to_json(&name)?, r#"{"id":"a\u009b2J\u202eb"}"#);
/// # Ok::<(), weir_view::JsonError>(())
/// ```
///
/// # Errors
/// Fails if the value cannot be represented in JSON, such as a map with keys other than strings.
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<String, JsonError> {
    let mut text = Vec::new();
    write_json(&mut text, value).map_err(JsonError)?;
    String::from_utf8(text).map_err(|error| JsonError(serde_json::Error::custom(error)))
}

/// Appends a value as a JSON string, as [`to_json`] writes it. Bytes that are not UTF-8 become
/// U+FFFD.
///
/// ```
/// let mut text = Vec::new();
/// weir_view::push_json_string(&mut text, b"/\"a");
/// assert_eq!(text, b"\"/\\\"a\"");
/// ```
pub fn push_json_string(output: &mut Vec<u8>, value: &[u8]) {
    if stands_for_itself(value) {
        output.push(b'"');
        output.extend_from_slice(value);
        output.push(b'"');
    } else {
        // Writing to memory and serialising a string cannot fail.
        let _ = write_json(output, &String::from_utf8_lossy(value));
    }
}

/// Returns whether a value has only printable ASCII characters that need no escape. Nearly all
/// values of a log do.
///
/// It has no branches for each byte, so that the compiler generates vector instructions.
fn stands_for_itself(value: &[u8]) -> bool {
    let is_plain =
        |byte: &u8| (*byte >= b' ') & (*byte <= b'~') & (*byte != b'"') & (*byte != b'\\');
    let all = |bytes: &[u8]| bytes.iter().fold(true, |all, byte| all & is_plain(byte));
    let (chunks, rest) = value.as_chunks::<16>();
    chunks.iter().fold(true, |is_plain, chunk| is_plain & all(chunk)) & all(rest)
}

/// Writes the same text as [`to_json`] returns.
pub(crate) fn write_json<T: Serialize + ?Sized>(
    output: &mut impl Write,
    value: &T,
) -> Result<(), serde_json::Error> {
    value.serialize(&mut Serializer::with_formatter(output, SafeFormatter(CompactFormatter)))
}

/// Writes compact JSON, and escapes characters that are not safe to show. JSON allows this (RFC
/// 8259 section 7).
struct SafeFormatter(CompactFormatter);

impl Formatter for SafeFormatter {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, unsafe_char)) = rest.char_indices().find(|(_, c)| is_unsafe(*c)) {
            self.0.write_string_fragment(writer, &rest[..at])?;
            for unit in unsafe_char.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = &rest[at + unsafe_char.len_utf8()..];
        }
        self.0.write_string_fragment(writer, rest)
    }
}

/// Parses a value from JSON.
///
/// ```
/// let created: weir_view::SessionCreated = weir_view::from_json(r#"{"id":"3f0c"}"#)?;
/// assert_eq!(weir_view::to_json(&created)?, r#"{"id":"3f0c"}"#);
/// # Ok::<(), weir_view::JsonError>(())
/// ```
///
/// # Errors
/// Fails if the text is not valid JSON, or not the JSON of this type.
pub fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, JsonError> {
    serde_json::from_str(text).map_err(JsonError)
}

impl fmt::Display for JsonError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl std::error::Error for JsonError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{from_json, push_json_string, to_json};

    #[test]
    fn every_character_is_printable_and_keeps_its_value() {
        let all: String = (0..=0x10_FFFF).filter_map(char::from_u32).collect();
        let json = to_json(&all).expect("text");
        let is_safe = |c: char| !super::is_unsafe(c);
        assert!(json.chars().all(is_safe), "{:?}", json.chars().find(|c| !is_safe(*c)));
        assert!(from_json::<String>(&json).expect("JSON") == all);
        for (text, shown) in [
            ("\u{7f}\u{85}\u{9b}31m", r#""\u007f\u0085\u009b31m""#),
            ("a\u{202e}gpj", r#""a\u202egpj""#),
            ("\u{e0041}", r#""\udb40\udc41""#),
            ("\"größe\"\n日本", r#""\"größe\"\n日本""#),
        ] {
            assert_eq!(to_json(&text).expect("text"), shown);
        }
    }

    #[test]
    fn a_text_is_added_as_it_is_serialised() {
        let characters = (0..=0x10_FFFF).step_by(7).chain(0..0x300).filter_map(char::from_u32);
        let short = characters.map(|c| format!("a{c}b"));
        let places =
            (0..70).map(|place| format!("{}\"{}", "a".repeat(place), "b".repeat(70 - place)));
        for text in short.chain(places) {
            let mut string = b"[".to_vec();
            push_json_string(&mut string, text.as_bytes());
            assert_eq!(string[1..], *to_json(&text).expect("text").as_bytes());
        }
        let mut string = Vec::new();
        push_json_string(&mut string, b"a\xFF\x00");
        assert_eq!(string, "\"a\u{fffd}\\u0000\"".as_bytes());
    }
}
