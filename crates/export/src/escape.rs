//! Escapes bytes that are not UTF-8.

use std::borrow::Cow;
use std::fmt::Write;

/// Returns a value as text without loss. Valid UTF-8 is unchanged.
///
/// In a value that is not valid UTF-8, each byte of an invalid sequence becomes `\xHH`, and each
/// backslash `\x5C`, so the bytes can be restored. The flag is true if the value was escaped.
/// Without it, `\xFF` could be either one byte or four characters.
///
/// ```
/// use weir_export::escaped;
///
/// assert_eq!(escaped(b"/a\\xFF"), ("/a\\xFF".into(), false));
/// assert_eq!(escaped(b"/a\\\xFF"), ("/a\\x5C\\xFF".into(), true));
/// ```
pub fn escaped(value: &[u8]) -> (Cow<'_, str>, bool) {
    if let Ok(text) = std::str::from_utf8(value) {
        return (Cow::Borrowed(text), false);
    }
    let mut escaped = String::with_capacity(value.len() + 16);
    for chunk in value.utf8_chunks() {
        escaped.push_str(&chunk.valid().replace('\\', "\\x5C"));
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "\\x{byte:02X}");
        }
    }
    (Cow::Owned(escaped), true)
}
