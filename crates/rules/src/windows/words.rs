//! The words of lines.

use std::ops::Range;

use crate::error::RuleError;

/// A word of a text, with its place. Quotation marks are left in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word<'t> {
    pub(crate) text: &'t str,
    pub(crate) start: usize,
}

impl<'t> Word<'t> {
    pub(crate) fn range(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    pub(crate) fn error(&self, message: impl std::fmt::Display) -> RuleError {
        RuleError::new(self.range(), message)
    }

    /// A part of the word.
    pub(crate) fn part(&self, range: Range<usize>) -> Self {
        Self { text: &self.text[range.clone()], start: self.start + range.start }
    }
}

/// The words of each line of a text.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Vec<Word<'_>>> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |line| {
        let words = words(line, start);
        start += line.len();
        words
    })
}

/// The words of a line that begins at `start` of its text. Space between quotation marks does not
/// end a word, and `#` at the start of a word begins a comment.
fn words(line: &str, start: usize) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut begin = None;
    let mut quote = None;
    let mut is_escaped = false;
    for (at, next) in line.char_indices() {
        let is_space = next.is_whitespace() && quote.is_none();
        match (begin, is_space) {
            (None, false) if next == '#' => return words,
            (None, false) => begin = Some(at),
            (Some(from), true) => {
                words.push(Word { text: &line[from..at], start: start + from });
                begin = None;
            }
            _ => {}
        }
        quote = match quote {
            Some('"') if is_escaped => quote,
            Some(open) if next == open => None,
            None if matches!(next, '"' | '\'') => Some(next),
            quote => quote,
        };
        is_escaped = next == '\\' && !is_escaped;
    }
    words.extend(begin.map(|from| Word { text: &line[from..], start: start + from }));
    words
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn quoted_space_belongs_to_a_word() {
        let found = |line| words(line, 5).iter().map(|it| (it.text, it.start)).collect::<Vec<_>>();
        assert_eq!(found("a  b"), [("a", 5), ("b", 8)]);
        assert_eq!(found(" x=\"a b\" 'c d"), [(r#"x="a b""#, 6), ("'c d", 14)]);
        assert_eq!(found(r#""a \" b" c"#), [(r#""a \" b""#, 5), ("c", 14)]);
        assert_eq!(found("a#b # c d"), [("a#b", 5)]);
        assert_eq!(found("é 'ü' z"), [("é", 5), ("'ü'", 8), ("z", 13)]);
        assert_eq!(found(" \t"), []);
    }
}
