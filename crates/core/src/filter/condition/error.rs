//! Why a text is not a condition.

use std::fmt;
use std::ops::Range;

/// Why a text is not a condition, or not one for this log, and at which place of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionError {
    /// The position of what is wrong in the text, in bytes. It may be empty, at the end.
    pub range: Range<usize>,
    /// The problem, and what to write in its place.
    pub message: String,
}

/// The most characters of a text before and after the mark of [`ConditionError::excerpt`].
const CONTEXT_CHARS: usize = 50;

impl ConditionError {
    /// An error at a place of the text.
    pub(super) fn new(range: Range<usize>, message: impl fmt::Display) -> Self {
        Self { range, message: message.to_string() }
    }

    /// Returns the place in two lines: the text, or the part of it around the place, and a mark
    /// below what is wrong. Control characters are replaced, so that the mark stays in its column.
    ///
    /// ```
    /// use weir_core::Condition;
    ///
    /// let text = "path=/a and status==404";
    /// let error = Condition::parse(text).unwrap_err();
    /// assert_eq!(error.excerpt(text), "path=/a and status==404\n                  ^^");
    /// ```
    pub fn excerpt(&self, text: &str) -> String {
        excerpt(text, self.range.clone())
    }

    /// The position in characters instead of bytes.
    pub fn char_range(&self, text: &str) -> Range<usize> {
        let (before, rest) = split(text, self.range.start);
        let (wrong, _) = split(rest, self.range.len());
        let start = before.chars().count();
        start..start + wrong.chars().count()
    }
}

/// Returns a place of a text in two lines: the text, or the part of it around the place, and a mark
/// below the place. A tab is shown as a tab, also in the line of the mark, so that the mark stays in
/// its column. Other control characters are replaced.
///
/// ```
/// assert_eq!(weir_core::excerpt("burst=x", 6..7), "burst=x\n      ^");
/// ```
pub fn excerpt(text: &str, range: Range<usize>) -> String {
    let (before, rest) = split(text, range.start);
    let (wrong, after) = split(rest, range.len());
    let skipped = before.chars().count().saturating_sub(CONTEXT_CHARS);
    let mut shown: String = if skipped > 0 { "…" } else { "" }.to_owned();
    shown.extend(before.chars().skip(skipped));
    let indent: String = shown.chars().map(|next| tab_or(next, ' ')).collect();
    let mut mark: String =
        wrong.chars().take(CONTEXT_CHARS).map(|next| tab_or(next, '^')).collect();
    if mark.trim().is_empty() {
        mark = "^".to_owned();
    }
    shown.extend(wrong.chars().take(CONTEXT_CHARS));
    let has_more = wrong.chars().count() > CONTEXT_CHARS || after.chars().count() > CONTEXT_CHARS;
    if wrong.chars().count() <= CONTEXT_CHARS {
        shown.extend(after.chars().take(CONTEXT_CHARS));
    }
    if has_more {
        shown.push('…');
    }
    let is_unsafe = |next: char| next.is_control() && next != '\t';
    let shown = shown.replace(is_unsafe, "\u{FFFD}");
    format!("{shown}\n{indent}{mark}")
}

/// A tab for a tab, and `other` for another character.
fn tab_or(character: char, other: char) -> char {
    if character == '\t' { '\t' } else { other }
}

/// Splits a text at a byte, or at the next start of a character.
fn split(text: &str, at: usize) -> (&str, &str) {
    let at = (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    text.split_at(at)
}

impl fmt::Display for ConditionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ConditionError {}
