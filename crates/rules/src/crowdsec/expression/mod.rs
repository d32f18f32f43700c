//! The expressions of scenarios: the language of expr-lang with the functions of CrowdSec.
//!
//! An expression is compiled once ([`Expression::compile`]) and evaluated for each event. It reads
//! the event through [`Fields`], which are texts as in CrowdSec's maps `evt.Meta` and `evt.Parsed`.
//! Types are checked at compile time, as in expr-lang, so an evaluation seldom fails.

mod binary;
mod characters;
mod evaluate;
mod function;
mod json;
mod members;
mod operators;
mod outlook;
mod parse;
mod syntax;
mod text_functions;
mod text_search;
mod token;
mod value;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use weir_core::BoundedRegex;

pub(super) use self::outlook::KnownCondition;

use self::evaluate::Evaluation;
use self::parse::Parser;
use self::syntax::Part;
use self::value::{Kind, Value};
use super::fields::EventField;
use super::tag_table::TagTable;
use crate::error::{Reason, RuleError};

/// Resolves the names in an expression: fields, data files and patterns.
pub(super) trait Names {
    /// Returns the number of an event field, `evt.SPACE.NAME` such as `evt.Meta.name`.
    ///
    /// # Errors
    /// If events have no such field.
    fn field(&mut self, space: &str, name: &str, range: &Range<usize>) -> Result<usize, Reason>;

    /// The lines of a data file.
    ///
    /// # Errors
    /// If it is missing.
    fn lines(&mut self, file: &str) -> Result<Arc<[Vec<u8>]>, Reason>;

    /// The patterns of a data file.
    ///
    /// # Errors
    /// If it is missing or has a wrong pattern.
    fn patterns(&mut self, file: &str) -> Result<BoundedRegex, Reason>;

    /// The tags of a data file.
    ///
    /// # Errors
    /// If it is missing or has a wrong line.
    fn tags(&mut self, file: &str) -> Result<Arc<TagTable>, Reason>;

    /// A pattern that is written in an expression.
    ///
    /// # Errors
    /// If it is not a valid pattern or too large.
    fn pattern(&mut self, text: &str) -> Result<BoundedRegex, Reason>;

    /// Whether the expression may use `queue`, the events of a bucket.
    fn has_queue(&self) -> bool;
}

/// The fields of an event, by the numbers that [`Names::field`] returned.
pub(super) trait Fields {
    /// Returns a field of the event; empty if the event does not have it.
    fn value(&self, field: usize) -> Cow<'_, [u8]>;

    /// The number of events in the bucket.
    fn queue_length(&self) -> usize {
        0
    }

    /// A field of an event in the bucket.
    fn queue_value(&self, _event: usize, _field: usize) -> &[u8] {
        b""
    }
}

/// The error of an expression that cannot be evaluated for an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) range: Range<usize>,
    pub(super) message: String,
}

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Expression(Part);

impl Expression {
    /// Compiles a condition.
    ///
    /// # Errors
    /// If the text is not a valid expression, is not boolean, or uses an unknown name.
    pub(super) fn condition(text: &str, names: &mut dyn Names) -> Result<Self, RuleError> {
        Self::compile(text, Kind::Boolean, names)
    }

    /// Compiles an expression whose value is a text, such as a key.
    ///
    /// # Errors
    /// As [`Self::condition`].
    pub(super) fn of_text(text: &str, names: &mut dyn Names) -> Result<Self, RuleError> {
        Self::compile(text, Kind::Text, names)
    }

    fn compile(text: &str, kind: Kind, names: &mut dyn Names) -> Result<Self, RuleError> {
        let part = Parser::new(text, names)?.program()?;
        if !part.kind.may_be(kind) {
            let (found, needed) = (part.kind.noun(), kind.noun());
            let message = format_args!("this is {found}; write an expression that is {needed}");
            return Err(RuleError::new(part.range, message));
        }
        Ok(Self(part))
    }

    /// Whether the condition holds.
    ///
    /// # Errors
    /// If it has no value for the event.
    pub(super) fn holds(&self, fields: &dyn Fields) -> Result<bool, Failure> {
        Evaluation::new(fields).boolean(&self.0)
    }

    /// Evaluates an expression whose value is a text.
    ///
    /// # Errors
    /// If it has no value for the event.
    pub(super) fn text<'a>(&'a self, fields: &'a dyn Fields) -> Result<Cow<'a, [u8]>, Failure> {
        match Evaluation::new(fields).value(&self.0)? {
            Value::Text(text) => Ok(text),
            other => Err(self.failure(&other, Kind::Text)),
        }
    }

    fn failure(&self, value: &Value<'_>, needed: Kind) -> Failure {
        let message = format!("it is {} instead of {}", value.kind().noun(), needed.noun());
        Failure { range: self.0.range.clone(), message }
    }
}

/// The fields for evaluating constants: all are empty.
#[derive(Debug)]
struct NoFields;

impl Fields for NoFields {
    fn value(&self, _field: usize) -> Cow<'_, [u8]> {
        Cow::Borrowed(b"")
    }
}

/// Returns the number of a field in a list, after adding it if it is missing.
pub(super) fn number_of(fields: &mut Vec<EventField>, field: EventField) -> usize {
    fields.iter().position(|known| *known == field).unwrap_or_else(|| {
        fields.push(field);
        fields.len() - 1
    })
}

#[cfg(test)]
mod tests;
