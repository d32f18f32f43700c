//! Makes a clause of a condition: finds its fields among the columns, and reads its values.

use super::contradiction;
use super::equality;
use super::error::ConditionError;
use super::instants;
use super::parse_quantity;
use super::tree::{ConditionOperator, ConditionValue, FieldCondition, Node, ValueForm};
use super::{DerivedFinder, TimeReader};
use crate::field::{ColumnKind, Field, Unit};
use crate::filter::clause::{Clause, ClauseError, TextTest, known_names};
use crate::pattern::PatternBudget;
use crate::value::{STATUS_CLASS, STATUS_CLASSES};
use crate::values::{DerivedFrom, Values};

type Resolved = Result<Clause, ConditionError>;

/// Where a condition finds its fields.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    pub(super) values: &'a Values,
    /// The fields that are no columns.
    pub(super) derived: DerivedFinder<'a>,
}

/// The clause of a tree, whose expressions are compiled within a budget. Without a reader of times,
/// they are not checked, and the clause is not one to filter by.
///
/// # Errors
/// If a field is not one of the columns, or a value is not valid for its field.
pub(super) fn clause(
    node: &Node,
    fields: Fields<'_>,
    time: Option<TimeReader<'_>>,
    patterns: &PatternBudget,
) -> Resolved {
    let one = |node: &Node| clause(node, fields, time, patterns);
    let all = |nodes: &[Node]| nodes.iter().map(one).collect::<Result<Vec<_>, _>>();
    Ok(match node {
        Node::All(nodes) => {
            contradiction::check_all(nodes, time)?;
            Clause::All(all(nodes)?)
        }
        Node::Any(nodes) => Clause::Any(all(nodes)?),
        Node::Not(node) => Clause::Not(Box::new(one(node)?)),
        Node::Text(text) => search(text, patterns)?,
        Node::Field(condition) => {
            contradiction::check_one(condition)?;
            let is_negative = condition.operator == ConditionOperator::NotEqual;
            match Field::by_name(&condition.field) {
                _ if condition.field == STATUS_CLASS => {
                    negated(status_class(condition)?, is_negative)
                }
                Some(field) => match field.kind() {
                    ColumnKind::Text => text(condition, Some(field), fields, patterns)?,
                    ColumnKind::Number(unit) => {
                        negated(number(condition, field, unit)?, is_negative)
                    }
                    ColumnKind::Time => negated(instant(condition, time)?, is_negative),
                },
                None => text(condition, None, fields, patterns)?,
            }
        }
    })
}

fn negated(clause: Clause, is_negative: bool) -> Clause {
    if is_negative { Clause::Not(Box::new(clause)) } else { clause }
}

/// A search in all text fields.
fn search(text: &ConditionValue, patterns: &PatternBudget) -> Resolved {
    let invalid = |message: &str| ConditionError::new(text.position.clone(), message);
    let searched = std::str::from_utf8(&text.bytes)
        .map_err(|_| invalid("a search needs text; compare bytes with a field: path=\"\\xff\""))?;
    let contains = TextTest::contains_within(searched, patterns)
        .map_err(|_| invalid("the text to search for is too long; write a shorter one"))?;
    let block = equality::block(&text.bytes).filter(|_| text.is_plain());
    Ok(Clause::AnyText(match block {
        Some(block) => TextTest::Any(vec![TextTest::InBlocks(vec![block], Vec::new()), contains]),
        None => contains,
    }))
}

fn text(
    condition: &FieldCondition,
    field: Option<Field>,
    fields: Fields<'_>,
    patterns: &PatternBudget,
) -> Resolved {
    let column = fields.values.schema().text_column_by_name(&condition.field);
    let derived = if column.is_none() { (fields.derived)(&condition.field) } else { None };
    let one = |test: TextTest, negated: bool| match (column, &derived) {
        (Some(column), _) => Some(Clause::Text { column, test, negated }),
        (None, Some((field, DerivedFrom::Column(column)))) => {
            let test = TextTest::Derived(field.clone(), Box::new(test));
            Some(Clause::Text { column: *column, test, negated })
        }
        (None, Some((field, DerivedFrom::Time))) => {
            Some(Clause::TimePart { field: field.clone(), test, negated })
        }
        (None, None) => None,
    };
    let one =
        |test, negated| one(test, negated).ok_or_else(|| unknown_field(condition, fields.values));
    let is_negative =
        matches!(condition.operator, ConditionOperator::NotEqual | ConditionOperator::NotMatch);
    let is_absent = |value: &&ConditionValue| value.form == ValueForm::Absent;
    let mut clauses = Vec::new();
    let test = text_test(condition, field, patterns)?;
    if !condition.values.iter().all(|value| is_absent(&value)) {
        clauses.push((test, false));
    }
    if condition.values.iter().any(|value| is_absent(&value)) {
        clauses.push((TextTest::Present, true));
    }
    Ok(match (clauses.pop(), clauses.is_empty()) {
        // A clause on one column looks up one decision for each row.
        (Some((test, negated)), true) => one(test, negated != is_negative)?,
        (last, _) => {
            clauses.extend(last);
            let any = clauses.into_iter().map(|(test, negated)| one(test, negated));
            negated(Clause::Any(any.collect::<Result<_, _>>()?), is_negative)
        }
    })
}

