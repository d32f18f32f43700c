//! Conditions that no record can meet.
//!
//! A record has one value of each field, or none. So two conditions on one field that must both
//! hold need a value that meets both. Only what is certain is refused: of a regular expression it
//! is not known which values it accepts.

use super::equality;
use super::error::ConditionError;
use super::parse_quantity;
use super::tree::{ConditionOperator, ConditionValue, FieldCondition, Node, ValueForm};
use super::{TimeReader, instants};
use crate::field::{ColumnKind, Field, Unit};
use crate::value::STATUS_CLASS;

/// The values that a condition allows for its field.
enum Demand<'a> {
    /// To be one of these.
    OneOf(&'a [ConditionValue]),
    /// To begin with one of these.
    Prefix(&'a [ConditionValue]),
    /// To be a number in one of these ranges.
    Ranges(Vec<(u64, u64)>),
    /// To be an instant in one of these ranges, in nanoseconds since 1970.
    Times(Vec<(i64, i64)>),
    /// To be there.
    Present,
}

/// Refuses two conditions on one field that must both hold and that no value meets. Without a
/// reader of times, those on the time are not judged.
///
/// # Errors
/// At the second of the two.
pub(super) fn check_all(
    nodes: &[Node],
    time: Option<TimeReader<'_>>,
) -> Result<(), ConditionError> {
    let mut conditions = Vec::new();
    flatten(nodes, &mut conditions);
    let demands: Vec<_> = conditions
        .iter()
        .filter_map(|condition| Some((*condition, demand(condition, time)?)))
        .collect();
    for (number, (condition, demand)) in demands.iter().enumerate() {
        let is_other = |(other, other_demand): &&(&FieldCondition, Demand<'_>)| {
            column(&other.field) == column(&condition.field)
                && !is_possible(&condition.field, demand, other_demand)
        };
        if let Some((other, _)) = demands[..number].iter().find(is_other) {
            return Err(refusal(other, condition, time));
        }
    }
    Ok(())
}

/// Refuses a comparison that no number meets.
pub(super) fn check_one(condition: &FieldCondition) -> Result<(), ConditionError> {
    let is_empty = |ranges: &[(u64, u64)]| ranges.iter().all(|(min, max)| min > max);
    match demand(condition, None) {
        Some(Demand::Ranges(ranges)) if !ranges.is_empty() && is_empty(&ranges) => {
            let name = &condition.field;
            let message = match condition.operator {
                ConditionOperator::Greater => format!("no {name} is greater than {}", u64::MAX),
                _ => format!("no {name} is less than 0; write {name}=0"),
            };
            Err(ConditionError::new(position(condition), message))
        }
        _ => Ok(()),
    }
}

fn flatten<'a>(nodes: &'a [Node], conditions: &mut Vec<&'a FieldCondition>) {
    for node in nodes {
        match node {
            Node::All(nodes) => flatten(nodes, conditions),
            node => conditions.extend(node.field()),
        }
    }
}

/// The name of the column that a field is read from.
pub(super) fn column(field: &str) -> &str {
    match Field::by_name(field) {
        _ if field == STATUS_CLASS => Field::Status.name(),
        Some(field) => field.name(),
        None => field,
    }
}

/// `None` if the condition may accept any value, or it is not known which.
fn demand<'a>(condition: &'a FieldCondition, time: Option<TimeReader<'_>>) -> Option<Demand<'a>> {
    let values = &condition.values[..];
    let kind = Field::by_name(&condition.field).map_or(ColumnKind::Text, Field::kind);
    let unit = match kind {
        ColumnKind::Time => return demand_of_time(condition, time?),
        ColumnKind::Number(unit) => Some(unit),
        ColumnKind::Text => None,
    };
    match condition.operator {
        ConditionOperator::NotEqual | ConditionOperator::NotMatch => None,
        ConditionOperator::Match => Some(Demand::Present),
        ConditionOperator::Prefix => Some(Demand::Prefix(values)),
        ConditionOperator::Equal => match unit {
            Some(unit) if values.iter().all(|value| value.form != ValueForm::Absent) => {
                Some(Demand::Ranges(ranges(condition, unit)?))
            }
            _ => Some(Demand::OneOf(values)),
        },
        _ => Some(Demand::Ranges(ranges(condition, unit.unwrap_or(Unit::Count))?)),
    }
}

fn demand_of_time<'a>(condition: &'a FieldCondition, time: TimeReader<'_>) -> Option<Demand<'a>> {
    let values = &condition.values[..];
    let range = |value: &ConditionValue| {
        // A time that is not valid is refused where it is read.
        let range = instants::read(value, time).ok()?;
        Some(instants::accepted(condition.operator, range))
    };
    match condition.operator {
        ConditionOperator::NotEqual => None,
        _ if values.iter().all(|value| value.form == ValueForm::Absent) => {
            Some(Demand::OneOf(values))
        }
        _ => Some(Demand::Times(values.iter().map(range).collect::<Option<_>>()?)),
    }
}

fn ranges(condition: &FieldCondition, unit: Unit) -> Option<Vec<(u64, u64)>> {
    let range = |value: &ConditionValue| {
        let number = parse_quantity(&value.text(), unit).ok()?;
        Some(super::resolve::range(condition.operator, number))
    };
    condition.values.iter().map(range).collect()
}

