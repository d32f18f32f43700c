//! Evaluates an expression for an event.

use std::borrow::Cow;
use std::fmt;

use super::syntax::{Node, Operator, Part, Quantifier};
use super::value::{ITEM_BYTES, Kind, Value};
use super::{Failure, Fields};
use crate::error::Reason;

/// The most memory that an expression may use for an event, in bytes. All values that it creates
/// count, and so does each list item that it visits, so this also bounds the time.
const BYTES_MAX: usize = 4 << 20;

/// The reason of a failure if an expression needs more memory.
pub(super) const TOO_LARGE: &str = "its texts and lists take more than 4 MiB";

/// The evaluation of an expression for one event.
pub(super) struct Evaluation<'a> {
    fields: &'a dyn Fields,
    /// Variables, and the current elements of the lists that are being iterated.
    stack: Vec<Value<'a>>,
    /// The memory that may still be used, in bytes.
    bytes_left: usize,
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(fields: &'a dyn Fields) -> Self {
        Self { fields, stack: Vec::new(), bytes_left: BYTES_MAX }
    }

    /// An evaluation in which the value at a position of the stack is known, and no other.
    pub(super) fn with_value(fields: &'a dyn Fields, position: usize, value: Value<'a>) -> Self {
        let mut stack = vec![Value::Nil; position];
        stack.push(value);
        Self { fields, stack, bytes_left: BYTES_MAX }
    }

    /// Subtracts the memory that a part needs.
    fn take(&mut self, bytes: usize, part: &Part) -> Result<(), Failure> {
        let left = self.bytes_left.checked_sub(bytes);
        self.bytes_left = left.ok_or_else(|| failure(part, TOO_LARGE))?;
        Ok(())
    }

    pub(super) fn value(&mut self, part: &'a Part) -> Result<Value<'a>, Failure> {
        Ok(match &part.node {
            Node::Constant(value) => {
                let value = value.borrowed();
                self.take(value.bytes(), part)?;
                value
            }
            Node::Field(field) => Value::Text(self.fields.value(*field)),
            Node::ElementField(position, field) => match self.stack.get(*position) {
                Some(Value::Event(event)) => {
                    Value::Text(Cow::Borrowed(self.fields.queue_value(*event, *field)))
                }
                _ => Value::Text(Cow::Borrowed(b"")),
            },
            Node::Variable(position) => {
                let bytes = self.stack.get(*position).map_or(0, Value::bytes);
                self.take(bytes, part)?;
                self.stack.get(*position).cloned().unwrap_or(Value::Nil)
            }
            Node::Queue => Value::Queue,
            Node::Not(_) | Node::All(_) | Node::Any(_) => Value::Boolean(self.boolean(part)?),
            Node::Negate(inner) => match self.value(inner)? {
                Value::Integer(number) => Value::Integer(number.wrapping_neg()),
                other => Value::Float(-number(inner, &other)?),
            },
            Node::Binary(operator, sides) => self.binary(*operator, sides, part)?,
            Node::IsOneOf(inner, values) => {
                let value = self.value(inner)?;
                Value::Boolean(values.iter().any(|one| one.equals(&value)))
            }
            Node::Matches(inner, regex) => Value::Boolean(regex.is_match(&self.text(inner)?)),
            Node::MatchesOneOf(inner, set) => Value::Boolean(set.is_match(&self.text(inner)?)),
            Node::MatchesElement(sides, patterns) => {
                let text = self.text(&sides[0])?;
                let pattern = self.text(&sides[1])?;
                let pattern = patterns.get(&*pattern);
                Value::Boolean(pattern.is_some_and(|pattern| pattern.is_match(&text)))
            }
            Node::HasOneOf(inner, search) => Value::Boolean(search.finds(&self.text(inner)?)),
            Node::LookUp(inner, table) => Value::Text(Cow::Borrowed(table.tag(&self.text(inner)?))),
            Node::Lines(lines) => Value::Lines(lines),
            Node::Choice(parts) => {
                let [condition, first, second] = &**parts;
                let chosen = if self.boolean(condition)? { first } else { second };
                self.value(chosen)?
            }
            Node::Let(parts) => {
                let [value, body] = &**parts;
                let value = self.value(value)?;
                self.stack.push(value);
                let result = self.value(body);
                self.stack.pop();
                result?
            }
            Node::List(parts) => {
                self.take(parts.len() * ITEM_BYTES, part)?;
                let values = parts.iter().map(|part| self.value(part));
                Value::List(values.collect::<Result<_, _>>()?)
            }
            Node::Item(parts) => self.item(parts)?,
            Node::Over(quantifier, parts) => self.over(*quantifier, parts)?,
            Node::Call(function, parts) => {
                let arguments: Vec<Value<'a>> =
                    parts.iter().map(|part| self.value(part)).collect::<Result<_, _>>()?;
                let length = self.fields.queue_length();
                let value = function.value(&arguments, length, self.bytes_left);
                let value = value.map_err(|reason| failure(part, reason))?;
                self.take(value.bytes(), part)?;
                value
            }
        })
    }

    /// Whether all parts evaluate to `expected`.
    fn all(&mut self, parts: &'a [Part], expected: bool) -> Result<bool, Failure> {
        for part in parts {
            if self.boolean(part)? != expected {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Evaluates a condition. The usual comparisons create no values, because a log is compared
    /// with hundreds of conditions.
    pub(super) fn boolean(&mut self, part: &'a Part) -> Result<bool, Failure> {
        match &part.node {
            Node::Not(inner) => return Ok(!self.boolean(inner)?),
            Node::All(parts) => return self.all(parts, true),
            Node::Any(parts) => return Ok(!self.all(parts, false)?),
            Node::Binary(operator, sides) => {
                if let (Node::Field(field), Node::Constant(Value::Text(constant))) =
                    (&sides[0].node, &sides[1].node)
                    && let Some(compare) = operator.text_comparison()
                {
                    return Ok(compare(&self.fields.value(*field), constant));
                }
            }
            _ => {}
        }
        let value = self.value(part)?;
        value.boolean().ok_or_else(|| wrong_kind(part, &value, Kind::Boolean))
    }

    fn text(&mut self, part: &'a Part) -> Result<Cow<'a, [u8]>, Failure> {
        match self.value(part)? {
            Value::Text(text) => Ok(text),
            other => Err(wrong_kind(part, &other, Kind::Text)),
        }
    }

    fn binary(
        &mut self,
        operator: Operator,
        sides: &'a [Part; 2],
        part: &Part,
    ) -> Result<Value<'a>, Failure> {
        use Operator::{Contains, EndsWith, Equal, In, OrElse, StartsWith, Unequal};
        let [left_part, right_part] = sides;
        let left = self.value(left_part)?;
        if operator == OrElse {
            return if left == Value::Nil { self.value(right_part) } else { Ok(left) };
        }
        let right = self.value(right_part)?;
        let texts = || match (left.text(), right.text()) {
            (Some(left), Some(right)) => Ok((left, right)),
            (None, _) => Err(wrong_kind(left_part, &left, Kind::Text)),
            _ => Err(wrong_kind(right_part, &right, Kind::Text)),
        };
        Ok(Value::Boolean(match operator {
            Equal => left.equals(&right),
            Unequal => !left.equals(&right),
            Contains | StartsWith | EndsWith => {
                let (text, part) = texts()?;
                operator.text_comparison().is_some_and(|compare| compare(text, part))
            }
            In => match &right {
                Value::Lines(lines) => {
                    left.text().is_some_and(|text| lines.iter().any(|line| line == text))
                }
                Value::List(values) => values.iter().any(|value| value.equals(&left)),
                _ => return Err(wrong_kind(right_part, &right, Kind::List)),
            },
            _ => {
                if let (Some(left), Some(right)) = (left.text(), right.text()) {
                    self.take(left.len() + right.len(), part)?;
                }
                return arithmetic(operator, &left, &right).map_err(|reason| failure(part, reason));
            }
        }))
    }

    fn item(&mut self, parts: &'a [Part; 2]) -> Result<Value<'a>, Failure> {
        let [list, index] = parts;
        let values = self.value(list)?;
        let number = self.value(index)?;
        let Value::Integer(number) = number else {
            return Err(wrong_kind(index, &number, Kind::Number));
        };
        let length = self.length(&values);
        // A negative index counts from the end.
        let position = if number < 0 { number + length as i64 } else { number };
        let element = usize::try_from(position)
            .ok()
            .and_then(|position| self.element(&values, position))
            .ok_or_else(|| failure(index, format!("the list has {length} items")))?;
        self.take(element.bytes(), list)?;
        Ok(element)
    }

    fn length(&self, list: &Value<'_>) -> usize {
        match list {
            Value::List(values) => values.len(),
            Value::Lines(lines) => lines.len(),
            Value::Queue => self.fields.queue_length(),
            _ => 0,
        }
    }

    fn element(&self, list: &Value<'a>, position: usize) -> Option<Value<'a>> {
        match list {
            Value::List(values) => values.get(position).cloned(),
            Value::Lines(lines) => {
                lines.get(position).map(|line| Value::Text(Cow::Borrowed(&line[..])))
            }
            Value::Queue => {
                (position < self.fields.queue_length()).then_some(Value::Event(position))
            }
            _ => None,
        }
    }

    fn over(&mut self, quantifier: Quantifier, parts: &'a [Part; 2]) -> Result<Value<'a>, Failure> {
        let [list, test] = parts;
        let values = self.value(list)?;
        let mut found = Vec::new();
        let mut count = 0;
        let mut position = 0;
        while let Some(element) = self.element(&values, position) {
            position += 1;
            self.take(1 + element.bytes(), list)?;
            let kept = match quantifier {
                Quantifier::Filter => {
                    self.take(ITEM_BYTES + element.bytes(), list)?;
                    Some(element.clone())
                }
                _ => None,
            };
            self.stack.push(element);
            let tested = self.value(test);
            self.stack.pop();
            let tested = tested?;
            if quantifier == Quantifier::Map {
                self.take(ITEM_BYTES, list)?;
                found.push(tested);
                continue;
            }
            let holds = tested.boolean().ok_or_else(|| wrong_kind(test, &tested, Kind::Boolean))?;
            match (quantifier, holds) {
                (Quantifier::Any, true) => return Ok(Value::Boolean(true)),
                (Quantifier::All, false) | (Quantifier::None, true) => {
                    return Ok(Value::Boolean(false));
                }
                (_, true) => count += 1,
                (_, false) => continue,
            }
            found.extend(kept);
        }
        Ok(match quantifier {
            Quantifier::All | Quantifier::None => Value::Boolean(true),
            Quantifier::Any => Value::Boolean(false),
            Quantifier::One => Value::Boolean(count == 1),
            Quantifier::Count => Value::Integer(count),
            Quantifier::Filter | Quantifier::Map => Value::List(found),
        })
    }
}

/// Whether a text contains another one.
pub(super) fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// Whether two texts compare as an operator says.
type TextComparison = fn(&[u8], &[u8]) -> bool;

impl Operator {
    /// The comparison of two texts, if the operator is one that every pair of texts has.
    fn text_comparison(self) -> Option<TextComparison> {
        Some(match self {
            Self::Equal => |text, other| text == other,
            Self::Unequal => |text, other| text != other,
            Self::Contains => contains,
            Self::StartsWith => |text, start| text.starts_with(start),
            Self::EndsWith => |text, end| text.ends_with(end),
            _ => return None,
        })
    }
}

/// Comparisons and arithmetic.
fn arithmetic<'a>(
    operator: Operator,
    left: &Value<'a>,
    right: &Value<'a>,
) -> Result<Value<'a>, Reason> {
    use Operator::{
        Add, Divide, Greater, GreaterOrEqual, Less, LessOrEqual, Multiply, Power, Remainder,
        Subtract,
    };
    let order = match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => Some(left.cmp(right)),
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        _ => match (left.number(), right.number()) {
            (Some(left), Some(right)) => left.partial_cmp(&right),
            _ => None,
        },
    };
    let compared = order.map(|order| match operator {
        Less => Some(order.is_lt()),
        LessOrEqual => Some(order.is_le()),
        Greater => Some(order.is_gt()),
        GreaterOrEqual => Some(order.is_ge()),
        _ => None,
    });
    if let Some(Some(holds)) = compared {
        return Ok(Value::Boolean(holds));
    }
    if let (Add, Some(left), Some(right)) = (operator, left.text(), right.text()) {
        return Ok(Value::Text([left, right].concat().into()));
    }
    if let (Value::Integer(left), Value::Integer(right)) = (left, right) {
        let result = match operator {
            Add => Some(left.wrapping_add(*right)),
            Subtract => Some(left.wrapping_sub(*right)),
            Multiply => Some(left.wrapping_mul(*right)),
            Remainder if *right == 0 => return Err("the divisor is 0".into()),
            Remainder => Some(left.wrapping_rem(*right)),
            _ => None,
        };
        if let Some(result) = result {
            return Ok(Value::Integer(result));
        }
    }
    let (Some(a), Some(b)) = (left.number(), right.number()) else {
        let (left, right) = (left.kind().noun(), right.kind().noun());
        return Err(format!("{left} and {right} cannot be combined so").into());
    };
    match operator {
        Add => Ok(Value::Float(a + b)),
        Subtract => Ok(Value::Float(a - b)),
        Multiply => Ok(Value::Float(a * b)),
        Divide => Ok(Value::Float(a / b)),
        Power => Ok(Value::Float(a.powf(b))),
        _ => Err("these numbers cannot be combined so".into()),
    }
}

fn number(part: &Part, value: &Value<'_>) -> Result<f64, Failure> {
    value.number().ok_or_else(|| wrong_kind(part, value, Kind::Number))
}

fn wrong_kind(part: &Part, value: &Value<'_>, needed: Kind) -> Failure {
    failure(part, format!("it is {} instead of {}", value.kind().noun(), needed.noun()))
}

fn failure(part: &Part, reason: impl fmt::Display) -> Failure {
    Failure { range: part.range.clone(), message: reason.to_string() }
}
