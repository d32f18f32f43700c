//! The language of conditions, in which people write filters: `status=4xx and not path^=/health`.
//!
//! | step | module |
//! |---|---|
//! | a text becomes a tree | `parser`, which reads words and values with `cursor` |
//! | the tree | `tree`; `normal_form` writes it as text again |
//! | names and values become a [`Clause`] of a data set | `resolve` and `equality` |
//! | what no record can meet | `contradiction` |
//! | what is wrong, and where | `error`; `wildcard` finds what to write instead of a wildcard |
//!
//! `docs/conditions.md` describes the language for its users.

mod contradiction;
mod cursor;
mod equality;
mod error;
mod instants;
mod normal_form;
mod parser;
mod resolve;
mod tree;
mod wildcard;

use std::ops::Range;

pub use error::{ConditionError, excerpt};
use tree::Node;
pub use tree::{ConditionOperator, ConditionValue, FieldCondition, ValueForm};

use super::clause::Clause;
use crate::derived::DerivedField;
use crate::field::Unit;
use crate::pattern::PatternBudget;
use crate::value::{QuantityError, STATUS_CLASS, parse_count, parse_seconds_ns, parse_whole_size};
use crate::values::{DerivedFrom, Values};

/// A condition on records, as a person writes it.
///
/// [`fmt::Display`](std::fmt::Display) writes it in its normal form, which is read as an equal
/// condition.
///
/// ```
/// use weir_core::{Condition, Values};
///
/// let condition = Condition::parse("status=404,403 and not (path^=/health or googlebot)")?;
/// let values = Values::new(1 << 20);
/// let clause = condition.clause(&values, &|_| Err("no times here".to_owned()))?;
///
/// let error = Condition::parse("status==404").unwrap_err();
/// assert_eq!(error.range, 6..8);
/// assert_eq!(error.message, "`==` is not an operator; write `=`");
/// # Ok::<(), weir_core::ConditionError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    root: Node,
}

impl From<FieldCondition> for Condition {
    fn from(condition: FieldCondition) -> Self {
        Self { root: Node::Field(condition) }
    }
}

/// Finds a field that is derived from a column or from the time, by name.
pub type DerivedFinder<'a> = &'a dyn Fn(&str) -> Option<(DerivedField, DerivedFrom)>;

/// Reads a time, and returns its first and last instant in nanoseconds since 1970: those of a day
/// differ. The error says why the text is not a time.
pub type TimeReader<'a> = &'a dyn Fn(&str) -> Result<(i64, i64), String>;

impl Condition {
    /// The longest text, in bytes: more than a person types, and short enough for an address.
    pub const BYTES_MAX: usize = 16 * 1024;

    /// The deepest nesting of brackets and `not`.
    pub const DEPTH_MAX: usize = 64;