/// The test of the values that are not `(none)`.
fn text_test(
    condition: &FieldCondition,
    field: Option<Field>,
    patterns: &PatternBudget,
) -> Result<TextTest, ConditionError> {
    let values = || condition.values.iter().filter(|value| value.form != ValueForm::Absent);
    let bytes = |value: &ConditionValue| value.bytes.clone();
    match condition.operator {
        ConditionOperator::Equal | ConditionOperator::NotEqual => equality_test(condition, field),
        ConditionOperator::Prefix => {
            for value in values().filter(|value| value.is_plain() && value.bytes.contains(&b'*')) {
                equality::check(condition, field, value)?;
            }
            Ok(TextTest::Any(values().map(|value| TextTest::Prefix(bytes(value))).collect()))
        }
        ConditionOperator::Match | ConditionOperator::NotMatch => {
            let tests: Result<Vec<_>, _> =
                values().map(|value| expression(value, patterns)).collect();
            tests.map(TextTest::Any)
        }
        operator => {
            let between = |value: &ConditionValue| {
                let number = read_number(value, Unit::Count)?;
                let (min, max) = range(operator, number);
                Ok(TextTest::Between(min, max))
            };
            let tests: Result<Vec<_>, _> = values().map(between).collect();
            tests.map(TextTest::Any)
        }
    }
}

fn equality_test(
    condition: &FieldCondition,
    field: Option<Field>,
) -> Result<TextTest, ConditionError> {
    let (mut classes, mut others) = (Vec::new(), Vec::new());
    for value in condition.values.iter().filter(|value| value.form != ValueForm::Absent) {
        if value.is_plain() {
            equality::check(condition, field, value)?;
        }
        let is_status = field == Some(Field::Status) && value.is_plain();
        match equality::status_class(&value.text()).filter(|_| is_status) {
            Some((min, max)) => classes.push(TextTest::Between(min, max)),
            None => others.push((value.bytes.clone(), value.is_plain())),
        }
    }
    if classes.is_empty() {
        return Ok(equality::test(others.into_iter()));
    }
    if !others.is_empty() {
        classes.push(equality::test(others.into_iter()));
    }
    Ok(TextTest::Any(classes))
}

fn expression(
    value: &ConditionValue,
    patterns: &PatternBudget,
) -> Result<TextTest, ConditionError> {
    let invalid = |message: String| ConditionError::new(value.position.clone(), message);
    let text = std::str::from_utf8(&value.bytes)
        .map_err(|_| invalid("a regular expression is text".to_owned()))?;
    TextTest::matches_within(text, patterns).map_err(|error| match error {
        ClauseError::Regex(message) => invalid(message),
        error @ ClauseError::UnknownField { .. } => invalid(error.to_string()),
    })
}

fn status_class(condition: &FieldCondition) -> Resolved {
    let column = Field::Status.column();
    let text = |test| Clause::Text { column, test, negated: false };
    let clause = |value: &ConditionValue| {
        let written = value.text();
        match value.form {
            ValueForm::Absent => {
                return Ok(Clause::Text { column, test: TextTest::Present, negated: true });
            }
            _ if written.eq_ignore_ascii_case(STATUS_CLASSES[0]) => {
                let is_status = Clause::Not(Box::new(text(TextTest::Between(100, 599))));
                return Ok(Clause::All(vec![text(TextTest::Present), is_status]));
            }
            _ => {}
        }
        let range = equality::status_class(&written);
        let (min, max) = range.ok_or_else(|| {
            let classes = STATUS_CLASSES.join(", ");
            let message = format!("`{written}` is not a class of statuses; write one of {classes}");
            ConditionError::new(value.position.clone(), message)
        })?;
        Ok(text(TextTest::Between(min, max)))
    };
    check_equality(condition, "is a class")?;
    one_of(condition, clause)
}

