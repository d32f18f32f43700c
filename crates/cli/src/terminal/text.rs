//! Text from a log, made fit for a terminal.

use std::fmt::Write;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The text with all that a terminal would obey, and all that hides or turns round what is
/// near it, shown as an escape: control characters, and invisible format characters.
pub(crate) fn safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        push_safe(&mut safe, c);
    }
    safe
}

/// As [`safe`], of rows of CSV, which stay rows.
pub(crate) fn safe_rows(rows: &str) -> String {
    rows.split("\r\n").map(safe).collect::<Vec<_>>().join("\r\n")
}

/// As [`safe`], of bytes: those that are no UTF-8 are shown as escapes too.
pub(crate) fn safe_bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|c| push_safe(&mut shown, c));
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

fn push_safe(safe: &mut String, c: char) {
    let written = match c {
        '\t' => write!(safe, "\\t"),
        '\n' => write!(safe, "\\n"),
        '\r' => write!(safe, "\\r"),
        c if c.is_control() && c.is_ascii() => write!(safe, "\\x{:02x}", u32::from(c)),
        c if c.is_control() || is_format(c) => write!(safe, "\\u{{{:x}}}", u32::from(c)),
        c => {
            safe.push(c);
            Ok(())
        }
    };
    debug_assert!(written.is_ok(), "writing to a string cannot fail");
}

/// Characters that are not seen but change how others are: marks and overrides of
/// direction, joiners and spaces without width, separators of lines, tags.
fn is_format(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{180E}'
        | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
        | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
        | '\u{E0000}'..='\u{E0FFF}')
}

/// The columns that a text takes on a terminal.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// As much of the text as fits into so many columns, with `…` where it was cut.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut fitted = String::new();
    let mut used = 0;
    for c in text.chars() {
        let c_width = c.width().unwrap_or(0);
        if used + c_width + 1 > columns {
            break;
        }
        used += c_width;
        fitted.push(c);
    }
    if columns > 0 {
        fitted.push('…');
    }
    fitted
}

/// The beginning and the end of the text with `…` between them, where it does not fit into so
/// many columns: what is long often differs only at its end.
pub(crate) fn fit_middle(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let start = fit(text, columns.div_ceil(2));
    let room = columns - width(&start);
    let mut end = text.len();
    let mut used = 0;
    for (at, c) in text.char_indices().rev() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        end = at;
    }
    start + &text[end..]
}

/// The text with spaces behind it, so many columns wide.
pub(crate) fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The text with spaces in front of it, so many columns wide.
pub(crate) fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

#[cfg(test)]
mod tests {
    use super::{fit, fit_middle, left, right, safe, safe_bytes, safe_rows, width};

    #[test]
    fn nothing_is_obeyed() {
        assert_eq!(safe("\x1b[31mred\x07\x7f"), "\\x1b[31mred\\x07\\x7f");
        assert_eq!(safe("a\tb\r\n\0"), "a\\tb\\r\\n\\x00");
        assert_eq!(safe("\u{9b}31m"), "\\u{9b}31m", "the one-byte CSI");
        assert_eq!(safe("\u{202e}gpj.exe"), "\\u{202e}gpj.exe");
        assert_eq!(safe("\u{200b}\u{feff}\u{2066}"), "\\u{200b}\\u{feff}\\u{2066}");
        assert_eq!(safe("\u{2028}\u{e0041}"), "\\u{2028}\\u{e0041}");
        assert_eq!(safe("/größe/日本?x=\\x22"), "/größe/日本?x=\\x22");
        assert_eq!(safe_rows("a,\x1b[2J\rb\r\nc\r\n"), "a,\\x1b[2J\\rb\r\nc\r\n");
        assert_eq!(safe_bytes(b"\x1b[m\xff\xc3\xa4\xc3"), "\\x1b[m\\xffä\\xc3");
    }

    #[test]
    fn widths_are_the_terminals() {
        assert_eq!(width("日本"), 4);
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 3), "ab…");
        assert_eq!(fit("abcd", 0), "");
        assert_eq!(fit_middle("abcdefghij", 6), "ab…hij");
        assert_eq!(fit_middle("日本語日本語", 7), "日…本語");
        assert_eq!(fit_middle("abc", 3), "abc");
        assert_eq!(left("日", 4), "日  ");
        assert_eq!(right("ab", 4), "  ab");
    }
}
