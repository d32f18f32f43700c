//! Expressions of Cloudflare's rules, as conditions.
//!
//! Source: "Rules language" of Cloudflare's documentation of rulesets. Its regular expressions are
//! those of the same engine. A field that a request lacks is an empty text.

mod field;
#[cfg(test)]
mod tests;
mod token;

use self::field::Field;
use self::token::{Token, TokenKind, tokens};
use super::super::selection::{Case, Selection};

/// The deepest nesting that is followed.
const DEPTH_MAX: usize = 32;

/// An expression as a condition.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Followed {
    pub(super) selection: Selection,
    /// The parts that were not followed. Requests count whether they meet them or not.
    pub(super) left_out: Vec<String>,
}

/// Follows an expression as far as a log has its fields.
pub(super) fn follow(expression: &str) -> Followed {
    let tokens = tokens(expression);
    let mut parser = Parser { expression, tokens: &tokens, at: 0, left_out: Vec::new() };
    let selection = parser.any(0);
    if parser.at < tokens.len() {
        // What is not read may change the meaning of what was.
        let left_out = vec![expression.trim().to_owned()];
        return Followed { selection: Selection::Unknown, left_out };
    }
    Followed { selection, left_out: parser.left_out }
}

struct Parser<'t> {
    expression: &'t str,
    tokens: &'t [Token],
    at: usize,
    left_out: Vec<String>,
}

impl<'t> Parser<'t> {
    fn kind(&self) -> Option<&'t TokenKind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    fn word(&self) -> Option<&'t str> {
        match self.kind()? {
            TokenKind::Word(word) => Some(word),
            _ => None,
        }
    }

    fn take_word(&mut self, words: &[&str]) -> bool {
        let is_there = self.word().is_some_and(|word| words.contains(&word));
        self.at += usize::from(is_there);
        is_there
    }

    fn take_sign(&mut self, sign: char) -> bool {
        let is_there = self.kind() == Some(&TokenKind::Sign(sign));
        self.at += usize::from(is_there);
        is_there
    }

    /// Terms with `or` between them.
    fn any(&mut self, depth: usize) -> Selection {
        let (start, known) = (self.at, self.left_out.len());
        let mut terms = vec![self.all(depth)];
        while self.take_word(&["or", "||"]) {
            terms.push(self.all(depth));
        }
        let is_alone = terms.len() == 1;
        let selection = Selection::any(terms);
        if !is_alone {
            self.note_whole(&selection, start, known);
        }
        selection
    }

    /// Terms with `and` between them.
    fn all(&mut self, depth: usize) -> Selection {
        let mut terms = vec![self.term(depth)];
        while self.take_word(&["and", "&&"]) {
            terms.push(self.term(depth));
        }
        Selection::all(terms)
    }

    fn term(&mut self, depth: usize) -> Selection {
        if depth == DEPTH_MAX {
            return Selection::Unknown;
        }
        let (start, known) = (self.at, self.left_out.len());
        if self.take_word(&["not", "!"]) {
            let selection = self.term(depth + 1).not();
            self.note_whole(&selection, start, known);
            return selection;
        }
        if self.take_sign('(') {
            let inner = self.any(depth + 1);
            self.take_sign(')');
            return inner;
        }
        if self.take_word(&["true"]) {
            return Selection::Everything;
        }
        if self.take_word(&["false"]) {
            return Selection::Nothing;
        }
        let comparison = self.comparison().unwrap_or(Selection::Unknown);
        if comparison == Selection::Unknown {
            self.skip_comparison(start);
        }
        comparison
    }

    /// Names a part that begins at a token in place of those in it, if it is left out as a whole.
    fn note_whole(&mut self, selection: &Selection, start: usize, known: usize) {
        match selection {
            Selection::Those { .. } => {}
            Selection::Unknown => {
                self.left_out.truncate(known);
                self.left_out.push(self.written(start));
            }
            // Whatever is not known in it changes nothing.
            Selection::Everything | Selection::Nothing => self.left_out.truncate(known),
        }
    }

