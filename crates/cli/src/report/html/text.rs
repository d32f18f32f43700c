//! Escapes text of a log for HTML.

use weir_view::EMPTY_VALUE;

use crate::display;

/// Escapes the text for an element or a quoted attribute. Control characters and invisible format
/// characters are shown as escapes too.
pub(super) fn safe(text: &str) -> String {
    escaped(&display::safe(text))
}

/// Escapes bytes as [`safe`] does.
pub(super) fn safe_bytes(bytes: &[u8]) -> String {
    escaped(&display::safe_bytes(bytes))
}

/// Formats a value, isolated so that its writing direction does not affect the text around it.
pub(super) fn value(bytes: &[u8]) -> String {
    match safe_bytes(bytes) {
        empty if empty.is_empty() => format!("<span class=\"dim\">{EMPTY_VALUE}</span>"),
        value => format!("<bdi>{value}</bdi>"),
    }
}

/// An RFC 3339 time without its offset: `2025-12-17 09:03:01`.
pub(super) fn time(stamp: &str) -> String {
    safe(&stamp.get(..19).unwrap_or(stamp).replace('T', " "))
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '`' => escaped.push_str("&#96;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{safe, value};

    #[test]
    fn markup_and_format_characters_are_escaped() {
        assert_eq!(
            safe("</script><b a='\"`'>&amp;"),
            "&lt;/script&gt;&lt;b a=&#39;&quot;&#96;&#39;&gt;&amp;amp;"
        );
        assert_eq!(safe("\0\u{202e}x\u{2028}"), "\\x00\\u{202e}x\\u{2028}");
        assert_eq!(value(b"\xff<"), "<bdi>\\xff&lt;</bdi>");
        assert_eq!(value(b""), "<span class=\"dim\">(empty)</span>");
    }
}