    /// Parses a text. Nothing is known about the fields of the log yet.
    ///
    /// # Errors
    /// If the text or its normal form is too long or too deep, or the text is not a condition.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        let condition = Self { root: parser::parse(text)? };
        condition.check_limits(text.len())?;
        Ok(condition)
    }

    /// Returns the condition for a data set, or for any data with the same columns.
    ///
    /// # Errors
    /// If a field is not one of the columns, or a value is not valid for its field.
    pub fn clause(&self, values: &Values, time: TimeReader<'_>) -> Result<Clause, ConditionError> {
        self.clause_within(values, time, &PatternBudget::default())
    }

    /// Returns the condition as [`Self::clause`] does, with expressions that are compiled within a
    /// budget.
    ///
    /// # Errors
    /// Also if the budget refuses an expression.
    pub fn clause_within(
        &self,
        values: &Values,
        time: TimeReader<'_>,
        patterns: &PatternBudget,
    ) -> Result<Clause, ConditionError> {
        let fields = resolve::Fields { values, derived: &|_| None };
        resolve::clause(&self.root, fields, Some(time), patterns)
    }

    /// Returns the condition as [`Self::clause`] does, which may also name derived fields.
    ///
    /// # Errors
    /// If a field is neither one of the columns nor found, or a value is not valid for its field.
    pub fn clause_deriving(
        &self,
        values: &Values,
        time: TimeReader<'_>,
        derived: DerivedFinder<'_>,
    ) -> Result<Clause, ConditionError> {
        let fields = resolve::Fields { values, derived };
        resolve::clause(&self.root, fields, Some(time), &PatternBudget::default())
    }

    /// Checks that [`Self::clause_deriving`] returns a clause, except for the times, whose meaning need not
    /// be known yet.
    ///
    /// # Errors
    /// If a field is neither one of the columns nor found, or a value is not valid for its field.
    pub fn check(&self, values: &Values, derived: DerivedFinder<'_>) -> Result<(), ConditionError> {
        let fields = resolve::Fields { values, derived };
        resolve::clause(&self.root, fields, None, &PatternBudget::default()).map(|_| ())
    }

    /// Returns the same condition with the instants of its times, so that [`Self::clause`] reads
    /// none. Its normal form has the times as they were written.
    ///
    /// # Errors
    /// If a time is not valid, or no time meets conditions that must all hold.
    pub fn with_instants(&self, time: TimeReader<'_>) -> Result<Self, ConditionError> {
        Ok(Self { root: instants::with_instants(&self.root, time)? })
    }

    /// Returns the same condition with its instants later by a number of nanoseconds.
    #[must_use]
    pub fn later(mut self, by_ns: i64) -> Self {
        let later = self.root.for_each_time(&mut |value| {
            let later = |ns: i64| ns.saturating_add(by_ns);
            value.instants = value.instants.map(|(first, last)| (later(first), later(last)));
            Ok(())
        });
        debug_assert_eq!(later, Ok(()), "the function never fails");
        self
    }

    /// Returns a field that the condition compares by `=` if it does nothing else: `status=404`,
    /// or `status=404 or status_class=5xx`, which read one column.
    pub fn equality_field(&self) -> Option<&str> {
        let equalities = self.equalities()?;
        let first = &equalities.first()?.field;
        let is_same = |other: &&FieldCondition| {
            contradiction::column(&other.field) == contradiction::column(first)
        };
        equalities.iter().all(is_same).then_some(first)
    }

    fn equalities(&self) -> Option<Vec<&FieldCondition>> {
        let equality = |node: &'_ Node| {
            node.field().is_some_and(|field| field.operator == ConditionOperator::Equal)
        };
        let nodes = match &self.root {
            Node::Any(nodes) => &nodes[..],
            node => std::slice::from_ref(node),
        };
        nodes.iter().all(equality).then(|| nodes.iter().filter_map(Node::field).collect())
    }

    /// Returns the condition that one of two conditions holds, if both only compare one column by
    /// `=`: `client=a` and `remote_addr=b` are `client=a,b` together.
    pub fn joined_equality(&self, other: &Self) -> Option<Self> {
        let (field, other_field) = (self.equality_field()?, other.equality_field()?);
        if contradiction::column(field) != contradiction::column(other_field) {
            return None;
        }
        let mut joined: Vec<FieldCondition> = Vec::new();
        for condition in self.equalities()?.into_iter().chain(other.equalities()?) {
            // A class and a status are written alike and mean the same in one list only if they
            // are values of the status.
            let is_class = |field: &str| field == STATUS_CLASS;
            let same =
                |one: &&mut FieldCondition| is_class(&one.field) == is_class(&condition.field);
            let Some(same) = joined.iter_mut().find(same) else {
                joined.push(condition.clone());
                continue;
            };
            for value in &condition.values {
                if !same.values.contains(value) {
                    same.values.push(value.clone());
                }
            }
        }
        let mut nodes: Vec<Node> = joined.into_iter().map(Node::Field).collect();
        let root = if nodes.len() == 1 { nodes.pop()? } else { Node::Any(nodes) };
        Some(Self { root })
    }

    /// Checks that [`Self::parse`] accepts the normal form.
    fn check_limits(&self, text_bytes: usize) -> Result<(), ConditionError> {
        let normal_bytes = self.to_string().len();
        let (bytes_max, depth_max) = (Self::BYTES_MAX, Self::DEPTH_MAX);
        let refuse = |message: String| Err(ConditionError::new(0..text_bytes, message));
        if normal_bytes > bytes_max {
            return refuse(format!(
                "the condition has {normal_bytes} bytes when its times and bytes are written in \
                 full; write at most {bytes_max}"
            ));
        }
        if self.root.depth() > depth_max {
            return refuse(format!(
                "the condition is nested more than {depth_max} levels deep, `and` within `or` \
                 included; write a shorter one"
            ));
        }
        Ok(())
    }

    /// Returns the conditions on fields, in the order of the text.
    pub fn fields(&self) -> Vec<&FieldCondition> {
        let mut fields = Vec::new();
        self.root.for_each_leaf(&mut |node| fields.extend(node.field()));
        fields
    }

    /// Returns the conditions on fields if all of them must hold and there is nothing else: no
    /// `or`, no `not` and no search in all fields.
    pub fn conjunction(&self) -> Option<Vec<&FieldCondition>> {
        match &self.root {
            Node::All(nodes) => nodes.iter().map(Node::field).collect(),
            node => node.field().map(|field| vec![field]),
        }
    }

    /// Returns the number of regular expressions that the clause of the condition has.
    pub fn expressions(&self) -> usize {
        let mut expressions = 0;
        self.root.for_each_leaf(&mut |node| {
            expressions += match node {
                Node::Field(field) if !field.operator.is_expression() => 0,
                Node::Field(field) => field.values.len(),
                _ => 1,
            };
        });
        expressions
    }
}

/// Returns a number in the unit of a column: bytes from a size such as `500`, `10kB` or `1MiB`,
/// nanoseconds from a duration such as `0.5` (seconds) or `200ms`.
///
/// # Errors
/// If the text is not such a number, or not a whole one.
fn parse_quantity(text: &str, unit: Unit) -> Result<u64, QuantityError> {
    match unit {
        Unit::Bytes => parse_whole_size(text),
        Unit::Count => parse_count(text),
        Unit::Nanoseconds => parse_seconds_ns(text),
    }
}

/// The position of something in the text of a condition, in bytes.
type Position = Range<usize>;
