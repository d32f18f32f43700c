//! Text that is cut or padded to a number of terminal columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The number of columns that a text takes on a terminal.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The columns that a character adds to a text at most: some characters are
/// wide with a variation selector after them.
fn added_width(c: char) -> usize {
    if matches!(c, '\u{fe01}' | '\u{fe0f}') { 1 } else { c.width().unwrap_or(1) }
}

/// The beginning of the text that fits into `columns`, followed by `…` if the text was cut.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut fitted = String::new();
    let mut used = 0;
    for c in text.chars() {
        let c_width = added_width(c);
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

/// The text, or its beginning and end around `…` if it does not fit into `columns`. The end is
/// kept because long values often differ only there.
pub(crate) fn fit_middle(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let start = fit(text, columns.div_ceil(2));
    let room = columns - width(&start);
    let mut end = text.len();
    let mut used = 0;
    for (at, c) in text.char_indices().rev() {
        used += added_width(c);
        if used > room {
            break;
        }
        end = at;
    }
    start + &text[end..]
}

/// The text in lines of at most `columns`, or one line if `columns` is `usize::MAX`. The first line
/// begins with the first indent, the others with the second. A word that is wider than a line is
/// broken.
pub(crate) fn wrap(text: &str, [indent, hanging]: [&str; 2], columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = indent.to_owned();
    let mut is_blank = true;
    for word in text.split(' ') {
        if !is_blank && width(&line) + 1 + width(word) > columns {
            lines.push(std::mem::replace(&mut line, hanging.to_owned()));
            is_blank = true;
        }
        if !is_blank {
            line.push(' ');
        }
        for c in word.chars() {
            if width(&line) + added_width(c) > columns {
                lines.push(std::mem::replace(&mut line, hanging.to_owned()));
            }
            line.push(c);
        }
        is_blank = false;
    }
    lines.push(line);
    lines
}

/// The text, padded with spaces on the right to a width of `columns`.
pub(crate) fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The text, padded with spaces on the left to a width of `columns`.
pub(crate) fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

#[cfg(test)]
mod tests {
    use super::{fit, fit_middle, left, right, width, wrap};

    #[test]
    fn texts_are_cut_and_padded_by_columns() {
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

    #[test]
    fn wide_forms_of_characters_fit() {
        let text = "❤\u{fe0f}“\u{fe01}❤\u{fe0f}".repeat(3);
        assert_eq!(width(&text), 18);
        for columns in 0..20 {
            assert!(width(&fit(&text, columns)) <= columns, "{columns}");
            assert!(width(&fit_middle(&text, columns)) <= columns, "{columns}");
        }
        for columns in 2..20 {
            let lines = wrap(&text, ["", ""], columns);
            assert!(lines.iter().all(|line| width(line) <= columns), "{lines:?}");
            assert_eq!(lines.concat(), text);
        }
    }

    #[test]
    fn sentences_are_wrapped_at_words() {
        let indented = |text, columns| wrap(text, ["  ", "    "], columns);
        assert_eq!(indented("one two three", 10), ["  one two", "    three"]);
        assert_eq!(indented("abcdefghij k", 8), ["  abcdef", "    ghij", "    k"]);
        assert_eq!(indented("one two three", usize::MAX), ["  one two three"]);
        assert_eq!(wrap("日本語 abc", ["", ""], 5), ["日本", "語", "abc"]);
    }
}
