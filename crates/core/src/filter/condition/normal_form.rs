//! Writes a condition as text.

use std::fmt::{self, Formatter, Write};

use super::parser::KEYWORDS;
use super::tree::{ConditionOperator, ConditionValue, FieldCondition, Node, ValueForm};
use super::{Condition, cursor::Cursor};

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write_node(&self.root, formatter)
    }
}

fn write_node(node: &Node, formatter: &mut Formatter<'_>) -> fmt::Result {
    match node {
        Node::All(nodes) => write_joined(nodes, " and ", formatter),
        Node::Any(nodes) => write_joined(nodes, " or ", formatter),
        Node::Not(node) => {
            formatter.write_str("not ")?;
            write_nested(node, formatter)
        }
        Node::Field(condition) => write_field(condition, formatter),
        Node::Text(value) => write_searched(value, formatter),
    }
}

fn write_joined(nodes: &[Node], keyword: &str, formatter: &mut Formatter<'_>) -> fmt::Result {
    for (number, node) in nodes.iter().enumerate() {
        if number > 0 {
            formatter.write_str(keyword)?;
        }
        write_nested(node, formatter)?;
    }
    Ok(())
}

/// Writes a part of another condition, in brackets if it joins several.
fn write_nested(node: &Node, formatter: &mut Formatter<'_>) -> fmt::Result {
    match node {
        Node::All(_) | Node::Any(_) => {
            formatter.write_char('(')?;
            write_node(node, formatter)?;
            formatter.write_char(')')
        }
        _ => write_node(node, formatter),
    }
}

fn write_field(condition: &FieldCondition, formatter: &mut Formatter<'_>) -> fmt::Result {
    let name = &condition.field;
    let is_word = Cursor::new(name).word().len() == name.len();
    // A bracket may follow the keyword.
    let has_keyword = KEYWORDS.iter().any(|keyword| Cursor::new(name).take_keyword(keyword));
    // A `^` before the sign would be part of the sign.
    let is_plain =
        is_word && !has_keyword && !name.ends_with('^') && !name.starts_with(['\'', '(', '&', '|']);
    if is_plain && !name.is_empty() {
        formatter.write_str(name)?;
    } else {
        write_quoted(name.as_bytes(), formatter)?;
    }
    formatter.write_str(condition.operator.sign())?;
    for (number, value) in condition.values.iter().enumerate() {
        if number > 0 {
            formatter.write_char(',')?;
        }
        match value.form {
            ValueForm::Absent => formatter.write_str("(none)")?,
            ValueForm::Empty => formatter.write_str("(empty)")?,
            ValueForm::Plain if can_be_plain(value, condition.operator) => {
                formatter.write_str(&value.text())?;
            }
            _ if condition.operator.is_expression() => {
                write_quoted_expression(&value.text(), formatter)?;
            }
            ValueForm::Plain | ValueForm::Quoted => write_quoted(&value.bytes, formatter)?,
        }
    }
    Ok(())
}

fn write_searched(value: &ConditionValue, formatter: &mut Formatter<'_>) -> fmt::Result {
    match value.form {
        ValueForm::Plain if ends_before_bracket(value, false) => formatter.write_str(&value.text()),
        _ => write_quoted(&value.bytes, formatter),
    }
}

fn write_quoted(bytes: &[u8], formatter: &mut Formatter<'_>) -> fmt::Result {
    formatter.write_char('"')?;
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' => formatter.write_str("\\\"")?,
                '\\' => formatter.write_str("\\\\")?,
                '\n' => formatter.write_str("\\n")?,
                '\r' => formatter.write_str("\\r")?,
                '\t' => formatter.write_str("\\t")?,
                '\0'..' ' | '\x7f' => write!(formatter, "\\x{:02x}", u32::from(character))?,
                _ => formatter.write_char(character)?,
            }
        }
        for byte in chunk.invalid() {
            write!(formatter, "\\x{byte:02x}")?;
        }
    }
    formatter.write_char('"')
}

/// Writes a regular expression, whose backslashes stand for themselves.
fn write_quoted_expression(expression: &str, formatter: &mut Formatter<'_>) -> fmt::Result {
    if !expression.contains('\'') {
        return write!(formatter, "'{expression}'");
    }
    write!(formatter, "\"{}\"", expression.replace('"', "\\\""))
}

/// Whether a value can be written without quotation marks. It would end at a space, or with a
/// bracket that follows it, and a sign or a mark at its start would not be part of it.
fn can_be_plain(value: &ConditionValue, operator: ConditionOperator) -> bool {
    let is_expression = operator.is_expression();
    ends_before_bracket(value, is_expression)
        && !(is_expression && matches!(value.bytes.first(), Some(b'=' | b'"' | b'\'')))
}

/// Whether a plain value is read back whole if a closing bracket follows it, as one may in a
/// condition that joins several.
fn ends_before_bracket(value: &ConditionValue, is_expression: bool) -> bool {
    let followed = format!("{})", value.text());
    Cursor::new(&followed).plain(is_expression).bytes == value.bytes
}
