//! Converts bytes of a log to text, and to hexadecimal if they are not UTF-8.

/// Returns the bytes as text, with U+FFFD for those that are not UTF-8.
pub(crate) fn lossy_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the bytes in hexadecimal if [`lossy_text`] would replace some.
pub(crate) fn hex_if_needed(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).is_err().then(|| to_hex(bytes))
}

/// Returns the bytes in hexadecimal.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Decodes hexadecimal. Returns `None` if the text is not valid.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    let pairs = (0..text.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}