fn is_possible(field: &str, one: &Demand<'_>, other: &Demand<'_>) -> bool {
    let is_absent = |value: &ConditionValue| value.form == ValueForm::Absent;
    match (one, other) {
        (Demand::OneOf(values), Demand::OneOf(others)) => values
            .iter()
            .any(|value| others.iter().any(|other| is_same_possible(field, value, other))),
        (Demand::Ranges(ranges), Demand::Ranges(others)) => ranges.iter().any(|(min, max)| {
            others.iter().any(|(other_min, other_max)| min.max(other_min) <= max.min(other_max))
        }),
        (Demand::Times(ranges), Demand::Times(others)) => ranges.iter().any(|(first, last)| {
            others
                .iter()
                .any(|(other_first, other_last)| first.max(other_first) <= last.min(other_last))
        }),
        (Demand::OneOf(values), Demand::Prefix(prefixes))
        | (Demand::Prefix(prefixes), Demand::OneOf(values)) => values.iter().any(|value| {
            !is_absent(value)
                && (is_set(field, value)
                    || prefixes.iter().any(|prefix| value.bytes.starts_with(&prefix.bytes)))
        }),
        (Demand::OneOf(values), Demand::Ranges(ranges))
        | (Demand::Ranges(ranges), Demand::OneOf(values)) => values.iter().any(|value| {
            let number = || parse_quantity(&value.text(), Unit::Count).ok();
            let is_in = |number| ranges.iter().any(|(min, max)| (*min..=*max).contains(&number));
            !is_absent(value)
                && (!is_text(field) || is_set(field, value) || number().is_some_and(is_in))
        }),
        (Demand::OneOf(values), Demand::Present | Demand::Times(_))
        | (Demand::Present | Demand::Times(_), Demand::OneOf(values)) => {
            !values.iter().all(is_absent)
        }
        _ => true,
    }
}

fn is_text(field: &str) -> bool {
    Field::by_name(field).is_none_or(|field| field.kind() == ColumnKind::Text)
}

/// Whether a value stands for several texts.
fn is_set(field: &str, value: &ConditionValue) -> bool {
    let is_status = column(field) == Field::Status.name();
    value.is_plain()
        && (equality::block(&value.bytes).is_some()
            || is_status && value.text().parse::<u64>().is_err())
}

/// Whether one value of a field can be equal to both.
fn is_same_possible(field: &str, one: &ConditionValue, other: &ConditionValue) -> bool {
    if (one.form == ValueForm::Absent) != (other.form == ValueForm::Absent) {
        return false;
    }
    if one.bytes == other.bytes {
        return true;
    }
    let is_set = |value| is_set(field, value);
    if column(field) == Field::Status.name() && (is_set(one) || is_set(other)) {
        let [one, other] = [one, other].map(|value| statuses(&value.text()));
        // A class that is not known here is not judged.
        return one.zip(other).is_none_or(|(one, other)| one.0 <= other.1 && other.0 <= one.1);
    }
    if !is_set(one) && !is_set(other) {
        return false;
    }
    let blocks = equality::block(&one.bytes).zip(equality::block(&other.bytes));
    blocks.is_some_and(|(one, other)| one.overlaps(&other))
}

/// The statuses that a text stands for.
fn statuses(text: &str) -> Option<(u64, u64)> {
    equality::status_class(text).or_else(|| text.parse().ok().map(|status| (status, status)))
}

fn refusal(
    one: &FieldCondition,
    other: &FieldCondition,
    time: Option<TimeReader<'_>>,
) -> ConditionError {
    let name = &other.field;
    let mut message = format!("a record has one {name}, so it does not meet both conditions");
    let is_equality = |condition: &FieldCondition| condition.operator == ConditionOperator::Equal;
    if is_equality(one) && is_equality(other) {
        let [first, second] = [one, other].map(|condition| {
            condition.values.first().map_or_else(String::new, |value| match value.form {
                ValueForm::Absent => "(none)".to_owned(),
                ValueForm::Empty => "(empty)".to_owned(),
                ValueForm::Plain | ValueForm::Quoted => value.text(),
            })
        });
        message += &format!("; write {name}={first},{second} for one of them");
    }
    let day = [(one, other), (other, one)]
        .into_iter()
        .find_map(|(after, counterpart)| day_before(after, counterpart, time?));
    if let Some(day) = day {
        message += &format!("; {name}>{day} begins after that day, {name}>={day} with it");
    }
    ConditionError::new(position(other), message)
}

/// The day after which a condition on the time begins, if another condition could be met on it.
fn day_before(
    condition: &FieldCondition,
    counterpart: &FieldCondition,
    time: TimeReader<'_>,
) -> Option<String> {
    let field = &condition.field;
    let is_time = Field::by_name(field) == Some(Field::Time);
    let value = condition.values.first()?;
    let is_after = is_time && condition.operator == ConditionOperator::Greater;
    let (first_ns, last_ns) = is_after.then(|| instants::read(value, time).ok())??;
    let with_day = Demand::Times(vec![(first_ns, i64::MAX)]);
    let is_possible = is_possible(field, &with_day, &demand(counterpart, Some(time))?);
    (first_ns != last_ns && is_possible).then(|| value.text())
}

fn position(condition: &FieldCondition) -> super::Position {
    let end = condition.values.last().map_or(condition.position.end, |value| value.position.end);
    condition.position.start..end
}
