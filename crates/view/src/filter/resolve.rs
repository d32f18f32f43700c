//! Converts the clauses of a query to those of the core.

use weir_core::{
    Clause as CoreClause, Condition, Field, STATUS_CLASS, STATUS_CLASSES, TextTest, Unit, Values,
    parse_quantity,
};

use super::{InvalidCondition, instant};
use crate::bytes;
use crate::query::{Clause, Operator};
use crate::query_error::QueryError;

/// Returns the clauses of the core with the meaning of a query's clause.
///
/// # Errors
/// Fails if the clause is not valid for data with these columns.
pub(super) fn core_clauses(
    clause: &Clause,
    values: &Values,
) -> Result<Vec<CoreClause>, QueryError> {
    if clause.field == STATUS_CLASS {
        return Ok(vec![status_class(clause, values)?]);
    }
    match Field::by_name(&clause.field) {
        Some(Field::Time) => {
            clause.values.iter().map(|value| time_clause(clause.op, value)).collect()
        }
        Some(field) if Field::NUMBERS.contains(&field) => {
            let is_negative = clause.op == Operator::NotEqual;
            let op = if is_negative { Operator::Equal } else { clause.op };
            let range = |value: &String| number_range(field, op, value);
            let ranges: Result<_, _> = clause.values.iter().map(range).collect();
            let number = CoreClause::Number { column: field.column(), ranges: ranges? };
            Ok(vec![if is_negative { CoreClause::Not(Box::new(number)) } else { number }])
        }
        _ => Ok(vec![text_clause(clause, values)?]),
    }
}

/// Converts a clause about the status class to a condition, whose language supports classes.
fn status_class(clause: &Clause, values: &Values) -> Result<CoreClause, QueryError> {
    let sign = match clause.op {
        Operator::Equal => "=",
        Operator::NotEqual => "!=",
        _ => {
            let field = STATUS_CLASS.to_owned();
            return Err(QueryError::Operator { field, usable: "=, !=" });
        }
    };
    // The values become part of a condition, so they must not contain syntax.
    let is_known =
        |value: &&String| STATUS_CLASSES.iter().any(|class| value.eq_ignore_ascii_case(class));
    if let Some(value) = clause.values.iter().find(|value| !is_known(value)) {
        return Err(QueryError::NotAStatusClass(value.clone()));
    }
    let number = 0;
    let text = format!("{STATUS_CLASS}{sign}{}", clause.values.join(","));
    let resolved = Condition::parse(&text).and_then(|condition| condition.clause(values, &instant));
    resolved.map_err(|error| QueryError::Condition(InvalidCondition { number, text, error }))
}

fn time_clause(op: Operator, value: &str) -> Result<CoreClause, QueryError> {
    let (at, _) = instant(value).map_err(|_| QueryError::NotATime(value.to_owned()))?;
    let (first_ns, last_ns) = match op {
        Operator::Less => (i64::MIN, at - 1),
        Operator::LessOrEqual => (i64::MIN, at),
        Operator::Greater => (at + 1, i64::MAX),
        Operator::GreaterOrEqual => (at, i64::MAX),
        Operator::Equal => (at, at),
        _ => {
            let usable = "=, <, <=, >, >=";
            return Err(QueryError::Operator { field: "time".to_owned(), usable });
        }
    };
    Ok(CoreClause::Time { first_ns, last_ns })
}

fn number_range(field: Field, op: Operator, value: &str) -> Result<(u64, u64), QueryError> {
    let unit = if field == Field::Bytes { Unit::Bytes } else { Unit::Nanoseconds };
    let number = parse_quantity(value, unit);
    let number = number.map_err(|_| QueryError::NotANumber(value.to_owned()))?;
    bounds(op, number).ok_or_else(|| QueryError::Operator {
        field: field.name().to_owned(),
        usable: "=, !=, <, <=, >, >=",
    })
}

/// Returns the range of numbers that a comparison accepts; `None` if the operator does not compare.
/// An empty range has its larger bound first.
fn bounds(op: Operator, number: u64) -> Option<(u64, u64)> {
    Some(match op {
        Operator::Equal => (number, number),
        Operator::Less => number.checked_sub(1).map_or((1, 0), |max| (0, max)),
        Operator::LessOrEqual => (0, number),
        Operator::Greater => number.checked_add(1).map_or((1, 0), |min| (min, u64::MAX)),
        Operator::GreaterOrEqual => (number, u64::MAX),
        _ => return None,
    })
}

fn text_clause(clause: &Clause, values: &Values) -> Result<CoreClause, QueryError> {
    let negated =
        matches!(clause.op, Operator::NotEqual | Operator::NotEqualHex | Operator::NotMatch);
    let test = match clause.op {
        Operator::Equal | Operator::NotEqual => TextTest::equals(&clause.values),
        Operator::EqualHex | Operator::NotEqualHex => {
            let bytes: Result<_, _> = clause.values.iter().map(|value| from_hex(value)).collect();
            TextTest::OneOf(bytes?)
        }
        Operator::Prefix => any(clause, |value| Ok(TextTest::Prefix(value.as_bytes().to_vec())))?,
        Operator::Match | Operator::NotMatch => any(clause, |value| Ok(TextTest::matches(value)?))?,
        op => any(clause, |value| comparison(op, value))?,
    };
    Ok(CoreClause::text(values, &clause.field, test, negated)?)
}

/// Returns a test that passes if the test of any of the clause's values does.
fn any(
    clause: &Clause,
    test: impl Fn(&str) -> Result<TextTest, QueryError>,
) -> Result<TextTest, QueryError> {
    let tests: Result<Vec<_>, _> = clause.values.iter().map(|value| test(value)).collect();
    Ok(TextTest::Any(tests?))
}

fn comparison(op: Operator, value: &str) -> Result<TextTest, QueryError> {
    let number = parse_quantity(value, Unit::Count);
    let number = number.map_err(|_| QueryError::NotANumber(value.to_owned()))?;
    let (min, max) = bounds(op, number).unwrap_or((1, 0));
    Ok(TextTest::Between(min, max))
}

fn from_hex(text: &str) -> Result<Vec<u8>, QueryError> {
    bytes::from_hex(text).ok_or_else(|| QueryError::NotHexadecimal(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use weir_core::Values;

    use crate::query::{Clause, Operator, Query};
    use crate::query_error::QueryError;

    #[test]
    fn a_value_of_a_clause_is_no_condition() {
        let values = vec!["4xx or path~a".to_owned()];
        let field = weir_core::STATUS_CLASS.to_owned();
        let clause = Clause { field, op: Operator::Equal, values };
        let query = Query { clauses: vec![clause], ..Query::default() };
        let refused = QueryError::NotAStatusClass("4xx or path~a".to_owned());
        assert_eq!(query.question(&Values::new(0)).map(|_| ()), Err(refused));
    }
}
