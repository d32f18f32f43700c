//! Parses a condition, by recursive descent:
//!
//! ```text
//! either    = both { "or" both }
//! both      = condition { "and" condition }
//! condition = "not" condition | "(" either ")" | field operator value { "," value } | text
//! ```

use std::net::IpAddr;

use super::cursor::Cursor;
use super::error::ConditionError;
use super::tree::{ConditionOperator, ConditionValue, FieldCondition, Node, ValueForm};
use super::{Condition, Position};
use crate::field::Field;
use crate::value::{AddressBlock, STATUS_CLASS};

/// Parses a whole text.
///
/// # Errors
/// If the text is too long, or is not a condition.
pub(super) fn parse(text: &str) -> Result<Node, ConditionError> {
    if text.len() > Condition::BYTES_MAX {
        let message = format!(
            "the condition has {} bytes; write at most {}",
            text.len(),
            Condition::BYTES_MAX
        );
        return Err(ConditionError::new(Condition::BYTES_MAX..text.len(), message));
    }
    let mut parser = Parser { cursor: Cursor::new(text), depth: 0, last: None };
    let node = parser.either()?;
    parser.cursor.skip_space();
    if parser.cursor.rest().is_empty() { Ok(node) } else { Err(parser.unexpected()) }
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    depth: usize,
    /// The field and the sign of the condition that was read last, if its value had no quotation
    /// marks.
    last: Option<(String, &'static str, ConditionValue)>,
}

type Parsed<T> = Result<T, ConditionError>;

impl Parser<'_> {
    fn either(&mut self) -> Parsed<Node> {
        let first = self.both()?;
        let mut nodes = vec![first];
        while self.take_keyword("or") {
            nodes.push(self.both()?);
        }
        Ok(joined(nodes, Node::Any))
    }

    fn both(&mut self) -> Parsed<Node> {
        let first = self.condition()?;
        let mut nodes = vec![first];
        while self.take_keyword("and") {
            nodes.push(self.condition()?);
        }
        Ok(joined(nodes, Node::All))
    }

    fn condition(&mut self) -> Parsed<Node> {
        self.last = None;
        self.cursor.skip_space();
        let start = self.cursor.at();
        if self.cursor.take_keyword("not") {
            let node = self.deeper(start, Self::condition)?;
            return Ok(Node::Not(Box::new(node)));
        }
        if self.cursor.take('(') {
            let node = self.deeper(start, Self::either)?;
            self.cursor.skip_space();
            if self.cursor.take(')') {
                self.last = None;
                return Ok(node);
            }
            if !self.cursor.rest().is_empty() {
                return Err(self.unexpected());
            }
            return Err(ConditionError::new(start..start + 1, "this bracket is not closed"));
        }
        self.term()
    }

    /// Reads a part that is nested one level deeper.
    fn deeper(&mut self, start: usize, read: fn(&mut Self) -> Parsed<Node>) -> Parsed<Node> {
        if self.depth == Condition::DEPTH_MAX {
            let message =
                format!("brackets and `not` are nested more than {} times", Condition::DEPTH_MAX);
            return Err(ConditionError::new(start..start + 1, message));
        }
        self.depth += 1;
        let node = read(self);
        self.depth -= 1;
        node
    }

    /// Reads a condition on a field, or a text to search for.
    fn term(&mut self) -> Parsed<Node> {
        let start = self.cursor.at();
        if let Some(quoted) = self.cursor.quoted(false)? {
            self.cursor.skip_space();
            return match self.cursor.operator()? {
                Some(operator) => self.field(quoted.text(), quoted.position, operator),
                None if quoted.bytes.is_empty() => Err(empty_text(quoted)),
                None => Ok(Node::Text(quoted)),
            };
        }
        let run = self.cursor.next_run();
        if is_text_with_colons(run) {
            self.cursor.advance(run.len());
            return Ok(Node::Text(plain(run, start)));
        }
        let word = self.cursor.word();
        let position = start..self.cursor.at();
        if word.is_empty() {
            return Err(self.missing_condition());
        }
        if let Some(error) = foreign_word(word, &position) {
            return Err(error);
        }
        self.cursor.skip_space();
        if let Some(operator) = self.cursor.operator()? {
            return self.field(word.to_owned(), position, operator);
        }
        check_searched(word, position)?;
        Ok(Node::Text(plain(word, start)))
    }

    fn field(
        &mut self,
        field: String,
        position: Position,
        operator: ConditionOperator,
    ) -> Parsed<Node> {
        let is_time = Field::by_name(&field) == Some(Field::Time);
        let mut values = vec![self.value(&field, operator, is_time)?];
        loop {
            let before = self.cursor.at();
            self.cursor.skip_space();
            if !self.cursor.take(',') {
                break;
            }
            if !operator.takes_list() {
                let message = format!(
                    "`{}` takes one value; write a value with a comma in quotation marks",
                    operator.sign()
                );
                return Err(ConditionError::new(before..self.cursor.at(), message));
            }
            values.push(self.value(&field, operator, is_time)?);
        }
        let last = values.last().filter(|value| value.is_plain()).cloned();
        self.last = last.map(|value| (field.clone(), operator.sign(), value));
        Ok(Node::Field(FieldCondition { field, position, operator, values }))
    }

    fn value(
        &mut self,
        field: &str,
        operator: ConditionOperator,
        is_time: bool,
    ) -> Parsed<ConditionValue> {
        self.cursor.skip_space();
        let start = self.cursor.at();
        let is_expression = operator.is_expression();
        if let Some(value) = self.cursor.quoted(is_expression)? {
            self.check_end_of_quoted()?;
            return if is_expression { whole_expression(value) } else { Ok(value) };
        }
        if !is_expression && let Some(value) = self.keyword_value(start) {
            if operator == ConditionOperator::Equal || operator == ConditionOperator::NotEqual {
                return Ok(value);
            }
            let sign = operator.sign();
            let message = format!("`{sign}` does not compare with this; use `=` or `!=`");
            return Err(ConditionError::new(value.position, message));
        }
        if !is_expression && self.cursor.rest().starts_with('(') {
            let message = format!("a list of values has no brackets: {field}=a,b");
            return Err(ConditionError::new(start..start + 1, message));
        }
        let mut value = self.cursor.plain(is_expression);
        let text = value.text();
        if text.is_empty() || is_keyword(&text) {
            let message = format!(
                "a value is missing after `{}`; write {field}=(empty) for an empty value, or {field}=(none) for none",
                operator.sign()
            );
            return Err(ConditionError::new(start..start, message));
        }
        if !is_expression && text.starts_with(['=', '!', '~', '<', '>']) {
            let end = text.find(|next| !"=!~<>".contains(next)).unwrap_or(text.len());
            let (sign, rest) = text.split_at(end);
            let message = format!(
                "`{sign}` follows another operator; write {field}{sign}{rest}, or put the value in quotation marks"
            );
            return Err(ConditionError::new(start..start + end, message));
        }
        if is_time {
            self.extend_time(&mut value);
        }
        if is_expression { whole_expression(value) } else { Ok(value) }
    }

    /// Reads `(none)` or `(empty)`, if one of them is next.
    fn keyword_value(&mut self, start: usize) -> Option<ConditionValue> {
        let rest = self.cursor.rest();
        let forms = [("(none)", ValueForm::Absent), ("(empty)", ValueForm::Empty)];
        let (word, form) = forms.into_iter().find(|(word, _)| {
            rest.get(..word.len()).is_some_and(|text| text.eq_ignore_ascii_case(word))
        })?;
        self.cursor.advance(word.len());
        Some(ConditionValue::new(Vec::new(), form, start..self.cursor.at()))
    }

    /// Adds the words after a time that belong to it: `2025-12-17 09:03`, `2h 30min ago`.
    fn extend_time(&mut self, value: &mut ConditionValue) {
        loop {
            let mut ahead = Cursor::new(self.cursor.rest());
            ahead.skip_space();
            let word = ahead.plain(false);
            if word.bytes.is_empty() || is_keyword(&word.text()) {
                return;
            }
            self.cursor.advance(word.position.end);
            value.bytes.push(b' ');
            value.bytes.extend(word.bytes);
            value.position.end = self.cursor.at();
        }
    }

    fn check_end_of_quoted(&self) -> Parsed<()> {
        let next = self.cursor.rest().chars().next();
        match next {
            Some(next) if !next.is_whitespace() && next != ',' && next != ')' => {
                let at = self.cursor.at();
                let message = "after a quotation mark, write a space, a comma or a bracket";
                Err(ConditionError::new(at..at + next.len_utf8(), message))
            }
            _ => Ok(()),
        }
    }

    fn take_keyword(&mut self, keyword: &str) -> bool {
        self.cursor.skip_space();
        self.cursor.take_keyword(keyword)
    }

    /// The error about something that does not follow the condition before it.
    fn unexpected(&mut self) -> ConditionError {
        let start = self.cursor.at();
        if self.cursor.take(')') {
            return ConditionError::new(start..start + 1, "no bracket is open here");
        }
        let run = self.cursor.next_run();
        let length = run.len().max(self.cursor.rest().chars().next().map_or(0, char::len_utf8));
        let position = start..start + length;
        if let Some(error) = foreign_word(run, &position) {
            return error;
        }
        let mut message = "`and` or `or` is missing here".to_owned();
        if let Some((field, sign, value)) = &self.last {
            let rest = self.cursor.rest();
            let end = rest.find(['"', '\'', ')']).unwrap_or(rest.len());
            let rest = rest.get(..end).unwrap_or_default().trim_end();
            if rest.len() <= 60 && !rest.contains(['=', '~', '<', '>', ':']) {
                let value = value.text();
                message += &format!(
                    "; a value with a space needs quotation marks: {field}{sign}\"{value} {rest}\""
                );
            }
        }
        ConditionError::new(position, message)
    }

    /// The error about a place at which a condition should begin.
    fn missing_condition(&mut self) -> ConditionError {
        let at = self.cursor.at();
        let next = self.cursor.rest().chars().next();
        match next {
            Some('!') => {
                ConditionError::new(at..at + 1, "`!` is not an operator here; write `not`")
            }
            Some(next) => ConditionError::new(
                at..at + next.len_utf8(),
                format!("a field is missing before `{next}`; write a condition such as status=404"),
            ),
            None => ConditionError::new(at..at, "a condition is missing; write it as status=404"),
        }
    }
}

