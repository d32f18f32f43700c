//! Reads the times of a condition.

use super::error::ConditionError;
use super::tree::{ConditionOperator, ConditionValue, Node};
use super::{TimeReader, contradiction};

/// Returns the same tree with the instants of its times.
///
/// # Errors
/// If a time is not valid, or no time meets conditions that must all hold.
pub(super) fn with_instants(node: &Node, time: TimeReader<'_>) -> Result<Node, ConditionError> {
    let mut settled = node.clone();
    settled.for_each_time(&mut |value| {
        value.instants = Some(read(value, time)?);
        Ok(())
    })?;
    check(&settled, time)?;
    Ok(settled)
}

fn check(node: &Node, time: TimeReader<'_>) -> Result<(), ConditionError> {
    match node {
        Node::All(nodes) => {
            contradiction::check_all(nodes, Some(time))?;
            nodes.iter().try_for_each(|node| check(node, time))
        }
        Node::Any(nodes) => nodes.iter().try_for_each(|node| check(node, time)),
        Node::Not(node) => check(node, time),
        Node::Field(_) | Node::Text(_) => Ok(()),
    }
}

/// Returns the first and the last instant of a time, which is read unless it is known.
///
/// # Errors
/// If it is not valid, at its position.
pub(super) fn read(
    value: &ConditionValue,
    time: TimeReader<'_>,
) -> Result<(i64, i64), ConditionError> {
    if let Some(instants) = value.instants {
        return Ok(instants);
    }
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
