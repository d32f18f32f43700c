//! Clicked clauses: another spelling of conditions on one field.

use weir_core::{ConditionOperator, ConditionValue, Field, FieldCondition, ValueForm};
use weir_view::{Clause, Operator, from_hex};

use super::query_error::QueryError;

/// The operators of clauses with those of conditions. Clauses have two more, for values in
/// hexadecimal.
const OPERATORS: [(Operator, ConditionOperator); 9] = [
    (Operator::Equal, ConditionOperator::Equal),
    (Operator::NotEqual, ConditionOperator::NotEqual),
    (Operator::Prefix, ConditionOperator::Prefix),
    (Operator::Match, ConditionOperator::Match),
    (Operator::NotMatch, ConditionOperator::NotMatch),
    (Operator::Less, ConditionOperator::Less),
    (Operator::LessOrEqual, ConditionOperator::LessOrEqual),
    (Operator::Greater, ConditionOperator::Greater),
    (Operator::GreaterOrEqual, ConditionOperator::GreaterOrEqual),
];

/// Returns the operator of a clause with the meaning of one in a condition.
pub(super) fn clause_operator(operator: ConditionOperator) -> Operator {
    let same = OPERATORS.iter().find(|(_, own)| *own == operator);
    same.map_or(Operator::Equal, |(operator, _)| *operator)
}

/// Returns whether a clause is on the time.
pub(super) fn is_time(clause: &Clause) -> bool {
    Field::by_name(&clause.field) == Some(Field::Time)
}

/// Returns the conditions of a clause, which must all hold.
///
/// # Errors
/// Fails if a value is not hexadecimal and should be.
pub(super) fn conditions(clause: &Clause) -> Result<Vec<FieldCondition>, QueryError> {
    let (operator, is_hex) = match clause.op {
        Operator::EqualHex => (ConditionOperator::Equal, true),
        Operator::NotEqualHex => (ConditionOperator::NotEqual, true),
        op => {
            let same = OPERATORS.iter().find(|(own, _)| *own == op);
            (same.map_or(ConditionOperator::Equal, |(_, operator)| *operator), false)
        }
    };
    let bytes = |value: &String| match is_hex {
        true => from_hex(value).ok_or_else(|| QueryError::NotHexadecimal(value.clone())),
        false => Ok(value.as_bytes().to_vec()),
    };
    let mut condition = FieldCondition::of_bytes(
        &clause.field,
        operator,
        clause.values.iter().map(bytes).collect::<Result<Vec<_>, _>>()?,
    );
    if is_hex {
        condition.values.iter_mut().for_each(|value| value.form = ValueForm::Quoted);
    }
    if !is_time(clause) {
        return Ok(vec![condition]);
    }
    let of_value = |value: &ConditionValue| FieldCondition {
        values: vec![value.clone()],
        ..condition.clone()
    };
    Ok(condition.values.iter().map(of_value).collect())
}
