//! Text that is cut or padded to a number of terminal columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The number of columns that a text takes on a terminal.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The beginning of the text that fits into `columns`, followed by `…` if the text was cut.
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
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        end = at;
    }
    start + &text[end..]
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
    use super::{fit, fit_middle, left, right, width};

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
}
