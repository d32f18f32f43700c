//! The tree of a condition.

use super::error::ConditionError;
use super::{Position, equality};
use crate::field::Field;

/// A part of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Field(FieldCondition),
    /// A text that some field contains.
    Text(ConditionValue),
}

/// A condition on one field. Two are equal if they mean the same, wherever they stand in a text.
#[derive(Debug, Clone)]
pub struct FieldCondition {
    /// The name of the field as it was written, which may be an alias.
    pub field: String,
    /// The position of the name in the text, in bytes.
    pub position: Position,
    /// How to compare.
    pub operator: ConditionOperator,
    /// The values to compare with, at least one. One of them has to match; with a negative
    /// operator, none. Only `=`, `!=` and `^=` have several.
    pub values: Vec<ConditionValue>,
}

/// A value to compare with. Two are equal if they mean the same, wherever they stand in a text and
/// however they are quoted.
#[derive(Debug, Clone)]
pub struct ConditionValue {
    /// The bytes that were written, without quotation marks.
    pub bytes: Vec<u8>,
    /// How it was written.
    pub form: ValueForm,
    /// Its position in the text, in bytes.
    pub position: Position,
    /// The first and the last instant of a time, in nanoseconds since 1970, once it was read.
    pub instants: Option<(i64, i64)>,
}

impl PartialEq for FieldCondition {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |(one, other): (&ConditionValue, &ConditionValue)| {
            // A regular expression means the same with and without quotation marks.
            one == other || self.operator.is_expression() && one.bytes == other.bytes
        };
        let has_same_values = self.values.len() == other.values.len()
            && self.values.iter().zip(&other.values).all(is_same);
        self.field == other.field && self.operator == other.operator && has_same_values
    }
}

impl Eq for FieldCondition {}

impl PartialEq for ConditionValue {
    fn eq(&self, other: &Self) -> bool {
        let is_literal =
            |it: &Self| it.form == ValueForm::Quoted || !equality::stands_for_several(&it.bytes);
        let is_text = |it: &Self| matches!(it.form, ValueForm::Plain | ValueForm::Quoted);
        let is_same_form = self.form == other.form
            || is_text(self) && is_text(other) && is_literal(self) && is_literal(other);
        is_same_form && self.bytes == other.bytes && self.instants == other.instants
    }
}

impl Eq for ConditionValue {}

/// How a value was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueForm {
    /// Without quotation marks: it may be an address, a class of statuses, or a number.
    Plain,
    /// In quotation marks: a text that stands for itself.
    Quoted,
    /// `(none)`: the record lacks the field.
    Absent,
    /// `(empty)`: the field is there, and empty.
    Empty,
}

/// How a condition compares a field with its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionOperator {
    /// Is one of the values.
    Equal,
    /// Is none of the values, or is absent.
    NotEqual,
    /// Begins with one of the values.
    Prefix,
    /// Matches the regular expression.
    Match,
    /// Does not match the regular expression, or is absent.
    NotMatch,
    /// Smaller than the number, or earlier than the time.
    Less,
    /// At most the number, or not later than the time.
    LessOrEqual,
    /// Greater than the number, or later than the time.
    Greater,
    /// At least the number, or not earlier than the time.
    GreaterOrEqual,
}

impl ConditionOperator {
    /// All operators with their signs. Longer signs come before those that they begin with.
    pub(super) const SIGNS: [(&str, Self); 10] = [
        ("!=", Self::NotEqual),
        ("!~", Self::NotMatch),
        ("^=", Self::Prefix),
        ("<=", Self::LessOrEqual),
        (">=", Self::GreaterOrEqual),
        ("=", Self::Equal),
        (":", Self::Equal),
        ("~", Self::Match),
        ("<", Self::Less),
        (">", Self::Greater),
    ];

    /// The sign in the normal form.
    pub fn sign(self) -> &'static str {
        Self::SIGNS.iter().find(|(_, operator)| *operator == self).map_or("=", |(sign, _)| sign)
    }

    /// Whether the value is a regular expression.
    pub fn is_expression(self) -> bool {
        matches!(self, Self::Match | Self::NotMatch)
    }

    /// Whether there may be several values.
    pub fn takes_list(self) -> bool {
        matches!(self, Self::Equal | Self::NotEqual | Self::Prefix)
    }
}

impl FieldCondition {
    /// Returns a condition that stands in no text.
    ///
    /// A value is text that stands for itself, unless it is an address, a network or a class of
    /// statuses.
    pub fn of_bytes(
        field: &str,
        operator: ConditionOperator,
        values: impl IntoIterator<Item = Vec<u8>>,
    ) -> Self {
        let value = |bytes| {
            let plain = ConditionValue::new(bytes, ValueForm::Plain, 0..0);
            let is_literal =
                operator.is_expression() || !equality::stands_for_several(&plain.bytes);
            let form = if is_literal { ValueForm::Quoted } else { ValueForm::Plain };
            ConditionValue { form, ..plain }
        };
        let values = values.into_iter().map(value).collect();
        Self { field: field.to_owned(), position: 0..0, operator, values }
    }
}

impl ConditionValue {
    pub(super) fn new(bytes: Vec<u8>, form: ValueForm, position: Position) -> Self {
        Self { bytes, form, position, instants: None }
    }

    /// The value as text, with U+FFFD in place of bytes that are not UTF-8.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Whether the value was written without quotation marks.
    pub fn is_plain(&self) -> bool {
        self.form == ValueForm::Plain
    }
}

impl Node {
    /// The condition on a field, if the node is one.
    pub(super) fn field(&self) -> Option<&FieldCondition> {
        match self {
            Self::Field(field) => Some(field),
            _ => None,
        }
    }

    /// The depth of brackets and `not` in the normal form.
    pub(super) fn depth(&self) -> usize {
        match self {
            Self::All(nodes) | Self::Any(nodes) => {
                nodes.iter().map(Self::depth_within).max().unwrap_or(0)
            }
            Self::Not(node) => 1 + node.depth_within(),
            Self::Field(_) | Self::Text(_) => 0,
        }
    }

    /// The depth within another node, which has brackets around a node of several.
    fn depth_within(&self) -> usize {
        let brackets = matches!(self, Self::All(_) | Self::Any(_));
        usize::from(brackets) + self.depth()
    }

    /// Calls a function with every time that the condition compares, in the order of the text.
    pub(super) fn for_each_time(
        &mut self,
        visit: &mut impl FnMut(&mut ConditionValue) -> Result<(), ConditionError>,
    ) -> Result<(), ConditionError> {
        match self {
            Self::All(nodes) | Self::Any(nodes) => {
                nodes.iter_mut().try_for_each(|node| node.for_each_time(visit))
            }
            Self::Not(node) => node.for_each_time(visit),
            Self::Field(FieldCondition { field, values, .. })
                if Field::by_name(field) == Some(Field::Time) =>
            {
                let is_text = |it: &&mut ConditionValue| {
                    matches!(it.form, ValueForm::Plain | ValueForm::Quoted)
                };
                values.iter_mut().filter(is_text).try_for_each(visit)
            }
            Self::Field(_) | Self::Text(_) => Ok(()),
        }
    }

    /// Calls a function with every condition on a field and every search, in the order of the
    /// text.
    pub(super) fn for_each_leaf<'a>(&'a self, visit: &mut impl FnMut(&'a Self)) {
        match self {
            Self::All(nodes) | Self::Any(nodes) => {
                nodes.iter().for_each(|node| node.for_each_leaf(visit));
            }
            Self::Not(node) => node.for_each_leaf(visit),
            Self::Field(_) | Self::Text(_) => visit(self),
        }
    }
}
