//! Replaces the times of a condition by instants.

use super::error::ConditionError;
use super::tree::{ConditionOperator, ConditionValue, FieldCondition, Node, ValueForm};
use super::{Position, TimeReader, contradiction};
use crate::field::Field;
use crate::value::{Timestamp, format_rfc3339};

/// Returns the same tree with each time in RFC 3339, UTC.
///
/// # Errors
/// If a time is not valid, or no time meets conditions that must all hold.
pub(super) fn with_instants(node: &Node, time: TimeReader<'_>) -> Result<Node, ConditionError> {
    let all = |nodes: &[Node]| {
        nodes.iter().map(|node| with_instants(node, time)).collect::<Result<Vec<_>, _>>()
    };
    Ok(match node {
        Node::All(nodes) => {
            contradiction::check_all(nodes, Some(time))?;
            Node::All(all(nodes)?)
        }
        Node::Any(nodes) => Node::Any(all(nodes)?),
        Node::Not(node) => Node::Not(Box::new(with_instants(node, time)?)),
        Node::Field(condition) if Field::by_name(&condition.field) == Some(Field::Time) => {
            field(condition, time)?
        }
        Node::Field(_) | Node::Text(_) => node.clone(),
    })
}

/// Reads a time of a condition.
///
/// # Errors
/// If it is not valid, at its position.
pub(super) fn read(
    value: &ConditionValue,
    time: TimeReader<'_>,
) -> Result<(i64, i64), ConditionError> {
    time(&value.text()).map_err(|message| ConditionError::new(value.position.clone(), message))
}

/// The first and the last instant that a comparison with a time accepts, given those of the time.
pub(super) fn accepted(operator: ConditionOperator, (first_ns, last_ns): (i64, i64)) -> (i64, i64) {
    match operator {
        ConditionOperator::Less => (i64::MIN, first_ns.saturating_sub(1)),
        ConditionOperator::LessOrEqual => (i64::MIN, last_ns),
        ConditionOperator::Greater => (last_ns.saturating_add(1), i64::MAX),
        ConditionOperator::GreaterOrEqual => (first_ns, i64::MAX),
        _ => (first_ns, last_ns),
    }
}

fn field(condition: &FieldCondition, time: TimeReader<'_>) -> Result<Node, ConditionError> {
    let values = condition.values.iter().map(|value| match value.form {
        ValueForm::Plain | ValueForm::Quoted => single(condition, value, time),
        ValueForm::Absent | ValueForm::Empty => {
            let operator = ConditionOperator::Equal;
            Ok(Node::Field(FieldCondition {
                operator,
                values: vec![value.clone()],
                ..condition.clone()
            }))
        }
    });
    let mut nodes = values.collect::<Result<Vec<_>, _>>()?;
    let one_of = match nodes.pop() {
        Some(node) if nodes.is_empty() => node,
        last => {
            nodes.extend(last);
            Node::Any(nodes)
        }
    };
    let is_negative = condition.operator == ConditionOperator::NotEqual;
    Ok(if is_negative { Node::Not(Box::new(one_of)) } else { one_of })
}

/// The comparison with one time. A day is a range, so equality with it is two comparisons.
fn single(
    condition: &FieldCondition,
    value: &ConditionValue,
    time: TimeReader<'_>,
) -> Result<Node, ConditionError> {
    let (first_ns, last_ns) = read(value, time)?;
    let compare = |operator, unix_ns| {
        let values = vec![instant(unix_ns, value.position.clone())];
        Node::Field(FieldCondition { operator, values, ..condition.clone() })
    };
    Ok(match condition.operator {
        ConditionOperator::Equal | ConditionOperator::NotEqual if first_ns != last_ns => {
            Node::All(vec![
                compare(ConditionOperator::GreaterOrEqual, first_ns),
                compare(ConditionOperator::LessOrEqual, last_ns),
            ])
        }
        ConditionOperator::NotEqual => compare(ConditionOperator::Equal, first_ns),
        operator @ (ConditionOperator::Greater | ConditionOperator::LessOrEqual) => {
            compare(operator, last_ns)
        }
        operator => compare(operator, first_ns),
    })
}

fn instant(unix_ns: i64, position: Position) -> ConditionValue {
    let text = format_rfc3339(Timestamp { unix_ns, offset_s: 0 });
    ConditionValue { bytes: text.into_bytes(), form: ValueForm::Plain, position }
}
