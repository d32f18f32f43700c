//! Binary operators: type checks of their operands, and constant folding.

use std::collections::HashMap;
use std::ops::Range;

use weir_core::BoundedRegex;

use super::NoFields;
use super::evaluate::Evaluation;
use super::function::Function;
use super::parse::{Parser, require};
use super::syntax::{Node, Operator, Part};
use super::text_search::values_of;
use super::value::{Kind, Value};
use crate::error::RuleError;

/// The longest text that constant folding stores, in bytes. It keeps the memory of an expression
/// proportional to its length.
const FOLDED_BYTES_MAX: usize = 64 << 10;

impl Parser<'_> {
    /// Joins parts by `and` or `or`. A long chain becomes one flat list.
    pub(super) fn junction(
        &self,
        left: Part,
        right: Part,
        is_and: bool,
    ) -> Result<Part, RuleError> {
        require(&left, Kind::Boolean)?;
        require(&right, Kind::Boolean)?;
        let range = left.range.start..right.range.end;
        let mut parts = Vec::new();
        for part in [left, right] {
            match part.node {
                Node::All(inner) if is_and => parts.extend(inner),
                Node::Any(inner) if !is_and => parts.extend(inner),
                node => parts.push(Part { node, ..part }),
            }
        }
        let node = if is_and { Node::All(parts) } else { Node::Any(parts) };
        self.part(node, Kind::Boolean, range)
    }

    /// Makes a `matches` operator. A constant pattern is compiled immediately.
    pub(super) fn matches(&mut self, left: Part, right: Part) -> Result<Part, RuleError> {
        require(&left, Kind::Text)?;
        require(&right, Kind::Text)?;
        let range = left.range.start..right.range.end;
        let Node::Constant(Value::Text(text)) = &right.node else {
            return self.matches_element(left, right, range);
        };
        let regex = self.pattern(text, &right.range)?;
        self.part(Node::Matches(Box::new(left), regex), Kind::Boolean, range)
    }

    fn pattern(&mut self, text: &[u8], range: &Range<usize>) -> Result<BoundedRegex, RuleError> {
        let compiled = std::str::from_utf8(text)
            .map_err(|_| "it is not UTF-8".into())
            .and_then(|text| self.names.pattern(text));
        compiled.map_err(|reason| {
            let message = format_args!("this is not a valid pattern: {reason}");
            RuleError::new(range.clone(), message)
        })
    }

    /// Makes a `matches` operator whose pattern is made from an element of a known list, such as
    /// `Upper(#)` of the lines of a data file. All patterns are compiled immediately.
    fn matches_element(
        &mut self,
        left: Part,
        right: Part,
        range: Range<usize>,
    ) -> Result<Part, RuleError> {
        let element = self.stack.iter().rposition(|entry| entry.name.is_none());
        let texts = element.and_then(|position| {
            let texts = self.stack[position].texts.clone()?;
            values_of(&right, &texts, position)
        });
        let Some(texts) = texts else {
            let message = "a pattern that differs between events is not supported; write it out";
            return Err(RuleError::new(right.range, message));
        };
        let mut patterns = HashMap::new();
        for text in texts {
            let pattern = self.pattern(&text, &right.range)?;
            patterns.insert(text, pattern);
        }
        let node = Node::MatchesElement(Box::new([left, right]), patterns);
        self.part(node, Kind::Boolean, range)
    }

    pub(super) fn operation(
        &self,
        operator: Operator,
        left: Part,
        right: Part,
    ) -> Result<Part, RuleError> {
        use Operator::{
            Add, Contains, Divide, EndsWith, Equal, Greater, GreaterOrEqual, In, Less, LessOrEqual,
            Multiply, OrElse, Power, Remainder, StartsWith, Subtract, Unequal,
        };
        let range = left.range.start..right.range.end;
        let kind = match operator {
            Equal | Unequal => {
                if left.kind != Kind::Nil && right.kind != Kind::Nil {
                    require_same(&left, &right)?;
                }
                Kind::Boolean
            }
            Less | LessOrEqual | Greater | GreaterOrEqual => {
                require_same(&left, &right)?;
                Kind::Boolean
            }
            Contains | StartsWith | EndsWith => {
                require(&left, Kind::Text)?;
                require(&right, Kind::Text)?;
                Kind::Boolean
            }
            In => {
                require(&right, Kind::List)?;
                Kind::Boolean
            }
            Add => {
                require_same(&left, &right)?;
                if left.kind == Kind::Any { right.kind } else { left.kind }
            }
            Subtract | Multiply | Divide | Remainder | Power => {
                require(&left, Kind::Number)?;
                require(&right, Kind::Number)?;
                Kind::Number
            }
            OrElse => right.kind,
        };
        if operator == In
            && let Node::List(items) = &right.node
            && let Some(values) = constants(items)
        {
            return self.part(Node::IsOneOf(Box::new(left), values), kind, range);
        }
        let are_constant = is_constant(&left) && is_constant(&right);
        let part = self.part(Node::Binary(operator, Box::new([left, right])), kind, range)?;
        Ok(if are_constant { folded(part) } else { part })
    }

    /// Makes a call, which is evaluated immediately if its arguments do not depend on an event.
    pub(super) fn call(
        &self,
        function: Function,
        arguments: Vec<Part>,
        start: usize,
    ) -> Result<Part, RuleError> {
        let range = start..self.end();
        function.check(&arguments, &range)?;
        let are_constant = arguments.iter().all(is_constant);
        let part = self.part(Node::Call(function, arguments), function.kind(), range)?;
        Ok(if are_constant { folded(part) } else { part })
    }
}

fn is_constant(part: &Part) -> bool {
    matches!(part.node, Node::Constant(_))
}

/// The values of parts, if none depends on an event.
fn constants(parts: &[Part]) -> Option<Vec<Value<'static>>> {
    let value = |part: &Part| match &part.node {
        Node::Constant(value) => Some(value.clone()),
        _ => None,
    };
    parts.iter().map(value).collect()
}

/// Replaces a part that does not depend on an event by its value, if the value is a simple one.
fn folded(part: Part) -> Part {
    let owned = match Evaluation::new(&NoFields).value(&part) {
        Ok(Value::Text(text)) if text.len() <= FOLDED_BYTES_MAX => {
            Value::Text(text.into_owned().into())
        }
        Ok(Value::Integer(number)) => Value::Integer(number),
        Ok(Value::Float(number)) => Value::Float(number),
        Ok(Value::Boolean(value)) => Value::Boolean(value),
        _ => return part,
    };
    Part { node: Node::Constant(owned), ..part }
}

fn require_same(left: &Part, right: &Part) -> Result<(), RuleError> {
    if left.kind.may_be(right.kind) {
        return Ok(());
    }
    let (left_kind, right_kind) = (left.kind.noun(), right.kind.noun());
    let hint = match (left.kind, right.kind) {
        (Kind::Text, Kind::Number) => "; fields are texts, so write the number in quotes",
        _ => "",
    };
    let message = format_args!("{left_kind} cannot be compared with {right_kind}{hint}");
    Err(RuleError::new(right.range.clone(), message))
}
