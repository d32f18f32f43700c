//! Reads the words, values and signs of a condition.

use super::error::ConditionError;
use super::tree::{ConditionOperator, ConditionValue, ValueForm};

/// A position in the text of a condition.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

/// Signs that other languages use, and what they are here.
const FOREIGN_SIGNS: [(&str, &str); 8] = [
    ("===", "="),
    ("==", "="),
    ("=~", "~"),
    ("~=", "~"),
    ("<>", "!="),
    ("=>", ">="),
    ("=<", "<="),
    ("!==", "!="),
];

/// The field whose parameters are fields: `query:utm_source`.
const PARAMETERS_OF: &str = "query";

/// Whether the name of a parameter follows, and not a value: an operator comes behind it.
fn names_parameter(rest: &str) -> bool {
    let is_end = |next: char| next.is_whitespace() || ",\"'()=!~<>^:".contains(next);
    let (name, behind) = rest.split_at(rest.find(is_end).unwrap_or(rest.len()));
    let behind = behind.trim_start();
    let is_sign = |(sign, _): &(&str, ConditionOperator)| *sign != ":" && behind.starts_with(sign);
    !name.is_empty() && ConditionOperator::SIGNS.iter().any(is_sign)
}

impl<'a> Cursor<'a> {
    /// The start of a text.
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The position, in bytes.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The text from here on.
    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Moves on by a number of bytes.
    pub(super) fn advance(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.text.len());
    }

    pub(super) fn skip_space(&mut self) {
        let rest = self.rest();
        self.advance(rest.len() - rest.trim_start().len());
    }

    /// Moves past a character if it is next.
    pub(super) fn take(&mut self, expected: char) -> bool {
        let is_next = self.rest().starts_with(expected);
        if is_next {
            self.advance(expected.len_utf8());
        }
        is_next
    }

    /// Moves past a keyword if it is next, in any case of its letters.
    pub(super) fn take_keyword(&mut self, keyword: &str) -> bool {
        let is_next = self.run() == keyword.len()
            && self
                .rest()
                .get(..keyword.len())
                .is_some_and(|word| word.eq_ignore_ascii_case(keyword));
        if is_next {
            self.advance(keyword.len());
        }
        is_next
    }

    /// The length of the letters and digits from here on.
    fn run(&self) -> usize {
        let rest = self.rest();
        rest.find(|next: char| !next.is_alphanumeric() && !matches!(next, '_' | '-' | '.'))
            .unwrap_or(rest.len())
    }

    /// The text up to the next space, comma, quotation mark or closing bracket.
    pub(super) fn next_run(&self) -> &'a str {
        let rest = self.rest();
        let is_end = |next: char| next.is_whitespace() || matches!(next, ',' | '"' | ')');
        rest.get(..rest.find(is_end).unwrap_or(rest.len())).unwrap_or_default()
    }

    /// Reads a name or a word: up to a space, a comma, a quotation mark, an operator or a bracket.
    /// A bracket inside of the word belongs to it: `cs(Referer)`.
    pub(super) fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let mut depth = 0usize;
        let mut end = rest.len();
        for (at, next) in rest.char_indices() {
            let is_end = match next {
                '(' if at > 0 => {
                    depth += 1;
                    false
                }
                ')' if depth > 0 => {
                    depth -= 1;
                    false
                }
                '^' => rest.get(at..).is_some_and(|rest| rest.starts_with("^=")),
                ':' if &rest[..at] == PARAMETERS_OF => !names_parameter(&rest[at + 1..]),
                _ => next.is_whitespace() || ",\"()=!~<>:".contains(next),
            };
            if is_end {
                end = at;
                break;
            }
        }
        self.advance(end);
        rest.get(..end).unwrap_or_default()
    }

    /// Reads an operator, if one is next.
    ///
    /// # Errors
    /// If a sign of another language is next.
    pub(super) fn operator(&mut self) -> Result<Option<ConditionOperator>, ConditionError> {
        let rest = self.rest();
        let mut foreign: Vec<_> =
            FOREIGN_SIGNS.iter().filter(|(sign, _)| rest.starts_with(sign)).collect();
        foreign.sort_by_key(|(sign, _)| std::cmp::Reverse(sign.len()));
        if let Some((sign, own)) = foreign.first() {
            let range = self.at..self.at + sign.len();
            let message = format!("`{sign}` is not an operator; write `{own}`");
            return Err(ConditionError::new(range, message));
        }
        let found = ConditionOperator::SIGNS.iter().find(|(sign, _)| rest.starts_with(sign));
        let Some((sign, operator)) = found else { return Ok(None) };
        self.advance(sign.len());
        Ok(Some(*operator))
    }

    /// Reads a text in quotation marks, if one is next. Of a regular expression, backslashes are
    /// kept.
    ///
    /// # Errors
    /// If the closing mark is missing, or a backslash is not followed by a known character.
    pub(super) fn quoted(
        &mut self,
        is_expression: bool,
    ) -> Result<Option<ConditionValue>, ConditionError> {
        let start = self.at;
        let bytes = if self.take('\'') {
            let end = self.rest().find('\'').ok_or_else(|| unclosed(start, '\''))?;
            let bytes = self.rest().as_bytes().get(..end).unwrap_or_default().to_vec();
            self.advance(end + 1);
            bytes
        } else if self.take('"') {
            self.double_quoted(start, is_expression)?
        } else {
            return Ok(None);
        };
        Ok(Some(ConditionValue::new(bytes, ValueForm::Quoted, start..self.at)))
    }

    /// Reads from behind a quotation mark up to and including the next one.
    fn double_quoted(
        &mut self,
        start: usize,
        is_expression: bool,
    ) -> Result<Vec<u8>, ConditionError> {
        let mut bytes = Vec::new();
        loop {
            let next = self.rest().chars().next().ok_or_else(|| unclosed(start, '"'))?;
            self.advance(next.len_utf8());
            match next {
                '"' => return Ok(bytes),
                '\\' => self.escape(is_expression, &mut bytes)?,
                _ => bytes.extend(next.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }

    /// Reads what follows a backslash.
    fn escape(&mut self, is_expression: bool, bytes: &mut Vec<u8>) -> Result<(), ConditionError> {
        let start = self.at - 1;
        let Some(next) = self.rest().chars().next() else { return Ok(()) };
        self.advance(next.len_utf8());
        match next {
            '"' => bytes.push(b'"'),
            _ if is_expression => {
                bytes.push(b'\\');
                bytes.extend(next.encode_utf8(&mut [0; 4]).as_bytes());
            }
            '\\' => bytes.push(b'\\'),
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            'x' => {
                let digits = self.rest().get(..2);
                let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                let byte = byte.ok_or_else(|| {
                    ConditionError::new(
                        start..self.at,
                        "`\\x` needs two hexadecimal digits: `\\xff`",
                    )
                })?;
                self.advance(2);
                bytes.push(byte);
            }
            _ => {
                let message = format!(
                    "`\\{next}` is not valid in quotation marks; write `\\\\{next}`, or use single quotation marks"
                );
                return Err(ConditionError::new(start..self.at, message));
            }
        }
        Ok(())
    }

    /// Reads a value without quotation marks: up to a space, a closing bracket that has no opening
    /// one in the value, and in a list up to a comma.
    pub(super) fn plain(&mut self, is_expression: bool) -> ConditionValue {
        let start = self.at;
        let rest = self.rest();
        let (mut depth, mut is_in_class, mut is_escaped) = (0usize, false, false);
        let mut end = rest.len();
        for (at, next) in rest.char_indices() {
            let is_literal = std::mem::take(&mut is_escaped);
            let is_end = match next {
                _ if next.is_whitespace() => true,
                ',' => !is_expression,
                _ if is_expression && (is_literal || next == '\\') => {
                    is_escaped = !is_literal;
                    false
                }
                _ if is_expression && is_in_class => {
                    is_in_class = next != ']';
                    false
                }
                '[' => {
                    is_in_class = is_expression;
                    false
                }
                '(' => {
                    depth += 1;
                    false
                }
                ')' => {
                    let is_end = depth == 0;
                    depth = depth.saturating_sub(1);
                    is_end
                }
                _ => false,
            };
            if is_end {
                end = at;
                break;
            }
        }
        self.advance(end);
        let bytes = rest.as_bytes().get(..end).unwrap_or_default().to_vec();
        ConditionValue::new(bytes, ValueForm::Plain, start..self.at)
    }
}

fn unclosed(start: usize, mark: char) -> ConditionError {
    let range = start..start + 1;
    ConditionError::new(range, format!("the closing `{mark}` of this text is missing"))
}
