//! Characters that are not safe to show.

/// Whether a character is invisible but changes how others are shown: marks and overrides of
/// direction, joiners and spaces without width, line separators, tags.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{180E}'
        | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
        | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
        | '\u{E0000}'..='\u{E0FFF}')
}

/// Whether a terminal would obey a character, or not show it.
pub(crate) fn is_unsafe(c: char) -> bool {
    match c {
        ' '..='~' => false,
        c => c.is_control() || is_invisible(c),
    }
}