fn joined(mut nodes: Vec<Node>, join: fn(Vec<Node>) -> Node) -> Node {
    match nodes.pop() {
        Some(node) if nodes.is_empty() => node,
        last => {
            nodes.extend(last);
            join(nodes)
        }
    }
}

fn plain(text: &str, start: usize) -> ConditionValue {
    let position = start..start + text.len();
    ConditionValue::new(text.as_bytes().to_vec(), ValueForm::Plain, position)
}

/// Whether a text with colons is not a field and a value: an address, a time of day, a URL.
fn is_text_with_colons(run: &str) -> bool {
    let Some((before, after)) = run.split_once(':') else { return false };
    let is_name = !before.contains(['=', '!', '~', '<', '>', '^', '(']);
    run.parse::<IpAddr>().is_ok()
        || AddressBlock::parse(run).is_some()
        || is_name
            && (after.starts_with("//") || before.starts_with(|first: char| first.is_ascii_digit()))
}

/// The words that join or negate conditions.
pub(super) const KEYWORDS: [&str; 3] = ["and", "or", "not"];

/// Whether a word joins or negates conditions.
fn is_keyword(word: &str) -> bool {
    KEYWORDS.iter().any(|keyword| word.eq_ignore_ascii_case(keyword))
}

/// The error about an operator of another language in the place of a keyword.
fn foreign_word(word: &str, position: &Position) -> Option<ConditionError> {
    let signs = [("&&", "and"), ("||", "or"), ("&", "and"), ("|", "or")];
    let (sign, keyword) = signs.into_iter().find(|(sign, _)| word.starts_with(sign))?;
    let range = position.start..position.start + sign.len();
    Some(ConditionError::new(range, format!("`{sign}` is not an operator; write `{keyword}`")))
}

