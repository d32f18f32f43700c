//! Escapes characters of a log that are not safe to show.

use std::fmt::Write;

use weir_view::push_printable;

/// Escapes control characters and invisible format characters. A terminal would obey the former;
/// the latter hide or reorder the text around them.
pub(crate) fn safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    push_printable(&mut safe, text);
    safe
}

/// Escapes rows of CSV as [`safe`] does, but keeps the line ends between them. Line ends inside a
/// quoted value are escaped.
pub(crate) fn safe_rows(rows: &str) -> String {
    let mut safe = String::with_capacity(rows.len());
    let mut is_quoted = false;
    let mut characters = rows.chars().peekable();
    while let Some(c) = characters.next() {
        // A quote inside a value is doubled.
        is_quoted ^= c == '"';
        if c == '\r' && !is_quoted && characters.next_if_eq(&'\n').is_some() {
            safe.push_str("\r\n");
        } else {
            push_safe(&mut safe, c);
        }
    }
    safe
}

/// Escapes bytes as [`safe`] does. Bytes that are not UTF-8 are shown as escapes too.
pub(crate) fn safe_bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        push_printable(&mut shown, chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

fn push_safe(safe: &mut String, c: char) {
    push_printable(safe, c.encode_utf8(&mut [0; 4]));
}

#[cfg(test)]
mod tests {
    use super::{safe, safe_bytes, safe_rows};

    #[test]
    fn control_and_format_characters_are_escaped() {
        assert_eq!(safe("\x1b[31mred\x07\x7f"), "\\x1b[31mred\\x07\\x7f");
        assert_eq!(safe("a\tb\r\n\0"), "a\\tb\\r\\n\\x00");
        assert_eq!(safe("\u{9b}31m"), "\\u{9b}31m", "the one-byte CSI");
        assert_eq!(safe("\u{202e}gpj.exe"), "\\u{202e}gpj.exe");
        assert_eq!(safe("\u{200b}\u{feff}\u{2066}"), "\\u{200b}\\u{feff}\\u{2066}");
        assert_eq!(safe("\u{2028}\u{e0041}"), "\\u{2028}\\u{e0041}");
        assert_eq!(safe("/größe/日本?x=\\x22"), "/größe/日本?x=\\x22");
        assert_eq!(safe_rows("a,\x1b[2J\rb\r\nc\r\n"), "a,\\x1b[2J\\rb\r\nc\r\n");
        assert_eq!(safe_rows("\"a\r\n\"\"b\",c\r\n"), "\"a\\r\\n\"\"b\",c\r\n");
        assert_eq!(safe_bytes(b"\x1b[m\xff\xc3\xa4\xc3"), "\\x1b[m\\xffä\\xc3");
    }
}