    /// The text from a token up to the current place.
    fn written(&self, start: usize) -> String {
        let part = &self.tokens[start..self.at.max(start)];
        match (part.first(), part.last()) {
            (Some(first), Some(last)) => {
                self.expression[first.range.start..last.range.end].to_owned()
            }
            _ => String::new(),
        }
    }

    /// A comparison of a field with values, or a function that compares; `None` or an unknown
    /// selection if it is not followed.
    fn comparison(&mut self) -> Option<Selection> {
        let name = self.word()?;
        if let "starts_with" | "ends_with" = name {
            self.at += 1;
            let field = self.take_sign('(').then(|| self.field()).flatten()?;
            let value = self.take_sign(',').then(|| self.text()).flatten()?;
            let selection = match name {
                "starts_with" => field.begins_with(value),
                _ => field.ends_with(value),
            };
            return self.take_sign(')').then_some(selection);
        }
        let field = self.field()?;
        let operator = self.word()?;
        self.at += 1;
        Some(match operator {
            "eq" | "==" => field.equals(self.value()?),
            "ne" | "!=" => field.equals(self.value()?).not(),
            "contains" => field.contains(self.text()?),
            "matches" | "~" => field.matches(self.text()?),
            "wildcard" => field.wildcard(self.text()?, false),
            "strict" if self.take_word(&["wildcard"]) => field.wildcard(self.text()?, true),
            "in" => self.one_of(field)?,
            "lt" | "<" => field.is_ordered("<", self.value()?),
            "le" | "<=" => field.is_ordered("<=", self.value()?),
            "gt" | ">" => field.is_ordered(">", self.value()?),
            "ge" | ">=" => field.is_ordered(">=", self.value()?),
            _ => return None,
        })
    }

    /// A field, or `lower(field)`.
    fn field(&mut self) -> Option<Field> {
        let word = self.word()?;
        self.at += 1;
        let case = match word {
            "lower" => Case::Lower,
            "upper" => Case::Upper,
            name => return Field::by_name(name),
        };
        let name = self.take_sign('(').then(|| self.word()).flatten()?;
        self.at += 1;
        self.take_sign(')').then(|| Field::by_name(name)).flatten().map(|it| it.with_case(case))
    }

    fn text(&mut self) -> Option<&'t str> {
        let TokenKind::Text(text) = self.kind()? else { return None };
        self.at += 1;
        Some(text)
    }

    /// A text, a number or an address.
    fn value(&mut self) -> Option<&'t str> {
        let (TokenKind::Text(value) | TokenKind::Word(value)) = self.kind()? else { return None };
        self.at += 1;
        Some(value)
    }

    /// Values in braces, of which one is that of the field.
    fn one_of(&mut self, field: Field) -> Option<Selection> {
        let mut values = Vec::new();
        let mut is_open = self.take_sign('{');
        while is_open && !self.take_sign('}') {
            values.push(field.is_within(self.value()?));
            is_open = self.at < self.tokens.len();
        }
        (is_open && !values.is_empty()).then(|| Selection::any(values))
    }

    /// Passes over a comparison that is not followed: up to the next `and`, `or` or end of its
    /// parentheses.
    fn skip_comparison(&mut self, start: usize) {
        self.at = start;
        let mut open = 0_usize;
        while let Some(kind) = self.kind() {
            match kind {
                TokenKind::Sign('(' | '{') => open += 1,
                TokenKind::Sign(')' | '}') if open == 0 => break,
                TokenKind::Sign(')' | '}') => open -= 1,
                TokenKind::Word(word)
                    if open == 0 && matches!(word.as_str(), "and" | "&&" | "or" | "||") =>
                {
                    break;
                }
                _ => {}
            }
            self.at += 1;
        }
        self.left_out.push(self.written(start));
    }
}