/// Checks that a word is meant as a text to search for.
fn check_searched(word: &str, position: Position) -> Parsed<()> {
    let message = if is_keyword(word) {
        format!("a condition is missing before `{word}`")
    } else if Field::by_name(word).is_some() || word == STATUS_CLASS {
        let example = example_of(word);
        format!("`{word}` is a field; write {example}, or \"{word}\" to search for the text")
    } else if word.contains('*') {
        let text = word.trim_matches('*');
        format!(
            "`*` stands for itself only in quotation marks; {text} is found anywhere without it"
        )
    } else if let Some(rest) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
        format!("`-` does not negate; write not {rest}, or \"{word}\" to search for the text")
    } else {
        return Ok(());
    };
    Err(ConditionError::new(position, message))
}

/// A regular expression that does not end within an escape: no quotation marks could stand around
/// it. A double mark beside a single one has no backslash before it, for the same reason.
fn whole_expression(mut value: ConditionValue) -> Parsed<ConditionValue> {
    let backslashes = value.bytes.iter().rev().take_while(|byte| **byte == b'\\').count();
    if backslashes % 2 == 0 {
        if value.bytes.contains(&b'\'') {
            value.bytes = without_escaped_marks(&value.bytes);
        }
        return Ok(value);
    }
    let message =
        "the regular expression ends with a backslash; write `\\\\` for the character itself";
    Err(ConditionError::new(value.position, message))
}

/// Removes the backslashes before `"`, without which it means the same.
fn without_escaped_marks(expression: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(expression.len());
    let mut rest = expression.iter();
    while let Some(byte) = rest.next() {
        let escaped = rest.as_slice().first().filter(|_| *byte == b'\\');
        if escaped != Some(&b'"') {
            bytes.push(*byte);
        }
        if let Some(escaped) = escaped {
            bytes.push(*escaped);
            rest.next();
        }
    }
    bytes
}

fn empty_text(quoted: ConditionValue) -> ConditionError {
    ConditionError::new(
        quoted.position,
        "every field contains the empty text; write the text to search for",
    )
}

/// A condition on a field, as an example.
fn example_of(field: &str) -> String {
    match Field::by_name(field) {
        Some(Field::Client) => format!("{field}=192.0.2.7"),
        Some(Field::Status) => format!("{field}=404"),
        Some(Field::Method) => format!("{field}=GET"),
        Some(Field::Path) => format!("{field}^=/api"),
        Some(Field::Bytes) => format!("{field}>1MB"),
        Some(duration) if Field::DURATIONS.contains(&duration) => format!("{field}>200ms"),
        Some(Field::Time) => format!("{field}>=2025-12-17"),
        Some(_) => format!("{field}=(none)"),
        None => format!("{field}=4xx"),
    }
}