fn number(condition: &FieldCondition, field: Field, unit: Unit) -> Resolved {
    if condition.operator.is_expression() || condition.operator == ConditionOperator::Prefix {
        return Err(wrong_operator(condition, "is a number", "=, !=, <, <=, > or >="));
    }
    let column = field.column();
    one_of(condition, |value| match value.form {
        ValueForm::Absent => {
            let present = Clause::Number { column, ranges: vec![(0, u64::MAX)] };
            Ok(Clause::Not(Box::new(present)))
        }
        _ => {
            let number = read_number(value, unit)?;
            Ok(Clause::Number { column, ranges: vec![range(condition.operator, number)] })
        }
    })
}

fn instant(condition: &FieldCondition, time: Option<TimeReader<'_>>) -> Resolved {
    if condition.operator.is_expression() || condition.operator == ConditionOperator::Prefix {
        return Err(wrong_operator(condition, "is a time", "=, !=, <, <=, > or >="));
    }
    one_of(condition, |value| {
        let between = |(first_ns, last_ns)| Clause::Time { first_ns, last_ns };
        let any = (i64::MIN, i64::MAX);
        if value.form == ValueForm::Absent {
            return Ok(Clause::Not(Box::new(between(any))));
        }
        let range = time.map(|time| instants::read(value, time)).transpose()?;
        Ok(between(range.map_or(any, |range| instants::accepted(condition.operator, range))))
    })
}

/// The clause that one of the values meets.
fn one_of(condition: &FieldCondition, clause: impl Fn(&ConditionValue) -> Resolved) -> Resolved {
    let mut clauses = condition.values.iter().map(clause).collect::<Result<Vec<_>, _>>()?;
    Ok(match clauses.pop() {
        Some(only) if clauses.is_empty() => only,
        last => {
            clauses.extend(last);
            Clause::Any(clauses)
        }
    })
}

fn check_equality(condition: &FieldCondition, what: &str) -> Result<(), ConditionError> {
    match condition.operator {
        ConditionOperator::Equal | ConditionOperator::NotEqual => Ok(()),
        _ => Err(wrong_operator(condition, what, "= or !=")),
    }
}

fn wrong_operator(condition: &FieldCondition, what: &str, usable: &str) -> ConditionError {
    let start = condition.position.end;
    let end = condition.values.first().map_or(start, |value| value.position.start);
    let message = format!(
        "`{}` {what}, so `{}` does not compare with it; use {usable}",
        condition.field,
        condition.operator.sign()
    );
    ConditionError::new(start..end, message)
}

fn read_number(value: &ConditionValue, unit: Unit) -> Result<u64, ConditionError> {
    if value.form == ValueForm::Empty {
        let message = "a number is never empty; write (none)";
        return Err(ConditionError::new(value.position.clone(), message));
    }
    let text = value.text();
    parse_quantity(&text, unit).map_err(|error| {
        // Only a value without quotation marks is the text as it is written.
        let position = match value.form {
            ValueForm::Plain if value.position.len() == text.len() => {
                let start = value.position.start;
                start + error.range.start..start + error.range.end
            }
            _ => value.position.clone(),
        };
        ConditionError::new(position, error.to_string())
    })
}

/// The range of numbers that a comparison accepts. An empty range has its larger bound first.
pub(super) fn range(operator: ConditionOperator, number: u64) -> (u64, u64) {
    match operator {
        ConditionOperator::Less => number.checked_sub(1).map_or((1, 0), |max| (0, max)),
        ConditionOperator::LessOrEqual => (0, number),
        ConditionOperator::Greater => number.checked_add(1).map_or((1, 0), |min| (min, u64::MAX)),
        ConditionOperator::GreaterOrEqual => (number, u64::MAX),
        _ => (number, number),
    }
}

fn unknown_field(condition: &FieldCondition, values: &Values) -> ConditionError {
    let name = condition.field.clone();
    let error = ClauseError::UnknownField { name, known: known_names(values) };
    ConditionError { range: condition.position.clone(), message: error.to_string() }
}
