//! Recognises and escapes characters that are not safe to show.

use std::fmt::Write;

/// Returns whether a character is invisible but changes how others are shown: direction marks and
/// overrides, zero-width joiners and spaces, line separators, tags.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{180E}'
        | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
        | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
        | '\u{E0000}'..='\u{E0FFF}')
}

/// Returns whether a terminal would interpret a character, or not show it.
pub(crate) fn is_unsafe(c: char) -> bool {
    match c {
        ' '..='~' => false,
        c => c.is_control() || is_invisible(c),
    }
}

/// Appends a text. Escapes control characters, which a terminal would interpret, and invisible ones
/// ([`is_invisible`]), which hide or reorder the text around them.
///
/// ```
/// let mut text = String::new();
/// weir_view::push_printable(&mut text, "a\u{9b}2J\n\u{202e}b");
/// assert_eq!(text, r"a\u{9b}2J\n\u{202e}b");
/// ```
pub fn push_printable(output: &mut String, text: &str) {
    for c in text.chars() {
        let written = match c {
            '\t' => write!(output, "\\t"),
            '\n' => write!(output, "\\n"),
            '\r' => write!(output, "\\r"),
            c if c.is_control() && c.is_ascii() => write!(output, "\\x{:02x}", u32::from(c)),
            c if is_unsafe(c) => write!(output, "\\u{{{:x}}}", u32::from(c)),
            c => {
                output.push(c);
                Ok(())
            }
        };
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
    }
}
