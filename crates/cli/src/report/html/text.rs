//! Text from a log, made fit for a page.

use crate::terminal;

/// The text as it may stand in an element or in quotes: nothing that a browser obeys, and
/// nothing unseen, such as marks of direction, NULs and control characters, which are shown as
/// escapes.
pub(super) fn safe(text: &str) -> String {
    escaped(&terminal::safe(text))
}

/// The same, of bytes.
pub(super) fn safe_bytes(bytes: &[u8]) -> String {
    escaped(&terminal::safe_bytes(bytes))
}

/// A value, which keeps its direction to itself.
pub(super) fn value(bytes: &[u8]) -> String {
    match safe_bytes(bytes) {
        empty if empty.is_empty() => "<span class=\"dim\">(empty)</span>".to_owned(),
        value => format!("<bdi>{value}</bdi>"),
    }
}

/// A stamp of RFC 3339 as people read it, without its offset.
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
    fn nothing_is_obeyed() {
        assert_eq!(
            safe("</script><b a='\"`'>&amp;"),
            "&lt;/script&gt;&lt;b a=&#39;&quot;&#96;&#39;&gt;&amp;amp;"
        );
        assert_eq!(safe("\0\u{202e}x\u{2028}"), "\\x00\\u{202e}x\\u{2028}");
        assert_eq!(value(b"\xff<"), "<bdi>\\xff&lt;</bdi>");
        assert_eq!(value(b""), "<span class=\"dim\">(empty)</span>");
    }
}
